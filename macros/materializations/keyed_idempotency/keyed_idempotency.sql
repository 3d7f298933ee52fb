{% materialization keyed_idempotency, adapter='spark', supported_languages=['sql'] %}
    {% set settings = ditto.keyed_idempotency_settings(model, should_full_refresh(), ditto.is_dry_run()) %}
    {% set sql = ditto.increment_sql(compiled_code, settings) %}

    {# Hooks before the facts: they may make what the model reads. #}
    {{ run_hooks(pre_hooks) }}

    {% set facts = ditto.keyed_idempotency_facts(model, settings, sql) %}
    {% set plan = ditto.keyed_idempotency_plan(model, settings, facts, sql) %}
    {% set outcome = ditto.run_plan(plan) %}
    {% do ditto.report(plan, outcome) %}

    {% do apply_grants(this, config.get('grants'), should_revoke(facts.target.exists, plan.made_anew)) %}
    {{ run_hooks(post_hooks) }}
    {{ return({'relations': [this]}) }}
{% endmaterialization %}


{# Besides the facts of a merge: how Spark would compute the keys. It sees through views, which the text of the SELECT does not. #}
{% macro keyed_idempotency_facts(node, settings, sql) %}
    {% set facts = ditto.merger_facts(node, settings, sql) %}
    {% set known = ditto.lower_names(facts.increment) %}
    {% set key_plans = {'plain': none, 'twins': []} %}
    {% if not settings.dry and ditto.lower_names(settings.unique_key) | reject('in', known) | list == [] %}
        {% do key_plans.update({'plain': ditto.parse_key_plan(ditto.fetch(ditto.key_plan_sql(settings, sql))[0])}) %}
        {% for twin in (ditto.twin_moments() if ditto.clocks_in(settings, sql, key_plans.plain) else []) %}
            {% set twin_sql = ditto.key_plan_sql(settings, ditto.twin_sql(settings, sql, twin)) %}
            {% do key_plans.twins.append(ditto.parse_key_plan(ditto.fetch(twin_sql)[0])) %}
        {% endfor %}
    {% endif %}
    {% do facts.update({'key_plans': key_plans}) %}
    {{ return(facts) }}
{% endmacro %}
