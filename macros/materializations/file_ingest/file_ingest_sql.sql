{# Pure builders: what is read from the folder and the table, and what is written to the table. #}

{# The folder as one of Spark's readers sees it. #}
{% macro folder_sql(settings, reader, columns, paths=none) %}
    {{ return('select ' ~ columns ~ ' from ' ~ reader ~ '.' ~ ditto.quote(settings.files.path)
        ~ ' with (' ~ ditto._properties(ditto.listing_options(settings.files)) ~ ')'
        ~ (' where ' ~ ditto.among('`_metadata`.`file_path`', paths) if paths is not none else '')) }}
{% endmacro %}


{# A listing opens no file: only the columns that stand in it are asked for. #}
{% macro listing_sql(settings) %}
    {{ return(ditto.folder_sql(settings, 'binaryFile', '`_metadata`.`file_path` as `file_path`, `length` as `size`, unix_micros(`modificationTime`) as `modified`')) }}
{% endmacro %}


{# SHA-256 of the content, and who has it already. One look at the content gives the first line and the marks of the format too. #}
{% macro hash_sql(settings, paths) %}
{% set columns = [
    '`_metadata`.`file_path` as `file_path`', '`length` as `size`', 'unix_micros(`modificationTime`) as `modified`',
    'unix_micros(current_timestamp()) as `hashed`', 'sha2(`content`, 256) as `file_hash`'
] %}
{% if settings.files.format == 'csv' %}
    {% do columns.append("regexp_extract(make_valid_utf8(cast(substr(`content`, 1, 65536) as string)), '^[^\\r\\n]*', 0) as `head`") %}
{% elif settings.files.format == 'parquet' %}
    {% do columns.append("`length` > 11 and substr(`content`, 1, 4) = X'50415231' and substr(`content`, -4) = X'50415231' as `is_parquet`") %}
{% endif %}
{{ ditto._with_owners(settings, ditto.folder_sql(settings, 'binaryFile', columns | join(', '), paths)) }}
{%- endmacro %}


{# A row holds two gigabytes at most. What is larger is read line by line, whatever it is: the hash is that of the sizes and hashes of
   all its lines, and begins with `lines:`. #}
{% macro hash_in_pieces_sql(settings, paths) %}
{% set lines = ditto.folder_sql(settings, 'text',
    '`_metadata`.`file_path` as `file_path`, `_metadata`.`file_size` as `size`, unix_micros(`_metadata`.`file_modification_time`) as `modified`, `value`', paths) %}
{% set pieces %}
    select `file_path`, `size`, `modified`, unix_micros(current_timestamp()) as `hashed`,
        'lines:' || sha2(concat_ws('|', `size`, count(*), sum(octet_length(`value`)), sum(cast(xxhash64(`value`) as decimal(38))),
            sum(cast(xxhash64(`value`, 'ditto') as decimal(38)))), 256) as `file_hash`
    from ({{ lines }})
    group by `file_path`, `size`, `modified`
{% endset %}
{{ ditto._with_owners(settings, pieces) }}
{%- endmacro %}


{% macro _with_owners(settings, sql) %}
select to_json(struct(`hashed`.*, `owner`.`owners`)) as `file`
from (
{{ sql }}
) as `hashed`
left join (
    select `loaded_hash`, collect_list(`file_path`) as `owners`
    from {{ settings.tracker }}
    where `relation` = {{ ditto.literal(settings.relation) }} and `loaded_hash` is not null
    group by `loaded_hash`
) as `owner`
    on `owner`.`loaded_hash` = `hashed`.`file_hash`
{%- endmacro %}


{# The rows with the load that brings them. A row of no file could never be replaced, and is refused. Thousands of small files do
   not become hundreds of small ones in the table. #}
{% macro ingest_rows_sql(settings, sql) %}
{% set path = ditto.quote(settings.file_path_column) %}
select /*+ rebalance */ *
from (
    select `rows`.*, {{ ditto.literal(settings.load) }} as `_ditto_load`,
        case when `mine`.`_ditto_path` is null then raise_error('ditto: a row of no file') end as `_ditto_guard`
    from (
{{ sql }}
    ) as `rows`
    left join (
        select `file_path` as `_ditto_path`
        from {{ settings.tracker }}
        where `relation` = {{ ditto.literal(settings.relation) }} and `load` = {{ ditto.literal(settings.load) }} and `status` = 'IN_PROGRESS'
    ) as `mine`
        on `mine`.`_ditto_path` = `rows`.{{ path }}
)
where `_ditto_guard` is null
{%- endmacro %}


{% macro rows_of_no_file_sql(settings, sql, paths) %}
select to_json(struct(*)) as `problem`
from (
{{ sql }}
)
where {{ ditto.quote(settings.file_path_column) }} is null{{ ' or not ' ~ ditto.among(ditto.quote(settings.file_path_column), paths) if paths }}
limit 5
{%- endmacro %}


{# Rows of some loads, and of some files whatever brought them. #}
{% macro loaded_counts_sql(settings, loads, paths) %}
select to_json(struct(`_ditto_load` as `load`, {{ ditto.quote(settings.file_path_column) }} as `file_path`, count(*) as `records`)) as `loaded`
from {{ settings.table }}
where {{ ditto.among('`_ditto_load`', loads) }} or {{ ditto.among(ditto.quote(settings.file_path_column), paths) }}
group by `_ditto_load`, {{ ditto.quote(settings.file_path_column) }}
{%- endmacro %}
