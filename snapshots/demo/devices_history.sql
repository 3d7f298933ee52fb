{% snapshot devices_history %}

    {# The clock of this history is the execution time: what an execution brought is valid from its date, whenever
       it ran. The key is one expression: with a list of columns dbt-spark 1.11 fails from the second run on. #}
    {{ config(
        strategy='timestamp',
        unique_key='to_json(struct(type, version))',
        updated_at='execution_time',
        file_format='delta'
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
            changed_at,
            cast('{{ ditto.execution_time() }}' as timestamp) as execution_time
        from changes
        where ingested_on = date'{{ ditto.execution_date() }}'
    )

    select * from final

{% endsnapshot %}
