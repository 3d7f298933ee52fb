{# The ledger against the table's history. `commits` were read before: DESCRIBE HISTORY cannot stand in a query. Pure. #}
{% macro ledger_differences_sql(ledger, relation, commits) %}
{% set tagged = commits | selectattr('tag') | list %}
with {{ ditto.ledger_executions_sql(ledger, [relation]) }},
outcomes as (
    select distinct `execution_time`, `invocation_id`, `version`
    from events
    where `event` = 'committed' and `generation` = `current_generation` and `version` is not null
        {# An outcome without a commit of its own, and one older than the history, have nothing to be compared with. #}
        and `version` <> `base_version` and `version` >= {{ (commits | last).version if commits else 0 }}
),
commits as (
    select cast(`execution_time` as timestamp_ntz) as `execution_time`, `invocation_id`, cast(`version` as bigint) as `version`
    from values
    {%- for commit in tagged %}
        ({{ ditto.literal(commit.tag.execution_time) }}, {{ ditto.literal(commit.tag.invocation_id) }}, {{ commit.version }}),
    {%- endfor %}
        (null, null, null) as commits (`execution_time`, `invocation_id`, `version`)
    where `version` is not null
),
last_commits as (
    {# A statement that was sent twice left two commits; the ledger knows the last one. #}
    select `execution_time`, `invocation_id`, max(`version`) as `version` from commits group by `execution_time`, `invocation_id`
),
generation_start as (
    select coalesce(min(`version`), 0) as `version` from outcomes
)
select 'in the ledger, not in the history of the table' as `difference`, outcomes.*
from outcomes
left anti join commits
    on commits.`version` = outcomes.`version`
    and commits.`invocation_id` = outcomes.`invocation_id`
    and commits.`execution_time` = outcomes.`execution_time`
union all
select 'in the history of the table, not in the ledger' as `difference`, last_commits.*
from last_commits
inner join generation_start
    on last_commits.`version` >= generation_start.`version`
left anti join outcomes
    on outcomes.`version` = last_commits.`version`
    and outcomes.`invocation_id` = last_commits.`invocation_id`
{%- endmacro %}
