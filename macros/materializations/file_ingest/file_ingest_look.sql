{# What is in the folder, and what the tracker knows of it. Reads only. #}

{# Every file that is new, changed, failed or unfinished: with its hash, what the tracker has of it (`tracked`), and what is wrong
   with it (`problem`). Files that the tracker knows as they are do not come up, and are not opened. #}
{% macro look_at_files(settings, target, anew) %}
    {% set files = ditto._as_files(ditto.list_folder(settings, none, none, ditto.candidates_sql(settings, anew))) %}
    {% do ditto._settle_unfinished(settings, target, files) if not anew %}
    {% set listed = files | selectattr('listed') | list %}
    {% do ditto._hash_files(settings, listed) %}
    {# Spark remembers the folder as it was when the SELECT was described; what it reads may not be older than what was hashed. #}
    {% do ditto.send('refresh_incoming', 'refresh table ' ~ settings.incoming) if listed %}
    {% if not anew %}
        {% do files.extend(ditto._orphans(settings, files)) %}
    {% endif %}
    {% set unread = [] %}
    {% for file in files if file.listed and file.file_hash and (anew or not file.tracked or file.tracked.loaded_hash != file.file_hash) %}
        {% if not anew and ditto._given_up(file) %}
            {% do file.update({'problem': file.tracked.error_message or 'it was given up'}) %}
        {% else %}
            {% do unread.append(file) %}
        {% endif %}
    {% endfor %}
    {% do ditto._inspect_files(settings, unread) %}
    {{ return(files) }}
{% endmacro %}


{# The folder is listed without a look into its files. A folder that is not there is said so, in our words. #}
{% macro list_folder(settings, columns, rest, sql=none) %}
    {% set query = sql or ditto.folder_sql(settings, 'binaryFile', columns) ~ ' ' ~ rest %}
    {% set rows = ditto.fetch(ditto.caught_sql(query, 'missing', '42K03')) %}
    {% if rows and rows[0].get('ditto_verdict') == 'missing' %}
        {% do ditto.error(settings.subject, 'no folder ' ~ settings.files.path, 'the folder in which files arrive, as Spark sees it',
            'make the folder, or correct path in the config of the model') %}
    {% endif %}
    {{ return(rows) }}
{% endmacro %}


{# Each row is one JSON document: a hash of digits stays a text. JSON leaves nulls out, and what is left out is silently undefined. #}
{% macro _as_files(rows) %}
    {% set files = [] %}
    {% for row in rows %}
        {% set file = fromjson(row['file']) %}
        {% set tracked = file.get('tracked') %}
        {% set blank = {'file_hash': none, 'loaded_hash': none, 'load': none, 'duplicate_of': none, 'record_count': none, 'error_message': none,
            'hashed': none, 'landed': false} %}
        {% do files.append(dict({'file_hash': none, 'size': none, 'modified': none, 'hashed': none, 'owners': [], 'problem': none, 'head': none}, **dict(file,
            tracked=dict(blank, **tracked) if tracked else none))) %}
    {% endfor %}
    {{ return(files) }}
{% endmacro %}


{# Files of a run that died. Its load was one commit: if one row of it is in the table, all are, and only the tracker is behind. A load
   without rows leaves no trace but that the older rows of its files are gone. #}
{% macro _settle_unfinished(settings, target, files) %}
    {% set loads, paths = [], [] %}
    {% for file in files if file.tracked and file.tracked.status == 'IN_PROGRESS' %}
        {% do loads.append(file.tracked.load) %}
        {% do paths.append(file.file_path) %}
    {% endfor %}
    {% if not loads or not target.exists or '_ditto_load' not in ditto.lower_names(target.columns) %}
        {{ return('') }}
    {% endif %}
    {% set counts, landed, held = {}, {}, {} %}
    {% for row in ditto.fetch(ditto.loaded_counts_sql(settings, loads | unique | list, paths)) %}
        {% set found = fromjson(row['loaded']) %}
        {% do landed.update({found.get('load'): true}) %}
        {% do held.update({found.file_path: true}) %}
        {% do counts.update({found.get('load') ~ ' ' ~ found.file_path: found.records}) %}
    {% endfor %}
    {% for file in files if file.tracked and file.tracked.status == 'IN_PROGRESS' and file.tracked.load in landed %}
        {% do file.tracked.update({'landed': true, 'loaded_hash': none if file.tracked.duplicate_of else file.tracked.file_hash,
            'record_count': counts.get(file.tracked.load ~ ' ' ~ file.file_path, 0)}) %}
    {% endfor %}
    {% for file in files if file.tracked and file.tracked.status == 'IN_PROGRESS' and not file.tracked.landed and file.file_path not in held %}
        {% do file.tracked.update({'loaded_hash': none, 'record_count': 0}) %}
    {% endfor %}
{% endmacro %}


{# One statement for all files that a row can hold, one for those that it cannot. A file that went away in between is left out. #}
{% macro _hash_files(settings, files) %}
    {% set whole, large = [], [] %}
    {% for file in files %}
        {% do (large if file.size > settings.hash_in_pieces_above else whole).append(file) %}
    {% endfor %}
    {% set hashes = {} %}
    {% for group, build in [[whole, ditto.hash_sql], [large, ditto.hash_in_pieces_sql]] if group %}
        {% do ditto._hash_group(settings, group, build, hashes, {'failed': 0}) %}
    {% endfor %}
    {% for file in files if file.file_path in hashes %}
        {% do file.update(hashes[file.file_path]) %}
    {% endfor %}
{% endmacro %}


{# A file that cannot even be opened is found by halving, and known by its size and time. #}
{% macro _hash_group(settings, files, build, hashes, found) %}
    {% set rows = ditto.fetch(ditto.caught_sql(build(settings, files | map(attribute='file_path') | list), 'unreadable')) if found.failed < ditto.most_unreadable() else [] %}
    {% if not rows or rows[0].get('ditto_verdict') != 'unreadable' %}
        {% for row in rows %}
            {% set file = fromjson(row['file']) %}
            {% do hashes.update({file.file_path: file}) %}
        {% endfor %}
    {% elif files | length == 1 %}
        {% set file = files[0] %}
        {% do hashes.update({file.file_path: {'file_hash': 'unread:' ~ file.size ~ ':' ~ file.modified, 'hashed': file.modified,
            'problem': 'Spark cannot open it, or not to its end'}}) %}
        {% do found.update({'failed': found.failed + 1}) %}
    {% else %}
        {% set half = (files | length + 1) // 2 %}
        {% do ditto._hash_group(settings, files[:half], build, hashes, found) %}
        {% do ditto._hash_group(settings, files[half:], build, hashes, found) %}
    {% endif %}
{% endmacro %}


{# So many are found in one run, and the others that cannot be read are left to the next: with a wrong schema all of them are. #}
{% macro most_unreadable() %}
    {{ return(100) }}
{% endmacro %}


{# A file was not loaded since another one had the same content, or was about to bring it. Now that one has another content, or went
   away before its load came through, and this one's turn comes. #}
{% macro _orphans(settings, files) %}
    {% set left = [] %}
    {% for file in files if file.tracked and (file.file_hash or not file.listed) %}
        {% set tracked = file.tracked %}
        {% do left.append(tracked.loaded_hash) if file.listed and tracked.loaded_hash and tracked.loaded_hash != file.file_hash %}
        {% do left.append(tracked.file_hash) if tracked.status in ('IN_PROGRESS', 'PENDING') and not tracked.duplicate_of
            and tracked.file_hash not in (file.file_hash, tracked.loaded_hash) %}
    {% endfor %}
    {% set known = files | map(attribute='file_path') | list %}
    {{ return(ditto._as_files(ditto.fetch(ditto.orphans_sql(settings, left | unique | list, known))) if left else []) }}
{% endmacro %}
