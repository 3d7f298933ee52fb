{{ config(
    materialized='keyed_idempotency',
    unique_key=['session_id', 'user_id'],
    sequence_by='last_appended_at'
) }}

with visits as (
    select * from {{ ref('raw_visits') }}
    where ingested_on <= date'{{ ditto.execution_date() }}'
),

visits_with_session as (
    {{ ditto.sessionize('visits', user='user_id', append_time='appended_at', visit_time='visit_time') }}
),

final as (
    select
        session_id,
        user_id,
        session_started_at,
        max(appended_at) as last_appended_at,
        -- In one order whatever Spark reads first: a list is written as a whole, never appended to.
        transform(array_sort(collect_list(struct(appended_at, visit_time, page))), visit -> visit.page) as pages
    from visits_with_session
    group by session_id, user_id, session_started_at
    -- The sessions that this day began or continued, each with all of its visits.
    having to_date(max(appended_at)) = date'{{ ditto.execution_date() }}'
)

select * from final
