{# Let the next run try files again that failed or were given up, as if they had just arrived:
   dbt run-operation ditto_retry_files --args '{model: orders}'
   A file that changes is tried again by itself; this is for files that were right, and a schema or an option that was not. #}
{% macro ditto_retry_files(model) %}
    {% set node = ditto.find_model(model) %}
    {% set subject = 'ditto_retry_files of ' ~ model %}
    {% if node.config.materialized != 'file_ingest' %}
        {% do ditto.error(subject, "materialized='" ~ node.config.materialized ~ "'", "a model with materialized='file_ingest'", 'give the name of one') %}
    {% endif %}
    {% set operation = ditto.begin_operation(node, 'retry_files') %}
    {% do ditto.require_tracker(subject) %}
    {% set lease = ditto.claim(operation.plan) %}
    {% set relation = operation.settings.relation %}
    {% set failed = ditto.fetch(ditto.failed_files_sql(relation)) %}
    {% set fence = ditto.fence_condition(ditto.ledger_table(), relation, lease.token) %}
    {% do ditto.guarded_write(operation.plan, {'name': 'retry_files', 'sql': ditto.fenced_sql(ditto.retry_files_sql(relation), fence, script=true)}) %}
    {% do ditto.finish_operation(operation.plan, lease, {'files': failed | length}) %}
    {% do print('ditto: ' ~ failed | length ~ (' file of ' if failed | length == 1 else ' files of ') ~ model ~ ' will be tried again by its next run') %}
{% endmacro %}


{% macro failed_files_sql(relation) %}
    {{ return('select `file_path` from ' ~ ditto.ledger_table('ditto_files') ~ ' where `relation` = ' ~ ditto.literal(relation)
        ~ " and `status` in ('FAILED', 'DEAD')") }}
{% endmacro %}


{% macro retry_files_sql(relation) %}
update {{ ditto.ledger_table('ditto_files') }}
set `status` = 'PENDING', `attempts` = 0
where `relation` = {{ ditto.literal(relation) }} and `status` in ('FAILED', 'DEAD')
{%- endmacro %}
