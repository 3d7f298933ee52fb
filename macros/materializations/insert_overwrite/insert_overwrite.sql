{% materialization insert_overwrite, adapter='spark', supported_languages=['sql'] %}
    {% set settings = ditto.insert_overwrite_settings(model, should_full_refresh(), ditto.is_dry_run()) %}
    {% set sql = ditto.increment_sql(compiled_code, settings) %}

    {# Hooks before the facts: they may make what the model reads. #}
    {{ run_hooks(pre_hooks) }}

    {% set facts = ditto.insert_overwrite_facts(model, settings, sql) %}
    {% set plan = ditto.insert_overwrite_plan(model, settings, facts, sql) %}
    {% set outcome = ditto.run_plan(plan) %}
    {% do ditto.report(plan, outcome) %}

    {% do apply_grants(this, config.get('grants'), should_revoke(facts.target.exists, plan.made_anew)) %}
    {{ run_hooks(post_hooks) }}
    {{ return({'relations': [this]}) }}
{% endmaterialization %}


{# Besides the common facts: the partitions that the increment has rows for, and those of the table that a predicate selects. #}
{% macro insert_overwrite_facts(node, settings, sql) %}
    {% do settings.update({'ledger_table': ditto.ledger_table()}) %}
    {% set facts = ditto.gather_facts(node, settings, sql) %}
    {% set partitions = [] %}
    {% if settings.overwrite == 'partitions' and not settings.dry %}
        {% set limit = settings.max_partitions + 1 %}
        {% set selected = settings.table if settings.predicate and not settings.full_refresh
            and facts.target.type == 'table' and facts.target.provider == settings.file_format else none %}
        {% for row in ditto.fetch(ditto.present_partitions_sql(settings, facts.increment, sql, limit, selected)) %}
            {% set partition = [] %}
            {% for column in fromjson(row['partition']) %}
                {% do partition.append(dict({'value': none}, **column)) %}
            {% endfor %}
            {% do partitions.append(partition) %}
        {% endfor %}
    {% endif %}
    {% do facts.update({'partitions': partitions}) %}
    {{ return(facts) }}
{% endmacro %}
