{# Pure builders. #}

{# The rows that are going to be written, checked: with a key one row for each. What says that a row is deleted is left out unless
   a MERGE still has to follow it. #}
{% macro transactional_rows_sql(settings, columns, sql, tag) %}
{%- if settings.unique_key -%}
select * except (`_ditto_run`)
from (
{{ ditto.merger_source_sql(settings, columns, sql, tag) }}
)
{%- else -%}
select *
from (
{{ sql }}
)
{%- endif %}
{%- if settings.soft_delete and settings.write != 'merge' %}
where not {{ ditto._deleted(settings) }}
{%- endif %}
{%- endmacro %}


{# Which rows of the table are those of this execution? #}
{% macro own_rows_predicate(settings) %}
    {{ return(ditto.partition_predicate([
        {'name': settings.execution_time_column, 'type': 'timestamp_ntz', 'value': settings.execution_time}
    ])) }}
{% endmacro %}


{# The rows as the table would have them, for a look at its constraints. #}
{% macro constrained_rows_sql(settings, columns, sql) %}
select {{ ditto.select_columns(columns) }}
from (
{{ sql }}
)
where not {{ ditto._deleted(settings) }}
{%- endmacro %}


{# Every audit in one query: up to five rows of each one that fails, under its name. #}
{% macro audits_sql(settings) %}
{%- for audit in settings.audits %}
{{ 'union all\n' if not loop.first -}}
select concat({{ ditto.literal(audit.name ~ ': ') }}, `problem`) as `problem`
from (
{{ ditto._audit_sql(settings, audit) }}
)
{%- endfor %}
{%- endmacro %}


{# A condition that gives null does not hold. The line break ends a comment that somebody left at the end of theirs. #}
{% macro _audit_sql(settings, audit) %}
{%- if audit.kind == 'table' %}
    select {{ ditto.literal('not true of the table: ' ~ audit.sql) }} as `problem`
    from (
        select ({{ audit.sql }}
        ) as `_ditto_holds`
        from {{ settings.candidate }}
    )
    where not coalesce(`_ditto_holds`, false)
{%- else %}
    select to_json(struct(*), map('ignoreNullFields', 'false')) as `problem`
    from (
        {%- if audit.kind == 'query' %}
        {{ audit.sql | replace('{candidate}', settings.candidate) | replace('{target}', settings.table) }}
        {%- else %}
        select *
        from {{ settings.candidate }}
        where not coalesce(({{ audit.sql }}
        ), false)
        {%- endif %}
    )
{%- endif %}
    limit 5
{%- endmacro %}
