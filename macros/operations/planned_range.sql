{# Which executions ditto_plan plans. Pure. #}

{% macro _planned_range(node, execution_date, from, to, interval) %}
    {% set single = execution_date or (var('execution_date', none) if not from and not to) %}
    {% if (single and (from or to)) or (not single and not (from and to)) %}
        {% do ditto.error('ditto_plan of ' ~ node.name, 'from: ' ~ from ~ ', to: ' ~ to ~ ', execution_date: ' ~ execution_date,
            'one execution_date, or from and to',
            "--args '{model: " ~ node.name ~ ", execution_date: 2024-10-07}' or --args '{model: " ~ node.name ~ ", from: 2024-10-07, to: 2024-10-09}'") %}
    {% endif %}
    {% set first, last = ditto.parse_execution_time(single or from), ditto.parse_execution_time(single or to) %}
    {% set days = first[11:] == '00:00:00' and last[11:] == '00:00:00' %}
    {% set step = interval or ditto.option(node, 'interval') or ('day' if days) %}
    {% if first > last or step not in ditto.intervals() and not single %}
        {% do ditto.error('ditto_plan of ' ~ node.name, 'from: ' ~ from ~ ', to: ' ~ to ~ ', interval: ' ~ step,
            'a range in order, and how far apart the executions are: ' ~ ditto.intervals() | join(', '),
            "--args '{model: " ~ node.name ~ ", from: 2024-10-07T08:00:00, to: 2024-10-07T10:00:00, interval: hour}'") %}
    {% endif %}
    {% set times = [first] if single else ditto._row(node, first, last, step) + [last] %}
    {{ return({'first': first, 'last': last, 'interval': step, 'times': times, 'single': single and true or false}) }}
{% endmacro %}


{# Every interval before `last`. One that had to be cut would leave executions out, and nobody would see it. #}
{% macro _row(node, first, last, interval) %}
    {% set limit = 10000 %}
    {% set row = ditto.times_from(first, last, interval, limit) %}
    {% if row | length == limit %}
        {% do ditto.error('ditto_plan of ' ~ node.name,
            'more than ' ~ limit ~ ' executions from ' ~ ditto.short_time(first) ~ ' to ' ~ ditto.short_time(last) ~ ', interval: ' ~ interval,
            'at most ' ~ limit ~ ' executions in one range',
            'split the range: from ' ~ ditto.short_time(first) ~ ' to ' ~ ditto.short_time(row[-1]) ~ ', then from '
            ~ ditto.short_time(ditto.shift_time(first, interval, limit))) %}
    {% endif %}
    {{ return(row) }}
{% endmacro %}


{# The range is that of another model, so its ends need not be executions of this one: they are counted from the latest that the ledger
   has at its beginning or before. Without one the model begins with the range. #}
{% macro _own_range(node, range, statuses) %}
    {% set earlier = statuses | select('le', range.first) | sort %}
    {% set start = earlier[-1] if earlier else range.first %}
    {% set row = ditto._row(node, start, range.last, range.interval) %}
    {% set row = row + [ditto.shift_time(start, range.interval, row | length)] + statuses | list %}
    {% set times = row | select('ge', range.first) | select('le', range.last) | unique | sort | list %}
    {{ return(dict(range, times=times, first=times[0] if times else range.first, last=times[-1] if times else range.last)) }}
{% endmacro %}


{# From `start` on. The row still begins with the range: `start` may be an execution that only the ledger has. #}
{% macro _rest(range, statuses, start) %}
    {% set start = ditto.parse_execution_time(start) %}
    {% set times = ditto._planned_times(range, statuses) | select('ge', start) | list %}
    {{ return(dict(range, times=times, first=times[0] if times else start)) }}
{% endmacro %}


{# Every interval of the range, and what the ledger has in it besides. #}
{% macro _planned_times(range, statuses) %}
    {% if range.single %}
        {{ return(range.times) }}
    {% endif %}
    {% set times = range.times | list %}
    {% for time in statuses if range.first <= time and time <= range.last %}
        {% do times.append(time) %}
    {% endfor %}
    {{ return(times | unique | sort | list) }}
{% endmacro %}
