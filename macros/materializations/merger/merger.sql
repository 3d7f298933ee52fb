{% materialization merger, adapter='spark', supported_languages=['sql'] %}
    {% set settings = ditto.merger_settings(model, should_full_refresh(), ditto.is_dry_run()) %}
    {% set sql = ditto.increment_sql(compiled_code, settings) %}

    {# Hooks before the facts: they may make what the model reads. #}
    {{ run_hooks(pre_hooks) }}

    {% set facts = ditto.merger_facts(model, settings, sql) %}
    {% set plan = ditto.merger_plan(model, settings, facts, sql) %}
    {% set outcome = ditto.run_plan(plan) %}
    {% do ditto.report(plan, outcome) %}

    {% do apply_grants(this, config.get('grants'), should_revoke(facts.target.exists, plan.made_anew)) %}
    {{ run_hooks(post_hooks) }}
    {{ return({'relations': [this]}) }}
{% endmaterialization %}


{# Besides the common facts: the view, and the range of the keys where it lets Delta skip files. #}
{% macro merger_facts(node, settings, sql) %}
    {% do settings.update({'ledger_table': ditto.ledger_table()}) %}
    {% set facts = ditto.gather_facts(node, settings, sql) %}
    {% do facts.update({
        'view': ditto.table_facts(settings.schema, settings.view_identifier) if settings.view,
        'key_range': ditto.merger_key_range(settings, facts, sql)
    }) %}
    {{ return(facts) }}
{% endmacro %}


{% macro merger_key_range(settings, facts, sql) %}
    {% set columns = ditto.merger_range_columns(settings, facts) %}
    {% if not columns %}
        {{ return([]) }}
    {% endif %}
    {% set ranges = fromjson(ditto.fetch(ditto.merger_key_range_sql(columns, sql))[0]['key_range']) %}
    {{ return(ranges | selectattr('low', 'defined') | list) }}
{% endmacro %}
