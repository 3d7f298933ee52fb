{# Pure builders. #}

{# The unit as a whole, in one commit: readers see the old one or the new one. The tag is in the commit, among the properties. #}
{% macro unit_create_sql(settings, spec, sql, tag) %}
{{ ditto.create_as_select_sql(settings.table, spec, ditto.unit_rows_sql(settings, sql), 'ditto: ' ~ settings.unit.label ~ ' of ' ~ settings.relation,
    {'ditto.written_by': tag}, replace=true) }}
{%- endmacro %}


{# The increment with the execution that brought it. #}
{% macro unit_rows_sql(settings, sql, column='_ditto_execution_time') %}
select *, {{ ditto.typed_literal(settings.execution_time, 'timestamp_ntz') }} as {{ ditto.quote(column) }}
from (
{{ sql }}
)
{%- endmacro %}


{# The slice of this execution, and nothing else: whole partitions, so no row is read. #}
{% macro unit_slice_sql(settings, columns, sql, tag) %}
    {% set slice = [{'name': '_ditto_execution_time', 'type': 'timestamp_ntz', 'value': settings.execution_time}] %}
    {{ return(ditto.replace_where_sql(settings, columns, ditto.unit_rows_sql(settings, sql), ditto.partition_predicate(slice), tag)) }}
{% endmacro %}


{# A contract as CHECK constraints: CREATE TABLE AS SELECT takes neither NOT NULL nor the length of a varchar. To Delta a check
   that gives null has failed, so it names null where that may be. #}
{% macro unit_constraints(spec) %}
    {% set properties = {} %}
    {% for column in spec.columns %}
        {% set name = ditto.quote(column.name) %}
        {% set length = modules.re.fullmatch('(?:var)?char *\\(([0-9]+)\\)', column.type | trim | lower) %}
        {% for condition in ([name ~ ' is not null'] if column.not_null else []) + ([name ~ ' is null or length(' ~ name ~ ') <= ' ~ length.group(1)] if length else []) %}
            {% do properties.update({'delta.constraints.ditto_' ~ local_md5(condition)[:8]: condition}) %}
        {% endfor %}
    {% endfor %}
    {{ return(properties) }}
{% endmacro %}


{# The columns of one table in the view, by name; null where it lacks one. #}
{% macro branch_items(columns, lacks) %}
    {% set items = [] %}
    {% for column in columns %}
        {% do items.append('cast(null as ' ~ column.type ~ ') as ' ~ ditto.quote(column.name) if column.name | lower in lacks
            else ditto.quote(column.name)) %}
    {% endfor %}
    {{ return(items) }}
{% endmacro %}


{# One table in the view. On one line, since that is how it is read again. `shared`: its items, if they are known already. #}
{% macro unit_branch_sql(settings, unit, columns, lacks, shared=none) %}
    {% set items = (shared or ditto.branch_items(columns, lacks)) | list %}
    {% if settings.execution_time_column %}
        {% do items.append('`_ditto_execution_time` as ' ~ ditto.quote(settings.execution_time_column)) %}
    {% endif %}
    {% if settings.unit_column %}
        {% do items.append(ditto._unit_start(settings, unit) ~ ' as ' ~ ditto.quote(settings.unit_column)) %}
    {% endif %}
    {{ return('select ' ~ items | join(', ') ~ ' from ' ~ ditto.table_name(settings.schema, unit.identifier)) }}
{% endmacro %}


{# A constant for each table, so that a filter on it leaves the other tables out of the plan. A frozen table has several units. #}
{% macro _unit_start(settings, unit) %}
    {% set time = '`_ditto_execution_time`' %}
    {% if unit.kind != 'frozen' %}
        {{ return("date'" ~ unit.first ~ "'") }}
    {% elif settings.granularity == 'week' %}
        {{ return('greatest(cast(date_trunc(\'week\', ' ~ time ~ ') as date), make_date(year(' ~ time ~ '), 1, 1))') }}
    {% endif %}
    {{ return("cast(date_trunc('" ~ settings.granularity ~ "', " ~ time ~ ') as date)') }}
{% endmacro %}


{# A view over views over units: each of them shows the same columns. #}
{% macro chunk_branch_sql(settings, identifier, columns) %}
    {% set names = columns | map(attribute='name') | list + [settings.execution_time_column, settings.unit_column] | select | list %}
    {{ return('select ' ~ ditto.quote_all(names) ~ ' from ' ~ ditto.table_name(settings.schema, identifier)) }}
{% endmacro %}


{# A view without a unit. #}
{% macro no_branch_sql(settings, columns) %}
    {% set items = [] %}
    {% for column in columns + ([{'name': settings.execution_time_column, 'type': 'timestamp_ntz'}] if settings.execution_time_column else [])
        + ([{'name': settings.unit_column, 'type': 'date'}] if settings.unit_column else []) %}
        {% do items.append('cast(null as ' ~ column.type ~ ') as ' ~ ditto.quote(column.name)) %}
    {% endfor %}
    {{ return('select ' ~ items | join(', ') ~ ' where false') }}
{% endmacro %}
