{# What could only fail in the middle of a write, with a stack trace and an unfinished execution, is asked before anything is claimed. #}

{# Do the conditions of the config make sense for these columns? They are asked of no rows: all at once, and if that fails one by one. #}
{% macro refuse_unclear_conditions(settings, increment, target) %}
    {% set conditions = ditto.conditions_of(settings, increment, target.columns if target.type == 'table' and not settings.full_refresh else increment) %}
    {% set all = conditions | map(attribute='sql') | join('\nunion all\n') %}
    {% if conditions and ditto.fetch(ditto.caught_sql(all, 'unclear')) %}
        {% for condition in conditions if ditto.fetch(ditto.caught_sql(condition.sql, 'unclear')) %}
            {% do ditto.error(settings.subject, condition.option ~ ': ' ~ condition.text ~ ', which Spark does not understand',
                'SQL on ' ~ condition.columns, 'correct ' ~ condition.option ~ ' in the config of the model') %}
        {% endfor %}
    {% endif %}
{% endmacro %}


{# {option, text, columns, sql} of each. Pure. `increment` and `table`: columns of the SELECT and of the table. #}
{% macro conditions_of(settings, increment, table) %}
    {% set rows, target = ditto.no_rows_sql(increment), ditto.no_rows_sql(table) ~ ' as target' %}
    {% set known = increment | map(attribute='name') | join(', ') %}
    {% set there = 'target: ' ~ table | map(attribute='name') | join(', ') %}
    {% set by_source = settings.not_matched_by_source or {'condition': none, 'changes': none} %}
    {% set asked = [
        ['merge_condition', settings.merge_condition, there ~ '; source: ' ~ known, target ~ ' cross join ' ~ rows ~ ' as source'],
        ['not_matched_by_source', by_source.condition, there, target],
        ['predicate', settings.predicate, known, rows]
    ] %}
    {% for audit in settings.audits or [] if audit.kind == 'every_row' %}
        {% do asked.append(['audits', audit.sql, known, rows]) %}
    {% endfor %}
    {% set conditions = [] %}
    {% for option, text, columns, source in asked if text %}
        {# The line break ends a comment that somebody left at the end. #}
        {% do conditions.append({'option': option, 'text': text, 'columns': columns, 'sql': 'select 1 as `one` from ' ~ source ~ ' where (' ~ text ~ '\n)'}) %}
    {% endfor %}
    {% for column, value in (by_source.changes or {}).items() %}
        {% do conditions.append({'option': 'not_matched_by_source', 'text': column ~ ': ' ~ value, 'columns': there,
            'sql': 'select 1 as `one` from ' ~ target ~ ' where (' ~ value ~ '\n) is null and target.' ~ ditto.quote(column) ~ ' is null'}) %}
    {% endfor %}
    {{ return(conditions) }}
{% endmacro %}


{% macro no_rows_sql(columns) %}
    {% set nulls = [] %}
    {% for column in columns %}
        {% do nulls.append({'name': column.name, 'type': column.type, 'given': false}) %}
    {% endfor %}
    {{ return('(select ' ~ ditto.select_columns(nulls) ~ ' limit 0)') }}
{% endmacro %}


{# Values of another type than the table's: those that cannot become it are named. Costs a look at the rows only where types differ. #}
{% macro refuse_misfits(settings, increment, target, sql) %}
    {% if target.type != 'table' or settings.dry or settings.full_refresh or settings.on_schema_change == 'fail' %}
        {{ return('') }}
    {% endif %}
    {# What is deleted has a check of its own, which says more. #}
    {% set doubtful = ditto.doubtful_columns(increment, target.columns) | rejectattr('name', 'equalto', settings.soft_delete) | list %}
    {% set fix = 'cast it in the SELECT, or make the table anew: ' ~ ditto.run_command(settings.model, settings.execution_time, ' --full-refresh') %}
    {% for column in doubtful | selectattr('hopeless') %}
        {% do ditto.error(settings.subject, 'column ' ~ column.name ~ ', a ' ~ column.type, 'a ' ~ column.wanted ~ ', as in ' ~ settings.table, fix) %}
    {% endfor %}
    {% set problems = [] %}
    {% for row in (ditto.fetch(ditto.misfits_sql(doubtful, sql)) if doubtful else []) %}
        {% do problems.append(row['problem']) %}
    {% endfor %}
    {% if problems %}
        {% do ditto.error(settings.subject, 'values that are no ' ~ doubtful | map(attribute='wanted') | unique | join(' or ') ~ '; the first of them:\n    - '
            ~ problems | join('\n    - '), 'values of the types of ' ~ settings.table ~ '; nothing was written', fix) %}
    {% endif %}
{% endmacro %}


{# Columns whose values may not fit (`wanted`: the type of the table), and those that never do (`hopeless`). Pure. #}
{% macro doubtful_columns(increment, columns) %}
    {% set numbers = ['tinyint', 'smallint', 'int', 'bigint', 'float', 'double', 'decimal'] %}
    {% set texts, plain = ['string', 'varchar', 'char'], numbers + ['date', 'timestamp', 'timestamp_ntz', 'boolean', 'binary'] %}
    {% set types, doubtful = {}, [] %}
    {% for column in columns %}
        {% do types.update({column.name | lower: column.type}) %}
    {% endfor %}
    {% for column in increment if types.get(column.name | lower, column.type) != column.type %}
        {% set wanted = types[column.name | lower] %}
        {% set have, want = modules.re.split('[(<]', column.type)[0], modules.re.split('[(<]', wanted)[0] %}
        {% set nested = ('<' in column.type or '<' in wanted) and have != want and have != 'void' %}
        {% if nested or (have in texts and want in plain) or (have in numbers and want in numbers) %}
            {% do doubtful.append({'name': column.name, 'type': column.type, 'wanted': wanted, 'hopeless': nested}) %}
        {% endif %}
    {% endfor %}
    {{ return(doubtful) }}
{% endmacro %}


{% macro misfits_sql(columns, sql) %}
select concat(`misfit`.`column`, ': ', `misfit`.`value`) as `problem`
from (
    select explode(array_compact(array(
    {%- for column in columns %}
        if({{ ditto.quote(column.name) }} is not null and try_cast({{ ditto.quote(column.name) }} as {{ column.wanted }}) is null,
            struct({{ ditto.literal(column.name) }} as `column`, cast({{ ditto.quote(column.name) }} as string) as `value`), null){{ ',' if not loop.last }}
    {%- endfor %}
    ))) as `misfit`
    from (
{{ sql }}
    )
)
limit 5
{%- endmacro %}


{# Two maps with the same entries may be written in another order, and are not the same key. Pure. #}
{% macro require_key_types(settings, increment) %}
    {% for column in increment if column.name | lower in ditto.lower_names(settings.unique_key or [])
        and modules.re.search('(^|[<:])(map<|variant|void)', column.type) %}
        {% do ditto.error(settings.subject, 'unique_key: ' ~ column.name ~ ', a ' ~ column.type, 'columns whose values can be compared',
            'choose another key, or make one of it: ' ~ "ditto.idempotent_key(['" ~ column.name ~ "'])") %}
    {% endfor %}
{% endmacro %}
