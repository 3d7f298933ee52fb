"""Kill file_ingest between any two statements; the retry gives what an undisturbed run gives, file by file."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace

import pytest

from tests.chaos import crash_operations as operations
from tests.chaos.crashes import Rows, Scenario, crash_everywhere, taken_over
from tests.functional.file_ingest.landing import Landing, ingest, names, tracked
from tests.support import Project, statements

COLUMNS = "id, name, element_at(split(file_path, '/'), -1)"


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


def scenario(landing: Landing, mode: str, days: Callable[[int], list[int]], *flags: str, begins: int = 1) -> Scenario:
    """The last of the days is the one that is run; `begins`: how many days were before."""

    def prepare(project: Project) -> None:
        ingest(project, landing, max_retries=100)
        landing.put("same.csv", "0,first")
        landing.put("emptied.csv", "1,mine", "2,mine")
        for number in range(begins):
            project.must_run(day(number))

    return Scenario(
        "file_ingest", mode, prepare, lambda project, attempt: project.run(day(days(attempt)[-1]), *flags), "orders",
        rows_after, lambda attempt: {day(number): "live" for number in days(attempt)}, columns=COLUMNS,
        anew=lambda project, attempt: arrivals(landing, attempt), also=consistent,
    )  # fmt: skip


def normal(landing: Landing) -> Scenario:
    return scenario(landing, "normal", lambda attempt: list(range(attempt + 2)))


def replay(landing: Landing) -> Scenario:
    return scenario(landing, "replay", lambda attempt: [0, 1], begins=2)


def backfill(landing: Landing) -> Scenario:
    return scenario(landing, "backfill", lambda attempt: [0, 2, 1], begins=3)


def full_refresh(landing: Landing) -> Scenario:
    return scenario(landing, "full refresh", lambda attempt: [attempt + 1], "--full-refresh")


def first(landing: Landing) -> Scenario:
    """The same files each time, and a model of its own."""

    def anew(project: Project, attempt: int) -> None:
        ingest(project, landing, alias=f"orders_{attempt}")

    def prepare(project: Project) -> None:
        for name in ("a.csv", "copy.csv"):
            landing.put(name, "1,one", "2,two")
        landing.put("broken.csv", "nope,bad")
        ingest(project, landing)
        project.must_run(day(0))

    def tracked_once(project: Project, attempt: int) -> None:
        query = (
            f"select status, record_count from {{schema}}.ditto_files where relation = '{{schema}}.orders_{attempt}'"
        )
        assert sorted(project.sql(query)) == [("FAILED", None), ("SUCCESS", 0), ("SUCCESS", 2)]

    rows: Rows = [(1, "one", "a.csv"), (2, "two", "a.csv")]
    return Scenario(
        "file_ingest", "first", prepare, lambda project, _: project.run(day(0)), "orders_{attempt}",
        lambda attempt: rows, lambda attempt: {day(0): "live"}, columns=COLUMNS, anew=anew, also=tracked_once,
    )  # fmt: skip


def retrying(landing: Landing) -> Scenario:
    """A file that has failed is as good as new, until a run tries it."""
    base = normal(landing)

    def anew(project: Project, attempt: int) -> None:
        arrivals(landing, attempt)
        project.must_run(day(attempt + 1))

    def as_new(project: Project, attempt: int) -> None:
        assert tracked(project, "status, attempts")["broken.csv"] == ("PENDING", 0)

    command = operations.operation("ditto_retry_files", model="orders")
    return replace(base, pattern="ditto_retry_files", command=command, anew=anew, also=as_new)


def releasing(landing: Landing) -> Scenario:
    """What the run had only announced is not in the table."""

    def states(attempt: int) -> dict[str, str]:
        return {day(number): "live" if number < 2 else "released" for number in range(attempt + 3)}

    given_up = operations.releasing([normal(landing)], "first write", lambda attempt: rows_after(0), states)
    return replace(given_up, command=operations.operation("ditto_release", model="orders"))


SCENARIOS = {
    "first": first,
    "normal": normal,
    "replay": replay,
    "backfill": backfill,
    "takeover, died after its first write": lambda landing: taken_over([normal(landing)], "first write")[0],
    "takeover, died after its last write": lambda landing: taken_over([normal(landing)], "last write")[0],
    "full refresh": full_refresh,
    "ditto_retry_files": retrying,
    "ditto_release": releasing,
}


@pytest.mark.slow
@pytest.mark.parametrize("name", SCENARIOS)
def test_a_crash_at_any_statement(project: Project, name: str, show: Callable[[list[str]], None]) -> None:
    show(crash_everywhere([SCENARIOS[name](Landing(project.path / "landing"))], project))


@pytest.mark.slow
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
