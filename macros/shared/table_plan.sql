{# The steps that bring the table to what the model describes, before anything is written to it. Pure. #}

{# Gives `steps` and `columns`. With `anew` (full refresh) the table is replaced, otherwise made if missing or altered. #}
{% macro plan_table(settings, facts, spec, anew=false, fence=none) %}
    {% set target = facts.target %}
    {% if anew or not target.exists %}
        {% set columns = [] %}
        {% for column in spec.columns %}
            {% do columns.append({'name': column.name, 'type': column.type, 'given': true}) %}
        {% endfor %}
        {{ return({'steps': ditto._creation_steps(settings, target, spec, fence), 'columns': columns}) }}
    {% endif %}
    {% do ditto.refuse_foreign(settings, target) %}
    {% set change = ditto.plan_columns(settings, facts.increment, target) %}
    {% do change.steps.extend(ditto._upkeep_steps(settings, target, spec)) %}
    {{ return(change) }}
{% endmacro %}


{% macro _creation_steps(settings, target, spec, fence) %}
    {% set create = ditto.create_table_sql(settings.table, spec) %}
    {% if not target.exists %}
        {{ return([{'kind': 'sql', 'name': 'create_table', 'sql': ditto.create_if_missing_sql(create)}]) }}
    {% endif %}
    {% if target.type == 'table' and target.provider == 'delta' and settings.file_format == 'delta' %}
        {# Keeps the table's history. #}
        {% set statements = [['replace_table', ditto.create_table_sql(settings.table, spec, replace=true)]] %}
    {% else %}
        {% set statements = [['drop_' ~ target.type, 'drop ' ~ target.type ~ ' if exists ' ~ settings.table], ['create_table', create]] %}
    {% endif %}
    {% set steps = [] %}
    {% for name, sql in statements %}
        {% do steps.append({'kind': 'sql', 'name': name, 'sql': ditto.fenced_sql(ditto.immediate_sql(sql), fence, script=true)}) %}
    {% endfor %}
    {{ return(steps) }}
{% endmacro %}


{% macro property_steps(settings, target, spec) %}
    {% set changed = {} %}
    {% for key, value in spec.upkeep.items() %}
        {% set text = (value | string | lower) if value is boolean else value | string %}
        {% if not ditto.has_property(target.properties, key, text) %}
            {% do changed.update({key: text}) %}
        {% endif %}
    {% endfor %}
    {{ return([{'kind': 'sql', 'name': 'properties', 'sql': ditto.set_properties_sql(settings.table, changed)}] if changed else []) }}
{% endmacro %}


{# Docs and properties that differ from the table's. Only those: each ALTER is a version of its own. #}
{% macro _upkeep_steps(settings, target, spec) %}
    {% set steps = ditto.property_steps(settings, target, spec) %}
    {% if spec.comment and spec.comment != target.comment %}
        {% do steps.append({'kind': 'sql', 'name': 'comment', 'sql': ditto.comment_table_sql(settings.table, spec.comment)}) %}
    {% endif %}
    {% for column in spec.columns if column.comment %}
        {% for existing in target.columns
            if existing.name | lower == column.name | lower and existing.comment != column.comment %}
            {% do steps.append({'kind': 'sql', 'name': 'column_comment',
                'sql': ditto.comment_column_sql(settings.table, existing.name, column.comment)}) %}
        {% endfor %}
    {% endfor %}
    {{ return(steps) }}
{% endmacro %}


{# For a table that was made with its rows, which takes no comments. #}
{% macro column_comment_steps(settings, spec, fence) %}
    {% set steps = [] %}
    {% for column in spec.columns if column.comment %}
        {% do steps.append(ditto._fenced_step('column_comment', ditto.comment_column_sql(settings.table, column.name, column.comment), fence)) %}
    {% endfor %}
    {{ return(steps) }}
{% endmacro %}


{# `properties` is the text that DESCRIBE gives: [a=b,c=d]. Whole pairs are compared: a=1 is not in [a=10]. #}
{% macro has_property(properties, key, value) %}
    {{ return((',' ~ key ~ '=' ~ value ~ ',') in ',' ~ properties[1:-1] ~ ',') }}
{% endmacro %}


{# Something else stands under the name of the table. It is never replaced without being asked to. #}
{% macro refuse_foreign(settings, target) %}
    {% set kind = 'a view' if target.type == 'view' else 'a ' ~ target.provider ~ ' table' %}
    {% if target.type == 'view' or target.provider != settings.file_format %}
        {% do ditto.error(
            settings.subject, kind ~ ' under the name ' ~ settings.table,
            'a ' ~ settings.file_format ~ ' table, or nothing',
            'rename or drop it, or replace it: ' ~ ditto.run_command(settings.model, settings.execution_time, ' --full-refresh')
        ) %}
    {% endif %}
{% endmacro %}


{# A table under the name of a model whose name is a view. `view`: what stands there, `expected`: what should. #}
{% macro refuse_table_under_view(settings, view, expected) %}
    {% if view.exists and view.type != 'view' %}
        {% do ditto.error(
            settings.subject, 'a table under the name ' ~ settings.view, expected ~ ', or nothing',
            'keep it under another name: alter table ' ~ settings.view ~ ' rename to ' ~ ditto.table_name(settings.schema, settings.alias ~ '_before')
            ~ ', then run again'
        ) %}
    {% endif %}
{% endmacro %}
