{# dbt shows the message beside the model's name, and keeps the statements in target/run. #}
{% macro report(plan, outcome) %}
    {% set message = ditto.outcome_message(plan, outcome) %}
    {% call noop_statement('main', message, message, outcome.rows_inserted if outcome else none) %}
        {%- for step in plan.steps if step.sql %}
-- {{ step.name }}
{{ step.sql }};
        {% endfor %}
    {% endcall %}
{% endmacro %}


{% macro outcome_message(plan, outcome) %}
    {% if not outcome %}
        {{ return('DRY RUN, nothing written') }}
    {% endif %}
    {% set parts = (plan.notes or []) | list %}
    {% for word in ('inserted', 'updated', 'deleted') %}
        {% set number = outcome.get('rows_' ~ word) %}
        {% if number is not none and (number | int > 0 or word == 'inserted') %}
            {% do parts.append(number ~ ' ' ~ word) %}
        {% endif %}
    {% endfor %}
    {% if plan.dead_letters and plan.found.dead_letters > 0 %}
        {% do parts.append(plan.found.dead_letters ~ ' dead letter' ~ ('s' if plan.found.dead_letters > 1 else '')) %}
    {% endif %}
    {% if outcome.version is not none %}
        {% do parts.append('version ' ~ outcome.version ~ (' of ' ~ plan.identifier if plan.many_tables else '')) %}
    {% endif %}
    {{ return('OK ' ~ plan.mode ~ (': ' if parts else '') ~ parts | join(', ')) }}
{% endmacro %}
