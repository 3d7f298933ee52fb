{# What ditto_plan says, from the same decisions that a run makes. Pure. #}

{# One execution after the other: each is decided as if those before it had run. #}
{% macro announce(node, facts, times) %}
    {% set world = namespace(facts=facts) %}
    {% set executions = [] %}
    {% for time in times %}
        {% set settings = dict(ditto._planning_settings(node, time), slice_only=facts.get('slice_only', false)) %}
        {% do ditto._check_fast_metadata_cleaner(settings) if settings.units %}
        {% set known = ditto.unit_world(settings, world.facts) if settings.units else world.facts %}
        {% set decision = ditto._decision(settings, known) %}
        {% set problems = ditto._announced_problems(settings, known, decision) %}
        {% do executions.append({
            'execution_time': time, 'status': facts.get('statuses', {}).get(time), 'mode': decision.mode, 'reason': decision.reason,
            'restore_version': decision.restore, 'truncates': decision.truncate, 'becomes_stale': decision.become_stale,
            'unit': settings.identifier if settings.units else none, 'action': ditto._action(settings, decision),
            'allowed': problems | selectattr('rule', 'equalto', 'error') | list == [], 'problems': problems
        }) %}
        {% set world.facts = (ditto.after_unit if settings.units else ditto._after)(world.facts, settings, decision) %}
    {% endfor %}
    {% set stale = (world.facts.executions | selectattr('status', 'equalto', 'stale') if 'executions' in world.facts
        else ditto.execution_chain(world.facts.ledger.outcomes).stale) | map(attribute='time') | sort | list %}
    {% set commands = [] %}
    {% for time in (times + stale) | unique | sort %}
        {% do commands.append(ditto.run_command(node.name, time, variables='ditto_slice_only: true' if facts.get('slice_only') and time in times else '')) %}
    {% endfor %}
    {{ return({
        'model': node.name, 'pattern': node.config.materialized, 'relation': ditto.relation_key(node.schema, node.alias),
        'versioning': (ditto._planning_settings(node, times[0]).versioning or none) if times else none, 'dead_letters': ditto.announced_dead_letters(node),
        'version': none if 'executions' in facts else facts.head, 'executions': executions, 'filled_units': facts.get('filled', []),
        'replay_required': facts.get('required', []), 'stale_afterwards': stale, 'earliest_backfill': facts.earliest,
        'first_execution': (facts.ledger.outcomes | map(attribute='time') | sort | first) if facts.ledger.outcomes else none,
        'commands': commands
    }) }}
{% endmacro %}


{% macro _announced_problems(settings, facts, decision) %}
    {% set problems = [] %}
    {% for open in facts.ledger.unfinished if open.execution_time != settings.execution_time %}
        {% do problems.append(ditto.unfinished_problem(settings.model, open)) %}
    {% endfor %}
    {% if settings.pattern == 'stateful_merge' %}
        {% do problems.extend(ditto.stateful_merge_problems(settings, facts, decision) | rejectattr('rule', 'equalto', 'ignore')) %}
    {% elif settings.pattern == 'proxy_view' %}
        {% do problems.extend(ditto.proxy_view_problems(settings, facts)) %}
    {% elif settings.units %}
        {% do problems.extend(ditto.fast_metadata_cleaner_problems(settings, facts, decision)) %}
    {% endif %}
    {{ return(problems) }}
{% endmacro %}


{# The world as it will be once this execution has run. Its versions are only as high as they have to be. #}
{% macro _after(facts, settings, decision) %}
    {% set ledger = facts.ledger %}
    {% set version = (facts.head or 0) + 2 %}
    {% set outcome = {'generation': ledger.generation, 'event': 'committed', 'time': settings.execution_time,
        'version': version, 'base_version': version - 1, 'seq': ledger.seq + 2} %}
    {% set newest = [ledger.newest or settings.execution_time, settings.execution_time] | max %}
    {{ return(dict(facts, head=version, has_rows=true, chain=none, target=dict(facts.target, exists=true),
        view=dict(facts.get('view') or {}, exists=true),
        undone={'commits': [], 'leases': [], 'columns': none, 'readable': true, 'earliest': none},
        ledger=dict(ledger, seq=ledger.seq + 2, unfinished=[], own=false, outcomes=ledger.outcomes + [outcome],
            last=outcome, previous=settings.execution_time, newest=newest))) }}
{% endmacro %}


{% macro plan_text(plan) %}
    {% set lines = ['ditto: plan for ' ~ plan.model ~ ' (' ~ plan.pattern ~ '), table ' ~ plan.relation
        ~ (' at version ' ~ plan.version if plan.version is not none else ''), ''] %}
    {% for execution in plan.executions %}
        {% set undo = 'restore version ' ~ execution.restore_version ~ ', then ' if execution.restore_version is not none
            else ('empty the table, then ' if execution.truncates else '') %}
        {% do lines.append('  ' ~ '%-20s' % ditto.short_time(execution.execution_time) ~ '%-11s' % execution.mode
            ~ (execution.action or undo ~ 'write') ~ ': ' ~ execution.reason) %}
        {% if execution.becomes_stale %}
            {% do lines.append('  ' ~ ' ' * 31 ~ 'becomes stale: ' ~ ditto._times(execution.becomes_stale)) %}
        {% endif %}
        {% for problem in execution.problems %}
            {% do lines.append('  ' ~ ' ' * 31 ~ ('REFUSED: ' if problem.rule == 'error' else 'warning: ') ~ problem.found) %}
            {% do lines.append('  ' ~ ' ' * 31 ~ 'fix: ' ~ problem.fix) %}
        {% endfor %}
    {% endfor %}
    {% do lines.append('') %}
    {% if plan.versioning == 'history' %}
        {% do lines.append('  how far back: any execution, from the raw rows') %}
    {% elif plan.pattern == 'stateful_merge' and plan.first_execution %}
        {% do lines.append('  how far back: ' ~ (ditto.short_time(plan.earliest_backfill) if plan.earliest_backfill else 'no version is left to go back to')
            ~ '; or everything from the first execution, ' ~ ditto.short_time(plan.first_execution)) %}
    {% endif %}
    {% if plan.filled_units %}
        {% do lines.append('  the unit is the boundary: all that is known of ' ~ plan.filled_units | join(', ')
            ~ ' is replayed; for the slices of the range alone: slice_only') %}
    {% endif %}
    {% for column, units in plan.replay_required | groupby('column') %}
        {% do lines.append('  column ' ~ column ~ ' is required, and units lack it: ' ~ units | map(attribute='unit') | unique | join(', ')
            ~ '; replay from ' ~ units[0].first) %}
    {% endfor %}
    {% if plan.dead_letters %}
        {% do lines.append('  rows that match ' ~ plan.dead_letters.rules | join(', ') ~ ' go to ' ~ plan.dead_letters.table) %}
    {% endif %}
    {% set names = [] %}
    {% for model in plan.downstream %}
        {% do names.append(model.name ~ ' (' ~ model.materialized ~ ')') %}
    {% endfor %}
    {% do lines.append('  read by: ' ~ (names | join(', ') or 'no model')) %}
    {% if plan.stale_afterwards %}
        {% do lines.append('  stale afterwards, to be replayed: ' ~ ditto._times(plan.stale_afterwards)) %}
    {% endif %}
    {% do lines.append('  commands, in order:') %}
    {% for command in plan.commands %}
        {% do lines.append('    ' ~ command) %}
    {% endfor %}
    {{ return(lines | join('\n')) }}
{% endmacro %}
