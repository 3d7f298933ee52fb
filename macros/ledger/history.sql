{# The commits of the table behind a model: with hidden rows it is the one that the view reads. #}
{% macro history_of_model(schema, identifier) %}
    {% set facts = ditto.table_facts(schema, identifier) %}
    {% set name = identifier ~ '__data' if facts.type == 'view' else identifier %}
    {% if not facts.exists or (facts.type == 'table' and facts.provider != 'delta') %}
        {{ return([]) }}
    {% endif %}
    {{ return(ditto.commits(ditto.table_name(schema, name), 100000)) }}
{% endmacro %}


{# The units of a fast_metadata_cleaner model and their commits; none for a model of another pattern. #}
{% macro history_of_units(schema, identifier) %}
    {% for node in graph.nodes.values() if node.resource_type == 'model' and node.config.materialized == 'fast_metadata_cleaner'
        and ditto.relation_key(node.schema, node.alias) == ditto.relation_key(schema, identifier) %}
        {% set settings = ditto.fast_metadata_cleaner_settings(node, execution_time='1970-01-01 00:00:00') %}
        {% set found = {'units': [], 'commits': []} %}
        {% for unit in ditto.unit_facts(settings).units if unit.kind != 'frozen' %}
            {% set table = ditto.table_name(schema, unit.identifier) | lower %}
            {% do found.units.append(table) %}
            {% for commit in ditto.commits(table, 100000) %}
                {% do found.commits.append(dict(commit, unit=table)) %}
            {% endfor %}
        {% endfor %}
        {{ return(found) }}
    {% endfor %}
    {{ return(none) }}
{% endmacro %}
