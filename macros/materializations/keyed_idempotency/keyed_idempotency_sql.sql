{# Pure builders of the questions about the keys of a SELECT. #}

{% macro key_plan_sql(settings, sql) %}
explain extended
select {{ ditto.quote_all(settings.unique_key) }}
from (
{{ sql }}
)
{%- endmacro %}


{# Spark puts the time in place of current_date() and so on before anybody can look. So the SELECT is asked about twice, each time with
   another moment in the place of the clock. They differ in every part, from the year to the microsecond. #}
{% macro twin_moments() %}
    {{ return([
        {'timestamp': '2001-02-03 04:05:06.000007', 'unix': 981173106, 'name': 'ditto', 'id': '00000000-0000-0000-0000-00000000000a'},
        {'timestamp': '2012-11-20 17:38:49.123456', 'unix': 1353433129, 'name': 'again', 'id': '00000000-0000-0000-0000-00000000000b'}
    ]) }}
{% endmacro %}


{% macro twin_sql(settings, sql, twin) %}
    {% set started = settings.started_at %}
    {% set text = sql.replace(settings.invocation_id, twin.id) | replace(started, twin.timestamp[:19])
        | replace(started.replace(' ', 'T'), twin.timestamp[:19].replace(' ', 'T')) %}
    {% set day, clock = twin.timestamp.split(' ') %}
    {% set values = {
        'current_timestamp|now|getdate': 'timestamp' ~ ditto.literal(twin.timestamp),
        'localtimestamp': 'timestamp_ntz' ~ ditto.literal(twin.timestamp),
        'current_date|curdate': 'date' ~ ditto.literal(day),
        'current_time': 'time' ~ ditto.literal(clock),
        'unix_timestamp': ditto.typed_literal(twin.unix, 'bigint'),
        'current_user|session_user|user': ditto.literal(twin.name)
    } %}
    {% set pieces = [] %}
    {# Every second piece is quoted or a comment, and stays. #}
    {% for piece in modules.re.split(ditto.quoted_pattern(), text) %}
        {% set place = namespace(text=piece) %}
        {% for names, value in values.items() if pieces | length % 2 == 0 %}
            {% set place.text = modules.re.sub('(?i)(?<![\\w.])(' ~ names ~ ')\\s*[(]\\s*[0-9]*\\s*[)]', value, place.text) %}
            {# These work without parentheses too; after AS it is the name of a column. #}
            {% if names.startswith('current_') %}
                {% set place.text = modules.re.sub('(?i)(?<![\\w.])(?<!\\bas )(' ~ names.split('|')[0] ~ ')(?![\\w(.])', value, place.text) %}
            {% endif %}
        {% endfor %}
        {% do pieces.append(place.text) %}
    {% endfor %}
    {{ return(pieces | join('')) }}
{% endmacro %}


{# Strings, quoted names and comments, as one group. #}
{% macro quoted_pattern() %}
    {{ return("(?s)('(?:[^'\\\\]|\\\\.)*'|\"(?:[^\"\\\\]|\\\\.)*\"|`[^`]*`|--[^\\n]*|/[*].*?[*]/)") }}
{% endmacro %}


{% macro random_functions() %}
    {{ return(['rand', 'randn', 'random', 'randstr', 'uniform', 'uuid', 'shuffle', 'monotonically_increasing_id', 'spark_partition_id',
        'input_file_name', 'input_file_block_start', 'input_file_block_length']) }}
{% endmacro %}


{% macro clock_functions() %}
    {{ return(['current_timestamp', 'current_date', 'current_time', 'now', 'curdate', 'getdate', 'localtimestamp', 'unix_timestamp',
        'current_user', 'session_user', 'user']) }}
{% endmacro %}


{# SQL without what is quoted in it, and without comments. #}
{% macro unquoted(sql) %}
    {{ return(modules.re.sub(ditto.quoted_pattern(), '?', sql)) }}
{% endmacro %}


{# Which of these functions are called in a text? unix_timestamp only reads the clock without arguments, and current_... needs no
   parentheses. #}
{% macro names_in(text, functions) %}
    {% set found = [] %}
    {% for name in functions %}
        {% set call = '\\s*[(]\\s*[)]' if name in ('unix_timestamp', 'user') else ('(?!\\w)' if name.startswith('current_') else '\\s*[(]') %}
        {% if modules.re.search('(?i)(?<![\\w.])' ~ name ~ call, text) %}
            {% do found.append(name ~ '()') %}
        {% endif %}
    {% endfor %}
    {{ return(found) }}
{% endmacro %}
