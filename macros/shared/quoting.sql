{# The one way to quote: identifiers in backticks, values as string literals, relations from their parts. #}

{% macro quote(name) %}
    {{ return('`' ~ (name | string | replace('`', '``')) ~ '`') }}
{% endmacro %}


{% macro quote_all(names, prefix='') %}
    {% set quoted = [] %}
    {% for name in names %}
        {% do quoted.append(prefix ~ ditto.quote(name)) %}
    {% endfor %}
    {{ return(quoted | join(', ')) }}
{% endmacro %}


{% macro literal(value) %}
    {% if value is none %}
        {{ return('null') }}
    {% endif %}
    {{ return("'" ~ (value | string | replace('\\', '\\\\') | replace("'", "\\'")) ~ "'") }}
{% endmacro %}


{% macro literals(values) %}
    {% set literals = [] %}
    {% for value in values %}{% do literals.append(ditto.literal(value)) %}{% endfor %}
    {{ return(literals | join(', ')) }}
{% endmacro %}


{% macro among(column, values) %}
    {{ return(column ~ ' in (' ~ ditto.literals(values) ~ ')') }}
{% endmacro %}


{% macro typed_literal(value, type) %}
    {{ return('cast(' ~ ditto.literal(value) ~ ' as ' ~ type ~ ')') }}
{% endmacro %}


{% macro table_name(schema, identifier) %}
    {{ return(ditto.quote(schema) ~ '.' ~ ditto.quote(identifier)) }}
{% endmacro %}


{# The name under which the ledger knows a relation. Spark's names ignore case, so this one does. #}
{% macro relation_key(schema, identifier) %}
    {{ return((schema ~ '.' ~ identifier) | lower) }}
{% endmacro %}


{% macro lower_names(items) %}
    {% set names = [] %}
    {% for item in items %}
        {% do names.append((item.name if item is mapping else item) | lower) %}
    {% endfor %}
    {{ return(names) }}
{% endmacro %}
