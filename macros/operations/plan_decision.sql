{# What ditto_plan takes from the patterns. Pure. #}

{# What a person reads instead of `write`. #}
{% macro _action(settings, decision) %}
    {% if settings.pattern == 'proxy_view' %}
        {{ return('write a version, then show it' if decision.shows else 'write a version, and leave readers on the newest execution') }}
    {% endif %}
    {% if settings.pattern == 'file_ingest' %}
        {{ return('load the files that are new or changed') }}
    {% endif %}
    {{ return(ditto.unit_action(settings, decision) if settings.units else none) }}
{% endmacro %}


{% macro _decision(settings, facts) %}
    {% if settings.pattern in ('stateful_merge', 'fast_metadata_cleaner') %}
        {{ return((ditto.stateful_merge_decision if settings.pattern == 'stateful_merge' else ditto.fast_metadata_cleaner_decision)(settings, facts)) }}
    {% endif %}
    {% set own = facts.get('statuses', {}).get(settings.execution_time) in ('live', 'stale') %}
    {% set facts = dict(facts, ledger=dict(facts.ledger, own=own)) %}
    {% if settings.pattern == 'proxy_view' %}
        {{ return(ditto.proxy_view_decision(settings, facts)) }}
    {% endif %}
    {% set mode = ditto.plan_mode(settings, facts) %}
    {{ return(dict(mode, restore=none, truncate=false, become_stale=[])) }}
{% endmacro %}
