{# Is the table still the one that the ledger knows? Pure. #}

{# The newest version that replaced the whole table, or -1: what was committed before it is not in the table any more. What a later
   RESTORE undid does not count. #}
{% macro replaced_at(commits) %}
    {% set standing = namespace(until=none) %}
    {% for commit in commits %}
        {% set stands = standing.until is none or commit.version <= standing.until %}
        {% if stands and 'REPLACE TABLE' in commit.operation %}
            {{ return(commit.version) }}
        {% endif %}
        {% set standing.until = commit.restored if stands and commit.get('restored') is not none else standing.until %}
    {% endfor %}
    {{ return(-1) }}
{% endmacro %}


{# Is this the table that the ledger knows? A full refresh and a table that was dropped or replaced start a new generation,
   since what older executions did is not in it. #}
{% macro is_new_generation(plan, commits) %}
    {% if plan.many_tables %}
        {# Its tables come and go, and the plan knows what that means. #}
        {{ return(plan.made_anew or plan.ledger.generation == 0) }}
    {% endif %}
    {% if plan.made_anew or plan.ledger.generation == 0 or (plan.missing and plan.ledger.last) %}
        {{ return(true) }}
    {% endif %}
    {% set last = plan.ledger.last %}
    {% if not commits or not last or last.version is none %}
        {{ return(false) }}
    {% endif %}
    {% if commits[0].version < last.version or ditto.replaced_at(commits) > last.version %}
        {{ return(true) }}
    {% endif %}
    {# The same version, but made by another run: the table was dropped and has grown again. #}
    {% for commit in commits if commit.version == last.version and last.base_version != last.version %}
        {{ return(not commit.tag or commit.tag.invocation_id != last.invocation_id) }}
    {% endfor %}
    {{ return(false) }}
{% endmacro %}
