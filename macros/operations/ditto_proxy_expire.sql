{# Drop versions that need not be kept any longer. Says what would go; to really drop it: dry_run: false.
   dbt run-operation ditto_proxy_expire --args '{model: devices}'
   dbt run-operation ditto_proxy_expire --args '{model: devices, version: v20241007_090000, dry_run: false}' #}
{% macro ditto_proxy_expire(model, version=none, keep_for=none, dry_run=true) %}
    {% set settings = ditto.proxy_settings(model, 'ditto_proxy_expire') %}
    {% set hours = ditto.check_expire(settings, keep_for, dry_run) %}
    {% set work = ditto.begin_operation(ditto.find_model(model), 'proxy_expire') %}
    {% set versions = ditto.proxy_versions(settings) %}
    {% set shown = ditto.current_version(settings) %}
    {% do ditto.check_kept(settings, versions, shown) %}
    {% set chosen = [ditto.choose_version(model, versions, version, shown)] if version else versions %}
    {% set going, lines = [], [] %}
    {% for each in chosen %}
        {% set obstacle = ditto.expiry_obstacle(settings, each, shown, hours) %}
        {% if obstacle and version %}
            {% do ditto.error(work.plan.subject, each.name ~ ': ' ~ obstacle, 'a version that need not be kept any longer',
                "keep it; or change legal_hold or keep_for in the config of the model, or show another version first") %}
        {% elif not obstacle %}
            {% do going.append(each) %}
        {% endif %}
        {% do lines.append('  ' ~ each.name ~ ': ' ~ ('kept, ' ~ obstacle if obstacle else ('would be dropped' if dry_run else 'dropped'))) %}
    {% endfor %}
    {% if not dry_run and (going or work.ledger.unfinished) %}
        {% do ditto._drop_versions(settings, work.plan, going) %}
    {% endif %}
    {% do print('ditto: expire ' ~ model ~ (', dry run: nothing is dropped; to drop it: dry_run: false' if dry_run else '') ~ '\n' ~ lines | join('\n')) %}
{% endmacro %}


{# Killed anywhere and run again, it completes: until the outcome is there, the same versions are chosen. #}
{% macro _drop_versions(settings, plan, going) %}
    {% set lease = ditto.claim(plan) %}
    {% set fence = ditto.fence_condition(ditto.ledger_table(), settings.relation, lease.token) %}
    {% for each in going %}
        {% set step = ditto._fenced_step('expire', 'drop table if exists ' ~ each.table, fence) %}
        {% do ditto.send(step.name, step.sql) %}
    {% endfor %}
    {% do ditto.finish_operation(plan, lease, {'expired': going | map(attribute='name') | list}) %}
{% endmacro %}
