{# Pure builders of the questions that merger asks about its increment and of its view. #}

{# Up to five keys that the guard would refuse. #}
{% macro merger_bad_keys_sql(settings, sql) %}
{% set keys = ditto.quote_all(settings.unique_key) %}
select concat(to_json(struct({{ keys }}), map('ignoreNullFields', 'false')), ': ', `_ditto_rows`,
    if(`_ditto_rows` = 1, ' row', ' rows'),
    if(coalesce({{ ditto._as_text(settings.unique_key) }}) is null, ' without a key', '')) as `problem`
from (
    select {{ keys }}, count(*) as `_ditto_rows`
    from (
{{ sql }}
    )
    group by {{ keys }}
)
where {{ '`_ditto_rows` > 1' if settings.on_duplicate_key == 'error' else 'false' }}
    {%- if settings.on_null_key == 'error' %} or coalesce({{ ditto._as_text(settings.unique_key) }}) is null{% endif %}
order by `_ditto_rows` desc, `problem`
limit 5
{%- endmacro %}


{# What readers see when deleted rows are kept to be remembered, or when they read a `version` until the next one is whole. #}
{% macro merger_view_sql(settings, columns, view=none, comment=none, version=none) %}
{% set shown %}
select {{ ditto.quote_all(columns | map(attribute='name')) }}
from {{ settings.table }}{{ ' version as of ' ~ version if version is not none }} as target
{%- if settings.keeps_deleted %}
where not {{ ditto._deleted(settings, 'target') }}
{%- endif %}
{% endset %}
{{- ditto.view_sql(settings.view, shown.strip(), view, comment) -}}
{%- endmacro %}
