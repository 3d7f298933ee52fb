{% macro transactional_writer_settings(node, full_refresh=false, dry=false, execution_time=none) %}
    {% set write = ditto.choice(node, 'write', ['merge', 'append', 'overwrite'], 'merge') %}
    {% set settings = ditto.merger_settings(node, full_refresh, dry, 'transactional_writer', execution_time, keyed=write == 'merge') %}
    {% set candidate = settings.identifier ~ '__candidate' %}
    {% do settings.update({
        'write': write,
        'execution_time_column': ditto.option(node, 'execution_time_column', '_ditto_execution_time'),
        'audits': ditto.read_audits(node),
        'candidate_identifier': candidate,
        'candidate': ditto.table_name(settings.schema, candidate),
        'candidate_comment': 'ditto: the candidate of ' ~ settings.relation
    }) %}
    {# One commit needs no intent. With audits there is the candidate besides. #}
    {% do settings.update({'leased': settings.audits != []}) %}
    {% do ditto._check_transactional_writer(settings) %}
    {{ return(settings) }}
{% endmacro %}


{% macro _check_transactional_writer(settings) %}
    {% set write = settings.write %}
    {% set ignored = [] %}
    {% for option in ('update_columns', 'exclude_columns', 'merge_condition') if write != 'merge' and settings[option] %}
        {% do ignored.append(option) %}
    {% endfor %}
    {% if settings.sequence_by %}
        {% do ditto.error(settings.subject, 'sequence_by: ' ~ settings.sequence_by,
            'changes in the order of their executions: an earlier one never overwrites what a later one wrote',
            "remove sequence_by from the config of the model, or use materialized='merger'") %}
    {% elif settings.not_matched_by_source %}
        {% do ditto.error(settings.subject, 'not_matched_by_source', 'rows that only their own execution takes away again',
            "use write='overwrite' where the SELECT gives the whole table, or materialized='merger'") %}
    {% elif ignored %}
        {% do ditto.error(settings.subject, ignored | join(', ') ~ ' with write: ' ~ write, 'options that this write can follow',
            'remove ' ~ ignored | join(', ') ~ " from the config of the model, or use write='merge'") %}
    {% elif settings.soft_delete and write == 'append' %}
        {% do ditto.error(settings.subject, 'soft_delete with write: append', 'a write that can delete rows',
            "remove soft_delete from the config of the model, or use write='merge'") %}
    {% elif settings.on_duplicate_key == 'latest' and not settings.unique_key %}
        {% do ditto.error(settings.subject, 'on_duplicate_key: latest without unique_key', 'the columns that identify a row',
            "add unique_key='id' to the config of the model") %}
    {% elif settings.execution_time_column is not string or not settings.execution_time_column.strip() %}
        {% do ditto.error(settings.subject, 'execution_time_column: ' ~ settings.execution_time_column, 'the name of a column',
            "change the config of the model, for example execution_time_column='loaded_by'") %}
    {% endif %}
{% endmacro %}


{# Audits: a condition that is true of every row; or {name, every_row | table | query: SQL}. Gives {name, kind, sql} of each. #}
{% macro read_audits(node) %}
    {% set given = ditto.option(node, 'audits', []) %}
    {% set audits = [] %}
    {% for audit in ([given] if given is string or given is mapping or given is not iterable else given) %}
        {% set kinds = audit.keys() | reject('equalto', 'name') | list if audit is mapping else [] %}
        {% set parts = [audit, audit] if audit is string else ([audit.get('name'), audit[kinds[0]]] if kinds | length == 1 else []) %}
        {% set kind = kinds[0] if audit is mapping and kinds | length == 1 else 'every_row' %}
        {% if parts == [] or kind not in ('every_row', 'table', 'query')
            or parts | reject('string') | list or not parts[0].strip() or not parts[1].strip() %}
            {% do ditto._audit_error(node, audit, 'a condition that is true of every row, or {name: ...} with one of every_row, table, query') %}
        {% elif kind == 'query' and '{candidate}' not in parts[1] %}
            {% do ditto._audit_error(node, audit, 'a query that reads the rows before they are published: from {candidate}') %}
        {% elif parts[0] in audits | map(attribute='name') %}
            {% do ditto._audit_error(node, audit, 'a name of its own for each audit') %}
        {% endif %}
        {% do audits.append({'name': parts[0].strip(), 'kind': kind, 'sql': parts[1].strip()}) %}
    {% endfor %}
    {{ return(audits) }}
{% endmacro %}


{% macro _audit_error(node, audit, expected) %}
    {% do ditto.error(ditto.subject(node), 'audits: ' ~ audit, expected,
        "for example audits=['amount >= 0', {'name': 'some_rows', 'table': 'count(*) > 0'},"
        ~ " {'name': 'known_users', 'query': 'select c.* from {candidate} as c left anti join users as u on u.id = c.user_id'}]") %}
{% endmacro %}
