{# The versions of a model: their names, and whether they are still what was written. Pure. #}

{# A row of proxy_versions_sql. #}
{% macro parse_version(settings, row) %}
    {% set details = fromjson(row['details'] or '{}') %}
    {% set place = ditto.version_settings(settings, row['name']) %}
    {{ return({
        'name': row['name'], 'identifier': place.identifier, 'table': place.table, 'time': row['time'],
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
{% macro version_problem(version, exists, commits, native=false) %}
    {% if not exists %}
        {{ return('is gone: its table was dropped') }}
    {% endif %}
    {% set own = commits | selectattr('version', 'equalto', version.version) | list %}
    {% set forgotten = commits and (commits | last).version > version.version %}
    {% if (not own and not forgotten) or (own and (not own[0].tag or own[0].tag.invocation_id != version.invocation_id)) %}
        {{ return('was replaced: its table has another history than the one that was written'
            ~ ('; ' ~ ditto.describe_commits(own) if own else '')) }}
    {% endif %}
    {% if native or ditto.stands_at(commits, version.version) %}
        {{ return(none) }}
    {% endif %}
    {% set changes = [] %}
    {% for commit in commits if commit.version > version.version and ditto.changes_rows(commit) %}
        {% do changes.append(commit) %}
    {% endfor %}
    {{ return('was changed after it was written: ' ~ ditto.describe_commits(changes)) }}
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


{# The version that the view shows: its name, or none. #}
{% macro shown_version(settings, text) %}
    {% set shape = '(?i)version as of ([0-9]+)' if settings.versioning == 'native' else '(?i)`' ~ modules.re.escape(settings.alias) ~ '__(v[0-9_]+)`' %}
    {% set found = modules.re.search(shape, text or '') %}
    {{ return(none if not found else ('v' if settings.versioning == 'native' else '') ~ found.group(1)) }}
{% endmacro %}


{# Why a version may not be expired, or none. #}
{% macro expiry_obstacle(settings, version, shown, keep_for) %}
    {% if version.name == shown %}
        {{ return('readers see it') }}
    {% elif settings.legal_hold is true or (settings.legal_hold and version.name | lower in settings.legal_hold) %}
        {{ return('it is under legal_hold') }}
    {% elif version.age < keep_for %}
        {{ return('it is younger than keep_for: ' ~ ditto.duration_text(version.age) ~ ' of ' ~ ditto.duration_text(keep_for)) }}
    {% endif %}
    {{ return(none) }}
{% endmacro %}
