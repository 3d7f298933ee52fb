{# What ditto_plan knows about units: one execution after the other, each decided as if those before it had run. Pure. #}

{# The facts for the unit of this execution, out of those for the whole range. #}
{% macro unit_world(settings, facts) %}
    {% set names = ditto.lower_names(facts.units | map(attribute='identifier')) %}
    {{ return(dict(facts, target=dict(facts.target, exists=settings.identifier | lower in names))) }}
{% endmacro %}


{% macro after_unit(facts, settings, decision) %}
    {% set now = settings.execution_time %}
    {# A full refresh that did not finish is finished as one: nothing else is left. #}
    {% set facts = dict(facts, units=[], executions=[]) if decision.mode == 'full_refresh' else facts %}
    {% set executions = [{'time': now, 'status': 'live'}] %}
    {% for execution in facts.executions if execution.time != now %}
        {% do executions.append(dict(execution, status='stale') if execution.time in decision.become_stale else execution) %}
    {% endfor %}
    {% set known = ditto.lower_names(facts.units | map(attribute='identifier')) %}
    {% set made = [{'identifier': settings.identifier | lower, 'kind': ditto.granularities()[settings.granularity],
        'first': settings.unit.first}] if settings.identifier | lower not in known else [] %}
    {{ return(dict(facts, executions=executions, units=facts.units + made, ledger=dict(facts.ledger, unfinished=[]))) }}
{% endmacro %}


{# The unit is the boundary of a backfill: what is known of the first and of the last unit is replayed with the range.
   `range`: {first, last, times}. Gives the times and, for people, the units they fill. #}
{% macro unit_range(granularity, range, statuses, slice_only=false) %}
    {% set times = range.times %}
    {% set whole = not slice_only and granularity != 'full' %}
    {% set first = ditto.unit_of(granularity, range.first).first if whole else range.first %}
    {% set until = ditto.unit_of(granularity, range.last).until if whole else range.last %}
    {% set added = [] %}
    {% for time in statuses if time not in times and first <= time and (time < until or time == range.last) %}
        {% do added.append(time) %}
    {% endfor %}
    {% set outside = added | select('lt', range.first) | list + added | select('gt', range.last) | list %}
    {% set labels = [] %}
    {% for time in outside | sort %}
        {% do labels.append(ditto.unit_of(granularity, time).label) %}
    {% endfor %}
    {{ return({'times': (times + added) | unique | sort | list, 'filled': labels | unique | list}) }}
{% endmacro %}


{# What a person reads beside an execution of this pattern. #}
{% macro unit_action(settings, decision) %}
    {% if not decision.reset %}
        {{ return('replace its slice of ' ~ settings.unit.label) }}
    {% endif %}
    {{ return('prepare ' ~ settings.unit.label ~ ' anew (' ~ settings.identifier ~ ')') }}
{% endmacro %}
