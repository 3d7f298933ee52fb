{# Facts in, plan out. Pure. #}
{% macro transactional_writer_plan(node, settings, facts, sql) %}
    {% do ditto.refuse_unfinished(settings, facts.ledger) %}
    {% do ditto._check_merger_columns(settings, facts.increment) %}
    {% do ditto._check_execution_time_column(settings, facts) %}
    {% do ditto._refuse_foreign_candidate(settings, facts.candidate) %}
    {% set mode = ditto.plan_mode(settings, facts) %}
    {% set anew = mode.mode == 'full_refresh' %}
    {% set leased = settings.leased or anew or mode.mode == 'takeover' %}
    {% set fence = ditto.fence_condition(settings.ledger_table, settings.relation, (facts.ledger.token or 0) + 1) if leased %}
    {% set layout = ditto._transactional_layout(node, settings, facts, anew) %}
    {% do ditto._check_merger_table(settings, layout.columns) if settings.write == 'merge' %}
    {% if settings.dry %}
        {{ return(ditto.new_plan(settings, facts, mode, layout.creation)) }}
    {% endif %}
    {% set work = {
        'settings': settings, 'facts': facts, 'sql': sql, 'anew': anew, 'fence': fence, 'layout': layout,
        'tag': ditto.tag(dict(settings, mode=mode.mode)),
        'own_rows': facts.own_rows or mode.mode == 'takeover'
    } %}
    {% set intent = [{'kind': 'intent', 'name': 'intent'}] if leased else [] %}
    {# Only what passed the audits reaches the table, and that includes its columns. #}
    {% set steps = intent + layout.creation + ditto._transactional_candidate_steps(work) + layout.changes + ditto._transactional_publish_steps(work) + [{'kind': 'outcome', 'name': 'outcome'}] %}
    {% if settings.audits %}
        {% do steps.append(ditto._transactional_drop_step(work)) %}
    {% endif %}
    {# What stood under the name is gone once it was dropped: then the run has to be finished. #}
    {{ return(dict(ditto.new_plan(settings, facts, mode, steps), undo=steps | selectattr('drops', 'defined') | list != [])) }}
{% endmacro %}


{# The table as it will be: `columns`, the steps that make a missing one (`creation`) and those that change it (`changes`).
   Where rows are merged or appended, each has the execution that wrote it last. #}
{% macro _transactional_layout(node, settings, facts, anew) %}
    {% set stamp = {'name': settings.execution_time_column, 'type': 'timestamp_ntz', 'not_null': false, 'comment': ''} %}
    {% set has_stamp = stamp.name | lower in ditto.lower_names(facts.target.columns) %}
    {% set stamped = settings.write != 'overwrite' or (has_stamp and not anew) %}
    {% set added = [stamp] if stamped else [] %}
    {% set spec = ditto.table_spec(node, settings, facts.increment, facts.contract, {'delta.enableDeletionVectors': 'true'}) %}
    {# As CHECK constraints too: the lengths and the NOT NULL of a Delta table cannot be asked for, and a table that is made with its
       rows has none. #}
    {% do spec.update({'columns': spec.columns + added, 'properties': dict(ditto.unit_constraints(spec), **spec.properties)}) %}
    {% set layout = {'stamped': stamped, 'spec': spec, 'creation': [], 'changes': [], 'columns': []} %}
    {% if anew %}
        {% for column in facts.increment + added %}
            {% do layout.columns.append({'name': column.name, 'type': column.type, 'given': true}) %}
        {% endfor %}
        {{ return(layout) }}
    {% endif %}
    {% set target = facts.target %}
    {% if target.exists and stamped and not has_stamp %}
        {# A table of another pattern: its rows are of no execution, and stay. #}
        {% do layout.changes.extend(ditto.add_columns_steps(settings, added, target)) %}
        {% set target = dict(target, columns=target.columns + added) %}
    {% endif %}
    {% set made = ditto.plan_table(settings, dict(facts, increment=facts.increment + added, target=target), spec) %}
    {% do layout.update({'columns': made.columns}) %}
    {% do (layout.changes if target.exists else layout.creation).extend(made.steps) %}
    {{ return(layout) }}
{% endmacro %}


{% macro _check_execution_time_column(settings, facts) %}
    {% set name = settings.execution_time_column | lower %}
    {% if name in ditto.lower_names(facts.increment) %}
        {% do ditto.error(settings.subject, 'column ' ~ name ~ ' in the SELECT, which is the execution_time_column',
            'a column of its own for the execution that wrote a row', 'rename the column in the model, or change execution_time_column') %}
    {% endif %}
    {% for column in facts.target.columns if column.name | lower == name and column.type != 'timestamp_ntz' and settings.write != 'overwrite' %}
        {% do ditto.error(settings.subject, 'execution_time_column: ' ~ column.name ~ ', in ' ~ settings.table ~ ' a ' ~ column.type, 'a timestamp_ntz',
            "take another name for it, for example execution_time_column='loaded_by'") %}
    {% endfor %}
{% endmacro %}


{% macro _refuse_foreign_candidate(settings, candidate) %}
    {% if candidate.exists and candidate.comment != settings.candidate_comment %}
        {% do ditto.error(settings.subject, 'a ' ~ candidate.type ~ ' under the name ' ~ settings.candidate ~ ', which ditto did not make',
            'nothing: the candidate is written there before it is published', 'rename or drop it') %}
    {% endif %}
{% endmacro %}
