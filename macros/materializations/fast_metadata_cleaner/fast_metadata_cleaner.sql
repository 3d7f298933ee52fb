{% materialization fast_metadata_cleaner, adapter='spark', supported_languages=['sql'] %}
    {% set settings = ditto.fast_metadata_cleaner_settings(model, should_full_refresh(), ditto.is_dry_run()) %}
    {% set sql = ditto.increment_sql(compiled_code, settings) %}

    {# Hooks before the facts: they may make what the model reads. #}
    {{ run_hooks(pre_hooks) }}

    {% set facts = ditto.fast_metadata_cleaner_facts(model, settings, sql) %}
    {% set plan = ditto.fast_metadata_cleaner_plan(model, settings, facts, sql) %}
    {% set outcome = ditto.run_plan(plan) %}
    {% do ditto.report(plan, outcome) %}

    {% do apply_grants(this, config.get('grants'), should_revoke(facts.view.exists, plan.made_anew)) %}
    {{ run_hooks(post_hooks) }}
    {{ return({'relations': [this.incorporate(type='view')]}) }}
{% endmaterialization %}


{# Besides the common facts about the unit: the tables behind the view, the view, and the executions that may be touched.
   Reads only; the dry run has no SELECT. #}
{% macro fast_metadata_cleaner_facts(node, settings, sql=none) %}
    {% do settings.update({'ledger_table': ditto.ledger_table()}) %}
    {% set facts = ditto.gather_facts(node, settings, sql) %}
    {# dbt makes the schema before it runs a model. #}
    {% do facts.update(ditto.unit_facts(settings, sql is not none)) %}
    {% do ditto.refuse_names_of_models(settings, facts.units, graph.nodes) %}
    {% set recorded = facts.ledger.generation > 0 %}
    {# Of a model that was dropped as a whole nothing is left. A view without tables means that only they were. #}
    {% set left = facts.units or facts.view.exists or facts.ledger.unfinished %}
    {% set executions = ditto.fetch(ditto.unit_executions_sql(settings)) if recorded and left else [] %}
    {% do facts.update({'executions': executions}) %}
    {{ return(facts) }}
{% endmacro %}


{# The tables and views behind a model, from the catalog. `known`: the columns of those that the view does not show yet. #}
{% macro unit_facts(settings, in_schema=false) %}
    {% set facts = {'units': [], 'pending': [], 'chunks': [], 'known': {}, 'view': ditto.no_table_facts()} %}
    {% if not in_schema and not adapter.check_schema_exists(none, settings.schema) %}
        {{ return(facts) }}
    {% endif %}
    {% do facts.update({'view': ditto.table_facts(settings.schema, settings.view_identifier)}) %}
    {% for row in ditto.fetch('show tables in ' ~ ditto.quote(settings.schema) ~ ' like ' ~ ditto.literal(settings.alias ~ '__*')) %}
        {% set unit = ditto.parse_unit(settings.alias, row['tableName']) if not row['isTemporary'] %}
        {% if unit and unit.kind == 'units' %}
            {% do facts.chunks.append(unit.identifier) %}
        {% elif unit %}
            {% do facts.units.append(unit) %}
        {% endif %}
    {% endfor %}
    {% if facts.chunks %}
        {% set views = ditto.views_like(settings.schema, settings.alias ~ '__units_*') %}
        {% do facts.update({'chunks': views | selectattr('identifier', 'in', facts.chunks) | list}) %}
    {% endif %}
    {% set branches = ditto.parse_branches([facts.view.text] + facts.chunks | map(attribute='text') | list) %}
    {% do facts.update({'pending': ditto.pending_frozen(settings.alias, facts.units, branches)}) %}
    {% do facts.update({'units': facts.units | reject('in', facts.pending) | list}) %}
    {% for unit in ditto.shown_units(settings.alias, facts.units) if unit.identifier | lower not in branches %}
        {% do facts.known.update({unit.identifier | lower: ditto.known_table_facts(settings.schema, unit.identifier).columns}) %}
    {% endfor %}
    {{ return(facts) }}
{% endmacro %}


{# The executions of the unit, and those that are not live. One that was given up half-way has to be replayed like a stale one. #}
{% macro unit_executions_sql(settings) %}
select cast(`execution_time` as string) as `time`,
    if(`status` = 'released' and `delta_table_version` is not null, 'stale', `status`) as `status`
from (
{{ ditto.ledger_state_sql(settings.ledger_table, [settings.relation]) }}
)
where `status` <> 'live'
    or (`execution_time` >= {{ ditto.typed_literal(settings.unit.first, 'timestamp_ntz') }}
    and `execution_time` < {{ ditto.typed_literal(settings.unit.until, 'timestamp_ntz') }})
{%- endmacro %}
