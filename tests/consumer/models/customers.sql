{{ config(
    materialized='merger',
    unique_key='customer'
) }}

select
    customer,
    max(order_id) as last_order
from {{ ref('orders') }}
where ordered_on = date'{{ ditto.execution_date() }}'
group by customer
