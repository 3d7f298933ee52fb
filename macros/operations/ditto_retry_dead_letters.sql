{# Try the dead letters of a model again, by the rules that it has now:
   dbt run-operation ditto_retry_dead_letters --args '{model: orders}'
   dbt run-operation ditto_retry_dead_letters --args '{model: orders, execution_date: 2024-10-07, include_dead: true}'
   What passes is marked, written to the table, then removed from the dead letters. Killed anywhere and run again, it completes:
   what is marked is written once. #}
{% macro ditto_retry_dead_letters(model, execution_date=none, include_dead=false) %}
    {% set node = ditto.find_model(model) %}
    {% if include_dead is not boolean %}
        {% do ditto.error('ditto_retry_dead_letters of ' ~ model, 'include_dead: ' ~ include_dead, 'true or false',
            "--args '{model: " ~ model ~ ", include_dead: true}'") %}
    {% endif %}
    {% set time = none if execution_date is none else ditto.parse_execution_time(execution_date) %}
    {% set work = ditto.begin_operation(node, 'retry_dead_letters') %}
    {% set dead = work.settings.dead_letters or ditto.dead_letters_place(node) %}
    {% set there = ditto.table_facts(node.schema, dead.identifier) %}
    {% do ditto.refuse_foreign_dead_letters(work.plan.subject, dead, there) %}
    {% set tried = ditto._unfinished_invocations(work) %}
    {% set wanted = ['FAILED', 'DEAD'] if include_dead else ['FAILED'] %}
    {% do work.update({
        'node': node, 'dead': dead, 'tried': tried, 'candidates': ditto.retry_candidates(wanted, tried),
        'statuses': ditto._statuses(node), 'applied_by': {}
    }) %}
    {% for row in ditto.fetch(ditto.applied_by_sql(ditto.ledger_table(), work.settings.relation)) %}
        {% do work.applied_by.update({row['time']: row['invocation_id']}) %}
    {% endfor %}
    {% set jobs = [] %}
    {% for group in (ditto.fetch(ditto.retry_groups_sql(dead, wanted, time, tried)) if there.exists else []) %}
        {% do jobs.append(ditto._retry_job(work, group, loop.index)) %}
    {% endfor %}
    {% set result = {'tried': 0, 'in_table': 0, 'passing': 0, 'failed': 0, 'dead': 0, 'low': 0, 'high': 0} %}
    {% if jobs | rejectattr('obstacle') | list or work.ledger.unfinished %}
        {% set lease = ditto.claim(work.plan) %}
        {% set fence = ditto.fence_condition(ditto.ledger_table(), work.settings.relation, lease.token) %}
        {% for job in jobs if not job.obstacle %}
            {% do ditto._retry(work, job, lease, fence, result) %}
        {% endfor %}
        {% do ditto._count_retried(work, result, there.exists) %}
        {% do ditto.finish_operation(work.plan, lease, result) %}
    {% endif %}
    {% set waiting, passing = [], [] %}
    {% for job in jobs %}
        {% do waiting.append({'time': job.settings.execution_time, 'letters': job.letters, 'reason': job.obstacle}) if job.obstacle %}
        {% do passing.append(job.settings.execution_time) if job.passing %}
    {% endfor %}
    {% set count = 'select count(*) as `dead` from ' ~ dead.table ~ " where `status` = 'DEAD'" %}
    {% set left = ditto.fetch(count)[0]['dead'] | int - result.dead if there.exists and not include_dead else 0 %}
    {% do print(ditto.retry_text(work.settings, dead, result, waiting, passing | unique | list, left)) %}
{% endmacro %}


{% macro _unfinished_invocations(work) %}
    {% set invocations = [] %}
    {% for row in (ditto.fetch(ditto.unfinished_invocations_sql(ditto.ledger_table(), work.settings.relation)) if work.ledger.unfinished else []) %}
        {% do invocations.append(row['invocation_id']) %}
    {% endfor %}
    {{ return(invocations) }}
{% endmacro %}


{# A group of letters, and how it gets into the table: everything that can be refused is refused here, before anything changes.
   `letter_columns` are those of a pattern that replaces its letters by something else than the execution, such as a file. #}
{% macro _retry_job(work, group, number) %}
    {% set settings = ditto._retry_settings(work.node, group['time']) %}
    {% set target = ditto.table_facts(settings.schema, settings.identifier) %}
    {% set kind = ditto.retry_kind(settings) %}
    {% for problem in (ditto._unit_problems(settings, dict(work.facts, target=target), false) if settings.units else []) if problem.rule == 'error' %}
        {% do ditto.error(work.plan.subject, 'dead letters of execution ' ~ group['time'] ~ ', and ' ~ problem.found, problem.expected, problem.fix) %}
    {% endfor %}
    {% set last = work.ledger.last.execution_time if work.ledger.last else none %}
    {% set fresh = ditto.own_dead_letters(settings) ~ ' and `invocation_id` = ' ~ ditto.literal(group['found_by'])
        ~ ' and `record_type` = ' ~ ditto.literal(group['record_type']) ~ ' and `replaced_by` is null and ' ~ work.candidates %}
    {% set job = {
        'dead': ditto.rules_for(work.dead, group['record_type']), 'settings': settings, 'target': target, 'kind': kind, 'letters': group['letters'] | int, 'record_type': group['record_type'], 'fresh': fresh,
        'moving': group['moving'], 'retry_id': group['moving'] or settings.invocation_id ~ ':' ~ number, 'passing': 0,
        'obstacle': ditto.retry_obstacle(settings, target, work.statuses.get(group['time']),
            settings.letter_columns or work.applied_by.get(group['time']) == group['found_by'], last, group['replaced'])
            or ('only a replay can take them in' if kind == 'replay' and group['moving'] else none)
    } %}
    {% if not job.obstacle and not job.moving %}
        {% set judged = 'select 1 from (\n' ~ ditto.judged_rows_sql(job.dead, ditto.stored_rows_sql(job.dead, job.record_type, fresh)) ~ '\n) limit 0' %}
        {% do job.update({'obstacle': 'the rules ask for columns that these records do not have'}) if ditto.fetch(ditto.caught_sql(judged, 'failed', '42703')) %}
    {% endif %}
    {% if not job.obstacle and not job.moving %}
        {% set rows = ditto.living_rows_sql(job.dead, ditto.stored_rows_sql(job.dead, job.record_type, fresh)) %}
        {% if kind == 'replay' %}
            {% do job.update({'passing': ditto.fetch('select count(*) as `letters` from (\n' ~ rows ~ '\n)')[0]['letters'] | int}) %}
        {% else %}
            {% set columns = ditto.as_given(ditto.query_columns(rows)) %}
            {% for check in ditto.retry_checks(settings, columns, rows, ditto.changed_records_sql(job.dead, job.record_type, fresh)) %}
                {% do ditto.refuse_problems(work.plan, check) %}
            {% endfor %}
        {% endif %}
    {% endif %}
    {{ return(job) }}
{% endmacro %}


{% macro _retry_settings(node, execution_time) %}
    {% set own = {
        'dedup_insert': ditto.dedup_insert_settings, 'file_ingest': ditto.file_ingest_settings, 'insert_overwrite': ditto.insert_overwrite_settings,
        'keyed_idempotency': ditto.keyed_idempotency_settings, 'merger': ditto.merger_settings,
        'transactional_writer': ditto.transactional_writer_settings
    }.get(node.config.materialized) %}
    {{ return(own(node, execution_time=execution_time) if own else ditto._planning_settings(node, execution_time)) }}
{% endmacro %}


{# Mark what passes, write it, remove it. A group that was marked by a retry that died is only written and removed. #}
{% macro _retry(work, job, lease, fence, result) %}
    {% set dead, plan = job.dead, work.plan %}
    {% set moving = ditto.moving_letters(job.retry_id) %}
    {% if not job.moving %}
        {% set judge = ditto.judge_again_sql(dead, job.record_type, job.fresh, job.retry_id, job.kind != 'replay') %}
        {% do ditto.guarded_write(plan, {'name': 'judge', 'sql': ditto.fenced_sql(judge, fence, script=true)}, lease) %}
    {% endif %}
    {% do result.update({'passing': result.passing + job.passing}) %}
    {% set count = ditto.fetch('select count(*) as `letters` from ' ~ dead.table ~ ' where ' ~ moving)[0]['letters'] | int if job.kind != 'replay' else 0 %}
    {% if count > 0 %}
        {% set rows = ditto.stored_rows_sql(dead, job.record_type, moving, more=job.settings.letter_columns or {}) %}
        {% set step = ditto.retry_write_step(job.settings, job.target, ditto.query_columns(rows), rows, job.retry_id, fence) %}
        {% do step.update({'undo': ditto.fenced_sql(ditto.put_back_sql(dead, job.retry_id), fence, script=true)}) %}
        {% do ditto.guarded_write(plan, step, lease) %}
        {% do ditto.guarded_write(plan, {'name': 'remove', 'sql': ditto.fenced_sql('delete from ' ~ dead.table ~ ' where ' ~ moving, fence, script=true)}, lease) %}
        {% do result.update({'in_table': result.in_table + count}) %}
    {% endif %}
{% endmacro %}


{% macro _count_retried(work, result, exists) %}
    {% for row in (ditto.fetch(ditto.retried_sql(work.dead, work.tried + [work.settings.invocation_id])) if exists else []) %}
        {% do result.update({row['status'] | lower: row['letters'] | int}) %}
        {% do result.update({'low': row['low'], 'high': row['high']}) if row['status'] == 'FAILED' %}
    {% endfor %}
    {% do result.update({'tried': result.in_table + result.passing + result.failed + result.dead}) %}
{% endmacro %}
