{# Pure builders: what tells which files cannot be read. #}

{# Every column is touched: what nobody asks for is not parsed, and its faults are not seen. #}
{% macro inspect_sql(settings, paths) %}
{% set corrupt = '`_corrupt_record`' if settings.files.corruptible else 'cast(null as string)' %}
select to_json(struct(`_ditto_file` as `file_path`, count(*) as `records`, count(`_ditto_corrupt`) as `corrupt`, left(min(`_ditto_corrupt`), 200) as `sample`,
    max(`_ditto_row`) as `content`)) as `seen`
from (
    select `_metadata`.`file_path` as `_ditto_file`, {{ corrupt }} as `_ditto_corrupt`, {{ ditto.touched(settings.files.columns) }} as `_ditto_row`
    from {{ settings.incoming }}
    where {{ ditto.among('`_metadata`.`file_path`', paths) }}
)
group by `_ditto_file`
{%- endmacro %}


{% macro touched(columns) %}
    {% set terms = [] %}
    {% for column in columns if column.name != '_corrupt_record' %}
        {% set hashable = not modules.re.search('map<|variant', column.type) %}
        {% do terms.append(ditto.quote(column.name) if hashable else 'to_json(struct(' ~ ditto.quote(column.name) ~ '))') %}
    {% endfor %}
    {{ return('xxhash64(' ~ terms | join(', ') ~ ')') }}
{% endmacro %}


{# The first line of each file whose text is that of a record which the reader could not read. #}
{% macro corrupt_lines_sql(settings, paths) %}
{% set lines = ditto.folder_sql(settings, 'binaryFile',
    "`_metadata`.`file_path` as `file_path`, posexplode(split(make_valid_utf8(cast(`content` as string)), '\\r?\\n')) as (`line`, `text`)", paths) %}
select to_json(struct(`lines`.`file_path`, min(`line`) + 1 as `line`, left(min_by(`text`, `line`), 200) as `text`,
    max(`corrupt`.`content`) as `content`)) as `seen`
from ({{ lines }}) as `lines`
join (
    select `_metadata`.`file_path` as `file_path`, `_corrupt_record` as `record`, max({{ ditto.touched(settings.files.columns) }}) as `content`
    from {{ settings.incoming }}
    where {{ ditto.among('`_metadata`.`file_path`', paths) }}
    group by 1, 2
) as `corrupt`
    on `corrupt`.`file_path` = `lines`.`file_path` and `corrupt`.`record` = `lines`.`text`
group by `lines`.`file_path`
{%- endmacro %}


{# Records that cannot be read, as letters: their text and their file are all that is known. #}
{% macro corrupt_letters_sql(settings, paths) %}
{{ ditto.letter_sql(settings, "'corrupt_record'", "to_json(struct(`_corrupt_record`, `file_path`), " ~ ditto.json_options() ~ ")",
    ditto.corrupt_record_type(), {'file_path': '`file_path`', 'load': ditto.literal(settings.load)}) }}
from (
    select `_corrupt_record`, `_metadata`.`file_path` as `file_path`
    from {{ settings.incoming }}
    where {{ ditto.among('`_metadata`.`file_path`', paths) }} and `_corrupt_record` is not null and {{ ditto.all_read(settings) }}
)
{%- endmacro %}


{% macro corrupt_record_type() %}
    {{ return('`_corrupt_record` string, `file_path` string') }}
{% endmacro %}
