{# Facts in, plan out. Pure. #}
{% macro file_ingest_plan(node, settings, facts, compiled_code) %}
    {% set sorted = facts.sorted %}
    {% set mode = ditto.plan_mode(settings, facts) %}
    {% set anew = mode.mode == 'full_refresh' %}
    {% do ditto._refuse_files(settings, sorted, facts.target.exists) %}
    {% do ditto.require_columns(settings, 'file_path_column', [settings.file_path_column], facts.increment) %}
    {% set leased = (sorted.rows or sorted.lost or anew or mode.mode == 'takeover') and true or false %}
    {% set fence = ditto.fence_condition(settings.ledger_table, settings.relation, (facts.ledger.token or 0) + 1) if leased %}
    {% set made = ditto._file_ingest_table(node, settings, facts, anew, fence) %}
    {% if settings.dry %}
        {{ return(ditto.new_plan(settings, facts, mode, made.steps if not facts.target.exists else [])) }}
    {% endif %}
    {% set work = {'settings': settings, 'facts': facts, 'sorted': sorted, 'columns': made.columns, 'fence': fence, 'tag': ditto.tag(dict(settings, mode=mode.mode)),
        'sql': ditto.ingest_sql(settings, compiled_code, sorted.load)} %}
    {# An increment that will be refused must not empty the table first. #}
    {% set steps = [{'kind': 'check', 'name': 'check', 'diagnosis': ditto._no_file_diagnosis(work)}] if anew and sorted.load else [] %}
    {% do steps.append({'kind': 'intent', 'name': 'intent'}) if leased %}
    {# Before the tracker knows that they landed: after that, no run would ask. #}
    {% do steps.extend(ditto.forget_letters_steps(settings, ditto.among('`replaced_by`', sorted.landed), fence))
        if sorted.landed and settings.dead_letters and facts.dead_letters.exists %}
    {% if sorted.rows or sorted.lost or anew %}
        {# After the intent, before the table is made: no crash may leave an empty table of which the tracker says that files are in it. #}
        {% do steps.append({'kind': 'write', 'name': 'track',
            'sql': ditto.fenced_sql(ditto.track_sql(settings, sorted.rows, anew or not facts.target.exists), fence, script=true)}) %}
    {% endif %}
    {% do steps.extend(made.steps) %}
    {% do steps.extend(ditto._load_steps(work)) if sorted.load or sorted.replaced %}
    {% do steps.extend(ditto.forget_letters_steps(settings, 'not coalesce(' ~ ditto.own_load(settings, 'load') ~ ', false)', fence)) if (anew or not facts.target.exists) and settings.dead_letters and facts.dead_letters.exists %}
    {% do steps.append({'kind': 'outcome', 'name': 'outcome'}) %}
    {{ return(dict(ditto.new_plan(settings, facts, mode, steps), notes=ditto._file_notes(sorted), details={
        'files_loaded': sorted.load | length, 'files_failed': sorted.failed | length, 'files_skipped': sorted.duplicates
    })) }}
{% endmacro %}


{# The table as it will be. Besides the columns of the SELECT each row has the load that brought it. #}
{% macro _file_ingest_table(node, settings, facts, anew, fence) %}
    {% set load = {'name': '_ditto_load', 'type': 'string', 'not_null': false, 'comment': ''} %}
    {% set spec = ditto.table_spec(node, settings, facts.increment, facts.contract, {'delta.enableDeletionVectors': 'true'}) %}
    {% do spec.update({'columns': spec.columns + [load]}) %}
    {# A table of another pattern: its rows are of no file, and stay. #}
    {% set lacks = [] %}
    {% for column in facts.increment + [load] if facts.target.exists and not anew and column.name | lower in (settings.file_path_column | lower, '_ditto_load')
        and column.name | lower not in ditto.lower_names(facts.target.columns) %}
        {% do lacks.append(column) %}
    {% endfor %}
    {% if '_ditto_load' in ditto.lower_names(facts.target.columns) and lacks %}
        {% do ditto.error(settings.subject, 'file_path_column: ' ~ settings.file_path_column ~ ', which ' ~ settings.table ~ ' does not have',
            'the column that its rows know their files by', 'change file_path_column back, or make the table anew: '
            ~ ditto.run_command(settings.model, settings.execution_time, ' --full-refresh')) %}
    {% endif %}
    {% set target = dict(facts.target, columns=facts.target.columns + lacks) %}
    {% set made = ditto.plan_table(settings, dict(facts, increment=facts.increment + [load], target=target), spec, anew, fence) %}
    {{ return(dict(made, steps=(ditto.add_columns_steps(settings, lacks, facts.target) if lacks else []) + made.steps)) }}
{% endmacro %}


{# The rows of the files that are loaded again go, and all rows of this load come, in one commit. The dead letters come before them and
   go after them: a row is never in neither table. #}
{% macro _load_steps(work) %}
    {% set settings, sorted, fence = work.settings, work.sorted, work.fence %}
    {% set dead = settings.dead_letters %}
    {% set path = ditto.quote(settings.file_path_column) %}
    {% set steps = [] %}
    {% if dead %}
        {% do steps.extend(ditto.dead_letters_steps(settings, work.facts, work.tag, fence, {
            'predicate': ditto._replaced(ditto.own_load(settings, 'load'), '`file_path`', sorted.replaced),
            'file_path': path, 'load': ditto.literal(settings.load),
            'more': ditto.corrupt_letters_sql(settings, sorted.load) if settings.files.keeps_corrupt and sorted.load else none
        })) %}
    {% endif %}
    {% set predicate = ditto._replaced(ditto.own_load(settings, '_ditto_load'), path, sorted.replaced) %}
    {% do steps.append({
        'kind': 'write', 'name': 'load', 'inserts': true,
        'sql': ditto.fenced_sql(ditto.replace_where_sql(settings, work.columns, ditto.ingest_rows_sql(settings, work.sql), predicate, work.tag), fence, script=true),
        'diagnosis': ditto._no_file_diagnosis(work),
        'constraints': {
            'table': settings.table, 'known': [], 'exists': true, 'rows': ditto.constrained_rows_sql({}, work.columns, ditto.ingest_rows_sql(settings, work.sql)),
            'fix': 'correct or remove the files that these rows came from, or the contract; then '
                ~ ditto.run_command(settings.model, settings.execution_time)
        }
    }) %}
    {% do steps.extend(ditto.forget_letters_steps(settings, ditto.among('`replaced_by`', [ditto.replacing(settings)]), fence)) if dead %}
    {% do steps.append({'kind': 'write', 'name': 'track_loaded', 'sql': ditto.fenced_sql(ditto.track_loaded_sql(settings), fence, script=true)}) %}
    {{ return(steps + (ditto.count_dead_letters_steps(settings, ditto.own_load(settings, 'load')) if dead else [])) }}
{% endmacro %}


{% macro _no_file_diagnosis(work) %}
    {{ return({
        'sql': ditto.rows_of_no_file_sql(work.settings, work.sql, work.sorted.load),
        'found': 'rows that belong to no file of this load; the first of them',
        'expected': 'in ' ~ work.settings.file_path_column ~ ' of each row the path that the file has in ditto.incoming(); nothing was written',
        'fix': 'select the column as it is, without a join that can lose it or an expression that changes it'
    }) }}
{% endmacro %}


{% macro own_load(settings, column) %}
    {{ return(ditto.partition_predicate([{'name': column, 'type': 'string', 'value': settings.load}])) }}
{% endmacro %}


{% macro _replaced(own, path, paths) %}
    {{ return(own ~ (' or ' ~ ditto.among(path, paths) if paths else '')) }}
{% endmacro %}


{% macro _refuse_files(settings, sorted, table_exists) %}
    {% if sorted.refused %}
        {% do ditto.error(settings.subject, 'files with one content (on_duplicate_content: error):\n    - ' ~ sorted.refused[:10] | join('\n    - ')
            ~ ('\n    - and ' ~ (sorted.refused | length - 10) ~ ' more' if sorted.refused | length > 10 else ''),
            'each content once; nothing was loaded', "remove the copies, or set on_duplicate_content='skip' or 'load' in the config of the model") %}
    {% elif sorted.lost and not var('ditto_forget_files', false) %}
        {% do ditto.error(settings.subject, ('--full-refresh' if table_exists else 'no table ' ~ settings.table) ~ ', and ' ~ sorted.lost | length ~ ' loaded files that are not in ' ~ settings.files.path
            ~ ' any more:\n    - ' ~ sorted.lost[:10] | join('\n    - '), 'every file whose rows the table has: they could not be loaded again',
            'bring the files back; or let their rows go: '
            ~ ditto.run_command(settings.model, settings.execution_time, ' --full-refresh', 'ditto_forget_files: true')) %}
    {% endif %}
{% endmacro %}


{# For dbt's log line. #}
{% macro _file_notes(sorted) %}
    {% set notes = [sorted.load | length ~ (' file' if sorted.load | length == 1 else ' files')] %}
    {% for word, number in [['skipped', sorted.duplicates], ['failed', sorted.failed | length], ['waiting', sorted.waiting]] if number > 0 %}
        {% do notes.append(number ~ ' ' ~ word) %}
    {% endfor %}
    {{ return(notes) }}
{% endmacro %}
