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
    {% set intent = [{'kind': 'intent', 'name': 'intent'}] if leased else [] %}
    {{ return(ditto.new_plan(settings, facts, mode, intent + made.steps + steps + [{'kind': 'outcome', 'name': 'outcome'}])) }}
{% endmacro %}


{% macro _replace_predicate_steps(write) %}
    {% set predicate = ditto.own_predicate(write.settings, write.facts.increment) %}
    {{ return([ditto._replace_where_step(write, predicate)]) }}
{% endmacro %}


{% macro _replace_where_step(write, predicate) %}
    {{ return({
        'kind': 'write', 'name': 'replace',
        'sql': ditto.fenced_sql(ditto.replace_where_sql(write.settings, write.columns, write.sql, predicate, write.tag), write.fence),
        'diagnosis': ditto._outside_diagnosis(write, predicate)
    }) }}
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
            {% do steps.append({'kind': 'write', 'name': 'overwrite_' ~ loop.index, 'sql': ditto.fenced_sql(overwrite, write.fence)}) %}
        {% endfor %}
        {{ return(steps) }}
    {% endif %}
    {% set terms = ['(' ~ settings.predicate ~ ')'] if settings.predicate else [] %}
    {% for partition in partitions %}
        {% do terms.append(ditto.partition_predicate(partition)) %}
    {% endfor %}
    {{ return([ditto._replace_where_step(write, '(' ~ terms | join(' or ') ~ ')')]) }}
{% endmacro %}


{% macro _check_partitions(settings, facts, partitions) %}
    {% if facts.partitions | length > settings.max_partitions %}
        {% do ditto.error(settings.subject, 'more than ' ~ settings.max_partitions ~ ' partitions in one increment',
            'partitions that one statement can name', "use mode='table' or mode='predicate', or raise max_partitions") %}
    {% elif not partitions and not settings.predicate %}
        {% do ditto.error(settings.subject, 'an empty increment, and partition_by: ' ~ settings.partition_by | join(', ')
            ~ ' does not tell which partition it empties', 'rows, or the partition of this execution', ditto._predicate_hint()) %}
    {% endif %}
{% endmacro %}


{% macro _replace_table_steps(write) %}
    {% set settings = write.settings %}
    {% if settings.file_format == 'delta' %}
        {% set by = write.columns | selectattr('name', 'in', settings.partition_by) | list or write.columns %}
        {{ return([ditto._replace_where_step(write, ditto.every_row(by))]) }}
    {% endif %}
    {% set overwrite = ditto.static_overwrite_sql(settings, write.columns, write.sql) %}
    {{ return([{'kind': 'write', 'name': 'overwrite', 'sql': ditto.fenced_sql(overwrite, write.fence)}]) }}
{% endmacro %}


{# Two commits under one intent. The rows are looked at first, so that nothing is deleted for an increment that will be refused. #}
{% macro _delete_insert_steps(write) %}
    {% set predicate = ditto.own_predicate(write.settings, write.facts.increment) %}
    {% set diagnosis = ditto._outside_diagnosis(write, predicate) %}
    {{ return([
        {'kind': 'check', 'name': 'check', 'diagnosis': diagnosis},
        {'kind': 'write', 'name': 'delete', 'sql': ditto.fenced_sql(
            'delete from ' ~ write.settings.table ~ ' where ' ~ predicate, write.fence)},
        {'kind': 'write', 'name': 'insert', 'diagnosis': diagnosis, 'sql': ditto.fenced_insert_sql(
            write.settings, write.columns, write.sql, predicate, write.tag, write.fence, write.token)}
    ]) }}
{% endmacro %}
