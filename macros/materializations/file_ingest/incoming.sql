{# The files as a relation: a table without rows of its own over the folder, which the SELECT of the model reads. #}

{# In the FROM of the model. The run puts the files that it is going to load in the place of the whole folder. #}
{% macro incoming() %}
    {% if not execute %}
        {{ return('(select 1)') }}
    {% endif %}
    {% if model.config.materialized != 'file_ingest' %}
        {% do ditto.error('model ' ~ model.name, "ditto.incoming() with materialized='" ~ model.config.materialized ~ "'",
            "materialized='file_ingest'", 'change the config of the model') %}
    {% endif %}
    {# The same for every execution: dbt show and dbt compile need none. #}
    {{ return(ditto.incoming_sql(ditto.file_ingest_settings(model, execution_time='1970-01-01 00:00:00'))) }}
{% endmacro %}


{# Each record with its file. `paths`: only these files, and Spark opens no other; without records that cannot be read. Pure. #}
{% macro incoming_sql(settings, paths=none) %}
    {% set columns = '* except (`_corrupt_record`)' if settings.files.corruptible else '*' %}
    {% set only = '' if paths is none else ' where ' ~ (ditto.among('`_metadata`.`file_path`', paths) if paths else 'false') %}
    {% set readable = ' and `_corrupt_record` is null and ' ~ ditto.all_read(settings) if settings.files.keeps_corrupt and paths else '' %}
    {{ return('(select ' ~ columns ~ ', `_metadata`.`file_path` as ' ~ ditto.quote(settings.file_path_column) ~ ' from ' ~ settings.incoming ~ only ~ readable ~ ')') }}
{% endmacro %}


{# True of every record: a column that nobody asks for is not read, and its faults are not seen. #}
{% macro all_read(settings) %}
    {{ return(ditto.touched(settings.files.columns) ~ ' <> -1') }}
{% endmacro %}


{# The SELECT of the model over some of the files. #}
{% macro ingest_sql(settings, compiled_code, paths) %}
    {{ return(ditto.increment_sql(compiled_code.replace(ditto.incoming_sql(settings), ditto.incoming_sql(settings, paths)), settings)) }}
{% endmacro %}


{% macro require_incoming(settings, compiled_code) %}
    {% if ditto.incoming_sql(settings) not in compiled_code %}
        {% do ditto.error(settings.subject, 'a SELECT that does not read its files', 'the files in its FROM',
            'select * from {{ ditto.incoming() }}') %}
    {% endif %}
{% endmacro %}


{# Made once, and again when the config of the files has changed. What Spark remembers of the folder is forgotten. #}
{% macro incoming_setup(settings) %}
    {% set known = ditto.table_facts(settings.schema, settings.incoming_identifier) %}
    {% set definition = local_md5(ditto.create_incoming_sql(settings, settings.files.schema or '')) %}
    {% if known.exists and not (known.comment or '').startswith('ditto: the files of ' ~ settings.relation) %}
        {% do ditto.error(settings.subject, 'a ' ~ known.type ~ ' under the name ' ~ settings.incoming ~ ', which ditto did not make',
            'nothing: the files are read under this name', 'rename or drop it') %}
    {% elif known.exists and definition not in known.comment %}
        {# Not under a run that reads it. #}
        {% do ditto.refuse_unfinished(settings, ditto.ledger_facts(settings.relation, settings.execution_time)) %}
        {% do ditto.send('drop_incoming', 'drop table if exists ' ~ settings.incoming) %}
    {% endif %}
    {% if not known.exists or definition not in known.comment %}
        {% set schema = settings.files.schema or ditto._schema_of_a_file(settings) %}
        {% do ditto._check_file_schema(settings, schema) %}
        {% do ditto.send('create_schema', 'create schema if not exists ' ~ ditto.quote(settings.schema)) %}
        {% do ditto.send('create_incoming', ditto.create_if_missing_sql(ditto.create_incoming_sql(settings, schema)
            ~ '\ncomment ' ~ ditto.literal('ditto: the files of ' ~ settings.relation ~ ', ' ~ definition), tries=20)) %}
    {% endif %}
    {% do ditto.send('refresh_incoming', 'refresh table ' ~ settings.incoming) %}
    {% do settings.files.update({'columns': ditto.known_table_facts(settings.schema, settings.incoming_identifier).columns}) %}
{% endmacro %}


{# An external table: dropping it leaves the files alone. Its options are the reader's. Pure. #}
{% macro create_incoming_sql(settings, schema) %}
{% set files = settings.files %}
{% set corrupt = {'mode': 'PERMISSIVE', 'columnNameOfCorruptRecord': '_corrupt_record'} if files.corruptible else {} %}
{# A header with other names, or in another order, would be read as if it were the right one. #}
{% set strict = {'enforceSchema': 'false'} if files.format == 'csv' else {} %}
create table if not exists {{ settings.incoming }} ({{ schema }}
{{ ', `_corrupt_record` string' if files.corruptible }})
using {{ files.format }}
options ({{ ditto._properties(dict(dict(strict, **corrupt), **dict(files.options, **ditto.listing_options(files)))) }})
location {{ ditto.literal(files.path) }}
{%- endmacro %}


{% macro listing_options(files) %}
    {# A setting of the session may not hide a broken file. #}
    {% set options = {'recursiveFileLookup': 'true' if files.recursive else 'false', 'ignoreCorruptFiles': 'false', 'ignoreMissingFiles': 'false'} %}
    {% do options.update({'pathGlobFilter': files.pattern}) if files.pattern %}
    {{ return(options) }}
{% endmacro %}


{# Formats that carry a schema: that of the first file, in the order of their names, that can be read. It stays until the config of
   the files changes. #}
{% macro _schema_of_a_file(settings) %}
    {% for row in ditto.list_folder(settings, '`path` as `file_path`', 'order by 1 limit 20') %}
        {% set file = settings.files.format ~ '.' ~ ditto.quote(row['file_path']) %}
        {% set columns = [] %}
        {% for column in (ditto.query_columns('select * from ' ~ file) if not ditto.fetch(ditto.caught_sql('select * from ' ~ file ~ ' limit 0', 'failed')) else []) %}
            {% do columns.append(ditto.quote(column.name) ~ ' ' ~ column.type) %}
        {% endfor %}
        {% if columns %}
            {{ return(columns | join(', ')) }}
        {% endif %}
    {% endfor %}
    {% do ditto.error(settings.subject, 'no schema, and no file in ' ~ settings.files.path ~ ' that has a readable one', 'the columns of the files with their types',
        "add the schema to files in the config of the model, for example 'schema': 'id bigint, amount double'") %}
{% endmacro %}


{% macro _check_file_schema(settings, schema) %}
    {% if ditto.fetch(ditto.caught_sql('select from_json(cast(null as string), ' ~ ditto.literal(schema) ~ ') as `parsed` limit 0', 'failed')) %}
        {% do ditto._files_error(settings, 'files: schema: ' ~ schema ~ ', which Spark does not understand', 'columns with their types, as in CREATE TABLE') %}
    {% endif %}
{% endmacro %}
