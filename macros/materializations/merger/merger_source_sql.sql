{# Pure builders of what a MERGE reads: the increment with its guards, and the range of its keys. #}

{# The increment, one row for each key, with the run's identity. The guard raises before a wrong row is written: as a
   filter of the source itself, since a condition of the join is not evaluated for a row that no row can match. #}
{% macro merger_source_sql(settings, columns, sql, tag, key_range=[], fence=none) %}
{% set names = ditto.quote_all(columns | selectattr('given') | map(attribute='name')) %}
{% set guard = ditto._merger_guard(settings, key_range) %}
{% set latest = settings.on_duplicate_key == 'latest' %}
select {{ names }}, {{ ditto.literal(tag) }} as `_ditto_run`
from (
    select {{ names }}, {{ 'case ' ~ guard ~ ' end' if guard else 'null' }} as `_ditto_guard`
    from (
{%- if latest %}
        select *, row_number() over (
            partition by {{ ditto.quote_all(settings.unique_key) }}
            order by {{ ditto._merger_latest_first(settings) }}
        ) as `_ditto_rank`
        from (
{%- endif %}
{{ sql }}
{%- if latest %}
        )
{%- endif %}
    )
    where {{ '`_ditto_rank` = 1' if latest else 'true' }}{{ ' and ' ~ fence if fence }}
)
where `_ditto_guard` is null
{%- endmacro %}


{# Ties end in the same row every time: as between increments a deletion wins, then the hash of the whole row decides. #}
{% macro _merger_latest_first(settings) %}
    {% set terms = [] %}
    {% for column in settings.order_by %}
        {% do terms.append(ditto.quote(column) ~ ' desc nulls last') %}
    {% endfor %}
    {% if settings.soft_delete %}
        {% do terms.append(ditto._deleted(settings) ~ ' desc') %}
    {% endif %}
    {{ return((terms + ['sha2(to_json(struct(*), ' ~ ditto.json_options() ~ '), 256) desc']) | join(', ')) }}
{% endmacro %}


{% macro _merger_guard(settings, key_range) %}
    {% set keys = ditto.quote_all(settings.unique_key) %}
    {% set guards = [] %}
    {% if settings.on_duplicate_key == 'error' %}
        {% do guards.append('when count(*) over (partition by ' ~ keys ~ ") > 1 then raise_error('ditto: several rows with one key')") %}
    {% endif %}
    {% if settings.on_null_key == 'error' %}
        {% do guards.append('when coalesce(' ~ ditto._as_text(settings.unique_key) ~ ") is null then raise_error('ditto: a row without a key')") %}
    {% endif %}
    {% for range in key_range %}
        {% do guards.append('when not (' ~ ditto._within(range, '') ~ ") then raise_error('ditto: the increment changed while it was read; run again')") %}
    {% endfor %}
    {{ return(guards | join(' ')) }}
{% endmacro %}


{% macro _as_text(names) %}
    {% set casts = [] %}
    {% for name in names %}
        {% do casts.append('cast(' ~ ditto.quote(name) ~ ' as string)') %}
    {% endfor %}
    {{ return(casts | join(', ')) }}
{% endmacro %}


{# The key columns whose range lets Delta skip files. Only where both sides have one type: a range of strings says
   nothing about numbers, and a row that is wrongly ruled out would be inserted again. #}
{% macro merger_range_columns(settings, facts) %}
    {% set columns = [] %}
    {% if not settings.prune or not facts.target.exists or settings.not_matched_by_source or settings.dry or settings.full_refresh %}
        {{ return(columns) }}
    {% endif %}
    {% set laid_out_by = ditto.lower_names(facts.target.partition_by + settings.cluster_by) %}
    {% set keys = ditto.lower_names(settings.unique_key) %}
    {% set types = {} %}
    {% for column in facts.target.columns if column.name | lower in laid_out_by and column.name | lower in keys %}
        {% do types.update({column.name | lower: column.type}) %}
    {% endfor %}
    {% for column in facts.increment if types.get(column.name | lower) == column.type and column.type != 'binary' %}
        {% do columns.append(column) %}
    {% endfor %}
    {{ return(columns) }}
{% endmacro %}


{% macro merger_key_range_sql(columns, sql) %}
select to_json(array(
{%- for column in columns %}
    {%- set name = ditto.quote(column.name) %}
    struct({{ ditto.literal(column.name) }} as `name`, {{ ditto.literal(column.type) }} as `type`,
        {{ ditto._bound_text('min(' ~ name ~ ')', column.type) }} as `low`, {{ ditto._bound_text('max(' ~ name ~ ')', column.type) }} as `high`,
        count(*) > count({{ name }}) as `nulls`){{ ',' if not loop.last }}
{%- endfor %}
)) as `key_range`
from (
{{ sql }}
)
{%- endmacro %}


{# A timestamp travels as micros: its text is ambiguous in the hour that a time zone repeats. #}
{% macro _bound_text(value, type) %}
    {{ return('cast(' ~ ('unix_micros(' ~ value ~ ')' if type == 'timestamp' else value) ~ ' as string)') }}
{% endmacro %}


{% macro _bound(text, type) %}
    {{ return('timestamp_micros(' ~ ditto.typed_literal(text, 'bigint') ~ ')' if type == 'timestamp' else ditto.typed_literal(text, type)) }}
{% endmacro %}


{# A key column between its smallest and largest value in the increment: Delta skips the files outside. #}
{% macro _within(range, prefix) %}
    {% set column = prefix ~ ditto.quote(range.name) %}
    {% set text = column ~ ' between ' ~ ditto._bound(range.low, range.type) ~ ' and ' ~ ditto._bound(range.high, range.type) %}
    {{ return(text ~ (' or ' ~ column ~ ' is null' if range.nulls else '')) }}
{% endmacro %}
