{# No execution is missing between the first and the last one. `interval`: hour, day, week or month. #}
{% test ditto_no_gaps(model, interval='day') %}
{% if interval not in ('hour', 'day', 'week', 'month') %}
    {% do ditto.error('test ditto_no_gaps on ' ~ model, 'interval: ' ~ interval, 'hour, day, week or month', 'interval: day') %}
{% endif %}
{% do ditto.require_ledger('test ditto_no_gaps on ' ~ model) %}
with executions as (
    select `execution_time`
    from {{ ditto.ledger_table('ditto_state') }}
    where `relation` = {{ ditto.literal(ditto.relation_key(model.schema, model.identifier)) }} and `status` in ('live', 'stale')
),
bounds as (
    select min(`execution_time`) as `first`, max(`execution_time`) as `last` from executions
),
expected as (
    select explode(sequence(`first`, `last`, interval 1 {{ interval }})) as `execution_time`
    from bounds
    where `first` is not null
)
select expected.`execution_time` as `missing_execution`
from expected
left anti join executions
    on executions.`execution_time` = expected.`execution_time`
{% endtest %}
