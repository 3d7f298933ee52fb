{# `ditto_files`: one row for each file of each model. It lies beside the ledger. #}

{% macro tracker_columns() %}
    {{ return([
        {'name': 'relation', 'type': 'string', 'comment': 'schema.table of the model, in lower case'},
        {'name': 'file_path', 'type': 'string', 'comment': 'As _metadata.file_path of Spark gives it'},
        {'name': 'file_hash', 'type': 'string', 'comment': 'SHA-256 of the content that was seen last; of its lines where it begins with lines:'},
        {'name': 'size', 'type': 'bigint', 'comment': 'Bytes'},
        {'name': 'modified_at', 'type': 'timestamp', 'comment': 'As the file system says'},
        {'name': 'status', 'type': 'string', 'comment': 'PENDING, IN_PROGRESS, SUCCESS, FAILED or DEAD'},
        {'name': 'record_count', 'type': 'bigint', 'comment': 'Rows that it brought to the table'},
        {'name': 'error_message', 'type': 'string', 'comment': 'Why it did not come in'},
        {'name': 'attempts', 'type': 'int', 'comment': 'How often this content was tried'},
        {'name': 'duplicate_of', 'type': 'string', 'comment': 'The file that has the same content and was loaded instead'},
        {'name': 'loaded_hash', 'type': 'string', 'comment': 'The content whose rows are in the table'},
        {'name': 'load', 'type': 'string', 'comment': 'The last load that tried it: _ditto_load of its rows'},
        {'name': 'execution_time', 'type': 'timestamp_ntz', 'comment': 'Of the run that tried it last'},
        {'name': 'invocation_id', 'type': 'string', 'comment': 'Of the dbt command'},
        {'name': 'hashed_at', 'type': 'timestamp', 'comment': 'When its content was looked at'},
        {'name': 'processed_at', 'type': 'timestamp', 'comment': 'Wall clock, for people'}
    ]) }}
{% endmacro %}


{# Partitioned, so that models do not wait for each other. #}
{% macro tracker_create_sql(tracker) %}
create table if not exists {{ tracker }} (
{%- for column in ditto.tracker_columns() %}
    {{ ditto.quote(column.name) }} {{ column.type }} comment {{ ditto.literal(column.comment) }}{{ ',' if not loop.last }}
{%- endfor %}
) using delta
partitioned by (`relation`)
comment 'ditto: the files of the file_ingest models'
{%- endmacro %}


{% macro tracker_setup() %}
    {% set schema = var('ditto_schema', target.schema) %}
    {% if not ditto.table_facts(schema, 'ditto_files').exists %}
        {% do ditto.send('tracker_table', ditto.create_if_missing_sql(ditto.tracker_create_sql(ditto.ledger_table('ditto_files')))) %}
    {% endif %}
{% endmacro %}


{% macro require_tracker(subject) %}
    {% if execute and flags.WHICH in ('test', 'build', 'retry', 'run-operation') and not ditto.table_facts(var('ditto_schema', target.schema), 'ditto_files').exists %}
        {% do ditto.error(subject, 'no table ' ~ ditto.ledger_table('ditto_files'), 'at least one run of a file_ingest model',
            "dbt run --vars '{execution_date: 2024-10-07}'") %}
    {% endif %}
{% endmacro %}


{# The files that a run has to look at: new, changed, failed, unfinished. One whose size and time of change are those that the
   tracker has is taken as it is, unless it was changed in the very moment in which it was read. With `anew` all of them, and
   those whose rows would be lost. #}
{% macro candidates_sql(settings, anew) %}
{% set changed %}
`tracked`.`file_path` is null
        or `tracked`.`status` not in ('SUCCESS', 'DEAD')
        or `listed`.`size` <> `tracked`.`size` or `listed`.`modified` <> unix_micros(`tracked`.`modified_at`)
        or unix_micros(`tracked`.`hashed_at`) - unix_micros(`tracked`.`modified_at`) < 2000000
{% endset %}
select to_json(struct(
    coalesce(`listed`.`file_path`, `tracked`.`file_path`) as `file_path`,
    `listed`.`file_path` is not null as `listed`,
    `listed`.`size`, `listed`.`modified`,
    if(`tracked`.`file_path` is null, null, struct(`tracked`.`status`, `tracked`.`attempts`, `tracked`.`file_hash`, `tracked`.`loaded_hash`,
        `tracked`.`load`, `tracked`.`duplicate_of`, `tracked`.`record_count`, `tracked`.`size`, unix_micros(`tracked`.`modified_at`) as `modified`,
        unix_micros(`tracked`.`hashed_at`) as `hashed`, `tracked`.`error_message`)) as `tracked`,
    (select count(*) from {{ settings.tracker }} where `relation` = {{ ditto.literal(settings.relation) }}) as `known_files`,
    count(*) over () as `found_files`
)) as `file`
from (
    {{ ditto.listing_sql(settings) }}
) as `listed`
full outer join (
    select * from {{ settings.tracker }} where `relation` = {{ ditto.literal(settings.relation) }}
) as `tracked`
    on `tracked`.`file_path` = `listed`.`file_path`
where case
    when `listed`.`file_path` is null then `tracked`.`status` <> 'SUCCESS'{{ ' or `tracked`.`loaded_hash` is not null' if anew }}
    else {{ 'true' if anew or settings.detect_changes == 'content' else changed.strip() }}
end
order by `listed`.`file_path` is null desc, `tracked`.`status` <=> 'IN_PROGRESS' desc, `tracked`.`attempts` nulls first, `listed`.`modified`, `listed`.`file_path`
limit {{ settings.max_files }}
{%- endmacro %}


{# Files with a content that is about to leave the table, and that were left out because of it. `known`: looked at already. Where another
   file has brought the content too (on_duplicate_content was once `load`), it does not leave. #}
{% macro orphans_sql(settings, hashes, known) %}
select to_json(struct(
    `tracked`.`file_path`, true as `listed`, `listed`.`size`, `listed`.`modified`, `tracked`.`file_hash`, unix_micros(`tracked`.`hashed_at`) as `hashed`,
    struct(`tracked`.`status`, `tracked`.`attempts`, `tracked`.`file_hash`, `tracked`.`loaded_hash`, `tracked`.`load`, `tracked`.`duplicate_of`,
        `tracked`.`size`, unix_micros(`tracked`.`modified_at`) as `modified`) as `tracked`
)) as `file`
from {{ settings.tracker }} as `tracked`
join (
    {{ ditto.listing_sql(settings) }}
) as `listed`
    on `listed`.`file_path` = `tracked`.`file_path`
where `tracked`.`relation` = {{ ditto.literal(settings.relation) }} and `tracked`.`duplicate_of` is not null
    and {{ ditto.among('`tracked`.`file_hash`', hashes) }}
    and not {{ ditto.among('`tracked`.`file_path`', known) }}
    and `tracked`.`file_hash` not in (
        select `loaded_hash`
        from {{ settings.tracker }}
        where `relation` = {{ ditto.literal(settings.relation) }} and `loaded_hash` is not null and not {{ ditto.among('`file_path`', known) }}
    )
{%- endmacro %}
