"""Letters that are tried again and again, that nobody can read, that have to wait, or that the engine does not take."""

from __future__ import annotations

import pytest

from tests.functional.dead_letters.feed import DAY, NEXT, SELECT, add_models, feed, ids, letters, people, retry
from tests.support import Project, statements

TESTS = """
    models:
      - name: merged
        data_tests:
          - ditto.ditto_ledger_matches_history: {name: history}
          - ditto.ditto_no_dead_letters: {name: none}
          - ditto.ditto_no_dead_letters: {name: two, arguments: {max: 2}}
"""


def said(capsys: pytest.CaptureFixture[str], project: Project, model: str, **arguments: object) -> str:
    capsys.readouterr()
    outcome = retry(project, model, **arguments)
    assert outcome.ok, outcome.text
    return capsys.readouterr().out


def refused(capsys: pytest.CaptureFixture[str], project: Project, model: str) -> str:
    capsys.readouterr()
    assert not retry(project, model).ok
    return capsys.readouterr().out


@pytest.mark.slow
def test_attempts(project: Project, capsys: pytest.CaptureFixture[str]) -> None:
    people(project, "a")
    feed(project, (DAY, 1, "a", 1), (DAY, 2, "a", -2), (NEXT, 1, "a", 5), (NEXT, 3, "z", 3), (NEXT, 4, "z", -4))
    add_models(project, "merged", max_retries=2)
    project.write({"models/tests.yml": TESTS})
    for day in (DAY, NEXT):
        project.must_run(day)

    text = said(capsys, project, "merged", execution_date=NEXT)
    assert "merged: 2 tried again: 0 are in the table, 2 failed again (attempt 1 of 2), 0 dead" in text
    people(project, "a", "z")
    text = said(capsys, project, "merged")
    assert "merged: 3 tried again: 1 is in the table, 1 failed again (attempt 1 of 2), 1 dead" in text
    assert letters(project, "merged") == [(2, "negative", "FAILED", 1), (4, "negative", "DEAD", 2)]
    text = said(capsys, project, "merged")
    assert "merged: 1 tried again: 0 are in the table, 0 failed again, 1 dead\n       1 DEAD left alone" in text
    tested = project.dbt("test")
    verdicts = {node.node.name: str(node.status) for node in tested.nodes}
    assert verdicts == {"history": "pass", "none": "fail", "two": "pass"}

    # The rule goes; what it stopped comes in, and the run's letters are those of the rule that is left.
    rule = [{"name": "unknown", "when": "name = 'nobody'"}]
    add_models(project, "merged", max_retries=2, dead_letters=rule)
    text = said(capsys, project, "merged", include_dead="true")
    assert "merged: 2 tried again: 2 are in the table, 0 failed again, 0 dead" in text
    assert project.rows("merged", "id, amount") == [(1, 5), (2, -2), (3, 3), (4, -4)]
    assert project.dbt("test").ok
    capsys.readouterr()
    assert project.dbt("run-operation", "ditto_plan", "--args", f"{{model: merged, execution_date: {DAY}}}").ok
    assert f"rows that match unknown go to `{project.schema}`.`merged__dead_letters`" in capsys.readouterr().out
    assert project.dbt("run-operation", "ditto_vacuum", "--args", "{model: merged}").ok
    assert "merged__dead_letters`: 0 files" in capsys.readouterr().out


LINES = """
    select row.*, date'{{ ditto.execution_date() }}' as day
    from (
        select from_json(line, 'id int, at timestamp, _corrupt_record string',
            map('mode', 'PERMISSIVE', 'columnNameOfCorruptRecord', '_corrupt_record')) as row
        from {{ target.schema }}.lines
    )
"""


TYPED = """
    select 1 as id, timestamp'2024-10-07 09:00:00.123456' as at, timestamp_ntz'2024-10-07 09:00:00.000001' as local,
        cast(1.10 as decimal(20, 2)) as price, x'0aff' as bytes, date'2024-10-07' as day, double('NaN') as ratio,
        map('a', 1) as tags, named_struct('x', 1.5d, 'y', array(1, null)) as place, cast(null as string) as nothing,
        3000000000 as big, 'it''s "\\n' as text, false as yes, cast(0.1 as float) as `odd``name`
"""


@pytest.mark.slow
def test_every_type_comes_back_as_it_was(project: Project, capsys: pytest.CaptureFixture[str]) -> None:
    config = {"materialized": "insert_overwrite", "partition_by": "day"}
    project.model("typed", TYPED, **config, dead_letters=[{"name": "all", "when": "true"}])
    project.must_run(DAY)
    assert project.rows("typed") == []
    project.model("typed", TYPED, **config)
    assert "1 tried again: 1 is in the table, 0 failed again, 0 dead" in said(capsys, project, "typed")
    kept = project.sql("select to_json(struct(*)) from {schema}.typed")
    assert kept == project.sql(f"select to_json(struct(*)) from ({TYPED})")


