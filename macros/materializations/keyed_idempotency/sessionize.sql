{# Sessions from visits, as a SELECT: every row of the relation with its `session_id` and `session_started_at`. A visit that was appended
   more than `gap` after the one before it begins a new session of its user. The id comes from the user and the first append time: a
   visit that happened earlier but arrived later is appended later, and does not change it. Pure, for models:
   {{ ditto.sessionize(ref('raw_visits'), user='user_id', append_time='appended_at', visit_time='visit_time') }} #}
{% macro sessionize(relation, user, append_time, visit_time, gap='30 minutes', columns=none) %}
    {% set found = modules.re.fullmatch('\\s*([1-9][0-9]*) (second|minute|hour|day)s?\\s*', gap | string | lower) %}
    {% if not found %}
        {% do ditto.error('ditto.sessionize', 'gap: ' ~ gap, 'a number of seconds, minutes, hours or days', "for example gap='30 minutes'") %}
    {% endif %}
    {% set user_column, append = ditto.quote(user), ditto.quote(append_time) %}
    {% set in_order = 'partition by ' ~ user_column ~ ' order by ' ~ append ~ ', ' ~ ditto.quote(visit_time) %}
    {% set sql %}
select
    {{ ditto.quote_all(columns) if columns else '* except (`_ditto_begins`, `_ditto_session`, `session_started_at`)' }},
    {{ ditto.idempotent_key([user, 'session_started_at']) }} as `session_id`,
    `session_started_at`
from (
    select *, min({{ append }}) over (partition by {{ user_column }}, `_ditto_session`) as `session_started_at`
    from (
        select *, sum(`_ditto_begins`) over ({{ in_order }} rows between unbounded preceding and current row) as `_ditto_session`
        from (
            select *,
                if({{ append }} > lag({{ append }}) over ({{ in_order }}) + interval {{ found.group(1) }} {{ found.group(2) }}, 1, 0) as `_ditto_begins`
            from {{ relation }}
        )
    )
)
    {%- endset %}
    {{ return(sql.strip()) }}
{% endmacro %}
