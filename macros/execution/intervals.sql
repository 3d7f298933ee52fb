{# Execution times in a row. Pure. #}

{% macro intervals() %}
    {{ return(['hour', 'day', 'week', 'month']) }}
{% endmacro %}


{# From `first` on, as long as they are before `stop`: every `interval`. At most `limit` of them. #}
{% macro times_from(first, stop, interval, limit=10000) %}
    {% set times = [] %}
    {% for steps in range(limit) %}
        {% set time = ditto.shift_time(first, interval, steps) %}
        {% if time >= stop %}
            {{ return(times) }}
        {% endif %}
        {% do times.append(time) %}
    {% endfor %}
    {{ return(times) }}
{% endmacro %}


{% macro shift_time(time, interval, steps) %}
    {% set moment = modules.datetime.datetime.fromisoformat(time) %}
    {% if interval == 'month' %}
        {% set months = moment.year * 12 + moment.month - 1 + steps %}
        {% set year, month = months // 12, months % 12 + 1 %}
        {% set leap = year % 4 == 0 and (year % 100 != 0 or year % 400 == 0) %}
        {% set days = [31, 29 if leap else 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31][month - 1] %}
        {% set shifted = moment.replace(year=year, month=month, day=[moment.day, days] | min) %}
    {% else %}
        {% set hours = {'hour': 1, 'day': 24, 'week': 168}[interval] %}
        {% set shifted = moment + modules.datetime.timedelta(hours=hours * steps) %}
    {% endif %}
    {# Spark writes a fraction without its trailing zeros. #}
    {% set text = shifted | string %}
    {{ return(text.rstrip('0') if '.' in text else text) }}
{% endmacro %}
