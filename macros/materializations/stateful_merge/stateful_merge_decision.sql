{# What has to happen to the table before the increment is merged? Pure: the same answer for a run and for the dry run. #}

{# Gives `mode` and `reason`; `restore`: the version to go back to, or none; `truncate`: whether the table is emptied; `since`: the
   version after which commits would be undone; `head`: the version before this execution began; and the executions that
   `become_stale`, are `stale_before` this one, or are `missing`. #}
{% macro stateful_merge_decision(settings, facts) %}
    {% set now = settings.execution_time %}
    {% set own = facts.ledger.unfinished | selectattr('execution_time', 'equalto', now) | list %}
    {% set chain = ditto.chain_of_table(facts, own) %}
    {% set earlier = chain.live | selectattr('time', 'lt', now) | list %}
    {% set later = chain.live | selectattr('time', 'ge', now) | list %}
    {% set stale = chain.stale | map(attribute='time') | reject('equalto', now) | list %}
    {% set decision = {
        'restore': none, 'truncate': false, 'since': none, 'head': facts.head, 'stale': stale,
        'become_stale': later | map(attribute='time') | reject('equalto', now) | list,
        'stale_before': stale | select('lt', now) | list,
        'missing': ditto._missing_between(settings, earlier[-1].time if earlier else none)
    } %}
    {% if settings.dry or settings.full_refresh or (own and own[0].mode == 'full_refresh') %}
        {% do decision.update(ditto.plan_mode(settings, facts)) %}
        {# Made anew, the table has only this execution. Given up, it goes back to where it was before the first of those that died. #}
        {% do decision.update({'become_stale': [], 'stale': [], 'stale_before': [], 'missing': [],
            'head': own[0].version if own else facts.head}) %}
    {% elif own %}
        {% do decision.update(ditto._takeover(facts, own[0])) %}
    {% elif not chain.live %}
        {% do decision.update({
            'mode': 'truncate' if facts.has_rows and settings.existing_rows == 'truncate' else 'first',
            'reason': 'no execution is recorded for this table',
            'truncate': facts.has_rows and settings.existing_rows == 'truncate'
        }) %}
    {% elif not earlier and settings.existing_rows != 'keep' %}
        {% do decision.update({'mode': 'truncate', 'reason': 'no earlier execution is recorded', 'truncate': facts.has_rows,
            'since': later[0].base_version}) %}
    {% elif later %}
        {% set what = 'this execution was' if later[0].time == now else 'a later execution, ' ~ ditto.short_time(later[0].time) ~ ', was' %}
        {% do decision.update({'mode': 'backfill', 'restore': later[0].base_version, 'since': later[0].base_version,
            'reason': what ~ ' applied before' ~ (', to version ' ~ later[0].base_version if settings.versioning == 'delta' else '')}) %}
    {% else %}
        {% do decision.update({'mode': 'normal', 'reason': 'the previous execution is ' ~ ditto.short_time(earlier[-1].time)}) %}
    {% endif %}
    {% if settings.versioning == 'history' %}
        {# Its table is rebuilt from the raw rows, whatever was in it. #}
        {% do decision.update({'restore': none, 'truncate': false, 'since': none}) %}
        {% set last = facts.ledger.outcomes | sort(attribute='seq') | last %}
        {% if last and last.event == 'released' and decision.mode in ('first', 'normal', 'truncate') %}
            {# What was released could not be taken back: nobody knows what the table holds. #}
            {% do decision.update({'mode': 'backfill', 'reason': 'execution ' ~ ditto.short_time(last.time) ~ ' was released half way'}) %}
        {% endif %}
    {% endif %}
    {{ return(decision) }}
{% endmacro %}


{# The intent tells where the table has to be before the merge; one without a base version found no rows, or removed them. #}
{% macro _takeover(facts, open) %}
    {{ return({
        'mode': 'takeover', 'reason': 'invocation ' ~ open.invocation_id ~ ' did not finish',
        'restore': open.base_version, 'truncate': open.base_version is none and facts.has_rows,
        'head': open.version, 'since': open.version, 'stale_before': [], 'missing': []
    }) }}
{% endmacro %}


{# A table that is not there, that was not when the unfinished execution began, or that is not the one that the ledger knows, holds
   nothing of what was applied.
   Among the facts of a run it is found once: it is a loop over all that was ever applied. #}
{% macro chain_of_table(facts, own) %}
    {% set holds = facts.target.exists and facts.get('known', true) and not (own and own[0].version is none) %}
    {{ return(facts.get('chain') or ditto.execution_chain(facts.ledger.outcomes if holds else [])) }}
{% endmacro %}


{# Executions that should lie between the previous one and this one: known only with `interval`. Counted back from this one,
   since from the last day of February nobody can tell whether March ends on its 29th or its 31st. #}
{% macro _missing_between(settings, previous) %}
    {% set missing = [] %}
    {% for steps in range(1, 10000) if settings.interval and previous is not none %}
        {% set time = ditto.shift_time(settings.execution_time, settings.interval, -steps) %}
        {% if time <= previous %}
            {{ return(missing | reverse | list) }}
        {% endif %}
        {% do missing.append(time) %}
    {% endfor %}
    {{ return(missing | reverse | list) }}
{% endmacro %}


{# A day as a day, anything else as a timestamp: the way a person writes it in a command. #}
{% macro short_time(time) %}
    {{ return(time[:10] if time[11:] == '00:00:00' else time.replace(' ', 'T')) }}
{% endmacro %}
