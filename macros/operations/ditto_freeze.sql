{# Merge closed units of a fast_metadata_cleaner model into one immutable table for each month or year:
   dbt run-operation ditto_freeze --args '{model: visits, into: month}'
   Killed anywhere and run again, it completes: each statement follows from the tables that are there. #}
{% macro ditto_freeze(model, into='month', before=none, dry_run=false) %}
    {% set node = ditto.find_model(model) %}
    {% do ditto.check_freeze(node, into, before, dry_run) %}
    {% set work = ditto.begin_operation(node, 'freeze') %}
    {% set settings = work.settings %}
    {% do ditto.refuse_freezing_others(settings, work.facts.units) %}
    {% set groups = ditto.freeze_groups(settings, work.facts.units, work.ledger.newest, into, before | string if before else none) if work.ledger.newest else [] %}
    {% do ditto.refuse_freezing_stale(settings, groups, ditto._statuses(node)) %}
    {% if not groups and not work.ledger.unfinished %}
        {% do print('ditto: ' ~ model ~ ' has no closed ' ~ into ~ ' to freeze') %}
        {{ return('') }}
    {% endif %}
    {% for group in groups if dry_run %}
        {% do print('ditto: would freeze ' ~ group.units | map(attribute='identifier') | join(', ') ~ ' into ' ~ group.identifier) %}
    {% endfor %}
    {% if dry_run %}
        {{ return('') }}
    {% endif %}
    {% set lease = ditto.claim(work.plan) %}
    {% set fence = ditto.fence_condition(ditto.ledger_table(), settings.relation, lease.token) %}
    {% for group in groups %}
        {% do ditto._freeze_group(settings, work.plan, group, lease, fence) %}
    {% endfor %}
    {% do ditto.finish_operation(work.plan, lease, {'frozen': groups | map(attribute='identifier') | list}) %}
{% endmacro %}


{% macro _freeze_group(settings, plan, group, lease, fence) %}
    {% set facts = ditto.unit_facts(settings) %}
    {% set table = ditto.table_name(settings.schema, group.identifier) %}
    {% set there = ditto.table_facts(settings.schema, group.identifier) %}
    {# Not those whose rows are in a frozen month already, which a run that died has not dropped yet. #}
    {% set sources = dict(group, units=ditto.shown_units(settings.alias, group.units)) %}
    {% set immutable = ditto.has_property(there.properties, 'delta.appendOnly', 'true') %}
    {% set made = ditto.view_columns(settings, facts, sources.units, facts.known) %}
    {# Units are dropped only once their table is immutable: until then all of them are there, and it is made from them again,
       since they may have changed after a run that died here was released. #}
    {% if not immutable %}
        {% do ditto.guarded_write(plan, {'name': 'freeze', 'sql': ditto.fenced_sql(
            ditto.immediate_sql(ditto.freeze_create_sql(settings, sources, made.columns, made.lacks)), fence, script=true)}) %}
        {% set count = ditto._freeze_count(settings, plan, sources, lease) %}
        {% if count['frozen'] != count['units'] %}
            {% do ditto.error(plan.subject, table ~ ' has ' ~ count['frozen'] ~ ' rows, its units have ' ~ count['units'],
                'the same rows; the view still shows the units', 'drop table ' ~ table ~ ', then run ditto_freeze again') %}
        {% endif %}
        {% do ditto.send('immutable', ditto.fenced_sql(ditto.immediate_sql(
            ditto.set_properties_sql(table, {'delta.appendOnly': 'true'})), fence, script=true)) %}
        {% do print('ditto: froze ' ~ sources.units | length ~ ' units into ' ~ group.identifier ~ ', ' ~ count['frozen'] ~ ' rows') %}
    {% endif %}
    {% set frozen = ditto.parse_unit(settings.alias, group.identifier) %}
    {% set units = ditto.shown_units(settings.alias, facts.units | rejectattr('identifier', 'equalto', group.identifier) | list + [frozen]) %}
    {% set known = dict(facts.known, **{group.identifier: there.columns if immutable else made.columns}) %}
    {% for step in ditto.view_steps(settings, facts, ditto.view_texts(settings, facts, units, known), none, fence) %}
        {% do ditto.send(step.name, step.sql) %}
    {% endfor %}
    {% for unit in group.units %}
        {% do ditto.send('drop_unit', ditto.fenced_sql(ditto.immediate_sql(
            'drop table if exists ' ~ ditto.table_name(settings.schema, unit.identifier)), fence, script=true)) %}
    {% endfor %}
{% endmacro %}


{# Whoever takes over drops the units in the end: a run that was only slow finds them gone, and says who has done it. #}
{% macro _freeze_count(settings, plan, sources, lease) %}
    {% set sql = ditto.freeze_count_sql(settings, sources) %}
    {% set found = ditto.fetch(ditto.caught_sql(sql, 'gone', '42P01'))[0] %}
    {% if 'ditto_verdict' in found %}
        {% do ditto.require_lease(plan, lease.token, 'took over this operation') %}
        {% set found = ditto.fetch(sql)[0] %}
    {% endif %}
    {{ return(found) }}
{% endmacro %}
