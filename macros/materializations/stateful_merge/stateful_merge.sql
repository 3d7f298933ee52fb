{% materialization stateful_merge, adapter='spark', supported_languages=['sql'] %}
    {% set settings = ditto.stateful_merge_settings(model, should_full_refresh(), ditto.is_dry_run()) %}
    {% set sql = ditto.increment_sql(compiled_code, settings) %}

    {# Hooks before the facts: they may make what the model reads. #}
    {{ run_hooks(pre_hooks) }}

    {% set facts = ditto.stateful_merge_facts(model, settings, sql) %}
    {% set plan = ditto.stateful_merge_plan(model, settings, facts, sql) %}
    {% set outcome = ditto.run_plan(plan) %}
    {% do ditto.report(plan, outcome) %}

    {% do apply_grants(this, config.get('grants'), should_revoke(facts.target.exists, plan.made_anew)) %}
    {{ run_hooks(post_hooks) }}
    {{ return({'relations': [this]}) }}
{% endmaterialization %}


{# What is there, and if the table has to go back: what that would undo, and whether it can. Reads only; the dry run has no SELECT. #}
{% macro stateful_merge_facts(node, settings, sql=none) %}
    {% do settings.update({'ledger_table': ditto.ledger_table()}) %}
    {% set facts = ditto.gather_facts(node, settings, sql) %}
    {% do facts.update({'view': ditto.table_facts(settings.schema, settings.view_identifier) if settings.view and sql is not none}) %}
    {% set own = facts.ledger.unfinished | selectattr('execution_time', 'equalto', settings.execution_time) | list %}
    {% do facts.update({'known': own or ditto._is_known(settings, facts)}) %}
    {% do facts.update({'chain': ditto.chain_of_table(facts, own)}) %}
    {% do facts.update(ditto._content_facts(settings, facts, own)) %}
    {% if settings.versioning == 'delta' %}
        {% do facts.update({'undone': ditto._undone_facts(settings, facts, ditto.stateful_merge_decision(settings, facts))}) %}
        {% do facts.target.update({'columns': facts.undone.columns or facts.target.columns}) %}
    {% else %}
        {% do facts.update({'history': ditto.history_facts(settings) if sql is not none}) %}
    {% endif %}
    {% do facts.update({'aged': ditto.is_aged(settings, facts)}) %}
    {% do facts.update({'key_range': ditto.merger_key_range(settings, facts, sql) if sql and settings.versioning == 'delta' else []}) %}
    {{ return(facts) }}
{% endmacro %}


{# Is it the table that the ledger knows? One that was dropped or replaced since holds nothing that could be undone. Its newest commit
   tells, where that is the last execution's; otherwise those since. #}
{% macro _is_known(settings, facts) %}
    {% set last = facts.ledger.last %}
    {% if settings.versioning != 'delta' or settings.full_refresh or settings.dry or facts.head is none or not last or last.version is none %}
        {{ return(true) }}
    {% endif %}
    {% set commits = ditto.commits(settings.table, facts.head - last.version + 1) if facts.head > last.version else [facts.head_commit] %}
    {{ return(not ditto.is_new_generation({'ledger': facts.ledger, 'many_tables': false, 'made_anew': false, 'missing': false}, commits)) }}
{% endmacro %}


{# Are there rows that a first execution would find? Asked only when none is recorded before this one. #}
{% macro _content_facts(settings, facts, own) %}
    {% set emptied = own and own[0].base_version is none %}
    {% set earlier = facts.chain.live | selectattr('time', 'lt', settings.execution_time) | list if not emptied else [] %}
    {# A table of another format is refused by the plan. #}
    {% if earlier or facts.target.type != 'table' or facts.target.provider != settings.file_format or settings.full_refresh or settings.dry %}
        {{ return({'has_rows': false}) }}
    {% endif %}
    {{ return({'has_rows': ditto.fetch('select 1 as `one` from ' ~ settings.table ~ ' limit 1') | length > 0}) }}
{% endmacro %}


{% macro _undone_facts(settings, facts, decision) %}
    {% set undone = {'commits': [], 'leases': [], 'columns': none, 'readable': true, 'earliest': none} %}
    {% if decision.since is none or facts.head is none %}
        {{ return(undone) }}
    {% endif %}
    {% set since = decision.since if decision.restore is none else [decision.restore, decision.since] | min %}
    {% if facts.head > since %}
        {% do undone.update({
            'commits': ditto.commits(settings.table, facts.head - since),
            'leases': ditto.fetch(ditto.ledger_leases_sql(settings.ledger_table, settings.relation, since))
        }) %}
    {% endif %}
    {% if decision.restore is not none and not ditto.stands_at(undone.commits, decision.restore) %}
        {% set readable = ditto.is_readable(settings.table, decision.restore) %}
        {% do undone.update({
            'readable': readable,
            'columns': ditto._columns_at(settings.table, decision.restore, facts.target.columns) if readable else none,
            'earliest': none if readable else ditto.earliest_restorable(settings, facts.ledger)
        }) %}
    {% endif %}
    {{ return(undone) }}
{% endmacro %}


{# The columns of a version; it does not tell their comments, so those of today stand in. #}
{% macro _columns_at(table, version, columns) %}
    {% set comments = {} %}
    {% for column in columns %}
        {% do comments.update({column.name | lower: column.comment}) %}
    {% endfor %}
    {% set found = ditto.query_columns('select * from ' ~ table ~ ' version as of ' ~ version) %}
    {% for column in found %}
        {% do column.update({'comment': comments.get(column.name | lower, '')}) %}
    {% endfor %}
    {{ return(found) }}
{% endmacro %}


{# Are the files of this version still there, and does Delta let us read them? #}
{% macro is_readable(table, version) %}
    {{ return(ditto.fetch(ditto.probe_version_sql(table, version))[0]['verdict'] == 'readable') }}
{% endmacro %}


{# The earliest execution that can be replayed exactly: from it on, every base version can be read. The first execution of all
   needs none. Halving: what is newer than a readable version is readable. #}
{% macro earliest_restorable(settings, ledger) %}
    {% set live = ditto.execution_chain(ledger.outcomes).live %}
    {% set bounds = namespace(low=0, high=live | length) %}
    {% for round in range(20) if bounds.low < bounds.high %}
        {% set middle = (bounds.low + bounds.high) // 2 %}
        {% set readable = ditto.is_readable(settings.table, live[middle].base_version) %}
        {% set bounds.high = middle if readable else bounds.high %}
        {% set bounds.low = bounds.low if readable else middle + 1 %}
    {% endfor %}
    {{ return(live[bounds.low].time if bounds.low < live | length else none) }}
{% endmacro %}
