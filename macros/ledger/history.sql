{# The commits of the table behind a model: with hidden rows it is the one that the view reads. #}
{% macro history_of_model(schema, identifier) %}
    {% set facts = ditto.table_facts(schema, identifier) %}
    {% set name = identifier ~ '__data' if facts.type == 'view' else identifier %}
    {% if not facts.exists or (facts.type == 'table' and facts.provider != 'delta') %}
        {{ return([]) }}
    {% endif %}
    {{ return(ditto.commits(ditto.table_name(schema, name), 100000)) }}
{% endmacro %}
