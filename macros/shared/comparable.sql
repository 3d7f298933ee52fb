{# A row as one text, so that rows of any types can be counted and compared: maps cannot. Entries of a map are put in order, since
   equal maps may be written in another one. `columns` have names and types. Pure. #}
{% macro comparable_columns(names, columns) %}
    {% set values = [] %}
    {% for name in names %}
        {% set types = [] %}
        {% for column in columns if column.name | lower == name | lower %}{% do types.append(column.type) %}{% endfor %}
        {% set sortable = types and types[0].startswith('map<') and types[0].count('map<') == 1 %}
        {% set value = 'array_sort(map_entries(' ~ ditto.quote(name) ~ '))' if sortable else ditto.quote(name) %}
        {% do values.append(value ~ ' as ' ~ ditto.quote(name)) %}
    {% endfor %}
    {{ return('to_json(struct(' ~ values | join(', ') ~ '), ' ~ ditto.json_options() ~ ')') }}
{% endmacro %}


{# JSON that says all of a value, the same in every session: nulls, and times in UTC down to the microsecond. #}
{% macro json_options() %}
    {{ return("map('ignoreNullFields', 'false', 'timeZone', 'UTC', 'timestampFormat', 'yyyy-MM-dd\\'T\\'HH:mm:ss.SSSSSSX', "
        ~ "'timestampNTZFormat', 'yyyy-MM-dd\\'T\\'HH:mm:ss.SSSSSS')") }}
{% endmacro %}
