{# Every file of a file_ingest model came in. Rows are those that did not, with the reason. #}
{% test ditto_no_failed_files(model) %}
{% set subject = 'test ditto_no_failed_files on ' ~ model %}
{% do ditto.require_ledger(subject) %}
{% do ditto.require_tracker(subject) %}
select `file_path`, `status`, `attempts`, `error_message`
from {{ ditto.ledger_table('ditto_files') }}
where `relation` = {{ ditto.literal(ditto.relation_key(model.schema, model.identifier)) }} and `status` in ('FAILED', 'DEAD')
{% endtest %}
