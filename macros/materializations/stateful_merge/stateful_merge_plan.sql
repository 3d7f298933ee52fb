{# Facts in, plan out. Pure. #}
{% macro stateful_merge_plan(node, settings, facts, sql) %}
    {% do ditto.refuse_unfinished(settings, facts.ledger) %}
    {% set decision = ditto.stateful_merge_decision(settings, facts) %}
    {% do ditto.refuse_or_warn(settings, ditto.stateful_merge_problems(settings, facts, decision)) %}
    {% do ditto._check_merger_columns(settings, facts.increment) %}
    {% set token = (facts.ledger.token or 0) + 1 %}
    {% set work = {
        'node': node, 'settings': settings, 'facts': facts, 'sql': sql, 'decision': decision, 'token': token,
        'anew': decision.mode == 'full_refresh',
        'fence': ditto.fence_condition(settings.ledger_table, settings.relation, token)
    } %}
    {% set parts = ditto._versions_steps(work) if settings.versioning == 'delta' else ditto._history_steps(work) %}
    {% if settings.dry %}
        {{ return(ditto.new_plan(settings, facts, decision, parts.made if not facts.target.exists else [])) }}
    {% endif %}
    {% set undoes = decision.restore is not none or decision.truncate or settings.versioning == 'history' or work.anew %}
    {# What is refused after the table went back, or was made anew, would leave it there: so the rows are looked at first. #}
    {% set checked = undoes or parts.write | selectattr('kind', 'equalto', 'check') | list %}
    {% set check = [ditto.merger_key_check(settings, sql)] if checked and settings.on_duplicate_key ~ settings.on_null_key != 'latestallow' else [] %}
    {% set plan = ditto.new_plan(settings, facts, decision,
        check + parts.renew + [{'kind': 'intent', 'name': 'intent'}] + parts.before + parts.made + parts.write | rejectattr('kind', 'equalto', 'check') | list + [{'kind': 'outcome', 'name': 'outcome'}] + parts.after) %}
    {% do plan.update({
        'base_version': none if decision.truncate else (facts.head if decision.restore is none else decision.restore),
        'head': decision.head,
        'undo': undoes,
        'seen': facts.head,
        'missing': not facts.target.exists or not facts.get('known', true),
        'undoes_until': '9999-12-31 00:00:00'
    }) %}
    {{ return(plan) }}
{% endmacro %}


{% macro _stateful_spec(work) %}
    {% set settings = work.settings %}
    {% set retention = {
        'delta.deletedFileRetentionDuration': settings.backfill_window,
        'delta.logRetentionDuration': settings.backfill_window
    } if settings.versioning == 'delta' else {} %}
    {% set properties = dict({'delta.enableDeletionVectors': 'true'}, **retention) if settings.file_format == 'delta' else {} %}
    {% set spec = ditto.table_spec(work.node, settings, work.facts.increment, work.facts.contract, properties) %}
    {# A window that was changed in the config reaches the table with the next run. #}
    {% do spec.update({'upkeep': dict(retention, **spec.upkeep)}) %}
    {{ return(spec) }}
{% endmacro %}


{# versioning: delta. Go back, if need be; then one MERGE. #}
{% macro _versions_steps(work) %}
    {% set settings, facts, decision, fence = work.settings, work.facts, work.decision, work.fence %}
    {% set spec = ditto._stateful_spec(work) %}
    {% set made = ditto.plan_table(settings, facts, spec, work.anew, fence) %}
    {% do ditto._check_merger_table(settings, made.columns) %}
    {% set restored = decision.restore is not none and facts.target.exists
        and not ditto.stands_at(facts.undone.commits, decision.restore) %}
    {% set before = [] %}
    {% if restored %}
        {% do before.append(ditto._fenced_step('restore', 'restore table ' ~ settings.table ~ ' to version as of ' ~ decision.restore, fence)) %}
        {% do before.append({'kind': 'upkeep', 'name': 'properties', 'settings': settings, 'spec': spec, 'fence': fence}) %}
    {% elif decision.truncate %}
        {% do before.append(ditto._fenced_step('truncate', 'truncate table ' ~ settings.table, fence)) %}
    {% endif %}
    {% set view = ditto._reader_steps(work, made.columns, spec.comment) %}
    {{ return({
        'renew': ditto.renewal_steps(work, facts.target.columns), 'before': before, 'made': made.steps + view.before, 'after': view.after,
        'write': ditto.merger_write_steps(settings, made.columns, work.sql, decision.mode, [] if work.anew else facts.key_range, fence)
    }) }}
{% endmacro %}


{% macro _fenced_step(name, sql, fence) %}
    {{ return({'kind': 'sql', 'name': name, 'sql': ditto.fenced_sql(ditto.immediate_sql(sql), fence, script=true)}) }}
{% endmacro %}


{# What readers see: the table; a view that hides deleted rows; or a view that stays at a version as long as executions are stale. #}
{% macro _reader_steps(work, columns, comment) %}
    {% set settings, facts = work.settings, work.facts %}
    {% if settings.readers != 'pinned' %}
        {{ return({'before': ditto._merger_view_steps(settings, facts, columns, comment, work.anew), 'after': []}) }}
    {% endif %}
    {% do ditto.refuse_table_for_view(settings, facts.view, 'with readers: pinned', ', and readers see one version of them') %}
    {% if settings.dry %}
        {% set empty = {'kind': 'sql', 'name': 'view', 'sql': ditto.merger_view_sql(settings, columns, comment=comment, version=0)} %}
        {{ return({'before': [] if facts.view.exists else [empty], 'after': []}) }}
    {% endif %}
    {% if work.decision.become_stale or work.decision.stale %}
        {{ return({'before': [], 'after': []}) }}
    {% endif %}
    {% set stand_in = ditto.version_stand_in(settings) %}
    {% set sql = ditto.merger_view_sql(settings, columns, facts.view, comment, stand_in) %}
    {{ return({'before': [], 'after': [{'kind': 'pin', 'name': 'pin', 'stand_in': stand_in,
        'sql': ditto.fenced_sql(ditto.immediate_sql(sql), work.fence, script=true)}]}) }}
{% endmacro %}


{# Stands in a view's text for a version that is known once the run has written it. #}
{% macro version_stand_in(settings) %}
    {{ return('_ditto_version_' ~ settings.invocation_id.replace('-', '_')) }}
{% endmacro %}
