{# Facts in, plan out. Pure. #}
{% macro fast_metadata_cleaner_plan(node, settings, facts, sql) %}
    {% do ditto.refuse_unfinished(settings, facts.ledger) %}
    {% do ditto.refuse_table_under_view(settings, facts.view, 'a view over the units') %}
    {% set decision = ditto.fast_metadata_cleaner_decision(settings, facts) %}
    {% do ditto.refuse_or_warn(settings, ditto.fast_metadata_cleaner_problems(settings, facts, decision)) %}
    {% set spec = ditto.table_spec(node, dict(settings, partition_by=settings.given_partitions), facts.increment, facts.contract) %}
    {% do spec.update({'partition_by': settings.partition_by, 'properties': dict(ditto.unit_constraints(spec), **spec.properties)}) %}
    {% do ditto._check_unit_columns(settings, facts, decision, spec) %}
    {% set token = (facts.ledger.token or 0) + 1 %}
    {% set work = {
        'settings': settings, 'facts': facts, 'decision': decision, 'spec': spec, 'sql': sql,
        'anew': decision.mode == 'full_refresh',
        'tag': ditto.tag(dict(settings, mode=decision.mode)),
        'fence': ditto.fence_condition(settings.ledger_table, settings.relation, token)
    } %}
    {% if settings.dry %}
        {# A unit is made by an execution and by nothing else. #}
        {% set texts = ditto.view_texts(settings, facts, ditto.shown_units(settings.alias, facts.units), facts.known or {'increment': facts.increment}) %}
        {{ return(ditto.new_plan(settings, facts, decision, ditto.view_steps(settings, facts, texts) if not facts.view.exists else [])) }}
    {% endif %}
    {% set written = ditto._reset_steps(work) if decision.reset else ditto._slice_steps(work) %}
    {% set plan = ditto.new_plan(settings, facts, decision,
        [{'kind': 'intent', 'name': 'intent'}] + written.steps + ditto._unit_view_steps(work, written) + written.after + [{'kind': 'outcome', 'name': 'outcome'}]) %}
    {# A run that dropped the only unit and died has left no table either, but what it made stale is still to be replayed. #}
    {% do plan.update({
        'unit': settings.table,
        'made_anew': work.anew or (not facts.units and not facts.view.exists and facts.ledger.last is not none and decision.mode != 'takeover'),
        'undo': decision.reset and facts.target.exists and (settings.reset != 'replace' or written.views != {}),
        'undoes_until': settings.unit.until if decision.reset else none
    }) %}
    {% if decision.become_stale %}
        {% do ditto.warning(settings.subject, 'this prepares ' ~ settings.unit.label ~ ' anew, and later executions of it are stale: '
            ~ ditto._times(decision.become_stale) ~ '; ' ~ ditto._commands(settings, decision.become_stale)) %}
    {% endif %}
    {{ return(plan) }}
{% endmacro %}


{% macro _commands(settings, times) %}
    {% set commands = [] %}
    {% for time in times[:10] %}
        {% do commands.append(ditto.run_command(settings.model, time)) %}
    {% endfor %}
    {{ return('replay them:\n    ' ~ commands | join('\n    ')) }}
{% endmacro %}


{# The unit is prepared anew: as one commit (replace), or emptied or dropped first, which are metadata operations too. #}
{% macro _reset_steps(work) %}
    {% set settings, facts = work.settings, work.facts %}
    {% set exists = facts.target.exists and not work.anew %}
    {% if exists and settings.reset == 'truncate' %}
        {% set slice = ditto._slice_steps(work) %}
        {{ return(dict(slice, steps=[ditto._fenced_step('truncate', 'truncate table ' ~ settings.table, work.fence)] + slice.steps)) }}
    {% endif %}
    {% set columns = facts.increment + [{'name': '_ditto_execution_time', 'type': 'timestamp_ntz'}] %}
    {% set shown = ditto.shown_units(settings.alias, facts.units) %}
    {% set gone = ditto.columns_not_in(facts.target.columns, columns) %}
    {% set kept = facts.target.columns | reject('in', gone) | list %}
    {% set meanwhile = {'steps': [], 'views': {}} %}
    {% set steps = [] %}
    {% if exists and settings.reset == 'drop' %}
        {# Readers do without the unit for a while; a view with a table that is gone would fail them. #}
        {% set rest = shown | rejectattr('identifier', 'equalto', settings.identifier | lower) | list %}
        {% set meanwhile = ditto._meanwhile(work, rest, facts.known) %}
        {% do steps.append(ditto._fenced_step('drop', 'drop table if exists ' ~ settings.table, work.fence)) %}
    {% elif exists and gone and kept | length > 1 %}
        {# So would one with a column that is gone: readers do without it before the table does. #}
        {% set meanwhile = ditto._meanwhile(work, shown, dict(facts.known, **{settings.identifier | lower: kept})) %}
    {% endif %}
    {% do steps.append({'kind': 'write', 'name': 'reset', 'sql': ditto.fenced_sql(
        ditto.immediate_sql(ditto.unit_create_sql(settings, work.spec, work.sql, work.tag)), work.fence, script=true)}) %}
    {% do steps.extend(ditto.column_comment_steps(settings, work.spec, work.fence)) %}
    {{ return({'steps': meanwhile.steps + steps, 'columns': columns, 'views': meanwhile.views, 'after': []}) }}
{% endmacro %}


{# The views as readers see them during the write: `steps`, and the `views` that these leave. #}
{% macro _meanwhile(work, shown, known) %}
    {% set settings, facts = work.settings, work.facts %}
    {% set texts = ditto.view_texts(settings, facts, shown, known) %}
    {% set chunks = [] %}
    {% for identifier, text in texts.items() if identifier != settings.view_identifier %}
        {% do chunks.append({'identifier': identifier, 'exists': true, 'text': text, 'comment': 'ditto: a part of ' ~ settings.relation}) %}
    {% endfor %}
    {{ return({'steps': ditto.view_steps(settings, facts, texts, none, work.fence),
        'views': {'view': dict(facts.view, exists=true, text=texts[settings.view_identifier]), 'chunks': chunks}}) }}
{% endmacro %}


{% macro _slice_steps(work) %}
    {% set settings, target = work.settings, work.facts.target %}
    {# Columns that go are dropped once the view does without them. #}
    {% set synced = settings.on_schema_change == 'sync_all_columns' %}
    {% set layout = dict(settings, on_schema_change='append_new_columns') if synced else settings %}
    {% set increment = work.facts.increment + [{'name': '_ditto_execution_time', 'type': 'timestamp_ntz'}] %}
    {# Its comment is the unit's own, and not the model's, which is the view's. #}
    {% set made = ditto.plan_table(layout, dict(work.facts, increment=increment), dict(work.spec, comment=none)) %}
    {% set write = ditto.unit_slice_sql(settings, made.columns, work.sql, work.tag) %}
    {% set gone = made.columns | rejectattr('given') | list if synced else [] %}
    {{ return({
        'columns': made.columns | selectattr('given') | list if synced else made.columns, 'views': {},
        'after': ditto._drop_steps(settings, gone, target) if gone else [],
        'steps': made.steps + [{'kind': 'write', 'name': 'slice', 'sql': ditto.fenced_sql(write, work.fence, script=true)}]
    }) }}
{% endmacro %}


{# The views as they have to be once the unit is written; of a model that is made anew they show nothing else. #}
{% macro _unit_view_steps(work, written) %}
    {% set settings, facts, columns = work.settings, work.facts, written.columns %}
    {% set key = settings.identifier | lower %}
    {% set others = [] if work.anew else facts.units | rejectattr('identifier', 'equalto', key) | list %}
    {% set own = {'identifier': key, 'kind': ditto.granularities()[settings.granularity], 'first': settings.unit.first} %}
    {% set shown = ditto.shown_units(settings.alias, others + [own]) %}
    {% set before = ditto.no_table_facts() if work.anew else facts.view %}
    {% set known = dict(facts.known, **{key: columns}) %}
    {% set texts = ditto.view_texts(settings, dict(facts, view=before), shown, known) %}
    {% set retyped = ditto.changed_types(columns, before.columns) != [] %}
    {% set again = retyped or work.anew or ditto._comments_differ(work.spec.columns, facts.view.columns) %}
    {% set steps = ditto.view_steps(settings, dict(facts, **written.views), texts, work.spec.comment, work.fence, again) %}
    {% for unit in facts.units if work.anew and unit.identifier != key %}
        {% do steps.append(ditto._fenced_step('drop', 'drop table if exists ' ~ ditto.table_name(settings.schema, unit.identifier), work.fence)) %}
    {% endfor %}
    {{ return(steps) }}
{% endmacro %}


{% macro _comments_differ(documented, shown) %}
    {% for column in documented if column.comment %}
        {% for there in shown if there.name | lower == column.name | lower and there.comment != column.comment %}
            {{ return(true) }}
        {% endfor %}
    {% endfor %}
    {{ return(false) }}
{% endmacro %}
