{# The last event and the last outcome of each execution in the current generation of each relation.
   Outcomes are ordered by the table's version, which is the order in which they really happened. Only where a model has many
   tables, each with versions of its own, do versions tell no order; there the runs hold the lease, so the events are in order. #}
{% macro ledger_executions_sql(ledger, relations=none) %}
    events as (
        select
            *,
            struct({{ ditto.version_order() }}, `seq`, `event_id`) as `position`,
            max(`generation`) over (partition by `relation`) as `current_generation`,
            max(`seq`) over (partition by `relation`) as `last_seq`,
            max(`token`) over (partition by `relation`) as `last_token`,
            max_by(`hash`, struct(`seq`, coalesce(`version`, -1), `event_id`)) over (partition by `relation`) as `last_hash`
        from {{ ledger }}
        {%- if relations is not none %}
        where `relation` in ({% for relation in relations %}{{ ditto.literal(relation) }}{{ ', ' if not loop.last }}{% endfor %})
        {%- endif %}
    ),
    executions as (
        select
            `relation`,
            `execution_time`,
            max(`generation`) as `generation`,
            max(`last_seq`) as `last_seq`,
            max(`last_token`) as `last_token`,
            max(`last_hash`) as `last_hash`,
            max_by(struct(`event`, `mode`, `pattern`, `token`, `base_version`, `version`, `seq`, `invocation_id`, `user`, `at`),
                `position`) as `last_event`,
            max_by(struct(`event_id`, `mode`, `pattern`, `base_version`, `version`, `seq`, `rows_inserted`, `rows_updated`,
                `rows_deleted`, `unit`, `inputs`, `invocation_id`, `user`, `at`, `position`), `position`)
                filter (where `event` = 'committed') as `outcome`
        from events
        where `generation` = `current_generation` and `execution_time` is not null
        group by `relation`, `execution_time`
    )
{%- endmacro %}


{# The place of an event among those of its relation, as far as versions tell it. #}
{% macro version_order() %}
    {{ return("if(`pattern` in ('fast_metadata_cleaner', 'proxy_view'), -1, coalesce(`version`, -1))") }}
{% endmacro %}


{# What each execution did last, and whether its effect is still in the table. #}
{% macro ledger_state_view_sql(ledger, view) %}
create view if not exists {{ view }}
comment 'ditto: the state of every execution of every model, derived from the ledger' as
{{ ditto.ledger_state_sql(ledger) }}
{%- endmacro %}


{% macro ledger_state_sql(ledger, relations=none) %}
with {{ ditto.ledger_executions_sql(ledger, relations) }},
stale as (
    select distinct later.`relation`, later.`execution_time`
    from executions as later
    inner join events as earlier
        on earlier.`relation` = later.`relation`
        and earlier.`event` <> 'started'
        and earlier.`generation` = later.`generation`
        and earlier.`execution_time` < later.`execution_time`
        and later.`execution_time` < earlier.`undoes_until`
        and earlier.`position` > later.`outcome`.`position`
)
select
    executions.`relation`,
    executions.`execution_time`,
    executions.`outcome`.`version` as `delta_table_version`,
    executions.`outcome`.`base_version`,
    stale.`relation` is null and executions.`outcome` is not null
        and (executions.`last_event`.`event` = 'committed' or executions.`last_event`.`mode` = 'undone') as `live`,
    case
        when executions.`last_event`.`event` = 'started' then 'unfinished'
        {# Undone: what it did before is in the table again. #}
        when executions.`last_event`.`event` = 'released'
            and (executions.`outcome` is null or executions.`last_event`.`mode` <> 'undone') then 'released'
        when stale.`relation` is not null then 'stale'
        else 'live'
    end as `status`,
    executions.`last_event`.`pattern`,
    executions.`last_event`.`mode`,
    executions.`outcome`.`rows_inserted`,
    executions.`outcome`.`rows_updated`,
    executions.`outcome`.`rows_deleted`,
    executions.`outcome`.`unit`,
    executions.`outcome`.`inputs`,
    executions.`generation`,
    executions.`last_event`.`invocation_id`,
    executions.`last_event`.`user`,
    executions.`last_event`.`at`
from executions
left join stale
    on stale.`relation` = executions.`relation`
    and stale.`execution_time` = executions.`execution_time`
{%- endmacro %}


{# The audit trail for people: one line for each event, the newest generation last. #}
{% macro ledger_runs_view_sql(ledger, view) %}
create view if not exists {{ view }}
comment 'ditto: the audit trail, one row for each event' as
select
    `relation`,
    `generation`,
    min(`seq`) as `seq`,
    min(`at`) as `at`,
    `execution_time`,
    `pattern`,
    `mode`,
    `event`,
    `base_version`,
    `version`,
    max(`rows_inserted`) as `rows_inserted`,
    max(`rows_updated`) as `rows_updated`,
    max(`rows_deleted`) as `rows_deleted`,
    `unit`,
    max(`details`) as `details`,
    `invocation_id`,
    min(`user`) as `user`,
    `event_id`
from {{ ledger }}
group by `event_id`, `relation`, `generation`, `execution_time`, `pattern`, `mode`, `event`, `base_version`, `version`,
    `unit`, `invocation_id`
{%- endmacro %}
