"""Kill file_ingest between any two statements; the retry gives what an undisturbed run gives, file by file."""

from __future__ import annotations

from collections import Counter

import pytest

from tests.chaos.crashes import Scenario, crash_everywhere
from tests.functional.file_ingest.landing import Landing, ingest, names, tracked
from tests.support import Outcome, Project, statements


def day(number: int) -> str:
    return f"2026-01-{number + 1:02}"


def arrivals(landing: Landing, attempt: int) -> None:
    """A new file, one that is overwritten, a copy of the new one, a broken one, a loaded one that becomes a copy."""
    landing.put(f"new{attempt}.csv", f"{attempt},new", f"{attempt + 1000},new")
    landing.put("same.csv", f"{attempt},overwritten")
    landing.put(f"copy{attempt}.csv", f"{attempt},new", f"{attempt + 1000},new")
    landing.put("broken.csv", f"{attempt},fine", "nope,bad")
    landing.put("emptied.csv", f"{attempt},new", f"{attempt + 1000},new")


def rows_after(attempt: int) -> list[tuple[object, ...]]:
    kept: list[tuple[object, ...]] = [(attempt, "overwritten", "same.csv")]
    for number in range(attempt + 1):
        kept += [(number, "new", f"new{number}.csv"), (number + 1000, "new", f"new{number}.csv")]
    return kept


def consistent(project: Project, attempt: int) -> None:
    """The tracker counts what the table has, and nothing is left half-way."""
    state = tracked(project, "status, record_count, duplicate_of")
    counted = Counter(str(row[2]) for row in names(project))
    assert {name for name, row in state.items() if row[0] != "SUCCESS"} == {"broken.csv"}
    for name, (status, count, _) in state.items():
        assert status == "FAILED" or count == counted[name], (name, count, counted[name])
    assert state["emptied.csv"][2].endswith(f"new{attempt}.csv")


@pytest.mark.parametrize("full_refresh", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_a_crash_between_any_two_statements(project: Project, full_refresh: bool) -> None:
    landing = Landing(project.path / "landing")

    def prepare(project: Project) -> None:
        ingest(project, landing, max_retries=100)
        landing.put("same.csv", "0,first")
        landing.put("emptied.csv", "1,mine", "2,mine")
        project.must_run(day(0))

    def command(project: Project, attempt: int) -> Outcome:
        return project.run(day(attempt + 1), *(["--full-refresh"] if full_refresh else []))

    def anew(project: Project, attempt: int) -> None:
        arrivals(landing, attempt)

    scenario = Scenario(
        "file_ingest",
        prepare,
        command,
        "orders",
        rows_after,
        "id, name, element_at(split(file_path, '/'), -1)",
        anew=anew,
        also=consistent,
    )
    assert crash_everywhere(scenario, project) >= 5


def test_a_run_that_was_taken_over_writes_nothing(project: Project) -> None:
    """It was only slow: its load arrives when another run has loaded the same files, and again after that."""
    landing = Landing(project.path / "landing")
    ingest(project, landing)
    landing.put("a.csv", "1,one")
    with statements(die_before=1, only="replace where"):
        assert not project.run("2026-01-01").ok
    with statements(only="replace where") as sent:
        killed = "2026-01-01"
        with statements(die_before=2, only="merge into"):
            assert not project.run(killed).ok
    late = sent[0]
    assert len(names(project)) == 1
    project.must_run(killed)
    assert tracked(project) == {"a.csv": ("SUCCESS", 2, 1)}
    version = project.versions("orders")
    project.spark.sql(late)
    assert len(names(project)) == 1 and project.versions("orders") == version
    # Its file is overwritten, and the late statement still has no right to it.
    landing.put("a.csv", "2,two")
    project.must_run("2026-01-02")
    project.spark.sql(late)
    assert names(project) == [(2, "two", "a.csv")]
