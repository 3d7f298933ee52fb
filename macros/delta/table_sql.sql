{# Statements that make and alter tables. Pure. `spec` comes from table_spec. #}

{% macro create_table_sql(table, spec, replace=false) %}
create {{ 'or replace table' if replace else 'table if not exists' }} {{ table }} (
{%- for column in spec.columns %}
    {{ ditto.quote(column.name) }} {{ column.type }}{{ ' not null' if column.not_null }}
    {%- if column.comment %} comment {{ ditto.literal(column.comment) }}{% endif %}{{ ',' if not loop.last }}
{%- endfor %}
) using {{ spec.file_format }}
{{- ditto._layout(spec) }}
{%- if spec.comment %}
comment {{ ditto.literal(spec.comment) }}
{%- endif %}
{%- if spec.properties %}
tblproperties ({{ ditto._properties(spec.properties) }})
{%- endif %}
{%- endmacro %}


{# A whole table in one commit. It takes no columns: constraints stand among the properties, and comments come later. #}
{% macro create_as_select_sql(table, spec, select, comment=none, properties={}, replace=false) %}
create {{ 'or replace ' if replace }}table {{ table }} using {{ spec.file_format }}
{{- ditto._layout(spec) }}
{%- if comment %}
comment {{ ditto.literal(comment) }}
{%- endif %}
{%- if spec.properties or properties %}
tblproperties ({{ ditto._properties(dict(spec.properties or {}, **properties)) }})
{%- endif %}
as
{{ select }}
{%- endmacro %}


{% macro _layout(spec) %}
{%- if spec.partition_by %}
partitioned by ({{ ditto.quote_all(spec.partition_by) }})
{%- endif %}
{%- if spec.cluster_by %}
cluster by ({{ ditto.quote_all(spec.cluster_by) }})
{%- endif %}
{%- if spec.location %}
location {{ ditto.literal(spec.location) }}
{%- endif %}
{%- endmacro %}


{% macro _properties(properties) %}
    {% set pairs = [] %}
    {% for key, value in properties.items() %}
        {% set text = (value | string | lower) if value is boolean else value %}
        {% do pairs.append(ditto.literal(key) ~ ' = ' ~ ditto.literal(text)) %}
    {% endfor %}
    {{ return(pairs | join(', ')) }}
{% endmacro %}


{% macro set_properties_sql(table, properties) %}
    {{ return('alter table ' ~ table ~ ' set tblproperties (' ~ ditto._properties(properties) ~ ')') }}
{% endmacro %}


{% macro add_columns_sql(table, columns) %}
    {% set added = [] %}
    {% for column in columns %}
        {% do added.append(ditto.quote(column.name) ~ ' ' ~ column.type) %}
    {% endfor %}
    {{ return('alter table ' ~ table ~ ' add columns (' ~ added | join(', ') ~ ')') }}
{% endmacro %}


{% macro drop_columns_sql(table, columns) %}
    {{ return('alter table ' ~ table ~ ' drop columns (' ~ ditto.quote_all(columns | map(attribute='name')) ~ ')') }}
{% endmacro %}


{% macro comment_column_sql(table, column, comment) %}
    {{ return('alter table ' ~ table ~ ' alter column ' ~ ditto.quote(column) ~ ' comment ' ~ ditto.literal(comment)) }}
{% endmacro %}


{% macro comment_table_sql(table, comment) %}
    {{ return('comment on table ' ~ table ~ ' is ' ~ ditto.literal(comment)) }}
{% endmacro %}


{# A view that is there is altered, in one step: CREATE OR REPLACE VIEW drops it first, and for a moment readers do not find it.
   Only its comment cannot be altered. `view`: what is known about it. #}
{% macro view_sql(name, select, view=none, comment=none) %}
{%- if view and view.exists and (comment or '') in ('', view.comment) -%}
alter view {{ name }} as
{{ select }}
{%- else -%}
create or replace view {{ name }}
{%- if comment %}
comment {{ ditto.literal(comment) }}
{%- endif %}
as
{{ select }}
{%- endif -%}
{%- endmacro %}


{# The increment in the table's column order; what it lacks is null. #}
{% macro select_columns(columns, prefix="", alias=true) %}
    {% set items = [] %}
    {% for column in columns %}
        {% do items.append(prefix ~ ditto.quote(column.name) if column.given
            else "cast(null as " ~ column.type ~ ")" ~ (" as " ~ ditto.quote(column.name) if alias else "")) %}
    {% endfor %}
    {{ return(items | join(', ')) }}
{% endmacro %}
