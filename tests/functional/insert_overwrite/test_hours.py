"""Hourly executions: partitions of a day and an hour, of a timestamp, and a predicate of one's own."""

from __future__ import annotations

import datetime as dt
from pathlib import Path

import pytest

from tests.functional.insert_overwrite.feed import each, overwrite, refused
from tests.support import Project

OWN_HOUR = """
    select id, to_date(at) as day, hour(at) as hour, at from {{ target.schema }}.hourly
    where at = timestamp'{{ ditto.execution_time() }}'
"""
NINE, TEN = "2024-10-07T09:00:00", "2024-10-07T10:00:00"


def feed(project: Project, *rows: tuple[int, str]) -> None:
    project.source("hourly", "id int, at timestamp", [(id, dt.datetime.fromisoformat(at)) for id, at in rows])


def ids(project: Project, *tables: str) -> dict[str, list[tuple[int, int]]]:
    return {table: project.rows(table, "hour, id") for table in tables}


@pytest.mark.slow
def test_hourly_executions(project: Project, tmp_path: Path) -> None:
    overwrite(
        project,
        "by_hour",
        OWN_HOUR,
        partition_by=["day", "hour"],
        location_root=str(tmp_path),
        tblproperties={"delta.logRetentionDuration": "interval 60 days", "owner_team": "it's ours"},
    )
    overwrite(project, "by_time", OWN_HOUR, partition_by="at")
    by_interval = "at >= timestamp'{execution_time}' and at < timestamp'{execution_time}' + interval 1 hour"
    overwrite(project, "given", OWN_HOUR, predicate=by_interval, cluster_by="at")
    overwrite(project, "daily", OWN_HOUR, partition_by="day")
    overwrite(project, "by_text", "select 1 as id, '2024' as day", partition_by="day")
    tables = ("by_hour", "by_time", "given")

    feed(project, (1, NINE), (2, NINE), (3, TEN))
    outcome = project.run(NINE)
    for model in ("daily", "by_text"):
        message = refused(outcome, model)
        assert "does not tell which rows execution 2024-10-07 09:00:00 replaces" in message
        assert "add predicate=\"day = date'{execution_date}'\" (or {execution_time})" in message
    project.must_run(TEN, "--select", *tables)
    assert ids(project, *tables) == each(tables, [(10, 3), (9, 1), (9, 2)])

    feed(project, (2, NINE), (4, NINE))
    project.must_run(NINE, "--select", "by_hour", "given")
    assert ids(project, "by_hour", "given") == each(("by_hour", "given"), [(10, 3), (9, 2), (9, 4)])
    assert project.states("by_hour") == {"2024-10-07 09:00:00": "live", "2024-10-07 10:00:00": "live"}

    detail = project.spark.sql(f"describe detail {project.schema}.by_hour").collect()[0]
    assert detail["location"].endswith(f"{tmp_path}/by_hour")
    assert detail["partitionColumns"] == ["day", "hour"]
    wanted = {"delta.logRetentionDuration": "interval 60 days", "owner_team": "it's ours"}
    assert {key: detail["properties"].get(key) for key in wanted} == wanted
    detail = project.spark.sql(f"describe detail {project.schema}.given").collect()[0]
    assert (detail["partitionColumns"], detail["clusteringColumns"]) == ([], ["at"])
    # The table was made with its properties; setting them again would be a version of its own.
    assert project.versions("by_hour") == 3
