{# The view over the units. What it has to be follows from the tables that are there, so a run that died leaves nothing that the
   next one would not mend; and it is touched only if it is something else. Pure. #}

{# The tables that a view shows and, for each, the text of its columns. `views`: the texts of the view and of those below it. #}
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


{# Does a table of the view lack this column? Only then its text has a cast that ends in its name. #}
{% macro branch_lacks(text, name) %}
    {{ return((') as ' ~ ditto.quote(name)) in text) }}
{% endmacro %}


{# Columns of the view in its own order, then new ones. `known`: {identifier: columns} of tables that were described, or that this run
   is about to make; of the others the view tells which columns they have. Gives `columns`, and `lacks` for each table. #}
{% macro view_columns(settings, facts, shown, known) %}
    {% set technical = [settings.execution_time_column, settings.unit_column] | select | map('lower') | list + ['_ditto_execution_time'] %}
    {% set candidates, names = [], [] %}
    {% set described = [facts.view.columns] + known.values() | list %}
    {% for columns in described %}
        {% for column in columns if column.name | lower not in names + technical %}
            {% do candidates.append({'name': column.name, 'type': column.type}) %}
            {% do names.append(column.name | lower) %}
        {% endfor %}
    {% endfor %}
    {% set branches = ditto.parse_branches([facts.view.text] + facts.chunks | map(attribute='text') | list) %}
    {% set lacks, present = {}, [] %}
    {% for unit in shown %}
        {% set key = unit.identifier | lower %}
        {% set missing = [] %}
        {% for column in candidates %}
            {% set has = column.name | lower in ditto.lower_names(known[key]) if key in known
                else column.name | lower in ditto.lower_names(facts.view.columns) and not ditto.branch_lacks(branches.get(key, ''), column.name) %}
            {% do (present if has else missing).append(column.name | lower) %}
        {% endfor %}
        {% do lacks.update({key: missing}) %}
    {% endfor %}
    {# A column that no table has any more goes; without any table the view shows what the SELECT gives. #}
    {% set columns = [] %}
    {% for column in candidates if column.name | lower in present or not shown %}
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


{# The texts of the views: {identifier: text}, those below first, the model's own last. Some metastores (Derby) hold 32,700
   characters of a view, so a longer one becomes a view over views, one for each year or each month. #}
{% macro view_texts(settings, facts, shown, known, limit=30000) %}
    {% set made = ditto.view_columns(settings, facts, shown, known) %}
    {% set lines = [] %}
    {% for unit in shown %}
        {% do lines.append({'first': unit.first, 'sql': ditto.unit_branch_sql(settings, unit, made.columns, made.lacks[unit.identifier | lower])}) %}
    {% endfor %}
    {% set flat = ditto._union(lines) or ditto.no_branch_sql(settings, made.columns) %}
    {% if flat | length <= limit %}
        {{ return({settings.view_identifier: flat}) }}
    {% endif %}
    {% for length in (4, 7) %}
        {% set texts, branches = {}, [] %}
        {% for stretch in lines | map(attribute='first') | map('truncate', length, true, '', 0) | unique %}
            {% set identifier = settings.alias ~ '__units_' ~ stretch.replace('-', '') %}
            {% do texts.update({identifier: ditto._union(ditto._lines_of(lines, stretch))}) %}
            {% do branches.append({'sql': ditto.chunk_branch_sql(settings, identifier, made.columns)}) %}
        {% endfor %}
        {% set fits = texts.values() | map('length') | select('gt', limit) | list == [] %}
        {% if fits or length == 7 %}
            {% do texts.update({settings.view_identifier: ditto._union(branches)}) %}
            {{ return(texts) }}
        {% endif %}
    {% endfor %}
{% endmacro %}


{% macro _lines_of(lines, stretch) %}
    {% set found = [] %}
    {% for line in lines if line.first.startswith(stretch) %}
        {% do found.append(line) %}
    {% endfor %}
    {{ return(found) }}
{% endmacro %}


{% macro _union(lines) %}
    {{ return(lines | map(attribute='sql') | join('\nunion all\n')) }}
{% endmacro %}


{# The statements that bring the views to these texts. What is below a view is there before it, and goes after it. #}
{% macro view_steps(settings, facts, texts, comment=none, fence=none, again=false) %}
    {% set steps = [] %}
    {% for identifier, text in texts.items() %}
        {% set main = identifier == settings.view_identifier %}
        {% set there = facts.view if main else ditto.find_chunk(facts, identifier) %}
        {% set described = comment if main else 'ditto: a part of ' ~ settings.relation %}
        {% if not there.exists or there.text != text or (described or '') not in ('', there.comment) or again %}
            {% do steps.append(ditto._fenced_step('view', ditto.view_sql(ditto.table_name(settings.schema, identifier), text, there, described), fence)) %}
        {% endif %}
    {% endfor %}
    {% set wanted = ditto.lower_names(texts | list) %}
    {% for chunk in facts.chunks if chunk.identifier | lower not in wanted %}
        {% do steps.append(ditto._fenced_step('drop_view', 'drop view if exists ' ~ ditto.table_name(settings.schema, chunk.identifier), fence)) %}
    {% endfor %}
    {{ return(steps) }}
{% endmacro %}


{% macro find_chunk(facts, identifier) %}
    {% for chunk in facts.chunks if chunk.identifier | lower == identifier | lower %}
        {{ return(chunk) }}
    {% endfor %}
    {{ return({'exists': false, 'text': '', 'comment': none}) }}
{% endmacro %}
