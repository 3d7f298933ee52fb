"""The three ways to prepare a unit, hours, the full dataset, readers during a run, and what is refused."""

from __future__ import annotations

import threading

import pytest

from tests.functional.fast_metadata_cleaner.feed import SELECT, clicks, files_read, head, rows, units
from tests.support import Project, statements


@pytest.mark.parametrize("reset", ["truncate", "drop"])
@pytest.mark.slow
def test_other_ways_to_prepare_a_unit(project: Project, reset: str) -> None:
    clicks(project, reset=reset)
    for day in ("2024-10-07", "2024-10-08", "2024-10-14"):
        project.must_run(day)
    with statements() as sent, files_read(project, "clicks__w20241007") as count:
        project.must_run("2024-10-07")
    assert sum(count) == 0
    done = [sql for sql in sent if f"{reset} table" in sql.lower()]
    assert len(done) == 1
    assert project.rows("clicks") == rows("2024-10-07", "2024-10-14")
    assert project.states("clicks")["2024-10-08 00:00:00"] == "stale"
    # With the unit gone, its version numbers begin anew; the order of the executions is known all the same.
    assert head(project, "w20241007") == (3 if reset == "truncate" else 0)
    project.must_run("2024-10-08")
    assert set(project.states("clicks").values()) == {"live"}
    assert project.rows("clicks") == rows("2024-10-07", "2024-10-08", "2024-10-14")
    project.write({"models/clicks.yml": MATCHES})
    assert project.dbt("test", execution_date="2024-10-14").ok


MATCHES = """
    models:
      - name: clicks
        data_tests: [ditto.ditto_ledger_matches_history, ditto.ditto_no_stale]
"""


@pytest.mark.slow
def test_hours_fall_into_their_day(project: Project) -> None:
    clicks(project, granularity="day")
    hours = [f"2024-10-07 {hour}:00:00" for hour in ("00", "01", "02")]
    for hour in hours:
        project.must_run(hour.replace(" ", "T"))
    assert units(project) == ["d20241007"]
    project.must_run("2024-10-07T01:00:00")
    assert project.rows("clicks") == rows(*hours)
    # Only the first hour of the day prepares it.
    project.must_run("2024-10-07T00:00:00")
    assert project.rows("clicks") == rows(hours[0])
    assert [status for _, status in sorted(project.states("clicks").items())] == ["live", "stale", "stale"]
    project.write({"models/clicks.yml": MATCHES})
    tested = project.dbt("test", execution_date="2024-10-07")
    assert {str(node.status) for node in tested.nodes} == {"pass", "fail"}, "stale executions are found"


@pytest.mark.slow
def test_each_load_is_the_full_dataset(project: Project) -> None:
    clicks(project, granularity="full")
    for day in ("2024-10-07", "2024-10-08", "2024-10-08"):
        project.must_run(day)
    assert units(project) == ["full"]
    assert project.rows("clicks") == rows("2024-10-08")
    # An older load makes the later ones stale, and a new one replaces all of it, so it is not refused.
    project.must_run("2024-10-07")
    assert project.rows("clicks") == rows("2024-10-07")
    assert project.states("clicks")["2024-10-08 00:00:00"] == "stale"
    project.must_run("2024-10-09")
    assert project.rows("clicks") == rows("2024-10-09")


@pytest.mark.slow
def test_readers_never_miss_a_row(project: Project) -> None:
    """While units are added, replaced and replayed, a reader in a loop always finds the first one whole."""
    clicks(project, granularity="day")
    project.must_run("2024-10-07")
    seen: list[int] = []
    failures: list[str] = []
    done = threading.Event()

    def read() -> None:
        session = project.spark.newSession()
        query = f"select count(*) from {project.schema}.clicks where day = date'2024-10-07'"
        while not done.is_set():
            try:
                seen.append(session.sql(query).collect()[0][0])
            except Exception as error:
                failures.append(str(error)[:300])

    reader = threading.Thread(target=read)
    reader.start()
    try:
        for day in ("2024-10-08", "2024-10-07"):
            project.must_run(day)
    finally:
        done.set()
        reader.join()
    assert failures == []
    assert set(seen) == {2}
    assert len(seen) > 4


@pytest.mark.slow
def test_what_is_refused_touches_nothing(project: Project) -> None:
    clicks(project, file_format="parquet")
    assert "insert_overwrite" in project.run("2024-10-07").text
    clicks(project)
    for day in ("2024-10-07", "2024-10-08"):
        project.must_run(day)
    # Somebody dropped the table of the week: a slice alone would hide that Monday and Tuesday are lost.
    project.sql("drop table {schema}.clicks__w20241007")
    refused = project.run("2024-10-09")
    assert "although these executions were loaded into it: 2024-10-07, 2024-10-08" in refused.text
    project.must_run("2024-10-07")
    project.must_run("2024-10-08")
    project.must_run("2024-10-09")
    assert project.rows("clicks") == rows("2024-10-07", "2024-10-08", "2024-10-09")

    clicks(project, granularity="month")
    assert "units of another one: clicks__w20241007" in project.run("2024-10-10").text
    project.must_run("2024-10-10", "--full-refresh")
    assert units(project) == ["m20241001"]
    assert project.rows("clicks") == rows("2024-10-10")
    assert project.states("clicks") == {"2024-10-10 00:00:00": "live"}

    # --empty makes no unit, and no view that is there is changed.
    assert project.run("2024-11-01", "--empty").ok
    assert units(project) == ["m20241001"]
    project.sql("drop view {schema}.clicks")
    assert project.run("2024-11-01", "--empty").ok
    assert project.rows("clicks") == rows("2024-10-10")
    project.must_run("2024-10-11")
    assert project.rows("clicks") == rows("2024-10-10", "2024-10-11")

    project.sql("drop view {schema}.clicks")
    project.sql("create table {schema}.clicks using delta as select 1 as id")
    assert "a table under the name" in project.run("2024-10-12").text


@pytest.mark.slow
def test_a_contract_and_documented_columns(project: Project) -> None:
    clicks(project, SELECT.replace("from range", ", cast('ab' as string) as code from range"), granularity="day",
           contract={"enforced": True}, persist_docs={"relation": True, "columns": True})  # fmt: skip
    project.write({"models/clicks.yml": CONTRACT})
    project.must_run("2024-10-07")
    project.must_run("2024-10-08")
    described = {row[0]: row[2] for row in project.sql("describe extended {schema}.clicks")}
    assert described["id"] == "The key"
    assert [row[1] for row in project.sql("describe extended {schema}.clicks") if row[0] == "Comment"] == ["All clicks"]
    clicks(project, SELECT.replace("from range", ", cast('abc' as string) as code from range"), granularity="day",
           contract={"enforced": True}, persist_docs={"relation": True, "columns": True})  # fmt: skip
    assert not project.run("2024-10-09").ok
    assert len(project.rows("clicks")) == 4
    assert units(project) == ["d20241007", "d20241008"]


CONTRACT = """
    models:
      - name: clicks
        description: All clicks
        columns:
          - {name: id, data_type: int, description: The key, constraints: [{type: not_null}]}
          - {name: loaded, data_type: string}
          - {name: day, data_type: date}
          - {name: code, data_type: varchar(2)}
"""
