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

DELETE_INSERT = overwriting("delete_insert", mode="delete_insert")
PARQUET = overwriting("parquet", file_format="parquet")
HISTORY = stateful("history", versioning="history")
PARQUET_HISTORY = stateful("history, parquet", versioning="history", file_format="parquet")
MONTHS = units("a table for each month", granularity="month")
DAYS = units("a table for each day", granularity="day")
DROPPED = units("reset by drop", reset="drop")
AUDITED = transacting("audits", audits=["id >= 0"])
PUBLISHED, NATIVE, LISTED = publishing("tables"), publishing("native"), publishing("manifest")

ONE_COMMIT = (overwriting(), merging(), keyed(), inserting(), transacting())
SEVERAL_COMMITS = (stateful(), MONTHS, PUBLISHED)


def every_mode(name: str, *kinds: Kind) -> dict[str, list[Scenario]]:
    return {
        f"first, {name}": first(*kinds),
        f"normal, {name}": normal(*kinds),
        f"replay, {name}": replay(*kinds),
        f"backfill, {name}": backfill(*kinds),
        f"takeover, {name}": taken_over(normal(*kinds), "last write"),
        f"full refresh, {name}": full_refresh(*kinds),
    }


BATCHES = {
    **every_mode("patterns of one commit", *ONE_COMMIT),
    **every_mode("patterns of several commits", *SEVERAL_COMMITS),
    "first, history": first(HISTORY),
    "first, without a schema and a ledger": first_of_all(hiding()),
    "normal, views and their tables": normal(pinned(), DAYS, NATIVE, LISTED),
    "normal, several statements": normal(DELETE_INSERT, AUDITED, stopping(merging())),
    "replay, append": replay(transacting("append", write="append")),
    "backfill, variants": backfill(pinned(), HISTORY),
    "backfill, of the first execution": backfill(stateful(), number=0),
    "backfill, of a unit": resetting(units(""), units("reset by truncate", reset="truncate"), DROPPED),
    "takeover, of another execution": reconciled(merging()),
    "takeover, of a normal run": taken_over(normal(NATIVE, stopping(transacting())), "last write"),
    "takeover, of a normal run, half way": taken_over(normal(AUDITED), "first write"),
    "takeover, of a replay": taken_over(replay(PARQUET), "last write"),
    "takeover, of a replay, half way": taken_over(replay(DELETE_INSERT), "first write"),
    "takeover, of a backfill, half way": taken_over(backfill(stateful(), PARQUET_HISTORY), "first write"),
    "takeover, of a backfill of a unit, half way": taken_over(resetting(DROPPED), "first write"),
    "full refresh, variants": full_refresh(PARQUET, hiding(), HISTORY),
    **{
        scenario.name: [scenario]
        for scenario in (
            operations.freezing(),
            operations.evolving(),
            operations.pointing("tables"),
            operations.expiring(),
            operations.listing(),
            operations.vacuuming(),
            operations.healing(overwriting()),
            operations.healing(merging()),
            *operations.releases(),
        )
    },
}

# At each run ones that overwrite, merge and append, and one that goes back; the others too with ./scripts/prove.
QUICK = {"normal, several statements", "backfill, of the first execution"}


@pytest.mark.parametrize(
    "name", [pytest.param(name, id=name, marks=() if name in QUICK else pytest.mark.slow) for name in BATCHES]
)
def test_a_crash_at_any_statement(project: Project, name: str, show: Callable[[list[str]], None]) -> None:
    show(crash_everywhere(BATCHES[name], project))
