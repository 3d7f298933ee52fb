{# Versions of a proxy_view model: look at them, and show another one.
   dbt run-operation ditto_proxy_versions --args '{model: devices}' #}
{% macro ditto_proxy_versions(model, format='text') %}
    {% if format not in ('text', 'json') %}
        {% do ditto.error('ditto_proxy_versions', 'format: ' ~ format, 'text or json', "--args '{model: " ~ model ~ ", format: json}'") %}
    {% endif %}
    {% set settings = ditto.proxy_settings(model, 'ditto_proxy_versions') %}
    {% set versions = ditto.proxy_versions(settings) if ditto.ledger_exists() else [] %}
    {% set shown = ditto.current_version(settings) %}
    {% set unfinished = ditto.unrecorded_versions(settings, versions) %}
    {% do print(tojson({'model': model, 'shown': shown, 'versions': versions, 'unfinished': unfinished}) if format == 'json'
        else ditto.versions_text(settings, versions, shown, unfinished)) %}
{% endmacro %}


{# Roll readers back or forward; it holds until the newest execution is run again, or a newer one:
   dbt run-operation ditto_proxy_point_to --args '{model: devices, version: v20241007_090000}'
   dbt run-operation ditto_proxy_point_to --args '{model: devices, version: previous}' #}
{% macro ditto_proxy_point_to(model, version) %}
    {% set settings = ditto.proxy_settings(model, 'ditto_proxy_point_to') %}
    {% set work = ditto.begin_operation(ditto.find_model(model), 'proxy_point_to') %}
    {% set versions = ditto.proxy_versions(settings) %}
    {# A manifest lists the files of a table, so it cannot show one of many versions in it. #}
    {% set versions = versions | rejectattr('native') | list if settings.versioning == 'manifest' else versions %}
    {# One that did not finish may have moved the view: `previous` is still what it was. #}
    {% set chosen = ditto.choose_version(model, versions, version, ditto.current_version(settings, recorded=work.ledger.unfinished != [])) %}
    {% set changed = ditto.changed_versions(settings, [chosen], files=true) | selectattr('version', 'equalto', chosen.name) | list %}
    {% if changed %}
        {% do ditto.error(work.plan.subject, 'versions that are not what was written:\n    - ' ~ ditto.describe_changed(changed),
            'a version that nobody changed', "choose another one: dbt run-operation ditto_proxy_versions --args '{model: " ~ model ~ "}'") %}
    {% endif %}
    {% set lease = ditto.claim(work.plan) %}
    {% set fence = ditto.fence_condition(ditto.ledger_table(), settings.relation, lease.token) %}
    {% set at = dict(settings, version_name=chosen.name, identifier=chosen.identifier, table=chosen.table) %}
    {% if settings.versioning != 'manifest' %}
        {% set numbered = chosen.version if chosen.native else none %}
        {% set columns = ditto.query_columns('select * from ' ~ at.table ~ (' version as of ' ~ numbered if numbered is not none else '')) %}
        {% set view = ditto.table_facts(settings.schema, settings.view_identifier) %}
        {% set step = ditto._fenced_step('view', ditto.version_view_sql(at, columns, view, none, numbered), fence) %}
        {% do ditto.send(step.name, step.sql) %}
    {% endif %}
    {% do ditto.finish_operation(work.plan, lease, {'version': chosen.name, 'shown': true}) %}
    {% for step in (ditto.manifest_steps(at, work.ledger.seq + 2) if settings.versioning == 'manifest' else []) %}
        {% do ditto.try_step(work.plan, step) %}
    {% endfor %}
    {% do print('ditto: ' ~ model ~ ' shows ' ~ chosen.name ~ ', of execution ' ~ ditto.short_time(chosen.time)
        ~ '; the next run of the newest execution, or of a newer one, moves it on') %}
{% endmacro %}


{# Build the manifest of the current version again, and nothing else:
   dbt run-operation ditto_proxy_manifest --args '{model: devices}' #}
{% macro ditto_proxy_manifest(model) %}
    {% set settings = ditto.proxy_settings(model, 'ditto_proxy_manifest', 'manifest') %}
    {% set shown = ditto.fetch(ditto.last_shown_sql(ditto.ledger_table(), settings.relation)) if ditto.ledger_exists() else [] %}
    {% if not shown %}
        {% do ditto.error('ditto_proxy_manifest of ' ~ model, 'no version', 'at least one run of the model',
            ditto.run_command(model, '2024-10-07 00:00:00')) %}
    {% endif %}
    {% set at = dict(settings, **ditto.version_settings(settings, shown[0]['name'])) %}
    {% for step in ditto.manifest_steps(at, shown[0]['seq']) %}
        {% do ditto.send(step.name, step.sql) %}
    {% endfor %}
    {% do print('ditto: the manifest of ' ~ model ~ ' lists the files of ' ~ shown[0]['name']) %}
{% endmacro %}


{% macro proxy_settings(model, operation, versioning=none) %}
    {% set node = ditto.find_model(model) %}
    {% if node.config.materialized != 'proxy_view' %}
        {% do ditto.error(operation ~ ' of ' ~ model, 'materialized: ' ~ node.config.materialized, 'a model with materialized: proxy_view',
            "choose another model, or set materialized='proxy_view'") %}
    {% endif %}
    {% set settings = ditto.proxy_view_settings(node, execution_time='1970-01-01 00:00:00') %}
    {% if versioning and settings.versioning != versioning %}
        {% do ditto.error(operation ~ ' of ' ~ model, 'versioning: ' ~ settings.versioning, 'versioning: ' ~ versioning,
            "set versioning='" ~ versioning ~ "' in the config of the model; with the others readers go by the view") %}
    {% endif %}
    {{ return(settings) }}
{% endmacro %}


{# What readers see: what the view says; without a view, or if asked for, what the ledger says. #}
{% macro current_version(settings, recorded=false) %}
    {% if not ditto.ledger_exists() or not adapter.check_schema_exists(none, settings.schema) %}
        {{ return(none) }}
    {% elif settings.versioning == 'manifest' or recorded %}
        {{ return(ditto.fetch(ditto.last_shown_sql(ditto.ledger_table(), settings.relation)) | map(attribute='name') | first | default(none)) }}
    {% endif %}
    {{ return(ditto.shown_version(settings, ditto.table_facts(settings.schema, settings.view_identifier).text)) }}
{% endmacro %}


{# Tables of runs that died or are at work: the ledger has no outcome of them. #}
{% macro unrecorded_versions(settings, versions) %}
    {% set known = ditto.lower_names(versions | map(attribute='identifier')) %}
    {% set found = [] %}
    {% for name in ditto.version_tables(settings) if name not in known and not name.endswith('__data') %}
        {% do found.append(name) %}
    {% endfor %}
    {{ return(found) }}
{% endmacro %}


{# The tables that hold versions of the model, in lower case. Another model may be called devices__v2. #}
{% macro version_tables(settings) %}
    {% set shape = 'v[0-9]{8}_[0-9]{6}(_[0-9]+)?' ~ ('|data' if settings.versioning == 'native' else '') %}
    {% set found = [] %}
    {% for name in (ditto.tables_like(settings.schema, settings.alias ~ '__*') if adapter.check_schema_exists(none, settings.schema) else [])
        if modules.re.fullmatch(shape, name[settings.alias | length + 2:]) %}
        {% do found.append(name) %}
    {% endfor %}
    {{ return(found) }}
{% endmacro %}


{# Of a run that died after it had switched the view, readers see what the ledger would not know. #}
{% macro refuse_release_of_shown(node, open) %}
    {% set settings = ditto.proxy_view_settings(node, execution_time=open.execution_time) %}
    {% set shown = ditto.current_version(settings) %}
    {% if settings.versioning == 'tables' and shown and shown not in ditto.proxy_versions(settings) | map(attribute='name') | list %}
        {% do ditto.error('ditto_release of ' ~ node.name, 'readers already see what the execution wrote: ' ~ shown,
            'to finish it, so that the ledger knows what they see', ditto.run_command(node.name, open.execution_time)) %}
    {% endif %}
{% endmacro %}
