{% macro dedup_insert_settings(node, full_refresh=false, dry=false, execution_time=none) %}
    {% set settings = ditto.common_settings(node, 'dedup_insert', full_refresh, dry, execution_time=execution_time) %}
    {% do ditto._refuse_merger_options(node, settings) %}
    {% do settings.update({
        'unique_key': ditto.list_option(node, 'unique_key'),
        'on_duplicate_key': ditto.choice(node, 'on_duplicate_key', ['error', 'first', 'latest'], 'error'),
        'on_null_key': ditto.choice(node, 'on_null_key', ['error', 'allow'], 'error'),
        'order_by': ditto.list_option(node, 'order_by'),
        'prune': ditto.choice(node, 'prune', [true, false], true),
        'soft_delete': none,
        'sequence_by': none,
        'not_matched_by_source': none,
        'view': none
    }) %}
    {% do ditto._check_merger(settings) %}
    {{ return(settings) }}
{% endmacro %}


{# Left unread, an option that changes or removes rows would seem to work. #}
{% macro _refuse_merger_options(node, settings) %}
    {% for name in ('soft_delete', 'sequence_by', 'update_columns', 'merge_update_columns', 'exclude_columns', 'merge_exclude_columns',
        'merge_condition', 'not_matched_by_source') if ditto.option(node, name) is not none %}
        {% do ditto.error(
            settings.subject, name ~ ': ' ~ ditto.option(node, name), 'no option that changes or removes rows: this pattern only inserts',
            "use materialized='merger', or remove " ~ name ~ ' from the config of the model'
        ) %}
    {% endfor %}
{% endmacro %}
