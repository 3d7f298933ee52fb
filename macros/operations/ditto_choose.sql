{# Which pattern? Without answers the whole decision tree; with some, the pattern or the next question:
   dbt run-operation ditto_choose
   dbt run-operation ditto_choose --args '{full_dataset: true, keep_all_versions: true}' #}
{% macro ditto_choose(
    from_files=none, all_or_nothing=none, full_dataset=none, keep_all_versions=none, cleaning_gets_slow=none, generated_keys=none,
    updates=none, exact_backfill=none
) %}
    {% set answers = {} %}
    {% for argument, answer in dict({
        'from_files': from_files, 'all_or_nothing': all_or_nothing, 'full_dataset': full_dataset, 'keep_all_versions': keep_all_versions,
        'cleaning_gets_slow': cleaning_gets_slow, 'generated_keys': generated_keys, 'updates': updates, 'exact_backfill': exact_backfill
    }, **kwargs).items() if answer is not none or argument in kwargs %}
        {% do answers.update({argument: answer}) %}
    {% endfor %}
    {% if answers %}
        {% do print(ditto.choose_text(ditto.choose(answers))) %}
    {% else %}
        {% do print('ditto: which pattern?\n\n  ' ~ ditto.choose_tree_lines(ditto.choose_tree()) | join('\n')
            ~ "\n\n  with answers: dbt run-operation ditto_choose --args '{full_dataset: true, keep_all_versions: true}'") %}
    {% endif %}
{% endmacro %}
