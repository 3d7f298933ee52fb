{# An upsert by key is a merge, with all of its options. #}
{% macro keyed_idempotency_settings(node, full_refresh=false, dry=false, execution_time=none) %}
    {% set settings = ditto.merger_settings(node, full_refresh, dry, 'keyed_idempotency', execution_time) %}
    {% do settings.update({'started_at': (run_started_at | string)[:19]}) %}
    {{ return(settings) }}
{% endmacro %}
