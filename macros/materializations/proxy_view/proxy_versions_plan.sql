{# The versions of a model: their names, and whether they are still what was written. Pure. #}

{# A row of proxy_versions_sql. The config may have changed since: a version without a name of its own is one of many in one table. #}
{% macro parse_version(settings, row) %}
    {% set details = fromjson(row['details'] or '{}') %}
    {% set native = details.get('version') is none %}
    {% set place = ditto.version_settings(dict(settings, versioning='native' if native else 'tables'), row['name']) %}
    {{ return({
        'name': row['name'], 'native': native, 'identifier': place.identifier, 'table': place.table, 'time': row['time'],
        'version': none if row['version'] is none else row['version'] | int, 'rows': row['rows'], 'invocation_id': row['invocation_id'],
        'files': details.get('files'), 'bytes': details.get('bytes'), 'shown': details.get('shown', false),
        'at': row['at'], 'age': row['age'] | int, 'seq': row['seq'] | int
    }) }}
{% endmacro %}


{# v20241007_090000, or v20241007_090000_2 if that one is taken. #}
{% macro free_name(settings, taken) %}
    {% for number in range(1, 10000) %}
        {% set name = settings.version_name ~ ('' if number == 1 else '_' ~ number) %}
        {% if (settings.alias ~ '__' ~ name) | lower not in taken %}
            {{ return(name) }}
        {% endif %}
    {% endfor %}
{% endmacro %}


{# What happened to a version after it was written, in words, or none. `commits`: of its table, newest first. Compaction and
   properties leave the rows as they are; a RESTORE to what was written repairs it. #}
{% macro version_problem(version, exists, commits) %}
    {% if not exists %}
        {{ return('is gone: its table was dropped') }}
    {% endif %}
    {% set own = commits | selectattr('version', 'equalto', version.version) | list %}
    {# The log of a table with many versions goes with its retention; a table that is written once keeps its whole log. #}
    {% set forgotten = version.native and commits and (commits | last).version > version.version %}
    {% if (not own and not forgotten) or (own and (not own[0].tag or own[0].tag.invocation_id != version.invocation_id)) %}
        {{ return('was replaced: its table has another history than the one that was written'
            ~ ('; ' ~ ditto.describe_commits(own) if own else '')) }}
    {% endif %}
    {% set changes = [] %}
    {% for commit in commits if not version.native and commit.version > version.version and ditto._changes_version(commit) %}
        {% do changes.append(commit) %}
    {% endfor %}
    {% if not changes or changes[0].restored == version.version %}
        {{ return(none) }}
    {% endif %}
    {{ return('was changed after it was written: ' ~ ditto.describe_commits(changes)) }}
{% endmacro %}


{# Its columns belong to a version too, but not their comments, which the run itself sets (CHANGE COLUMN). #}
{% macro _changes_version(commit) %}
    {{ return(ditto.changes_rows(commit) or modules.re.match('(ADD|DROP|RENAME) COLUMN', commit.operation) is not none) }}
{% endmacro %}


{# versioning: native. A commit to the one table changes no version, but it is a version that no run wrote. #}
{% macro foreign_versions(versions, commits) %}
    {% set oldest = versions | map(attribute='version') | min %}
    {% set foreign = [] %}
    {% for commit in commits if commit.version > oldest and not commit.tag and ditto.changes_rows(commit) %}
        {% do foreign.append({'version': 'v' ~ commit.version, 'table': versions[0].table,
            'problem': 'was written by somebody else: ' ~ ditto.describe_commits([commit])}) %}
    {% endfor %}
    {{ return(foreign) }}
{% endmacro %}


{% macro describe_changed(changed) %}
    {% set lines = [] %}
    {% for each in changed[:10] %}
        {% do lines.append(each.version ~ ' ' ~ each.problem) %}
    {% endfor %}
    {{ return(lines | join('\n    - ') ~ ('\n    - and ' ~ (changed | length - 10) ~ ' more' if changed | length > 10 else '')) }}
{% endmacro %}


{# The version that the view shows: its name, or none. It stands last: before it there are columns, which have any name. #}
{% macro shown_version(settings, text) %}
    {% set shape = '(?i)\\b' ~ modules.re.escape(settings.alias) ~ '__(?:data`? +version as of ([0-9]+)|(v[0-9]{8}_[0-9]{6}(?:_[0-9]+)?))\\b' %}
    {% set found = modules.re.findall(shape, text or '') %}
    {% if not found %}
        {{ return(none) }}
    {% endif %}
    {% set number, name = (found | last) %}
    {{ return('v' ~ number if number else name | lower) }}
{% endmacro %}


{# Somebody dropped the view. An earlier execution is not what readers should find under its name. #}
{% macro missing_view_problems(settings, facts) %}
    {% set newest = facts.ledger.newest %}
    {% if settings.versioning == 'manifest' or facts.view.exists or newest is none or settings.execution_time >= newest %}
        {{ return([]) }}
    {% endif %}
    {{ return([{
        'rule': 'error',
        'found': 'no view ' ~ settings.view ~ ', although execution ' ~ newest ~ ' was published',
        'expected': 'a view to leave as it is: this execution is earlier',
        'fix': "show a version again: dbt run-operation ditto_proxy_point_to --args '{model: " ~ settings.model ~ ", version: latest}'"
            ~ '\n            or run the newest execution first: ' ~ ditto.run_command(settings.model, newest)
    }]) }}
{% endmacro %}


{# By its name, or by that of its table. #}
{% macro is_held(settings, version) %}
    {% set names = [] if settings.legal_hold is boolean else settings.legal_hold %}
    {{ return(settings.legal_hold is true or version.name | lower in names or version.identifier | lower in names) }}
{% endmacro %}


{# versioning: native. What is older than keep_for goes with the retention of its table, whose clock began a moment earlier. #}
{% macro may_be_gone(settings, version) %}
    {{ return(version.native and settings.keep_for is not none and not ditto.is_held(settings, version) and version.age + 1 >= settings.keep_for) }}
{% endmacro %}


{# Why a version may not be expired, or none. #}
{% macro expiry_obstacle(settings, version, shown, keep_for) %}
    {% if version.name == shown %}
        {{ return('readers see it') }}
    {% elif ditto.is_held(settings, version) %}
        {{ return('it is under legal_hold') }}
    {% elif version.native %}
        {{ return('it is one of many in ' ~ version.table ~ ', which goes by its retention') }}
    {% elif version.age < keep_for %}
        {{ return('it is younger than keep_for: ' ~ ditto.duration_text(version.age) ~ ' of ' ~ ditto.duration_text(keep_for)) }}
    {% endif %}
    {{ return(none) }}
{% endmacro %}
