{# The execution time is the identity of a run. It is always given, never guessed: a default that moves is not idempotent. #}

{# `2024-10-07 09:00:00`, from the var `execution_date`. #}
{% macro execution_time() %}
    {{ return(ditto.parse_execution_time(var('execution_date', none))) }}
{% endmacro %}


{# `2024-10-07` #}
{% macro execution_date() %}
    {{ return(ditto.execution_time()[:10]) }}
{% endmacro %}


{# A date, or an ISO timestamp; one with an offset is turned into UTC. Gives `%Y-%m-%d %H:%M:%S`, with micros only if there are any. #}
{% macro parse_execution_time(value) %}
    {% if value is none and (not execute or flags.WHICH == 'generate') %}
        {# Parsing and docs read no data, so they need no date; nothing is ever written with this one. #}
        {{ return('1970-01-01 00:00:00') }}
    {% endif %}
    {% set text = (value if value is not none else '') | string | trim %}
    {% set shape = '([0-9]{4}-[0-9]{2}-[0-9]{2})(?:[T ]([0-9]{2}:[0-9]{2})(?:(:[0-9]{2})(\\.[0-9]{1,6})?)?(Z|[+-][0-9]{2}:?[0-9]{2})?)?' %}
    {% set found = modules.re.fullmatch(shape, text) %}
    {% if not found %}
        {% do ditto._execution_time_error(value) %}
    {% endif %}
    {% set parts = found.groups() %}
    {% do ditto._check_calendar(value, parts[0], parts[1], parts[2], parts[4]) %}
    {% set moment = modules.datetime.datetime.strptime(
        parts[0] ~ ' ' ~ (parts[1] or '00:00') ~ (parts[2] or ':00') ~ (parts[3] or '.0'), '%Y-%m-%d %H:%M:%S.%f'
    ) %}
    {% set result = (moment - ditto._offset(parts[4])) | string %}
    {# Spark writes a fraction without its trailing zeros. #}
    {{ return(result.rstrip('0') if '.' in result else result) }}
{% endmacro %}


{# `+02:00` as a timedelta #}
{% macro _offset(zone) %}
    {% if zone in (none, 'Z') %}
        {{ return(modules.datetime.timedelta(0)) }}
    {% endif %}
    {% set digits = zone.replace(':', '') %}
    {% set minutes = digits[1:3] | int * 60 + digits[3:5] | int %}
    {{ return(modules.datetime.timedelta(minutes=-minutes if digits[0] == '-' else minutes)) }}
{% endmacro %}


{# Jinja cannot catch the errors of Python, so 2024-02-30, 25:61 and an offset that leads out of the calendar are found by hand. #}
{% macro _check_calendar(value, day, clock, seconds, zone) %}
    {% set year, month, date = day[:4] | int, day[5:7] | int, day[8:10] | int %}
    {% set leap = year % 4 == 0 and (year % 100 != 0 or year % 400 == 0) %}
    {% set days = [31, 29 if leap else 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31] %}
    {% set hour, minute = (clock or '00:00')[:2] | int, (clock or '00:00')[3:5] | int %}
    {% set offset = ditto._offset(zone) | abs %}
    {% if year < 1 or month not in range(1, 13) or date < 1 or date > days[month - 1]
        or hour > 23 or minute > 59 or (seconds or ':00')[1:] | int > 59
        or (zone or 'Z')[-2:] | int > 59 or offset > modules.datetime.timedelta(hours=14)
        or (offset and day in ('0001-01-01', '9999-12-31')) %}
        {% do ditto._execution_time_error(value) %}
    {% endif %}
{% endmacro %}


{% macro _execution_time_error(value) %}
    {% do ditto.error(
        'the execution date of this run',
        'no execution_date' if value is none else 'execution_date: ' ~ value,
        'a date (2024-10-07) or an ISO timestamp (2024-10-07T09:00:00); there is no default, because a run is known by it',
        "dbt run --vars '{execution_date: 2024-10-07}'"
    ) %}
{% endmacro %}
