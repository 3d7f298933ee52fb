{# Remove the files of old versions, but none that a backfill inside of its window, or an unfinished execution, may need.
   Says what would go; to really remove it: dry_run: false.
   dbt run-operation ditto_vacuum --args '{model: devices}'
   dbt run-operation ditto_vacuum --args '{dry_run: false, retain: 60 days}' #}
{% macro ditto_vacuum(model=none, dry_run=true, retain=none) %}
    {% set hours = none if retain is none else ditto.duration_hours(retain) %}
    {% if dry_run is not boolean or (retain is not none and not hours) %}
        {% do ditto.error('ditto_vacuum', 'dry_run: ' ~ dry_run ~ ', retain: ' ~ retain, "dry_run: true or false, retain such as '7 days'",
            "--args '{dry_run: true, retain: 7 days}'") %}
    {% endif %}
    {% do print('ditto: vacuum' ~ (', dry run: nothing is removed; to remove it: dry_run: false' if dry_run else '')) %}
    {% for node in ([ditto.find_model(model)] if model else ditto.ditto_models()) %}
        {% set tables = ditto._vacuum_tables(node) %}
        {% set ledger = ditto.ledger_facts(ditto.relation_key(node.schema, node.alias), '1970-01-01 00:00:00',
            chain=node.config.materialized == 'stateful_merge') if tables and ditto.ledger_exists() else ditto.no_ledger_facts() %}
        {% set reason = ditto._vacuum_obstacle(node, ledger, tables) %}
        {% if reason and model %}
            {% do ditto.error('vacuum of ' ~ model, reason.found, reason.expected, reason.fix) %}
        {% endif %}
        {% for table in tables if not reason %}
            {% do ditto._vacuum(node, ledger, table, dry_run, hours) %}
        {% endfor %}
        {% if reason %}
            {% do print('  ' ~ ditto.table_name(node.schema, node.alias) ~ ': skipped, ' ~ reason.found ~ '\n    fix: ' ~ reason.fix) %}
        {% endif %}
    {% endfor %}
{% endmacro %}


{% macro ditto_models() %}
    {% set models = [] %}
    {% for node in graph.nodes.values() if node.resource_type == 'model' and node.config.materialized in ditto.patterns() %}
        {% do models.append(node) %}
    {% endfor %}
    {{ return(models | sort(attribute='name')) }}
{% endmacro %}


{# The Delta tables of a model: itself, or the one behind its view, its raw rows, and `beside` them its dead letters. #}
{% macro _vacuum_tables(node) %}
    {% set tables = [] %}
    {% if adapter.check_schema_exists(none, node.schema) %}
        {% set names = [node.alias, node.alias ~ '__data'] %}
        {% if node.config.materialized == 'stateful_merge' and ditto.option(node, 'versioning') == 'history' %}
            {% do names.append(node.alias ~ '__history') %}
        {% elif node.config.materialized == 'fast_metadata_cleaner' %}
            {% set settings = ditto.fast_metadata_cleaner_settings(node, execution_time='1970-01-01 00:00:00') %}
            {% set names = ditto.unit_facts(settings).units | map(attribute='identifier') | list %}
        {% endif %}
        {% set dead_letters = node.alias ~ '__dead_letters' %}
        {% for name in names + [dead_letters] %}
            {% set facts = ditto.table_facts(node.schema, name) %}
            {% if facts.exists and facts.type == 'table' and facts.provider == 'delta' %}
                {% do tables.append({'name': ditto.table_name(node.schema, name), 'properties': facts.properties, 'beside': name == dead_letters}) %}
            {% endif %}
        {% endfor %}
    {% endif %}
    {{ return(tables) }}
{% endmacro %}


{# Why the tables of a model have to be left alone for now, or none. #}
{% macro _vacuum_obstacle(node, ledger, tables) %}
    {% set stale = ditto.execution_chain(ledger.outcomes).stale %}
    {% if not tables %}
        {{ return({'found': 'no Delta table', 'expected': 'a Delta table to vacuum', 'fix': 'run the model first; other formats keep no old files'}) }}
    {% elif ledger.unfinished %}
        {% set open = ledger.unfinished[0] %}
        {{ return(dict(ditto.unfinished_problem(node.name, open), found=ditto.unfinished_name(open)
            ~ ' did not finish, and the version it was applied to is needed: ' ~ ditto.describe_holder(open))) }}
    {% elif stale and ditto.option(node, 'readers') == 'pinned' %}
        {{ return({
            'found': 'readers are pinned to an earlier version, since executions are stale: ' ~ ditto._times(stale | map(attribute='time') | list),
            'expected': 'no stale execution',
            'fix': 'replay them, first ' ~ ditto.run_command(node.name, stale[0].time)
        }) }}
    {% endif %}
    {{ return(none) }}
{% endmacro %}


{% macro _vacuum(node, ledger, table, dry_run, retain) %}
    {% set versioned = node.config.materialized == 'stateful_merge' and ditto.option(node, 'versioning', 'delta') == 'delta' and not table.beside %}
    {% set settings = ditto.stateful_merge_settings(node, execution_time='1970-01-01 00:00:00') if versioned else none %}
    {% set window = {'hours': ditto.duration_hours(settings.backfill_window), 'name': 'backfill_window of the model'} if versioned
        else {'hours': 168, 'name': 'least that ditto keeps'} %}
    {% if node.config.materialized == 'proxy_view' and not table.beside %}
        {# Every version that has to be kept is a version of this one table. #}
        {% set kept = ditto.proxy_view_settings(node, execution_time='1970-01-01 00:00:00') %}
        {% set window = {'hours': kept.keep_for if kept.keep_for and not kept.legal_hold else 876000, 'name': 'keep_for or legal_hold of the model'} %}
    {% endif %}
    {% set retention = ditto.vacuum_retention(table.properties, window, retain) %}
    {% if retention is none %}
        {% do ditto.error('vacuum of ' ~ table.name, 'retention properties that ditto cannot read: ' ~ table.properties,
            'a number of hours, days or weeks', 'alter table ' ~ table.name ~ " set tblproperties ('delta.deletedFileRetentionDuration' = 'interval 7 days')") %}
    {% endif %}
    {% set results = [] %}
    {% for sql in ditto.vacuum_statements(table.name, retention, dry_run) %}
        {% do results.append(ditto.send('vacuum', sql)) %}
    {% endfor %}
    {% set found = {'files': results[-1].table.rows | length if dry_run else none, 'size': none} %}
    {% for commit in ([] if dry_run else ditto.commits(table.name, 2)) if commit.operation == 'VACUUM START' %}
        {% do found.update({'files': commit.metrics.get('numFilesToDelete') | int, 'size': commit.metrics.get('sizeOfDataToDelete')}) %}
    {% endfor %}
    {% if versioned and settings.readers == 'pinned' and not dry_run %}
        {% do ditto._pin_again(settings) %}
    {% endif %}
    {% set restorable = none %}
    {# A dry run leaves the properties, and Delta reads versions only as far back as they say. #}
    {% if versioned and ledger.outcomes and not (dry_run and retention.properties) %}
        {% set earliest = ditto.earliest_restorable(settings, ledger) %}
        {% set restorable = 'backfills ' ~ ('stay possible from ' ~ ditto.short_time(earliest) ~ ' on' if earliest
            else 'are possible only from the first execution on') %}
    {% endif %}
    {% do print(ditto.vacuum_text(table.name, retention, dry_run, found.files, found.size, restorable)) %}
{% endmacro %}


{# A vacuum makes versions. The one that readers are pinned to could then be read only as long as files are kept, so the view
   follows to the newest, which has the same rows. #}
{% macro _pin_again(settings) %}
    {% set view = ditto.table_facts(settings.schema, settings.view_identifier) %}
    {% set pinned = modules.re.search('(?i)version as of ([0-9]+)', ditto.fetch('show create table ' ~ settings.view)[0]['createtab_stmt']) if view.exists %}
    {% set head = ditto.commits(settings.table, 1)[0].version %}
    {% set since = pinned.group(1) | int if pinned else head %}
    {% if head > since and ditto.stands_at(ditto.commits(settings.table, head - since), since) %}
        {% set columns = ditto.table_facts(settings.schema, settings.identifier).columns %}
        {% do ditto.send('pin', ditto.merger_view_sql(settings, columns, view, version=head)) %}
    {% endif %}
{% endmacro %}