@pytest.mark.slow
def test_what_nobody_can_read(project: Project, capsys: pytest.CaptureFixture[str]) -> None:
    at = "2024-10-07T09:00:00.123456Z"
    project.source("lines", "line string", [(f'{{"id": 1, "at": "{at}"}}',), ("{broken",), ('{"id": 2, "at": "x"}',)])
    config = {"materialized": "insert_overwrite", "partition_by": "day", "dead_letters": ["corrupt_records"]}
    project.model("lines_read", LINES, **config)
    project.must_run(DAY, "--empty")
    assert project.sql("show tables in {schema} like '*dead_letters'") == []
    project.must_run(DAY)
    assert project.sql("select * except (at, day) from {schema}.lines_read") == [(1,)]
    found = "select reason, get_json_object(record, '$._corrupt_record') as line from {schema}.lines_read__dead_letters"
    assert sorted(project.sql(found)) == [("corrupt_record", '{"id": 2, "at": "x"}'), ("corrupt_record", "{broken")]

    assert "2 tried again: 0 are in the table, 2 failed again" in said(capsys, project, "lines_read")

    # Another day, made anew: what is dead of the first day belongs to rows that are gone.
    project.source("lines", "line string", [("{other",)])
    project.must_run(NEXT, "--full-refresh")
    assert project.rows("lines_read") == []
    assert project.sql(found) == [("corrupt_record", "{other")]

    project.model("lines_read", LINES.replace("row.*", "row.id"), **config)
    text = project.run(NEXT).text
    assert "dead_letters: corrupt_records: _corrupt_record, which the SELECT does not give" in text
    project.sql("create or replace table {schema}.lines_read__dead_letters using delta as select 1 as mine")
    project.model("lines_read", LINES, **config)
    assert "under the name" in project.run(NEXT).text
    assert project.rows("lines_read__dead_letters") == [(1,)]


@pytest.mark.slow
def test_letters_that_have_to_wait(project: Project, capsys: pytest.CaptureFixture[str]) -> None:
    """Of a frozen unit, of a run that is not in the table, of a table that holds another execution."""
    people(project, "a")
    old = "2024-09-30"
    feed(project, (old, 1, "z", 1), (DAY, 2, "z", 2), (DAY, 3, "a", 3), (NEXT, 4, "a", 4))
    add_models(project, "cleaned", granularity="day")
    add_models(project, "appended")
    whole = {"materialized": "insert_overwrite", "mode": "table"}
    add_models(project, "overwritten", **whole, partition_by=None)
    for day in (old, DAY, NEXT):
        project.must_run(day)
    assert letters(project, "overwritten") == []
    assert project.dbt("run-operation", "ditto_freeze", "--args", "{model: cleaned}").ok
    people(project, "a", "z")
    assert "is frozen: its rows are in cleaned__frozen_202409" in refused(capsys, project, "cleaned")
    assert len(letters(project, "cleaned")) == 2
    assert "1 is in the table" in said(capsys, project, "cleaned", execution_date=DAY)
    assert ids(project, "cleaned") == [2, 3, 4]

    # The model loses its rules, and a replay takes the row in: a retry would do it again.
    project.model("appended", SELECT, materialized="transactional_writer", write="append")
    project.must_run(DAY, model="appended")
    text = said(capsys, project, "appended")
    assert "1 of execution 2024-10-07 left alone, another run of the execution wrote what is in the table" in text
    assert "1 tried again: 1 is in the table" in text
    assert ids(project, "appended") == [1, 2, 3, 4]


@pytest.mark.slow
def test_a_retry_that_is_given_up(project: Project, capsys: pytest.CaptureFixture[str]) -> None:
    """It died with rows on their way. Nothing else runs until it is finished or released; another one completes it."""
    people(project, "a")
    feed(project, (DAY, 1, "a", 1), (DAY, 2, "z", 2), (NEXT, 3, "a", 3))
    add_models(project, "appended", "stateful")
    project.must_run(DAY)
    people(project, "a", "z")
    for name, statement in (("appended", "insert into"), ("stateful", "merge into")):
        with statements(die_before=1, only=f"{statement} `{project.schema}`.`{name}"):
            assert not retry(project, name).ok
    stopped = project.run(NEXT)
    assert not stopped.ok and "ditto_retry_dead_letters did not finish" in stopped.text
    assert [row[2:] for row in letters(project, "appended")] == [("RETRYING", 0)]
    for name in ("appended", "stateful"):
        released = project.dbt("run-operation", "ditto_release", "--args", f"{{model: {name}}}")
        assert released.ok, released.text
    project.must_run(NEXT)
    assert "1 tried again: 1 is in the table" in said(capsys, project, "appended")
    assert (ids(project, "appended"), letters(project, "appended")) == ([1, 2, 3], [])
    assert ids(project, "stateful") == [1, 3]


@pytest.mark.slow
def test_rows_that_the_table_does_not_take(project: Project, capsys: pytest.CaptureFixture[str]) -> None:
    """A CHECK constraint that came after the letters: they are put back, with one attempt more."""
    people(project, "a")
    feed(project, (DAY, 1, "a", 1), (DAY, 2, "z", 2), (DAY, 2, "z", 3))
    add_models(project, "appended")
    add_models(project, "merged")
    project.must_run(DAY)
    people(project, "a", "z")
    project.sql("alter table {schema}.appended add constraint small check (amount < 2)")
    assert "- amount < 2: {" in refused(capsys, project, "appended")
    assert [row[2:] for row in letters(project, "appended")] == [("FAILED", 1), ("FAILED", 1)]
    assert ids(project, "appended") == [1]
    assert '{"id":2}: 2 rows' in refused(capsys, project, "merged")
    assert [row[2:] for row in letters(project, "merged")] == [("FAILED", 0), ("FAILED", 0)]

    # Neither of them is in the way of a run, or of another retry.
    project.sql("alter table {schema}.appended drop constraint small")
    assert retry(project, "appended").ok
    assert ids(project, "appended") == [1, 2, 2]
    feed(project, (DAY, 1, "a", 1))
    project.must_run(DAY)
    assert (ids(project, "merged"), letters(project, "merged")) == ([1], [])
