{# Keys and names that are the same in every run, for models. Pure. #}

{# A hash of columns or SQL expressions: {{ ditto.idempotent_key(['user_id', 'appended_at']) }} as visit_key
   Of their JSON, not of their text joined: so ('a', 'bc') is not ('ab', 'c'), and null is neither '' nor 'null'. The names of the columns
   do not count, and neither do the process and the time zone of the session. The text must never change: keys are stored. #}
{% macro idempotent_key(columns) %}
    {% set given = [columns] if columns is string else (columns or []) | list %}
    {% if not given or given | reject('string') | list or '' in given | select('string') | map('trim') | list %}
        {% do ditto.error('ditto.idempotent_key', columns, 'the columns or SQL expressions that identify a row',
            "name them: ditto.idempotent_key(['user_id', 'appended_at'])") %}
    {% endif %}
    {% set parts = [] %}
    {% for column in given %}
        {% do ditto._refuse_unsteady(column) %}
        {% set expression = ditto.quote(column.strip()) if modules.re.fullmatch('\\s*[A-Za-z_][A-Za-z0-9_]*\\s*', column) else column %}
        {% do parts.append(expression ~ ' as ' ~ ditto.quote(loop.index)) %}
    {% endfor %}
    {{ return('sha2(to_json(struct(' ~ parts | join(', ') ~ '), ' ~ ditto.json_options() ~ '), 256)') }}
{% endmacro %}


{% macro _refuse_unsteady(expression) %}
    {% set text = ditto.unquoted(expression) %}
    {% set random, clock = ditto.names_in(text, ditto.random_functions()), ditto.names_in(text, ditto.clock_functions()) %}
    {% if random or clock %}
        {% do ditto.error(
            'ditto.idempotent_key', (random + clock) | join(', ') ~ ' in ' ~ expression,
            'what is the same each time the same row is read: with another key it would be another row',
            "use columns that never change, such as an id or the append time"
            ~ ("; for the time of the run: \"timestamp'\" ~ ditto.execution_time() ~ \"'\"" if clock else '')
        ) %}
    {% endif %}
{% endmacro %}


{# A name for a file, a partition or a table from the execution time: 20_11_2024. What the execution time has, the format must say, or
   two executions would share a container. #}
{% macro container_name(prefix='', format='%d_%m_%Y') %}
    {% set moment = modules.datetime.datetime.fromisoformat(ditto.execution_time()) %}
    {% set needed = {'%Y': true, '%m': moment.month > 1 and '%j' not in format, '%d': moment.day > 1 and '%j' not in format,
        '%j': false, '%H': moment.hour > 0, '%M': moment.minute > 0, '%S': moment.second > 0, '%f': moment.microsecond > 0} %}
    {% set missing = [] %}
    {% for directive, need in needed.items() if need and directive not in format %}
        {% do missing.append(directive) %}
    {% endfor %}
    {% if missing %}
        {% do ditto.error('ditto.container_name', 'format: ' ~ format ~ ', which does not tell ' ~ moment ~ ' from other executions',
            missing | join(' and ') ~ ' in the format', "add it: format='" ~ format ~ '_' ~ missing | join('_') ~ "'") %}
    {% endif %}
    {% set unknown = modules.re.findall('%.?', format) | reject('in', needed.keys() | list) | list %}
    {% set name = prefix ~ moment.strftime(format) if not unknown else '' %}
    {% if not modules.re.fullmatch('[A-Za-z0-9_]+', name) %}
        {% do ditto.error('ditto.container_name', 'format: ' ~ format ~ (' after ' ~ prefix if prefix else ''),
            'letters, digits and underscores, and ' ~ needed.keys() | join(' '), "for example format='%d_%m_%Y'") %}
    {% endif %}
    {{ return(name) }}
{% endmacro %}
