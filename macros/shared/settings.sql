{# What every pattern reads from a model's config, validated before any SQL runs. `full_refresh` and `dry` come from the flags. #}
{% macro common_settings(node, pattern, full_refresh=false, dry=false, formats=['delta'], execution_time=none) %}
    {% set file_format = (ditto.option(node, 'file_format') or 'delta') | lower %}
    {% if file_format not in formats %}
        {% do ditto.error(
            ditto.subject(node), 'file_format: ' ~ file_format, 'file_format: ' ~ formats | join(' or '),
            "set file_format='" ~ formats[0] ~ "' in the config of the model"
        ) %}
    {% endif %}
    {% do ditto._check_table_name(node) %}
    {% do ditto.table_properties(node) %}
    {{ return({
        'pattern': pattern,
        'subject': ditto.subject(node),
        'model': node.name,
        'schema': node.schema,
        'identifier': node.alias,
        'relation': ditto.relation_key(node.schema, node.alias),
        'table': ditto.table_name(node.schema, node.alias),
        'execution_time': execution_time or ditto.execution_time(),
        'invocation_id': invocation_id,
        'file_format': file_format,
        'partition_by': ditto.list_option(node, 'partition_by'),
        'cluster_by': ditto._cluster_by(node, file_format),
        'on_schema_change': ditto.choice(node, 'on_schema_change',
            ['ignore', 'fail', 'append_new_columns', 'sync_all_columns'], 'ignore'),
        'dead_letters': ditto.dead_letter_settings(node),
        'full_refresh': full_refresh,
        'dry': dry,
        'leased': false,
        'many_tables': false,
        'chained': false
    }) }}
{% endmacro %}


{# Spark's own catalog takes no others, and to SHOW TABLES `*` and `|` in a name would be a pattern. #}
{% macro _check_table_name(node) %}
    {% if not modules.re.fullmatch('[A-Za-z0-9_]+', node.alias) %}
        {% do ditto.error(ditto.subject(node), 'alias: ' ~ node.alias, 'a table name of letters from a to z, digits and _',
            "change the config of the model, for example alias='" ~ (modules.re.sub('[^A-Za-z0-9_]+', '_', node.alias).strip('_') or 'visits') ~ "'") %}
    {% endif %}
{% endmacro %}


{% macro table_properties(node) %}
    {{ return(ditto.mapping_option(node, 'tblproperties', "{'delta.appendOnly': 'true'}")) }}
{% endmacro %}


{% macro _cluster_by(node, file_format) %}
    {% set columns = ditto.list_option(node, 'cluster_by', ditto.option(node, 'liquid_clustered_by')) %}
    {% if columns and (ditto.list_option(node, 'partition_by') or file_format != 'delta') %}
        {% do ditto.error(
            ditto.subject(node), 'cluster_by: ' ~ columns | join(', ') ~ ' with '
            ~ ('file_format: ' ~ file_format if file_format != 'delta' else 'partition_by'),
            'liquid clustering on a Delta table without partitions', 'remove cluster_by or partition_by from the config of the model'
        ) %}
    {% endif %}
    {{ return(columns) }}
{% endmacro %}


{# dbt calls a custom materialization for --empty and --sample like for a normal run. Their rows are not the increment,
   so they may never be written, let alone enter the ledger. Only --empty is among the flags that Jinja sees. #}
{% macro is_dry_run() %}
    {{ return((flags.EMPTY or invocation_args_dict.get('sample')) and true or false) }}
{% endmacro %}


{# Everything a plan needs to know about the world. Reads only. #}
{% macro gather_facts(node, settings, sql) %}
    {% set ledger = ditto.no_ledger_facts() %}
    {% if sql is not none %}
        {% do ditto.ledger_setup() %}
    {% endif %}
    {# The dry run has no SELECT, and makes no ledger. #}
    {% if sql is not none or ditto.ledger_exists() %}
        {% do ledger.update(ditto.ledger_facts(settings.relation, settings.execution_time, ditto.upstream_relations(node), settings.chained)) %}
    {% endif %}
    {% set known = sql is not none or adapter.check_schema_exists(none, settings.schema) %}
    {% set target = ditto.table_facts(settings.schema, settings.identifier) if known else ditto.no_table_facts() %}
    {% set head = {'version': none, 'at': none} %}
    {% if target.provider == 'delta' and (settings.leased or settings.full_refresh or ledger.unfinished) %}
        {% set head = ditto.commits(settings.table, 1)[0] %}
    {% endif %}
    {% set dead_letters = ditto.dead_letters_facts(settings, sql) %}
    {% set increment = ditto.query_columns(sql) if sql is not none else [] %}
    {% if sql is not none %}
        {% do ditto.refuse_unclear_conditions(settings, increment, target) %}
        {% do ditto.refuse_misfits(settings, increment, target, sql) %}
    {% endif %}
    {{ return({
        'ledger': ledger,
        'target': target,
        'head': head.version,
        'head_at': head.at,
        'head_commit': head,
        'dead_letters': dead_letters,
        'increment': increment,
        'contract': ditto.contract_columns(node) if sql is not none else []
    }) }}
{% endmacro %}


{# The model's SELECT as a subquery can hold it: without the semicolon that people leave at its end. With `settings`: the rows of it
   that no rule of dead_letters stops; everything that a run asks or writes is about those. #}
{% macro increment_sql(compiled_code, settings=none) %}
    {% set sql = compiled_code.strip().rstrip(';').strip() %}
    {% if not settings or not settings.dead_letters %}
        {{ return(sql) }}
    {% endif %}
    {% do settings.dead_letters.update({'raw_sql': sql}) %}
    {{ return(ditto.living_rows_sql(settings.dead_letters, sql)) }}
{% endmacro %}
