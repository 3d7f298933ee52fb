{# Pure builders. #}

{# One commit: the rows of the predicate go, those of the increment come. Rows of the increment outside of it are refused. #}
{% macro replace_where_sql(settings, columns, sql, predicate, tag) %}
{% set options = ditto._properties({'userMetadata': tag}) %}
insert into {{ settings.table }} with ({{ options }})
replace where {{ predicate }}
{{ ditto.first_mention(settings.table, options) }}
select {{ ditto.select_columns(columns) }}
from (
{{ sql }}
)
{%- endmacro %}


{# Spark looks a table up once for each statement, and forgets the options of all but its first mention, in silence. Where the SELECT
   reads the table itself that is not the INSERT, and the commit would carry no name. So it is mentioned before, to no other end. #}
{% macro first_mention(table, options) %}
    {{ return('with `_ditto_target` as (select 1 as `one` from ' ~ table ~ ' with (' ~ options ~ '))') }}
{% endmacro %}


{% macro static_overwrite_sql(settings, columns, sql) %}
insert overwrite {{ settings.table }} with ('partitionOverwriteMode' = 'static')
select {{ ditto.select_columns(columns) }}
from (
{{ sql }}
)
{%- endmacro %}


{# One partition of a table without Delta, named in full: that replaces it in either overwrite mode, also by nothing. #}
{% macro overwrite_partition_sql(settings, columns, sql, partition) %}
{% set keys = ditto.lower_names(partition) %}
{% set rest = [] %}
{% for column in columns if column.name | lower not in keys %}{% do rest.append(column) %}{% endfor %}
insert overwrite {{ settings.table }} partition (
{%- for column in partition %}{{ ditto.quote(column.name) }} = {{ ditto.literal(column.value) }}{{ ', ' if not loop.last }}{% endfor %})
select {{ ditto.select_columns(rest) }}
from (
{{ sql }}
)
where {{ ditto.partition_predicate(partition) }}
{%- endmacro %}


{# With a predicate also the partitions of the table that it selects; it sees only the partition columns. #}
{% macro present_partitions_sql(settings, columns, sql, limit, table=none) %}
select distinct to_json(array(
{%- for name in settings.partition_by %}
    struct({{ ditto.literal(name) }} as `name`, {{ ditto.literal(ditto.type_of(columns, name)) }} as `type`,
        nullif(cast({{ ditto.quote(name) }} as string), '') as `value`)
    {{- ',' if not loop.last }}
{%- endfor %}
)) as `partition`
from (
    select {{ ditto.quote_all(settings.partition_by) }}
    from (
{{ sql }}
    )
{%- if table %}
    union all
    select *
    from (select distinct {{ ditto.quote_all(settings.partition_by) }} from {{ table }})
    where ({{ settings.predicate }})
{%- endif %}
)
limit {{ limit }}
{%- endmacro %}


{% macro type_of(columns, name) %}
    {% for column in columns if column.name | lower == name | lower %}
        {{ return(column.type) }}
    {% endfor %}
{% endmacro %}


{% macro rows_outside_sql(sql, predicate) %}
select to_json(struct(*)) as `problem`
from (
{{ sql }}
)
where not coalesce({{ predicate }}, false)
limit 5
{%- endmacro %}


{# The transaction id makes a statement that is sent twice count once. Its version is the token, so that of a run that was taken over in
   the middle of this statement nothing lands any more: Delta compares no rows of an INSERT, but it does compare these. #}
{% macro fenced_insert_sql(settings, columns, sql, predicate, tag, fence, token) %}
{% set options = ditto._properties({
    'userMetadata': tag, 'txnAppId': 'ditto:write:' ~ settings.relation ~ ':' ~ settings.execution_time, 'txnVersion': token
}) %}
insert into {{ settings.table }} with ({{ options }})
{{ ditto.first_mention(settings.table, options) }}
select {{ ditto.select_columns(columns) }}
from (
{{ sql }}
)
where {{ fence }} and case when coalesce({{ predicate }}, false) then true else raise_error('ditto: a row outside of the predicate') end
{%- endmacro %}
