{# What a vacuum may remove, and how it is told. Pure. #}

{# `7 days`, `interval 1 week 2 hours` as hours, rounded up; none if it is no such text. #}
{% macro duration_hours(text) %}
    {% set given = text | string | trim | lower %}
    {% if not modules.re.fullmatch('(interval +)?([0-9]+ +(second|minute|hour|day|week)s? *)+', given) %}
        {{ return(none) }}
    {% endif %}
    {% set sum = namespace(seconds=0) %}
    {% for number, unit in modules.re.findall('([0-9]+) +(second|minute|hour|day|week)', given) %}
        {% set sum.seconds = sum.seconds + number | int * {'second': 1, 'minute': 60, 'hour': 3600, 'day': 86400, 'week': 604800}[unit] %}
    {% endfor %}
    {{ return((sum.seconds + 3599) // 3600) }}
{% endmacro %}


{% macro duration_text(hours) %}
    {% set number, unit = (hours // 24, 'day') if hours % 24 == 0 else (hours, 'hour') %}
    {{ return(number ~ ' ' ~ unit ~ ('s' if number != 1 else '')) }}
{% endmacro %}


{# The value of a retention property in hours, from the text that DESCRIBE gives: [a=b,c=d]. #}
{% macro retention_hours(properties, name, default) %}
    {% set found = modules.re.search('[\\[,]' ~ name.replace('.', '[.]') ~ '=([^,\\]]*)', properties or '') %}
    {{ return(ditto.duration_hours(found.group(1) if found else default)) }}
{% endmacro %}


{# How long old files stay: as long as the window needs, as the table says, or as was asked for, whichever is longest. Delta 4
   goes by the table's property alone and takes no notice of RETAIN, so where the property is shorter it is raised first.
   `window`: {hours, name}. Gives `hours`, `properties` to set, and `notes`. #}
{% macro vacuum_retention(properties, window, retain=none) %}
    {% set own = ditto.retention_hours(properties, 'delta.deletedFileRetentionDuration', '7 days') %}
    {% set log = ditto.retention_hours(properties, 'delta.logRetentionDuration', '30 days') %}
    {% if own is none or log is none %}
        {{ return(none) }}
    {% endif %}
    {% set hours = [own, window.hours, retain or 0] | max %}
    {% set notes = [] %}
    {% if retain is not none and retain < hours %}
        {% set why = window.name if hours == window.hours else 'delta.deletedFileRetentionDuration of the table' %}
        {% do notes.append('retain: ' ~ ditto.duration_text(retain) ~ ' was raised to ' ~ ditto.duration_text(hours) ~ ', the ' ~ why) %}
    {% endif %}
    {% set changed = {} %}
    {% for name, value in [('delta.deletedFileRetentionDuration', own), ('delta.logRetentionDuration', log)] if value < hours %}
        {% do changed.update({name: 'interval ' ~ ditto.duration_text(hours)}) %}
    {% endfor %}
    {% if own < hours %}
        {% do notes.append('the table itself keeps only ' ~ ditto.duration_text(own) ~ ': its properties are set first') %}
    {% endif %}
    {{ return({'hours': hours, 'properties': changed if own < hours else {}, 'notes': notes}) }}
{% endmacro %}


{# The statements in order. A dry run changes nothing, properties included: what it lists is then more than what would go. #}
{% macro vacuum_statements(table, retention, dry_run) %}
    {% set statements = [] %}
    {% if retention.properties and not dry_run %}
        {% do statements.append(ditto.set_properties_sql(table, retention.properties)) %}
    {% endif %}
    {% do statements.append('vacuum ' ~ table ~ ' retain ' ~ retention.hours ~ ' hours' ~ (' dry run' if dry_run else '')) %}
    {{ return(statements) }}
{% endmacro %}


{# `files`: how many, or none if nobody counted; `size` in bytes or none. #}
{% macro vacuum_text(table, retention, dry_run, files, size=none, restorable=none) %}
    {% set many = 'an unknown number of' if files is none else ('at most ' if dry_run and retention.properties else '')
        ~ ('1000 or more' if dry_run and files >= 1000 else files) %}
    {% set lines = ['  ' ~ table ~ ': ' ~ many ~ (' file ' if files == 1 else ' files ')
        ~ ('(' ~ size ~ ' bytes) ' if size is not none else '') ~ ('would go' if dry_run else 'removed')
        ~ '; kept for ' ~ ditto.duration_text(retention.hours)] %}
    {% for note in retention.notes + ([restorable] if restorable else []) %}
        {% do lines.append('    ' ~ note) %}
    {% endfor %}
    {{ return(lines | join('\n')) }}
{% endmacro %}
