{# How the increment's columns meet the table's. Pure. #}

{# Gives `steps` (ALTERs) and `columns`: the table's columns as they will be, each with `given`: does the increment have it? #}
{% macro plan_columns(settings, increment, target) %}
    {% set new = ditto.columns_not_in(increment, target.columns) %}
    {% set gone = ditto.columns_not_in(target.columns, increment) %}
    {% set steps = [] %}
    {% if settings.on_schema_change == 'fail' %}
        {% do ditto._refuse_change(settings, new, gone, ditto.changed_types(increment, target.columns)) %}
    {% endif %}
    {% set columns = [] %}
    {% for column in target.columns %}
        {% if not (column in gone and settings.on_schema_change == 'sync_all_columns') %}
            {% do columns.append({'name': column.name, 'type': column.type, 'given': column not in gone}) %}
        {% endif %}
    {% endfor %}
    {% if settings.on_schema_change in ('append_new_columns', 'sync_all_columns') and new %}
        {% do steps.extend(ditto.add_columns_steps(settings, new, target)) %}
        {% for column in new %}
            {% do columns.append({'name': column.name, 'type': column.type, 'given': true}) %}
        {% endfor %}
    {% endif %}
    {% if settings.on_schema_change == 'sync_all_columns' and gone %}
        {% do steps.extend(ditto._drop_steps(settings, gone, target)) %}
    {% endif %}
    {{ return({'steps': steps, 'columns': columns}) }}
{% endmacro %}


{# Delta has to be told before a table gets its first timestamp without a zone. #}
{% macro add_columns_steps(settings, new, target) %}
    {% set unzoned = 'timestamp_ntz' in new | map(attribute='type') | join(' ') and 'timestamp_ntz' not in target.columns | map(attribute='type') | join(' ') %}
    {% set allow = {'kind': 'sql', 'name': 'allow_timestamp_ntz',
        'sql': ditto.set_properties_sql(settings.table, {'delta.feature.timestampNtz': 'supported'})} %}
    {{ return(([allow] if unzoned and settings.file_format == 'delta' else [])
        + [{'kind': 'sql', 'name': 'add_columns', 'sql': ditto.add_columns_sql(settings.table, new)}]) }}
{% endmacro %}


{% macro columns_not_in(columns, others) %}
    {% set known = ditto.lower_names(others) %}
    {% set missing = [] %}
    {% for column in columns if column.name | lower not in known %}
        {% do missing.append(column) %}
    {% endfor %}
    {{ return(missing) }}
{% endmacro %}


{% macro changed_types(increment, columns) %}
    {% set types = {} %}
    {% for column in columns %}
        {% do types.update({column.name | lower: column.type}) %}
    {% endfor %}
    {% set changed = [] %}
    {% for column in increment if types.get(column.name | lower, column.type) != column.type %}
        {% do changed.append(column.name ~ ' (' ~ types[column.name | lower] ~ ' -> ' ~ column.type ~ ')') %}
    {% endfor %}
    {{ return(changed) }}
{% endmacro %}


{% macro _drop_steps(settings, gone, target) %}
    {% if settings.file_format != 'delta' %}
        {% do ditto.error(
            settings.subject, 'columns to drop: ' ~ ditto.lower_names(gone) | join(', ') ~ ', in a ' ~ settings.file_format ~ ' table',
            'file_format: delta, or on_schema_change: append_new_columns',
            'change the config of the model, or ' ~ ditto.run_command(settings.model, settings.execution_time, ' --full-refresh')
        ) %}
    {% endif %}
    {% set steps = [] %}
    {% if not ditto.has_property(target.properties, 'delta.columnMapping.mode', 'name') %}
        {# Delta can drop a column only by name, not by position in the files. #}
        {% do steps.append({'kind': 'sql', 'name': 'map_columns',
            'sql': ditto.set_properties_sql(settings.table, {'delta.columnMapping.mode': 'name'})}) %}
    {% endif %}
    {% do steps.append({'kind': 'sql', 'name': 'drop_columns', 'sql': ditto.drop_columns_sql(settings.table, gone)}) %}
    {{ return(steps) }}
{% endmacro %}


{% macro _refuse_change(settings, new, gone, changed) %}
    {% if new or gone or changed %}
        {% do ditto.error(
            settings.subject,
            'other columns than in ' ~ settings.table ~ ' - new: ' ~ (ditto.lower_names(new) | join(', ') or 'none')
            ~ '; gone: ' ~ (ditto.lower_names(gone) | join(', ') or 'none') ~ '; other types: ' ~ (changed | join(', ') or 'none'),
            'the same columns (on_schema_change: fail)',
            'change the SELECT, or set on_schema_change to ignore, append_new_columns or sync_all_columns, or '
            ~ ditto.run_command(settings.model, settings.execution_time, ' --full-refresh')
        ) %}
    {% endif %}
{% endmacro %}
