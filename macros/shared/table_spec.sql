{# The table that a model's config, docs and contract describe. #}

{% macro table_spec(node, settings, increment, contract=[], properties={}) %}
    {% do ditto.check_columns(settings, increment) %}
    {% do ditto.check_contract(settings, increment, contract) %}
    {% set docs = node.config.get('persist_docs') or {} %}
    {% set columns = [] %}
    {% for column in contract or increment %}
        {% set documented = ditto.documented_column(node, column.name) %}
        {% do columns.append({
            'name': column.name,
            'type': column.get('declared', column.type),
            'not_null': contract and 'not_null' in (documented.get('constraints') or []) | map(attribute='type') | list,
            'comment': (documented.get('description') or '') if docs.get('columns') else ''
        }) %}
    {% endfor %}
    {% set root = ditto.option(node, 'location_root') %}
    {% set given = ditto.table_properties(node) %}
    {% do ditto._check_letters(settings, increment, given) %}
    {{ return({
        'columns': columns,
        'file_format': settings.file_format,
        'partition_by': settings.partition_by,
        'cluster_by': settings.cluster_by,
        'location': root ~ '/' ~ settings.identifier if root else none,
        'comment': node.description if docs.get('relation') and node.description else none,
        'properties': dict(dict(properties, **(ditto._check_properties(node) if contract else {})), **given),
        'upkeep': given
    }) }}
{% endmacro %}


{% macro documented_column(node, name) %}
    {% for key, column in (node.columns or {}).items() if key | lower == name | lower %}
        {{ return(column) }}
    {% endfor %}
    {{ return({}) }}
{% endmacro %}


{# CHECK constraints of the contract, of the model and of its columns, as Delta wants them at creation. #}
{% macro _check_properties(node) %}
    {% set constraints = (node.constraints or []) | list %}
    {% for column in (node.columns or {}).values() %}
        {% do constraints.extend(column.get('constraints') or []) %}
    {% endfor %}
    {% set properties = {} %}
    {% for constraint in constraints if constraint.type == 'check' %}
        {% set name = constraint.name or 'check_' ~ local_md5(constraint.expression)[:8] %}
        {% do properties.update({'delta.constraints.' ~ name: constraint.expression}) %}
    {% endfor %}
    {{ return(properties) }}
{% endmacro %}


{% macro check_columns(settings, increment) %}
    {% set seen = [] %}
    {% for name in ditto.lower_names(increment) %}
        {% if name in seen or name.startswith('_ditto_') %}
            {% do ditto.error(
                settings.subject, 'column ' ~ name ~ (' twice in' if name in seen else ' in') ~ ' the SELECT',
                'each column once, and none that begins with _ditto_', 'rename the column in the model'
            ) %}
        {% endif %}
        {% do seen.append(name) %}
    {% endfor %}
    {% if increment and increment | rejectattr('type', 'equalto', 'void') | list == [] %}
        {% do ditto.error(settings.subject, 'nothing but null in the SELECT', 'at least one column that has a type',
            'cast it in the model, for example cast(null as string) as name') %}
    {% endif %}
    {% do ditto.require_columns(settings, 'partition_by', settings.partition_by, increment) %}
    {% do ditto.require_columns(settings, 'cluster_by', settings.cluster_by, increment) %}
{% endmacro %}


{# Found before the table is made: Delta says so only then, and deep in the log. #}
{% macro _check_letters(settings, increment, properties) %}
    {% set mapped = properties.get('delta.columnMapping.mode') in ('name', 'id') %}
    {% for column in increment if settings.file_format == 'delta' and not mapped and modules.re.search('[ ,;{}()\n\t=]', column.name) %}
        {% do ditto.error(settings.subject, 'column ' ~ ditto.quote(column.name) ~ ' in the SELECT', 'names without spaces and any of , ; { } ( ) =',
            "rename the column in the model, or add tblproperties={'delta.columnMapping.mode': 'name'} to its config") %}
    {% endfor %}
{% endmacro %}


{% macro require_columns(settings, option, names, columns) %}
    {% for name in names if name | lower not in ditto.lower_names(columns) %}
        {% do ditto.error(
            settings.subject, option ~ ': ' ~ name ~ ', which the SELECT does not give',
            'one of its columns: ' ~ columns | map(attribute='name') | join(', '),
            'add the column to the SELECT or correct ' ~ option
        ) %}
    {% endfor %}
{% endmacro %}


{# An enforced contract: the columns of the yml with their types, the way Spark spells them. #}
{% macro contract_columns(node) %}
    {% if not (node.config.get('contract') or {}).get('enforced') %}
        {{ return([]) }}
    {% endif %}
    {% set casts = [] %}
    {% for column in node.columns.values() %}
        {% do casts.append('cast(null as ' ~ column.data_type ~ ') as ' ~ ditto.quote(column.name)) %}
    {% endfor %}
    {% set columns = ditto.query_columns('select ' ~ casts | join(', ')) %}
    {% for column in columns %}
        {% do column.update({'declared': ditto.documented_column(node, column.name).data_type}) %}
    {% endfor %}
    {{ return(columns) }}
{% endmacro %}


{% macro check_contract(settings, increment, contract) %}
    {% if contract %}
        {% set new = ditto.columns_not_in(increment, contract) %}
        {% set gone = ditto.columns_not_in(contract, increment) %}
        {% set changed = ditto.changed_types(increment, contract) %}
        {% if new or gone or changed %}
            {% do ditto.error(
                settings.subject, 'a SELECT that differs from the enforced contract - not in the contract: '
                ~ (ditto.lower_names(new) | join(', ') or 'none') ~ '; not in the SELECT: '
                ~ (ditto.lower_names(gone) | join(', ') or 'none') ~ '; other types: ' ~ (changed | join(', ') or 'none'),
                'the columns and types of the contract', 'change the SELECT or the columns in the yml of the model'
            ) %}
        {% endif %}
    {% endif %}
{% endmacro %}
