{% macro fast_metadata_cleaner_settings(node, full_refresh=false, dry=false, execution_time=none) %}
    {% if (ditto.option(node, 'file_format') or 'delta') | lower != 'delta' %}
        {% do ditto.error(
            ditto.subject(node), 'file_format: ' ~ ditto.option(node, 'file_format'),
            'file_format: delta: without a metadata layer there is nothing to clean quickly',
            "set file_format='delta', or use materialized='insert_overwrite', which replaces the files of a partition"
        ) %}
    {% endif %}
    {% set settings = ditto.common_settings(node, 'fast_metadata_cleaner', full_refresh, dry, ['delta'], execution_time) %}
    {% set granularity = ditto.choice(node, 'granularity', ditto.granularities() | list, 'week') %}
    {% do settings.update({
        'leased': true,
        'units': true,
        'many_tables': true,
        'alias': node.alias,
        'granularity': granularity,
        'reset': ditto.choice(node, 'reset', ['replace', 'truncate', 'drop'], 'replace'),
        'on_stale': ditto.choice(node, 'on_stale', ['error', 'warn'], 'error'),
        'max_units': ditto.option(node, 'max_units', 1000),
        'execution_time_column': ditto.option(node, 'execution_time_column'),
        'unit_column': ditto.option(node, 'unit_column'),
        'slice_only': var('ditto_slice_only', false) | string | lower == 'true',
        'given_partitions': settings.partition_by,
        'view': settings.table,
        'view_identifier': node.alias
    }) %}
    {% do settings.update(ditto.unit_settings(settings, settings.execution_time)) %}
    {% do ditto._check_fast_metadata_cleaner(settings) %}
    {{ return(settings) }}
{% endmacro %}


{# The unit of an execution, as the table that the common macros write to. #}
{% macro unit_settings(settings, execution_time) %}
    {% set unit = ditto.unit_of(settings.granularity, execution_time) %}
    {% set identifier = settings.alias ~ '__' ~ unit.suffix %}
    {{ return({
        'execution_time': execution_time,
        'unit': unit,
        'identifier': identifier,
        'table': ditto.table_name(settings.schema, identifier),
        'partition_by': ['_ditto_execution_time'] + settings.given_partitions
    }) }}
{% endmacro %}


{% macro _check_fast_metadata_cleaner(settings) %}
    {% if settings.cluster_by %}
        {% do ditto.error(settings.subject, 'cluster_by: ' ~ settings.cluster_by | join(', '),
            'no clustering: a unit is partitioned by the execution time, so that a slice can be replaced by metadata alone',
            'remove cluster_by from the config of the model') %}
    {% elif settings.max_units is not integer or settings.max_units < 1 %}
        {% do ditto.error(settings.subject, 'max_units: ' ~ settings.max_units, 'a number from 1',
            'change the config of the model, for example max_units=1000') %}
    {% elif settings.granularity == 'full' and settings.slice_only %}
        {% do ditto.error(settings.subject, 'ditto_slice_only with granularity: full', 'nothing: each load is the full dataset',
            'leave out ditto_slice_only') %}
    {% endif %}
    {% if settings.unit_column and settings.execution_time_column and settings.unit_column | lower == settings.execution_time_column | lower %}
        {% do ditto.error(settings.subject, 'unit_column and execution_time_column: ' ~ settings.unit_column, 'two names for two columns',
            'change one of them in the config of the model') %}
    {% endif %}
    {% for name in ('execution_time_column', 'unit_column') if settings[name] is not none
        and (settings[name] is not string or not settings[name].strip()) %}
        {% do ditto.error(settings.subject, name ~ ': ' ~ settings[name], 'the name under which the view shows it',
            'change the config of the model, for example ' ~ name ~ "='loaded_for'") %}
    {% endfor %}
{% endmacro %}
