{# Which files cannot be read, and why. Reads only. #}

{# Can Spark read them? All at once, and only where it cannot are they halved, until those that it cannot read are found. #}
{% macro _inspect_files(settings, files) %}
    {% for file in files if not file.problem %}
        {% do file.update({'problem': ditto.problem_at_sight(settings, file)}) %}
    {% endfor %}
    {% set readable = files | rejectattr('problem') | list %}
    {% set found = {'failed': 0} %}
    {% do ditto._inspect_group(settings, readable, found) if readable %}
    {% set corrupt = [] %}
    {% for file in readable %}
        {% set seen = found.get(file.file_path, {}) %}
        {% if seen.get('unreadable') %}
            {% do file.update({'problem': 'Spark cannot read it as ' ~ settings.files.format ~ '; to see why: select * from ' ~ settings.incoming
                ~ ' where _metadata.file_path = ' ~ ditto.literal(file.file_path)}) %}
        {% elif seen.get('corrupt') and not settings.files.keeps_corrupt %}
            {% do file.update({'problem': seen.corrupt ~ ' of ' ~ seen.records ~ ' records cannot be read; the first: ' ~ seen.get('sample', '')[:200]}) %}
            {% do corrupt.append(file) %}
        {% endif %}
    {% endfor %}
    {% do ditto._name_lines(settings, corrupt) %}
{% endmacro %}


{% macro _inspect_group(settings, files, found) %}
    {% if found.failed >= ditto.most_unreadable() %}
        {% for file in files %}{% do file.update({'file_hash': none}) %}{% endfor %}
        {{ return('') }}
    {% endif %}
    {% set rows = ditto.fetch(ditto.caught_sql(ditto.inspect_sql(settings, files | map(attribute='file_path') | list), 'unreadable', 'KD001')) %}
    {% if not rows or rows[0].get('ditto_verdict') != 'unreadable' %}
        {% for row in rows %}
            {% set seen = fromjson(row['seen']) %}
            {% do found.update({seen.file_path: seen}) %}
        {% endfor %}
    {% elif files | length == 1 %}
        {% do found.update({files[0].file_path: {'unreadable': true}, 'failed': found.failed + 1}) %}
    {% else %}
        {% set half = (files | length + 1) // 2 %}
        {% do ditto._inspect_group(settings, files[:half], found) %}
        {% do ditto._inspect_group(settings, files[half:], found) %}
    {% endif %}
{% endmacro %}


{# The reader does not count lines. Where the record is found again in the text of its file, its line is named. #}
{% macro _name_lines(settings, files) %}
    {% set small = [] %}
    {% for file in files if file.size <= settings.hash_in_pieces_above %}
        {% do small.append(file.file_path) %}
    {% endfor %}
    {% set lines = {} %}
    {% for row in (ditto.fetch(ditto.corrupt_lines_sql(settings, small)) if small else []) %}
        {% set seen = fromjson(row['seen']) %}
        {% do lines.update({seen.file_path: seen}) %}
    {% endfor %}
    {% for file in files if file.file_path in lines %}
        {% set seen = lines[file.file_path] %}
        {% do file.update({'problem': 'line ' ~ seen.line ~ ' cannot be read: ' ~ seen.text[:200] ~ ' (' ~ file.problem.split(';')[0] ~ ')'}) %}
    {% endfor %}
{% endmacro %}


{# What the first and the last bytes of a file tell, without asking Spark for it alone. Pure. #}
{% macro problem_at_sight(settings, file) %}
    {% set files = settings.files %}
    {% if files.format == 'parquet' and file.get('is_parquet') == false %}
        {{ return('it is not a parquet file, or was cut off: it does not begin and end with PAR1') }}
    {% endif %}
    {% set options = {} %}
    {% for name, value in files.options.items() %}
        {% do options.update({name | lower: value | string}) %}
    {% endfor %}
    {% set plain = options.keys() | select('in', ['quote', 'escape', 'comment', 'encoding', 'charset', 'multiline', 'linesep']) | list == [] %}
    {# What only a parser of csv can tell apart is left to Spark. #}
    {% set sep = options.get('sep', options.get('delimiter', ',')) %}
    {% if sep | length != 1 or '"' in (file.head or '') or files.format != 'csv' or options.get('header') != 'true' or options.get('enforceschema', 'false') == 'true' or not plain or not file.head
        or modules.re.search('[.](gz|bz2|lz4|snappy|deflate|zst|zstd|xz)$', file.file_path) %}
        {{ return(none) }}
    {% endif %}
    {% set expected = files.columns | map(attribute='name') | reject('equalto', '_corrupt_record') | list %}
    {% set found = [] %}
    {% for name in file.head.lstrip('\ufeff').split(sep) %}
        {% do found.append(name.strip()) %}
    {% endfor %}
    {% if ditto.lower_names(found) != ditto.lower_names(expected) %}
        {{ return('line 1 has the header ' ~ found | join(', ') ~ ', expected is ' ~ expected | join(', ')) }}
    {% endif %}
    {{ return(none) }}
{% endmacro %}
