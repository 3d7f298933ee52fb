{# Pure builders for what is written to the ledger and read from it. #}

{# Each event is chained to the one before it. `lease` = {app, version} makes the insert a compare-and-set;
   `fence` = {relation, token} makes it write nothing once a newer run has taken over. #}
{% macro ledger_append_sql(ledger, events, prev_hash=none, lease=none, fence=none) %}
insert into {{ ledger }}
{%- if lease %} with ('txnAppId' = {{ ditto.literal(lease.app) }}, 'txnVersion' = {{ ditto.literal(lease.version) }}){% endif %}
select * from (
    with
    {%- for event in events %}
    event_{{ loop.index }} as (
        select *, {{ ditto.ledger_digest() }} as `hash`
        from (
            select
                {{ ditto._event_values(event) }},
                {{ ditto.typed_literal(prev_hash, 'string') if loop.first else '`hash`' }} as `prev_hash`
            {%- if not loop.first %}
            from event_{{ loop.index0 }}
            {%- endif %}
        )
    ){{ ',' if not loop.last }}
    {%- endfor %}
    {%- for event in events %}
    {{ 'union all ' if not loop.first }}select * from event_{{ loop.index }}
    {%- endfor %}
)
{%- if fence %}
where {{ ditto.fence_condition(ledger, fence.relation, fence.token) }}
{%- endif %}
{%- endmacro %}


{% macro _event_values(event) %}
    {% set values = [] %}
    {% for column in ditto.ledger_columns()[:-2] %}
        {% if column.name == 'at' %}
            {% set value = 'current_timestamp()' %}
        {% elif column.name == 'user' %}
            {% set value = 'current_user()' %}
        {% else %}
            {% set value = ditto.typed_literal(event.get(column.name), column.type) %}
        {% endif %}
        {% do values.append(value ~ ' as ' ~ ditto.quote(column.name)) %}
    {% endfor %}
    {{ return(values | join(',\n                ')) }}
{% endmacro %}


{# True as long as nobody has taken over the lease. #}
{% macro fence_condition(ledger, relation, token) %}
    {{ return('(select max(`token`) from ' ~ ledger ~ ' where `relation` = ' ~ ditto.literal(relation) ~ ') = ' ~ token) }}
{% endmacro %}


{# The last event and the last outcome of each execution in the current generation of each relation.
   Outcomes are ordered by the table's version, which is the order in which they really happened. #}
{% macro ledger_executions_sql(ledger, relations=none) %}
    events as (
        select
            *,
            struct(coalesce(`version`, -1), `seq`, `event_id`) as `position`,
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
        where `generation` = `current_generation`
        group by `relation`, `execution_time`
    )
{%- endmacro %}


{# Facts for a plan: one JSON document for each relation that has events. #}
{% macro ledger_read_sql(ledger, relations, execution_time) %}
{% set now = ditto.typed_literal(execution_time, 'timestamp_ntz') %}
with {{ ditto.ledger_executions_sql(ledger, relations) }}
select to_json(struct(
    `relation`,
    max(`generation`) as `generation`,
    max(`last_seq`) as `seq`,
    max(`last_token`) as `token`,
    max(`last_hash`) as `hash`,
    max_by(struct(cast(`execution_time` as string) as `execution_time`, `outcome`.`event_id`, `outcome`.`version`,
        `outcome`.`base_version`, `outcome`.`invocation_id`), `outcome`.`position`)
        filter (where `outcome` is not null) as `last`,
    coalesce(bool_or(`execution_time` = {{ now }} and `outcome` is not null), false) as `own`,
    cast(max(`execution_time`) filter (where `execution_time` < {{ now }} and `outcome` is not null) as string) as `previous`,
    cast(max(`execution_time`) filter (where `outcome` is not null) as string) as `newest`,
    collect_list(struct(cast(`execution_time` as string) as `execution_time`, `last_event`.`mode`, `last_event`.`token`,
        `last_event`.`base_version`, `last_event`.`invocation_id`, `last_event`.`user`, cast(`last_event`.`at` as string) as `at`))
        filter (where `last_event`.`event` = 'started') as `unfinished`
)) as `facts`
from executions
group by `relation`
{%- endmacro %}


{# The run that holds the newest token of a relation. #}
{% macro ledger_holder_sql(ledger, relation) %}
select to_json(max_by(struct(`token`, `invocation_id`, cast(`execution_time` as string) as `execution_time`, `user`,
    cast(`at` as string) as `at`, `hash`), `token`)) as `holder`
from {{ ledger }}
where `relation` = {{ ditto.literal(relation) }} and `token` is not null
having count(*) > 0
{%- endmacro %}


{# Events whose hash does not fit, or whose predecessor is gone. #}
{% macro ledger_broken_sql(ledger) %}
with events as (
    select *, {{ ditto.ledger_digest() }} as `_digest` from {{ ledger }}
)
select concat_ws('', events.`relation`, ' event ', events.`seq`, ' (', events.`event`, ' of execution ', cast(events.`execution_time` as string), '): ',
    if(events.`hash` <=> events.`_digest`, 'the event before it is missing', 'its fields were changed')) as `problem`
from events
left join (select distinct `relation`, `hash` from {{ ledger }}) as chain
    on chain.`relation` = events.`relation` and chain.`hash` = events.`prev_hash`
where not (events.`hash` <=> events.`_digest`) or (events.`prev_hash` is not null and chain.`hash` is null)
order by events.`relation`, events.`seq`
limit 20
{%- endmacro %}
