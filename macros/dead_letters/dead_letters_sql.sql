{# Pure builders. `dead`: the settings of a model's dead letters. #}

{# The SELECT with the names of the rules that each row matches, joined by commas: empty for a row that may live. Null is no match. In a
   subquery that has a column of the same name, a rule says source.<column>.
   The line break ends a comment that somebody left at the end of a rule. #}
{% macro judged_rows_sql(dead, sql) %}
select *, concat_ws(','
{%- for rule in dead.rules %},
    if(coalesce(({{ rule.when }}
    ), false), {{ ditto.literal(rule.name) }}, null)
{%- endfor %}) as `_ditto_reasons`
from (
{{ sql }}
) as source
{%- endmacro %}


{# What is left for the table. #}
{% macro living_rows_sql(dead, sql) %}
select * except ({{ '`_corrupt_record`, ' if dead.corrupt }}`_ditto_reasons`)
from (
{{ ditto.judged_rows_sql(dead, sql) }}
)
where `_ditto_reasons` = ''
{%- endmacro %}


{# What is not, as rows of the table of dead letters. `scope`: SQL for `file_path` and `load`, over the columns of the SELECT. #}
{% macro dead_rows_sql(settings, increment, sql, scope={}) %}
{% set dead = settings.dead_letters %}
{# In the order of record_type. #}
{% set names = ditto.quote_all((dead.raw_columns or increment) | map(attribute='name')) %}
{% set recorded = 'select *, to_json(struct(' ~ names ~ '), ' ~ ditto.json_options() ~ ') as `_ditto_record`\nfrom (\n' ~ sql ~ '\n)' %}
{{ ditto.letter_sql(settings, '`_ditto_reasons`', '`_ditto_record`', ditto.record_type(dead, increment), scope) }}
from (
{{ ditto.judged_rows_sql(dead, recorded) }}
)
where `_ditto_reasons` <> ''
{%- endmacro %}


{# The columns of a new letter; `reason` and `record` are SQL. #}
{% macro letter_sql(settings, reason, record, record_type, scope={}) %}
select
    {{ ditto.typed_literal(settings.execution_time, 'timestamp_ntz') }} as `execution_time`,
    {{ reason }} as `reason`,
    {{ record }} as `record`,
    {{ ditto.literal(record_type) }} as `record_type`,
    {{ ditto.literal('FAILED' if settings.dead_letters.max_retries > 0 else 'DEAD') }} as `status`,
    0 as `attempts`,
    {{ scope.file_path or 'cast(null as string)' }} as `file_path`,
    {{ scope.load or 'cast(null as string)' }} as `load`,
    cast(null as string) as `retry_id`,
    {{ ditto.literal(settings.invocation_id) }} as `invocation_id`,
    current_timestamp() as `at`,
    cast(null as string) as `replaced_by`
{%- endmacro %}


{# What other runs have found, in the order of a new letter, with the mark of the run that is about to replace it. #}
{% macro kept_letters_sql(settings, predicate) %}
{% set names = ditto.dead_letters_columns() | map(attribute='name') | reject('equalto', 'replaced_by') %}
select {{ ditto.quote_all(names) }}, {{ ditto.literal(ditto.replacing(settings)) }} as `replaced_by`
from {{ settings.dead_letters.table }}
where ({{ predicate }}) and not `invocation_id` <=> {{ ditto.literal(settings.invocation_id) }}
{%- endmacro %}


{# The columns of a record, as from_json takes them; `increment` where the SELECT has no others. They are kept with the record: those
   of the model and of its table may be others by the time it is read again, and from_json makes null of what does not fit. #}
{% macro record_type(dead, increment) %}
    {% set fields = [] %}
    {% for column in dead.raw_columns or increment %}
        {% do fields.append(ditto.quote(column.name) ~ ' ' ~ column.type) %}
    {% endfor %}
    {{ return(fields | join(', ')) }}
{% endmacro %}


{% macro dead_letters_columns() %}
    {{ return([
        {'name': 'execution_time', 'type': 'timestamp_ntz', 'comment': 'The execution that found the row'},
        {'name': 'reason', 'type': 'string', 'comment': 'The rules that it matches, joined by commas'},
        {'name': 'record', 'type': 'string', 'comment': 'JSON: the whole row of the SELECT, nulls and microseconds included'},
        {'name': 'record_type', 'type': 'string', 'comment': 'The columns of the record and their types'},
        {'name': 'status', 'type': 'string', 'comment': 'FAILED; RETRYING: on its way into the table; DEAD: tried max_retries times'},
        {'name': 'attempts', 'type': 'int', 'comment': 'How often it was tried again'},
        {'name': 'file_path', 'type': 'string', 'comment': 'The file that it came from, where the pattern reads files'},
        {'name': 'load', 'type': 'string', 'comment': 'The load of that file'},
        {'name': 'retry_id', 'type': 'string', 'comment': 'Of the retry that looked at it last'},
        {'name': 'invocation_id', 'type': 'string', 'comment': 'Of the run that found it'},
        {'name': 'at', 'type': 'timestamp', 'comment': 'When it was found, for people'},
        {'name': 'replaced_by', 'type': 'string', 'comment': 'The run that removes it once its own rows are written'}
    ]) }}
{% endmacro %}


{# By execution, so that a replay replaces whole partitions and executions that run at once do not meet. #}
{% macro dead_letters_create_sql(dead) %}
    {{ return(ditto.create_table_sql(dead.table, {
        'columns': ditto.dead_letters_columns(), 'file_format': 'delta', 'partition_by': ['execution_time'], 'location': dead.location,
        'comment': dead.comment
    })) }}
{% endmacro %}
