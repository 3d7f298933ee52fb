{# Pure builders. `target` and `source` are the aliases that users may rely on in merge_condition and not_matched_by_source. #}

{% macro merger_merge_sql(settings, columns, sql, tag, key_range=[], fence=none) %}
{% set deleted = ditto._deleted(settings, 'source') %}
{% set changes = ditto._merger_change_condition(settings) %}
{% set updated = ditto._merger_updated(settings, columns) %}
merge into {{ settings.table }} as target
using (
{{ ditto.merger_source_sql(settings, columns, sql, tag, key_range, fence) }}
) as source
on {{ ditto._merger_on(settings, tag, key_range) }}
{%- if settings.soft_delete and not settings.view %}
when matched and {{ ([deleted] + changes) | join(' and ') }} then delete
{%- endif %}
{%- if updated %}
when matched {{ 'and ' if changes }}{{ changes | join(' and ') }} then update set {{ updated }}
{%- endif %}
when not matched {{ 'and not ' ~ deleted ~ ' ' if settings.soft_delete and not settings.view -}}
then insert ({{ ditto.quote_all(columns | map(attribute='name')) }}) values ({{ ditto.select_columns(columns, 'source.', alias=false) }})
{%- if settings.not_matched_by_source %}
{{ ditto._merger_by_source(settings.not_matched_by_source) }}
{%- endif %}
{%- endmacro %}


{# The increment, one row for each key, with the run's identity and a guard that raises before a wrong row is written. #}
{% macro merger_source_sql(settings, columns, sql, tag, key_range=[], fence=none) %}
{% set keys = ditto.quote_all(settings.unique_key) %}
{% set guard = ditto._merger_guard(settings, key_range) %}
select
    {{ ditto.quote_all(columns | selectattr('given') | map(attribute='name')) }},
    {{ ditto.literal(tag) }} as `_ditto_run`
    {%- if guard %},
    case {{ guard }} end as `_ditto_guard`
    {%- endif %}
from (
{%- if settings.on_duplicate_key == 'latest' %}
    select *, row_number() over (
        partition by {{ keys }}
        order by {% for column in settings.order_by %}{{ ditto.quote(column) }} desc nulls last, {% endfor -%}
            sha2(to_json(struct(*)), 256) desc
    ) as `_ditto_rank`
    from (
{%- endif %}
{{ sql }}
{%- if settings.on_duplicate_key == 'latest' %}
    )
{%- endif %}
)
where {{ '`_ditto_rank` = 1' if settings.on_duplicate_key == 'latest' else 'true' }}{{ ' and ' ~ fence if fence }}
{%- endmacro %}


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


{% macro _merger_on(settings, tag, key_range) %}
    {% set terms = [] %}
    {% for key in settings.unique_key %}
        {% do terms.append('target.' ~ ditto.quote(key) ~ ' <=> source.' ~ ditto.quote(key)) %}
    {% endfor %}
    {% for range in key_range %}
        {% do terms.append('(' ~ ditto._within(range, 'target.') ~ ')') %}
    {% endfor %}
    {% do terms.append('source.`_ditto_run` = ' ~ ditto.literal(tag)) %}
    {% if ditto._merger_guard(settings, key_range) %}
        {% do terms.append('source.`_ditto_guard` is null') %}
    {% endif %}
    {{ return(terms | join(' and ')) }}
{% endmacro %}


{# A key column between its smallest and largest value in the increment: Delta skips the files outside. #}
{% macro _within(range, prefix) %}
    {% set column = prefix ~ ditto.quote(range.name) %}
    {% set text = column ~ ' between ' ~ ditto.typed_literal(range.low, range.type) ~ ' and ' ~ ditto.typed_literal(range.high, range.type) %}
    {{ return(text ~ (' or ' ~ column ~ ' is null' if range.nulls else '')) }}
{% endmacro %}


{% macro _deleted(settings, alias) %}
    {% if not settings.soft_delete %}
        {{ return('false') }}
    {% endif %}
    {{ return('coalesce(cast(' ~ alias ~ '.' ~ ditto.quote(settings.soft_delete) ~ ' as boolean), false)') }}
{% endmacro %}


{# When a matched row may be changed. Of two changes with one sequence a deletion wins, whichever comes first. #}
{% macro _merger_change_condition(settings) %}
    {% set conditions = [] %}
    {% if settings.sequence_by %}
        {% set old, new = 'target.' ~ ditto.quote(settings.sequence_by), 'source.' ~ ditto.quote(settings.sequence_by) %}
        {% set tie = new ~ ' = ' ~ old %}
        {% if settings.view %}
            {% set tie = tie ~ ' and (' ~ ditto._deleted(settings, 'source') ~ ' or not ' ~ ditto._deleted(settings, 'target') ~ ')' %}
        {% endif %}
        {% do conditions.append('(' ~ old ~ ' is null or ' ~ new ~ ' > ' ~ old ~ ' or (' ~ tie ~ '))') %}
    {% endif %}
    {% if settings.merge_condition %}
        {% do conditions.append('(' ~ settings.merge_condition ~ ')') %}
    {% endif %}
    {{ return(conditions) }}
{% endmacro %}


{% macro _merger_updated(settings, columns) %}
    {% set keys = ditto.lower_names(settings.unique_key) %}
    {% set only = ditto.lower_names(settings.update_columns) %}
    {% set except = ditto.lower_names(settings.exclude_columns) %}
    {# Without these two the next comparison would be wrong. #}
    {% set always = ditto.lower_names([settings.sequence_by, settings.soft_delete] | select | list) %}
    {% set assignments = [] %}
    {% for column in columns if column.given and column.name | lower not in keys %}
        {% set name = column.name | lower %}
        {% if name in always or ((not only or name in only) and name not in except) %}
            {% do assignments.append(ditto.quote(column.name) ~ ' = source.' ~ ditto.quote(column.name)) %}
        {% endif %}
    {% endfor %}
    {{ return(assignments | join(', ')) }}
{% endmacro %}


{% macro _merger_by_source(rule) %}
    {% set assignments = [] %}
    {% for column, expression in (rule.update or {}).items() %}
        {% do assignments.append(ditto.quote(column) ~ ' = ' ~ expression) %}
    {% endfor %}
    {{ return('when not matched by source' ~ (' and (' ~ rule.condition ~ ')' if rule.condition else '')
        ~ ' then ' ~ ('update set ' ~ assignments | join(', ') if assignments else 'delete')) }}
{% endmacro %}
