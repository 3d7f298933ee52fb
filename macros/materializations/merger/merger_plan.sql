{# Facts in, plan out. Pure. #}
{% macro merger_plan(node, settings, facts, sql) %}
    {% do ditto.refuse_unfinished(settings, facts.ledger) %}
    {% set mode = ditto.plan_mode(settings, facts) %}
    {% set anew = mode.mode == 'full_refresh' %}
    {% set spec = ditto.table_spec(node, settings, facts.increment, facts.contract, {'delta.enableDeletionVectors': 'true'}) %}
    {% do ditto._check_merger_columns(settings, facts.increment) %}
    {% set fence = ditto.fence_condition(settings.ledger_table, settings.relation, (facts.ledger.token or 0) + 1) if anew or mode.mode == 'takeover' %}
    {% set made = ditto.plan_table(settings, facts, spec, anew, fence) %}
    {% do ditto._check_merger_table(settings, made.columns) %}
    {% set steps = made.steps + ditto._merger_view_steps(settings, facts, made.columns, spec.comment, anew) %}
    {% if settings.dry %}
        {{ return(ditto.new_plan(settings, facts, mode, steps if not facts.target.exists else [])) }}
    {% endif %}
    {% set write = ditto.merger_write_steps(settings, made.columns, sql, mode.mode, [] if anew else facts.key_range, fence) %}
    {% set intent = [{'kind': 'intent', 'name': 'intent'}] if anew or mode.mode == 'takeover' else [] %}
    {# An increment that will be refused must not empty the table first. #}
    {% set before = [ditto.merger_key_check(settings, sql)] + intent if anew else intent %}
    {{ return(ditto.new_plan(settings, facts, mode, before + steps + write + [{'kind': 'outcome', 'name': 'outcome'}])) }}
{% endmacro %}


{% macro merger_write_steps(settings, columns, sql, mode, key_range=[], fence=none) %}
    {% set check = ditto.merger_key_check(settings, sql) %}
    {# A source that a fence has emptied would have not_matched_by_source delete every row: there it stands around the MERGE. #}
    {% set around = fence if settings.not_matched_by_source else none %}
    {% set merge = ditto.merger_merge_sql(settings, columns, sql, ditto.tag(dict(settings, mode=mode)), key_range, none if around else fence) %}
    {% set write = [{'kind': 'write', 'name': 'merge', 'diagnosis': check.diagnosis, 'sql': ditto.fenced_sql(merge, around, script=true)}] %}
    {# Into a table of nothing but keys Delta only inserts, and there an error of the guard is one of a failed write. #}
    {{ return(write if settings.soft_delete or ditto._merger_updated(settings, columns) else [check] + write) }}
{% endmacro %}


{% macro merger_key_check(settings, sql) %}
    {{ return({'kind': 'check', 'name': 'check_keys', 'diagnosis': {
        'sql': ditto.merger_bad_keys_sql(settings, sql),
        'found': 'rows in the increment that share a key or have none; the first of them',
        'expected': 'one row for each key of ' ~ settings.unique_key | join(', ') ~ '; nothing was written',
        'fix': "correct the SELECT; or keep the newest row: on_duplicate_key='latest', order_by='updated_at';"
            ~ " or let null be a key: on_null_key='allow'"
    }}) }}
{% endmacro %}


{% macro _check_merger_columns(settings, increment) %}
    {% do ditto.require_columns(settings, 'unique_key', settings.unique_key, increment) %}
    {% do ditto.require_key_types(settings, increment) %}
    {% do ditto.require_columns(settings, 'order_by', settings.order_by, increment) %}
    {% do ditto.require_columns(settings, 'update_columns', settings.update_columns, increment) %}
    {% do ditto.require_columns(settings, 'exclude_columns', settings.exclude_columns, increment) %}
    {% do ditto.require_columns(settings, 'soft_delete', [settings.soft_delete] | select | list, increment) %}
    {% do ditto.require_columns(settings, 'sequence_by', [settings.sequence_by] | select | list, increment) %}
    {% set flag_types = ['boolean', 'tinyint', 'smallint', 'int', 'bigint'] %}
    {% for column in increment if settings.soft_delete and column.name | lower == settings.soft_delete | lower and column.type not in flag_types %}
        {# Spark turns the text 'D' into null, and null means: not deleted. #}
        {% do ditto.error(
            settings.subject, 'soft_delete: ' ~ column.name ~ ', a ' ~ column.type, 'a boolean or a whole number: true or 1 deletes the row',
            'say in the SELECT when a row is deleted, for example ' ~ column.name ~ " = 'D' as is_deleted"
        ) %}
    {% endfor %}
{% endmacro %}


{# What the MERGE compares with has to be in the table as well: on_schema_change='ignore' leaves a new column out of it. #}
{% macro _check_merger_table(settings, columns) %}
    {% set known = ditto.lower_names(columns) %}
    {% for option in ('unique_key', 'soft_delete', 'sequence_by') %}
        {% set names = [settings[option]] if settings[option] is string else settings[option] or [] %}
        {% for name in names if name | lower not in known %}
            {% do ditto.error(
                settings.subject, option ~ ': ' ~ name ~ ', which ' ~ settings.table ~ ' does not have',
                'one of its columns: ' ~ columns | map(attribute='name') | join(', '),
                "add on_schema_change='append_new_columns' to the config of the model, or "
                ~ ditto.run_command(settings.model, settings.execution_time, ' --full-refresh')
            ) %}
        {% endfor %}
    {% endfor %}
{% endmacro %}


{# The view is made again only when it is missing or shows something else. #}
{% macro _merger_view_steps(settings, facts, columns, comment, anew) %}
    {% if not settings.view %}
        {{ return([]) }}
    {% endif %}
    {% set view = facts.view %}
    {% do ditto.refuse_table_for_view(settings, view, 'with sequence_by and soft_delete', ', where deleted ones are remembered') %}
    {# A table made anew may have other types, to which a view does not adapt. #}
    {% if view.exists and not anew and ditto.lower_names(view.columns) == ditto.lower_names(columns)
        and (comment or '') in ('', view.comment) %}
        {{ return([]) }}
    {% endif %}
    {{ return([{'kind': 'sql', 'name': 'view', 'sql': ditto.merger_view_sql(settings, columns, view, comment)}]) }}
{% endmacro %}


{% macro refuse_table_for_view(settings, view, condition, reason) %}
    {% if view.exists and view.type != 'view' %}
        {% do ditto.error(
            settings.subject, 'a table under the name ' ~ settings.view,
            'a view: ' ~ condition ~ ' the rows live in ' ~ settings.table ~ reason,
            'keep its rows: alter table ' ~ settings.view ~ ' rename to ' ~ settings.table
        ) %}
    {% endif %}
{% endmacro %}
