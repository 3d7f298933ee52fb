{# How the rows of a dead letter get into the table of its model. Pure. #}

{# `merge`: like a late run of their execution. `insert`: besides the other rows of their execution. `replay`: only the execution
   itself can take them in, since its result depends on what was applied before, on audits, or on the keys of a whole table; or since
   several executions may own one part of the table, and a row could be a letter of each of them. #}
{% macro retry_kind(settings) %}
    {% if settings.pattern in ('stateful_merge', 'proxy_view') or settings.audits or settings.file_format != 'delta'
        or (settings.write == 'overwrite' and settings.unique_key) or settings.overwrite == 'partitions' or settings.predicate %}
        {{ return('replay') }}
    {% elif settings.pattern in ('merger', 'keyed_idempotency', 'dedup_insert') or settings.write == 'merge' %}
        {{ return('merge') }}
    {% endif %}
    {{ return('insert') }}
{% endmacro %}


{# A record that the reader of a file could not read has no columns for the rules: it fails again, until its file is corrected. #}
{% macro rules_for(dead, record_type) %}
    {{ return(dict(dead, corrupt=true, rules=[{'name': 'corrupt_record', 'when': 'true'}]) if record_type == ditto.corrupt_record_type() else dead) }}
{% endmacro %}


{# Why the letters of an execution have to wait, or none. `status`: of the execution in the ledger. `same_run`: were they found by the
   run whose rows are in the table? `last`: the execution that was applied last. `replaced`: has a run begun to replace them? Had it
   finished, they would be gone; its rows may be in the table all the same. #}
{% macro retry_obstacle(settings, target, status, same_run, last, replaced=false) %}
    {% if replaced %}
        {{ return('a run that replaces them did not finish') }}
    {% endif %}
    {# Letters that are replaced by file are of the rows in the table, whichever execution loaded it. #}
    {% if status != 'live' and not settings.letter_columns %}
        {{ return('the execution is ' ~ (status or 'not recorded')) }}
    {% elif not same_run %}
        {{ return('another run of the execution wrote what is in the table') }}
    {% elif not target.exists and ditto.retry_kind(settings) != 'replay' %}
        {{ return('there is no table ' ~ settings.table) }}
    {% elif ditto.replaces_all(settings, 'retry') and settings.execution_time != last %}
        {{ return('the table holds execution ' ~ (ditto.short_time(last) if last else 'none') ~ ' only') }}
    {% endif %}
    {{ return(none) }}
{% endmacro %}


{# What would be refused, asked before anything changes. `rows`: those that pass now; `changed`: a SELECT of records that would not
   come back as they were. #}
{% macro retry_checks(settings, columns, rows, changed) %}
    {% set checks = [{'sql': changed, 'found': 'records that cannot be read again as they were; the first of them',
        'expected': 'values that JSON can hold; nothing was changed'}] %}
    {% if settings.unique_key and settings.pattern != 'dedup_insert' %}
        {% do checks.append(ditto.merger_key_check(settings, rows).diagnosis) %}
    {% elif settings.unique_key %}
        {% do checks.append(ditto.dedup_insert_check(settings, columns, rows).diagnosis) %}
    {% elif settings.overwrite in ('predicate', 'delete_insert') %}
        {% set predicate = ditto.own_predicate(settings, columns) %}
        {% do checks.append({'sql': ditto.rows_outside_sql(rows, predicate), 'expected': 'only rows where ' ~ predicate ~ '; nothing was changed',
            'found': 'rows that their execution does not own; the first of them'}) %}
    {% endif %}
    {% set steps = [] %}
    {% for check in checks %}
        {% do steps.append({'diagnosis': dict(check, found='dead letters of execution ' ~ settings.execution_time ~ ' that pass now: ' ~ check.found,
            fix='correct the source or the SELECT, then ' ~ ditto.run_command(settings.model, settings.execution_time))}) %}
    {% endfor %}
    {{ return(steps) }}
{% endmacro %}


{# The one commit that takes rows in. Sent again it changes nothing more. `target`: the facts of the table; `known`: the columns of
   the records. #}
{% macro retry_write_step(settings, target, known, sql, retry_id, fence) %}
    {% set own = '_ditto_execution_time' if settings.units else settings.execution_time_column or '' %}
    {% set stamp = own if own | lower in ditto.lower_names(target.columns) else none %}
    {% set kind = ditto.retry_kind(settings) %}
    {# Only a MERGE can follow a row that says it is deleted. #}
    {% set kept = 'select *\nfrom (\n' ~ sql ~ '\n)\nwhere not ' ~ ditto._deleted(settings) if kind == 'insert' and settings.soft_delete else sql %}
    {% set rows = ditto.unit_rows_sql(settings, kept, stamp) if stamp else kept %}
    {% set names = ditto.lower_names(known) + ([stamp | lower] if stamp else []) %}
    {% set columns = [] %}
    {% for column in target.columns %}
        {% do columns.append({'name': column.name, 'type': column.type, 'given': column.name | lower in names}) %}
    {% endfor %}
    {% set tag = 'ditto:retry|' ~ retry_id %}
    {% if kind == 'insert' %}
        {% set write = ditto.insert_once_sql(settings.table, columns, rows, retry_id) %}
    {% elif settings.pattern == 'dedup_insert' %}
        {% set write = ditto.dedup_insert_sql(dict(settings, invocation_id=retry_id), columns, rows, tag) %}
    {% elif settings.write == 'merge' %}
        {% set work = {'settings': settings, 'layout': {'columns': columns, 'spec': {'properties': {}}}, 'facts': {'key_range': []},
            'own_rows': false, 'anew': false, 'tag': tag, 'fence': none} %}
        {% set write = ditto._transactional_merge_step(work, rows).sql %}
    {% else %}
        {# A few rows are no full picture: what they lack stays. #}
        {% set write = ditto.merger_merge_sql(dict(settings, not_matched_by_source=none), columns, rows, tag) %}
    {% endif %}
    {{ return({
        'kind': 'write', 'name': 'take_in', 'inserts': true, 'sql': ditto.fenced_sql(write, fence, script=true),
        'constraints': {'table': settings.table, 'known': [], 'exists': true, 'rows': ditto.constrained_rows_sql({}, columns, rows),
            'fix': 'correct the rows at their source and replay the execution: ' ~ ditto.run_command(settings.model, settings.execution_time)}
    }) }}
{% endmacro %}


{# `result`: {tried, in_table, passing, failed, dead, low, high}, `waiting`: [{time, letters, reason}]. #}
{% macro retry_text(settings, dead, result, waiting, passing, left) %}
    {% set attempts = ' (attempt ' ~ result.low ~ (' to ' ~ result.high if result.high != result.low else '') ~ ' of ' ~ dead.max_retries ~ ')' %}
    {% set kept = result.in_table ~ (' is' if result.in_table == 1 else ' are') ~ ' in the table' if not passing
        else result.passing ~ (' passes now' if result.passing == 1 else ' pass now') %}
    {% set lines = ['ditto: dead letters of ' ~ settings.relation ~ ': ' ~ result.tried ~ ' tried again: ' ~ kept ~ ', '
        ~ result.failed ~ ' failed again' ~ (attempts if result.failed else '') ~ ', ' ~ result.dead ~ ' dead'] %}
    {% for each in waiting %}
        {# A model without rules does not look after letters that it once had. #}
        {% do lines.append('       ' ~ each.letters ~ ' of execution ' ~ ditto.short_time(each.time) ~ ' left alone, ' ~ each.reason ~ ': '
            ~ ditto.run_command(settings.model, each.time) ~ ('' if settings.dead_letters else
            '; then, since the model has no rules: delete from ' ~ dead.table ~ ' where ' ~ ditto.own_dead_letters({'execution_time': each.time}))) %}
    {% endfor %}
    {% for time in passing %}
        {% do lines.append('       ' ~ ('only the execution itself can take them in: ' if loop.first else ' ' * 45) ~ ditto.run_command(settings.model, time)) %}
    {% endfor %}
    {% if passing and settings.pattern == 'stateful_merge' %}
        {% do lines.append('       a backfill from the earliest on; what becomes stale has to be replayed after it: dbt run-operation ditto_plan --args \'{model: '
            ~ settings.model ~ ', execution_date: ' ~ ditto.short_time(passing[0]) ~ "}'") %}
    {% endif %}
    {% if left %}
        {% do lines.append('       ' ~ left ~ ' DEAD left alone; to try them too: include_dead: true') %}
    {% endif %}
    {{ return(lines | join('\n')) }}
{% endmacro %}
