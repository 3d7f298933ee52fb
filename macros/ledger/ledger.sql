{# Where the ledger is, making it, reading it. #}

{% macro ledger_table(name='ditto_ledger') %}
    {{ return(ditto.table_name(var('ditto_schema', target.schema), name)) }}
{% endmacro %}


{# Made once. Whether it is there is looked up in dbt's cache: a wrong "no" costs four cheap statements, and a wrong "yes"
   fails in the next one without having written anything. #}
{% macro ledger_setup() %}
    {% set schema = var('ditto_schema', target.schema) %}
    {% if adapter.get_relation(database=none, schema=schema, identifier='ditto_runs') is not none %}
        {% if adapter.get_relation(database=none, schema=schema, identifier='ditto_ledger') is none %}
            {% do ditto._refuse_lost_ledger() %}
        {% endif %}
    {% else %}
        {% do ditto.send('ledger_schema', 'create schema if not exists ' ~ ditto.quote(schema)) %}
        {% do ditto.send('ledger_table', ditto.create_if_missing_sql(ditto.ledger_create_sql(ditto.ledger_table()))) %}
        {% do ditto._refuse_other_shape(ditto.table_facts(schema, 'ditto_ledger')) %}
        {% do ditto.ledger_create_views() %}
        {% do adapter.cache_added(api.Relation.create(schema=schema, identifier='ditto_ledger', type='table')) %}
        {% do adapter.cache_added(api.Relation.create(schema=schema, identifier='ditto_runs', type='view')) %}
    {% endif %}
{% endmacro %}


{# A new, empty one would take every table for a new one. #}
{% macro _refuse_lost_ledger() %}
    {% if not ditto.ledger_exists() %}
        {% do ditto.error('the ledger ' ~ ditto.ledger_table(), 'its view ' ~ ditto.ledger_table('ditto_runs') ~ ', but no ledger: somebody dropped it',
            'the ledger, which knows what is in the tables',
            'bring it back from a backup; or begin a new one, to which every table is new: drop view ' ~ ditto.ledger_table('ditto_runs')) %}
    {% endif %}
{% endmacro %}


{% macro _refuse_other_shape(there) %}
    {% set missing = ditto.columns_not_in(ditto.ledger_columns(), there.columns) %}
    {% if there.provider != 'delta' or missing %}
        {% do ditto.error('the ledger ' ~ ditto.ledger_table(), 'something else of this name'
            ~ (', without the columns ' ~ missing[:5] | map(attribute='name') | join(', ') if missing else ': ' ~ there.type ~ ' ' ~ there.provider),
            'the ledger of ditto, or nothing', 'rename it, or keep the ledger elsewhere: --vars ' ~ "'{ditto_schema: another_schema}'") %}
    {% endif %}
{% endmacro %}


{# For what only reads: there may be no ledger yet, and a read does not make one. #}
{% macro ledger_exists() %}
    {% set schema = var('ditto_schema', target.schema) %}
    {{ return(adapter.check_schema_exists(none, schema) and ditto.table_facts(schema, 'ditto_ledger').exists) }}
{% endmacro %}


{# For tests: without a ledger there is nothing to be tested, which is not the same as passing. #}
{% macro require_ledger(subject) %}
    {% if execute and flags.WHICH in ('test', 'build', 'retry') and not ditto.ledger_exists() %}
        {% do ditto.error(subject, 'no ledger ' ~ ditto.ledger_table(), 'at least one run of a ditto model',
            "dbt run --vars '{execution_date: 2024-10-07}'") %}
    {% endif %}
{% endmacro %}


{% macro ledger_create_views() %}
    {% do ditto.send('ledger_state',
        ditto.ledger_state_view_sql(ditto.ledger_table(), ditto.ledger_table('ditto_state'))) %}
    {% do ditto.send('ledger_runs',
        ditto.ledger_runs_view_sql(ditto.ledger_table(), ditto.ledger_table('ditto_runs'))) %}
{% endmacro %}


{% macro no_ledger_facts() %}
    {{ return({'generation': 0, 'seq': 0, 'token': 0, 'hash': none, 'last': none, 'own': false,
        'previous': none, 'newest': none, 'unfinished': [], 'inputs': [], 'outcomes': []}) }}
{% endmacro %}


{# What the ledger says about a model and the ditto models it reads, in one query. #}
{% macro ledger_facts(relation, execution_time, upstream=[], chain=false) %}
    {% set facts = ditto.no_ledger_facts() %}
    {% for row in ditto.fetch(ditto.ledger_read_sql(ditto.ledger_table(), [relation] + upstream, execution_time, chain)) %}
        {% set found = ditto.parse_ledger_facts(fromjson(row['facts'])) %}
        {% if found.relation == relation %}
            {% do facts.update(found) %}
        {% elif found.last %}
            {% do facts.inputs.append({'relation': found.relation, 'execution_time': found.last.execution_time,
                'version': found.last.version, 'event_id': found.last.event_id}) %}
        {% endif %}
    {% endfor %}
    {{ return(facts) }}
{% endmacro %}


{# JSON leaves nulls out, and what is left out would be silently undefined. What belongs to an older generation of the table
   is not in it any more. #}
{% macro parse_ledger_facts(found) %}
    {% set current = found.generation %}
    {% set last, lease = found.get('last'), found.get('lease') %}
    {% set previous, newest = found.get('previous'), found.get('newest') %}
    {{ return({
        'relation': found.relation,
        'generation': current,
        'seq': found.seq,
        'token': found.get('token', 0),
        'hash': found.hash,
        'last': dict({'version': none, 'base_version': none}, **last) if last and last.generation == current else none,
        'own': found.own,
        'previous': previous.execution_time if previous and previous.generation == current else none,
        'newest': newest.execution_time if newest and newest.generation == current else none,
        'unfinished': [dict({'execution_time': none, 'base_version': none, 'version': none, 'undoes_until': none}, **lease)] if lease and lease.event == 'started' else [],
        'outcomes': found.get('outcomes', []) | selectattr('generation', 'equalto', current) | list
    }) }}
{% endmacro %}


{# The relations of the ditto models that a node reads. #}
{% macro upstream_relations(node) %}
    {% set relations = [] %}
    {% for unique_id in node.depends_on.nodes %}
        {% set parent = graph.nodes.get(unique_id) %}
        {% if parent and parent.config.materialized in ditto.patterns() %}
            {% do relations.append(ditto.relation_key(parent.schema, parent.alias)) %}
        {% endif %}
    {% endfor %}
    {{ return(relations) }}
{% endmacro %}


{% macro patterns() %}
    {{ return(['dedup_insert', 'fast_metadata_cleaner', 'file_ingest', 'insert_overwrite', 'keyed_idempotency', 'merger', 'proxy_view', 'stateful_merge',
        'transactional_writer']) }}
{% endmacro %}
