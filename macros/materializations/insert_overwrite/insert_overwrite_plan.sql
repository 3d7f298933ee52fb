{# Facts in, plan out. Pure. #}
{% macro insert_overwrite_plan(node, settings, facts, sql) %}
    {% do ditto.refuse_unfinished(settings, facts.ledger) %}
    {% set mode = ditto.plan_mode(settings, facts) %}
    {% set anew = mode.mode == 'full_refresh' %}
    {% set spec = ditto.table_spec(node, settings, facts.increment, facts.contract) %}
    {% set leased = settings.leased or anew or mode.mode == 'takeover' %}
    {% set token = (facts.ledger.token or 0) + 1 %}
    {% set fence = ditto.fence_condition(settings.ledger_table, settings.relation, token) if leased %}
    {% set made = ditto.plan_table(settings, facts, spec, anew, fence) %}
    {% do ditto._check_layout(settings, facts.target, anew) %}
    {% if settings.dry %}
        {{ return(ditto.new_plan(settings, facts, mode, made.steps if not facts.target.exists else [])) }}
    {% endif %}
    {% set write = {
        'settings': settings, 'facts': facts, 'columns': made.columns, 'sql': sql, 'token': token, 'fence': fence,
        'tag': ditto.tag(dict(settings, mode=mode.mode))
    } %}
    {% set steps = {
        'predicate': ditto._replace_predicate_steps,
        'partitions': ditto._replace_partitions_steps,
        'table': ditto._replace_table_steps,
        'delete_insert': ditto._delete_insert_steps
    }[settings.overwrite](write) %}
    {% set before = ditto._check_steps(write) + [{'kind': 'intent', 'name': 'intent'}] if leased else [] %}
    {% set plan = ditto.new_plan(settings, facts, mode, before + made.steps + steps + [{'kind': 'outcome', 'name': 'outcome'}]) %}
    {% set in_two = settings.overwrite == 'delete_insert' %}
    {# Without Delta a statement that fails may have removed files, and those before it have replaced their partitions. #}
    {% do plan.update({'undo': plan.undo or in_two or settings.file_format != 'delta', 'must_commit': in_two}) %}
    {{ return(plan) }}
{% endmacro %}


{# Files without Delta can only be replaced by the partitions that they really have. #}
{% macro _check_layout(settings, target, anew) %}
    {% if settings.overwrite == 'partitions' and settings.file_format != 'delta' and target.exists and not anew
        and ditto.lower_names(target.partition_by) != ditto.lower_names(settings.partition_by) %}
        {% do ditto.error(settings.subject, 'partition_by: ' ~ settings.partition_by | join(', ') ~ ', and a table partitioned by '
            ~ (target.partition_by | join(', ') or 'nothing'), 'the partitions of the table',
            'change partition_by, or make the table anew: '
            ~ ditto.run_command(settings.model, settings.execution_time, ' --full-refresh')) %}
    {% endif %}
{% endmacro %}


{# Where more than one commit is made, the rows are looked at first: an increment that will be refused empties or deletes nothing
   and leaves no intent that would stop other executions. #}
{% macro _check_steps(write) %}
    {% if write.settings.overwrite not in ('predicate', 'delete_insert') %}
        {{ return([]) }}
    {% endif %}
    {% set predicate = ditto.own_predicate(write.settings, write.facts.increment) %}
    {{ return([{'kind': 'check', 'name': 'check', 'diagnosis': ditto._outside_diagnosis(write, predicate)}]) }}
{% endmacro %}


{% macro _replace_predicate_steps(write) %}
    {% set predicate = ditto.own_predicate(write.settings, write.facts.increment) %}
    {{ return([ditto._replace_where_step(write, predicate)]) }}
{% endmacro %}


{% macro _replace_where_step(write, predicate) %}
    {{ return({
        'kind': 'write', 'name': 'replace',
        'sql': ditto._fenced(write, ditto.replace_where_sql(write.settings, write.columns, write.sql, predicate, write.tag)),
        'diagnosis': ditto._outside_diagnosis(write, predicate)
    }) }}
{% endmacro %}


{# As a script, so that it can also be sent on its own when the engine has refused it. #}
{% macro _fenced(write, sql) %}
    {{ return(ditto.fenced_sql(sql, write.fence, script=true)) }}
{% endmacro %}


{% macro _outside_diagnosis(write, predicate) %}
    {{ return({
        'sql': ditto.rows_outside_sql(write.sql, predicate),
        'found': 'rows in the increment that this execution does not own; the first of them',
        'expected': 'only rows where ' ~ predicate ~ '; nothing was written',
        'fix': "filter the SELECT, for example where day = date'{{ ditto.execution_date() }}', or change partition_by or predicate"
    }) }}
{% endmacro %}


{% macro _replace_partitions_steps(write) %}
    {% set settings, facts = write.settings, write.facts %}
    {% set partitions = ditto.partitions_to_replace(settings, facts) %}
    {% do ditto._check_partitions(settings, facts, partitions) %}
    {% if settings.file_format != 'delta' %}
        {% set steps = [] %}
        {% for partition in partitions %}
            {% set overwrite = ditto.overwrite_partition_sql(settings, write.columns, write.sql, partition) %}
            {% do steps.append({'kind': 'write', 'name': 'overwrite_' ~ loop.index, 'sql': ditto._fenced(write, overwrite)}) %}
        {% endfor %}
        {{ return(steps) }}
    {% endif %}
    {% set terms = [] %}
    {% for partition in partitions %}
        {% do terms.append(ditto.partition_predicate(partition)) %}
    {% endfor %}
    {{ return([ditto._replace_where_step(write, '(' ~ terms | join(' or ') ~ ')')] if terms else []) }}
{% endmacro %}


{% macro _check_partitions(settings, facts, partitions) %}
    {% if facts.partitions | length > settings.max_partitions %}
        {% do ditto.error(settings.subject, 'more than ' ~ settings.max_partitions ~ ' partitions to replace',
            'partitions that one statement can name', "use mode='table' or mode='predicate', or raise max_partitions") %}
    {% elif not partitions and not settings.predicate %}
        {% do ditto.error(settings.subject, 'an empty increment, and partition_by: ' ~ settings.partition_by | join(', ')
            ~ ' does not tell which partition it empties', 'rows, or the partition of this execution', ditto._predicate_hint()) %}
    {% endif %}
{% endmacro %}


{% macro _replace_table_steps(write) %}
    {% set settings = write.settings %}
    {% if settings.file_format == 'delta' %}
        {# The table's own partitions count too: partition_by may have been changed since it was made. #}
        {% set partition_by = settings.partition_by + write.facts.target.partition_by %}
        {{ return([ditto._replace_where_step(write, ditto.every_row(settings, write.columns, partition_by))]) }}
    {% endif %}
    {% set overwrite = ditto.static_overwrite_sql(settings, write.columns, write.sql) %}
    {{ return([{'kind': 'write', 'name': 'overwrite', 'sql': ditto._fenced(write, overwrite)}]) }}
{% endmacro %}


{# Two commits under one intent. #}
{% macro _delete_insert_steps(write) %}
    {% set predicate = ditto.own_predicate(write.settings, write.facts.increment) %}
    {# An INSERT of no rows is a commit too, with the tag of this run: so a fence around it as well as in it. #}
    {% set insert = ditto.fenced_insert_sql(write.settings, write.columns, write.sql, predicate, write.tag, write.fence, write.token) %}
    {{ return([
        {'kind': 'write', 'name': 'delete', 'sql': ditto._fenced(write, 'delete from ' ~ write.settings.table ~ ' where ' ~ predicate)},
        {'kind': 'write', 'name': 'insert', 'sql': ditto._fenced(write, insert), 'diagnosis': ditto._outside_diagnosis(write, predicate)}
    ]) }}
{% endmacro %}
