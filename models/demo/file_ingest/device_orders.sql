{{ config(
    materialized='file_ingest',
    files={
        'path': env_var('DITTO_HOME', env_var('PWD') ~ '/.ditto') ~ '/landing',
        'format': 'json',
        'schema': 'order_id bigint, device string, quantity int, ordered_at timestamp',
        'pattern': '*.json'
    },
    dead_letters=[{'name': 'no_quantity', 'when': 'quantity <= 0'}]
) }}

with orders as (
    select * from {{ ditto.incoming() }}
),

final as (
    select
        order_id,
        device,
        quantity,
        ordered_at,
        file_path
    from orders
)

select * from final
