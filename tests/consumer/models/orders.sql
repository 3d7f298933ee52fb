{{ config(
    materialized='insert_overwrite',
    partition_by='ordered_on'
) }}

select
    order_id,
    customer,
    amount,
    ordered_on
from {{ ref('raw_orders') }}
where ordered_on = date'{{ ditto.execution_date() }}'
