{# The ledger: one append-only Delta table. The order of the columns is the order in which events are written and hashed. #}
{% macro ledger_columns() %}
    {{ return([
        {'name': 'event_id', 'type': 'string', 'comment': 'The same event recorded twice has the same id'},
        {'name': 'relation', 'type': 'string', 'comment': 'schema.table of the model, in lower case'},
        {'name': 'pattern', 'type': 'string', 'comment': 'The materialization'},
        {'name': 'execution_time', 'type': 'timestamp_ntz', 'comment': 'The identity of the run; null for an operation'},
        {'name': 'event', 'type': 'string', 'comment': 'started, committed or released'},
        {'name': 'mode', 'type': 'string', 'comment': 'What the plan decided'},
        {'name': 'generation', 'type': 'bigint', 'comment': 'Grows when the table is made anew: a full refresh, a dropped table'},
        {'name': 'seq', 'type': 'bigint', 'comment': 'Position among the events of the relation'},
        {'name': 'token', 'type': 'bigint', 'comment': 'Fencing token of a run that holds the lease'},
        {'name': 'base_version', 'type': 'bigint', 'comment': 'The Delta version that the execution was applied to'},
        {'name': 'version', 'type': 'bigint', 'comment': 'The Delta version of the table after the event'},
        {'name': 'undoes_until', 'type': 'timestamp_ntz', 'comment': 'Later executions before this time lost their effect'},
        {'name': 'rows_inserted', 'type': 'bigint', 'comment': 'As Delta counted them'},
        {'name': 'rows_updated', 'type': 'bigint', 'comment': 'As Delta counted them'},
        {'name': 'rows_deleted', 'type': 'bigint', 'comment': 'As Delta counted them; null where only files were dropped'},
        {'name': 'unit', 'type': 'string', 'comment': 'The physical table or the part of it that was written'},
        {'name': 'inputs', 'type': 'string', 'comment': 'JSON: the last outcome of each upstream ditto model'},
        {'name': 'details', 'type': 'string', 'comment': 'JSON: what else the pattern wants to remember'},
        {'name': 'invocation_id', 'type': 'string', 'comment': 'Of the dbt command'},
        {'name': 'user', 'type': 'string', 'comment': 'Who ran it, as Spark knows them'},
        {'name': 'at', 'type': 'timestamp', 'comment': 'Wall clock, for people; only the age of proxy_view versions is told by it'},
        {'name': 'prev_hash', 'type': 'string', 'comment': 'Hash of the event of this relation that was the last one'},
        {'name': 'hash', 'type': 'string', 'comment': 'SHA-256 over all columns before this one'}
    ]) }}
{% endmacro %}


{% macro ledger_create_sql(ledger) %}
create table if not exists {{ ledger }} (
{%- for column in ditto.ledger_columns() %}
    {{ ditto.quote(column.name) }} {{ column.type }} comment {{ ditto.literal(column.comment) }}{{ ',' if not loop.last }}
{%- endfor %}
) using delta
comment 'ditto: what every execution intended and did. Append only.'
tblproperties (
    'delta.appendOnly' = 'true',
    'delta.autoOptimize.autoCompact' = 'true',
    'delta.dataSkippingStatsColumns' = 'relation',
    'delta.checkpointInterval' = '50'
)
{%- endmacro %}


{# SHA-256 over the columns, each as text: a JSON array keeps nulls and quotes apart. #}
{% macro ledger_digest() %}
    {% set fields = [] %}
    {% for column in ditto.ledger_columns()[:-1] %}
        {% set field = ditto.quote(column.name) %}
        {# A timestamp's text depends on the session's time zone; its micros do not. #}
        {% do fields.append('cast(unix_micros(' ~ field ~ ') as string)' if column.type == 'timestamp'
            else 'cast(' ~ field ~ ' as string)') %}
    {% endfor %}
    {{ return('sha2(to_json(array(' ~ fields | join(', ') ~ ')), 256)') }}
{% endmacro %}
