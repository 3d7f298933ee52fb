{# Options of a model: at the top level of its config or under `meta`, read from the node so that the dry run sees the same. #}
{% macro option(node, name, default=none) %}
    {% set top = node.config.get(name) %}
    {% if top is not none %}
        {{ return(top) }}
    {% endif %}
    {% set below = (node.config.get('meta') or {}).get(name) %}
    {{ return(default if below is none else below) }}
{% endmacro %}


{% macro choice(node, name, allowed, default) %}
    {% set value = ditto.option(node, name, default) %}
    {% if value not in allowed %}
        {% do ditto.error(
            ditto.subject(node), name ~ ': ' ~ value, 'one of ' ~ (allowed | reject('none') | join(', ')),
            'change the config of the model, for example ' ~ name ~ "='" ~ (allowed | reject('none') | first if default is none else default) ~ "'"
        ) %}
    {% endif %}
    {{ return(value) }}
{% endmacro %}


{% macro whole_number(node, name, default, least) %}
    {% set value = ditto.option(node, name, default) %}
    {% if value is not integer or value is boolean or value < least %}
        {% do ditto.error(ditto.subject(node), name ~ ': ' ~ value, 'a whole number from ' ~ least,
            'change the config of the model, for example ' ~ name ~ '=' ~ default) %}
    {% endif %}
    {{ return(value) }}
{% endmacro %}


{# A list option also takes a single name. #}
{% macro list_option(node, name, default=none) %}
    {% set value = ditto.option(node, name, default) %}
    {% if value is none %}
        {{ return([]) }}
    {% endif %}
    {% set listed = value is sequence and value is not mapping %}
    {% set names = [value] if value is string or not listed else value | list %}
    {% for item in names %}
        {% if item is not string or not item.strip() %}
            {% do ditto.error(
                ditto.subject(node), name ~ ': ' ~ value, 'a column name or a list of column names',
                'change the config of the model, for example ' ~ name ~ "=['id']"
            ) %}
        {% endif %}
    {% endfor %}
    {{ return(names) }}
{% endmacro %}


{# One column or one condition. #}
{% macro text_option(node, name, expected, example) %}
    {% set value = ditto.option(node, name) %}
    {% if value is not none and (value is not string or not value.strip()) %}
        {% do ditto.error(ditto.subject(node), name ~ ': ' ~ value, expected,
            'change the config of the model, for example ' ~ name ~ '="' ~ example ~ '"') %}
    {% endif %}
    {{ return(value) }}
{% endmacro %}


{# Gives an empty mapping where the config has none. #}
{% macro mapping_option(node, name, example) %}
    {% set value = ditto.option(node, name, {}) %}
    {% set plain = value.values() | select('mapping') | list == [] and none not in value.values() | list if value is mapping else false %}
    {% if not plain %}
        {% do ditto.error(ditto.subject(node), name ~ ': ' ~ value, 'a mapping of names to values',
            'change the config of the model, for example ' ~ name ~ '=' ~ example) %}
    {% endif %}
    {{ return(value) }}
{% endmacro %}


{% macro subject(node) %}
    {{ return(node.config.get('materialized') ~ ' model ' ~ node.name) }}
{% endmacro %}
