{% materialization proxy_view, adapter='spark', supported_languages=['sql'] %}
    {% set settings = ditto.proxy_view_settings(model, should_full_refresh(), ditto.is_dry_run()) %}
    {% set sql = ditto.increment_sql(compiled_code, settings) %}

    {# Hooks before the facts: they may make what the model reads. #}
    {{ run_hooks(pre_hooks) }}

    {% set facts = ditto.proxy_view_facts(model, settings, sql) %}
    {% set plan = ditto.proxy_view_plan(model, settings, facts, sql) %}
    {% set outcome = ditto.run_plan(plan) %}
    {% do ditto.report(plan, outcome) %}

    {% set relations = [] if settings.versioning == 'manifest' else [this.incorporate(type='view')] %}
    {% for relation in relations %}
        {% do apply_grants(relation, config.get('grants'), should_revoke(facts.view.exists, false)) %}
    {% endfor %}
    {{ run_hooks(post_hooks) }}
    {{ return({'relations': relations}) }}
{% endmaterialization %}


{# Besides the common facts: the view, the newest versions and whether somebody changed one, and the name of the next one.
   Reads only; the dry run has no SELECT. #}
{% macro proxy_view_facts(node, settings, sql=none) %}
    {% do settings.update({'ledger_table': ditto.ledger_table()}) %}
    {% set facts = ditto.gather_facts(node, settings, sql) %}
    {% set known = sql is not none or adapter.check_schema_exists(none, settings.schema) %}
    {% set recorded = known and facts.ledger.generation > 0 %}
    {% set versions = ditto.proxy_versions(settings, settings.verify_versions) if recorded and settings.verify_versions else [] %}
    {% do facts.update({
        'view': ditto.table_facts(settings.schema, settings.view_identifier) if known else ditto.no_table_facts(),
        'changed': ditto.changed_versions(settings, versions)
    }) %}
    {% if settings.versioning == 'native' %}
        {% do ditto.refuse_names_of_models(settings, [{'identifier': settings.identifier}], graph.nodes) %}
    {% elif known %}
        {# A name is used once, also by a run that died or that began in the same second. #}
        {% set taken = ditto.tables_like(settings.schema, settings.identifier ~ '*') + (ditto.recorded_names(settings) if recorded else []) %}
        {% do settings.update(ditto.version_settings(settings, ditto.free_name(settings, taken))) %}
        {% do facts.update({'target': ditto.no_table_facts(), 'head': none}) %}
    {% endif %}
    {{ return(facts) }}
{% endmacro %}


{# Names in the ledger that begin like the next one: also of versions that were dropped since. #}
{% macro recorded_names(settings) %}
    {% set names = [] %}
    {% for row in ditto.fetch(ditto.proxy_versions_sql(settings.ledger_table, settings.relation, 100000, like=settings.version_name)) %}
        {% do names.append((settings.alias ~ '__' ~ row['name']) | lower) %}
    {% endfor %}
    {{ return(names) }}
{% endmacro %}


{# The versions that the ledger knows and that were not expired, newest first. #}
{% macro proxy_versions(settings, limit=100000) %}
    {% set versions = [] %}
    {% for row in ditto.fetch(ditto.proxy_versions_sql(ditto.ledger_table(), settings.relation, limit)) %}
        {% do versions.append(ditto.parse_version(settings, row)) %}
    {% endfor %}
    {{ return(versions) }}
{% endmacro %}


{# What is wrong with these versions, as {version, problem}. With `files` every file is opened. #}
{% macro changed_versions(settings, versions, files=false) %}
    {% set changed = [] %}
    {% if not versions %}
        {{ return(changed) }}
    {% endif %}
    {# A run has its schema; with all its tables, it may have been dropped since. #}
    {% set there = ditto.tables_like(settings.schema, settings.alias ~ '__*') if not files or adapter.check_schema_exists(none, settings.schema) else [] %}
    {% set natives = versions | selectattr('native') | list %}
    {% set shared = ditto.commits(natives[0].table, 100000) if natives and natives[0].identifier | lower in there else [] %}
    {% for version in versions %}
        {% set exists = version.identifier | lower in there %}
        {% set commits = shared if version.native else (ditto.commits(version.table, 100000) if exists else []) %}
        {% set problem = ditto.version_problem(version, exists, commits) %}
        {# Comments and compaction make newer versions of its table, and Delta reads older ones only for a while. #}
        {% set at = version.version if version.native or problem else commits[0].version %}
        {% if not problem and files and not ditto.may_be_gone(settings, version) and not ditto.is_readable(version.table, at) %}
            {% set problem = 'cannot be read any more: files of it are missing, or older than delta.deletedFileRetentionDuration' %}
        {% endif %}
        {% if problem %}
            {% do changed.append({'version': version.name, 'table': version.table, 'problem': problem}) %}
        {% endif %}
    {% endfor %}
    {{ return(changed + (ditto.foreign_versions(natives, shared) if natives else [])) }}
{% endmacro %}
