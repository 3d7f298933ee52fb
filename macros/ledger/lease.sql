{# A write of several commits holds the model's lease: the intent in the ledger is the lease, and Delta's transaction ids
   make claiming it a compare-and-set. Of several claimants of one token exactly one gets it. #}
{% macro claim(plan) %}
    {% set token = (plan.ledger.token or 0) + 1 %}
    {% set event = ditto.event(plan, 'started', plan.ledger.generation, plan.ledger.seq + 1, {
        'token': token, 'base_version': plan.base_version, 'version': plan.head, 'undoes_until': plan.undoes_until
    }) %}
    {% set stamp = ditto.fetch(ditto.ledger_stamp_sql(event, plan.ledger.hash))[0] %}
    {% do event.update({'at': stamp['at'], 'user': stamp['user']}) %}
    {% set marker = 'ditto:claim:' ~ event.event_id %}
    {% do ditto.send('claim', ditto.compare_and_set_sql(ditto.ledger_append_sql(ditto.ledger_table(), [event], plan.ledger.hash,
        ditto.claim_id(plan.relation, plan.ledger), marker))) %}
    {% do ditto.require_landed(plan, token, marker, 'claimed the model first') %}
    {{ return({'token': token, 'hash': stamp['hash'], 'given_up': false}) }}
{% endmacro %}


{# The transaction id of what a token's holder appends. Delta takes only what is newer than all before: of two claims of one token the
   first; nothing of a holder once the next token is claimed; and a statement that is sent again counts once.
   `end`: the outcome, or that the lease is given up. `correction`: an outcome after it was given up. #}
{% macro lease_id(relation, token, step='claim') %}
    {% set steps = ['claim', 'end', 'correction'] %}
    {{ return({'app': 'ditto:lease:' ~ relation, 'version': token * steps | length + steps.index(step)}) }}
{% endmacro %}


{# Whoever takes over or releases an unfinished run competes with its end: it is not taken over once it has ended, and does not end once
   it was. So the next token has one holder, whether the claimants have seen the end or not. #}
{% macro claim_id(relation, ledger) %}
    {% for open in ledger.unfinished %}
        {{ return(ditto.lease_id(relation, open.token, 'end')) }}
    {% endfor %}
    {{ return(ditto.lease_id(relation, (ledger.token or 0) + 1)) }}
{% endmacro %}


{# Did the insert with this marker go through? The ledger's history tells, and is much quicker to read than the ledger. Where it does
   not (skipped, or too many others since), the ledger says who holds the lease. #}
{% macro require_landed(plan, token, marker, what_happened) %}
    {% for row in ditto.fetch('describe history ' ~ ditto.ledger_table() ~ ' limit 20') if row['userMetadata'] == marker %}
        {{ return('') }}
    {% endfor %}
    {% do ditto.require_lease(plan, token, what_happened, marker.split(':')[-1]) %}
{% endmacro %}


{# A run that was refused before it wrote anything gives its lease back, so that no other execution is stopped by it. #}
{% macro give_up(plan, lease, undoes_until=none) %}
    {% set event = ditto.event(plan if undoes_until else dict(plan, mode='undone'), 'released', plan.ledger.generation, plan.ledger.seq + 2,
        {'token': lease.token, 'base_version': plan.base_version, 'version': plan.head, 'undoes_until': undoes_until}) %}
    {% set marker = ditto.append_last(plan, lease, 'give_up', [event]) %}
    {# Should the engine take the rows after all, the outcome comes after this event. #}
    {% do plan.ledger.update({'seq': plan.ledger.seq + 1}) %}
    {% do lease.update({'given_up': true}) %}
    {{ return(marker) }}
{% endmacro %}


{# What ends a leased run: nothing lands once another run has claimed the model. It reads nothing, so other models' appends are not in
   its way; should the claim come at the same moment, it is tried again, and skipped. #}
{% macro append_last(plan, lease, name, events) %}
    {% set marker = 'ditto:' ~ name ~ ':' ~ (events | last).event_id %}
    {% set id = ditto.lease_id(plan.relation, lease.token, 'correction' if lease.given_up else 'end') %}
    {% set sql = ditto.ledger_append_sql(ditto.ledger_table(), events, lease.hash, id, marker) %}
    {% if ditto.verdict(ditto.send(name, ditto.patient_sql(sql))) == 'conflict' %}
        {% do ditto.error(plan.subject, 'too many other changes of the ledger ' ~ ditto.ledger_table() ~ ' at the same time',
            'a moment in which this run can append to it; it counts as unfinished',
            ditto.run_command(plan.model, plan.execution_time) if plan.execution_time else 'run the operation again') %}
    {% endif %}
    {{ return(marker) }}
{% endmacro %}


{# Who holds the newest token? Anybody else: stop, and say who. With `event_id`: that this event is there is enough. #}
{% macro require_lease(plan, token, what_happened, event_id=none) %}
    {% set claims = ditto._claims(plan, token) %}
    {% if event_id and event_id in claims | map(attribute='event_id') %}
        {{ return('') }}
    {% endif %}
    {% set holder = claims | last if claims else none %}
    {% set again = ditto.run_command(plan.model, plan.execution_time) if plan.execution_time else 'run the operation again' %}
    {% if holder is none and plan.ledger.unfinished %}
        {% do ditto.error(plan.subject, 'that the run it was about to take over has ended: ' ~ ditto.describe_holder(ditto._claims(plan, token - 1) | last),
            'an unfinished one', again) %}
    {% elif holder is none %}
        {% do ditto.error(plan.subject, 'a ledger that skipped the claim of this run, though nobody else has one: ' ~ ditto.ledger_table()
            ~ ' was restored to an older version, or is written by an older ditto', 'a ledger that has all that was written to it',
            'bring its newest version back: describe history ' ~ ditto.ledger_table() ~ ' tells which; then ' ~ again) %}
    {% elif holder.token != token or holder.invocation_id != plan.invocation_id %}
        {% do ditto.error(plan.subject, 'another run ' ~ what_happened ~ ': ' ~ ditto.describe_holder(holder),
            'one run of a model at a time', 'wait until the other one is done, then ' ~ again) %}
    {% endif %}
    {{ return(holder) }}
{% endmacro %}


{% macro _claims(plan, token) %}
    {% set claims = [] %}
    {% for row in ditto.fetch(ditto.ledger_holder_sql(ditto.ledger_table(), plan.relation, token)) %}
        {% do claims.append(fromjson(row['holder'])) %}
    {% endfor %}
    {{ return(claims | sort(attribute='token,seq')) }}
{% endmacro %}


{% macro describe_holder(holder) %}
    {{ return('invocation ' ~ holder.invocation_id ~ ' of ' ~ holder.user
        ~ (' for execution ' ~ holder.execution_time if holder.execution_time else '') ~ ', started at ' ~ holder.at) }}
{% endmacro %}


{# Unfinished executions: the same one is taken over, any other one stops the run before it touches anything. #}
{% macro refuse_unfinished(settings, ledger) %}
    {% for open in ledger.unfinished if open.execution_time != settings.execution_time and not settings.dry %}
        {% set problem = ditto.unfinished_problem(settings.model, open) %}
        {% do ditto.error(settings.subject, problem.found, problem.expected, problem.fix) %}
    {% endfor %}
{% endmacro %}


{% macro unfinished_problem(model_name, open) %}
    {{ return({
        'rule': 'error',
        'found': ditto.unfinished_name(open) ~ ' did not finish' ~ (' (' ~ open.mode ~ ')' if open.execution_time else '') ~ ': '
            ~ ditto.describe_holder(open),
        'expected': 'no unfinished execution of another time' if open.execution_time else 'no unfinished operation',
        'fix': 'finish it: ' ~ (ditto.run_command(model_name, open.execution_time) if open.execution_time
            else "with the arguments that it had, dbt run-operation ditto_" ~ open.mode ~ " --args '{model: " ~ model_name ~ "}'")
            ~ "\n            or give it up: dbt run-operation ditto_release --args '{model: " ~ model_name ~ "}'"
    }) }}
{% endmacro %}


{# An operation holds the lease like a run, and has no execution time. Its mode is its name. #}
{% macro unfinished_name(open) %}
    {{ return('execution ' ~ open.execution_time if open.execution_time else 'ditto_' ~ open.mode) }}
{% endmacro %}
