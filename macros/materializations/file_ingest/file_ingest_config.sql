{% macro file_ingest_settings(node, full_refresh=false, dry=false, execution_time=none) %}
    {% set settings = ditto.common_settings(node, 'file_ingest', full_refresh, dry, execution_time=execution_time) %}
    {% set files = ditto.option(node, 'files', {}) %}
    {% if files is not mapping %}
        {% do ditto._files_error(settings, 'files: ' ~ files, 'a mapping with path, format and schema') %}
    {% endif %}
    {% set incoming = settings.identifier ~ '__incoming' %}
    {% do settings.update({
        'files': ditto._read_files(settings, files),
        'incoming_identifier': incoming,
        'incoming': ditto.table_name(settings.schema, incoming),
        'file_path_column': ditto.option(node, 'file_path_column', 'file_path'),
        'on_duplicate_content': ditto.choice(node, 'on_duplicate_content', ['skip', 'load', 'error'], 'skip'),
        'on_failed_file': ditto.choice(node, 'on_failed_file', ['warn', 'error'], 'warn'),
        'detect_changes': ditto.choice(node, 'detect_changes', ['metadata', 'content'], 'metadata'),
        'max_retries': ditto.whole_number(node, 'max_retries', 3, 0),
        'max_files': ditto.whole_number(node, 'max_files', 10000, 1),
        'hash_in_pieces_above': ditto.whole_number(node, 'hash_in_pieces_above', 268435456, 0),
        'load': run_started_at.strftime('%Y%m%dT%H%M%S') ~ '-' ~ invocation_id,
        'leased': true,
        'letter_columns': {'_ditto_load': "concat('retry:', `load`)"}
    }) %}
    {% do ditto._read_file_letters(settings) if settings.dead_letters %}
    {% do ditto._check_file_ingest(settings) %}
    {{ return(settings) }}
{% endmacro %}


{# Letters are replaced with the rows of their file, and not with those of an execution. What cannot be read is one before the SELECT:
   a filter of the model would take it for a row of nulls. #}
{% macro _read_file_letters(settings) %}
    {% set dead = settings.dead_letters %}
    {% if dead.corrupt and not settings.files.corruptible %}
        {% do ditto.error(settings.subject, 'dead_letters: corrupt_records, and files of the format ' ~ settings.files.format,
            'csv or json: other formats have no records that are broken alone', 'remove corrupt_records from the config of the model') %}
    {% endif %}
    {% do settings.files.update({'keeps_corrupt': dead.corrupt}) %}
    {% do dead.update({'own_steps': true, 'corrupt': false, 'rules': dead.rules | rejectattr('name', 'equalto', 'corrupt_record') | list}) %}
{% endmacro %}


{# `files`: path, format, schema, options, pattern, recursive. #}
{% macro _read_files(settings, files) %}
    {% set unknown = files.keys() | reject('in', ['path', 'format', 'schema', 'options', 'pattern', 'recursive']) | list %}
    {% set path, schema, options = files.get('path'), files.get('schema'), files.get('options') or {} %}
    {% set format = (files.get('format') or '') | string | lower %}
    {% if unknown %}
        {% do ditto._files_error(settings, 'files: ' ~ unknown | join(', '), 'path, format, schema, options, pattern, recursive') %}
    {% elif path is not string or not path.strip() %}
        {% do ditto._files_error(settings, 'files without a path', 'the folder in which files arrive, as Spark sees it') %}
    {% elif format not in ('csv', 'json', 'parquet', 'orc', 'avro') %}
        {% do ditto._files_error(settings, 'files: format: ' ~ (format or 'nothing'), 'csv, json, parquet, orc or avro') %}
    {% elif schema is not none and (schema is not string or not schema.strip()) or schema is none and format in ('csv', 'json') %}
        {% do ditto._files_error(settings, 'files: schema: ' ~ schema, 'the columns of the files with their types, as in CREATE TABLE') %}
    {% elif files.get('recursive', true) is not boolean %}
        {% do ditto._files_error(settings, 'files: recursive: ' ~ files.recursive, 'true or false') %}
    {% elif options is not mapping %}
        {% do ditto._files_error(settings, 'files: options: ' ~ options, 'a mapping of options for the reader of Spark') %}
    {% endif %}
    {% if not modules.re.match('/|[A-Za-z][A-Za-z0-9+.-]*:/', path.strip()) %}
        {% do ditto._files_error(settings, 'files: path: ' ~ path, 'an absolute path or a URI: Spark would take a relative one from several places') %}
    {% endif %}
    {% if path | select('in', '*?[]{}') | list %}
        {% do ditto._files_error(settings, 'files: path: ' ~ path, 'one folder; which of its files is said by pattern, and recursive reads the folders in it') %}
    {% endif %}
    {% set taken = ['mode', 'path', 'columnnameofcorruptrecord', 'recursivefilelookup', 'pathglobfilter', 'ignorecorruptfiles', 'ignoremissingfiles',
        'modifiedafter', 'modifiedbefore', 'basepath'] %}
    {% for name in options if name | lower in taken %}
        {% do ditto._files_error(settings, 'files: options: ' ~ name, 'options that ditto does not set itself: ' ~ taken | join(', ')
            ~ ' are its own (pattern and recursive are keys of files)') %}
    {% endfor %}
    {% set given = {} %}
    {% for name, value in options.items() %}
        {% do given.update({name: value | string | lower if value is boolean else value}) %}
    {% endfor %}
    {{ return({
        'path': path.strip().rstrip('/') or '/', 'format': format, 'schema': schema.strip().rstrip(';').rstrip(',') if schema else none, 'options': given,
        'pattern': files.get('pattern'), 'recursive': files.get('recursive', true),
        'corruptible': format in ('csv', 'json'), 'keeps_corrupt': false
    }) }}
{% endmacro %}


{% macro _files_error(settings, found, expected) %}
    {% do ditto.error(settings.subject, found, expected,
        "for example files={'path': '/landing/orders', 'format': 'csv', 'schema': 'id bigint, amount double', 'options': {'header': true}}") %}
{% endmacro %}


{% macro _check_file_ingest(settings) %}
    {% if settings.file_path_column is not string or not settings.file_path_column.strip() or settings.file_path_column.startswith('_ditto') %}
        {% do ditto.error(settings.subject, 'file_path_column: ' ~ settings.file_path_column, 'the name of a column',
            "change the config of the model, for example file_path_column='file_path'") %}
    {% endif %}
    {% if settings.files.pattern is not none and (settings.files.pattern is not string or '/' in settings.files.pattern) %}
        {% do ditto._files_error(settings, 'files: pattern: ' ~ settings.files.pattern, "a pattern for the names of the files, such as '*.csv'") %}
    {% endif %}
{% endmacro %}
