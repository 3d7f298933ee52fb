"""A run replaces its own slice and nothing else, in every mode and format, whatever the session says."""

from __future__ import annotations

from tests.functional.insert_overwrite.feed import (
    contents,
    feed,
    overwrite,
    session_setting,
    settings,
    visits,
)
from tests.support import Project

SLICED = ["by_day", "partitions", "deleting", "files"]
WHOLE = ["whole", "whole_files"]


def make_models(project: Project) -> None:
    overwrite(project, "by_day", partition_by="day")
    overwrite(project, "partitions", mode="partitions", partition_by="day")
    overwrite(project, "deleting", mode="delete_insert", partition_by="day")
    overwrite(project, "files", file_format="parquet", partition_by="day")
    overwrite(project, "whole", mode="table", partition_by="day")
    overwrite(project, "whole_files", file_format="parquet", mode="table", partition_by="day")
    # A partition column that cannot be null is where Spark folds conditions away.
    project.write(
        {
            "models/_models.yml": """
                models:
                  - name: whole
                    config: {contract: {enforced: true}}
                    columns:
                      - {name: id, data_type: int}
                      - {name: day, data_type: date, constraints: [{type: not_null}]}
            """
        }
    )


def test_slices_are_replaced_by_every_mode(project: Project) -> None:
    make_models(project)
    own = visits(8, 3, 4)
    feed(project, *own)
    project.must_run("2024-10-08")
    assert contents(project, *SLICED, *WHOLE) == dict.fromkeys(SLICED + WHOLE, own)

    # The days around it.
    for table in SLICED + WHOLE:
        project.sql(f"insert into {{schema}}.{table} values (1, date'2024-10-07'), (5, date'2024-10-09')")
    before, after = visits(7, 1), visits(9, 5)

    with session_setting(project, "spark.sql.sources.partitionOverwriteMode", "dynamic"):
        as_set = settings(project)

        # The same run again.
        outcome = project.must_run("2024-10-08")
        assert {str(node.message).split(":")[0] for node in outcome.nodes} == {"OK replay"}
        assert contents(project, *SLICED) == dict.fromkeys(SLICED, before + own + after)
        assert contents(project, *WHOLE) == dict.fromkeys(WHOLE, own)

        # Its input changes.
        changed = visits(8, 4, 6)
        feed(project, *changed)
        project.must_run("2024-10-08", "--exclude", *WHOLE)
        assert contents(project, *SLICED) == dict.fromkeys(SLICED, before + changed[:1] + after + changed[1:])

        # An empty increment empties its slice.
        feed(project, *visits(1, 1))
        project.must_run("2024-10-08", "--exclude", *WHOLE)
        assert contents(project, *SLICED) == dict.fromkeys(SLICED, before + after)

        assert settings(project) == as_set

    assert {table: project.states(table) for table in SLICED} == dict.fromkeys(SLICED, {"2024-10-08 00:00:00": "live"})
    # The one that made the table, one for each of four runs, and our own INSERT.
    assert [project.versions(table) for table in ("by_day", "partitions")] == [5, 5]
