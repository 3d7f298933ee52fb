{# Which pattern? The decision tree, and the way of some answers through it. Pure. #}

{# A question, the argument that answers it, and what follows from yes and no: another question, or the name of a pattern. #}
{% macro choose_tree() %}
    {% set slow = {'argument': 'cleaning_gets_slow', 'yes': 'fast_metadata_cleaner', 'no': 'insert_overwrite',
        'ask': 'Is there so much of it that cleaning before a load gets slower as the table grows?'} %}
    {% set versions = {'argument': 'keep_all_versions', 'yes': 'proxy_view', 'no': slow,
        'ask': 'Must every past version of the dataset be kept as it was?'} %}
    {% set backfill = {'argument': 'exact_backfill', 'yes': 'stateful_merge', 'no': 'merger',
        'ask': 'Must the replay of an old day see the table as it was on that day?'} %}
    {% set updates = {'argument': 'updates', 'yes': backfill, 'no': 'dedup_insert',
        'ask': 'Do rows that are already there get updated or deleted?'} %}
    {% set keys = {'argument': 'generated_keys', 'yes': 'keyed_idempotency', 'no': updates,
        'ask': 'Do rows need a key that has to be made from their attributes, such as that of a session?'} %}
    {% set full = {'argument': 'full_dataset', 'yes': versions, 'no': keys,
        'ask': 'Is each run the full dataset, or a whole part of it (a day, an hour) that can be computed again?'} %}
    {% set together = {'argument': 'all_or_nothing', 'yes': 'transactional_writer', 'no': full,
        'ask': 'Do several datasets, or a dataset and its audits, have to become visible together or not at all?'} %}
    {{ return({'argument': 'from_files', 'yes': 'file_ingest', 'no': together,
        'ask': 'Do the rows come from files that arrive in a folder?'}) }}
{% endmacro %}


{# Why, and the config to begin with. #}
{% macro choose_reasons() %}
    {{ return({
        'file_ingest': {'config': "materialized='file_ingest', files={'path': '/landing/orders', 'format': 'json', 'schema': 'id bigint'}",
            'why': 'each content comes in once, whatever its file is called; a changed file replaces its own rows, a broken one stops no other'},
        'transactional_writer': {'config': "materialized='transactional_writer', write='merge', unique_key='id'",
            'why': 'everything is one commit: if one row of one dataset or one audit fails, readers see nothing of it'},
        'proxy_view': {'config': "materialized='proxy_view'",
            'why': 'each run writes a table of its own that never changes again, and the view that readers use switches to it'},
        'fast_metadata_cleaner': {'config': "materialized='fast_metadata_cleaner', granularity='week'",
            'why': 'one table for each week behind one view: what was loaded before is removed by metadata, at the same cost for ever'},
        'insert_overwrite': {'config': "materialized='insert_overwrite', partition_by='visit_date'",
            'why': 'a run replaces exactly its part of the table, in any order and also by nothing; the simplest of all'},
        'keyed_idempotency': {'config': "materialized='keyed_idempotency', unique_key='session_id'",
            'why': 'the same attributes give the same key each time, so that writing a row again replaces it'},
        'dedup_insert': {'config': "materialized='dedup_insert', unique_key='event_id'",
            'why': 'rows never change: a run inserts those whose key is not there yet'},
        'stateful_merge': {'config': "materialized='stateful_merge', unique_key='id', soft_delete='is_deleted', interval='day'",
            'why': 'it knows to which version each execution was applied, and a replay goes back to that version first'},
        'merger': {'config': "materialized='merger', unique_key='id', soft_delete='is_deleted'",
            'why': 'changes are merged by key in one commit; a replay applies them to the table of today'}
    }) }}
{% endmacro %}


{# The questions in the order of the tree. `path`: the answers that lead to it; `decides`: whether yes names a pattern. #}
{% macro choose_questions(tree, path=[]) %}
    {% set questions = [{'argument': tree.argument, 'ask': tree.ask, 'path': path, 'decides': tree.yes is string}] %}
    {% for branch, answer in [('yes', true), ('no', false)] if tree[branch] is not string %}
        {% set step = {'argument': tree.argument, 'answer': answer, 'decides': tree.yes is string} %}
        {% do questions.extend(ditto.choose_questions(tree[branch], path + [step])) %}
    {% endfor %}
    {{ return(questions) }}
{% endmacro %}


{# `answers`: {argument: true or false}. Gives {pattern}, or {question} for the next one to be answered, and the `path` there. #}
{% macro choose(answers) %}
    {% set place = namespace(node=ditto.choose_tree(), path=[]) %}
    {% set questions = ditto.choose_questions(place.node) %}
    {% set known = ditto._known_answers(answers, questions) %}
    {% for question in questions %}
        {% if place.node is not string and place.node.argument in known %}
            {% set answer = known[place.node.argument] %}
            {% do place.path.append({'ask': place.node.ask, 'answer': answer}) %}
            {% set place.node = place.node['yes' if answer else 'no'] %}
        {% endif %}
    {% endfor %}
    {{ return({'path': place.path, 'pattern': place.node if place.node is string else none,
        'question': none if place.node is string else place.node}) }}
{% endmacro %}


{# The answers and what each yes says besides: the way to it. That full_dataset and updates describe the data does not say that
   nothing else decides. #}
{% macro _known_answers(answers, questions) %}
    {% set arguments = questions | map(attribute='argument') | list %}
    {% for argument, answer in answers.items() if argument not in arguments or answer is not boolean %}
        {% do ditto.error('ditto_choose', argument ~ ': ' ~ answer, 'true or false for some of ' ~ arguments | join(', '),
            "dbt run-operation ditto_choose --args '{full_dataset: true, keep_all_versions: true}'") %}
    {% endfor %}
    {% set known = dict(answers) %}
    {% set said_by = {} %}
    {% for question in questions if answers.get(question.argument) %}
        {% for step in question.path if question.decides or not step.decides %}
            {% if known.get(step.argument, step.answer) != step.answer %}
                {% set other = said_by.get(step.argument, step.argument) %}
                {% do ditto.error('ditto_choose', other ~ ': ' ~ answers[other] | lower ~ ' and ' ~ question.argument ~ ': true',
                    question.argument ~ ': true only with ' ~ step.argument ~ ': ' ~ step.answer | lower,
                    'keep the answer that matters more; dbt run-operation ditto_choose shows where each of them leads') %}
            {% endif %}
            {% do said_by.update({step.argument: question.argument}) if step.argument not in known %}
            {% do known.update({step.argument: step.answer}) %}
        {% endfor %}
    {% endfor %}
    {{ return(known) }}
{% endmacro %}


{# The tree as lines, from this question on. #}
{% macro choose_tree_lines(tree, indent='  ') %}
    {% set lines = [tree.ask ~ ' (' ~ tree.argument ~ ')'] %}
    {% for branch, head, rest in [('yes', '├─ yes: ', '│  '), ('no', '└─ no:  ', '   ')] %}
        {% set below = [tree[branch]] if tree[branch] is string else ditto.choose_tree_lines(tree[branch], indent ~ rest) %}
        {% do lines.append(indent ~ head ~ below[0]) %}
        {% do lines.extend(below[1:]) %}
    {% endfor %}
    {{ return(lines) }}
{% endmacro %}


{# What `choose` gave, as text. #}
{% macro choose_text(choice) %}
    {% set lines = ['ditto: ' ~ (choice.pattern or 'one more answer is needed'), ''] %}
    {% for step in choice.path %}
        {% do lines.append('  ' ~ step.ask ~ ' ' ~ ('yes' if step.answer else 'no')) %}
    {% endfor %}
    {% if choice.question %}
        {% set argument = choice.question.argument %}
        {% do lines.extend(['  ' ~ choice.question.ask, '', '  add to --args: ' ~ argument ~ ': true, or ' ~ argument ~ ': false']) %}
    {% else %}
        {% set reason = ditto.choose_reasons()[choice.pattern] %}
        {% do lines.extend(['', '  why:    ' ~ reason.why, '  config: ' ~ '{' * 2 ~ ' config(' ~ reason.config ~ ') ' ~ '}' * 2,
            '  more:   docs/' ~ choice.pattern ~ '.md']) %}
    {% endif %}
    {{ return(lines | join('\n')) }}
{% endmacro %}
