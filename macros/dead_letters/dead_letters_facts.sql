{# What is there under the name of the dead letters. A rule about unreadable records needs the column that tells of them. #}
{% macro dead_letters_facts(settings, sql) %}
    {% set dead = settings.dead_letters %}
    {% if not dead or sql is none %}
        {{ return(ditto.no_table_facts()) }}
    {% endif %}
    {% if dead.corrupt %}
        {% do dead.update({'raw_columns': ditto.query_columns(dead.raw_sql)}) %}
        {% do ditto.require_columns(settings, 'dead_letters: corrupt_records', ['_corrupt_record'], dead.raw_columns) %}
    {% endif %}
    {{ return(ditto.table_facts(dead.schema, dead.identifier)) }}
{% endmacro %}
