"""A run replaces its own slice and nothing else, in every mode and format, whatever the session says."""

from __future__ import annotations

import pytest

from tests.functional.insert_overwrite.feed import (
    contents,
    each,
    feed,
    make_table,
    overwrite,
    session_setting,
    settings,
    visits,
)
from tests.support import Project

MODES: dict[str, dict[str, str]] = {
    "by_day": {},
    "partitions": {"mode": "partitions"},
    "deleting": {"mode": "delete_insert"},
    "files": {"file_format": "parquet"},
    "whole": {"mode": "table"},
    "whole_files": {"file_format": "parquet", "mode": "table"},
}


@pytest.mark.parametrize("modes", [["by_day", "files", "whole"], pytest.param(list(MODES), marks=pytest.mark.slow)])
def test_slices_are_replaced_by_every_mode(project: Project, modes: list[str]) -> None:
    for mode in modes:
        overwrite(project, mode, partition_by="day", **MODES[mode])
    whole = [mode for mode in modes if mode.startswith("whole")]
    sliced = [mode for mode in modes if mode not in whole]
    before, stale, after = visits(7, 1), visits(8, 2, 3), visits(9, 5)
    for table in modes:
        using = "parquet" if "files" in table else "delta"
        project.sql(f"drop table if exists {{schema}}.{table}")
        # A partition column that cannot be null is where Spark folds conditions away.
        make_table(project, table, *before, *stale, *after, using=using, not_null=table == "whole")

    with session_setting(project, "spark.sql.sources.partitionOverwriteMode", "dynamic"):
        as_set = settings(project)

        # A date in the middle, whose input changed.
        own = visits(8, 3, 4)
        feed(project, *own)
        project.must_run("2024-10-08")
        assert contents(project, *sliced) == each(sliced, before + own + after)
        assert contents(project, *whole) == each(whole, own)

        # The same run again.
        outcome = project.must_run("2024-10-08", "--exclude", *whole)
        assert {str(node.message).split(":")[0] for node in outcome.nodes} == {"OK replay"}
        assert contents(project, *sliced) == each(sliced, before + own + after)

        # An empty increment empties its slice.
        feed(project, *visits(1, 1))
        project.must_run("2024-10-08", "--exclude", *whole)
        assert contents(project, *sliced) == each(sliced, before + after)

        assert settings(project) == as_set

    assert {table: project.states(table) for table in sliced} == each(sliced, {"2024-10-08 00:00:00": "live"})
    # One for each of three runs, after the one that made the table and the one that filled it.
    assert {project.versions(table) for table in {"by_day", "partitions"}.intersection(modes)} == {4}


@pytest.mark.slow
def test_a_model_that_reads_its_own_table(project: Project) -> None:
    """The commit carries the run's name all the same: without it the ledger would not find what the run wrote."""
    before = "(select max(total) from {{ this }} where day < date'{{ ditto.execution_date() }}')"
    sql = f"""
        select
            date'{{{{ ditto.execution_date() }}}}' as day,
            1 + {{% if ditto.previous_execution() %}}{before}{{% else %}}0{{% endif %}} as total
    """
    project.model("totals", sql, materialized="insert_overwrite", partition_by="day")
    for day in ("07", "08", "08"):
        project.must_run(f"2024-10-{day}")
    assert project.rows("totals", "cast(day as string), total") == [("2024-10-07", 1), ("2024-10-08", 2)]
    assert project.state("totals", "delta_table_version, rows_inserted") == [(1, 1), (3, 1)]
    tags = [row["userMetadata"] for row in project.spark.sql(f"describe history {project.schema}.totals").collect()]
    assert [tag is not None for tag in tags] == [True, True, True, False], tags
