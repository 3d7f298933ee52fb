{{ config(
    materialized='insert_overwrite',
    partition_by='visit_date'
) }}

with visits as (
    select * from {{ ref('raw_visits') }}
),

final as (
    select
        visit_id,
        user_id,
        page,
        visit_time,
        to_date(visit_time) as visit_date
    from visits
    where
        to_date(visit_time) = date'{{ ditto.execution_date() }}'
        and state = 'valid'
)

select * from final
