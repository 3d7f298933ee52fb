"""A SELECT with other columns than the table: the four answers of on_schema_change."""

from __future__ import annotations

import pytest

from tests.functional.insert_overwrite.feed import overwrite, refused, visits
from tests.support import Project

# The table has id, day and old; the SELECT has id, day and new.
CHANGED = "select 3 as id, date'2024-10-08' as day, 'n' as new"
OLD, DAY = visits(7, 1)[0], visits(8, 3)[0]


@pytest.mark.slow
def test_the_four_answers(project: Project) -> None:
    answers = {
        "ignoring": "ignore",
        "failing": "fail",
        "appending": "append_new_columns",
        "syncing": "sync_all_columns",
        "appending_files": "append_new_columns",
    }
    for table, answer in answers.items():
        using = "parquet" if table.endswith("files") else "delta"
        overwrite(project, table, CHANGED, file_format=using, partition_by="day", on_schema_change=answer)
        project.sql(
            f"create table {{schema}}.{table} (id int, day date, old string) using {using} partitioned by (day)"
        )
        project.sql(f"insert into {{schema}}.{table} (id, day, old) values (1, date'2024-10-07', 'o')")

    outcome = project.run("2024-10-08")
    message = refused(outcome, "failing")
    assert "new: new; gone: old; other types: none" in message
    assert [node.node.name for node in outcome.nodes if node.status != "success"] == ["failing"]

    def rows(table: str, columns: str) -> list[tuple[object, ...]]:
        return project.rows(table, columns)

    assert rows("failing", "id, day, old") == [(*OLD, "o")]
    assert rows("ignoring", "id, day, old") == [(*OLD, "o"), (*DAY, None)]
    for table in ("appending", "appending_files"):
        assert rows(table, "id, day, old, new") == [(*OLD, "o", None), (*DAY, None, "n")]
    assert rows("syncing", "id, day, new") == [(*OLD, None), (*DAY, "n")]
    columns = {table: project.spark.table(f"{project.schema}.{table}").columns for table in ("ignoring", "syncing")}
    assert {table: sorted(names) for table, names in columns.items()} == {
        "ignoring": ["day", "id", "old"],
        "syncing": ["day", "id", "new"],
    }
