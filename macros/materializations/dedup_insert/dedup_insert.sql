{% materialization dedup_insert, adapter='spark', supported_languages=['sql'] %}
    {% set settings = ditto.dedup_insert_settings(model, should_full_refresh(), ditto.is_dry_run()) %}
    {% set sql = ditto.increment_sql(compiled_code, settings) %}

    {# Hooks before the facts: they may make what the model reads. #}
    {{ run_hooks(pre_hooks) }}

    {% set facts = ditto.merger_facts(model, settings, sql) %}
    {% set plan = ditto.dedup_insert_plan(model, settings, facts, sql) %}
    {% set outcome = ditto.run_plan(plan) %}
    {% do ditto.report(plan, outcome) %}

    {% do apply_grants(this, config.get('grants'), should_revoke(facts.target.exists, plan.made_anew)) %}
    {{ run_hooks(post_hooks) }}
    {{ return({'relations': [this]}) }}
{% endmaterialization %}
