"""scripts/backfill: a range in order, a failure in the middle of it, the resume, what it leaves to be done."""

from __future__ import annotations

import re
import shlex

import pytest

from scripts import backfill
from tests.functional.stateful_merge.feed import DAYS, expected, letters, seen
from tests.support import Project, environment


class Script:
    def __init__(self, project: Project, capsys: pytest.CaptureFixture[str]) -> None:
        self.project = project
        self.capsys = capsys

    def __call__(self, *arguments: str) -> tuple[int, str]:
        self.capsys.readouterr()
        folder = str(self.project.path)
        where = [] if "--project-dir" in arguments else ["--project-dir", folder, "--profiles-dir", folder]
        with environment(DITTO_SCHEMA=self.project.schema):
            code = backfill.main([*arguments, *where])
        return code, self.capsys.readouterr().out

    def again(self, told: str) -> tuple[int, str]:
        """The command that it told the user to run."""
        line = next(line.strip() for line in told.splitlines() if line.strip().startswith(backfill.PROGRAM))
        return self(*shlex.split(line.removeprefix(backfill.PROGRAM)))


@pytest.fixture
def script(project: Project, capsys: pytest.CaptureFixture[str]) -> Script:
    return Script(project, capsys)


def progress(told: str) -> list[str]:
    return [line for line in told.splitlines() if re.match(r"\d+ of \d+  \d{4}-", line)]


@pytest.mark.slow
def test_a_range_with_a_failure_in_the_middle(project: Project, script: Script) -> None:
    letters(project, dict(DAYS) | {"2024-10-06": ["A", "A-U"]})
    copy = "select letter, value from {{ ref('letters') }}"
    project.model("copies", copy, materialized="stateful_merge", unique_key="letter")
    project.model("counted", "select count(*) as n from {{ ref('letters') }}", materialized="table")
    whole = ["letters", "--from", "2024-10-05", "--to", "2024-10-06", "--downstream"]

    # The plan of what is not there yet; nothing is made.
    code, told = script(*whole[:-1], "--dry-run")
    assert code == 0
    assert "plan for letters" in told
    assert progress(told) == []
    assert project.sql("show schemas like '{schema}'") == []

    code, told = script(*whole)
    assert code == 1
    assert "plan for copies" in told
    first, second = progress(told)
    done = "letters first: 2 inserted, version 1; copies first: 2 inserted, version 1"
    assert first.startswith(f"1 of 2  2024-10-05  {done}  ")
    assert second.startswith("2 of 2  2024-10-06  FAILED")
    assert "share a key" in told
    assert "in macro" not in told
    assert project.states("copies") == {"2024-10-05 00:00:00": "live"}
    assert "counted" not in [row[1] for row in project.sql("show tables in {schema}")]

    letters(project)
    code, alone = script(*whole[:-1], "--resume", "--dry-run")
    assert code == 0, alone
    assert "1 of 2 executions are live and skipped, up to 2024-10-05" in alone
    # Of several models one may have missed the latest live date: it is replayed once more.
    code, told = script.again(told)
    assert code == 0, told
    assert [line[:18] for line in progress(told)] == ["1 of 2  2024-10-05", "2 of 2  2024-10-06"]
    assert "letters: no execution is stale" in told
    assert seen(project) == expected(DAYS, "2024-10-05", "2024-10-06")
    assert project.rows("counted") == [(3,)]
    assert set(project.states("letters").values()) | set(project.states("copies").values()) == {"live"}

    # Complete, or killed before the first intent: the ledger looks the same.
    code, told = script(*whole, "--resume")
    assert code == 1
    assert "either the backfill was complete, or nothing was replayed yet" in told
    assert progress(told) == []

    # One date: the later one is stale, and it says so.
    code, told = script("letters", "--from", "2024-10-05", "--to", "2024-10-05")
    assert code == 0, told
    assert "1 of 1  2024-10-05  truncate: 2 inserted" in told
    assert "letters: stale now, to be replayed: 2024-10-06" in told
    assert f"  {backfill.PROGRAM} letters --from 2024-10-06 --to 2024-10-06" in told
    assert "not run, but they read it: copies, counted; --downstream runs the models among them" in told
    code, told = script("letters", "--from", "2024-10-07", "--to", "2024-10-07")
    assert code == 1
    assert "the plan refuses execution 2024-10-07 of letters" in told
    assert progress(told) == []


@pytest.mark.slow
def test_a_pattern_without_versions_is_replayed_in_order(project: Project, script: Script) -> None:
    letters(project, dict(DAYS) | {"2024-10-05": ["A", "A-U"]}, materialized="merger")
    whole = ["letters", "--from", "2024-10-05", "--to", "2024-10-06"]
    code, told = script(*whole)
    assert code == 1
    assert "--resume" not in told
    letters(project, materialized="merger")
    code, told = script.again(told)
    assert code == 0, told
    assert [line[:28] for line in progress(told)] == ["1 of 2  2024-10-05  first: 2", "2 of 2  2024-10-06  normal: "]
    # All is live: to skip that would be to skip what was not replayed.
    code, told = script(*whole, "--resume")
    assert code == 1
    assert "--resume with letters (merger): what was replayed cannot be told" in told
    code, told = script("letter", *whole[1:])
    assert code == 1
    assert "no ditto model of this name" in told
