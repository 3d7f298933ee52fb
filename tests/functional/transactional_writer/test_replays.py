"""The same execution again replaces the rows that it wrote, and nothing else."""

from __future__ import annotations

import pytest

from tests.functional.merger.feed import add_model
from tests.support import Project

FIRST, SECOND, THIRD = "2024-10-01", "2024-10-02", "2024-10-03"
FEED = "day string, id int, name string, gone boolean"
WRITTEN = "id, name, cast(date(_ditto_execution_time) as string)"
TODAY = "select id, name{flag} from {{{{ target.schema }}}}.feed where day = '{{{{ ditto.execution_date() }}}}'"
WHOLE = "select id, name from {{ target.schema }}.feed where day <= '{{ ditto.execution_date() }}' and not gone"

DAY_1 = [(FIRST, 1, "a", False), (FIRST, 2, "b", False)]
DAY_2 = [(SECOND, 2, "b2", False), (SECOND, 3, "c", False), (SECOND, 4, "d", False)]
DAY_2_CORRECTED = [(SECOND, 2, "b3", False), (SECOND, 4, "d2", False), (SECOND, 5, "e", False)]
DAY_3 = [(THIRD, 2, "b of the third", False), (THIRD, 1, None, True), (THIRD, 6, "f", False)]


def feed(project: Project, *days: list[tuple[object, ...]]) -> None:
    project.source("feed", FEED, [row for day in days for row in day])


@pytest.mark.slow
def test_a_replay_of_a_middle_date_replaces_its_own_rows_and_no_others(
    project: Project, capsys: pytest.CaptureFixture[str]
) -> None:
    kind = {"materialized": "transactional_writer"}
    project.model("merged", TODAY.format(flag=", gone"), unique_key="id", soft_delete="gone", **kind)
    project.model("appended", TODAY.format(flag=""), write="append", **kind)
    project.model("whole", WHOLE, write="overwrite", **kind)
    feed(project, DAY_1, DAY_2, DAY_3)
    for day in (FIRST, SECOND, THIRD):
        project.must_run(day)
    merged = [(2, "b of the third", THIRD), (3, "c", SECOND), (4, "d", SECOND), (6, "f", THIRD)]
    assert project.rows("merged", WRITTEN) == merged
    appended = [(row[1], row[2], row[0]) for row in (*DAY_1, *DAY_2, *DAY_3)]
    assert project.rows("appended", WRITTEN) == sorted(appended, key=repr)
    whole = project.rows("whole")
    assert len(whole) == 7
    assert [column[0] for column in project.sql("describe {schema}.whole")] == ["id", "name"]

    # The same execution again: the same rows.
    project.must_run(THIRD)
    assert project.rows("merged", WRITTEN) == merged
    assert project.rows("appended", WRITTEN) == sorted(appended, key=repr)
    assert project.rows("whole") == whole

    # The second day was corrected: 3 is not in it any more, and what the third day wrote stays.
    feed(project, DAY_1, DAY_2_CORRECTED, DAY_3)
    capsys.readouterr()
    arguments = f"{{model: merged, execution_date: {SECOND}}}"
    assert project.dbt("run-operation", "ditto_plan", "--args", arguments).ok
    assert "plan for merged (transactional_writer)" in (announced := capsys.readouterr().out)
    assert "2024-10-02          replay     write: this execution was applied before" in announced
    project.must_run(SECOND)
    assert project.rows("merged", WRITTEN) == [
        (2, "b of the third", THIRD), (4, "d2", SECOND), (5, "e", SECOND), (6, "f", THIRD),
    ]  # fmt: skip
    appended = [(row[1], row[2], row[0]) for row in (*DAY_1, *DAY_2_CORRECTED, *DAY_3)]
    assert project.rows("appended", WRITTEN) == sorted(appended, key=repr)
    # The whole as of the second day.
    assert project.rows("whole") == [(1, "a"), (2, "b"), (2, "b3"), (4, "d2"), (5, "e")]

    # A day of which nothing is left.
    feed(project, DAY_1, DAY_3)
    project.must_run(SECOND, model="merged appended")
    assert project.rows("merged", WRITTEN) == [(2, "b of the third", THIRD), (6, "f", THIRD)]
    assert {row[2] for row in project.rows("appended", WRITTEN)} == {FIRST, THIRD}
    for model in ("merged", "appended", "whole"):
        assert set(project.states(model).values()) == {"live"}


@pytest.mark.slow
def test_a_table_of_another_pattern_goes_on_and_keeps_the_column(project: Project) -> None:
    days = {FIRST: [(1, "a"), (2, "b")], SECOND: [(2, "b2"), (3, "c")]}
    columns = {"id": "int", "name": "string"}
    kind = {"materialized": "transactional_writer", "unique_key": "id", "on_schema_change": "sync_all_columns"}
    add_model(project, "orders", columns, days, unique_key="id")
    project.must_run(FIRST)
    add_model(project, "orders", columns, days, **kind)
    project.must_run(SECOND)
    assert project.rows("orders", WRITTEN) == [(1, "a", None), (2, "b2", SECOND), (3, "c", SECOND)]

    # A column less, and a day on which only one row is left: the column of the execution stays.
    add_model(project, "orders", {"id": "int"}, {SECOND: [(3,)]}, **kind)
    project.must_run(SECOND)
    assert project.rows("orders") == [(1, None), (3, project.sql(f"select timestamp_ntz'{SECOND}'")[0][0])]

    # --empty writes nothing, not even away.
    project.must_run(SECOND, "--empty")
    assert len(project.rows("orders")) == 2
    project.write({"models/orders.yml": "models: [{name: orders, data_tests: [ditto.ditto_ledger_matches_history]}]"})
    project.must_run(THIRD, "--full-refresh")
    assert project.dbt("test", execution_date=THIRD).ok
