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


{# `problems`: {rule, found, expected, fix}. Raises what the config calls an error, and warns about what it calls that. #}
{% macro refuse_or_warn(settings, problems) %}
    {% for problem in problems if problem.rule == 'error' %}
        {% do ditto.error(settings.subject, problem.found, problem.expected, problem.fix) %}
    {% endfor %}
    {% for problem in problems if problem.rule == 'warn' %}
        {% do ditto.warning(settings.subject, problem.found) %}
    {% endfor %}
{% endmacro %}
