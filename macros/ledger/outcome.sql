{# After the write: look at the table's history, then append what happened. #}
{% macro record_outcome(plan, lease=none) %}
    {# A table of a run that was fenced off was never made. #}
    {% set made = not (plan.many_tables and plan.missing) or (plan.identifier | lower) in ditto.tables_like(plan.schema, plan.identifier) %}
    {% set commits = ditto.commits_of_run(plan) if plan.versioned and made else [] %}
    {% do ditto.refuse_interference(plan, commits, lease) %}
    {% do ditto.refuse_skipped(plan, commits, lease) %}
    {% set token = lease.token if lease else none %}
    {% set events = ditto.outcome_events(plan, commits, token) %}
    {% if lease %}
        {% set marker = ditto.append_last(plan, lease, 'outcome', events) %}
        {% do ditto.require_landed(plan, token, marker, 'took over this execution') %}
    {% else %}
        {% do ditto.send('outcome', ditto.ledger_append_sql(ditto.ledger_table(), events, plan.ledger.hash)) %}
    {% endif %}
    {{ return(events | last) }}
{% endmacro %}


{# Somebody else wrote in the middle of this run. If it was a run that took over, that one has done the work, or will. #}
{% macro refuse_interference(plan, commits, lease) %}
    {% set between = ditto.interference(plan, commits) %}
    {% if between %}
        {% do ditto.require_lease(plan, lease.token, 'took over this execution') %}
        {% do ditto.error(plan.subject, 'commits by others to ' ~ plan.table ~ ' during this run:
    - ' ~ ditto.describe_commits(between),
            'only this run to write; its execution counts as unfinished',
            'run it again: ' ~ ditto.run_command(plan.model, plan.execution_time)) %}
    {% endif %}
{% endmacro %}


{# An INSERT whose transaction id the table has seen before is skipped silently: that of a run that was taken over, and every one where
   the ledger counts its tokens anew. #}
{% macro refuse_skipped(plan, commits, lease) %}
    {% if not plan.must_commit or not plan.versioned or ditto.own_commits(plan, commits) %}
        {{ return('') }}
    {% endif %}
    {% do ditto.require_lease(plan, lease.token, 'took over this execution') %}
    {% do ditto.error(plan.subject, 'rows of this execution that ' ~ plan.table ~ ' did not take: it was written with another ledger before',
        'the ledger that the table was written with; this execution counts as unfinished',
        'bring that ledger back; or drop the table and run its executions again, beginning with ' ~ ditto.run_command(plan.model, plan.execution_time)) %}
{% endmacro %}


{# Commits back to the last one that the ledger knows. Twenty are nearly always enough; if not, read the rest. #}
{% macro commits_of_run(plan) %}
    {% set commits = ditto.commits(plan.table, 20) %}
    {% set last = plan.head if plan.many_tables else (plan.ledger.last.version if plan.ledger.last else none) %}
    {% set recorded = -1 if last is none else last %}
    {% set oldest = (commits | last).version if commits else 0 %}
    {% if oldest > recorded + 1 and oldest > 0 %}
        {% set commits = ditto.commits(plan.table, commits[0].version - recorded + 1) %}
    {% endif %}
    {{ return(commits) }}
{% endmacro %}
