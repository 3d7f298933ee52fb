{# From the table's commits to the events that the ledger still lacks. Pure. #}

{% macro event(identity, name, generation, seq, fields) %}
    {% set event = {
        'relation': identity.relation, 'pattern': identity.pattern, 'execution_time': identity.execution_time,
        'mode': identity.mode, 'invocation_id': identity.invocation_id,
        'event': name, 'generation': generation, 'seq': seq
    } %}
    {% do event.update(fields) %}
    {% do event.update({'event_id': local_md5([
        event.relation, event.execution_time, name, generation, event.get('version'), event.get('token'), event.invocation_id
    ] | join('|'))}) %}
    {{ return(event) }}
{% endmacro %}


{# The identity of a run, carried by its commit: user metadata of an INSERT, a true term in the ON clause of a MERGE. #}
{% macro tag(identity) %}
    {{ return(['ditto:1', identity.pattern, identity.mode, identity.execution_time, identity.invocation_id] | join('|')) }}
{% endmacro %}


{% macro parse_tag(text) %}
    {% set found = modules.re.search('ditto:1\\|([a-z_]+)\\|([a-z_]+)\\|([0-9. :-]+)\\|([0-9A-Za-z-]+)', text) %}
    {% if not found %}
        {{ return(none) }}
    {% endif %}
    {% set parts = found.groups() %}
    {{ return({'pattern': parts[0], 'mode': parts[1], 'execution_time': parts[2], 'invocation_id': parts[3]}) }}
{% endmacro %}


{# `commits`: newest first, from the table's history. The last event is the outcome of this run; those before it are
   outcomes of runs that died after their commit and before they could record it. #}
{% macro outcome_events(plan, commits, token=none) %}
    {% set fresh = ditto.is_new_generation(plan, commits) %}
    {% set generation = plan.ledger.generation + (1 if fresh else 0) %}
    {% set last = plan.ledger.last.version if plan.ledger.last and not fresh else none %}
    {% set recorded = [-1 if last is none else last, ditto.replaced_at(commits)] | max %}
    {# With a token the intent is the first event of this run. #}
    {% set seq = plan.ledger.seq + (0 if token is none else 1) %}
    {% set known = [[plan.invocation_id, plan.execution_time]] %}
    {% set lost = [] %}
    {# A leased run that died is taken over or released: its commit was or will be undone, and is no outcome. #}
    {% for commit in commits if commit.tag and commit.version > recorded and commit.tag.pattern == plan.pattern and not plan.leased %}
        {% set run = [commit.tag.invocation_id, commit.tag.execution_time] %}
        {% if run not in known %}
            {% do known.append(run) %}
            {% do lost.append(commit) %}
        {% endif %}
    {% endfor %}
    {% set events = [] %}
    {% for commit in lost | reverse %}
        {% set identity = dict(commit.tag, relation=plan.relation) %}
        {% set fields = ditto._outcome_fields([commit], commit.version) %}
        {% do fields.update({'details': tojson({'recorded_by': plan.invocation_id})}) %}
        {% do events.append(ditto.event(identity, 'committed', generation, seq + events | length + 1, fields)) %}
    {% endfor %}
    {% set fields = ditto._outcome_fields(ditto.own_commits(plan, commits), commits[0].version if commits else none) %}
    {% do fields.update({'token': token, 'unit': plan.unit, 'inputs': tojson(plan.ledger.inputs), 'undoes_until': plan.undoes_until}) %}
    {% set details = {'dead_letters': plan.found.dead_letters} if plan.dead_letters else {} %}
    {% if plan.details %}
        {% set own = ditto.own_commits(plan, commits) %}
        {% set metrics = own[0].metrics if own else {} %}
        {% do details.update(dict(plan.details, files=metrics.get('numFiles', 0) | int, bytes=metrics.get('numOutputBytes', 0) | int)) %}
    {% endif %}
    {% do fields.update({'details': tojson(details)}) if details %}
    {% if token is not none and not plan.undoes_until %}
        {% do fields.update({'base_version': plan.base_version}) %}
    {% endif %}
    {% do events.append(ditto.event(plan, 'committed', generation, seq + events | length + 1, fields)) %}
    {{ return(events) }}
{% endmacro %}


{% macro own_commits(plan, commits) %}
    {% set own = [] %}
    {% for commit in commits if commit.tag and commit.tag.invocation_id == plan.invocation_id
        and commit.tag.execution_time == plan.execution_time %}
        {% do own.append(commit) %}
    {% endfor %}
    {{ return(own) }}
{% endmacro %}


{# Versions and row counts of one run. Without a commit of its own (an empty MERGE makes none) it left the head as it was. #}
{% macro _outcome_fields(commits, head) %}
    {% if not commits %}
        {# Files without Delta have no version, and nobody counts what is written. #}
        {% set count = none if head is none else 0 %}
        {{ return({'version': head, 'base_version': head, 'rows_inserted': count, 'rows_updated': count, 'rows_deleted': count}) }}
    {% endif %}
    {% set metrics = commits[0].metrics %}
    {# Rows that only moved to another file because their neighbours went are no new ones. #}
    {% set written = metrics.get('numOutputRows', 0) | int - metrics.get('numCopiedRows', 0) | int %}
    {{ return({
        'version': commits[0].version,
        'base_version': (commits | last).read_version,
        'rows_inserted': metrics.get('numTargetRowsInserted', written),
        'rows_updated': metrics.get('numTargetRowsUpdated', 0),
        'rows_deleted': metrics.get('numTargetRowsDeleted', metrics.get('numDeletedRows'))
    }) }}
{% endmacro %}
