{# Give up an execution that did not finish, so that other executions of the model may run:
   dbt run-operation ditto_release --args '{model: devices}' #}
{% macro ditto_release(model) %}
    {% set node = ditto.find_model(model) %}
    {% set relation = ditto.relation_key(node.schema, node.alias) %}
    {% if ditto.ledger_exists() %}
        {% set ledger = ditto.ledger_facts(relation, '1970-01-01 00:00:00') %}
    {% else %}
        {% set ledger = {'unfinished': []} %}
    {% endif %}
    {% if not ledger.unfinished %}
        {% do print('ditto: ' ~ model ~ ' has no unfinished execution, nothing to release') %}
    {% endif %}
    {% for open in ledger.unfinished %}
        {% set undoes = node.config.materialized == 'stateful_merge' and open.execution_time %}
        {% set told = ditto.release_stateful_merge(node, ledger, open) if undoes else ditto._release_in_ledger(node, relation, ledger, open) %}
        {% do print('ditto: released ' ~ ditto.unfinished_name(open) ~ ' of ' ~ model ~ ' (' ~ ditto.describe_holder(open) ~ ')') %}
        {% for line in told %}
            {% do print('       ' ~ line) %}
        {% endfor %}
    {% endfor %}
{% endmacro %}


{# What the execution wrote stays. #}
{% macro _release_in_ledger(node, relation, ledger, open) %}
    {% set pattern = node.config.materialized %}
    {% if pattern == 'fast_metadata_cleaner' and open.mode == 'full_refresh' %}
        {% do ditto.error('ditto_release of ' ~ node.name, 'a full refresh that did not finish: ' ~ ditto.describe_holder(open),
            'to finish it: other units may be dropped already, and nothing would tell which',
            ditto.run_command(node.name, open.execution_time, ' --full-refresh')) %}
    {% endif %}
    {% set unseen = pattern == 'proxy_view' and open.execution_time %}
    {% do ditto.refuse_release_of_shown(node, open) if unseen %}
    {% set identity = {'relation': relation, 'pattern': pattern, 'mode': 'undone' if unseen else open.mode,
        'execution_time': open.execution_time, 'invocation_id': invocation_id, 'subject': ditto.subject(node),
        'model': node.name, 'table': relation, 'ledger': ledger} %}
    {# A token of its own: should the run still be alive, it is fenced off. #}
    {% set token = ledger.token + 1 %}
    {% set event = ditto.event(identity, 'released', ledger.generation, ledger.seq + 1,
        {'token': token, 'base_version': open.base_version, 'version': open.base_version,
            'undoes_until': open.undoes_until if pattern == 'fast_metadata_cleaner' else none}) %}
    {% do ditto.send('release', ditto.compare_and_set_sql(ditto.ledger_append_sql(ditto.ledger_table(), [event], ledger.hash,
        ditto.claim_id(relation, ledger)))) %}
    {% do ditto.require_lease(identity, token, 'claimed the model first') %}
    {{ return(['what it wrote before it stopped is still ' ~ ('a table that nobody sees' if unseen else 'in the table') ~ '; to apply it: '
        ~ ditto.run_command(node.name, open.execution_time)] if open.execution_time else []) }}
{% endmacro %}


{# The node of a ditto model by its name. #}
{% macro find_model(name) %}
    {% set known = [] %}
    {% for node in graph.nodes.values() if node.resource_type == 'model' and node.config.materialized in ditto.patterns() %}
        {% if node.name == name %}
            {{ return(node) }}
        {% endif %}
        {% do known.append(node.name) %}
    {% endfor %}
    {% do ditto.error(
        'model ' ~ (name or '?'), 'no ditto model of this name' if name else 'no name of a model', 'one of ' ~ (known | sort | join(', ') or 'none in this project'),
        "give its name, for example --args '{model: " ~ (known | sort | first if known else 'devices') ~ "}'"
    ) %}
{% endmacro %}
