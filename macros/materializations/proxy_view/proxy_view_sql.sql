{# Pure builders. #}

{# A passthrough: what readers see is one version, as it was written. #}
{% macro version_view_sql(settings, columns, view, comment=none, version=none) %}
    {% set names = [] %}
    {% for column in columns %}{% do names.append(column.name) %}{% endfor %}
    {% set select = 'select ' ~ ditto.quote_all(names) ~ ' from ' ~ settings.table
        ~ (' version as of ' ~ version if version is not none else '') %}
    {{ return(ditto.view_sql(settings.view, select, view, comment)) }}
{% endmacro %}


{# Newest first, without those that were expired. `like`: names that begin so, expired or not. #}
{% macro proxy_versions_sql(ledger, relation, limit, like=none) %}
with events as (
    {# An event that was recorded twice counts once. #}
    select
        `execution_time`, `mode`, `version`, `rows_inserted`, `details`, `invocation_id`,
        coalesce(get_json_object(`details`, '$.version'), concat('v', `version`)) as `name`,
        min(`seq`) as `seq`, min(`at`) as `at`
    from {{ ledger }}
    where `relation` = {{ ditto.literal(relation) }} and `pattern` = 'proxy_view' and `event` = 'committed'
    group by `event_id`, `execution_time`, `mode`, `version`, `rows_inserted`, `details`, `invocation_id`
),
expired as (
    select explode(from_json(`details`, 'expired array<string>').`expired`) as `name`
    from events
    where `mode` = 'proxy_expire'
)
select `name`, cast(`execution_time` as string) as `time`, `mode`, `version`, `rows_inserted` as `rows`, `details`, `invocation_id`,
    cast(`at` as string) as `at`, timestampdiff(hour, `at`, current_timestamp()) as `age`, `seq`
from events
{%- if like is none %}
left anti join expired using (`name`)
{%- endif %}
where `execution_time` is not null{{ ' and startswith(`name`, ' ~ ditto.literal(like) ~ ')' if like is not none }}
order by `seq` desc
limit {{ limit }}
{%- endmacro %}


{# What was made visible last, by a run or by hand: where no view can tell. #}
{% macro last_shown_sql(ledger, relation) %}
select coalesce(get_json_object(`details`, '$.version'), concat('v', `version`)) as `name`, `seq`
from {{ ledger }}
where `relation` = {{ ditto.literal(relation) }} and `pattern` = 'proxy_view' and `event` = 'committed'
    and get_json_object(`details`, '$.shown') = 'true'
order by `seq` desc
limit 1
{%- endmacro %}


{# JSON files in one folder for each sequence number, never overwritten by another one: readers take the highest number. #}
{% macro manifest_table_sql(settings) %}
create table if not exists {{ settings.manifest }} (
    `version` string comment 'The version that readers should see',
    `path` string comment 'A file of it',
    `size` bigint comment 'In bytes',
    `sequence` bigint comment 'The highest one is the manifest that counts'
) using json
partitioned by (`sequence`)
comment {{ ditto.literal('ditto: the files of the current version of ' ~ settings.relation) }}
{%- endmacro %}


{# A version without rows may have no file; then its line has no path. In one file, so that it appears as a whole. #}
{% macro manifest_sql(settings, sequence) %}
insert overwrite {{ settings.manifest }} partition (`sequence` = {{ sequence }})
select /*+ coalesce(1) */ {{ ditto.literal(settings.version_name) }} as `version`, files.`path`, files.`size`
from (select 1 as `one`) as version
left join (
    select distinct `_metadata`.`file_path` as `path`, `_metadata`.`file_size` as `size` from {{ settings.table }}
) as files on true
{%- endmacro %}
