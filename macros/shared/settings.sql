{# What every pattern reads from a model's config, validated before any SQL runs. `full_refresh` and `dry` come from the flags. #}
{% macro common_settings(node, pattern, full_refresh=false, dry=false, formats=['delta']) %}
    {% set file_format = (ditto.option(node, 'file_format') or 'delta') | lower %}
    {% if file_format not in formats %}
        {% do ditto.error(
            ditto.subject(node), 'file_format: ' ~ file_format, 'file_format: ' ~ formats | join(' or '),
            "set file_format='" ~ formats[0] ~ "' in the config of the model"
        ) %}
    {% endif %}
    {{ return({
        'pattern': pattern,
        'subject': ditto.subject(node),
        'model': node.name,
        'schema': node.schema,
        'identifier': node.alias,
        'relation': ditto.relation_key(node.schema, node.alias),
        'table': ditto.table_name(node.schema, node.alias),
        'execution_time': ditto.execution_time(),
        'invocation_id': invocation_id,
        'file_format': file_format,
        'partition_by': ditto.list_option(node, 'partition_by'),
        'cluster_by': ditto._cluster_by(node, file_format),
        'on_schema_change': ditto.choice(node, 'on_schema_change',
            ['ignore', 'fail', 'append_new_columns', 'sync_all_columns'], 'ignore'),
        'full_refresh': full_refresh,
        'dry': dry,
        'leased': false
    }) }}
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
    {% do ditto.ledger_setup() %}
    {% set ledger = ditto.ledger_facts(settings.relation, settings.execution_time, ditto.upstream_relations(node)) %}
    {% set target = ditto.table_facts(settings.schema, settings.identifier) %}
    {% set head = none %}
    {% if target.provider == 'delta' and (settings.leased or settings.full_refresh or ledger.unfinished) %}
        {% set head = ditto.commits(settings.table, 1)[0].version %}
    {% endif %}
    {{ return({
        'ledger': ledger,
        'target': target,
        'head': head,
        'increment': ditto.query_columns(sql),
        'contract': ditto.contract_columns(node)
    }) }}
{% endmacro %}


{# The model's SELECT as a subquery can hold it: without the semicolon that people leave at its end. #}
{% macro increment_sql(compiled_code) %}
    {{ return(compiled_code.strip().rstrip(';').strip()) }}
{% endmacro %}
