"""A run replaces its own slice and nothing else, in every mode and format, whatever the session says."""

from __future__ import annotations

from tests.functional.insert_overwrite.feed import contents, feed, overwrite, session_setting, settings, visits
from tests.support import Project

SLICED = ["by_day", "given", "partitions", "deleting", "files"]
WHOLE = ["whole", "whole_files"]


def make_models(project: Project) -> None:
    overwrite(project, "by_day", partition_by="day")
    overwrite(project, "given", predicate="day = date'{execution_date}'")
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
    first, second, third = visits(7, 1, 2), visits(8, 3, 4), visits(9, 5)
    feed(project, *first, *second, *third)
    project.must_run("2024-10-07")

    before = settings(project)
    for date in ("2024-10-08", "2024-10-09"):
        project.must_run(date)
    assert settings(project) == before
    assert contents(project, *SLICED) == dict.fromkeys(SLICED, first + second + third)
    assert contents(project, *WHOLE) == dict.fromkeys(WHOLE, third)

    with session_setting(project, "spark.sql.sources.partitionOverwriteMode", "dynamic"):
        before = settings(project)

        # The same run again, of a date in the middle.
        outcome = project.must_run("2024-10-08")
        assert {str(node.message).split(":")[0] for node in outcome.nodes} == {"OK replay"}
        assert contents(project, *SLICED) == dict.fromkeys(SLICED, first + second + third)
        assert contents(project, *WHOLE) == dict.fromkeys(WHOLE, second)

        # Its input changes.
        changed = visits(8, 4, 6, 7)
        feed(project, *first, *changed, *third)
        project.must_run("2024-10-08")
        assert contents(project, *SLICED) == dict.fromkeys(SLICED, first + changed[:1] + third + changed[1:])
        assert contents(project, *WHOLE) == dict.fromkeys(WHOLE, changed)

        # Nothing is left of it: an empty increment empties its slice.
        feed(project, *first, *third)
        project.must_run("2024-10-08")
        assert contents(project, *SLICED) == dict.fromkeys(SLICED, first + third)
        assert contents(project, *WHOLE) == dict.fromkeys(WHOLE, [])
        assert settings(project) == before

    live = {f"2024-10-{day:02} 00:00:00": "live" for day in (7, 8, 9)}
    assert {model: project.states(model) for model in SLICED + WHOLE} == dict.fromkeys(SLICED + WHOLE, live)
    # One commit for each of the six runs, and the one that made the table; two for each with a DELETE that found rows.
    assert {model: project.versions(model) for model in ("by_day", "given", "partitions", "whole")} == dict.fromkeys(
        ("by_day", "given", "partitions", "whole"), 6
    )
