{# Give up an unfinished execution of stateful_merge: the table goes back to where it was before, so that the ledger's chain of
   executions is true again. Without versions it cannot go back; then everything from this execution on has to be replayed. #}
{% macro release_stateful_merge(node, ledger, open) %}
    {% set settings = ditto.stateful_merge_settings(node, execution_time=open.execution_time) %}
    {% set plan = ditto.new_plan(settings, {'ledger': ledger, 'head': open.version, 'target': {'exists': true}},
        {'mode': open.mode, 'reason': 'released'}, []) %}
    {% do plan.update({'base_version': open.base_version}) %}
    {% if settings.versioning == 'history' %}
        {% set lease = ditto.claim(plan) %}
        {% do ditto.require_landed(plan, lease.token, ditto.give_up(plan, lease, '9999-12-31 00:00:00'), 'took over this execution') %}
        {{ return(['it and all later executions have to be replayed: ' ~ ditto.run_command(node.name, open.execution_time)]) }}
    {% endif %}
    {# Once to refuse what cannot be undone, and again when nothing can come in between any more. #}
    {% do ditto._commits_to_undo(plan, open) %}
    {% set lease = ditto.claim(plan) %}
    {% set fence = ditto.fence_condition(ditto.ledger_table(), settings.relation, lease.token) %}
    {% do ditto._stop_what_is_at_work(plan, fence) %}
    {% set commits = ditto._commits_to_undo(plan, open) %}
    {% if ditto._differs(commits, open) %}
        {% set undo = 'truncate table ' ~ plan.table if open.version is none else 'restore table ' ~ plan.table ~ ' to version as of ' ~ open.version %}
        {% do ditto.send('undo', ditto.fenced_sql(ditto.immediate_sql(undo), fence, script=true)) %}
        {% set commits = ditto.commits(plan.table, 1) %}
    {% endif %}
    {% do plan.update({'head': commits[0].version if commits else none}) %}
    {% do ditto.require_landed(plan, lease.token, ditto.give_up(plan, lease), 'took over this execution') %}
    {{ return(['the table is as it was before; to apply the execution: ' ~ ditto.run_command(node.name, open.execution_time)]) }}
{% endmacro %}


{# The run may still be alive, and a MERGE that asked who holds the lease before it was released may be about to commit. Delta refuses it
   once the properties have changed; it asks again, and writes nothing. #}
{% macro _stop_what_is_at_work(plan, fence) %}
    {% if ditto.table_facts(plan.schema, plan.identifier).exists %}
        {% do ditto.send('stop', ditto.fenced_sql(ditto.immediate_sql(
            ditto.set_properties_sql(plan.table, {'ditto.released_by': plan.invocation_id})), fence, script=true)) %}
    {% endif %}
{% endmacro %}


{# The commits since the execution began, newest first; only the newest where there is none. Refused if they cannot be undone. #}
{% macro _commits_to_undo(plan, open) %}
    {% set commits = ditto.commits(plan.table, 1) if ditto.table_facts(plan.schema, plan.identifier).exists else [] %}
    {% set before = -1 if open.version is none else open.version %}
    {% if commits and commits[0].version > before %}
        {% set commits = ditto.commits(plan.table, commits[0].version - before) %}
        {% do ditto._refuse_undoing(plan, commits, before) %}
    {% endif %}
    {% if open.version is not none and ditto._differs(commits, open) and not ditto.is_readable(plan.table, before) %}
        {% do ditto.error(
            plan.subject, 'version ' ~ before ~ ' of ' ~ plan.table ~ ', from before execution ' ~ plan.execution_time ~ ', cannot be read any more',
            'a version to go back to, since releasing an execution undoes what it wrote',
            'replay everything from the first execution, after ' ~ ditto.run_command(plan.model, plan.execution_time, ' --full-refresh')
        ) %}
    {% endif %}
    {{ return(commits) }}
{% endmacro %}


{% macro _differs(commits, open) %}
    {{ return(commits and not ditto.stands_at(commits, -1 if open.version is none else open.version)) }}
{% endmacro %}


{% macro _refuse_undoing(plan, commits, before) %}
    {% set leases = ditto.fetch(ditto.ledger_leases_sql(ditto.ledger_table(), plan.relation, before)) %}
    {% set foreign = ditto.foreign_commits(commits, before, leases) %}
    {% if foreign %}
        {% do ditto.error(
            plan.subject, 'commits by others since execution ' ~ plan.execution_time ~ ' began:\n    - ' ~ ditto.describe_commits(foreign),
            'nothing but what this execution wrote, since releasing it undoes that',
            'finish it instead: ' ~ ditto.run_command(plan.model, plan.execution_time)
        ) %}
    {% endif %}
{% endmacro %}
