{# Every error a person meets has this form: where, what was found, what is expected, what fixes it. #}
{% macro error(subject, found, expected, fix) %}
    {{ exceptions.raise_compiler_error(ditto.error_text(subject, found, expected, fix)) }}
{% endmacro %}


{% macro error_text(subject, found, expected, fix) %}
    {{ return('ditto: ' ~ subject
        ~ '\n  found:    ' ~ found
        ~ '\n  expected: ' ~ expected
        ~ '\n  fix:      ' ~ fix) }}
{% endmacro %}


{% macro warning(subject, text) %}
    {% do exceptions.warn('ditto: ' ~ subject ~ ': ' ~ text) %}
{% endmacro %}
