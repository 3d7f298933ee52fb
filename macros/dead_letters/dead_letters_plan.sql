{# The steps that keep the dead letters of an execution. Pure. #}

{# The steps of a run, with those of its dead letters: after the checks and the intent, since they are a write too, and before the
   rows, so that a row is never in neither table; for the same reason those that the execution had before go after the rows. `steps`:
   of a plan that ends with an outcome, or nothing is written. #}
{% macro with_dead_letters(settings, facts, mode, steps) %}
    {% set dead = settings.dead_letters %}
    {% set kinds = steps | map(attribute='kind') | list %}
    {% if not dead or dead.own_steps or 'outcome' not in kinds %}
        {{ return(steps) }}
    {% endif %}
    {% set token = (facts.ledger.token or 0) + 1 %}
    {% set fence = ditto.fence_condition(settings.ledger_table, settings.relation, token) if 'intent' in kinds %}
    {% set end = kinds.index('outcome') %}
    {% set place = namespace(start=0) %}
    {% for kind in kinds[:end] if kind in ('intent', 'check') %}
        {% set place.start = kinds.index(kind, place.start) + 1 %}
    {% endfor %}
    {% set own, replaced = ditto.own_dead_letters(settings), '`replaced_by` = ' ~ ditto.literal(ditto.replacing(settings)) %}
    {% set gone = 'not ' ~ own ~ ' or ' ~ replaced if ditto.replaces_all(settings, mode.mode) else own ~ ' and ' ~ replaced %}
    {{ return(steps[:place.start] + ditto.dead_letters_steps(settings, facts, ditto.tag(dict(settings, mode=mode.mode)), fence)
        + steps[place.start:end] + ditto.forget_letters_steps(settings, gone, fence) + ditto.count_dead_letters_steps(settings) + steps[end:]) }}
{% endmacro %}


{# Makes a missing table, then writes the dead letters of this execution, or with `scope.predicate` others. Those that were there before
   stay, marked: they may be of rows that only this run will have written. One commit, which replaces itself if it is sent again.
   `scope.more`: a SELECT of further letters. #}
{% macro dead_letters_steps(settings, facts, tag, fence=none, scope={}) %}
    {% set dead = settings.dead_letters %}
    {% set there = facts.dead_letters or ditto.no_table_facts() %}
    {% do ditto.refuse_foreign_dead_letters(settings.subject, dead, there) %}
    {% set predicate = scope.predicate or ditto.own_dead_letters(settings) %}
    {% set parts = [ditto.dead_rows_sql(settings, facts.increment, dead.raw_sql, scope), scope.more, ditto.kept_letters_sql(settings, predicate)] %}
    {% set write = ditto.replace_where_sql(dead, ditto.as_given(ditto.dead_letters_columns()), parts | select | join('\nunion all\n'), predicate, tag) %}
    {% set make = {'kind': 'sql', 'name': 'dead_letters_table', 'sql': ditto.create_if_missing_sql(ditto.dead_letters_create_sql(dead))} %}
    {{ return(([] if there.exists else [make])
        + [{'kind': 'write', 'name': 'dead_letters', 'sql': ditto.fenced_sql(write, fence, script=true)}]) }}
{% endmacro %}


{% macro own_dead_letters(settings) %}
    {{ return(ditto.partition_predicate([{'name': 'execution_time', 'type': 'timestamp_ntz', 'value': settings.execution_time}])) }}
{% endmacro %}


{# Is what this run writes all that the table has? Then the dead letters of other executions belong to rows that are gone. #}
{% macro replaces_all(settings, mode) %}
    {{ return((mode == 'full_refresh' and settings.pattern != 'proxy_view') or settings.overwrite == 'table'
        or settings.write == 'overwrite' or settings.granularity == 'full') }}
{% endmacro %}


{# By what the letters are marked that a run replaces. Not by the execution: of two runs at once each removes what it found, and not what
   the other one has just added. In file_ingest by the load, which is how a later run knows what came through. #}
{% macro replacing(settings) %}
    {{ return(settings.load or settings.invocation_id) }}
{% endmacro %}


{# Once the rows are written, and not before: an execution that is given up half-way leaves the table as it was. #}
{% macro forget_letters_steps(settings, predicate, fence=none) %}
    {% set sql = 'delete from ' ~ settings.dead_letters.table ~ ' where ' ~ predicate %}
    {{ return([{'kind': 'write', 'name': 'forget_dead_letters', 'sql': ditto.fenced_sql(sql, fence, script=true)}]) }}
{% endmacro %}


{# For the ledger and for dbt's log line. #}
{% macro count_dead_letters_steps(settings, predicate=none) %}
    {{ return([{'kind': 'count', 'name': 'count_dead_letters', 'sql': 'select count(*) as `dead_letters` from ' ~ settings.dead_letters.table
        ~ ' where ' ~ (predicate or ditto.own_dead_letters(settings))}]) }}
{% endmacro %}


{% macro refuse_foreign_dead_letters(subject, dead, there) %}
    {% if there.exists and (there.type != 'table' or there.provider != 'delta' or there.comment != dead.comment) %}
        {% do ditto.error(subject, 'a ' ~ there.type ~ ' under the name ' ~ dead.table ~ ', which ditto did not make',
            'nothing, or the dead letters of this model', 'rename or drop it') %}
    {% endif %}
{% endmacro %}


{# Columns as the builders take them: a SELECT that has them all. #}
{% macro as_given(columns) %}
    {% set given = [] %}
    {% for column in columns %}{% do given.append(dict(column, given=true)) %}{% endfor %}
    {{ return(given) }}
{% endmacro %}
