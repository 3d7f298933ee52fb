{# Also of the patterns that merge: `pattern` is theirs, and the dry run names its own `execution_time`. `keyed`: is a key required? #}
{% macro merger_settings(node, full_refresh=false, dry=false, pattern='merger', execution_time=none, formats=['delta'], keyed=true) %}
    {% set settings = ditto.common_settings(node, pattern, full_refresh, dry, formats, execution_time) %}
    {% set soft_delete = ditto.text_option(node, 'soft_delete', 'the name of one column', 'is_deleted') %}
    {% set sequence_by = ditto.text_option(node, 'sequence_by', 'the name of one column', 'changed_at') %}
    {% set order_by = ditto.list_option(node, 'order_by', sequence_by) %}
    {% do settings.update({
        'unique_key': ditto.list_option(node, 'unique_key'),
        'soft_delete': soft_delete,
        'sequence_by': sequence_by,
        'update_columns': ditto.list_option(node, 'update_columns', ditto.option(node, 'merge_update_columns')),
        'exclude_columns': ditto.list_option(node, 'exclude_columns', ditto.option(node, 'merge_exclude_columns')),
        'merge_condition': ditto.text_option(node, 'merge_condition', 'a SQL condition', 'target.region = source.region'),
        'not_matched_by_source': ditto._by_source(node),
        'on_duplicate_key': ditto.choice(node, 'on_duplicate_key', ['error', 'latest'], 'error'),
        'on_null_key': ditto.choice(node, 'on_null_key', ['error', 'allow'], 'error'),
        'order_by': order_by,
        'prune': ditto.choice(node, 'prune', [true, false], true),
        'keeps_deleted': soft_delete and sequence_by and true or false,
        'view': none
    }) %}
    {% if settings.keeps_deleted %}
        {# A deleted key must be remembered, or a late change would bring it back: its row stays, hidden behind a view. #}
        {% do settings.update(ditto.behind_view(settings)) %}
    {% endif %}
    {% do ditto._check_merger(settings, keyed) %}
    {{ return(settings) }}
{% endmacro %}


{# The rows live in `<model>__data`; the model's name is a view of them. #}
{% macro behind_view(settings) %}
    {% if settings.view %}
        {{ return({}) }}
    {% endif %}
    {{ return({
        'view': settings.table,
        'view_identifier': settings.identifier,
        'identifier': settings.identifier ~ '__data',
        'table': ditto.table_name(settings.schema, settings.identifier ~ '__data')
    }) }}
{% endmacro %}


{# `delete`, or {condition: ..., update: {column: expression}} where without `update` the rows are deleted. #}
{% macro _by_source(node) %}
    {% set given = ditto.option(node, 'not_matched_by_source') %}
    {% set rule = {'condition': none, 'changes': none} %}
    {% if given is none %}
        {{ return(none) }}
    {% elif given == 'delete' %}
        {{ return(rule) }}
    {% elif given is mapping and given.get('condition') and given.keys() | reject('in', ['condition', 'update']) | list == [] %}
        {% do rule.update({'condition': given['condition'], 'changes': given.get('update')}) %}
    {% endif %}
    {# An empty `update` is a mistake: taken for no update it would delete the rows. #}
    {% if rule.condition and (rule.changes is none or (rule.changes is mapping and rule.changes)) %}
        {{ return(rule) }}
    {% endif %}
    {% do ditto.error(
        ditto.subject(node), 'not_matched_by_source: ' ~ given,
        "'delete', or {condition: <SQL on target>} with an optional update: {<column>: <SQL>}",
        "for example not_matched_by_source={'condition': \"target.region = 'eu'\"}"
    ) %}
{% endmacro %}


{% macro _check_merger(settings, keyed=true) %}
    {% if keyed and not settings.unique_key %}
        {% do ditto.error(settings.subject, 'no unique_key', 'the columns that identify a row',
            "add unique_key='id' or unique_key=['type', 'version'] to the config of the model") %}
    {% elif settings.update_columns and settings.exclude_columns %}
        {% do ditto.error(settings.subject, 'update_columns and exclude_columns', 'one of them',
            'remove update_columns or exclude_columns from the config of the model') %}
    {% elif settings.on_duplicate_key != 'error' and not settings.order_by %}
        {% do ditto.error(settings.subject, 'on_duplicate_key: ' ~ settings.on_duplicate_key ~ ' without order_by',
            'columns that tell which row is the ' ~ settings.on_duplicate_key,
            "add order_by='updated_at' to the config of the model") %}
    {% elif settings.keeps_deleted and settings.not_matched_by_source %}
        {% do ditto.error(settings.subject, 'not_matched_by_source together with sequence_by and soft_delete',
            'one way to delete rows: what not_matched_by_source deletes leaves no trace that a late change could be compared with',
            'remove not_matched_by_source or sequence_by from the config of the model') %}
    {% endif %}
{% endmacro %}
