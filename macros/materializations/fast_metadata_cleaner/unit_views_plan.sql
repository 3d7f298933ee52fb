{# The view over the units. What it has to be follows from the tables that are there, so a run that died leaves nothing that the
   next one would not mend; and it is touched only if it is something else. Pure. #}

{# The texts of the views: {identifier: text}, those below first, the model's own last. Some metastores (Derby) hold 32,700
   characters of a view, so a longer one becomes a view over views, one for each year or each month. #}
{% macro view_texts(settings, facts, shown, known, limit=30000) %}
    {% set made = ditto.view_columns(settings, facts, shown, known) %}
    {% set lines, items = [], {} %}
    {% for unit in shown %}
        {% set lacks = made.lacks[unit.identifier | lower] %}
        {# Nearly all units lack the same columns. #}
        {% set shared = items.get(lacks | join('`')) or ditto.branch_items(made.columns, lacks) %}
        {% do items.update({lacks | join('`'): shared}) %}
        {% do lines.append({'first': unit.first, 'sql': ditto.unit_branch_sql(settings, unit, made.columns, lacks, shared)}) %}
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
