{# Facts in, plan out. Pure. #}
{% macro dedup_insert_plan(node, settings, facts, sql) %}
    {% do ditto.refuse_unfinished(settings, facts.ledger) %}
    {% set mode = ditto.plan_mode(settings, facts) %}
    {% set anew = mode.mode == 'full_refresh' %}
    {# Each run leaves a transaction id of its own in the table's log, where nobody asks for it again after a few minutes. #}
    {% set spec = ditto.table_spec(node, settings, facts.increment, facts.contract, {'delta.setTransactionRetentionDuration': 'interval 7 days'}) %}
    {% do ditto.require_columns(settings, 'unique_key', settings.unique_key, facts.increment) %}
    {% do ditto.require_key_types(settings, facts.increment) %}
    {% do ditto.require_columns(settings, 'order_by', settings.order_by, facts.increment) %}
    {% set leased = anew or mode.mode == 'takeover' %}
    {% set fence = ditto.fence_condition(settings.ledger_table, settings.relation, (facts.ledger.token or 0) + 1) if leased %}
    {% set made = ditto.plan_table(settings, facts, spec, anew, fence) %}
    {% do ditto._check_merger_table(settings, made.columns) %}
    {% do ditto._check_key_types(settings, facts.increment, facts.target.columns if not anew else []) %}
    {% if settings.dry %}
        {{ return(ditto.new_plan(settings, facts, mode, made.steps if not facts.target.exists else [])) }}
    {% endif %}
    {% set check = ditto.dedup_insert_check(settings, made.columns, sql) %}
    {% set insert = ditto.dedup_insert_sql(settings, made.columns, sql, ditto.tag(dict(settings, mode=mode.mode)),
        [] if anew else facts.key_range, fence) %}
    {% set write = {
        'kind': 'write', 'name': 'insert', 'inserts': true, 'diagnosis': check.diagnosis,
        'sql': ditto.fenced_sql(insert, fence, script=true)
    } %}
    {# An increment that will be refused must not empty the table first. #}
    {% set before = ([check] if anew else []) + ([{'kind': 'intent', 'name': 'intent'}] if leased else []) %}
    {{ return(ditto.new_plan(settings, facts, mode, before + made.steps + [write, {'kind': 'outcome', 'name': 'outcome'}])) }}
{% endmacro %}


{# Merger's check of the keys, except that copies of one row count once. #}
{% macro dedup_insert_check(settings, columns, sql) %}
    {% set check = ditto.merger_key_check(settings, ditto.different_rows_sql(settings, columns, sql)) %}
    {{ return(dict(check, diagnosis=dict(check.diagnosis,
        found='different rows in the increment that share a key, or rows without one; the first of them'))) }}
{% endmacro %}


{# A key that is changed when it is stored (1.5 in an int column, padding in a char) is not found again, and its row would come in
   with every run. #}
{% macro _check_key_types(settings, increment, columns) %}
    {% set whole = ['tinyint', 'smallint', 'int', 'bigint'] %}
    {% for name in settings.unique_key if name | lower in ditto.lower_names(columns) %}
        {% set given, stored = ditto.type_of(increment, name), ditto.type_of(columns, name) %}
        {% set same = given == stored or (given == 'string' and stored.startswith('varchar')) %}
        {% set wider = given in whole and stored in whole and whole.index(given) < whole.index(stored) %}
        {% if not same and not wider %}
            {% do ditto.error(
                settings.subject, 'unique_key: ' ~ name ~ ', a ' ~ given ~ ' in the SELECT and a ' ~ stored ~ ' in ' ~ settings.table,
                'one type: a key that is stored as something else is not found again',
                'write cast(' ~ name ~ ' as ' ~ stored ~ ') in the SELECT, or make the table anew: '
                ~ ditto.run_command(settings.model, settings.execution_time, ' --full-refresh')
            ) %}
        {% endif %}
    {% endfor %}
{% endmacro %}
