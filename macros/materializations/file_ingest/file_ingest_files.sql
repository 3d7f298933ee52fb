{# What happens to each file. Pure. #}

{# `files`: from look_at_files. Gives `rows`, the tracker's rows as they should be; the paths to `load`; the paths whose rows in the
   table are `replaced`; the rows of those that `failed`; how many are `duplicates`, how many are `waiting` for another run; the files
   that a full refresh would lose (`lost`); pairs of one content that the config calls an error (`refused`); and the loads of runs that
   died after their rows were written (`landed`). #}
{% macro sort_files(settings, files, anew=false) %}
    {% set sorted = {'rows': [], 'load': [], 'replaced': [], 'failed': [], 'duplicates': 0, 'lost': [], 'refused': [],
        'landed': files | map(attribute='tracked') | select | selectattr('landed') | map(attribute='load') | unique | list,
        'waiting': files[0].found_files - files | selectattr('found_files', 'defined') | list | length if files else 0} %}
    {% set kept = {} if anew else ditto._kept_contents(files) %}
    {% for file in files if not file.listed %}
        {% do ditto._sort_gone(sorted, file, anew) %}
    {% endfor %}
    {% for file in files | selectattr('listed') | selectattr('file_hash') | sort(attribute='modified,file_path') if anew or not ditto._given_up(file) %}
        {% set tracked = none if anew else file.tracked %}
        {% set owner = kept.get(file.file_hash) if settings.on_duplicate_content != 'load' %}
        {% if file.problem %}
            {% do ditto._sort_failed(settings, sorted, file, tracked) %}
        {% elif tracked and tracked.loaded_hash == file.file_hash %}
            {% do sorted.rows.append(ditto._file_row(file, tracked, status='SUCCESS', loaded_hash=file.file_hash))
                if ditto._has_news(file, tracked) %}
        {% elif owner and settings.on_duplicate_content == 'error' %}
            {% do sorted.refused.append(file.file_path ~ ' has the content of ' ~ owner) %}
        {% elif owner %}
            {% do ditto._sort_duplicate(settings, sorted, file, tracked, owner) %}
        {% else %}
            {% do kept.update({file.file_hash: file.file_path}) %}
            {% do sorted.load.append(file.file_path) %}
            {% do sorted.replaced.append(file.file_path) if ditto._may_have_rows(file, tracked) and not anew %}
            {% do sorted.rows.append(ditto._file_row(file, tracked, status='IN_PROGRESS', load=settings.load,
                loaded_hash=tracked.loaded_hash if tracked else none)) %}
        {% endif %}
    {% endfor %}
    {{ return(sorted) }}
{% endmacro %}


{# Content that is in the table and stays there: its hash, and the path of its file. #}
{% macro _kept_contents(files) %}
    {% set kept, seen = {}, {} %}
    {% for file in files %}
        {% do seen.update({file.file_path: true}) %}
        {% set loaded = file.tracked.loaded_hash if file.tracked else none %}
        {% if loaded and (not file.listed or file.problem or loaded == file.file_hash) %}
            {% do kept.update({loaded: file.file_path}) %}
        {% endif %}
    {% endfor %}
    {% for file in files if file.owners and file.file_hash not in kept %}
        {% for owner in file.owners | sort if owner not in seen and file.file_hash not in kept %}
            {% do kept.update({file.file_hash: owner}) %}
        {% endfor %}
    {% endfor %}
    {{ return(kept) }}
{% endmacro %}


{# The file is not there any more. If a run died with it and its load went through, it is in the table, and otherwise lost to us. One
   that had never come in is forgotten, and of one that had, what was wrong with a later content. #}
{% macro _sort_gone(sorted, file, anew) %}
    {% set tracked = file.tracked %}
    {% if anew %}
        {% do sorted.lost.append(file.file_path) if tracked.loaded_hash or tracked.status == 'IN_PROGRESS' %}
    {% elif tracked.landed %}
        {% do sorted.rows.append(ditto._file_row(file, tracked, status='SUCCESS', loaded_hash=tracked.loaded_hash, record_count=tracked.record_count)) %}
    {% elif tracked.status == 'IN_PROGRESS' %}
        {% do sorted.rows.append(ditto._file_row(file, tracked, status='FAILED', loaded_hash=tracked.loaded_hash,
            error_message='the file went away before it was loaded')) %}
        {% do sorted.failed.append(sorted.rows[-1]) %}
    {% elif tracked.loaded_hash %}
        {% do sorted.rows.append(ditto._file_row(file, tracked, status='SUCCESS', loaded_hash=tracked.loaded_hash, file_hash=tracked.loaded_hash)) %}
    {% else %}
        {% do sorted.rows.append(ditto._file_row(file, tracked, status='GONE')) %}
    {% endif %}
{% endmacro %}


{# Rows of an older content stay: a file that is overwritten by a broken one loses nothing. #}
{% macro _sort_failed(settings, sorted, file, tracked) %}
    {% set row = ditto._file_row(file, tracked, error_message=file.problem, loaded_hash=tracked.loaded_hash if tracked else none) %}
    {% do row.update({'status': 'DEAD' if row.attempts > settings.max_retries else 'FAILED'}) %}
    {% do sorted.rows.append(row) %}
    {% do sorted.failed.append(row) %}
{% endmacro %}


{# Not loaded, since another file has brought its rows. Had it other rows before, they leave the table in the same load. #}
{% macro _sort_duplicate(settings, sorted, file, tracked, owner) %}
    {% set emptied = ditto._may_have_rows(file, tracked) and not (tracked and tracked.status == 'SUCCESS' and not tracked.loaded_hash) %}
    {% if emptied %}
        {% do sorted.replaced.append(file.file_path) %}
        {% do sorted.rows.append(ditto._file_row(file, tracked, status='IN_PROGRESS', load=settings.load,
            loaded_hash=tracked.loaded_hash if tracked else none, duplicate_of=owner)) %}
    {% elif not (tracked and tracked.status == 'SUCCESS' and tracked.duplicate_of == owner and not ditto._has_news(file, tracked)) %}
        {% do sorted.rows.append(ditto._file_row(file, tracked, status='SUCCESS', record_count=0, duplicate_of=owner)) %}
    {% endif %}
    {% do sorted.update({'duplicates': sorted.duplicates + 1}) %}
{% endmacro %}


{# A file that the tracker does not know has no rows, unless the tracker was lost and knows nothing at all. #}
{% macro _may_have_rows(file, tracked) %}
    {{ return((tracked.loaded_hash or tracked.load) and true or false if tracked else file.get('known_files', 1) == 0) }}
{% endmacro %}


{# Also that it was hashed once more, some time after its last change: then it need not be hashed by the run after this one. #}
{% macro _has_news(file, tracked) %}
    {{ return(tracked.status != 'SUCCESS' or tracked.file_hash != file.file_hash or tracked.size != file.size or tracked.modified != file.modified
        or tracked.hashed is not none and tracked.hashed - tracked.modified < 2000000) }}
{% endmacro %}


{# A dead file comes up although nothing about it has changed: where all files are hashed, or where it was hashed as it arrived. #}
{% macro _given_up(file) %}
    {% set tracked = file.tracked %}
    {{ return((tracked and tracked.status == 'DEAD' and tracked.file_hash == file.file_hash and tracked.modified == file.modified) and true or false) }}
{% endmacro %}


{# Attempts are counted for one content. #}
{% macro _file_row(file, tracked) %}
    {% set again = tracked and tracked.file_hash == (file.file_hash or tracked.file_hash) %}
    {% set settled = kwargs.status == 'SUCCESS' and again %}
    {{ return(dict({
        'file_path': file.file_path,
        'file_hash': file.file_hash or (tracked.file_hash if tracked else none),
        'size': file.size if file.listed else tracked.size,
        'modified': file.modified if file.listed else tracked.modified,
        'hashed': file.hashed,
        'attempts': (tracked.attempts or 0) + (0 if settled else 1) if again else 1,
        'load': tracked.load if tracked else none,
        'record_count': tracked.record_count if tracked and kwargs.loaded_hash else none, 'error_message': none, 'duplicate_of': none, 'loaded_hash': none
    }, **kwargs)) }}
{% endmacro %}
