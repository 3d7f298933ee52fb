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
    {% elif first == 'date' and second in ('tinyint', 'smallint', 'int', 'bigint') and clock[2:] == ':00:00'
        and modules.re.search('hour|(^|_)(hr|hh?)$', names[1] | lower) %}
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
        {% set name = ditto.quote(column.name) %}
        {# As a partition an empty string is null, in Delta and in files. #}
        {% do terms.append('(' ~ name ~ ' is null or ' ~ name ~ " = '')" if column.value is none and 'string' in column.type
            else name ~ ' <=> ' ~ ditto.typed_literal(column.value, column.type)) %}
    {% endfor %}
    {{ return('(' ~ terms | join(' and ') ~ ')') }}
{% endmacro %}


{# The partitions that the increment has rows for, and the run's own: without them an empty increment would leave old rows.
   With a predicate its own are those of the table that it selects, and among the facts. #}
{% macro partitions_to_replace(settings, facts) %}
    {% set partitions = [] %}
    {% set own = ditto.own_partition(settings, facts.increment) if not settings.predicate else [] %}
    {% if own %}
        {% do partitions.append(own) %}
    {% endif %}
    {% for found in facts.partitions if not own or ditto.partition_predicate(found) != ditto.partition_predicate(own) %}
        {% do partitions.append(found) %}
    {% endfor %}
    {{ return(partitions) }}
{% endmacro %}


{# Every row, whatever the session says: with partitionOverwriteMode=dynamic an INSERT OVERWRITE, and even REPLACE WHERE TRUE,
   keeps the partitions that the increment does not have. Two ranges that overlap are every value, and Spark neither folds
   them to TRUE nor fails to hand them to Delta, as it does with casts and functions. `columns`: those of the table. #}
{% macro every_row(settings, columns, partition_by) %}
    {% if not partition_by %}
        {{ return('true') }}
    {% endif %}
    {% set days, numbers = ['1970-01-01', '1980-01-01'], ['0', '1'] %}
    {% set ranges = {'string': ['', 'a'], 'date': days, 'timestamp': days, 'timestamp_ntz': days, 'tinyint': numbers, 'smallint': numbers,
        'int': numbers, 'bigint': numbers, 'float': numbers, 'double': numbers, 'decimal': numbers} %}
    {% set partitions, others = [], [] %}
    {% for column in columns if column.type.split('(')[0] in ranges %}
        {% do (partitions if column.name | lower in ditto.lower_names(partition_by) else others).append(column) %}
    {% endfor %}
    {% for column in partitions + others %}
        {% set name, range = ditto.quote(column.name), ranges[column.type.split('(')[0]] %}
        {{ return('(' ~ name ~ ' is null or ' ~ name ~ ' > ' ~ ditto.typed_literal(range[0], column.type)
            ~ ' or ' ~ name ~ ' < ' ~ ditto.typed_literal(range[1], column.type) ~ ')') }}
    {% endfor %}
    {% do ditto.error(settings.subject, 'mode: table, and partitions without a column that has an order',
        'a column that is a number, a string, a date or a timestamp', 'add one, or remove partition_by from the config of the model') %}
{% endmacro %}
