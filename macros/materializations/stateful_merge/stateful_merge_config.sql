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
        'existing_rows': ditto.choice(node, 'existing_rows', ['error', 'keep', 'truncate'] if versioning == 'delta' else ['error', 'truncate'], 'error'),
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


{# As Delta spells it: `interval 30 days`. Delta counts the age of a version from its commit, and what an execution was applied to
   was committed an interval before: a window that is shorter than that would let nobody go back even once. #}
{% macro _backfill_window(node) %}
    {% set interval = ditto.option(node, 'interval') %}
    {% set default = '100 days' if interval == 'month' else '30 days' %}
    {% set given = ditto.option(node, 'backfill_window', default) | string | trim | lower %}
    {% set found = modules.re.fullmatch('([1-9][0-9]*) (hour|day|week)s?', given) %}
    {% set hours = {'hour': 1, 'day': 24, 'week': 168, 'month': 744} %}
    {% if not found or found.group(1) | int * hours[found.group(2)] <= hours.get(interval, 0) %}
        {% do ditto.error(
            ditto.subject(node), 'backfill_window: ' ~ given ~ (', interval: ' ~ interval if interval else ''),
            'a number of hours, days or weeks, longer than the interval', "add backfill_window='" ~ default ~ "' to the config of the model"
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
