{# What would a run do? Nothing is touched:
   dbt run-operation ditto_plan --args '{model: devices, execution_date: 2024-10-07}'
   dbt run-operation ditto_plan --args '{model: devices, from: 2024-10-07, to: 2024-10-09, format: json}' #}
{% macro ditto_plan(model, execution_date=none, from=none, to=none, interval=none, format='text', slice_only=false, within=false, start=none) %}
    {% if format not in ('text', 'json', 'both') %}
        {% do ditto.error('ditto_plan', 'format: ' ~ format, 'text, json or both', "--args '{model: " ~ model ~ ", format: json}'") %}
    {% endif %}
    {% set node = ditto.find_model(model) %}
    {% set range = ditto._planned_range(node, execution_date, from, to, interval) %}
    {% set statuses = ditto._statuses(node) %}
    {% set range = ditto._own_range(node, range, statuses) if within and not range.single else range %}
    {% set range = ditto._rest(range, statuses, start) if start and not range.single else range %}
    {% set facts = dict(ditto._planning_facts(node, range.first), statuses=statuses) %}
    {% set times = ditto._planned_times(range, statuses) %}
    {% if node.config.materialized == 'fast_metadata_cleaner' %}
        {% set filled = ditto.unit_range(ditto.option(node, 'granularity', 'week'), range, statuses, slice_only) if times and not range.single
            else {'times': times, 'filled': []} %}
        {% set times = filled.times %}
        {% do facts.update({'filled': filled.filled, 'slice_only': slice_only, 'executions': ditto._as_executions(facts, statuses)}) %}
    {% endif %}
    {% set announcement = ditto.announce(node, facts, times) %}
    {% do announcement.update({'interval': range.interval, 'downstream': ditto.downstream_models(node)}) %}
    {% for shown in ('text', 'json') if format in (shown, 'both') %}
        {% do print(tojson(announcement) if shown == 'json' else ditto.plan_text(announcement)) %}
    {% endfor %}
{% endmacro %}


{# Every execution in the ledger and how it stands: live, stale, unfinished or released. As in a run, one of a unit that was applied
   before and then given up half-way has to be replayed like a stale one. #}
{% macro _statuses(node) %}
    {% set statuses = {} %}
    {% if ditto.ledger_exists() %}
        {% for row in ditto.fetch('select cast(`execution_time` as string) as `time`, if(`pattern` = ' ~ ditto.literal('fast_metadata_cleaner')
            ~ " and `status` = 'released' and `delta_table_version` is not null, 'stale', `status`) as `status` from " ~ ditto.ledger_table('ditto_state')
            ~ ' where `relation` = ' ~ ditto.literal(ditto.relation_key(node.schema, node.alias))) %}
            {% do statuses.update({row['time']: row['status']}) %}
        {% endfor %}
    {% endif %}
    {{ return(statuses) }}
{% endmacro %}


{# What the facts of a run have, for all units: without a table nothing of what the ledger says is there. #}
{% macro _as_executions(facts, statuses) %}
    {% set executions = [] %}
    {% for time, status in statuses.items() if facts.units or facts.view.exists or facts.ledger.unfinished %}
        {% do executions.append({'time': time, 'status': status}) %}
    {% endfor %}
    {{ return(executions) }}
{% endmacro %}


{% macro _planning_settings(node, execution_time) %}
    {% set own = {
        'stateful_merge': ditto.stateful_merge_settings,
        'fast_metadata_cleaner': ditto.fast_metadata_cleaner_settings,
        'proxy_view': ditto.proxy_view_settings
    }.get(node.config.materialized) %}
    {% if own %}
        {{ return(own(node, execution_time=execution_time)) }}
    {% endif %}
    {{ return(ditto.common_settings(node, node.config.materialized, formats=['delta', 'parquet'], execution_time=execution_time)) }}
{% endmacro %}


{% macro _planning_facts(node, execution_time) %}
    {% set settings = ditto._planning_settings(node, execution_time) %}
    {% if settings.units %}
        {% set facts = ditto.fast_metadata_cleaner_facts(node, settings) %}
        {{ return(dict(facts, earliest=none, required=ditto.units_without_required(node, settings, facts))) }}
    {% elif settings.pattern == 'proxy_view' %}
        {{ return(dict(ditto.proxy_view_facts(node, settings), earliest=none)) }}
    {% elif settings.pattern != 'stateful_merge' %}
        {{ return(dict(ditto.gather_facts(node, settings, none), earliest=none)) }}
    {% endif %}
    {% set facts = ditto.stateful_merge_facts(node, settings) %}
    {% set versions = settings.versioning == 'delta' and facts.target.exists and facts.head is not none %}
    {{ return(dict(facts, earliest=ditto.earliest_restorable(settings, facts.ledger) if versions else none)) }}
{% endmacro %}


{# Models that read this one, directly or not, in the order of their names. #}
{% macro downstream_models(node) %}
    {% set found = [node.unique_id] %}
    {% set models = [] %}
    {% for round in range(graph.nodes | length) %}
        {% set before = found | length %}
        {% for child in graph.nodes.values() if child.resource_type in ('model', 'snapshot') and child.unique_id not in found %}
            {% if child.depends_on.nodes | select('in', found) | list %}
                {% do found.append(child.unique_id) %}
                {% set reads = [] %}
                {% for parent in child.depends_on.nodes if parent in graph.nodes %}
                    {% do reads.append(graph.nodes[parent].name) %}
                {% endfor %}
                {% do models.append({'name': child.name, 'materialized': child.config.materialized, 'resource_type': child.resource_type,
                    'ditto': child.config.materialized in ditto.patterns(), 'interval': ditto.option(child, 'interval'), 'reads': reads}) %}
            {% endif %}
        {% endfor %}
        {% if found | length == before %}
            {{ return(models | sort(attribute='name')) }}
        {% endif %}
    {% endfor %}
    {{ return(models | sort(attribute='name')) }}
{% endmacro %}
