{% materialization transactional_writer, adapter='spark', supported_languages=['sql'] %}
    {% set settings = ditto.transactional_writer_settings(model, should_full_refresh(), ditto.is_dry_run()) %}
    {% set sql = ditto.increment_sql(compiled_code, settings) %}

    {# Hooks before the facts: they may make what the model reads. #}
    {{ run_hooks(pre_hooks) }}

    {% set facts = ditto.transactional_writer_facts(model, settings, sql) %}
    {% set plan = ditto.transactional_writer_plan(model, settings, facts, sql) %}
    {% set outcome = ditto.run_plan(plan) %}
    {% do ditto.report(plan, outcome) %}

    {% do apply_grants(this, config.get('grants'), should_revoke(facts.target.exists, plan.made_anew)) %}
    {{ run_hooks(post_hooks) }}
    {{ return({'relations': [this]}) }}
{% endmaterialization %}


{# Besides the common facts: does the table have rows of this execution already, and what stands under the name of the candidate? #}
{% macro transactional_writer_facts(node, settings, sql) %}
    {% do settings.update({'ledger_table': ditto.ledger_table()}) %}
    {% set facts = ditto.gather_facts(node, settings, sql) %}
    {% set own_rows = ditto._has_own_rows(settings, facts.target) %}
    {% set prunes = settings.write == 'merge' and not own_rows and not settings.audits %}
    {% do facts.update({
        'own_rows': own_rows,
        'candidate': ditto.table_facts(settings.schema, settings.candidate_identifier) if settings.audits else ditto.no_table_facts(),
        'key_range': ditto.merger_key_range(settings, facts, sql) if prunes else []
    }) %}
    {{ return(facts) }}
{% endmacro %}


{# The table is asked and not the ledger: a run may have died between its commit and its outcome. #}
{% macro _has_own_rows(settings, target) %}
    {% set asks = settings.write == 'merge' and target.provider == 'delta' and not settings.dry and not settings.full_refresh
        and settings.execution_time_column | lower in ditto.lower_names(target.columns) %}
    {% set sql = 'select 1 as `one` from ' ~ settings.table ~ ' where ' ~ ditto.own_rows_predicate(settings) ~ ' limit 1' %}
    {{ return(asks and ditto.fetch(sql) | length > 0) }}
{% endmacro %}
