{# Give up an unfinished execution of stateful_merge: the table goes back to where it was before, so that the ledger's chain of
   executions is true again. Without versions it cannot go back; then everything from this execution on has to be replayed. #}
{% macro release_stateful_merge(node, ledger, open) %}
    {% set settings = ditto.stateful_merge_settings(node, execution_time=open.execution_time) %}
    {% set plan = ditto.new_plan(settings, {'ledger': ledger, 'head': open.version, 'target': {'exists': true}},
        {'mode': open.mode, 'reason': 'released'}, []) %}
    {% do plan.update({'base_version': open.base_version}) %}
    {% if settings.versioning == 'history' %}
        {% do ditto.give_up(plan, ditto.claim(plan), '9999-12-31 00:00:00') %}
        {% do print('ditto: released execution ' ~ open.execution_time ~ ' of ' ~ node.name ~ ' (' ~ ditto.describe_holder(open) ~ ')') %}
        {% do print('       it and all later executions have to be replayed: ' ~ ditto.run_command(node.name, open.execution_time)) %}
        {{ return('') }}
    {% endif %}
    {% set target = ditto.table_facts(settings.schema, settings.identifier) %}
    {% set commits = ditto.commits(settings.table, 1) if target.exists else [] %}
    {% set before = -1 if open.version is none else open.version %}
    {% if commits and commits[0].version > before %}
        {% set commits = ditto.commits(settings.table, commits[0].version - before) %}
        {% do ditto._refuse_undoing(plan, commits, before) %}
    {% endif %}
    {% if open.version is not none and commits and not ditto.stands_at(commits, before) and not ditto.is_readable(settings.table, before) %}
        {% do ditto.error(
            plan.subject, 'version ' ~ before ~ ' of ' ~ settings.table ~ ', from before execution ' ~ plan.execution_time ~ ', cannot be read any more',
            'a version to go back to, since releasing an execution undoes what it wrote',
            'replay everything from the first execution, after ' ~ ditto.run_command(plan.model, plan.execution_time, ' --full-refresh')
        ) %}
    {% endif %}
    {% set lease = ditto.claim(plan) %}
    {% set fence = ditto.fence_condition(ditto.ledger_table(), settings.relation, lease.token) %}
    {% if commits and not ditto.stands_at(commits, before) %}
        {% set undo = 'truncate table ' ~ settings.table if open.version is none else 'restore table ' ~ settings.table ~ ' to version as of ' ~ before %}
        {% do ditto.send('undo', ditto.fenced_sql(ditto.immediate_sql(undo), fence, script=true)) %}
        {% set commits = ditto.commits(settings.table, 1) %}
    {% endif %}
    {% do plan.update({'head': commits[0].version if commits else none}) %}
    {% do ditto.give_up(plan, lease) %}
    {% do print('ditto: released execution ' ~ open.execution_time ~ ' of ' ~ node.name ~ ' (' ~ ditto.describe_holder(open) ~ ')') %}
    {% do print('       the table is as it was before; to apply the execution: ' ~ ditto.run_command(node.name, open.execution_time)) %}
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
