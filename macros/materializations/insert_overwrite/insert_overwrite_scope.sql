{# Which part of the table does an execution own? Pure. #}

{# The columns and values of the partition of this execution, or an empty list where that is ambiguous. #}
{% macro own_partition(settings, columns) %}
    {% set types = {} %}
    {% for column in columns %}
        {% do types.update({column.name | lower: column.type}) %}
    {% endfor %}
    {% set names = settings.partition_by %}
    {% set day, clock = settings.execution_time[:10], settings.execution_time[11:] %}
    {% set first = types.get(names[0] | lower) if names else none %}
    {% set second = types.get(names[1] | lower) if names | length == 2 else none %}
    {% if names | length == 1 and first == 'date' and clock == '00:00:00' %}
        {{ return([{'name': names[0], 'type': first, 'value': day}]) }}
    {% elif names | length == 1 and first in ('timestamp', 'timestamp_ntz') %}
        {{ return([{'name': names[0], 'type': first, 'value': settings.execution_time}]) }}
    {% elif first == 'date' and second in ('tinyint', 'smallint', 'int', 'bigint') and clock[2:] == ':00:00' %}
        {{ return([
            {'name': names[0], 'type': first, 'value': day},
            {'name': names[1], 'type': second, 'value': clock[:2] | int}
        ]) }}
    {% endif %}
    {{ return([]) }}
{% endmacro %}


{# The predicate of a run: given, or from its partition, or an error that says how to give it. #}
{% macro own_predicate(settings, columns) %}
    {% if settings.predicate %}
        {{ return('(' ~ settings.predicate ~ ')') }}
    {% endif %}
    {% set partition = ditto.own_partition(settings, columns) %}
    {% if not partition %}
        {% do ditto.error(
            settings.subject,
            'partition_by: ' ~ settings.partition_by | join(', ') ~ ', which does not tell which rows execution '
            ~ settings.execution_time ~ ' replaces',
            'one date column (for daily runs), one timestamp column, a date and an hour column, or a predicate',
            ditto._predicate_hint()
        ) %}
    {% endif %}
    {{ return(ditto.partition_predicate(partition)) }}
{% endmacro %}


{% macro partition_predicate(partition) %}
    {% set terms = [] %}
    {% for column in partition %}
        {% do terms.append(ditto.quote(column.name) ~ ' <=> ' ~ ditto.typed_literal(column.value, column.type)) %}
    {% endfor %}
    {{ return('(' ~ terms | join(' and ') ~ ')') }}
{% endmacro %}


{# The partitions that the increment has rows for, and the run's own one: without it an empty increment would leave old rows. #}
{% macro partitions_to_replace(settings, facts) %}
    {% set partitions = [] %}
    {% set own = ditto.own_partition(settings, facts.increment) %}
    {% if own %}
        {% do partitions.append(own) %}
    {% endif %}
    {% for found in facts.partitions if not own or ditto.partition_predicate(found) != ditto.partition_predicate(own) %}
        {% do partitions.append(found) %}
    {% endfor %}
    {{ return(partitions) }}
{% endmacro %}
