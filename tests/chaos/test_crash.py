"""Kill every pattern in each of its modes, and every operation that writes, at any statement; the retry repairs it."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.chaos import crash_operations as operations
from tests.chaos.crash_patterns import (
    Kind,
    backfill,
    first,
    first_of_all,
    full_refresh,
    hiding,
    inserting,
    keyed,
    merging,
    normal,
    overwriting,
    pinned,
    publishing,
    reconciled,
    replay,
    resetting,
    stateful,
    stopping,
    transacting,
    units,
)
from tests.chaos.crashes import Scenario, crash_everywhere, taken_over
from tests.support import Project

HISTORY = stateful("history", versioning="history")
PARQUET_HISTORY = stateful("history, parquet", versioning="history", file_format="parquet")
DELETE_INSERT = overwriting("delete_insert", mode="delete_insert")
PARQUET = overwriting("parquet", file_format="parquet")
AUDITED = transacting("audits", audits=["id >= 0"])
DAYS = units("a table for each day", granularity="day")
MONTHS = units("a table for each month", granularity="month")
PUBLISHED = publishing("tables")


def every_mode(kind: Kind) -> list[Scenario]:
    return [
        first(kind),
        normal(kind),
        replay(kind),
        backfill(kind),
        taken_over(normal(kind), "last write"),
        full_refresh(kind),
    ]


SCENARIOS = [
    *every_mode(overwriting()),
    normal(DELETE_INSERT),
    taken_over(replay(DELETE_INSERT), "first write"),
    taken_over(replay(PARQUET), "last write"),
    full_refresh(PARQUET),
    *every_mode(merging()),
    reconciled(merging()),
    first_of_all(hiding()),
    full_refresh(hiding()),
    *every_mode(keyed()),
    *every_mode(inserting()),
    *every_mode(stateful()),
    backfill(stateful(), 0),
    taken_over(backfill(stateful()), "first write"),
    normal(pinned()),
    backfill(pinned()),
    first(HISTORY),
    backfill(HISTORY),
    taken_over(backfill(PARQUET_HISTORY), "first write"),
    full_refresh(HISTORY),
    *every_mode(MONTHS),
    normal(DAYS),
    resetting(units("")),
    resetting(units("reset by truncate", reset="truncate")),
    resetting(units("reset by drop", reset="drop")),
    taken_over(resetting(units("reset by drop", reset="drop")), "first write"),
    *every_mode(PUBLISHED),
    normal(publishing("native")),
    taken_over(normal(publishing("native")), "last write"),
    normal(publishing("manifest")),
    *every_mode(transacting()),
    normal(AUDITED),
    taken_over(normal(AUDITED), "first write"),
    replay(transacting("append", write="append")),
    normal(stopping(merging())),
    taken_over(normal(stopping(transacting())), "last write"),
    operations.freezing(),
    operations.evolving(),
    operations.pointing("tables"),
    operations.expiring(),
    operations.listing(),
    operations.vacuuming(),
    operations.healing(overwriting()),
    operations.healing(merging()),
    *operations.releases(),
]

# At each run one that overwrites, one that merges, one that goes back; the others too with ./scripts/prove.
QUICK = {
    "insert_overwrite, normal, delete_insert",
    "merger, normal",
    "stateful_merge, backfill",
    "proxy_view, normal",
}


def cases() -> list[object]:
    assert {scenario.name for scenario in SCENARIOS} >= QUICK
    return [
        pytest.param(scenario, id=scenario.name, marks=() if scenario.name in QUICK else pytest.mark.slow)
        for scenario in SCENARIOS
    ]


@pytest.mark.parametrize("scenario", cases())
def test_a_crash_at_any_statement(project: Project, scenario: Scenario, show: Callable[[list[str]], None]) -> None:
    lines = crash_everywhere(scenario, project)
    show(lines)
    assert project.dbt("run-operation", "ditto_verify").ok
