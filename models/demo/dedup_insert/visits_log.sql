{{ config(
    materialized='dedup_insert',
    unique_key='visit_id'
) }}

with visits as (
    select * from {{ ref('raw_visits') }}
),

final as (
    select
        visit_id,
        user_id,
        page,
        state,
        visit_time
    from visits
    -- Two days, since a collector may deliver late: what came yesterday is not inserted again.
    where
        ingested_on between date_sub(date'{{ ditto.execution_date() }}', 1) and date'{{ ditto.execution_date() }}'
)

select * from final
