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
{%- if settings.soft_delete and not settings.keeps_deleted %}
when matched and {{ ([deleted] + changes) | join(' and ') }} then delete
{%- endif %}
{%- if updated %}
when matched {{ 'and ' if changes }}{{ changes | join(' and ') }} then update set {{ updated }}
{%- endif %}
when not matched {{ 'and not ' ~ deleted ~ ' ' if settings.soft_delete and not settings.keeps_deleted -}}
then insert ({{ ditto.quote_all(columns | map(attribute='name')) }}) values ({{ ditto.select_columns(columns, 'source.', alias=false) }})
{%- if settings.not_matched_by_source %}
{{ ditto._merger_by_source(settings.not_matched_by_source) }}
{%- endif %}
{%- endmacro %}


{# The tag stands first: where the history is searched for it, no value of a key can look like one. #}
{% macro _merger_on(settings, tag, key_range) %}
    {% set terms = ['source.`_ditto_run` = ' ~ ditto.literal(tag)] %}
    {% for key in settings.unique_key %}
        {% do terms.append('target.' ~ ditto.quote(key) ~ ' <=> source.' ~ ditto.quote(key)) %}
    {% endfor %}
    {% for range in key_range %}
        {% do terms.append('(' ~ ditto._within(range, 'target.') ~ ')') %}
    {% endfor %}
    {{ return(terms | join(' and ')) }}
{% endmacro %}


{# A null flag means: not deleted. #}
{% macro _deleted(settings, alias=none) %}
    {% if not settings.soft_delete %}
        {{ return('false') }}
    {% endif %}
    {{ return('coalesce(cast(' ~ (alias ~ '.' if alias else '') ~ ditto.quote(settings.soft_delete) ~ ' as boolean), false)') }}
{% endmacro %}


{# When a matched row may be changed. Null is older than every sequence. Of two changes with one sequence the one that
   comes last wins (a correction), but a deletion wins in any order. #}
{% macro _merger_change_condition(settings) %}
    {% set conditions = [] %}
    {% if settings.sequence_by %}
        {% set old, new = 'target.' ~ ditto.quote(settings.sequence_by), 'source.' ~ ditto.quote(settings.sequence_by) %}
        {% set condition = old ~ ' is null or ' ~ new ~ ' >= ' ~ old %}
        {% if settings.keeps_deleted %}
            {% set condition = '(' ~ condition ~ ') and (not ' ~ new ~ ' <=> ' ~ old ~ ' or ' ~ ditto._deleted(settings, 'source')
                ~ ' or not ' ~ ditto._deleted(settings, 'target') ~ ')' %}
        {% endif %}
        {% do conditions.append('(' ~ condition ~ ')') %}
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
    {% for column, expression in (rule.changes or {}).items() %}
        {% do assignments.append(ditto.quote(column) ~ ' = ' ~ expression) %}
    {% endfor %}
    {{ return('when not matched by source' ~ (' and (' ~ rule.condition ~ ')' if rule.condition else '')
        ~ ' then ' ~ ('update set ' ~ assignments | join(', ') if assignments else 'delete')) }}
{% endmacro %}
