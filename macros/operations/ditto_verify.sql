{# Was the ledger tampered with? dbt run-operation ditto_verify #}
{% macro ditto_verify() %}
    {% if not ditto.ledger_exists() %}
        {% do print('ditto: there is no ledger yet, nothing to verify') %}
        {{ return('') }}
    {% endif %}
    {% set problems = [] %}
    {% for row in ditto.fetch(ditto.ledger_broken_sql(ditto.ledger_table())) %}
        {% do problems.append(row['problem']) %}
    {% endfor %}
    {% if problems %}
        {% do ditto.error(
            'the ledger ' ~ ditto.ledger_table(), 'events that were changed or removed:\n    - ' ~ problems | join('\n    - '),
            'an unbroken chain: every hash fits its event, every event before it is there',
            'find out who wrote to it: describe history ' ~ ditto.ledger_table() ~ '; what stood there: select * from '
            ~ ditto.ledger_table() ~ ' version as of <n>'
        ) %}
    {% endif %}
    {% set counts = ditto.fetch('select count(*) as events, count(distinct `relation`) as models from ' ~ ditto.ledger_table())[0] %}
    {% do print('ditto: verified ' ~ counts['events'] ~ ' events of ' ~ counts['models'] ~ ' models, the chain is unbroken') %}
{% endmacro %}
