{# Pure builders: what is written to `ditto_files`. #}

{# The rows as they should be, in one commit; without what is GONE. `anew`: and no others. #}
{% macro track_sql(settings, rows, anew=false) %}
{% set columns = ['file_hash', 'size', 'modified_at', 'status', 'record_count', 'error_message', 'attempts', 'duplicate_of', 'loaded_hash', 'load',
    'execution_time', 'invocation_id', 'hashed_at', 'processed_at'] %}
merge into {{ settings.tracker }} as `target`
using (
    select `file_path`, `file_hash`, `size`, timestamp_micros(`modified`) as `modified_at`, `status`, `record_count`, `error_message`, `attempts`,
        `duplicate_of`, `loaded_hash`, `load`, {{ ditto.typed_literal(settings.execution_time, 'timestamp_ntz') }} as `execution_time`,
        {{ ditto.literal(settings.invocation_id) }} as `invocation_id`, timestamp_micros(`hashed`) as `hashed_at`, current_timestamp() as `processed_at`
    from (
        select inline(from_json({{ ditto.literal(tojson(rows)) }}, 'array<struct<file_path string, file_hash string, size bigint, modified bigint, hashed bigint, status string, record_count bigint, error_message string, attempts int, duplicate_of string, loaded_hash string, load string>>'))
    )
) as `source`
on `target`.`relation` = {{ ditto.literal(settings.relation) }} and `target`.`file_path` = `source`.`file_path`
when matched and `source`.`status` = 'GONE' then delete
when matched then update set
{%- for column in columns %} {{ ditto.quote(column) }} = `source`.{{ ditto.quote(column) }}{{ ',' if not loop.last }}{% endfor %}
when not matched and `source`.`status` <> 'GONE' then insert (`relation`, `file_path`, {{ ditto.quote_all(columns) }})
    values ({{ ditto.literal(settings.relation) }}, `source`.`file_path`, {{ ditto.quote_all(columns, '`source`.') }})
{%- if anew %}
when not matched by source and `target`.`relation` = {{ ditto.literal(settings.relation) }} then delete
{%- endif %}
{%- endmacro %}


{# The load is in the table. How many rows each file has is asked there, and the folder whether the file is still the one that was
   hashed: one that was changed meanwhile is loaded again by the next run, and one that went away without a row was never read. #}
{% macro track_loaded_sql(settings) %}
merge into {{ settings.tracker }} as `target`
using (
    select `mine`.`file_path`, if(`mine`.`duplicate_of` is null, `mine`.`file_hash`, null) as `loaded_hash`, coalesce(`loaded`.`records`, 0) as `record_count`,
        case
            when `listed`.`file_path` is null and `loaded`.`records` is null and `mine`.`duplicate_of` is null then 'FAILED'
            when `listed`.`size` <> `mine`.`size` or `listed`.`modified` <> unix_micros(`mine`.`modified_at`) then 'PENDING'
            else 'SUCCESS'
        end as `status`
    from (
        select *
        from {{ settings.tracker }}
        where `relation` = {{ ditto.literal(settings.relation) }} and `load` = {{ ditto.literal(settings.load) }} and `status` = 'IN_PROGRESS'
    ) as `mine`
    left join (
        select {{ ditto.quote(settings.file_path_column) }} as `file_path`, count(*) as `records`
        from {{ settings.table }}
        where `_ditto_load` = {{ ditto.literal(settings.load) }}
        group by 1
    ) as `loaded`
        on `loaded`.`file_path` = `mine`.`file_path`
    left join (
        {{ ditto.listing_sql(settings) }}
    ) as `listed`
        on `listed`.`file_path` = `mine`.`file_path`
) as `source`
on `target`.`relation` = {{ ditto.literal(settings.relation) }} and `target`.`file_path` = `source`.`file_path`
when matched then update set
    `status` = `source`.`status`,
    `error_message` = case `source`.`status`
        when 'FAILED' then 'the file went away before it was loaded'
        when 'PENDING' then 'it was changed while it was loaded; the next run loads it again'
    end,
    `record_count` = `source`.`record_count`,
    `loaded_hash` = case `source`.`status` when 'PENDING' then 'changed' when 'SUCCESS' then `source`.`loaded_hash` end,
    `processed_at` = current_timestamp()
{%- endmacro %}
