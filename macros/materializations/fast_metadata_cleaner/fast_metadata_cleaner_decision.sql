{# Is the unit prepared anew or does it go on, and what does that undo? Pure: the same answer for a run and for the dry run. #}

{# `facts.executions`: {time, status} of the unit's executions, and of all that are not live. Gives `mode` and `reason`;
   `reset`: whether the unit is prepared anew; the executions that `become_stale`, are `stale_before` this one, or are `lost` with
   their table. #}
{% macro fast_metadata_cleaner_decision(settings, facts) %}
    {% set now, unit = settings.execution_time, settings.unit %}
    {% set own = facts.ledger.unfinished | selectattr('execution_time', 'equalto', now) | list %}
    {% set others = facts.executions | rejectattr('time', 'equalto', now) | list %}
    {% set mates = others | selectattr('time', 'ge', unit.first) | selectattr('time', 'lt', unit.until) | list %}
    {% set exists = facts.target.exists %}
    {# Hourly executions of Monday are not all the first one: it is the first day, and none of it is known before this one. #}
    {% set first = settings.granularity == 'full' or (now[:10] == unit.first and not mates | selectattr('time', 'lt', now) | list) %}
    {% set reset = not exists or (first and not settings.slice_only) or (own and own[0].undoes_until is not none) %}
    {% set live = mates | selectattr('status', 'equalto', 'live') | list %}
    {% set stale = others | selectattr('status', 'equalto', 'stale') | map(attribute='time') | list %}
    {% set decision = {
        'reset': reset and true or false, 'restore': none, 'truncate': false,
        'become_stale': live | selectattr('time', 'gt', now) | map(attribute='time') | sort | list if reset else [],
        'stale': stale | sort, 'stale_before': stale | select('lt', now) | sort,
        'lost': live | selectattr('time', 'lt', now) | map(attribute='time') | sort | list if not exists and settings.granularity != 'full' else [],
        'applied': facts.executions | selectattr('time', 'equalto', now) | selectattr('status', 'in', ['live', 'stale']) | list | length > 0
    } %}
    {% if settings.dry or settings.full_refresh or (own and own[0].mode == 'full_refresh') %}
        {% do decision.update(ditto.plan_mode(settings, facts)) %}
        {% do decision.update({'reset': true, 'become_stale': [], 'stale': [], 'stale_before': [], 'lost': []}) %}
    {% elif own %}
        {% do decision.update({'mode': 'takeover', 'reason': 'invocation ' ~ own[0].invocation_id ~ ' did not finish'}) %}
    {% elif reset %}
        {% set why = 'there is no table of ' ~ unit.label ~ ' yet' if not exists
            else ('each load is ' if settings.granularity == 'full' else 'the first execution of ') ~ unit.label %}
        {% do decision.update({'mode': 'reset', 'reason': why}) %}
    {% else %}
        {% do decision.update({'mode': 'slice', 'reason': 'this execution was applied before' if decision.applied
            else unit.label ~ ' goes on'}) %}
    {% endif %}
    {{ return(decision) }}
{% endmacro %}


{# Why a plan may not be carried out: a list of {rule, found, expected, fix}, where `rule` is what the config says about it. #}
{% macro fast_metadata_cleaner_problems(settings, facts, decision) %}
    {% if settings.dry %}
        {{ return([]) }}
    {% endif %}
    {% set problems = ditto._unit_problems(settings, facts, decision.mode == 'full_refresh') %}
    {# An execution that was begun is not new: nothing else may run until it is finished. #}
    {% if decision.stale_before and not decision.applied and decision.mode != 'takeover' and settings.granularity != 'full' %}
        {% do problems.append({
            'rule': settings.on_stale,
            'found': 'stale executions before this one: ' ~ ditto._times(decision.stale_before) ~ '; their unit was prepared anew after them',
            'expected': 'no stale execution before a new one',
            'fix': ditto._replay_commands(settings, decision.stale_before)
        }) %}
    {% endif %}
    {% if decision.lost %}
        {% do problems.append({
            'rule': 'error',
            'found': 'no table ' ~ settings.table ~ ', although these executions were loaded into it: ' ~ ditto._times(decision.lost),
            'expected': 'the table, or its executions from the first one on',
            'fix': ditto._replay_commands(settings, decision.lost)
        }) %}
    {% endif %}
    {{ return(problems) }}
{% endmacro %}


{% macro _unit_problems(settings, facts, anew) %}
    {% set problems = [] %}
    {% set names = ditto.lower_names((facts.units + facts.pending) | map(attribute='identifier')) %}
    {% set frozen = ditto.frozen_names(settings.alias, settings.unit.first) | select('in', names) | list %}
    {% set frozen = facts.units | selectattr('kind', 'equalto', 'frozen') | map(attribute='identifier') | list if anew else frozen %}
    {% if frozen %}
        {% do problems.append({
            'rule': 'error',
            'found': ('frozen units: ' if anew else settings.unit.label ~ ' is frozen: its rows are in ') ~ frozen | join(', '),
            'expected': 'a unit that was not merged into an immutable table; nothing was changed',
            'fix': 'load the corrected rows with another model, or drop the frozen tables by hand and replay their executions'
        }) %}
    {% endif %}
    {% set letter = ditto.granularities()[settings.granularity] %}
    {% set mixed = facts.units | rejectattr('kind', 'in', [letter, 'units'] + (['frozen'] if letter != 'full' else [])) | map(attribute='identifier') | list %}
    {% if mixed and not anew %}
        {% do problems.append({
            'rule': 'error',
            'found': 'granularity: ' ~ settings.granularity ~ ', and units of another one: ' ~ mixed[:5] | join(', '),
            'expected': 'one granularity for all units',
            'fix': 'set granularity back, or make the model anew: ' ~ ditto.run_command(settings.model, settings.execution_time, ' --full-refresh')
        }) %}
    {% endif %}
    {% set count = facts.units | rejectattr('kind', 'equalto', 'units') | list | length + (0 if facts.target.exists else 1) %}
    {% if not facts.target.exists and not anew and count * 10 >= settings.max_units * 8 %}
        {% do problems.append({
            'rule': 'error' if count > settings.max_units else 'warn',
            'found': count ~ ' units with this one, max_units: ' ~ settings.max_units,
            'expected': 'fewer tables behind one view',
            'fix': "merge closed units: dbt run-operation ditto_freeze --args '{model: " ~ settings.model ~ "}', or raise max_units"
        }) %}
    {% endif %}
    {{ return(problems) }}
{% endmacro %}
