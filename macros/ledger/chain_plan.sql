{# Which executions are in the table? Pure. #}

{# Every outcome undid the executions after it, so an execution is live if no later outcome belongs to an earlier or the same
   time. `live` and `stale` are in the order of their times; what was released half-way has to be replayed like a stale one. #}
{% macro execution_chain(outcomes) %}
    {% set placed = [] %}
    {% for outcome in outcomes %}
        {% do placed.append(dict(outcome, version=outcome.get('version'), base_version=outcome.get('base_version'),
            place=[outcome.get('version', -1), outcome.seq])) %}
    {% endfor %}
    {% set seen, live, stale = {}, [], [] %}
    {% set earliest = namespace(time=none) %}
    {% for outcome in placed | sort(attribute='place', reverse=true) if outcome.time not in seen %}
        {% do seen.update({outcome.time: true}) %}
        {% set undone = earliest.time is not none and earliest.time < outcome.time %}
        {% do (stale if undone or outcome.event == 'released' else live).append(outcome) %}
        {% set earliest.time = outcome.time if earliest.time is none or outcome.time < earliest.time else earliest.time %}
    {% endfor %}
    {{ return({'live': live | sort(attribute='time'), 'stale': stale | sort(attribute='time')}) }}
{% endmacro %}
