{# No execution lost its effect: none has to be replayed because an earlier one was. #}
{% test ditto_no_stale(model) %}
{% do ditto.require_ledger('test ditto_no_stale on ' ~ model) %}
select `execution_time` as `stale_execution`, `delta_table_version`
from {{ ditto.ledger_table('ditto_state') }}
where `relation` = {{ ditto.literal(ditto.relation_key(model.schema, model.identifier)) }} and `status` = 'stale'
{% endtest %}
