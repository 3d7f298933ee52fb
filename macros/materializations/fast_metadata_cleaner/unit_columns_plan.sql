{# Which columns the view has to show, and which of them each table has: from the texts of the views, so that no table has to be
   described for it. Pure. #}

{# The tables that a view shows and, for each, the text of its columns. `texts`: of the view and of those below it. #}
{% macro parse_branches(texts) %}
    {% set branches = {} %}
    {% for text in texts %}
        {% for line in text.splitlines() if line.startswith('select ') and ' from ' in line %}
            {% set columns, table = line[7:].rsplit(' from ', 1) %}
            {% do branches.update({(table.split('`.`') | last).rstrip('`') | replace('``', '`') | lower: columns}) %}
        {% endfor %}
    {% endfor %}
    {{ return(branches) }}
{% endmacro %}


{# Does a table of the view lack this column? What it has stands there by its bare name; a null, or a technical column that the
   config called so before, is given the name by `as`. #}
{% macro branch_lacks(text, name) %}
    {{ return(text != '' and ditto._item(name) not in (', ' ~ text ~ ', ') | lower) }}
{% endmacro %}


{% macro _item(name) %}
    {{ return((', ' ~ ditto.quote(name) ~ ', ') | lower) }}
{% endmacro %}


{# Columns of the view in its own order, then new ones. `known`: {identifier: columns} of tables that were described, or that this run
   is about to make; of the others the view tells which columns they have. Gives `columns`, and `lacks` for each table.
   There may be hundreds of tables with hundreds of columns, so nothing is worked out twice. #}
{% macro view_columns(settings, facts, shown, known) %}
    {% set technical = [settings.execution_time_column, settings.unit_column] | select | map('lower') | list + ['_ditto_execution_time'] %}
    {% set candidates, have, before = {}, {}, ditto.lower_names(facts.view.columns) %}
    {% for columns in [facts.view.columns] + known.values() | list %}
        {% for column in columns if column.name | lower not in candidates and column.name | lower not in technical %}
            {% do candidates.update({column.name | lower: {'name': column.name, 'type': column.type, 'item': ditto._item(column.name)}}) %}
        {% endfor %}
    {% endfor %}
    {% for identifier, columns in known.items() %}
        {% do have.update({identifier: ditto.lower_names(columns)}) %}
    {% endfor %}
    {% set branches = ditto.parse_branches([facts.view.text] + facts.chunks | map(attribute='text') | list) %}
    {% set lacks, present = {}, {} %}
    {% for unit in shown %}
        {% set key = unit.identifier | lower %}
        {% set text = (', ' ~ branches.get(key, '') ~ ', ') | lower %}
        {% set missing = [] %}
        {% for name, column in candidates.items() %}
            {% set has = name in have[key] if key in have else name in before and (column.item in text or key not in branches) %}
            {% if has %}
                {% do present.update({name: true}) %}
            {% else %}
                {% do missing.append(name) %}
            {% endif %}
        {% endfor %}
        {% do lacks.update({key: missing}) %}
    {% endfor %}
    {# A column that no table has any more goes; without any table the view shows what the SELECT gives. #}
    {% set columns = [] %}
    {% for name, column in candidates.items() if name in present or not shown %}
        {% do columns.append(column) %}
    {% endfor %}
    {{ return({'columns': ditto._newest_types(columns, known), 'lacks': lacks}) }}
{% endmacro %}


{# Only for the nulls of tables that lack a column: what a table was described with is truer than what the view had before. #}
{% macro _newest_types(columns, known) %}
    {% set types = {} %}
    {% for described in known.values() %}
        {% for column in described %}
            {% do types.update({column.name | lower: column.type}) %}
        {% endfor %}
    {% endfor %}
    {% set typed = [] %}
    {% for column in columns %}
        {% do typed.append({'name': column.name, 'type': types.get(column.name | lower, column.type)}) %}
    {% endfor %}
    {{ return(typed) }}
{% endmacro %}
