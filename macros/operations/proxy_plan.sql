{# What the operations on versions decide and say. Pure. #}

{# `wanted`: a name, the name of its table, `latest`, or `previous`: the one that was written before the one that is shown. #}
{% macro choose_version(model, versions, wanted, shown) %}
    {% set text = wanted | string | lower %}
    {% set place = namespace(shown=none) %}
    {% for version in versions if version.name == shown and place.shown is none %}
        {% set place.shown = version.seq %}
    {% endfor %}
    {% for version in versions %}
        {% if text in (version.name | lower, version.identifier | lower, version.version | string if version.identifier.endswith('__data') else none)
            or text == 'latest' or (text == 'previous' and place.shown is not none and version.seq < place.shown) %}
            {{ return(version) }}
        {% endif %}
    {% endfor %}
    {% do ditto.error('version ' ~ wanted ~ ' of ' ~ model, 'versions ' ~ (versions[:10] | map(attribute='name') | join(', ') or 'none'),
        'one of them, latest or previous', "list them: dbt run-operation ditto_proxy_versions --args '{model: " ~ model ~ "}'") %}
{% endmacro %}


{# The hours that a version has to be kept. An argument may only make it longer. #}
{% macro check_expire(settings, keep_for, dry_run) %}
    {% set asked = none if keep_for is none else ditto.duration_hours(keep_for) %}
    {% set subject = 'ditto_proxy_expire of ' ~ settings.model %}
    {% if dry_run is not boolean or (keep_for is not none and not asked) %}
        {% do ditto.error(subject, 'dry_run: ' ~ dry_run ~ ', keep_for: ' ~ keep_for, "dry_run: true or false, keep_for such as '365 days'",
            "--args '{model: " ~ settings.model ~ ", dry_run: true, keep_for: 365 days}'") %}
    {% elif settings.versioning == 'native' %}
        {% do ditto.error(subject, 'versioning: native', 'versions with a table of their own: those of one table go by its retention',
            "set keep_for in the config of the model, then dbt run-operation ditto_vacuum --args '{model: " ~ settings.model ~ ", dry_run: false}'") %}
    {% elif settings.keep_for is none %}
        {% do ditto.error(subject, 'no keep_for', 'how long a version has to be kept; without it every version is kept for ever',
            "add keep_for='3650 days' to the config of the model") %}
    {% endif %}
    {{ return([settings.keep_for, asked or 0] | max) }}
{% endmacro %}


{# What has to be kept has to be known: the version that readers see, and every name under legal_hold. #}
{% macro check_kept(settings, versions, shown) %}
    {% set subject = 'ditto_proxy_expire of ' ~ settings.model %}
    {% if versions and shown not in versions | map(attribute='name') | list %}
        {% do ditto.error(subject, 'readers see ' ~ (shown ~ ', which is no version in the ledger' if shown else 'none of the versions'),
            'a version that readers see, so that it is kept',
            "show one: dbt run-operation ditto_proxy_point_to --args '{model: " ~ settings.model ~ ", version: latest}'") %}
    {% endif %}
    {% set names = ditto.lower_names(versions | map(attribute='name')) + ditto.lower_names(versions | map(attribute='identifier')) %}
    {% set unknown = [] if settings.legal_hold is boolean else settings.legal_hold | reject('in', names) | list %}
    {% if unknown %}
        {% do ditto.error(subject, 'legal_hold: ' ~ unknown | join(', ') ~ ', which is no version of the model', 'names of versions: a misspelt one holds nothing',
            "list them: dbt run-operation ditto_proxy_versions --args '{model: " ~ settings.model ~ "}'") %}
    {% endif %}
{% endmacro %}


{% macro versions_text(settings, versions, shown, unfinished) %}
    {% set lines = ['ditto: versions of ' ~ settings.relation ~ ', newest first', '',
        '  ' ~ '%-22s' % 'version' ~ '%-21s' % 'execution' ~ '%12s' % 'rows' ~ '%16s' % 'bytes' ~ '   written at'] %}
    {% for version in versions %}
        {% do lines.append(('* ' if version.name == shown else '  ') ~ '%-22s' % version.name ~ '%-21s' % ditto.short_time(version.time)
            ~ '%12s' % version.rows ~ '%16s' % version.bytes ~ '   ' ~ version.at[:19]
            ~ ('   legal hold' if ditto.is_held(settings, version) else '')) %}
    {% endfor %}
    {% do lines.append('') %}
    {% do lines.append('  * is what readers see' if shown in versions | map(attribute='name') | list else '  readers see none of them') %}
    {% for name in unfinished %}
        {% do lines.append('  ' ~ name ~ ': of a run that did not finish; '
            ~ ('readers see it' if name == (settings.alias ~ '__' ~ shown) | lower else 'nobody sees it, and no run will write to it')) %}
    {% endfor %}
    {{ return(lines | join('\n')) }}
{% endmacro %}
