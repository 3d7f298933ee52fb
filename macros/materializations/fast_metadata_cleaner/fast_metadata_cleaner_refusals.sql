{# What the columns of the SELECT, and what stands under the model's name, may not be. Pure. #}

{# A table of another model that is called like a unit would be shown, and dropped by a full refresh. #}
{% macro refuse_names_of_models(settings, units, nodes) %}
    {% set keys = {} %}
    {% for unit in units %}
        {% do keys.update({ditto.relation_key(settings.schema, unit.identifier): true}) %}
    {% endfor %}
    {% for node in nodes.values() if node.resource_type in ('model', 'seed', 'snapshot')
        and ditto.relation_key(node.schema, node.alias) in keys %}
        {% do ditto.error(settings.subject, node.resource_type ~ ' ' ~ node.name ~ ', whose table ' ~ node.alias ~ ' is called like a table of this model',
            'names that begin with ' ~ settings.alias ~ '__ for its own tables alone', 'give it another alias') %}
    {% endfor %}
{% endmacro %}


{% macro _check_unit_columns(settings, facts, decision, spec) %}
    {% for option in ('execution_time_column', 'unit_column') if (settings[option] or '') | lower in ditto.lower_names(facts.increment) %}
        {% do ditto.error(settings.subject, option ~ ': ' ~ settings[option] ~ ', which is a column of the SELECT too', 'another name',
            'rename the column in the model, or change ' ~ option) %}
    {% endfor %}
    {# TRUNCATE keeps the columns, so it does not help a unit that lacks one, unless new ones are added. #}
    {% set keeps = settings.reset == 'truncate' and settings.on_schema_change == 'ignore' and decision.mode != 'full_refresh' and facts.target.exists %}
    {% for column in spec.columns if column.not_null and (keeps or not decision.reset) and column.name | lower not in ditto.lower_names(facts.target.columns) %}
        {% if keeps %}
            {% do ditto.error(settings.subject, 'a required column ' ~ column.name ~ ' that ' ~ settings.table ~ ' does not have, and reset: truncate, which keeps its columns',
                'a reset that gives the unit the column', "set reset='replace' or on_schema_change='append_new_columns', then replay "
                ~ settings.unit.label ~ ' from its first execution on') %}
        {% endif %}
        {% do ditto.error(settings.subject, 'a required column ' ~ column.name ~ ' that ' ~ settings.table ~ ' does not have',
            'to replay ' ~ settings.unit.label ~ ' from its first execution on, which makes its table anew',
            'dbt run-operation ditto_plan --args \'{model: ' ~ settings.model ~ ', from: ' ~ settings.unit.first ~ ', to: ' ~ settings.execution_time[:10]
            ~ '}\' shows the executions') %}
    {% endfor %}
    {% set others = facts.units | rejectattr('identifier', 'equalto', settings.identifier | lower) | list %}
    {% if settings.dry or decision.mode == 'full_refresh' or not facts.view.exists or not decision.reset %}
        {{ return('') }}
    {% endif %}
    {% if settings.on_schema_change == 'fail' and facts.units %}
        {% set technical = [settings.execution_time_column, settings.unit_column] | select | map('lower') | list %}
        {% set shown = [] %}
        {% for column in facts.view.columns if column.name | lower not in technical %}{% do shown.append(column) %}{% endfor %}
        {% do ditto._refuse_change(dict(settings, table=settings.view), ditto.columns_not_in(facts.increment, shown),
            ditto.columns_not_in(shown, facts.increment), ditto.changed_types(facts.increment, shown)) %}
    {% endif %}
    {# What only this unit has may change: in the others it is null. #}
    {% set theirs = ditto.view_columns(settings, facts, ditto.shown_units(settings.alias, others), facts.known).columns if others else [] %}
    {% set changed = ditto.narrowing(facts.increment, theirs) %}
    {% if changed %}
        {% do ditto.error(
            settings.subject, 'columns with another type than in the other units: ' ~ changed | join(', '),
            'the same types, or wider whole numbers: one view shows all units',
            'cast them in the SELECT, or make the model anew: ' ~ ditto.run_command(settings.model, settings.execution_time, ' --full-refresh')
        ) %}
    {% endif %}
{% endmacro %}


{# Columns that cannot stand under each other without a loss: only whole numbers, and float and double, widen. #}
{% macro narrowing(increment, columns) %}
    {% set families = [['tinyint', 'smallint', 'int', 'bigint'], ['float', 'double']] %}
    {% set changed = [] %}
    {% for column in increment %}
        {% for there in columns if there.name | lower == column.name | lower and there.type != column.type %}
            {% set same = [] %}
            {% for family in families if column.type in family and there.type in family %}
                {% do same.append(true) %}
            {% endfor %}
            {% if not same %}
                {% do changed.append(column.name ~ ' (' ~ there.type ~ ' -> ' ~ column.type ~ ')') %}
            {% endif %}
        {% endfor %}
    {% endfor %}
    {{ return(changed) }}
{% endmacro %}


{# Required columns of an enforced contract, and since when the units have them. A unit that lacks one has to be replayed. #}
{% macro units_without_required(node, settings, facts) %}
    {% if not (node.config.get('contract') or {}).get('enforced') %}
        {{ return([]) }}
    {% endif %}
    {% set branches = ditto.parse_branches([facts.view.text] + facts.chunks | map(attribute='text') | list) %}
    {% set found = [] %}
    {% for name, column in (node.columns or {}).items() if 'not_null' in (column.get('constraints') or []) | map(attribute='type') | list %}
        {% for unit in ditto.shown_units(settings.alias, facts.units) | reverse
            if ditto.branch_lacks(branches.get(unit.identifier | lower, ''), name) or name | lower not in ditto.lower_names(facts.view.columns) %}
            {% do found.append({'column': name, 'unit': unit.identifier, 'first': unit.first, 'frozen': unit.kind == 'frozen'}) %}
        {% endfor %}
    {% endfor %}
    {{ return(found) }}
{% endmacro %}
