{# No two rows with one key. `keys`: a column or a list of columns; on a column the test takes that one. #}
{% test ditto_unique(model, keys=none, column_name=none) %}
{% set given = keys or column_name %}
{% if not given %}
    {% do ditto.error('test ditto_unique on ' ~ model, 'no keys', 'the columns that identify a row', "keys: [type, version]") %}
{% endif %}
{% set columns = ditto.quote_all([given] if given is string else given) %}
select {{ columns }}, count(*) as `rows_with_this_key`
from {{ model }}
group by {{ columns }}
having count(*) > 1
{% endtest %}
