{# The commits of the table behind a model: with hidden rows it is the one that the view reads. #}
{% macro history_of_model(schema, identifier) %}
    {% set facts = ditto.table_facts(schema, identifier) %}
    {% set name = identifier ~ '__data' if facts.type == 'view' else identifier %}
    {% if not facts.exists or (facts.type == 'table' and facts.provider != 'delta') %}
        {{ return([]) }}
    {% endif %}
    {{ return(ditto.commits(ditto.table_name(schema, name), 100000)) }}
{% endmacro %}


{# The tables of a model that has many, and their commits; none for a model of another pattern. #}
{% macro history_of_units(schema, identifier) %}
    {% for node in ditto.nodes_of(schema, identifier, ['fast_metadata_cleaner', 'proxy_view']) %}
        {% set settings = ditto._planning_settings(node, '1970-01-01 00:00:00') %}
        {% set tables = ditto.unit_facts(settings).units | rejectattr('kind', 'equalto', 'frozen') | map(attribute='identifier') | list if settings.units
            else ditto.version_tables(settings) %}
        {% set found = {'units': [], 'commits': []} %}
        {% for name in tables %}
            {% set table = ditto.table_name(schema, name) | lower %}
            {% do found.units.append(table) %}
            {% for commit in ditto.commits(table, 100000) %}
                {% do found.commits.append(dict(commit, unit=table)) %}
            {% endfor %}
        {% endfor %}
        {{ return(found) }}
    {% endfor %}
    {{ return(none) }}
{% endmacro %}


{# The versions of a proxy_view model that somebody changed. #}
{% macro changes_of_model(schema, identifier) %}
    {% for node in ditto.nodes_of(schema, identifier, ['proxy_view']) %}
        {% set settings = ditto.proxy_view_settings(node, execution_time='1970-01-01 00:00:00') %}
        {{ return(ditto.changed_versions(settings, ditto.proxy_versions(settings), files=true)) }}
    {% endfor %}
    {% do ditto.error('test ditto_immutable on ' ~ schema ~ '.' ~ identifier, 'no proxy_view model of this name',
        'a model whose versions are written once', "set materialized='proxy_view', or remove the test") %}
{% endmacro %}


{% macro nodes_of(schema, identifier, patterns) %}
    {% set nodes = [] %}
    {% for node in graph.nodes.values() if node.resource_type == 'model' and node.config.materialized in patterns
        and ditto.relation_key(node.schema, node.alias) == ditto.relation_key(schema, identifier) %}
        {% do nodes.append(node) %}
    {% endfor %}
    {{ return(nodes) }}
{% endmacro %}
