"""Real processes on a real Spark Thrift Server: two at once on one model."""

from __future__ import annotations

from typing import Any

import pytest

from tests.chaos.server import SLOW, Server, days_of, finish
from tests.functional.file_ingest.landing import Landing, ingest
from tests.functional.stateful_merge.feed import DAYS, expected, letters
from tests.support import Project


@pytest.mark.slow
def test_two_runs_of_one_model_at_once(server: Server, remote: Project) -> None:
    """Different dates and the same date, first run included: nothing is lost or doubled."""
    remote.model("visits", SLOW.replace("60000", "600"), materialized="insert_overwrite", partition_by="day")
    remote.model("devices", SLOW.replace("60000", "600"), materialized="merger", unique_key="id")
    remote.model("events", SLOW.replace("60000", "600"), materialized="dedup_insert", unique_key=["id", "noise"])
    remote.model("keyed", SLOW.replace("60000", "600"), materialized="keyed_idempotency", unique_key="id")
    table = f"{remote.schema}.visits"
    for first, second in (("2024-10-01", "2024-10-02"), ("2024-10-03", "2024-10-03")):
        both = [server.dbt(remote, "run", day=first), server.dbt(remote, "run", day=second)]
        outcomes = [finish(process) for process in both]
        for code, output in outcomes:
            assert code == 0 or "other runs of this model committed" in output, output
        for day in {first, second}:
            server.inside(remote, "run", day=day)
    assert days_of(server, table) == [(f"2024-10-0{day}", 20, 20) for day in (1, 2, 3)]
    for name in ("devices", "events", "keyed"):
        assert server.sql(f"select count(*), count(distinct id) from {remote.schema}.{name}") == [(20, 20)]
    states = server.sql(
        f"select relation, count(*), sum(if(live, 1, 0)) from {remote.schema}.ditto_state group by relation"
    )
    assert sorted(states) == [(f"{remote.schema}.{name}", 3, 3) for name in ("devices", "events", "keyed", "visits")]
    # Also the columns that a client without ditto gets: times without a zone are a special type for some.
    assert len(server.sql(f"select * from {remote.schema}.ditto_state")) == 12
    server.inside(remote, "run-operation", "ditto_verify")


LEASED = ("another run", "did not finish", "other runs of this model committed")


def at_once(server: Server, project: Project, *days: str) -> None:
    """Runs that start together: each succeeds or says who is in its way. Then each again, one after the other."""
    for code, output in [finish(process) for process in [server.dbt(project, "run", day=day) for day in days]]:
        assert code == 0 or any(text in output for text in LEASED), output
    for day in sorted(set(days)):
        server.inside(project, "run", day=day)


@pytest.mark.slow
@pytest.mark.parametrize("config", [{"write": "append"}, {}, {"audits": ["id >= 0"]}])
def test_two_runs_of_a_transactional_writer_at_once(server: Server, remote: Project, config: dict[str, Any]) -> None:
    """The same date twice, then two dates: each execution is there once, with all of its rows."""
    keyed = {"unique_key": ["id", "day"]} if config.get("write") != "append" else {}
    remote.model("written", SLOW.replace("60000", "600"), materialized="transactional_writer", **keyed, **config)
    at_once(server, remote, "2024-10-01", "2024-10-01")
    at_once(server, remote, "2024-10-02", "2024-10-03")
    assert days_of(server, f"{remote.schema}.written") == [(f"2024-10-0{day}", 20, 20) for day in (1, 2, 3)]
    states = server.sql(f"select status, count(*) from {remote.schema}.ditto_state group by status")
    assert states == [("live", 3)]
    server.inside(remote, "run-operation", "ditto_verify")


def test_two_ingests_of_one_folder_at_once(server: Server, remote: Project) -> None:
    """The same date twice, then two dates with files of which one is overwritten: no file is loaded twice."""
    landing = Landing(remote.path / "landing")
    ingest(remote, landing)
    for number in range(30):
        landing.put(f"{number}.csv", f"{number},a", f"{number},b")
    at_once(server, remote, "2024-10-01", "2024-10-01")
    for number in range(29, 45):
        landing.put(f"{number}.csv", f"{number},c", f"{number},d")
    at_once(server, remote, "2024-10-02", "2024-10-03")
    table = f"{remote.schema}.orders"
    assert server.sql(f"select name, count(*), count(distinct id) from {table} group by name order by name") == [
        ("a", 29, 29), ("b", 29, 29), ("c", 16, 16), ("d", 16, 16)
    ]  # fmt: skip
    files = server.sql(f"select status, record_count, count(*) from {remote.schema}.ditto_files group by 1, 2")
    assert files == [("SUCCESS", 2, 45)]
    assert server.sql(f"select status, count(*) from {remote.schema}.ditto_state group by 1") == [("live", 3)]
    server.inside(remote, "run-operation", "ditto_verify")


@pytest.mark.slow
@pytest.mark.parametrize("versioning", ["tables", "native"])
def test_two_versions_at_once(server: Server, remote: Project, versioning: str) -> None:
    """Readers see the newest execution, whoever came last; every recorded version is whole, and nobody else's."""
    remote.model("published", SLOW.replace("60000", "600"), materialized="proxy_view", versioning=versioning)
    at_once(server, remote, "2024-10-01", "2024-10-01")
    at_once(server, remote, "2024-10-03", "2024-10-02")
    assert days_of(server, f"{remote.schema}.published") == [("2024-10-03", 20, 20)]
    written = server.sql(
        f"select rows_inserted, unit, version from {remote.schema}.ditto_ledger"
        " where event = 'committed' and execution_time is not null"
    )
    assert {rows for rows, _, _ in written} == {20} and len(written) == len({tuple(row[1:]) for row in written})
    server.inside(remote, "run-operation", "ditto_verify")


@pytest.mark.slow
def test_backfills_over_thrift(server: Server, remote: Project) -> None:
    """The seeds' three scenarios, then two executions at once, of which only one may hold the lease."""
    letters(remote)

    def run(day: str) -> None:
        server.inside(remote, "run", day=f"2024-10-{day}")

    def state() -> list[tuple[Any, ...]]:
        return server.sql(f"select delta_table_version, live from {remote.schema}.ditto_state order by execution_time")

    def rows() -> str:
        return ",".join(sorted(row[0] for row in server.sql(f"select value from {remote.schema}.letters")))

    for day in ("05", "06", "07", "08"):
        run(day)
    assert state() == [(1, True), (2, True), (3, True), (4, True)]
    run("07")
    assert state() == [(1, True), (2, True), (6, True), (4, False)]
    assert rows() == expected(DAYS, "2024-10-05", "2024-10-06", "2024-10-07")
    run("08")
    assert state() == [(1, True), (2, True), (6, True), (7, True)]
    run("05")
    assert [live for _, live in state()] == [True, False, False, False]
    assert rows() == "A,B"

    both = [server.dbt(remote, "run", day="2024-10-06"), server.dbt(remote, "run", day="2024-10-05")]
    for code, output in [finish(process) for process in both]:
        assert code == 0 or any(text in output for text in LEASED), output
    for day in ("06", "07", "08"):
        run(day)
    assert rows() == expected(DAYS, *list(DAYS)[:4])
    assert all(live for _, live in state())
