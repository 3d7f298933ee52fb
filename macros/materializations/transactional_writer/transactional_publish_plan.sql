{# The steps that write: the candidate and its audits, then the one commit that readers see. Pure. `work` comes from the plan. #}

{# What is audited is what is published: the rows are computed once, and rest in a table of their own in between. The run that took
   over has dropped it: then there is nothing to audit, and the outcome says who that was. One that is left of a run that is over goes
   first: where a dropped table came back, as the end of a statement that was at work, Delta cannot replace it. #}
{% macro _transactional_candidate_steps(work) %}
    {% set settings = work.settings %}
    {% if not settings.audits %}
        {{ return([]) }}
    {% endif %}
    {% set columns = [] %}
    {% for column in work.facts.increment %}
        {% do columns.append(dict(column, given=true)) %}
    {% endfor %}
    {% set rows = ditto.transactional_rows_sql(settings, columns, work.sql, work.tag) %}
    {% set create = ditto.immediate_sql(ditto.create_as_select_sql(settings.candidate, {'file_format': 'delta'}, rows, settings.candidate_comment, replace=true)) %}
    {% set write = ditto._transactional_write_step(work, 'candidate', create, ditto._transactional_stamped(work, work.sql)) %}
    {% set drop = [ditto._transactional_drop_step(work)] if work.facts.candidate.exists else [] %}
    {{ return(drop + [write, {'kind': 'check', 'name': 'audits', 'diagnosis': {
        'sql': ditto.fenced_sql(ditto.audits_sql(settings), work.fence, script=true),
        'found': 'audits that failed, with up to five rows of each',
        'expected': 'rows that pass every audit; nothing was published',
        'fix': 'look at the rows: select * from ' ~ settings.candidate
            ~ '\n            correct them, the SELECT or the audit, then ' ~ ditto.run_command(settings.model, settings.execution_time)
    }}]) }}
{% endmacro %}


{% macro _transactional_drop_step(work) %}
    {{ return(ditto._fenced_step('drop_candidate', 'drop table if exists ' ~ work.settings.candidate, work.fence)) }}
{% endmacro %}


{# One commit, whatever is written. #}
{% macro _transactional_publish_steps(work) %}
    {% set settings, layout = work.settings, work.layout %}
    {% set stamped = ditto._transactional_stamped(work, 'select * from ' ~ settings.candidate if settings.audits else work.sql) %}
    {% if work.anew %}
        {{ return(ditto._transactional_anew_steps(work, stamped)) }}
    {% elif settings.write == 'merge' %}
        {{ return([ditto._transactional_merge_step(work, stamped)]) }}
    {% endif %}
    {# The candidate was checked when it was made. #}
    {% set rows = stamped if settings.audits else ditto.transactional_rows_sql(settings, layout.columns, stamped, work.tag) %}
    {% set partition_by = settings.partition_by + work.facts.target.partition_by %}
    {% set replaced = ditto.own_rows_predicate(settings) if settings.write == 'append' else ditto.every_row(settings, layout.columns, partition_by) %}
    {{ return([ditto._transactional_write_step(work, settings.write, ditto.replace_where_sql(settings, layout.columns, rows, replaced, work.tag), stamped)]) }}
{% endmacro %}


{% macro _transactional_stamped(work, sql) %}
    {{ return(ditto.unit_rows_sql(work.settings, sql, work.settings.execution_time_column) if work.layout.stamped else sql) }}
{% endmacro %}


{# An earlier execution does not overwrite what a later one wrote. A replay also takes away what it has no more: only then is the
   whole table read for it. The fence stands around the MERGE and not in its source: without rows it would delete. #}
{% macro _transactional_merge_step(work, rows) %}
    {% set settings, columns = work.settings, work.layout.columns %}
    {% set name = 'target.' ~ ditto.quote(settings.execution_time_column) %}
    {% set moment = ditto.typed_literal(settings.execution_time, 'timestamp_ntz') %}
    {% set normal = dict(settings,
        merge_condition='(' ~ name ~ ' is null or ' ~ name ~ ' <= ' ~ moment ~ ')' ~ (' and (' ~ settings.merge_condition ~ ')' if settings.merge_condition else ''),
        update_columns=settings.update_columns + ([settings.execution_time_column] if settings.update_columns else [])) %}
    {% set replay = dict(normal, not_matched_by_source={'condition': name ~ ' <=> ' ~ moment, 'changes': none}) %}
    {% set replaying = ditto.merger_merge_sql(replay, columns, rows, work.tag) %}
    {% set merging = replaying if work.own_rows else ditto.merger_merge_sql(normal, columns, rows, work.tag, work.facts.key_range) %}
    {# Another run that committed first may have been one of this execution. #}
    {{ return(dict(ditto._transactional_write_step(work, 'merge', merging, rows), again=ditto.fenced_sql(replaying, work.fence, script=true))) }}
{% endmacro %}


{# The table as a whole with its rows, so that readers see the old one or the new one. #}
{% macro _transactional_anew_steps(work, rows) %}
    {% set settings, target, spec = work.settings, work.facts.target, work.layout.spec %}
    {% set steps = [] %}
    {% if target.exists and (target.type != 'table' or target.provider != 'delta') %}
        {% do steps.append(dict(ditto._fenced_step('drop_' ~ target.type, 'drop ' ~ target.type ~ ' if exists ' ~ settings.table, work.fence), drops=true)) %}
    {% endif %}
    {% set checked = ditto.transactional_rows_sql(settings, work.layout.columns, rows, work.tag) %}
    {% set kept = 'select * from (\n' ~ checked ~ '\n)\nwhere not ' ~ ditto._deleted(settings) if settings.soft_delete and settings.write == 'merge' else checked %}
    {% set made = ditto.create_as_select_sql(settings.table, spec, kept, spec.comment, {'ditto.written_by': work.tag}, replace=true) %}
    {% do steps.append(ditto._transactional_write_step(work, 'replace_table', ditto.immediate_sql(made), rows)) %}
    {{ return(steps + ditto.column_comment_steps(settings, spec, work.fence)) }}
{% endmacro %}


{# `rows`: what is asked about when the engine refuses them. #}
{% macro _transactional_write_step(work, name, sql, rows) %}
    {% set settings = work.settings %}
    {% set known = [] %}
    {% for key, value in work.layout.spec.properties.items() %}
        {% do known.append({'key': key, 'value': value}) %}
    {% endfor %}
    {{ return({
        'kind': 'write', 'name': name,
        'sql': ditto.fenced_sql(sql, work.fence, script=true),
        'diagnosis': ditto.merger_key_check(settings, rows).diagnosis if settings.unique_key else none,
        'constraints': {
            'table': settings.table, 'known': known, 'exists': not work.anew,
            'rows': ditto.constrained_rows_sql(settings, work.layout.columns, rows),
            'fix': 'correct the rows or the SELECT; or change the contract and make the table anew: '
                ~ ditto.run_command(settings.model, settings.execution_time, ' --full-refresh')
        }
    }) }}
{% endmacro %}
