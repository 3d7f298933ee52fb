"""Readers that see only whole backfills, and stores without versions."""

from __future__ import annotations

import pytest

from tests.functional.stateful_merge.feed import DAYS, expected, letters, seen
from tests.support import Project, statements


def run_days(project: Project, *days: str) -> None:
    for day in days:
        project.must_run(f"2024-10-{day}")


@pytest.mark.slow
def test_pinned_readers_never_see_the_table_go_back(project: Project) -> None:
    letters(project, readers="pinned")
    run_days(project, "05", "06", "07")
    whole = expected(DAYS, "2024-10-05", "2024-10-06", "2024-10-07")
    assert seen(project) == whole
    corrected = dict(DAYS) | {"2024-10-06": ["A-W"]}
    letters(project, corrected, readers="pinned")
    run_days(project, "06")
    assert seen(project) == whole, "10-07 is stale, so readers stay where they are"
    assert seen(project, "letters__data") == expected(corrected, "2024-10-05", "2024-10-06")
    run_days(project, "07")
    assert seen(project) == expected(corrected, "2024-10-05", "2024-10-06", "2024-10-07")


@pytest.mark.parametrize("file_format", ["parquet", pytest.param("delta", marks=pytest.mark.slow)])
@pytest.mark.slow
def test_history_for_stores_without_versions(project: Project, file_format: str) -> None:
    letters(project, versioning="history", file_format=file_format)
    run_days(project, "05", "06", "07", "08")
    assert seen(project) == expected(DAYS, *list(DAYS)[:4])
    run_days(project, "06")
    assert seen(project) == expected(DAYS, "2024-10-05", "2024-10-06")
    assert project.rows("letters__history", "distinct execution_time") == [
        ("2024-10-05 00:00:00",),
        ("2024-10-06 00:00:00",),
    ]
    assert list(project.states("letters").values()) == ["live", "live", "stale", "stale"]
    refused = project.run("2024-10-08")
    assert "stale executions before this one: 2024-10-07" in refused.text
    # Killed after the raw rows came in, before the table was rebuilt.
    with statements(die_before=1, only="insert overwrite" if file_format == "parquet" else "merge into"):
        assert not project.run("2024-10-07").ok
    run_days(project, "07", "08", "08")
    assert seen(project) == expected(DAYS, *list(DAYS)[:4])
    run_days(project, "05")
    assert seen(project) == "A,B"
