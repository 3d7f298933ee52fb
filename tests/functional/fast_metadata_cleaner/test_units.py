"""fast_metadata_cleaner: one table for each week, prepared anew by its first execution, united by a view."""

from __future__ import annotations

import pytest

from tests.functional.fast_metadata_cleaner.feed import clicks, files_read, head, rows, units
from tests.support import Project, statements


def test_a_week_and_the_next(project: Project) -> None:
    clicks(project)
    project.must_run("2024-10-07")
    assert units(project) == ["w20241007"]
    with statements() as sent:
        outcome = project.must_run("2024-10-08")
    assert not [sql for sql in sent if " view " in sql.lower()], "a view that is right is left alone"
    assert "OK slice: 2 inserted, version 1 of clicks__w20241007" in outcome.text
    outcome = project.must_run("2024-10-14")
    assert "OK reset: 2 inserted, version 0 of clicks__w20241014" in outcome.text
    assert units(project) == ["w20241007", "w20241014"]
    assert project.rows("clicks") == rows("2024-10-07", "2024-10-08", "2024-10-14")

    # The same run twice is the same table; and a slice is replaced, not added.
    project.must_run("2024-10-08")
    assert project.rows("clicks") == rows("2024-10-07", "2024-10-08", "2024-10-14")
    assert set(project.states("clicks").values()) == {"live"}


@pytest.mark.slow
def test_a_week_that_is_prepared_anew(project: Project) -> None:
    clicks(project)
    for day in ("2024-10-07", "2024-10-08", "2024-10-09", "2024-10-14"):
        project.must_run(day)
    # The first execution of a week prepares it anew: what came after it is stale, and known to be.
    with files_read(project, "clicks__w20241007") as count:
        project.must_run("2024-10-07")
    assert sum(count) == 0, "to prepare a unit is a matter of metadata"
    with files_read(project, "clicks__w20241007") as count:
        assert project.rows("clicks") == rows("2024-10-07", "2024-10-14")
    assert sum(count) > 0, "the measure sees what is read"
    stale = [day for day, status in project.states("clicks").items() if status == "stale"]
    assert stale == ["2024-10-08 00:00:00", "2024-10-09 00:00:00"]
    refused = project.run("2024-10-15")
    assert not refused.ok
    assert "stale executions before this one: 2024-10-08, 2024-10-09" in refused.text
    assert "dbt run --select clicks --vars '{execution_date: 2024-10-08}'" in refused.text
    # In any order: slices do not depend on each other.
    project.must_run("2024-10-09")
    project.must_run("2024-10-08")
    project.must_run("2024-10-15")
    assert project.rows("clicks") == rows("2024-10-07", "2024-10-08", "2024-10-09", "2024-10-14", "2024-10-15")
    assert set(project.states("clicks").values()) == {"live"}
    assert head(project, "w20241014") == 1
