{# What a model may ask about its own past while it is compiled. dbt's is_incremental() is false in a custom materialization. #}

{# The latest earlier execution of this model in the ledger, `2024-10-06 00:00:00`, or none. Not "the date minus a day":
   a skipped day must not look like a first run. #}
{% macro previous_execution() %}
    {{ return(ditto._own_facts().previous) }}
{% endmacro %}


{# Was this execution applied before? #}
{% macro is_replay() %}
    {{ return(ditto._own_facts().own) }}
{% endmacro %}


{# A table that is made anew, or that somebody dropped, has no past: a model that asks must not leave out what it had before. #}
{% macro _own_facts() %}
    {% if not execute or should_full_refresh() or not ditto.ledger_exists() or not ditto.table_facts(this.schema, this.identifier).exists %}
        {{ return({'previous': none, 'own': false}) }}
    {% endif %}
    {{ return(ditto.ledger_facts(ditto.relation_key(this.schema, this.identifier), ditto.execution_time())) }}
{% endmacro %}
