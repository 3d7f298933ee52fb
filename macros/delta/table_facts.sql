{# What is there now, from the catalog and the table itself, never from dbt's cache. Reads only. #}

{% macro no_table_facts() %}
    {{ return({'exists': false, 'type': none, 'provider': none, 'columns': [], 'partition_by': [], 'comment': none, 'properties': '', 'text': ''}) }}
{% endmacro %}


{% macro table_facts(schema, identifier) %}
    {% set facts = ditto.no_table_facts() %}
    {% set found = [] %}
    {% for row in ditto.fetch('show tables in ' ~ ditto.quote(schema) ~ ' like ' ~ ditto.literal(identifier)) %}
        {% if row['tableName'] | lower == identifier | lower and not row['isTemporary'] %}
            {% do found.append(row) %}
        {% endif %}
    {% endfor %}
    {{ return(ditto.known_table_facts(schema, identifier) if found else facts) }}
{% endmacro %}


{# The names of tables and views, in lower case. `pattern` as in SHOW TABLES: `*` stands for anything, `|` parts alternatives. #}
{% macro tables_like(schema, pattern) %}
    {% set names = [] %}
    {% for row in ditto.fetch('show tables in ' ~ ditto.quote(schema) ~ ' like ' ~ ditto.literal(pattern)) if not row['isTemporary'] %}
        {% do names.append(row['tableName'] | lower) %}
    {% endfor %}
    {{ return(names) }}
{% endmacro %}


{# Of a table that the catalog has listed. #}
{% macro known_table_facts(schema, identifier) %}
    {% set described = ditto.parse_description(ditto.fetch('describe extended ' ~ ditto.table_name(schema, identifier))) %}
    {{ return(dict(ditto.no_table_facts(), exists=true, **described)) }}
{% endmacro %}


{# The text and the comment of views, in one statement for all of them: a model with many units has many. #}
{% macro views_like(schema, pattern) %}
    {% set views = [] %}
    {% for row in ditto.fetch('show table extended in ' ~ ditto.quote(schema) ~ ' like ' ~ ditto.literal(pattern)) if not row['isTemporary'] %}
        {% do views.append(dict(ditto.no_table_facts(), exists=true, identifier=row['tableName'] | lower,
            **ditto.parse_information(row['information']))) %}
    {% endfor %}
    {{ return(views) }}
{% endmacro %}


{# What SHOW TABLE EXTENDED tells of a view: lines of `name: value`, of which the text has many. #}
{% macro parse_information(information) %}
    {% set text = modules.re.search('(?s)\nView Text: (.*?)\nView [A-Z][A-Za-z ]+: ', information) %}
    {% set comment = modules.re.search('\nComment: (.*)', information) %}
    {{ return({
        'type': 'view' if '\nType: VIEW' in information else 'table',
        'text': text.group(1) if text else '',
        'comment': comment.group(1) if comment else ''
    }) }}
{% endmacro %}


{# The rows of DESCRIBE EXTENDED: columns, then sections that begin with a `#` line. #}
{% macro parse_description(rows) %}
    {% set columns, partition_by, details = [], [], {} %}
    {% set place = namespace(section='') %}
    {% for row in rows %}
        {% set name = row['col_name'] or '' %}
        {% if name.startswith('# ') %}
            {% set place.section = place.section if name == '# col_name' else name %}
        {% elif name == '' %}
            {% set place.section = 'none' %}
        {% elif place.section == '' %}
            {% do columns.append({'name': name, 'type': row['data_type'], 'comment': row['comment'] or ''}) %}
        {% elif place.section == '# Partition Information' %}
            {% do partition_by.append(name) %}
        {% elif place.section == '# Detailed Table Information' %}
            {% do details.update({name: row['data_type'] or ''}) %}
        {% endif %}
    {% endfor %}
    {{ return({
        'columns': columns, 'partition_by': partition_by,
        'type': 'view' if details.get('Type') == 'VIEW' else 'table',
        'provider': details.get('Provider', '') | lower,
        'comment': details.get('Comment', ''),
        'properties': details.get('Table Properties', ''),
        'text': details.get('View Text', '')
    }) }}
{% endmacro %}


{# Names and types of the model's SELECT, without running it. #}
{% macro query_columns(sql) %}
    {% set columns = [] %}
    {% for row in ditto.fetch('describe query select * from (\n' ~ sql ~ '\n)') %}
        {% do columns.append({'name': row['col_name'], 'type': row['data_type']}) %}
    {% endfor %}
    {{ return(columns) }}
{% endmacro %}


{# The newest commits of a Delta table, newest first. #}
{% macro commits(table, limit) %}
    {% set commits = [] %}
    {% for row in ditto.fetch('describe history ' ~ table ~ ' limit ' ~ limit) %}
        {% set metrics = row['operationMetrics'] %}
        {% set parameters = (row['operationParameters'] or '') | string %}
        {% set restored = modules.re.search('version\\W+([0-9]+)', parameters) if row['operation'] == 'RESTORE' else none %}
        {% do commits.append({
            'version': row['version'] | int,
            'read_version': none if row['readVersion'] is none else row['readVersion'] | int,
            'operation': row['operation'],
            'user': row['userName'],
            'at': row['timestamp'] | string,
            'restored': restored.group(1) | int if restored else none,
            'tag': ditto.parse_tag((row['userMetadata'] or '') ~ ' ' ~ parameters),
            'metrics': (fromjson(metrics) if metrics is string else metrics) or {}
        }) %}
    {% endfor %}
    {{ return(commits) }}
{% endmacro %}
