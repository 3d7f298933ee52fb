{# A unit is a table for a stretch of time. Which one does an execution belong to, and what do the tables' names tell? Pure. #}

{# The letter that stands for a granularity in the names of its units. #}
{% macro granularities() %}
    {{ return({'day': 'd', 'week': 'w', 'month': 'm', 'year': 'y', 'full': 'full'}) }}
{% endmacro %}


{# Gives `first`, the unit's first day; `until`, where the next one begins; `suffix`, its part of the table's name, which sorts
   by time; and a `label` for people. A week begins on Monday and on 1 January, so that no unit spans two years. #}
{% macro unit_of(granularity, time) %}
    {% if granularity == 'full' %}
        {{ return({'first': '0001-01-01', 'until': '9999-12-31 00:00:00', 'suffix': 'full', 'label': 'the full dataset'}) }}
    {% endif %}
    {% set date = modules.datetime.date %}
    {% set day = date.fromisoformat(time[:10]) %}
    {% set new_year = day.replace(month=1, day=1).toordinal() %}
    {% set next_year = day.replace(year=day.year + 1, month=1, day=1).toordinal() if day.year < 9999 else date.max.toordinal() %}
    {% set number = day.toordinal() %}
    {% if granularity == 'day' %}
        {% set first, until = number, number + 1 %}
    {% elif granularity == 'week' %}
        {% set first, until = number - day.weekday(), number - day.weekday() + 7 %}
    {% elif granularity == 'month' %}
        {% set first = day.replace(day=1).toordinal() %}
        {% set until = day.replace(month=day.month + 1, day=1).toordinal() if day.month < 12 else next_year %}
    {% else %}
        {% set first, until = new_year, next_year %}
    {% endif %}
    {% set first = date.fromordinal([first, new_year] | max) | string %}
    {{ return({
        'first': first,
        'until': (date.fromordinal([until, next_year] | min) | string) ~ ' 00:00:00',
        'suffix': ditto.granularities()[granularity] ~ first.replace('-', ''),
        'label': granularity ~ ' ' ~ {'day': first, 'week': first, 'month': first[:7], 'year': first[:4]}[granularity]
    }) }}
{% endmacro %}


{# What a table behind the model is, from its name: {identifier, kind, first}. `kind`: the letter of a granularity, `frozen` for
   units that were merged, `units` for a view over some of them; none if the table is not one of ours. #}
{% macro parse_unit(alias, identifier) %}
    {% set shape = '(?:(d|w|m|y)([0-9]{4}(?:0[1-9]|1[0-2])(?:0[1-9]|[12][0-9]|3[01]))|(full)|(frozen|units)_([0-9]{4}(?:0[1-9]|1[0-2])?))' %}
    {% set ours = (identifier | lower).startswith((alias ~ '__') | lower) %}
    {% set found = modules.re.fullmatch(shape, identifier[alias | length + 2:] | lower) if ours %}
    {% if not found %}
        {{ return(none) }}
    {% endif %}
    {# In lower case, as Spark stores it; a catalog that does not would have us take one table for two. #}
    {% set identifier = identifier | lower %}
    {% set letter, day, full, merged, stretch = found.groups() %}
    {% if full %}
        {{ return({'identifier': identifier, 'kind': 'full', 'first': '0001-01-01'}) }}
    {% elif letter %}
        {{ return({'identifier': identifier, 'kind': letter, 'first': day[:4] ~ '-' ~ day[4:6] ~ '-' ~ day[6:]}) }}
    {% endif %}
    {{ return({'identifier': identifier, 'kind': merged, 'first': stretch[:4] ~ '-' ~ (stretch[4:] or '01') ~ '-01', 'stretch': stretch}) }}
{% endmacro %}


{# The names of the frozen tables that would hold a unit that begins on this day: of its month, of its year. #}
{% macro frozen_names(alias, first) %}
    {{ return([(alias ~ '__frozen_' ~ first[:4] ~ first[5:7]) | lower, (alias ~ '__frozen_' ~ first[:4]) | lower]) }}
{% endmacro %}


{# The tables that the view shows, newest first: all of them, but for those whose rows are in a frozen one. #}
{% macro shown_units(alias, units) %}
    {% set names = ditto.lower_names(units | map(attribute='identifier')) %}
    {% set shown = [] %}
    {% for unit in units if unit.kind != 'units' %}
        {% set holders = ditto.frozen_names(alias, unit.first) | reject('equalto', unit.identifier | lower) | list %}
        {# A month is held by its year. A year is held by nothing, although its first month has a name too. #}
        {% set holders = [] if unit.kind == 'full' or unit.get('stretch', '') | length == 4 else holders %}
        {% if not holders | select('in', names) | list %}
            {% do shown.append(unit) %}
        {% endif %}
    {% endfor %}
    {{ return(shown | sort(attribute='first,identifier', reverse=true)) }}
{% endmacro %}


{# Frozen tables that are not finished: the view shows units whose rows they hold, and not them. Only ditto_freeze may go on with
   them; for everybody else they hold nothing yet. `branches`: the tables that the view shows. #}
{% macro pending_frozen(alias, units, branches) %}
    {% set pending = [] %}
    {% for frozen in units if frozen.kind == 'frozen' and frozen.identifier | lower not in branches %}
        {% for unit in units if unit.identifier | lower in branches and unit.identifier != frozen.identifier
            and frozen.identifier | lower in ditto.frozen_names(alias, unit.first) and frozen not in pending %}
            {% do pending.append(frozen) %}
        {% endfor %}
    {% endfor %}
    {{ return(pending) }}
{% endmacro %}
