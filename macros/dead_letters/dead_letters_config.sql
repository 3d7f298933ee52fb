{# The rules of a model for rows that may not reach its table, validated before any SQL runs. #}

{# Gives none for a model without rules. `own_steps` is for a pattern that puts the steps into its plan itself. #}
{% macro dead_letter_settings(node) %}
    {% set given = ditto.option(node, 'dead_letters') %}
    {% set max_retries = ditto.whole_number(node, 'max_retries', 3, 0) %}
    {% set rules = ditto._read_rules(node, given) %}
    {% if not rules %}
        {{ return(none) }}
    {% endif %}
    {{ return(dict(ditto.dead_letters_place(node), rules=rules, max_retries=max_retries,
        corrupt='corrupt_record' in rules | map(attribute='name'))) }}
{% endmacro %}


{# Where the dead letters of a model are, whether it has rules now or had some once. #}
{% macro dead_letters_place(node) %}
    {% set identifier = node.alias ~ '__dead_letters' %}
    {% set root = ditto.option(node, 'location_root') %}
    {{ return({
        'rules': [], 'corrupt': false, 'max_retries': ditto.option(node, 'max_retries', 3), 'own_steps': false, 'raw_sql': none, 'raw_columns': none,
        'schema': node.schema,
        'identifier': identifier,
        'table': ditto.table_name(node.schema, identifier),
        'location': root ~ '/' ~ identifier if root else none,
        'comment': 'ditto: dead letters of ' ~ ditto.relation_key(node.schema, node.alias)
    }) }}
{% endmacro %}


{# {name, when} of each rule. The word corrupt_records stands for the one about what a reader could not read. #}
{% macro _read_rules(node, given) %}
    {% set listed = [given] if given is string or given is mapping else given %}
    {% if given is not none and listed is not sequence %}
        {% do ditto._rule_error(node, given, 'a list of rules') %}
    {% endif %}
    {% set rules = [] %}
    {% for rule in listed or [] %}
        {% set read = {'name': 'corrupt_record', 'when': '`_corrupt_record` is not null'} if rule == 'corrupt_records' else rule %}
        {% if read is not mapping or read.keys() | sort | list != ['name', 'when'] or read.values() | reject('string') | list %}
            {% do ditto._rule_error(node, rule, "{name: ..., when: <SQL condition>}, or the word 'corrupt_records'") %}
        {% elif not modules.re.fullmatch('[A-Za-z0-9_-]+', read.name) %}
            {% do ditto._rule_error(node, rule, 'a name of letters, digits, _ and -') %}
        {% elif rule != 'corrupt_records' and read.name | lower == 'corrupt_record' %}
            {% do ditto._rule_error(node, rule, "another name: this one is that of the word 'corrupt_records'") %}
        {% elif read.name | lower in rules | map(attribute='name') | map('lower') %}
            {% do ditto._rule_error(node, rule, 'a name of its own for each rule') %}
        {% elif not ditto._is_condition(read.when) %}
            {% do ditto._rule_error(node, rule, 'one SQL condition: not empty, without a semicolon, with every bracket closed') %}
        {% endif %}
        {% do rules.append({'name': read.name, 'when': read.when.strip()}) %}
    {% endfor %}
    {{ return(rules) }}
{% endmacro %}


{# A bracket too many would end the rule early, and what comes after it would be something else. #}
{% macro _is_condition(text) %}
    {% set bare = ditto.unquoted(text) %}
    {% set depth = namespace(now=0, low=0) %}
    {% for letter in modules.re.findall('[()]', bare) %}
        {% set depth.now = depth.now + (1 if letter == '(' else -1) %}
        {% set depth.low = [depth.low, depth.now] | min %}
    {% endfor %}
    {# A comment alone is no condition. #}
    {% set said = modules.re.sub('(?s)--[^\n]*|/[*].*?[*]/', '', text).strip() %}
    {{ return(said != '' and ';' not in bare and depth.now == 0 and depth.low == 0) }}
{% endmacro %}


{% macro _rule_error(node, rule, expected) %}
    {% do ditto.error(ditto.subject(node), 'dead_letters: ' ~ rule, expected,
        "for example dead_letters=[{'name': 'negative_amount', 'when': 'amount < 0'}, 'corrupt_records']") %}
{% endmacro %}


{# For ditto_plan. #}
{% macro announced_dead_letters(node) %}
    {% set dead = ditto.dead_letter_settings(node) %}
    {{ return({'table': dead.table, 'rules': dead.rules | map(attribute='name') | list} if dead else none) }}
{% endmacro %}
