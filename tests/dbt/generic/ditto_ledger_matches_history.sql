{# What the ledger says about a model and what the table's own history says are the same. Rows are the differences. #}
{% test ditto_ledger_matches_history(model) %}
{% do ditto.require_ledger('test ditto_ledger_matches_history on ' ~ model) %}
{% set relation = ditto.relation_key(model.schema, model.identifier) %}
{% set of_units = ditto.history_of_units(model.schema, model.identifier) if execute else none %}
{% if of_units %}
{{ ditto.unit_differences_sql(ditto.ledger_table(), relation, of_units.commits, of_units.units) }}
{% else %}
{% set commits = ditto.history_of_model(model.schema, model.identifier) if execute else [] %}
{{ ditto.ledger_differences_sql(ditto.ledger_table(), relation, commits) }}
{% endif %}
{% endtest %}
