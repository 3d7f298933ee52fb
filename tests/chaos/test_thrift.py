"""Real processes on a real Spark Thrift Server: two ingests of one folder, and backfills of which two come at once."""

from __future__ import annotations

from typing import Any

import pytest

from tests.chaos.server import Server, finish
from tests.functional.file_ingest.landing import Landing, ingest
from tests.functional.stateful_merge.feed import DAYS, expected, letters
from tests.support import Project

LEASED = ("another run", "did not finish", "other runs of this model committed")


def at_once(server: Server, project: Project, *days: str) -> None:
    """Runs that start together: each succeeds or says who is in its way. Then each again, one after the other."""
    for code, output in [finish(process) for process in [server.dbt(project, "run", day=day) for day in days]]:
        assert code == 0 or any(text in output for text in LEASED), output
    for day in sorted(set(days)):
        server.inside(project, "run", day=day)


@pytest.mark.slow
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
    run("09")
    assert state() == [(1, True), (2, True), (6, True), (7, True), (8, True)]
    run("05")
    assert state() == [(10, True), (2, False), (6, False), (7, False), (8, False)]
    assert rows() == "A,B"

    both = [server.dbt(remote, "run", day="2024-10-06"), server.dbt(remote, "run", day="2024-10-05")]
    for code, output in [finish(process) for process in both]:
        assert code == 0 or any(text in output for text in LEASED), output
    for day in ("06", "07", "08", "09"):
        run(day)
    assert rows() == expected(DAYS, *DAYS)
    assert all(live for _, live in state())
