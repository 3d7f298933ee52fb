"""Which executions are in the table, and which have to be replayed."""

from __future__ import annotations

import random
from typing import Any

import pytest
from macro_harness import Ditto
from stateful_merge_model import applied, moment, outcome


def chain(ditto: Ditto, *outcomes: dict[str, Any]) -> tuple[list[str], list[str]]:
    found = ditto.execution_chain(list(outcomes))
    return tuple([item["time"][5:10] for item in found[part]] for part in ("live", "stale"))  # type: ignore[return-value]


def test_nothing_was_applied(ditto: Ditto) -> None:
    assert chain(ditto) == ([], [])


def test_executions_in_order_are_live(ditto: Ditto) -> None:
    assert chain(ditto, *applied("10-05", "10-06", "10-07")) == (["10-05", "10-06", "10-07"], [])


def test_the_order_of_the_events_in_the_ledger_does_not_count(ditto: Ditto) -> None:
    shuffled = [outcome("10-07", 6), outcome("10-05", 1), outcome("10-08", 4), outcome("10-06", 2), outcome("10-07", 3)]
    assert chain(ditto, *shuffled) == (["10-05", "10-06", "10-07"], ["10-08"])


def test_a_replay_makes_the_later_ones_stale_until_they_are_replayed(ditto: Ditto) -> None:
    four = applied("10-05", "10-06", "10-07", "10-08")
    replayed = [*four, outcome("10-07", 6)]
    assert chain(ditto, *replayed) == (["10-05", "10-06", "10-07"], ["10-08"])
    assert chain(ditto, *replayed, outcome("10-08", 7)) == (["10-05", "10-06", "10-07", "10-08"], [])


def test_a_replay_of_a_replay(ditto: Ditto) -> None:
    four = applied("10-05", "10-06", "10-07", "10-08")
    replays = [outcome("10-06", 6), outcome("10-07", 7), outcome("10-06", 9)]
    assert chain(ditto, *four, *replays) == (["10-05", "10-06"], ["10-07", "10-08"])


def test_the_base_version_of_a_live_execution_is_that_of_its_last_outcome(ditto: Ditto) -> None:
    found = ditto.execution_chain([*applied("10-05", "10-06"), outcome("10-06", 4, base_version=3)])
    assert [(item["version"], item["base_version"]) for item in found["live"]] == [(1, 0), (4, 3)]


def test_a_late_execution_makes_the_later_ones_stale(ditto: Ditto) -> None:
    assert chain(ditto, *applied("10-05", "10-08"), outcome("10-07", 4)) == (["10-05", "10-07"], ["10-08"])


def test_a_forward_run_over_a_stale_one_leaves_it_stale(ditto: Ditto) -> None:
    """With on_stale: warn."""
    outcomes = [*applied("10-05", "10-06"), outcome("10-05", 4), outcome("10-07", 5)]
    assert chain(ditto, *outcomes) == (["10-05", "10-07"], ["10-06"])


def test_executions_that_changed_no_row_share_a_version(ditto: Ditto) -> None:
    """An empty increment makes no commit: the position in the ledger decides."""
    empty = [outcome("10-05", 1), outcome("10-06", 1, 1, seq=4), outcome("10-07", 1, 1, seq=6)]
    assert chain(ditto, *empty) == (["10-05", "10-06", "10-07"], [])
    assert chain(ditto, *empty, outcome("10-06", 1, 1, seq=8)) == (["10-05", "10-06"], ["10-07"])


def test_what_was_released_half_way_has_to_be_replayed_and_so_do_the_later_ones(ditto: Ditto) -> None:
    released = outcome("10-06", 3, 3, event="released", seq=9)
    three = applied("10-05", "10-06", "10-07")
    assert chain(ditto, *three, released) == (["10-05"], ["10-06", "10-07"])
    assert chain(ditto, *three, released, outcome("10-06", 5)) == (["10-05", "10-06"], ["10-07"])


def test_tables_without_versions(ditto: Ditto) -> None:
    """JSON leaves nulls out: the facts of a parquet table have no version at all."""

    def unversioned(day: str, seq: int) -> dict[str, Any]:
        return {"generation": 1, "event": "committed", "time": moment(day), "seq": seq}

    three = [unversioned("10-05", 2), unversioned("10-06", 4), unversioned("10-07", 6)]
    assert chain(ditto, *three, unversioned("10-06", 8)) == (["10-05", "10-06"], ["10-07"])
    assert ditto.execution_chain(three)["live"][0]["base_version"] is None


# --- against a model ------------------------------------------------------------------------------------------------


def random_outcomes(random_: random.Random) -> list[dict[str, Any]]:
    """Executions, replays, releases and empty increments in any order, on a table that also gets other commits."""
    outcomes: list[dict[str, Any]] = []
    version = 0
    for position in range(1, random_.randint(1, 14)):
        version += random_.choice((0, 1, 1, 2, 4))
        event = random_.choice(("committed", "committed", "committed", "released"))
        day = f"10-{random_.randint(1, 6):02}"
        outcomes.append(outcome(day, version, seq=position * 2, event=event))
    return outcomes


def brute_force(outcomes: list[dict[str, Any]]) -> tuple[list[str], list[str]]:
    """Apply one outcome after the other: each takes what is at or after its time out of the table."""
    table: list[str] = []
    seen: set[str] = set()
    for item in outcomes:
        day = item["time"][5:10]
        seen.add(day)
        table = [other for other in table if other < day]
        if item["event"] == "committed":
            table.append(day)
    return table, sorted(seen - set(table))


@pytest.mark.parametrize("seed", range(4))
def test_the_same_as_applying_the_outcomes_one_by_one(ditto: Ditto, seed: int) -> None:
    random_ = random.Random(seed)
    for _ in range(100):
        outcomes = random_outcomes(random_)
        expected = brute_force(outcomes)
        random_.shuffle(outcomes)
        assert chain(ditto, *outcomes) == expected, outcomes
