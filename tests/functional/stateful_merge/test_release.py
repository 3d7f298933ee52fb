"""To give up an execution: the table goes back to where it was before, whatever its runs have left or still do."""

from __future__ import annotations

import re
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from dbt.adapters.spark.session import Cursor

from tests.functional.stateful_merge.feed import DAYS, expected, letters, seen, versions
from tests.support import Killed, Outcome, Project, held_up, statements

THREE = list(DAYS)[:3]
SLEEP = "java_method('java.lang.Thread', 'sleep', 8000L)"


def run_days(project: Project, *days: str) -> None:
    for day in days:
        project.must_run(f"2024-10-{day}")


def release(project: Project) -> Outcome:
    return project.dbt("run-operation", "ditto_release", "--args", "{model: letters}")


@pytest.mark.slow
@pytest.mark.parametrize("before", ["create or replace table", "merge into"])
def test_a_full_refresh_that_took_over_a_backfill_is_given_up(project: Project, before: str) -> None:
    """The backfill went back to an old version and died; that is not where the table was before."""
    letters(project)
    run_days(project, "05", "06", "07")
    with statements(die_before=1, only="merge into"):
        assert not project.run("2024-10-06").ok
    with statements(die_before=1, only=before):
        assert not project.run("2024-10-06", "--full-refresh").ok
    assert release(project).ok
    assert seen(project) == expected(DAYS, *THREE)
    assert all(live for _, live in versions(project).values())
    run_days(project, "08")
    assert seen(project) == expected(DAYS, *list(DAYS)[:4])


@pytest.mark.slow
def test_a_merge_that_is_at_work_is_stopped(project: Project) -> None:
    """It asked who holds the lease before that was released, and would commit after the table was looked at."""
    letters(project)
    run_days(project, "05")
    with held_up("merge into") as late:
        assert not project.run("2024-10-06").ok
    asleep = re.sub(r"(where ingested = '[^']+')", rf"\1 and {SLEEP} is not null", late[0])
    assert asleep != late[0]
    with ThreadPoolExecutor(1) as zombie:
        landed = zombie.submit(lambda: project.spark.sql(asleep).collect())
        assert release(project).ok
        assert not landed.done(), "it was over before the release was"
        verdict: list[Any] = landed.result()
    assert [tuple(row) for row in verdict] == [("conflict",)]
    assert seen(project) == expected(DAYS, "2024-10-05")
    run_days(project, "06")
    assert seen(project) == expected(DAYS, "2024-10-05", "2024-10-06")


@pytest.mark.slow
def test_a_run_that_ends_while_it_is_released_is_not_undone(
    project: Project, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    letters(project)
    run_days(project, "05")
    execute = Cursor.execute
    ended: list[str] = []

    def dies(cursor: Cursor, sql: str, *parameters: object) -> None:
        if ended or "ditto:outcome:" in sql:
            ended.append(sql)
            raise Killed("before its outcome")
        execute(cursor, sql, *parameters)

    with monkeypatch.context() as dying:
        dying.setattr(Cursor, "execute", dies)
        assert not project.run("2024-10-06").ok
    del ended[1:]

    def ends_first(cursor: Cursor, sql: str, *parameters: object) -> None:
        if "ditto:claim:" in sql and ended:
            project.spark.sql(ended.pop()).collect()
        execute(cursor, sql, *parameters)

    monkeypatch.setattr(Cursor, "execute", ends_first)
    released = release(project)
    assert not released.ok
    assert not ended
    assert "the run it was about to take over has ended: invocation" in capsys.readouterr().out
    assert seen(project) == expected(DAYS, "2024-10-05", "2024-10-06")
    assert all(live for _, live in versions(project).values())
    assert release(project).ok, "nothing is left to be released"
    run_days(project, "07")
    assert seen(project) == expected(DAYS, *THREE)
    assert project.dbt("run-operation", "ditto_verify").ok
