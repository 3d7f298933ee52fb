"""The table is not what the ledger knows, or another run still writes to it: nothing is lost, or built on it."""

from __future__ import annotations

import pytest
from dbt.adapters.spark.session import Cursor

from tests.functional.stateful_merge.feed import DAYS, expected, letters, operations, seen
from tests.functional.stateful_merge.test_undo import run_days
from tests.support import Project, held_up, statements

pytestmark = pytest.mark.slow


def release(project: Project) -> None:
    outcome = project.dbt("run-operation", "ditto_release", "--args", "{model: letters}")
    assert outcome.ok, outcome.text


def test_a_full_refresh_with_bad_keys_leaves_the_table(project: Project) -> None:
    letters(project)
    run_days(project, "05", "06")
    before = operations(project)
    letters(project, DAYS | {"2024-10-06": ["A-U", "A-V"]})
    refused = project.run("2024-10-06", "--full-refresh")
    assert "share a key" in refused.text and "nothing was written" in refused.text
    assert operations(project) == before
    assert set(project.states("letters").values()) == {"live"}
    letters(project)
    run_days(project, "07")
    assert seen(project) == expected(DAYS, *list(DAYS)[:3])


def test_a_full_refresh_that_was_released_leaves_all_executions(project: Project) -> None:
    letters(project)
    run_days(project, "05", "06")
    with statements(die_before=1, only="merge into"):
        assert not project.run("2024-10-06", "--full-refresh").ok
    assert seen(project) == ""
    release(project)
    assert seen(project) == expected(DAYS, "2024-10-05", "2024-10-06")
    # The same execution twice: the second one goes back to what the first one was applied to.
    run_days(project, "07", "07")
    assert seen(project) == expected(DAYS, *list(DAYS)[:3])
    assert set(project.states("letters").values()) == {"live"}
    assert len(project.states("letters")) == 3


def test_a_table_that_others_replaced_asks_what_its_rows_are(project: Project) -> None:
    letters(project)
    run_days(project, "05", "06")
    name = f"{project.schema}.letters"
    project.spark.sql(f"create or replace table {name} using delta as select * from {name}")
    refused = project.run("2024-10-07")
    assert "the table that the ledger knows was dropped or replaced" in refused.text
    assert seen(project) == expected(DAYS, "2024-10-05", "2024-10-06")
    letters(project, existing_rows="keep")
    run_days(project, "07", "07")
    assert seen(project) == expected(DAYS, *list(DAYS)[:3])
    assert list(project.states("letters")) == ["2024-10-07 00:00:00"]


def test_a_merge_that_lands_while_another_run_takes_over(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first run's rows are below those of the second: that one says so, and the next attempt takes them back."""
    letters(project)
    run_days(project, "05")
    with held_up("merge into") as late:
        assert not project.run("2024-10-06").ok
    execute = Cursor.execute

    def overtaken(cursor: Cursor, sql: str, *parameters: object) -> None:
        if "merge into" in sql:
            project.spark.sql(late[0]).collect()
        execute(cursor, sql, *parameters)

    feed = DAYS | {"2024-10-06": ["A-U"]}  # corrected meanwhile: no C
    letters(project, feed)
    monkeypatch.setattr(Cursor, "execute", overtaken)
    refused = project.run("2024-10-06")
    monkeypatch.undo()
    assert "commits by others to" in refused.text, refused.text
    run_days(project, "06")
    assert seen(project) == expected(feed, "2024-10-05", "2024-10-06")
    run_days(project, "06")
    assert seen(project) == expected(feed, "2024-10-05", "2024-10-06")


@pytest.mark.parametrize("day", ["05", "06"])
def test_history_that_was_released_half_way_is_rebuilt(project: Project, day: str) -> None:
    letters(project, versioning="history")
    run_days(project, "05", "06", "07")
    feed = DAYS | {f"2024-10-{day}": ["F"]}
    letters(project, feed, versioning="history")
    with statements(die_before=1, only="ditto: raw rows"):
        assert not project.run(f"2024-10-{day}").ok
    release(project)
    days = [each for each in ("05", "06", "07") if each >= day]
    run_days(project, *days)
    assert seen(project) == expected(feed, *list(DAYS)[:3])


def test_history_without_a_column_gives_the_same_twice(project: Project) -> None:
    letters(project, versioning="history", extra=", 'x' as note")
    run_days(project, "05")
    letters(project, versioning="history")
    run_days(project, "06")
    once = project.rows("letters", "letter, value, note")
    run_days(project, "06")
    assert project.rows("letters", "letter, value, note") == once
