{# Facts in, plan out. Pure. #}
{% macro proxy_view_plan(node, settings, facts, sql) %}
    {% do ditto.refuse_unfinished(settings, facts.ledger) %}
    {% do ditto.refuse_table_under_view(settings, facts.view, 'a view of the newest version') if settings.versioning != 'manifest' %}
    {% do ditto._refuse_table_of_others(settings, facts) %}
    {% do ditto.refuse_or_warn(settings, ditto.proxy_view_problems(settings, facts)) %}
    {% set decision = ditto.proxy_view_decision(settings, facts) %}
    {% set spec = ditto.table_spec(node, settings, facts.increment, facts.contract) %}
    {% set own = dict(ditto._version_properties(settings), **{'ditto.written_by': ditto.tag(dict(settings, mode=decision.mode))}) %}
    {% do spec.update({'properties': dict(ditto.unit_constraints(spec), **ditto._other_properties(spec.properties, own))}) %}
    {% do ditto._refuse_other_columns(settings, facts) if decision.mode != 'full_refresh' %}
    {% if settings.dry %}
        {{ return(ditto.new_plan(settings, facts, decision, ditto._empty_view_steps(settings, facts))) }}
    {% endif %}
    {% set token = (facts.ledger.token or 0) + 1 %}
    {% set fence = ditto.fence_condition(settings.ledger_table, settings.relation, token) %}
    {% set create = ditto.create_as_select_sql(settings.table, spec, sql, 'ditto: a version of ' ~ settings.relation, own, replace=settings.versioning == 'native') %}
    {% set steps = [
        {'kind': 'intent', 'name': 'intent'},
        {'kind': 'write', 'name': 'version', 'sql': ditto.fenced_sql(ditto.immediate_sql(create), fence, script=true)}
    ] %}
    {% do steps.extend(ditto.column_comment_steps(settings, spec, fence)) %}
    {% set shown = ditto.show_steps(settings, facts, fence, spec.comment) if decision.shows else {'before': [], 'after': []} %}
    {% set plan = ditto.new_plan(settings, facts, decision, steps + shown.before + [{'kind': 'outcome', 'name': 'outcome'}] + shown.after) %}
    {% do plan.update({
        'made_anew': false,
        'undo': false,
        'details': {'version': none if settings.versioning == 'native' else settings.version_name, 'shown': decision.shows}
    }) %}
    {{ return(plan) }}
{% endmacro %}


{# The one table of all versions is replaced by each run: it has to be ours. A merger with hidden rows has one of the same name. #}
{% macro _refuse_table_of_others(settings, facts) %}
    {% if settings.versioning == 'native' and facts.target.exists and 'ditto:1|proxy_view|' not in facts.target.properties %}
        {% do ditto.error(settings.subject, 'a table ' ~ settings.table ~ ' that no run of proxy_view has written', 'a table of versions, or nothing',
            'keep it under another name: alter table ' ~ settings.table ~ ' rename to ' ~ ditto.table_name(settings.schema, settings.alias ~ '_before')
            ~ ', then run again') %}
    {% endif %}
{% endmacro %}


{# Gives `mode`, `reason` and whether the run `shows` what it wrote: readers see the newest execution, so one that is run late or
   again writes its version without taking them back. #}
{% macro proxy_view_decision(settings, facts) %}
    {% set mode = ditto.plan_mode(settings, dict(facts, target={'exists': true})) %}
    {% if settings.full_refresh and not settings.dry %}
        {% do mode.update({'reason': '--full-refresh: a new version, like every run; nothing is dropped'}) %}
    {% endif %}
    {% set newest = facts.ledger.newest %}
    {{ return(dict(mode, shows=newest is none or settings.execution_time >= newest, restore=none, truncate=false, become_stale=[])) }}
{% endmacro %}


{% macro proxy_view_problems(settings, facts) %}
    {% if settings.dry or not facts.changed %}
        {{ return([] if settings.dry else ditto.missing_view_problems(settings, facts)) }}
    {% endif %}
    {% set repairable = [] %}
    {% for each in facts.changed if each.problem.startswith('was changed') %}
        {% do repairable.append('restore table ' ~ each.table ~ ' to version as of 0') %}
    {% endfor %}
    {{ return(ditto.missing_view_problems(settings, facts) + [{
        'rule': settings.on_changed_version,
        'found': 'versions that are not what was written:\n    - ' ~ ditto.describe_changed(facts.changed),
        'expected': 'versions that nobody changes: they are written once',
        'fix': ('bring back what was written: ' ~ repairable[0] ~ '; or go on without: ' if repairable
            else 'find out who did it: describe history ' ~ facts.changed[0].table ~ '; and go on: ') ~ "on_changed_version='warn'"
    }]) }}
{% endmacro %}


{# Written once: what Delta can refuse, it refuses. Its log stays, since it tells what happened to a version, and so does what it
   can be restored to. With versions in one table they go after keep_for, unless one is held: they all have one retention. #}
{% macro _version_properties(settings) %}
    {% set native = settings.versioning == 'native' %}
    {% set kept = 'interval ' ~ (settings.keep_for if native and settings.keep_for and not settings.legal_hold else 876000) ~ ' hours' %}
    {{ return(dict({'delta.deletedFileRetentionDuration': kept, 'delta.logRetentionDuration': kept}, **({} if native else {'delta.appendOnly': 'true'}))) }}
{% endmacro %}


{# The given properties that are not ours. Delta's ignore case, so one in other letters would stand beside ours. #}
{% macro _other_properties(given, own) %}
    {% set others = {} %}
    {% for key, value in given.items() if key | lower not in ditto.lower_names(own) %}
        {% do others.update({key: value}) %}
    {% endfor %}
    {{ return(others) }}
{% endmacro %}


{% macro _refuse_other_columns(settings, facts) %}
    {% if settings.on_schema_change == 'fail' and facts.view.exists %}
        {% do ditto.plan_columns(dict(settings, table=settings.view), facts.increment, facts.view) %}
    {% endif %}
{% endmacro %}


{# What makes a version the one that readers see: `before` the outcome, or `after` it. #}
{% macro show_steps(settings, facts, fence, comment=none) %}
    {% if settings.versioning == 'manifest' %}
        {{ return({'before': [], 'after': ditto.manifest_steps(settings, facts.ledger.seq + 2)}) }}
    {% elif settings.versioning == 'tables' %}
        {% set view = ditto.version_view_sql(settings, facts.increment, facts.view, comment) %}
        {{ return({'before': [ditto._fenced_step('view', view, fence)], 'after': []}) }}
    {% endif %}
    {# Only the commit tells its version. The fence is around it, since the lease ends with the outcome. #}
    {% set stand_in = '_ditto_version_' ~ settings.invocation_id.replace('-', '_') %}
    {% set view = ditto.version_view_sql(settings, facts.increment, facts.view, comment, stand_in) %}
    {{ return({'before': [], 'after': [dict(ditto._fenced_step('view', view, fence), kind='pin', stand_in=stand_in)]}) }}
{% endmacro %}


{# The manifest is a step of its own: when it fails, the version is written and recorded, and only the manifest is built again. #}
{% macro manifest_steps(settings, sequence) %}
    {% set steps = [] %}
    {% for name, sql in [
        ('manifest_table', ditto.manifest_table_sql(settings)),
        ('symlink_manifest', 'generate symlink_format_manifest for table ' ~ settings.table),
        ('manifest', ditto.manifest_sql(settings, sequence))
    ] %}
        {% do steps.append({'kind': 'try', 'name': name, 'sql': sql, 'failure': {
            'found': 'the manifest of version ' ~ settings.version_name ~ ' could not be written (step ' ~ name ~ '); the version itself is there and recorded',
            'expected': 'a manifest that lists its files; readers still find the one before',
            'fix': "build it alone, without computing anything again: dbt run-operation ditto_proxy_manifest --args '{model: " ~ settings.model ~ "}'"
        }}) %}
    {% endfor %}
    {{ return(steps) }}
{% endmacro %}


{% macro _empty_view_steps(settings, facts) %}
    {% if facts.view.exists or settings.versioning == 'manifest' %}
        {{ return([]) }}
    {% endif %}
    {{ return([{'kind': 'sql', 'name': 'view', 'sql': ditto.view_sql(settings.view, ditto.no_branch_sql({}, facts.increment))}]) }}
{% endmacro %}
