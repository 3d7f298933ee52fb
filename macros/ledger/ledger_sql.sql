{# Pure builders for what is written to the ledger and read from it. #}

{# Each event is chained to the one before it. With a `lease` = {app, version}, which `lease_id` makes, Delta skips the insert where the
   ledger has seen this version or a newer one. `marker` is kept in the ledger's history, where it tells whether the insert went through. #}
{% macro ledger_append_sql(ledger, events, prev_hash=none, lease=none, marker=none) %}
{% set options = {} %}
{% if lease %}{% do options.update({'txnAppId': lease.app, 'txnVersion': lease.version}) %}{% endif %}
{% if marker %}{% do options.update({'userMetadata': marker}) %}{% endif %}
insert into {{ ledger }}
{%- if options %} with ({{ ditto._properties(options) }}){% endif %}
select * from (
    with
    {%- for event in events %}
    event_{{ loop.index }} as (
        {{ ditto._hashed_event_sql(event, prev_hash, loop.index0) }}
    ){{ ',' if not loop.last }}
    {%- endfor %}
    {%- for event in events %}
    {{ 'union all ' if not loop.first }}select * from event_{{ loop.index }}
    {%- endfor %}
)
{%- endmacro %}


{% macro _hashed_event_sql(event, prev_hash, before=0) %}
select *, {{ ditto.ledger_digest() }} as `hash`
        from (
            select
                {{ ditto._event_values(event) }},
                {{ '`hash`' if before else ditto.typed_literal(prev_hash, 'string') }} as `prev_hash`
            {%- if before %}
            from event_{{ before }}
            {%- endif %}
        )
{%- endmacro %}


{# The engine's clock and user for an event, and so its hash: known before the event is appended, the next one can be chained to it
   without reading the ledger. Reads no table. #}
{% macro ledger_stamp_sql(event, prev_hash) %}
select unix_micros(`at`) as `at`, `user`, `hash`
from (
        {{ ditto._hashed_event_sql(event, prev_hash) }}
)
{%- endmacro %}


{% macro _event_values(event) %}
    {% set values = [] %}
    {% for column in ditto.ledger_columns()[:-2] %}
        {% if column.name == 'at' %}
            {% set value = 'timestamp_micros(' ~ event.at ~ ')' if event.at else 'current_timestamp()' %}
        {% elif column.name == 'user' and not event.user %}
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


{# Facts for a plan: one JSON document for each relation that has events. One aggregation without windows, since every run waits
   for it. Pairs of generation and time are compared as a whole: one of an older generation than the newest does not count.
   Events with a token are serialised by the lease, so the last of them tells whether an execution is unfinished.
   With `chain`, also every outcome that undid the later ones: what a backfill has to know. #}
{% macro ledger_read_sql(ledger, relations, execution_time, chain=false) %}
{% set now = ditto.typed_literal(execution_time, 'timestamp_ntz') %}
select to_json(struct(
    `relation`,
    max(`generation`) as `generation`,
    max(`seq`) as `seq`,
    max(`token`) as `token`,
    max_by(`hash`, struct(`seq`, coalesce(`version`, -1), `event_id`)) as `hash`,
    max_by(
        struct(cast(`execution_time` as string) as `execution_time`, `event_id`, `version`, `base_version`, `invocation_id`, `generation`),
        struct(`generation`, {{ ditto.version_order() }}, `seq`, `event_id`)
    ) filter (where `event` = 'committed' and `execution_time` is not null) as `last`,
    coalesce(max(if(`execution_time` = {{ now }}, `generation`, null)) filter (where `event` = 'committed') = max(`generation`), false) as `own`,
    max(struct(`generation`, cast(`execution_time` as string) as `execution_time`))
        filter (where `event` = 'committed' and `execution_time` < {{ now }}) as `previous`,
    max(struct(`generation`, cast(`execution_time` as string) as `execution_time`)) filter (where `event` = 'committed' and `execution_time` is not null) as `newest`,
    max_by(
        struct(`event`, cast(`execution_time` as string) as `execution_time`, `mode`, `token`, `base_version`, `version`, `invocation_id`, `user`,
            cast(`at` as string) as `at`, cast(`undoes_until` as string) as `undoes_until`),
        struct(`token`, `seq`)
    ) filter (where `token` is not null) as `lease`
    {%- if chain %},
    collect_list(struct(`generation`, `event`, cast(`execution_time` as string) as `time`, `version`, `base_version`, `seq`))
        filter (where `event` <> 'started' and `undoes_until` is not null) as `outcomes`
    {%- endif %}
)) as `facts`
from {{ ledger }}
where `relation` in ({% for relation in relations %}{{ ditto.literal(relation) }}{{ ', ' if not loop.last }}{% endfor %})
group by `relation`
{%- endmacro %}


{# The leased runs of a relation since a version of its table: what they committed is not somebody else's. #}
{% macro ledger_leases_sql(ledger, relation, version) %}
select `event`, `token`, `version`
from {{ ledger }}
where `relation` = {{ ditto.literal(relation) }} and `token` is not null and coalesce(`version`, -1) >= {{ version }}
order by `token`, `seq`
{%- endmacro %}


{# Who holds this token of a relation, and who a newer one? #}
{% macro ledger_holder_sql(ledger, relation, token) %}
select to_json(struct(`token`, `invocation_id`, cast(`execution_time` as string) as `execution_time`, `user`, cast(`at` as string) as `at`,
    `seq`, `event_id`)) as `holder`
from {{ ledger }}
where `relation` = {{ ditto.literal(relation) }} and `token` >= {{ token }}
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
