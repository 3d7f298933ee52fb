{# Was the ledger tampered with, or a version that is written once? dbt run-operation ditto_verify #}
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
    {% do ditto.verify_versions() %}
{% endmacro %}


{# Every version of every proxy_view model, and every file of it. #}
{% macro verify_versions() %}
    {% set seen = {'versions': 0, 'models': 0} %}
    {% set lines = [] %}
    {% for node in ditto.ditto_models() if node.config.materialized == 'proxy_view' %}
        {% set settings = ditto.proxy_view_settings(node, execution_time='1970-01-01 00:00:00') %}
        {% set versions = ditto.proxy_versions(settings) %}
        {% do seen.update({'versions': seen.versions + versions | length, 'models': seen.models + 1}) %}
        {% for each in ditto.changed_versions(settings, versions, files=true) %}
            {% do lines.append(settings.relation ~ ' ' ~ each.version ~ ' ' ~ each.problem) %}
        {% endfor %}
    {% endfor %}
    {% if lines %}
        {% do ditto.error('versions that are written once', 'changed ones:\n    - ' ~ lines | join('\n    - '),
            'what was written, and nothing else', "find out who did it: describe history <table>; where nothing but commits came after, "
            ~ 'restore table <table> to version as of 0 brings it back') %}
    {% endif %}
    {% if seen.models %}
        {% do print('ditto: verified ' ~ seen.versions ~ ' versions of ' ~ seen.models ~ ' proxy_view models, nobody changed them') %}
    {% endif %}
{% endmacro %}
