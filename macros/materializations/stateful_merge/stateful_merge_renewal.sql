{# Delta refuses to go back to a version whose commit is older than the table's retention, even if it was the newest one a moment
   ago. So a table that nobody wrote to for half of the window gets a commit without a change first: what this execution is
   applied to is young, and it can be taken over, released and replayed. #}
{% macro renew_head(settings, facts) %}
    {% if settings.versioning != 'delta' or settings.dry or settings.full_refresh or facts.head_at is none or facts.ledger.unfinished
        or not ditto.is_old(settings, facts.head_at, modules.datetime.datetime.now()) %}
        {{ return('') }}
    {% endif %}
    {% do ditto.send('renew', ditto.set_properties_sql(settings.table, {'ditto.renewed_by': settings.invocation_id})) %}
    {% set head = ditto.commits(settings.table, 1)[0] %}
    {% do facts.update({'head': head.version, 'head_at': head.at}) %}
    {# Readers that are pinned to the version that was the newest could not read it any more. #}
    {% if settings.readers == 'pinned' and facts.view.exists and not ditto.execution_chain(facts.ledger.outcomes).stale %}
        {% do ditto.send('pin', ditto.merger_view_sql(settings, facts.target.columns, facts.view, version=head.version)) %}
    {% endif %}
{% endmacro %}


{% macro is_old(settings, at, now) %}
    {% set number, unit = settings.backfill_window.split(' ')[1:] %}
    {% set hours = {'hour': 1, 'day': 24, 'week': 168}[unit.rstrip('s')] * number | int %}
    {{ return(now - modules.datetime.datetime.fromisoformat(at[:19]) > modules.datetime.timedelta(hours=hours / 2)) }}
{% endmacro %}
