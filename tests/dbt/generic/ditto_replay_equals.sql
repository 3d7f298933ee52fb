{# The same rows as an expected relation, and each as often. `columns`: those to be compared; by default all of the expected one. #}
{% test ditto_replay_equals(model, expected, columns=none) %}
{% set given = ditto.query_columns('select * from ' ~ expected) if execute else [] %}
{% set names = [columns] if columns is string else (columns or given | map(attribute='name') | list) %}
{% set values = ditto.comparable_columns(names, given) %}
with model_rows as (
    select {{ values }} as `row_of_data`, count(*) as `number_of_rows` from {{ model }} group by all
),
expected_rows as (
    select {{ values }} as `row_of_data`, count(*) as `number_of_rows` from {{ expected }} group by all
)
select
    coalesce(model_rows.`row_of_data`, expected_rows.`row_of_data`) as `row_of_data`,
    coalesce(model_rows.`number_of_rows`, 0) as `rows_in_model`,
    coalesce(expected_rows.`number_of_rows`, 0) as `rows_expected`
from model_rows
full outer join expected_rows
    on model_rows.`row_of_data` = expected_rows.`row_of_data`
where not (model_rows.`number_of_rows` <=> expected_rows.`number_of_rows`)
{% endtest %}
