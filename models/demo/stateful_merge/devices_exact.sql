{{ config(
    materialized='stateful_merge',
    unique_key=['type', 'version'],
    soft_delete='is_deleted',
    interval='day'
) }}

with changes as (
    select * from {{ ref('raw_device_changes') }}
),

final as (
    select
        type,
        version,
        full_name,
        is_deleted,
        changed_at
    from changes
    where ingested_on = date'{{ ditto.execution_date() }}'
)

select * from final
