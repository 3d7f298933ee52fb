"""The seeds' scenarios and DESIGN 3.4: which version is restored, what becomes stale, what the table holds."""

from __future__ import annotations

import pytest

from tests.functional.stateful_merge.feed import DAYS, expected, letters, operations, seen, versions
from tests.support import Project

HOURS = {
    "2024-10-07T07:00:00": ["A"],
    "2024-10-07T08:00:00": ["A-U", "B"],
    "2024-10-07T09:00:00": ["B-D", "C"],
    "2024-10-07T10:00:00": ["M", "N", "O"],
}


def run_days(project: Project, *days: str) -> None:
    for day in days:
        project.must_run(f"2024-10-{day}")


def test_the_three_scenarios_of_the_seed(project: Project) -> None:
    letters(project)
    run_days(project, "05", "06", "07", "08")
    four = {"2024-10-05": (1, True), "2024-10-06": (2, True), "2024-10-07": (3, True), "2024-10-08": (4, True)}
    assert versions(project) == four

    # 3: the middle run again. Restores version 2 as commit 5, merges as 6; then 10-08 is a normal run.
    outcome = project.must_run("2024-10-07")
    assert "OK backfill" in outcome.text
    assert operations(project)[-2:] == [(5, "RESTORE"), (6, "MERGE")]
    assert versions(project) == four | {"2024-10-07": (6, True), "2024-10-08": (4, False)}
    assert seen(project) == expected(DAYS, "2024-10-05", "2024-10-06", "2024-10-07")
    assert "OK normal" in project.must_run("2024-10-08").text
    assert versions(project) == four | {"2024-10-07": (6, True), "2024-10-08": (7, True)}

    # 1: a normal run.
    run_days(project, "09")
    five = four | {"2024-10-07": (6, True), "2024-10-08": (7, True), "2024-10-09": (8, True)}
    assert versions(project) == five
    assert seen(project) == expected(DAYS, *DAYS)

    # 2: the first run again.
    assert "OK truncate" in project.must_run("2024-10-05").text
    assert operations(project)[-2:] == [(9, "TRUNCATE"), (10, "MERGE")]
    assert seen(project) == "A,B"
    stale = {day: (version, False) for day, (version, _) in five.items()}
    assert versions(project) == stale | {"2024-10-05": (10, True)}


@pytest.mark.slow
def test_replay_of_the_last_three_of_five(project: Project) -> None:
    letters(project)
    run_days(project, "05", "06", "07", "08", "09")
    run_days(project, "07", "08", "09")
    assert [version for version, _ in versions(project).values()] == [1, 2, 7, 8, 9]
    assert all(live for _, live in versions(project).values())


@pytest.mark.slow
def test_hours_without_the_flaw_of_merger(project: Project) -> None:
    letters(project, HOURS, interval="hour")
    for hour in HOURS:
        project.must_run(hour)
    assert seen(project) == "A-U,C,M,N,O"
    replayed = []
    for hour in list(HOURS)[1:]:
        project.must_run(hour)
        replayed.append(seen(project))
    assert replayed == ["A-U,B", "A-U,C", "A-U,C,M,N,O"]


@pytest.mark.slow
def test_compaction_between_runs(project: Project) -> None:
    letters(project)
    run_days(project, "05", "06")
    assert project.versions("letters") == 2
    for number in range(3):
        # Each must find something to compact.
        project.spark.sql(f"insert into {project.schema}.letters values ('{number}', 'by hand', false)")
        project.spark.sql(f"optimize {project.schema}.letters")
    compacted = project.versions("letters")
    run_days(project, "07", "08")
    assert versions(project)["2024-10-07"] == (compacted + 1, True)
    project.must_run("2024-10-07")
    restored = project.spark.sql(f"describe history {project.schema}.letters").where("operation = 'RESTORE'").collect()
    assert [row["operationParameters"]["version"] for row in restored] == [str(compacted)]


