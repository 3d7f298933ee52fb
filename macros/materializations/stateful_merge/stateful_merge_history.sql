{# versioning: history, for stores without versions. The raw rows of every execution are kept in `<model>__history`; the table
   is the latest row of each key. Pure, but for the facts. #}

{% macro history_facts(settings) %}
    {% set raw = ditto.table_facts(settings.schema, settings.history_identifier) %}
    {% set slices = [] %}
    {% if raw.exists and settings.file_format != 'delta' %}
        {% for row in ditto.fetch('show partitions ' ~ settings.history) %}
            {# As in the path of its files: execution_time=2024-10-07 09%3A00%3A00 #}
            {% do slices.append(row['partition'].split('=')[1].replace('%3A', ':')) %}
        {% endfor %}
    {% endif %}
    {{ return({'target': raw, 'slices': slices}) }}
{% endmacro %}


{% macro _history_steps(work) %}
    {% set settings, facts, decision, fence = work.settings, work.facts, work.decision, work.fence %}
    {% set spec = ditto._stateful_spec(work) %}
    {% set made = ditto.plan_table(settings, facts, spec, work.anew, fence) %}
    {% set raw = ditto._raw_table(work) %}
    {% set before = [] if work.anew else ditto._forget_steps(settings, facts, fence) %}
    {% set load = {'kind': 'write', 'name': 'load', 'diagnosis': ditto.merger_key_check(settings, work.sql).diagnosis,
        'sql': ditto.fenced_sql(ditto.history_load_sql(raw.settings, raw.columns, work.sql), fence, script=true)} %}
    {# A MERGE keeps what a column had that the SELECT no longer gives; the raw rows, and so a replay, know nothing of it. #}
    {% set whole = not made.columns | rejectattr('given') | list %}
    {% if settings.file_format == 'delta' and whole and decision.mode in ('normal', 'first', 'full_refresh') %}
        {% set write = ditto.merger_write_steps(settings, made.columns, work.sql, decision.mode, fence=fence) %}
    {% else %}
        {% set write = [{'kind': 'write', 'name': 'rebuild', 'sql': ditto.fenced_sql(
            ditto.history_rebuild_sql(settings, made.columns, raw.columns, ditto.tag(dict(settings, mode=decision.mode))), fence, script=true)}] %}
    {% endif %}
    {{ return({'renew': [], 'before': before, 'made': made.steps + raw.steps, 'write': [load] + write, 'after': []}) }}
{% endmacro %}


{# The raw rows have the columns of the SELECT and the execution that brought them, by which they are partitioned. #}
{% macro _raw_table(work) %}
    {% set time = {'name': 'execution_time', 'type': 'string'} %}
    {% set settings = dict(work.settings, table=work.settings.history, identifier=work.settings.history_identifier, cluster_by=[],
        partition_by=['execution_time'],
        on_schema_change='append_new_columns' if work.settings.on_schema_change == 'sync_all_columns' else work.settings.on_schema_change) %}
    {% if 'execution_time' in ditto.lower_names(work.facts.increment) %}
        {% do ditto.error(settings.subject, 'a column execution_time in the SELECT', 'another name: with versioning: history the raw rows have one',
            'rename the column in the model') %}
    {% endif %}
    {% set facts = dict(work.facts, target=work.facts.history.target, increment=work.facts.increment + [time]) %}
    {% set root = ditto.option(work.node, 'location_root') %}
    {% set columns = [] %}
    {% for column in facts.increment %}
        {% do columns.append({'name': column.name, 'type': column.type, 'not_null': false, 'comment': ''}) %}
    {% endfor %}
    {% set spec = {
        'columns': columns, 'file_format': settings.file_format, 'partition_by': settings.partition_by, 'cluster_by': [],
        'location': root ~ '/' ~ settings.identifier if root else none, 'properties': {}, 'upkeep': {},
        'comment': 'ditto: the raw rows of every execution of ' ~ work.settings.relation
    } %}
    {% set made = ditto.plan_table(settings, facts, spec, work.anew, work.fence) %}
    {{ return(dict(made, settings=settings)) }}
{% endmacro %}


{# Rows of later executions go: those executions are stale from now on. #}
{% macro _forget_steps(settings, facts, fence) %}
    {% if not facts.history.target.exists %}
        {{ return([]) }}
    {% endif %}
    {% if settings.file_format == 'delta' %}
        {% set sql = 'delete from ' ~ settings.history ~ ' where `execution_time` > ' ~ ditto.literal(settings.execution_time) %}
        {{ return([{'kind': 'sql', 'name': 'forget', 'sql': ditto.fenced_sql(sql, fence, script=true)}]) }}
    {% endif %}
    {% set partitions = [] %}
    {% for slice in facts.history.slices if slice > settings.execution_time %}
        {% do partitions.append('partition (`execution_time` = ' ~ ditto.literal(slice) ~ ')') %}
    {% endfor %}
    {% set sql = 'alter table ' ~ settings.history ~ ' drop if exists ' ~ partitions | join(', ') %}
    {{ return([ditto._fenced_step('forget', sql, fence)] if partitions else []) }}
{% endmacro %}


{# The slice of this execution, replaced as a whole. #}
{% macro history_load_sql(settings, columns, sql) %}
{% set slice = [{'name': 'execution_time', 'type': 'string', 'value': settings.execution_time}] %}
{% set given = [] %}
{% for column in columns if column.name != 'execution_time' %}{% do given.append(column) %}{% endfor %}
{% set rows %}
select *, {{ ditto.literal(settings.execution_time) }} as `execution_time`
from (
{{ ditto.merger_source_sql(settings, given, sql, '') }}
)
{%- endset %}
{%- if settings.file_format == 'delta' -%}
{{ ditto.replace_where_sql(settings, columns, rows, ditto.partition_predicate(slice), 'ditto: raw rows') }}
{%- else -%}
{{ ditto.overwrite_partition_sql(settings, columns, rows, slice) }}
{%- endif %}
{%- endmacro %}


{% macro history_rebuild_sql(settings, columns, raw_columns, tag) %}
{% set known = ditto.lower_names(raw_columns) %}
{% set given = [] %}
{% for column in columns %}{% do given.append(dict(column, given=column.name | lower in known)) %}{% endfor %}
{% set rows = ditto.latest_by_key(settings.history, settings.unique_key, ['execution_time'], settings.soft_delete) %}
{%- if settings.file_format == 'delta' -%}
{{ ditto.replace_where_sql(settings, given, rows, ditto.every_row(settings, given, settings.partition_by), tag) }}
{%- else -%}
{{ ditto.static_overwrite_sql(settings, given, rows) }}
{%- endif %}
{%- endmacro %}
