{# What a run does with its execution, and the plan that says so. Pure. #}

{# The mode of a one-commit write, in the words of the ledger. #}
{% macro plan_mode(settings, facts) %}
    {% set ledger = facts.ledger %}
    {% set own = ledger.unfinished | selectattr('execution_time', 'equalto', settings.execution_time) | list %}
    {% if settings.dry %}
        {{ return({'mode': 'dry', 'reason': '--empty or --sample: the table is made if missing, nothing is written'}) }}
    {% elif settings.full_refresh %}
        {{ return({'mode': 'full_refresh', 'reason': '--full-refresh: the table is made anew'}) }}
    {% elif own and own[0].mode == 'full_refresh' %}
        {{ return({'mode': 'full_refresh', 'reason': 'the full refresh of ' ~ own[0].invocation_id ~ ' did not finish'}) }}
    {% elif own %}
        {{ return({'mode': 'takeover', 'reason': 'invocation ' ~ own[0].invocation_id ~ ' did not finish'}) }}
    {% elif not facts.target.exists or not ledger.last %}
        {{ return({'mode': 'first', 'reason': 'no execution is recorded for this table'}) }}
    {% elif ledger.own %}
        {{ return({'mode': 'replay', 'reason': 'this execution was applied before'}) }}
    {% elif ledger.newest > settings.execution_time %}
        {{ return({'mode': 'late', 'reason': 'a later execution was applied before: ' ~ ledger.newest}) }}
    {% endif %}
    {{ return({'mode': 'normal', 'reason': 'the previous execution is ' ~ ledger.previous}) }}
{% endmacro %}


{# Settings, mode and facts as one plan; the pattern adds its steps. `undo`: what is refused after the first of them has left the
   table other than it was, so the run stays unfinished. #}
{% macro new_plan(settings, facts, mode, steps) %}
    {% set plan = dict(settings, **mode) %}
    {% do plan.update({
        'steps': ditto.with_dead_letters(settings, facts, mode, steps),
        'found': {'dead_letters': 0},
        'ledger': facts.ledger,
        'versioned': settings.file_format == 'delta',
        'missing': not facts.target.exists,
        'made_anew': mode.mode == 'full_refresh',
        'base_version': facts.head,
        'head': facts.head,
        'undo': mode.mode == 'full_refresh',
        'must_commit': false,
        'seen': none,
        'undoes_until': none,
        'details': none,
        'unit': settings.table
    }) %}
    {{ return(plan) }}
{% endmacro %}