@pytest.mark.slow
def test_a_late_execution_between_two_others(project: Project) -> None:
    """10-07 comes after 10-08: what 10-08 did is undone, and has to be replayed."""
    letters(project)
    run_days(project, "05", "06", "08")
    project.must_run("2024-10-07")
    assert seen(project) == expected(DAYS, "2024-10-05", "2024-10-06", "2024-10-07")
    refused = project.run("2024-10-09")
    assert not refused.ok
    assert "stale executions before this one: 2024-10-08" in refused.text
    commands = [f"dbt run --select letters --vars '{{execution_date: 2024-10-{day}}}'" for day in ("08", "09")]
    assert " ".join(commands) in " ".join(refused.text.split())
    run_days(project, "08", "09")
    assert seen(project) == expected(DAYS, *DAYS)


@pytest.mark.slow
def test_gaps_are_known_with_an_interval(project: Project) -> None:
    letters(project, interval="day", on_gap="error")
    run_days(project, "05")
    refused = project.run("2024-10-08")
    assert "missing executions before this one (interval: day): 2024-10-06, 2024-10-07" in refused.text
    assert seen(project) == "A,B"
    # A skipped day is not a first run: what came before it stays.
    letters(project, interval="day", on_gap="warn")
    run_days(project, "08")
    assert seen(project) == expected(DAYS, "2024-10-05", "2024-10-08")


@pytest.mark.slow
def test_an_empty_increment_and_a_backfill_over_it(project: Project) -> None:
    feed = dict(DAYS) | {"2024-10-06": []}
    letters(project, feed)
    run_days(project, "05", "06", "07")
    run_days(project, "06", "07")
    assert seen(project) == expected(feed, "2024-10-05", "2024-10-06", "2024-10-07")
    assert all(live for _, live in versions(project).values())


@pytest.mark.slow
def test_full_refresh_starts_anew(project: Project) -> None:
    letters(project)
    run_days(project, "05", "06")
    project.must_run("2024-10-07", "--full-refresh")
    assert seen(project) == "D"
    assert list(versions(project)) == ["2024-10-07"]
    run_days(project, "08")
    assert seen(project) == "C-U,D,E"


@pytest.mark.slow
def test_a_new_column_and_a_backfill_before_it(project: Project) -> None:
    """RESTORE brings the old columns back; the merge needs the new one."""
    letters(project)
    run_days(project, "05", "06")
    letters(project, extra=", upper(letter) as big", on_schema_change="append_new_columns")
    run_days(project, "07")
    run_days(project, "06", "07")
    assert seen(project) == expected(DAYS, "2024-10-05", "2024-10-06", "2024-10-07")
    assert project.rows("letters", "big") == sorted([("A",), ("C",), ("D",)], key=repr)


@pytest.mark.slow
def test_existing_rows_are_not_removed_without_being_asked(project: Project) -> None:
    letters(project)
    project.spark.sql(f"create schema if not exists {project.schema}")
    project.spark.sql(
        f"create table {project.schema}.letters using delta as select 'Z' as letter, 'Z' as value, false as is_deleted"
    )
    refused = project.run("2024-10-05")
    assert "existing_rows='keep'" in refused.text
    assert seen(project) == "Z"
    letters(project, existing_rows="keep")
    run_days(project, "05", "06", "05", "06")
    assert seen(project) == "A-U,B,C,Z"


@pytest.mark.slow
def test_refused_rows_stop_no_other_execution(project: Project) -> None:
    """Two rows with one key: nothing is written, in a normal run and in a backfill, and nothing is left unfinished."""
    letters(project)
    run_days(project, "05", "06")
    letters(project, dict(DAYS) | {"2024-10-06": ["A", "A-U"], "2024-10-07": ["B", "B-U"]})
    for day in ("2024-10-07", "2024-10-06"):
        refused = project.run(day)
        assert "share a key" in refused.text
        assert seen(project) == expected(DAYS, "2024-10-05", "2024-10-06")
    assert project.state("letters", "status") == [("live",), ("live",), ("released",)]
    letters(project)
    run_days(project, "07")
