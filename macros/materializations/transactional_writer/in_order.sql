{# Several datasets as one, applied in their order: of each key only the rows of the last dataset that has it. For models:
   {{ ditto.in_order([ref('changes'), ref('corrections')], where="ingested_on = date'" ~ ditto.execution_date() ~ "'") }}
   Several rows with one key inside of a dataset all stay, so that they are refused like those of a single one. Without a key
   all rows of all datasets. Columns are matched by name: Spark's UNION ALL matches them by position, whatever they are called. #}
{% macro in_order(relations, unique_key=none, columns=none, where=none) %}
    {% set keys = ditto.list_option({'config': {'unique_key': unique_key}, 'name': model.name}, 'unique_key')
        or ditto.list_option(model, 'unique_key') %}
    {% set datasets = [] %}
    {% for relation in ([relations] if relations is string or relations is mapping else relations) %}
        {% set given = [] %}
        {% for name in columns or [] %}
            {% do given.append({'name': name, 'type': none}) %}
        {% endfor %}
        {# Nothing can be looked up while dbt only parses. #}
        {% do datasets.append({'relation': relation, 'columns': given or (ditto._dataset_columns(relation) if execute else [])}) %}
    {% endfor %}
    {% if not datasets %}
        {% do ditto.error('ditto.in_order in model ' ~ model.name, 'no dataset', 'a list of relations, the one that wins last',
            "{{ ditto.in_order([ref('changes'), ref('corrections')]) }}") %}
    {% endif %}
    {% do ditto._check_dataset_keys(model.name, datasets, keys) %}
    {{ return(ditto.in_order_sql(datasets, keys, where)) }}
{% endmacro %}


{# What ditto adds to a table is not a part of the data. What is only compiled, for a lint or the docs, may be so before the
   datasets are there; a run does not ask, it fails. #}
{% macro _dataset_columns(relation) %}
    {% set columns = [] %}
    {% if flags.WHICH in ('compile', 'generate') and relation is mapping
        and not (adapter.check_schema_exists(none, relation.schema) and ditto.table_facts(relation.schema, relation.identifier).exists) %}
        {{ return(columns) }}
    {% endif %}
    {% for column in ditto.query_columns('select * from ' ~ relation) if not column.name.lower().startswith('_ditto_') %}
        {% do columns.append(column) %}
    {% endfor %}
    {{ return(columns) }}
{% endmacro %}


{% macro _check_dataset_keys(name, datasets, keys) %}
    {% for dataset in datasets if dataset.columns %}
        {% for key in keys if key | lower not in ditto.lower_names(dataset.columns) %}
            {% do ditto.error('ditto.in_order in model ' ~ name, 'no column ' ~ key ~ ' in dataset ' ~ dataset.relation,
                'the columns of unique_key in every dataset: ' ~ keys | join(', '),
                'add the column to the dataset, or say which columns identify a row: ditto.in_order([...], unique_key=[...])') %}
        {% endfor %}
    {% endfor %}
{% endmacro %}


{# `datasets`: {relation, columns} in their order. Pure. #}
{% macro in_order_sql(datasets, keys, where=none) %}
{% set columns = {} %}
{% for dataset in datasets %}
    {% for column in dataset.columns if column.name | lower not in columns %}
        {% do columns.update({column.name | lower: column}) %}
    {% endfor %}
{% endfor %}
{% set branches = [] %}
{% for dataset in datasets %}
    {% set items = [] %}
    {% for name, column in columns.items() %}
        {% do items.append({'name': column.name, 'type': column.type, 'given': name in ditto.lower_names(dataset.columns)}) %}
    {% endfor %}
    {% set number = [loop.index ~ ' as `_ditto_dataset`'] if keys else [] %}
    {% do branches.append('select ' ~ ([ditto.select_columns(items) or '*'] + number) | join(', ') ~ ' from ' ~ dataset.relation
        ~ (' where (' ~ where ~ ')' if where else '')) %}
{% endfor %}
{%- if not keys -%}
{{ branches | join('\nunion all\n') }}
{%- else -%}
select {{ ditto.quote_all(columns.values() | map(attribute='name')) or '*' }}
from (
    select *, max(`_ditto_dataset`) over (partition by {{ ditto.quote_all(keys) }}) as `_ditto_last_dataset`
    from (
        {{ branches | join('\n        union all\n        ') }}
    )
)
where `_ditto_dataset` = `_ditto_last_dataset`
{%- endif -%}
{%- endmacro %}
