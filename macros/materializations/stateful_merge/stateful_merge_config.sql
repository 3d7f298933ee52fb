{% macro stateful_merge_settings(node, full_refresh=false, dry=false, execution_time=none) %}
    {% set versioning = ditto.choice(node, 'versioning', ['delta', 'history'], 'delta') %}
    {% set settings = ditto.merger_settings(node, full_refresh, dry, 'stateful_merge', execution_time,
        ['delta'] if versioning == 'delta' else ['delta', 'parquet']) %}
    {% do settings.update({
        'leased': true,
        'chained': true,
        'versioning': versioning,
        'interval': ditto.choice(node, 'interval', [none] + ditto.intervals(), none),
        'on_stale': ditto.choice(node, 'on_stale', ['error', 'warn', 'ignore'], 'error'),
        'on_gap': ditto.choice(node, 'on_gap', ['error', 'warn', 'ignore'], 'error'),
        'on_foreign_commits': ditto.choice(node, 'on_foreign_commits', ['error', 'warn'], 'error'),
        'existing_rows': ditto.choice(node, 'existing_rows', ['error', 'keep', 'truncate'], 'error'),
        'backfill_window': ditto._backfill_window(node),
        'readers': ditto.choice(node, 'readers', ['table', 'pinned'], 'table')
    }) %}
    {% if settings.readers == 'pinned' %}
        {% do settings.update(ditto.behind_view(settings)) %}
    {% endif %}
    {% if versioning == 'history' %}
        {% do ditto._check_history_options(node, settings) %}
        {% do settings.update({
            'history_identifier': node.alias ~ '__history',
            'history': ditto.table_name(settings.schema, node.alias ~ '__history')
        }) %}
    {% endif %}
    {{ return(settings) }}
{% endmacro %}


{# As Delta spells it: `interval 30 days`. #}
{% macro _backfill_window(node) %}
    {% set given = ditto.option(node, 'backfill_window', '30 days') | string | trim | lower %}
    {% if not modules.re.fullmatch('[1-9][0-9]* (hour|day|week)s?', given) %}
        {% do ditto.error(
            ditto.subject(node), 'backfill_window: ' ~ given, 'a number of hours, days or weeks',
            "add backfill_window='30 days' to the config of the model"
        ) %}
    {% endif %}
    {{ return('interval ' ~ given) }}
{% endmacro %}


{# The table is rebuilt as the latest row of each key, so options that would give anything else have no place. #}
{% macro _check_history_options(node, settings) %}
    {% for name in ('sequence_by', 'update_columns', 'exclude_columns', 'merge_update_columns', 'merge_exclude_columns',
        'merge_condition', 'not_matched_by_source') if ditto.option(node, name) %}
        {% do ditto.error(
            settings.subject, name ~ ' with versioning: history', 'whole rows, of which the latest execution wins',
            'remove ' ~ name ~ " from the config of the model, or use versioning='delta'"
        ) %}
    {% endfor %}
    {% if settings.readers == 'pinned' %}
        {% do ditto.error(settings.subject, 'readers: pinned with versioning: history', 'a table that has versions to be pinned to',
            "use readers='table' or versioning='delta'") %}
    {% endif %}
{% endmacro %}
