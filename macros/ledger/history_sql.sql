{# The ledger against the table's history. `commits` were read before: DESCRIBE HISTORY cannot stand in a query. Pure. #}
{% macro ledger_differences_sql(ledger, relation, commits) %}
{# What was committed before the table was replaced is not in it, and not in this generation of the ledger. The commit that
   replaced it counts if it carries a name: then it brought the rows as well. #}
{% set tagged = commits | selectattr('tag') | selectattr('version', 'ge', ditto.replaced_at(commits)) | list %}
with {{ ditto.ledger_executions_sql(ledger, [relation]) }},
outcomes as (
    {# An outcome that changed no row may have no commit of its own; where only files were dropped, the rows are not known. #}
    select distinct `execution_time`, `invocation_id`, `version`,
        coalesce(`rows_inserted`, 0) + coalesce(`rows_updated`, 0) + coalesce(`rows_deleted`, 1) > 0 as `changed`
    from events
    where `event` = 'committed' and `generation` = `current_generation` and `version` is not null
),
commits as (
    {{ ditto._commit_values(tagged) }}
),
last_commits as (
    {# A statement that was sent twice left two commits; the ledger knows the last one. #}
    select `execution_time`, `invocation_id`, max(`version`) as `version` from commits group by `execution_time`, `invocation_id`
)
select 'in the ledger, not in the history of the table' as `difference`, `execution_time`, `invocation_id`, `version`
from outcomes
left anti join commits
    on commits.`version` = outcomes.`version`
    and commits.`invocation_id` = outcomes.`invocation_id`
    and commits.`execution_time` = outcomes.`execution_time`
{# What is older than the history has nothing to be compared with. #}
where outcomes.`changed` and outcomes.`version` >= {{ (commits | last).version if commits else 0 }}
union all
select 'in the history of the table, not in the ledger' as `difference`, last_commits.*
from last_commits
left anti join outcomes
    on outcomes.`version` = last_commits.`version`
    and outcomes.`invocation_id` = last_commits.`invocation_id`
{# A run that announced itself and died: the ledger knows of it, and what it wrote is undone before anything else happens. #}
left anti join (select * from events where `event` = 'started') as announced
    on announced.`invocation_id` = last_commits.`invocation_id`
    and announced.`execution_time` = last_commits.`execution_time`
{%- endmacro %}


{% macro _commit_values(commits) %}
    select cast(`execution_time` as timestamp_ntz) as `execution_time`, `invocation_id`, cast(`version` as bigint) as `version`, `unit`
    from values
    {%- for commit in commits %}
        ({{ ditto.literal(commit.tag.execution_time) }}, {{ ditto.literal(commit.tag.invocation_id) }}, {{ commit.version }}, {{ ditto.literal(commit.get('unit')) }}),
    {%- endfor %}
        (null, null, null, null) as commits (`execution_time`, `invocation_id`, `version`, `unit`)
    where `version` is not null
{%- endmacro %}


{# The same for a model of several tables: every live execution has its commit in its unit, and no run wrote without a word in the
   ledger. `units`: the tables that are there; what is frozen has no commits of its own. #}
{% macro unit_differences_sql(ledger, relation, commits, units) %}
with state as (
    {{ ditto.ledger_state_sql(ledger, [relation]) }}
),
commits as (
    {{ ditto._commit_values(commits | selectattr('tag') | list) }}
)
select 'in the ledger, not in the history of the table' as `difference`, `execution_time`, `invocation_id`, `delta_table_version` as `version`
from state
left anti join commits
    on commits.`unit` = lower(state.`unit`)
    and commits.`version` = state.`delta_table_version`
    and commits.`execution_time` = state.`execution_time`
where state.`live` and lower(state.`unit`) in ({% for unit in units %}{{ ditto.literal(unit) }}, {% endfor %}'')
union all
select 'in the history of the table, not in the ledger' as `difference`, `execution_time`, `invocation_id`, `version`
from commits
left anti join (select `invocation_id`, `execution_time` from {{ ledger }} where `relation` = {{ ditto.literal(relation) }}) as announced
    on announced.`invocation_id` = commits.`invocation_id`
    and announced.`execution_time` = commits.`execution_time`
{%- endmacro %}
