{# No more than `max` rows of a model are dead letters, tried again or not. A model that never had one passes. #}
{% test ditto_no_dead_letters(model, max=0) %}
{% if max is not integer or max is boolean or max < 0 %}
    {% do ditto.error('test ditto_no_dead_letters on ' ~ model, 'max: ' ~ max, 'how many dead letters are allowed, from 0', 'max: 0') %}
{% endif %}
{% set identifier = model.identifier ~ '__dead_letters' %}
{% set known = execute and adapter.check_schema_exists(none, model.schema) and ditto.table_facts(model.schema, identifier).exists %}
{% if known %}
select count(*) as `dead_letters`
from {{ ditto.table_name(model.schema, identifier) }}
having count(*) > {{ max }}
{% else %}
select 0 as `dead_letters` where false
{% endif %}
{% endtest %}
