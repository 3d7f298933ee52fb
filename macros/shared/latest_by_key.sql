{# The windowed deduplicator: of all rows with one key the latest, and none if that one is deleted. Ties are broken by a hash of
   the whole row, so that the answer is the same every time. Pure, for models too:
   {{ ditto.latest_by_key(ref('changes'), ['id'], ['changed_at'], soft_delete='is_deleted') }} #}
{% macro latest_by_key(relation, unique_key, order_by, soft_delete=none, columns=none) %}
    {% set keys = [unique_key] if unique_key is string else unique_key %}
    {% set order = [] %}
    {% for name in ([order_by] if order_by is string else order_by) %}
        {% do order.append(ditto.quote(name) ~ ' desc nulls last') %}
    {% endfor %}
    {% if soft_delete %}
        {% do order.append(ditto._deleted({'soft_delete': soft_delete}) ~ ' desc') %}
    {% endif %}
    {% set sql %}
select {{ ditto.quote_all(columns) if columns else '* except (`_ditto_rank`)' }}
from (
    select *, row_number() over (
        partition by {{ ditto.quote_all(keys) }}
        order by {{ (order + ['sha2(to_json(struct(*), ' ~ ditto.json_options() ~ '), 256) desc']) | join(', ') }}
    ) as `_ditto_rank`
    from {{ relation }}
)
where `_ditto_rank` = 1{{ ' and not ' ~ ditto._deleted({'soft_delete': soft_delete}) if soft_delete }}
    {%- endset %}
    {{ return(sql) }}
{% endmacro %}
