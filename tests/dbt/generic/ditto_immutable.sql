{# No version of a proxy_view model was changed after it was written. Rows are the versions that were. #}
{% test ditto_immutable(model) %}
{% do ditto.require_ledger('test ditto_immutable on ' ~ model) %}
{% set changed = ditto.changes_of_model(model.schema, model.identifier) if execute and ditto.ledger_exists() else [] %}
select `version`, `problem`
from values
{%- for each in changed %}
    ({{ ditto.literal(each.version) }}, {{ ditto.literal(each.problem) }}),
{%- endfor %}
    (null, null) as changed (`version`, `problem`)
where `version` is not null
{% endtest %}
