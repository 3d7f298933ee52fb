{# Facts in, plan out: what merger plans, if the keys are the same each time. Pure. #}
{% macro keyed_idempotency_plan(node, settings, facts, sql) %}
    {% set problem = ditto.key_problem(settings, sql, facts.key_plans) %}
    {% if problem %}
        {% do ditto.error(settings.subject, problem.found, 'the same keys each time an execution runs: other ones are new rows, not overwrites',
            problem.fix) %}
    {% endif %}
    {{ return(ditto.merger_plan(node, settings, facts, sql)) }}
{% endmacro %}


{# Spark has left out whatever the keys do not need, so a name that is still there decides about keys or about which rows there are. #}
{% macro key_problem(settings, sql, key_plans) %}
    {% set plain, twins = key_plans.plain, key_plans.twins %}
    {% if plain is none %}
        {{ return(none) }}
    {% endif %}
    {% set random = ditto.names_in(plain.optimized, ditto.random_functions()) %}
    {% if random %}
        {{ return({
            'found': random | join(', ') ~ ' in what makes the keys ' ~ settings.unique_key | join(', ') ~ ', or in what chooses the rows',
            'fix': "make the key of what never changes about a row: ditto.idempotent_key(['user_id', 'appended_at'])"
        }) }}
    {% elif twins and twins[0].optimized != twins[1].optimized %}
        {{ return({
            'found': 'keys ' ~ settings.unique_key | join(', ') ~ ', or a choice of rows, that differ from run to run, by '
                ~ ditto.clocks_in(settings, sql, plain) | join(', '),
            'fix': "take the time from ditto.execution_time() or from the row itself, such as its append time;"
                ~ ' in a column that is no key, such as loaded_at, the clock does no harm'
        }) }}
    {% endif %}
    {{ return(none) }}
{% endmacro %}


{# What may differ from run to run though the data does not: in the text, or in a view that it reads. #}
{% macro clocks_in(settings, sql, plan) %}
    {% set found = ditto.names_in(ditto.unquoted(sql) ~ '\n' ~ plan.analyzed, ditto.clock_functions()) %}
    {% if settings.invocation_id in sql %}
        {% do found.append('the invocation_id') %}
    {% endif %}
    {% if settings.started_at in sql.replace('T', ' ') %}
        {% do found.append('run_started_at') %}
    {% endif %}
    {{ return(found) }}
{% endmacro %}


{% macro parse_key_plan(row) %}
    {% set text = modules.re.sub('#[0-9]+L?', '', row['plan']) %}
    {% set after = text.split('== Analyzed Logical Plan ==') | last %}
    {% set parts = after.split('== Optimized Logical Plan ==') %}
    {{ return({'analyzed': parts[0], 'optimized': (parts | last).split('== Physical Plan ==')[0]}) }}
{% endmacro %}
