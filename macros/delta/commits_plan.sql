{# What the commits of a table tell, newest first as its history gives them. Pure. #}

{# Compaction, properties, columns, comments: the rows stay as they are. What is not known here counts as a change. #}
{% macro changes_rows(commit) %}
    {% set harmless = 'OPTIMIZE|VACUUM|SET |UNSET |ADD |CHANGE |DROP |RENAME |UPGRADE|REORG|CLUSTER|COMPUTE|UPDATE (SCHEMA|COLUMN)|CREATE TABLE$' %}
    {{ return(not modules.re.match(harmless, commit.operation)) }}
{% endmacro %}


{# Has the table the rows that it had at this version? Nothing was changed since, or it was restored to it. #}
{% macro stands_at(commits, version) %}
    {% for commit in commits if commit.version > version and ditto.changes_rows(commit) %}
        {{ return(commit.restored == version) }}
    {% endfor %}
    {{ return(true) }}
{% endmacro %}


{# Commits after `version` that no run of ditto made. A RESTORE or TRUNCATE carries no name; it is ours where a leased
   run was at work. `leases`: the events of leased runs, in order. #}
{% macro foreign_commits(commits, version, leases) %}
    {% set foreign = [] %}
    {% for commit in commits if commit.version > version and ditto.changes_rows(commit) and not commit.tag %}
        {% if commit.operation not in ('RESTORE', 'TRUNCATE', 'CREATE OR REPLACE TABLE') or not ditto._under_lease(commit.version, leases) %}
            {% do foreign.append(commit) %}
        {% endif %}
    {% endfor %}
    {{ return(foreign) }}
{% endmacro %}


{# A lease begins at the version its intent saw and ends at the version of its outcome; one without an outcome is still open. #}
{% macro _under_lease(version, leases) %}
    {% set span = namespace(start=none) %}
    {% for lease in leases %}
        {% set seen = -1 if lease.version is none else lease.version %}
        {% if lease.event == 'started' %}
            {% set span.start = seen if span.start is none else span.start %}
        {% elif span.start is not none %}
            {% if span.start < version and version <= seen %}
                {{ return(true) }}
            {% endif %}
            {% set span.start = none %}
        {% endif %}
    {% endfor %}
    {{ return(span.start is not none and span.start < version) }}
{% endmacro %}


{% macro describe_commits(commits) %}
    {% set lines = [] %}
    {% for commit in commits[:10] %}
        {% do lines.append('version ' ~ commit.version ~ ': ' ~ commit.operation ~ ' by ' ~ ditto._author(commit) ~ ' at ' ~ commit.at) %}
    {% endfor %}
    {% if commits | length > 10 %}
        {% do lines.append('and ' ~ (commits | length - 10) ~ ' more') %}
    {% endif %}
    {{ return(lines | join('\n    - ')) }}
{% endmacro %}


{# The run whose tag it carries, or whom Delta names. #}
{% macro _author(commit) %}
    {% set tag = commit.tag %}
    {{ return('invocation ' ~ tag.invocation_id ~ ' for execution ' ~ tag.execution_time if tag else commit.user or 'somebody') }}
{% endmacro %}


{% macro describe_newest(commits) %}
    {% for commit in commits if commit.tag %}
        {{ return(ditto._author(commit) ~ ', version ' ~ commit.version ~ ' at ' ~ commit.at) }}
    {% endfor %}
    {{ return(ditto.describe_commits(commits)) }}
{% endmacro %}


{# Commits by which somebody else changed rows while a leased run was at work: what this run was applied to is not what the ledger
   would say. #}
{% macro interference(plan, commits) %}
    {% set between = [] %}
    {% if not plan.undoes_until or plan.made_anew or plan.seen is none %}
        {{ return(between) }}
    {% endif %}
    {% set own = ditto.own_commits(plan, commits) %}
    {% set written = own[0].version if own else none %}
    {% set back = [plan.seen] + (commits | selectattr('restored', 'equalto', plan.restore) | map(attribute='version') | list if plan.restore is not none else []) %}
    {# A run that this one took over may have been in the middle of its write. What came before this one went back is undone. #}
    {% for commit in commits if commit.version > plan.seen and ditto.changes_rows(commit)
        and (not commit.tag or (commit.tag.invocation_id != plan.invocation_id and commit.version > back | max))
        and commit.operation != 'TRUNCATE' and (commit.restored is none or commit.restored != plan.restore)
        and (written is none or commit.version < written) %}
        {% do between.append(commit) %}
    {% endfor %}
    {{ return(between) }}
{% endmacro %}
