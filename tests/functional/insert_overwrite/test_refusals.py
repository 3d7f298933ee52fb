"""What a run does not own is refused in words, and nothing is written, deleted or left behind."""

from __future__ import annotations

import pytest

from tests.functional.insert_overwrite.feed import contents, each, events, feed, make_table, overwrite, refused, visits
from tests.support import Project

EVERYTHING = "select id, day from {{ target.schema }}.raw where state = 'valid'"
EARLIER = [*visits(7, 1), *visits(8, 2)]
STRICT = ["strict", "strict_deleting"]


@pytest.mark.slow
def test_rows_outside_of_the_predicate(project: Project) -> None:
    overwrite(project, "strict", EVERYTHING, partition_by="day")
    overwrite(project, "strict_deleting", EVERYTHING, partition_by="day", mode="delete_insert")
    for table in STRICT:
        make_table(project, table, *EARLIER)
    before, versions = contents(project, *STRICT), [project.versions(table) for table in STRICT]

    feed(project, *visits(8, 3), (4, None), *visits(7, 5))
    for flags, models in (([], STRICT), (["--full-refresh", "--select", "strict"], ["strict"])):
        outcome = project.run("2024-10-08", *flags)
        for model in models:
            message = refused(outcome, model)
            assert "only rows where (`day` <=> cast('2024-10-08' as date)); nothing was written" in message
            assert '- {"id":5,"day":"2024-10-07"}' in message
            assert '- {"id":4}' in message
            assert '"id":3' not in message
        assert contents(project, *STRICT) == before
        assert [project.versions(table) for table in STRICT] == versions
    assert [events(project, table) for table in STRICT] == [[], []]

    # No intent is left that would stop another execution. What a model itself refuses is told in its own words.
    feed(project, *visits(9, 6))
    checked = "select id, day from {{ target.schema }}.raw where id < 6 or raise_error('six is too much') is null"
    overwrite(project, "checked_files", checked, file_format="parquet", mode="table")
    outcome = project.run("2024-10-09", "--exclude", "strict")
    assert project.rows("strict_deleting") == [*EARLIER, *visits(9, 6)]
    assert outcome.node("strict_deleting").status == "success"
    assert "[USER_RAISED_EXCEPTION] six is too much" in str(outcome.node("checked_files").message)
    # Without Delta nobody knows what Spark has removed by then, so this one is as unfinished as one that was killed.
    assert project.states("checked_files") == {"2024-10-09 00:00:00": "unfinished"}


@pytest.mark.slow
def test_something_else_under_the_name_of_the_model(project: Project) -> None:
    overwrite(project, "was_view", partition_by="day")
    overwrite(project, "was_files", partition_by="day")
    overwrite(project, "other_layout", file_format="parquet", partition_by="day")
    project.sql("create view {schema}.was_view as select 1 as id, date'2024-10-07' as day")
    make_table(project, "was_files", *EARLIER, using="parquet")
    make_table(project, "other_layout", *EARLIER, using="parquet", partition_by="")
    foreign = {"was_view": "a view", "was_files": "a parquet table"}
    models = [*foreign, "other_layout"]
    before = contents(project, *models)

    feed(project, *visits(8, 3))
    outcome = project.run("2024-10-08")
    for model, kind in foreign.items():
        message = refused(outcome, model)
        assert f"found:    {kind} under the name `{project.schema}`.`{model}`" in message
        assert f"dbt run --select {model} --full-refresh --vars '{{execution_date: 2024-10-08}}'" in message
    assert "a table partitioned by nothing" in refused(outcome, "other_layout")
    assert contents(project, *models) == before

    project.must_run("2024-10-08", "--full-refresh")
    assert contents(project, *models) == each(models, visits(8, 3))
    assert [events(project, model)[-1] for model in models] == [("08", "committed", "full_refresh")] * 3
