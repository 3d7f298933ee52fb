{# The only place that sends SQL. `fetch` reads, `send` changes, `run_plan` does what a plan says, step by step. #}

{% macro fetch(sql) %}
    {% set rows = [] %}
    {% set table = run_query(sql) %}
    {% for row in (table.rows if table else []) %}
        {% do rows.append(row.dict()) %}
    {% endfor %}
    {{ return(rows) }}
{% endmacro %}


{% macro send(name, sql) %}
    {% call statement('ditto_' ~ name, fetch_result=true, auto_begin=false) %}
        {{- sql -}}
    {% endcall %}
    {{ return(load_result('ditto_' ~ name)) }}
{% endmacro %}


{% macro run_plan(plan) %}
    {% do log('ditto: ' ~ plan.subject ~ ' at ' ~ plan.execution_time ~ ': ' ~ plan.mode ~ ' (' ~ plan.reason ~ ')') %}
    {% set run = {'lease': none, 'outcome': none} %}
    {% for step in plan.steps %}
        {% if step.kind == 'intent' %}
            {% do run.update({'lease': ditto.claim(plan)}) %}
        {% elif step.kind == 'write' %}
            {% do ditto.guarded_write(plan, step, run.lease) %}
        {% elif step.kind == 'check' %}
            {% do ditto.refuse_problems(plan, step, run.lease) %}
        {% elif step.kind == 'renew' %}
            {% do ditto.renew_head(plan, step) %}
        {% elif step.kind == 'upkeep' %}
            {% do ditto.keep_properties(step) %}
        {% elif step.kind == 'outcome' %}
            {% do run.update({'outcome': ditto.record_outcome(plan, run.lease)}) %}
        {% elif step.kind == 'count' %}
            {% do plan.found.update({'dead_letters': ditto.fetch(step.sql)[0]['dead_letters'] | int}) %}
        {% elif step.kind == 'try' %}
            {% do ditto.try_step(plan, step) %}
        {% elif step.kind == 'pin' %}
            {% do ditto.send(step.name, step.sql.replace(step.stand_in, run.outcome.version | string)) %}
        {% else %}
            {% do ditto.send(step.name, step.sql) %}
        {% endif %}
    {% endfor %}
    {{ return(run.outcome) }}
{% endmacro %}


{# A write whose known failures come back as a word instead of a stack trace. Two runs that touch the same rows are
   ordered by Delta: the one that lost reads the table again and repeats its single, idempotent commit. #}
{% macro guarded_write(plan, step, lease=none) %}
    {% set max_attempts = 5 %}
    {% for attempt in range(1, max_attempts + 1) %}
        {# `again`: where the other run may have been one of the same execution, the repetition has to know of its rows. #}
        {% set sql = step.sql if attempt == 1 else step.again or step.sql %}
        {% set guarded = ditto.guarded_sql(sql, step.inserts and true or false, step.constraints and true or false) %}
        {% set verdict = ditto.verdict(ditto.send(step.name, guarded)) %}
        {% if verdict == 'refused' %}
            {% do ditto.explain_refusal(plan, step, lease) %}
            {{ return('') }}
        {% elif verdict != 'conflict' %}
            {{ return('') }}
        {% endif %}
        {% do log('ditto: ' ~ plan.subject ~ ': another run committed first, attempt ' ~ attempt ~ ' of ' ~ max_attempts) %}
    {% endfor %}
    {% do ditto.error(
        plan.subject, 'other runs of this model committed to ' ~ plan.table ~ ' during each of ' ~ max_attempts ~ ' attempts, the last of them: '
            ~ ditto.describe_newest(ditto.commits(plan.table, 1)),
        'few simultaneous runs of one model; nothing of this one was written',
        'run it again' ~ (': ' ~ ditto.run_command(plan.model, plan.execution_time) if plan.execution_time else '')
    ) %}
{% endmacro %}


{# A step whose failure leaves everything else as it should be: the error says how to do it again alone. #}
{% macro try_step(plan, step) %}
    {% if ditto.verdict(ditto.send(step.name, ditto.attempt_sql(step.sql))) == 'failed' %}
        {% do ditto.error(plan.subject, step.failure.found, step.failure.expected, step.failure.fix) %}
    {% endif %}
{% endmacro %}


{# RESTORE brings old properties back: they are set again where they differ, and only there, since an ALTER is a version. #}
{% macro keep_properties(step) %}
    {% for change in ditto.property_steps(step.settings, ditto.table_facts(step.settings.schema, step.settings.identifier), step.spec) %}
        {% do ditto.send(change.name, ditto.fenced_sql(ditto.immediate_sql(change.sql), step.fence, script=true)) %}
    {% endfor %}
{% endmacro %}


{# The word that a guarded statement returned, or none if it went through. #}
{% macro verdict(result) %}
    {% set table = result.table %}
    {% if table and 'ditto_verdict' in table.column_names and table.rows | length > 0 %}
        {{ return(table.rows[0]['ditto_verdict']) }}
    {% endif %}
    {{ return(none) }}
{% endmacro %}


{# The engine refused the rows. Say which, in our words; if they look right by now, let the engine speak. #}
{% macro explain_refusal(plan, step, lease=none) %}
    {% do ditto.refuse_problems(plan, step, lease) %}
    {% if lease and not plan.undo %}
        {# What follows may be taken after all, so nobody else may have taken over by then. #}
        {% do ditto.require_landed(plan, lease.token, ditto.give_up(plan, lease), 'took over this execution') %}
    {% endif %}
    {% do ditto.send(step.name, step.sql) %}
{% endmacro %}


{# A run that is refused before it changed the table gives its lease back, so that no other execution is stopped by it. #}
{% macro refuse_problems(plan, step, lease=none) %}
    {% set diagnoses = [step.diagnosis] if step.diagnosis else [] %}
    {% do diagnoses.append(ditto.constraint_diagnosis(step.constraints)) if step.constraints %}
    {% for diagnosis in diagnoses %}
        {% set problems = [] %}
        {% for row in ditto.fetch(diagnosis.sql) %}
            {% do problems.append(row['problem']) %}
        {% endfor %}
        {% if problems %}
            {% do ditto.send('undo', step.undo) if step.undo %}
            {% do ditto.give_up(plan, lease) if lease and not plan.undo %}
            {% do ditto.error(plan.subject, diagnosis.found ~ ':\n    - ' ~ problems | join('\n    - '), diagnosis.expected, diagnosis.fix) %}
        {% endif %}
    {% endfor %}
{% endmacro %}


{% macro run_command(model_name, execution_time, flags='', variables='') %}
    {% set moment = execution_time[:10] if execution_time[11:] == '00:00:00' else execution_time.replace(' ', 'T') %}
    {{ return("dbt run --select " ~ model_name ~ flags ~ " --vars '{execution_date: " ~ moment ~ (', ' ~ variables if variables else '') ~ "}'") }}
{% endmacro %}
