"""ditto_vacuum: what goes, what stays because a backfill or an unfinished execution may need it."""

from __future__ import annotations

import json
import os
import time

import pytest

from tests.functional.stateful_merge.feed import DAYS, age, expected, folder, letters, seen
from tests.support import Project, statements

DAY = 24 * 3600


def files(project: Project, table: str) -> set[str]:
    return {path.name for path in folder(project, table).iterdir() if path.suffix in (".parquet", ".bin")}


@pytest.mark.slow
def test_a_vacuum_keeps_what_a_backfill_may_need(project: Project, capsys: pytest.CaptureFixture[str]) -> None:
    def vacuum(**arguments: object) -> str:
        capsys.readouterr()
        outcome = project.dbt("run-operation", "ditto_vacuum", "--args", json.dumps(arguments))
        told = capsys.readouterr().out
        assert outcome.ok != ("found: " in told), told
        return told

    days = list(DAYS)[:3]
    letters(project, backfill_window="30 days")
    for day in days[:2]:
        project.must_run(day)
    letters(project, name="pinned", readers="pinned")
    letters(project, name="raw", versioning="history")
    project.must_run(days[2])
    # All of it ten days old, and in a table that somebody lets keep files for seven days only.
    short = "('delta.deletedFileRetentionDuration' = 'interval 7 days')"
    project.sql(f"alter table {{schema}}.letters set tblproperties {short}")
    age(project, "letters", 10)
    age(project, "pinned__data", 40)
    lost = folder(project, "letters") / "part-lost.parquet"
    lost.write_bytes(b"of a write that never finished")
    os.utime(lost, (time.time() - 40 * DAY,) * 2)
    unread = {row[0] for row in project.sql("vacuum {schema}.letters dry run")}
    assert len(unread) > 1  # what a bare VACUUM would remove

    before, version = files(project, "letters"), project.versions("letters")
    told = vacuum(model="letters", retain="8 days")
    assert f"`letters`: at most {len(unread)} files would go; kept for 30 days" in told
    assert "retain: 8 days was raised to 30 days, the backfill_window of the model" in told
    assert "the table itself keeps only 7 days: its properties are set first" in told
    assert (files(project, "letters"), project.versions("letters")) == (before, version)

    told = vacuum(dry_run=False)
    assert before - files(project, "letters") == {lost.name}
    assert "`letters`: 1 file (30 bytes) removed; kept for 30 days" in told
    assert "backfills stay possible from 2024-10-05 on" in told
    assert "`pinned__data`: 0 files (0 bytes) removed; kept for 30 days" in told
    for table in ("raw", "raw__history"):
        assert f"`{table}`: 0 files (0 bytes) removed; kept for 7 days" in told
    # The vacuum made versions: the one that readers were pinned to is not the newest any more, and too old to be read.
    assert seen(project, "pinned") == expected(DAYS, days[2])

    project.must_run(days[1], model="letters")
    assert seen(project) == expected(DAYS, *days[:2])

    with statements(die_before=1, only="merge into"):
        assert not project.run(days[2], model="letters").ok
    told = vacuum(model="letters", dry_run=False)
    assert "execution 2024-10-07 00:00:00 did not finish, and the version it was applied to is needed" in told
    assert "dbt run-operation ditto_release" in told
