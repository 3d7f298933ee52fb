{% macro proxy_view_settings(node, full_refresh=false, dry=false, execution_time=none) %}
    {% set settings = ditto.common_settings(node, 'proxy_view', full_refresh, dry, ['delta'], execution_time) %}
    {% do settings.update({
        'leased': true,
        'many_tables': true,
        'alias': node.alias,
        'versioning': ditto.choice(node, 'versioning', ['tables', 'native', 'manifest'], 'tables'),
        'keep_for': ditto._keep_for(node),
        'legal_hold': ditto._legal_hold(node),
        'verify_versions': ditto.option(node, 'verify_versions', 5),
        'on_changed_version': ditto.choice(node, 'on_changed_version', ['error', 'warn'], 'error'),
        'view': settings.table,
        'view_identifier': node.alias,
        'manifest': ditto.table_name(node.schema, node.alias ~ '__manifest')
    }) %}
    {% if settings.verify_versions is not integer or settings.verify_versions is boolean or settings.verify_versions < 0 %}
        {% do ditto.error(settings.subject, 'verify_versions: ' ~ settings.verify_versions, 'how many of the newest versions a run looks at, from 0',
            'change the config of the model, for example verify_versions=5') %}
    {% endif %}
    {% do settings.update(ditto.version_settings(settings, 'v' ~ run_started_at.strftime('%Y%m%d_%H%M%S'))) %}
    {{ return(settings) }}
{% endmacro %}


{# The physical table of a version, as the table that the common macros write to. #}
{% macro version_settings(settings, name) %}
    {% set identifier = settings.alias ~ '__' ~ ('data' if settings.versioning == 'native' else name) %}
    {{ return({'version_name': name, 'identifier': identifier, 'table': ditto.table_name(settings.schema, identifier)}) }}
{% endmacro %}


{# How long a version has to be kept, in hours; none: for ever. #}
{% macro _keep_for(node) %}
    {% set given = ditto.option(node, 'keep_for') %}
    {% set hours = none if given is none else ditto.duration_hours(given) %}
    {% if given is not none and not hours %}
        {% do ditto.error(ditto.subject(node), 'keep_for: ' ~ given, 'a number of hours, days or weeks',
            "change the config of the model, for example keep_for='3650 days'; without it every version is kept") %}
    {% endif %}
    {{ return(hours) }}
{% endmacro %}


{# true: every version. Or the names of versions. #}
{% macro _legal_hold(node) %}
    {% set given = ditto.option(node, 'legal_hold', false) %}
    {% if given is boolean %}
        {{ return(given) }}
    {% endif %}
    {% set names = [] %}
    {% set listed = given is sequence and given is not mapping and given is not string %}
    {% for name in ([given] if given is string else (given if listed else [])) %}
        {% do names.append(name | string | lower) %}
    {% endfor %}
    {% if not names %}
        {% do ditto.error(ditto.subject(node), 'legal_hold: ' ~ given, 'true, false or a list of versions',
            "change the config of the model, for example legal_hold=['v20241007_090000']") %}
    {% endif %}
    {{ return(names) }}
{% endmacro %}
