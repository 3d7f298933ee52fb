{{ config(materialized='view') }}

-- Called like a model of the package's demo, and described like it: that is nobody else's business.
select 1 as device_id
