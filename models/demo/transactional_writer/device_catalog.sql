{{ config(
    materialized='transactional_writer',
    unique_key=['type', 'version'],
    soft_delete='is_deleted',
    audits=[{'name': 'every_device_has_a_name', 'every_row': 'is_deleted or length(full_name) > 0'}]
) }}

with changes as (
    {{ ditto.in_order(
        [ref('raw_device_changes'), ref('raw_device_corrections')],
        where="ingested_on = date'" ~ ditto.execution_date() ~ "'"
    ) }}
),

final as (
    select
        type,
        version,
        full_name,
        is_deleted
    from changes
)

select * from final
