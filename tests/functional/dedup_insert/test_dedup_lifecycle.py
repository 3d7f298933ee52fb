"""What happens around the rows: a replay, a run that died, a table taken back, a full refresh, changed columns."""

from __future__ import annotations

import pytest

from tests.functional.merger.feed import increments
from tests.support import Project, statements

FIRST, SECOND, THIRD = "2024-10-01", "2024-10-02", "2024-10-03"
WITH_TESTS = """
    models:
      - name: events
        data_tests:
          - ditto.ditto_ledger_matches_history
          - ditto.ditto_unique:
              arguments: {keys: id}
"""
EVENTS = """
    select id, name from {{ target.schema }}.feed where day = '{{ ditto.execution_date() }}'
"""


def feed(project: Project, *rows: tuple[str, int, str]) -> None:
    project.source("feed", "day string, id int, name string", list(rows))


@pytest.mark.slow
def test_a_life(project: Project) -> None:
    feed(project, (FIRST, 1, "a"), (SECOND, 2, "b"), (THIRD, 3, "c"))
    # It also reads its own table, where Spark would forget the options of the INSERT.
    watching = EVENTS + " union all select id, name from {{ this }} where id < 0"
    project.model("events", EVENTS, materialized="dedup_insert", unique_key="id")
    project.must_run(FIRST)
    project.model("events", watching, materialized="dedup_insert", unique_key="id")
    project.write({"models/events.yml": WITH_TESTS})
    for day in (SECOND, THIRD):
        project.must_run(day)

    # The middle day again, with other rows: only what was not there comes in, and nothing is changed or removed.
    feed(project, (FIRST, 1, "a"), (SECOND, 1, "a2"), (SECOND, 4, "d"), (THIRD, 3, "c"))
    project.must_run(SECOND)
    assert project.rows("events") == [(1, "a"), (2, "b"), (3, "c"), (4, "d")]

    # It dies between the INSERT and the outcome; another execution records both.
    feed(project, (FIRST, 5, "e"))
    with statements(die_before=1, only=f"insert into `{project.schema}`.`ditto_ledger`"):
        assert not project.run(FIRST).ok
    assert (5, "e") in project.rows("events")
    project.must_run(THIRD)
    runs = "select cast(to_date(execution_time) as string), mode, version, rows_inserted from {schema}.ditto_runs"
    assert project.sql(f"{runs} order by seq") == [
        (FIRST, "first", 1, 1), (SECOND, "normal", 2, 1), (THIRD, "normal", 3, 1), (SECOND, "replay", 4, 1),
        (FIRST, "replay", 5, 1), (THIRD, "replay", 6, 0),
    ]  # fmt: skip
    tested = project.dbt("test", execution_date=THIRD)
    assert tested.ok, tested.text

    # Somebody takes the table back. A RESTORE keeps transaction ids, and the replay still counts.
    project.sql("restore table {schema}.events to version as of 3")
    project.must_run(FIRST)
    assert project.rows("events") == [(1, "a"), (2, "b"), (3, "c"), (5, "e")]

    # A full refresh that is refused leaves the table; one that is not leaves its increment, and the old versions.
    feed(project, (THIRD, 7, "x"), (THIRD, 7, "y"))
    assert '{"id":7}: 2 rows' in project.run(THIRD, "--full-refresh").text
    assert len(project.rows("events")) == 4
    assert set(project.states("events").values()) == {"live"}
    feed(project, (THIRD, 7, "x"))
    project.must_run(THIRD, "--full-refresh")
    assert project.rows("events") == [(7, "x")]
    assert project.state("events", "cast(execution_time as string), mode, generation") == [
        (f"{THIRD} 00:00:00", "full_refresh", 2)
    ]
    assert len(project.sql("select * from {schema}.events version as of 3")) == 3


@pytest.mark.slow
def test_the_plan_and_empty_runs(project: Project) -> None:
    feed(project, (FIRST, 1, "a"))
    project.model("events", EVENTS, materialized="dedup_insert", unique_key="id")
    project.must_run(FIRST, "--empty")
    assert (project.rows("events"), project.versions("events"), project.states("events")) == ([], 0, {})
    project.must_run(FIRST)
    arguments = f"{{model: events, from: {FIRST}, to: {SECOND}}}"
    assert project.dbt("run-operation", "ditto_plan", "--args", arguments).ok
    assert project.versions("events") == 1


@pytest.mark.slow
def test_changed_columns(project: Project) -> None:
    narrow = increments({"id": "int", "old": "string"}, {FIRST: [(1, "o"), (2, "o")]})
    wide = increments({"id": "int", "new": "int"}, {SECOND: [(2, 7), (3, 8)]})
    sql = f"{{% if ditto.execution_date() == '{FIRST}' %}}{narrow}{{% else %}}{wide}{{% endif %}}"
    for option in ("ignore", "fail", "append_new_columns", "sync_all_columns"):
        project.model(option, sql, materialized="dedup_insert", unique_key="id", on_schema_change=option)
    project.model("key_type", sql, materialized="dedup_insert", unique_key="id")
    project.must_run(FIRST)
    text = sql.replace("select cast(c0 as int)", "select cast(c0 as string)")
    project.model("key_type", text, materialized="dedup_insert", unique_key="id")
    outcome = project.run(SECOND)

    assert sorted(node.node.name for node in outcome.nodes if node.status != "success") == ["fail", "key_type"]
    assert "new: new; gone: old; other types: none" in str(outcome.node("fail").message)
    assert "unique_key: id, a string in the SELECT and a int in" in str(outcome.node("key_type").message)
    assert project.rows("ignore") == [(1, "o"), (2, "o"), (3, None)]
    assert project.rows("append_new_columns", "id, old, new") == [(1, "o", None), (2, "o", None), (3, None, 8)]
    assert project.rows("sync_all_columns", "id, new") == [(1, None), (2, None), (3, 8)]
