{# What operations that write share: they hold the model's lease like a run, and have no execution time. #}

{# Gives `settings`, `facts` about the units, `ledger`, and the `plan` to claim with. An unfinished operation of the same name is
   taken over; anything else that is unfinished stops it. #}
{% macro begin_operation(node, name) %}
    {% set settings = ditto._planning_settings(node, '1970-01-01 00:00:00') %}
    {% set subject = 'ditto_' ~ name ~ ' of ' ~ node.name %}
    {% if not ditto.ledger_exists() %}
        {% do ditto.error(subject, 'no ledger ' ~ ditto.ledger_table(), 'at least one run of the model',
            ditto.run_command(node.name, '2024-10-07 00:00:00')) %}
    {% endif %}
    {% set ledger = ditto.ledger_facts(settings.relation, settings.execution_time) %}
    {% for open in ledger.unfinished if open.execution_time or open.mode != name %}
        {% set problem = ditto.unfinished_problem(node.name, open) %}
        {% do ditto.error(subject, problem.found, problem.expected, problem.fix) %}
    {% endfor %}
    {% set facts = ditto.unit_facts(settings) if settings.units else {} %}
    {% set plan = ditto.new_plan(settings, {'ledger': ledger, 'head': none, 'target': {'exists': true}}, {'mode': name, 'reason': 'asked for'}, []) %}
    {% do plan.update({'execution_time': none, 'subject': subject}) %}
    {{ return({'settings': settings, 'facts': facts, 'ledger': ledger, 'plan': plan}) }}
{% endmacro %}


{% macro finish_operation(plan, lease, details) %}
    {% set event = ditto.event(plan, 'committed', plan.ledger.generation, plan.ledger.seq + 2, {'token': lease.token, 'details': tojson(details)}) %}
    {% set marker = ditto.append_last(plan, lease, 'outcome', [event]) %}
    {% do ditto.require_landed(plan, lease.token, marker, 'took over this operation') %}
{% endmacro %}
