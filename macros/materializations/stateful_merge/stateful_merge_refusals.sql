{# Why a plan may not be carried out: a list of {rule, found, expected, fix}, where `rule` is what the config says about it. Pure. #}
{% macro stateful_merge_problems(settings, facts, decision) %}
    {% set problems = [] %}
    {% if settings.dry or decision.mode == 'full_refresh' %}
        {{ return(problems) }}
    {% endif %}
    {% if decision.stale_before %}
        {% do problems.append({
            'rule': settings.on_stale,
            'found': 'stale executions before this one: ' ~ ditto._times(decision.stale_before) ~ '; an earlier one was replayed after them',
            'expected': 'an unbroken chain of executions up to this one',
            'fix': ditto._replay_commands(settings, decision.stale_before)
        }) %}
    {% endif %}
    {% if decision.missing | reject('in', decision.stale_before) | list %}
        {% set missing = decision.missing | reject('in', decision.stale_before) | list %}
        {% do problems.append({
            'rule': settings.on_gap,
            'found': 'missing executions before this one (interval: ' ~ settings.interval ~ '): ' ~ ditto._times(missing),
            'expected': 'an execution for every ' ~ settings.interval,
            'fix': ditto._replay_commands(settings, missing) ~ "\n            or allow gaps: on_gap='warn' in the config of the model"
        }) %}
    {% endif %}
    {% if decision.mode == 'first' and facts.has_rows and settings.existing_rows == 'error' %}
        {% do problems.append({
            'rule': 'error',
            'found': settings.table ~ ' has rows, and no execution of stateful_merge is recorded for it'
                ~ ('' if facts.get('known', true) else ': the table that the ledger knows was dropped or replaced'),
            'expected': 'an empty table, or a decision about its rows',
            'fix': "start from them: existing_rows='keep' in the config of the model; or remove them: existing_rows='truncate'"
        }) %}
    {% endif %}
    {{ return(problems + (ditto._restore_problems(settings, facts, decision) if settings.versioning == 'delta' else [])) }}
{% endmacro %}


{% macro _restore_problems(settings, facts, decision) %}
    {% set problems = [] %}
    {% set undone = facts.undone %}
    {% if not undone.readable %}
        {% do problems.append(ditto.unreadable_problem(settings, facts.ledger, decision.restore, undone.earliest)) %}
    {% endif %}
    {% set foreign = ditto.foreign_commits(undone.commits, decision.since, undone.leases) if decision.since is not none else [] %}
    {% if foreign and (decision.truncate or decision.restore is not none) %}
        {% set what = 'emptying the table' if decision.restore is none else 'going back to version ' ~ decision.restore %}
        {% do problems.append({
            'rule': settings.on_foreign_commits,
            'found': 'commits by others that ' ~ what ~ ' would undo:\n    - ' ~ ditto.describe_commits(foreign),
            'expected': 'nothing after version ' ~ decision.since ~ ' but executions of this model; nothing was changed',
            'fix': "put the change into the model's input, or let it be undone: on_foreign_commits='warn' in the config of the model"
        }) %}
    {% endif %}
    {{ return(problems) }}
{% endmacro %}


{% macro unreadable_problem(settings, ledger, version, earliest) %}
    {{ return({
        'rule': 'error',
        'found': 'version ' ~ version ~ ' of ' ~ settings.table ~ ', which this execution is applied to, cannot be read any more: '
            ~ 'its files were vacuumed, or it is older than delta.deletedFileRetentionDuration (backfill_window: '
            ~ settings.backfill_window.replace('interval ', '') ~ ')',
        'expected': 'a backfill from ' ~ (ditto.short_time(earliest) ~ ' on, the earliest that is possible' if earliest
            else 'the first execution on: no version before an execution can be read any more') ~ '; nothing was changed',
        'fix': ditto._beyond_retention_fix(settings, ledger, earliest)
    }) }}
{% endmacro %}


{% macro _beyond_retention_fix(settings, ledger, earliest) %}
    {% set live = ditto.execution_chain(ledger.outcomes).live %}
    {% set ways = [] %}
    {% if earliest %}
        {% do ways.append('backfill from there: ' ~ ditto.run_command(settings.model, earliest)) %}
    {% endif %}
    {% if settings.existing_rows != 'keep' %}
        {% do ways.append('replay everything from the first execution, which needs no version: '
            ~ ditto.run_command(settings.model, live[0].time)) %}
    {% endif %}
    {% do ways.append('if nothing was vacuumed, let Delta read older versions again: alter table ' ~ settings.table
        ~ " set tblproperties ('delta.logRetentionDuration' = 'interval 365 days', 'delta.deletedFileRetentionDuration' = 'interval 365 days')"
        ~ ', and raise backfill_window') %}
    {{ return(ways | join('\n            or ')) }}
{% endmacro %}


{% macro _times(times) %}
    {% set shown = [] %}
    {% for time in times[:10] %}
        {% do shown.append(ditto.short_time(time)) %}
    {% endfor %}
    {{ return(shown | join(', ') ~ (' and ' ~ (times | length - 10) ~ ' more' if times | length > 10 else '')) }}
{% endmacro %}


{# In the order in which they have to run; this execution is the last of them. #}
{% macro _replay_commands(settings, times) %}
    {% set commands = [] %}
    {% for time in times[:10] + [settings.execution_time] %}
        {% do commands.append(ditto.run_command(settings.model, time)) %}
    {% endfor %}
    {{ return('run them in order:\n            ' ~ commands | join('\n            ')) }}
{% endmacro %}
