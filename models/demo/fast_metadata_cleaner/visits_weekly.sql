{{ config(
    materialized='fast_metadata_cleaner',
    granularity='week',
    unit_column='visit_week'
) }}

with visits as (
    select * from {{ ref('raw_visits') }}
),

final as (
    select
        visit_id,
        user_id,
        page,
        visit_time
    from visits
    where
        to_date(visit_time) = date'{{ ditto.execution_date() }}'
        and state = 'valid'
)

select * from final
