{# Add the columns that newer units have, or that the yml declares with a data_type, to the units that lack them:
   dbt run-operation ditto_evolve_units --args '{model: visits}'
   Their rows have null in it, as the view showed before; frozen units stay as they are. A column that may not be null is left out:
   a unit without it has to be replayed, and ditto_plan says which. #}
{% macro ditto_evolve_units(model) %}
    {% set node = ditto.find_model(model) %}
    {% if node.config.materialized != 'fast_metadata_cleaner' %}
        {% do ditto.error('ditto_evolve_units of ' ~ model, 'a ' ~ node.config.materialized ~ ' model', 'a fast_metadata_cleaner model', 'name another model') %}
    {% endif %}
    {% set work = ditto.begin_operation(node, 'evolve_units') %}
    {% set settings, facts = work.settings, work.facts %}
    {% set shown = ditto.shown_units(settings.alias, facts.units) %}
    {% set branches = ditto.parse_branches([facts.view.text] + facts.chunks | map(attribute='text') | list) %}
    {% set declared = ditto.declared_columns(node, facts.view.columns) %}
    {% if declared %}
        {# A type that Spark does not know fails here, where nothing is claimed yet. #}
        {% do ditto.query_columns(ditto.no_branch_sql({'execution_time_column': none, 'unit_column': none}, declared)) %}
    {% endif %}
    {% set wanted = ditto.view_columns(settings, facts, shown, facts.known).columns + declared %}
    {% set changes = [] %}
    {% for unit in shown if unit.kind != 'frozen' %}
        {% set missing = ditto.missing_columns(ditto.optional_columns(node, wanted), facts, branches, unit) %}
        {% if missing %}
            {# The view tells what a unit lacked when it was made; a run of this operation may have died since. #}
            {% set columns = ditto.table_facts(settings.schema, unit.identifier).columns %}
            {% do facts.known.update({unit.identifier | lower: columns + ditto.columns_not_in(missing, columns)}) %}
            {% do changes.append({'unit': unit, 'columns': ditto.columns_not_in(missing, columns)}) %}
        {% endif %}
    {% endfor %}
    {% if not changes and not work.ledger.unfinished %}
        {% do print('ditto: every unit of ' ~ model ~ ' has every column') %}
        {{ return('') }}
    {% endif %}
    {% set lease = ditto.claim(work.plan) %}
    {% set fence = ditto.fence_condition(ditto.ledger_table(), settings.relation, lease.token) %}
    {% for change in changes if change.columns %}
        {% set alter = ditto.add_columns_sql(ditto.table_name(settings.schema, change.unit.identifier), change.columns) %}
        {% do ditto.send('evolve', ditto.fenced_sql(ditto.immediate_sql(alter), fence, script=true)) %}
        {% do print('ditto: ' ~ change.unit.identifier ~ ' has ' ~ change.columns | map(attribute='name') | join(', ') ~ ' now') %}
    {% endfor %}
    {% for step in ditto.view_steps(settings, facts, ditto.view_texts(settings, facts, shown, facts.known), none, fence) %}
        {% do ditto.send(step.name, step.sql) %}
    {% endfor %}
    {% do ditto.finish_operation(work.plan, lease, {'evolved': changes | length}) %}
{% endmacro %}


{% macro missing_columns(wanted, facts, branches, unit) %}
    {% set key = unit.identifier | lower %}
    {% set missing = [] %}
    {% for column in wanted %}
        {% set has = column.name | lower in ditto.lower_names(facts.known[key]) if key in facts.known
            else column.name | lower in ditto.lower_names(facts.view.columns) and not ditto.branch_lacks(branches.get(key, ''), column.name) %}
        {% if not has %}
            {% do missing.append(column) %}
        {% endif %}
    {% endfor %}
    {{ return(missing) }}
{% endmacro %}


{# Those that an enforced contract lets be null. #}
{% macro optional_columns(node, columns) %}
    {% set enforced = (node.config.get('contract') or {}).get('enforced') %}
    {% set optional = [] %}
    {% for column in columns %}
        {% set constraints = ditto.documented_column(node, column.name).get('constraints') or [] %}
        {% if not enforced or 'not_null' not in constraints | map(attribute='type') | list %}
            {% do optional.append(column) %}
        {% endif %}
    {% endfor %}
    {{ return(optional) }}
{% endmacro %}


{# Columns that the yml declares and the view does not have yet. What the view makes itself is no column of a unit. #}
{% macro declared_columns(node, columns) %}
    {% set declared = [] %}
    {% set made = [ditto.option(node, 'execution_time_column'), ditto.option(node, 'unit_column')] | select | map('lower') | list %}
    {% for name, column in (node.columns or {}).items() if column.get('data_type') and name | lower not in ditto.lower_names(columns) + made %}
        {% do declared.append({'name': name, 'type': column.data_type}) %}
    {% endfor %}
    {{ return(declared) }}
{% endmacro %}
