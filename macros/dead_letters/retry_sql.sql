{# Pure builders of ditto_retry_dead_letters. `dead`: the settings of a model's dead letters; `predicate`: which of them. #}

{# What there is to do: one group for each execution, each run that found letters and each kind of record. What is on its way into
   the table comes first. `tried`: the invocations of a retry that did not finish; what they looked at was counted. #}
{% macro retry_groups_sql(dead, statuses, execution_time=none, tried=[]) %}
select
    cast(`execution_time` as string) as `time`, `invocation_id` as `found_by`, `record_type`,
    if(`status` = 'RETRYING', `retry_id`, null) as `moving`,
    `replaced_by` is not null as `replaced`, count(*) as `letters`
from {{ dead.table }}
where `status` = 'RETRYING' or ({{ ditto.retry_candidates(statuses, tried) }}
    {{- ' and `execution_time` = ' ~ ditto.typed_literal(execution_time, 'timestamp_ntz') if execution_time is not none }})
group by all
order by `time`, `moving` nulls last, `found_by`, `record_type`, `replaced`
{%- endmacro %}


{% macro retry_candidates(statuses, tried=[]) %}
    {% set terms = [ditto.among('`status`', statuses)] + (['not coalesce(' ~ ditto._retried_by(tried) ~ ', false)'] if tried else []) %}
    {{ return(terms | join(' and ')) }}
{% endmacro %}


{# A retry_id begins with the invocation. #}
{% macro _retried_by(invocations) %}
    {{ return(ditto.among("substring_index(`retry_id`, ':', 1)", invocations)) }}
{% endmacro %}


{# The rows as the SELECT gave them. With `keep` each different record once, beside its text. `more`: columns that rows of the table
   have besides, as {name: SQL over the columns of the dead letters}. #}
{% macro stored_rows_sql(dead, record_type, predicate, keep=false, more={}) %}
select {{ '`_ditto_record`, ' if keep }}`_ditto_row`.*{{ ', ' ~ ditto.quote_all(more) if more }}
    {{- ', cast(null as string) as `_corrupt_record`' if dead.corrupt and '`_corrupt_record`' not in record_type | lower }}
from (
    select *, {{ ditto._read_record('`_ditto_record`', record_type) }} as `_ditto_row`
    from (
        select {{ 'distinct ' if keep }}`record` as `_ditto_record`
        {%- for name, value in more.items() %}, {{ value }} as {{ ditto.quote(name) }}{% endfor %}
        from {{ dead.table }} where {{ predicate }}
    )
)
{%- endmacro %}


{# from_json has a use of its own for a column called _corrupt_record, unless it is told another name. #}
{% macro _read_record(record, record_type) %}
    {{ return('from_json(' ~ record ~ ', ' ~ ditto.literal(record_type) ~ ', ' ~ ditto.json_options()[:-1]
        ~ ", 'columnNameOfCorruptRecord', '_ditto_unreadable'))") }}
{% endmacro %}


{# Records that would not come back as they were: from_json makes null of what it cannot read. #}
{% macro changed_records_sql(dead, record_type, predicate) %}
select `record` as `problem`
from {{ dead.table }}
where {{ predicate }} and not to_json({{ ditto._read_record('`record`', record_type) }}, {{ ditto.json_options() }}) <=> `record`
limit 5
{%- endmacro %}


{# One commit: what passes is on its way (if it `moves`), what fails again has one attempt more; both with the name of this retry.
   Equal records are judged once, so that a row of the table never meets two verdicts. #}
{% macro judge_again_sql(dead, record_type, predicate, retry_id, moves=true) %}
{% set touched = '`retry_id` = ' ~ ditto.literal(retry_id) %}
merge into {{ dead.table }} as target
using (
select `_ditto_record`, `_ditto_reasons`
from (
{{ ditto.judged_rows_sql(dead, ditto.stored_rows_sql(dead, record_type, predicate, keep=true)) }}
)
) as source
on target.`record` = source.`_ditto_record` and {{ predicate }}
{%- if moves %}
when matched and source.`_ditto_reasons` = '' then update set `status` = 'RETRYING', {{ touched }}
{%- endif %}
when matched and source.`_ditto_reasons` <> '' then update set {{ ditto._one_attempt_more(dead) }}, `reason` = source.`_ditto_reasons`, {{ touched }}
{%- endmacro %}


{% macro _one_attempt_more(dead) %}
    {{ return("`attempts` = `attempts` + 1, `status` = if(`attempts` + 1 >= " ~ dead.max_retries ~ ", 'DEAD', 'FAILED')") }}
{% endmacro %}


{# The engine did not take them: that was an attempt. #}
{% macro put_back_sql(dead, retry_id) %}
    {{ return('update ' ~ dead.table ~ ' set ' ~ ditto._one_attempt_more(dead) ~ ' where ' ~ ditto.moving_letters(retry_id)) }}
{% endmacro %}


{% macro moving_letters(retry_id) %}
    {{ return("`status` = 'RETRYING' and `retry_id` = " ~ ditto.literal(retry_id) ~ ' and `replaced_by` is null') }}
{% endmacro %}


{# What became of the letters that these invocations looked at and that are still there. #}
{% macro retried_sql(dead, invocations) %}
select `status`, count(*) as `letters`, min(`attempts`) as `low`, max(`attempts`) as `high`
from {{ dead.table }}
where `status` <> 'RETRYING' and {{ ditto._retried_by(invocations) }}
group by `status`
{%- endmacro %}


{# The transaction id makes an INSERT that is sent again, by this retry or by one that takes it over, count once. #}
{% macro insert_once_sql(table, columns, sql, retry_id) %}
{% set options = ditto._properties({'userMetadata': 'ditto:retry|' ~ retry_id, 'txnAppId': 'ditto:retry:' ~ retry_id, 'txnVersion': 1}) %}
insert into {{ table }} with ({{ options }})
{{ ditto.first_mention(table, options) }}
select {{ ditto.select_columns(columns) }}
from (
{{ sql }}
)
{%- endmacro %}


{# The invocations of an operation that was begun and not finished, those that were taken over included. #}
{% macro unfinished_invocations_sql(ledger, relation) %}
select distinct `invocation_id`
from {{ ledger }}
where `relation` = {{ ditto.literal(relation) }} and `event` = 'started' and `token` > coalesce(
    (select max(`token`) from {{ ledger }} where `relation` = {{ ditto.literal(relation) }} and `event` <> 'started'), 0)
{%- endmacro %}


{# Which invocation wrote the rows of each execution that are in the table. #}
{% macro applied_by_sql(ledger, relation) %}
with {{ ditto.ledger_executions_sql(ledger, [relation]) }}
select cast(`execution_time` as string) as `time`, `outcome`.`invocation_id`
from executions
where `outcome` is not null
{%- endmacro %}
