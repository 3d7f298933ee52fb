{# Pure builders. #}

{# One commit. Delta notices that the keys of the table were read: of two runs at once the second one conflicts and reads again.
   The transaction id makes a statement that is sent twice count once. It is new for each run: a RESTORE keeps the ids of what it
   took away, and a replay with an old id would be skipped without a word.
   Spark looks a table up once for each statement, and forgets the options of all but the first mention of it, in silence. So the
   keys are read first, with the same options; the SELECT may then read the table too. #}
{% macro dedup_insert_sql(settings, columns, sql, tag, key_range=[], fence=none) %}
{% set options = ditto._properties({
    'userMetadata': tag,
    'txnAppId': ['ditto:write', settings.invocation_id, settings.relation, settings.execution_time] | join(':'),
    'txnVersion': 1
}) %}
insert into {{ settings.table }} with ({{ options }})
with `_ditto_target` as (
    select {{ ditto.quote_all(settings.unique_key) }}
    from {{ settings.table }} with ({{ options }})
{%- for range in key_range %}
    {{ 'where' if loop.first else 'and' }} ({{ ditto._within(range, '') }})
{%- endfor %}
)
select {{ ditto.select_columns(columns, 'source.') }}
from (
{{ ditto.dedup_insert_source_sql(settings, columns, sql, key_range, fence) }}
) as source
left anti join `_ditto_target` as target
    on {% for key in settings.unique_key -%}
    target.{{ ditto.quote(key) }} <=> source.{{ ditto.quote(key) }}{{ ' and ' if not loop.last }}
    {%- endfor %}
{%- endmacro %}


{# The increment, one row for each key. As in a MERGE, the guard is a filter of the rows themselves: a condition of the join would
   not be asked for every row. #}
{% macro dedup_insert_source_sql(settings, columns, sql, key_range=[], fence=none) %}
{% set names = ditto.quote_all(columns | selectattr('given') | map(attribute='name')) %}
{% set keys = ditto.quote_all(settings.unique_key) %}
{% set guard = ditto._dedup_insert_guard(settings, key_range) %}
select {{ names }}
from (
    select {{ names }}, {{ 'case ' ~ guard ~ ' end' if guard else 'null' }} as `_ditto_guard`
    from (
        select *,
            row_number() over (partition by {{ keys }} order by {{ ditto._dedup_insert_order(settings) }}) as `_ditto_rank`,
            min(`_ditto_row`) over (partition by {{ keys }}) <> max(`_ditto_row`) over (partition by {{ keys }}) as `_ditto_differs`
        from (
{{ ditto.dedup_insert_rows_sql(columns, sql) }}
        )
    )
    where `_ditto_rank` = 1{{ ' and ' ~ fence if fence }}
)
where `_ditto_guard` is null
{%- endmacro %}


{# Each row with a hash of what is written of it: rows of any types can be compared by it, and ties end the same way every time. #}
{% macro dedup_insert_rows_sql(columns, sql) %}
{% set names = columns | selectattr('given') | map(attribute='name') | list %}
select *, sha2({{ ditto.comparable_columns(names, columns) }}, 256) as `_ditto_row`
from (
{{ sql }}
)
{%- endmacro %}


{% macro different_rows_sql(settings, columns, sql) %}
select distinct {{ ditto.quote_all(settings.unique_key) }}, `_ditto_row`
from (
{{ ditto.dedup_insert_rows_sql(columns, sql) }}
)
{%- endmacro %}


{% macro _dedup_insert_guard(settings, key_range) %}
    {% set differs = "when `_ditto_differs` then raise_error('ditto: different rows with one key') " if settings.on_duplicate_key == 'error' else '' %}
    {# Copies are gone already, so merger's own guard against duplicates is not asked for. #}
    {{ return(differs ~ ditto._merger_guard(dict(settings, on_duplicate_key='latest'), key_range)) }}
{% endmacro %}


{% macro _dedup_insert_order(settings) %}
    {% set terms = [] %}
    {% for column in settings.order_by if settings.on_duplicate_key != 'error' %}
        {% do terms.append(ditto.quote(column) ~ (' asc' if settings.on_duplicate_key == 'first' else ' desc') ~ ' nulls last') %}
    {% endfor %}
    {{ return((terms + ['`_ditto_row` desc']) | join(', ')) }}
{% endmacro %}
