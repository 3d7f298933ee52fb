{# Which rows break a constraint? Asked only after the engine has refused them: its own words come under a long stack trace. #}

{# `constraints`: {table, rows, known, fix, exists}. Besides those that the model describes (`known`) the ones that an existing table
   really has. #}
{% macro constraint_diagnosis(constraints) %}
    {% set conditions = [] %}
    {% for row in (ditto.fetch('show tblproperties ' ~ constraints.table) if constraints.exists else []) + constraints.known %}
        {% do conditions.append(row['value']) if row['key'].startswith('delta.constraints.') and row['value'] not in conditions %}
    {% endfor %}
    {{ return({
        'sql': ditto.violations_sql(constraints.rows, conditions),
        'found': 'rows in the increment that break a constraint of ' ~ constraints.table ~ '; the first of them',
        'expected': 'rows that keep every constraint; nothing was written, of no dataset',
        'fix': constraints.fix
    }) }}
{% endmacro %}


{# Up to five rows, each with the condition that it breaks. To Delta a condition that gives null is broken. Pure. #}
{% macro violations_sql(rows, conditions) %}
select concat(`_ditto_broken`, ': ', `_ditto_row`) as `problem`
from (
    select `_ditto_row`, explode(`_ditto_conditions`) as `_ditto_broken`
    from (
        select
            to_json(struct(*), map('ignoreNullFields', 'false')) as `_ditto_row`,
            array_compact(array(
            {%- for condition in conditions %}
                if(coalesce(({{ condition }}), false), null, {{ ditto.literal(condition) }}),
            {%- endfor %}
                cast(null as string)
            )) as `_ditto_conditions`
        from (
{{ rows }}
        )
    )
)
limit 5
{%- endmacro %}
