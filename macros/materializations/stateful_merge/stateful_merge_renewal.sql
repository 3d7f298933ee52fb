{# Delta refuses to go back to a version whose commit is older than the table's retention, even if it was the newest one a moment
   ago. So a table that nobody wrote to for half of the window gets a commit without a change first: what this execution is
   applied to is young, and it can be taken over, released and replayed. Before the intent, which says what that version is, and only
   if nobody has claimed the model since the ledger was read. Pure. #}
{% macro renewal_steps(work, columns) %}
    {% set settings, facts, decision = work.settings, work.facts, work.decision %}
    {% if not facts.get('aged') %}
        {{ return([]) }}
    {% endif %}
    {% set token = facts.ledger.token or 0 %}
    {% set fence = ditto.fence_condition(settings.ledger_table, settings.relation, token) if token else none %}
    {% set step = {
        'kind': 'renew', 'name': 'renew',
        'sql': ditto.fenced_sql(ditto.immediate_sql(
            ditto.set_properties_sql(settings.table, {'ditto.renewed_by': settings.invocation_id})), fence, script=true),
        'is_base': decision.restore is none and not decision.truncate,
        'stand_in': ditto.version_stand_in(settings), 'pin': none
    } %}
    {# Readers that are pinned to the version that was the newest could not read it any more. #}
    {% if settings.readers == 'pinned' and facts.view.exists and not decision.stale %}
        {% set view = ditto.merger_view_sql(settings, columns, facts.view, version=step.stand_in) %}
        {% do step.update({'pin': ditto.fenced_sql(ditto.immediate_sql(view), fence, script=true)}) %}
    {% endif %}
    {{ return([step]) }}
{% endmacro %}


{# Runs such a step: from then on the plan is about the new version. #}
{% macro renew_head(plan, step) %}
    {% do ditto.send(step.name, step.sql) %}
    {% set head = ditto.commits(plan.table, 1)[0].version %}
    {% do plan.update({'head': head, 'seen': head, 'base_version': head if step.is_base else plan.base_version}) %}
    {% do ditto.send('pin', step.pin.replace(step.stand_in, head | string)) if step.pin %}
{% endmacro %}


{# A fact: does the newest commit have to be renewed? #}
{% macro is_aged(settings, facts) %}
    {% if settings.versioning != 'delta' or settings.dry or settings.full_refresh or facts.head_at is none or facts.ledger.unfinished %}
        {{ return(false) }}
    {% endif %}
    {{ return(ditto.is_old(settings, facts.head_at, modules.datetime.datetime.now())) }}
{% endmacro %}


{% macro is_old(settings, at, now) %}
    {% set number, unit = settings.backfill_window.split(' ')[1:] %}
    {% set hours = {'hour': 1, 'day': 24, 'week': 168}[unit.rstrip('s')] * number | int %}
    {{ return(now - modules.datetime.datetime.fromisoformat(at[:19]) > modules.datetime.timedelta(hours=hours / 2)) }}
{% endmacro %}
