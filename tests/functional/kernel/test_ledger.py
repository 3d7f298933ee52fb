"""The ledger as its readers see it: state, audit trail, lineage, and whether somebody changed it."""

from __future__ import annotations

import datetime
import json
from typing import Any

import pytest
from pyspark.errors import PySparkException

from tests.support import Outcome, Project

COMMAND = "dbt run --vars '{execution_date: 2024-10-07}'"


def moment(day: int, month: int = 10, year: int = 2024) -> datetime.datetime:
    return datetime.datetime(year, month, day)


@pytest.mark.slow
def test_state_lineage_and_tampering_with_a_ledger_in_another_schema(
    project: Project, capsys: pytest.CaptureFixture[str]
) -> None:
    audit = f"{project.schema}_audit"
    project.model("a", "select 1 as id, '{{ ditto.execution_date() }}' as day", materialized="merger", unique_key="id")
    project.model(
        "b",
        """
        select id, day, '{{ ditto.previous_execution() }}' as previous, {{ ditto.is_replay() }} as replayed
        from {{ ref('a') }}
        """,
        materialized="merger",
        unique_key="id",
    )

    def dbt(*args: str, **variables: Any) -> Outcome:
        return project.dbt(*args, variables={"ditto_schema": audit, **variables})

    seen = []
    for day in ("2024-10-04", "2024-10-07", "2024-10-07"):
        outcome = dbt("run", execution_date=day)
        assert outcome.ok, outcome.text
        seen += project.rows("b")
    # A skipped day is not a first run, and the replay knows that it is one.
    assert seen == [
        (1, "2024-10-04", "None", False),
        (1, "2024-10-07", "2024-10-04 00:00:00", False),
        (1, "2024-10-07", "2024-10-04 00:00:00", True),
    ]
    assert [name for _, name, _ in project.sql("show tables in {schema} like 'ditto*'")] == []

    columns = "execution_time, delta_table_version, base_version, live, status, mode, rows_updated"
    state = project.sql(f"select {columns} from {audit}.ditto_state where relation like '%.a' order by execution_time")
    assert state == [
        (moment(4), 1, 0, True, "live", "first", 0),
        (moment(7), 3, 2, True, "live", "replay", 1),
    ]
    columns = "relation, seq, execution_time, event, mode, base_version, version, rows_inserted, pattern"
    runs = project.sql(f"select {columns} from {audit}.ditto_runs where relation like '%.a' order by seq")
    relation = f"{project.schema}.a"
    assert runs == [
        (relation, 1, moment(4), "committed", "first", 0, 1, 1, "merger"),
        (relation, 2, moment(7), "committed", "normal", 1, 2, 0, "merger"),
        (relation, 3, moment(7), "committed", "replay", 2, 3, 0, "merger"),
    ]
    inputs = project.sql(f"select inputs from {audit}.ditto_ledger where relation like '%.b' order by seq")
    read = [[(one["relation"], one["execution_time"], one["version"]) for one in json.loads(row[0])] for row in inputs]
    days = ["2024-10-04 00:00:00", "2024-10-07 00:00:00", "2024-10-07 00:00:00"]
    assert read == [[(relation, day, version)] for version, day in enumerate(days, start=1)]

    refuses_what_is_no_date(project, dbt)
    finds_tampering(project, dbt, f"{audit}.ditto_ledger", capsys)


def refuses_what_is_no_date(project: Project, dbt: Any) -> None:
    versions = project.versions("a"), project.versions("b")
    injected = f"2024-10-07'; drop table {project.schema}.a; --"
    for variables, found in ({}, "no execution_date"), ({"execution_date": injected}, injected):
        outcome = dbt("run", **variables)
        assert not outcome.ok
        assert found in outcome.text
        assert COMMAND in outcome.text
    assert (project.versions("a"), project.versions("b")) == versions


def finds_tampering(project: Project, dbt: Any, ledger: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(PySparkException, match="DELTA_CANNOT_MODIFY_APPEND_ONLY"):
        project.sql(f"update {ledger} set rows_inserted = 7")
    capsys.readouterr()
    assert dbt("run-operation", "ditto_verify").ok
    assert "verified 6 events of 2 models, the chain is unbroken" in capsys.readouterr().out

    project.sql(f"alter table {ledger} set tblproperties ('delta.appendOnly' = 'false')")
    project.sql(f"update {ledger} set rows_inserted = 7 where relation = '{project.schema}.a' and seq = 3")
    project.sql(f"delete from {ledger} where relation = '{project.schema}.b' and seq = 1")
    assert not dbt("run-operation", "ditto_verify").ok
    told = capsys.readouterr().out
    assert f"{project.schema}.a event 3 (committed of execution 2024-10-07 00:00:00): its fields were changed" in told
    assert (
        f"{project.schema}.b event 2 (committed of execution 2024-10-07 00:00:00): the event before it is missing"
        in told
    )
    assert told.count(" (committed of execution ") == 2


@pytest.mark.slow
def test_a_table_that_was_dropped_or_replaced_by_hand_starts_anew(project: Project) -> None:
    """The dates reach from before 1970 to the end of the calendar."""
    rows = "select 1 as id, date'{{ ditto.execution_date() }}' as day, '{{ ditto.previous_execution() }}' as previous"
    project.model("visits", rows, materialized="insert_overwrite", partition_by="day")

    def state() -> list[tuple[Any, ...]]:
        return project.state("visits", "cast(execution_time as string), delta_table_version, status, mode, generation")

    project.must_run("1969-12-31")
    project.must_run("9999-12-31")
    assert project.rows("visits") == [
        (1, datetime.date(1969, 12, 31), "None"),
        (1, datetime.date(9999, 12, 31), "1969-12-31 00:00:00"),
    ]
    assert state() == [
        ("1969-12-31 00:00:00", 1, "live", "first", 1),
        ("9999-12-31 00:00:00", 2, "live", "normal", 1),
    ]

    project.sql("drop table {schema}.visits")
    project.must_run("2024-10-07")
    assert project.rows("visits") == [(1, datetime.date(2024, 10, 7), "None")]
    assert state() == [("2024-10-07 00:00:00", 1, "live", "first", 2)]

    by_hand = "select 2 as id, date'2024-10-05' as day"
    project.sql(f"create or replace table {{schema}}.visits using delta partitioned by (day) as {by_hand}")
    project.must_run("2024-10-08")
    assert project.rows("visits") == [(1, datetime.date(2024, 10, 8)), (2, datetime.date(2024, 10, 5))]
    assert state() == [("2024-10-08 00:00:00", 3, "live", "normal", 3)]
    assert len(project.sql("select * from {schema}.ditto_runs")) == 4
