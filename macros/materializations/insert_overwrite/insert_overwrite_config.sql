{% macro insert_overwrite_settings(node, full_refresh=false, dry=false, execution_time=none) %}
    {% set settings = ditto.common_settings(node, 'insert_overwrite', full_refresh, dry, ['delta', 'parquet'], execution_time) %}
    {% set delta = settings.file_format == 'delta' %}
    {% set modes = ['predicate', 'partitions', 'table', 'delete_insert'] if delta else ['partitions', 'table'] %}
    {% do settings.update({
        'overwrite': ditto.choice(node, 'mode', modes, modes[0]),
        'predicate': ditto._given_predicate(node, settings),
        'max_partitions': ditto.option(node, 'max_partitions', 1000)
    }) %}
    {# One Delta commit needs no intent; anything else does. #}
    {% do settings.update({'leased': not delta or settings.overwrite == 'delete_insert'}) %}
    {% do ditto._check_insert_overwrite(settings) %}
    {{ return(settings) }}
{% endmacro %}


{# The config is read before the execution date is known, so the predicate names it in braces. #}
{% macro _given_predicate(node, settings) %}
    {% set given = ditto.option(node, 'predicate') %}
    {% if given is none %}
        {{ return(none) }}
    {% elif given is not string or not given.strip() %}
        {% do ditto.error(settings.subject, 'predicate: ' ~ given, 'a SQL condition', ditto._predicate_hint()) %}
    {% endif %}
    {{ return(given | replace('{execution_date}', settings.execution_time[:10]) | replace('{execution_time}', settings.execution_time)) }}
{% endmacro %}


{% macro _check_insert_overwrite(settings) %}
    {% if settings.overwrite == 'partitions' and not settings.partition_by %}
        {% do ditto.error(settings.subject, 'mode: partitions without partition_by', 'the columns of the partitions',
            "add partition_by='day' to the config of the model, or use mode='table'") %}
    {% elif settings.overwrite == 'table' and settings.predicate %}
        {% do ditto.error(settings.subject, 'mode: table with a predicate', 'no predicate: the whole table is replaced',
            "remove the predicate, or use mode='predicate'") %}
    {% elif settings.overwrite in ('predicate', 'delete_insert') and not settings.predicate and not settings.partition_by %}
        {% do ditto.error(settings.subject, 'mode: ' ~ settings.overwrite ~ ' without predicate or partition_by',
            'to know which rows a run replaces', ditto._predicate_hint()) %}
    {% elif settings.max_partitions is not integer or settings.max_partitions < 1 %}
        {% do ditto.error(settings.subject, 'max_partitions: ' ~ settings.max_partitions, 'a number from 1',
            'change the config of the model, for example max_partitions=1000') %}
    {% elif settings.predicate %}
        {% do ditto._check_predicate(settings) %}
    {% endif %}
{% endmacro %}


{# Spark hands the condition of a REPLACE WHERE to Delta as a source filter. It refuses a comparison that it cannot translate;
   but of an OR it silently leaves out the part that it cannot translate, and old rows would stay. #}
{% macro _check_predicate(settings) %}
    {% set bare = modules.re.sub("'(?:[^'\\\\]|\\\\.)*'|\"(?:[^\"\\\\]|\\\\.)*\"|`[^`]*`", '?', settings.predicate) %}
    {% if '{execution' in settings.predicate %}
        {% do ditto.error(settings.subject, 'predicate: ' ~ settings.predicate, '{execution_date} or {execution_time} in braces',
            ditto._predicate_hint()) %}
    {% elif settings.overwrite == 'predicate'
        and modules.re.search('(?i)\\b(or|case|any|some)\\b|\\biff?\\s*[(]|(\\bnot|!)\\s*[(]', bare) %}
        {% do ditto.error(settings.subject, 'predicate: ' ~ settings.predicate,
            'comparisons joined by AND: a REPLACE WHERE with OR, NOT (...), CASE or IF may leave old rows without a word',
            "write it with IN or BETWEEN, or use mode='delete_insert', which takes any condition") %}
    {% endif %}
{% endmacro %}


{% macro _predicate_hint() %}
    {{ return("add predicate=\"day = date'{execution_date}'\" (or {execution_time}) to the config of the model, or use mode='table'") }}
{% endmacro %}
