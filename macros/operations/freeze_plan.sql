{# Which units are merged into which immutable table, and the statements for it. Pure. #}

{# Groups of closed units by month or year, oldest first: {stretch, identifier, units}. Closed: executions have gone on to a later
   month or year. `newest`: the newest execution. A year also takes the frozen tables of its months; what a year holds already is
   left to it. #}
{% macro freeze_groups(settings, units, newest, into, before=none) %}
    {% set length = {'month': 7, 'year': 4}[into] %}
    {% set open = ditto.unit_of(settings.granularity, newest).first[:length] %}
    {% set limit = [open, before[:length]] | min if before else open %}
    {% set groups, names = {}, ditto.lower_names(units | map(attribute='identifier')) %}
    {% for unit in units | sort(attribute='first,identifier') if unit.kind != 'units' and unit.first[:length] < limit %}
        {% set stretch = unit.first[:length].replace('-', '') %}
        {% set identifier = (settings.alias ~ '__frozen_' ~ stretch) | lower %}
        {% set held = into == 'month' and (settings.alias ~ '__frozen_' ~ unit.first[:4]) | lower in names %}
        {% if unit.identifier | lower != identifier and not held and not (unit.kind == 'frozen' and (into == 'month' or unit.stretch | length == 4)) %}
            {% do groups.setdefault(stretch, {'stretch': stretch, 'identifier': identifier, 'units': []}).units.append(unit) %}
        {% endif %}
    {% endfor %}
    {{ return(groups.values() | sort(attribute='stretch')) }}
{% endmacro %}


{# One table with the rows of all, in one commit. It becomes immutable in a statement of its own: could it not be made again, a
   process that died in the middle of this one would leave something that nobody could finish. #}
{% macro freeze_create_sql(settings, group, columns, lacks) %}
{% set technical = dict(settings, execution_time_column='_ditto_execution_time', unit_column=none) %}
{# The config may name a partition that these units do not have yet. #}
{% set there = ditto.lower_names(columns) + ['_ditto_execution_time'] %}
create or replace table {{ ditto.table_name(settings.schema, group.identifier) }} using delta
partitioned by ({% for name in settings.partition_by if name | lower in there %}{{ ', ' if not loop.first }}{{ ditto.quote(name) }}{% endfor %})
comment {{ ditto.literal('ditto: frozen units ' ~ group.units | map(attribute='identifier') | join(', ') ~ ' of ' ~ settings.relation) }}
as
{% for unit in group.units -%}
{{ ditto.unit_branch_sql(technical, unit, columns, lacks[unit.identifier | lower]) }}
{{ 'union all\n' if not loop.last }}
{%- endfor %}
{%- endmacro %}


{# How many rows are in the frozen table and in the units: from the statistics of Delta's log. #}
{% macro freeze_count_sql(settings, group) %}
select
    (select count(*) from {{ ditto.table_name(settings.schema, group.identifier) }}) as `frozen`,
    (select sum(`rows`) from (
{%- for unit in group.units %}
        select count(*) as `rows` from {{ ditto.table_name(settings.schema, unit.identifier) }}{{ ' union all' if not loop.last }}
{%- endfor %}
    )) as `units`
{%- endmacro %}


{% macro check_freeze(node, into, before, dry_run=false) %}
    {% set granularity = ditto.option(node, 'granularity', 'week') %}
    {% set larger = {'day': ['month', 'year'], 'week': ['month', 'year'], 'month': ['year']}.get(granularity, []) %}
    {% if node.config.materialized != 'fast_metadata_cleaner' or not larger %}
        {% do ditto.error('ditto_freeze of ' ~ node.name, 'a ' ~ node.config.materialized ~ ' model' ~ (' with granularity: ' ~ granularity if not larger else ''),
            'a fast_metadata_cleaner model with units of a day, a week or a month', 'name another model') %}
    {% elif into not in larger %}
        {% do ditto.error('ditto_freeze of ' ~ node.name, 'into: ' ~ into, 'one of ' ~ larger | join(', '),
            "--args '{model: " ~ node.name ~ ', into: ' ~ larger[-1] ~ "}'") %}
    {% elif dry_run is not boolean %}
        {% do ditto.error('ditto_freeze of ' ~ node.name, 'dry_run: ' ~ dry_run, 'true or false', "--args '{model: " ~ node.name ~ ", dry_run: true}'") %}
    {% elif before is not none and not modules.re.fullmatch('[0-9]{4}-[0-9]{2}-[0-9]{2}', before | string) %}
        {% do ditto.error('ditto_freeze of ' ~ node.name, 'before: ' ~ before, 'a date: units that begin in its ' ~ into ~ ' or later stay as they are',
            "--args '{model: " ~ node.name ~ ", before: 2024-10-01}'") %}
    {% elif before is not none %}
        {% do ditto.parse_execution_time(before) %}
    {% endif %}
{% endmacro %}


{# As in a run: units of two granularities are not one model. #}
{% macro refuse_freezing_others(settings, units) %}
    {% set others = units | rejectattr('kind', 'in', [ditto.granularities()[settings.granularity], 'frozen', 'units']) | map(attribute='identifier') | list %}
    {% if others %}
        {% do ditto.error('ditto_freeze of ' ~ settings.model, 'granularity: ' ~ settings.granularity ~ ', and units of another one: ' ~ others[:5] | join(', '),
            'one granularity for all units', 'set granularity back in the config of the model') %}
    {% endif %}
{% endmacro %}


{# Executions that have to be replayed cannot be, once their unit is frozen. #}
{% macro refuse_freezing_stale(settings, groups, statuses) %}
    {% set stale = [] %}
    {% for group in groups %}
        {% for unit in group.units if unit.kind != 'frozen' %}
            {% set until = ditto.unit_of(settings.granularity, unit.first).until %}
            {% for time, status in statuses.items() if status in ('stale', 'released') and unit.first <= time and time < until %}
                {% do stale.append(time) %}
            {% endfor %}
        {% endfor %}
    {% endfor %}
    {% if stale %}
        {% do ditto.error('ditto_freeze of ' ~ settings.model, 'executions that have to be replayed: ' ~ ditto._times(stale | sort),
            'units that are whole', ditto._commands(settings, stale | sort)) %}
    {% endif %}
{% endmacro %}
