{{ config(
    materialized='proxy_view',
    keep_for='3650 days'
) }}

with changes as (
    select * from {{ ref('raw_device_changes') }}
    where ingested_on <= date'{{ ditto.execution_date() }}'
),

latest as (
    select
        *,
        row_number() over (partition by type, version order by changed_at desc) as newest_first
    from changes
),

final as (
    select
        type,
        version,
        full_name
    from latest
    where newest_first = 1 and not is_deleted
)

select * from final
