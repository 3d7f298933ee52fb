{% materialization file_ingest, adapter='spark', supported_languages=['sql'] %}
    {% set settings = ditto.file_ingest_settings(model, should_full_refresh(), ditto.is_dry_run()) %}
    {% do ditto.require_incoming(settings, compiled_code) %}

    {# Hooks before the facts: they may bring the files. #}
    {{ run_hooks(pre_hooks) }}

    {% set facts = ditto.file_ingest_facts(model, settings, compiled_code) %}
    {% set plan = ditto.file_ingest_plan(model, settings, facts, compiled_code) %}
    {% set outcome = ditto.run_plan(plan) %}
    {% do ditto.report(plan, outcome) %}
    {% do ditto.warn_of_files(settings, facts.sorted) %}

    {% do apply_grants(this, config.get('grants'), should_revoke(facts.target.exists, plan.made_anew)) %}
    {{ run_hooks(post_hooks) }}
    {{ return({'relations': [this]}) }}
{% endmaterialization %}


{# The ledger is read before the files are looked at: a run that changes them in between has a newer token, and ours is refused. #}
{% macro file_ingest_facts(node, settings, compiled_code) %}
    {% do settings.update({'ledger_table': ditto.ledger_table(), 'tracker': ditto.ledger_table('ditto_files')}) %}
    {% do ditto.ledger_setup() %}
    {% do ditto.tracker_setup() %}
    {% do ditto.incoming_setup(settings) %}
    {% set facts = ditto.gather_facts(node, settings, ditto.ingest_sql(settings, compiled_code, [])) %}
    {% do ditto.refuse_unfinished(settings, facts.ledger) %}
    {# Of a table that was dropped, the tracker's word that a file is in it is worth nothing. #}
    {% set anew = ditto.plan_mode(settings, facts).mode == 'full_refresh' or not facts.target.exists %}
    {% set files = [] if settings.dry else ditto.look_at_files(settings, facts.target, anew) %}
    {% do facts.update({'files': files, 'sorted': ditto.sort_files(settings, files, anew)}) %}
    {{ return(facts) }}
{% endmacro %}


{# In dbt's own log beside the model: which files did not come in, and why. #}
{% macro warn_of_files(settings, sorted) %}
    {% set lines = [] %}
    {% for row in sorted.failed[:10] %}
        {% do lines.append(row.file_path ~ ' (' ~ row.status ~ ', attempt ' ~ row.attempts ~ '): ' ~ row.error_message) %}
    {% endfor %}
    {% if sorted.failed | length > 10 %}
        {% do lines.append('and ' ~ (sorted.failed | length - 10) ~ ' more: select * from ' ~ settings.tracker ~ " where status in ('FAILED', 'DEAD')") %}
    {% endif %}
    {% if lines and settings.on_failed_file == 'error' %}
        {% do ditto.error(settings.subject, sorted.failed | length ~ ' files that did not come in:\n    - ' ~ lines | join('\n    - '),
            'every file to come in (on_failed_file: error); the others did', 'correct or remove the files, then '
            ~ ditto.run_command(settings.model, settings.execution_time)) %}
    {% elif lines %}
        {% do ditto.warning(settings.subject, sorted.failed | length ~ ' of its files did not come in; the others did:\n    - ' ~ lines | join('\n    - ')) %}
    {% endif %}
{% endmacro %}
