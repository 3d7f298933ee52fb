"""Who may append to the ledger, in any order of any number of runs: the ids of the macros in a model of Delta's rule.

Delta takes an append with a transaction id only if that is newer than every one before it. Runs act on what they read,
which may be old by then.
"""

from __future__ import annotations

from random import Random
from typing import Any

import pytest
from macro_harness import Ditto

RELATION = "demo.visits"


class Ledger:
    def __init__(self) -> None:
        self.seen = 0
        self.events: list[tuple[int, str]] = []

    def append(self, lease: dict[str, Any], token: int, event: str) -> bool:
        if lease["version"] <= self.seen:
            return False
        self.seen = lease["version"]
        self.events.append((token, event))
        return True

    def facts(self) -> dict[str, Any]:
        token = max((token for token, _ in self.events), default=0)
        last = [event for holder, event in self.events if holder == token][-1:]
        return {"token": token, "unfinished": [{"token": token}] if last == ["started"] else []}


class Run:
    """Reads, claims, ends. It may die or sleep before each of these."""

    def __init__(self, ditto: Ditto, ledger: Ledger, kind: str) -> None:
        self.ditto, self.ledger, self.kind = ditto, ledger, kind
        self.steps = [self.read, self.claim, self.end, self.correct]

    def step(self) -> None:
        if self.steps:
            self.steps.pop(0)()

    def read(self) -> None:
        self.facts = self.ledger.facts()

    def claim(self) -> None:
        self.token = self.facts["token"] + 1
        event = "released" if self.kind == "release" else "started"
        landed = self.ledger.append(self.ditto.claim_id(RELATION, self.facts), self.token, event)
        if not landed or event == "released":
            self.steps.clear()

    def end(self) -> None:
        event = "released" if self.kind == "refused" else "committed"
        if not self.ledger.append(self.ditto.lease_id(RELATION, self.token, "end"), self.token, event):
            self.steps.clear()

    def correct(self) -> None:
        """The engine took the rows after all."""
        if self.kind == "refused":
            self.ledger.append(self.ditto.lease_id(RELATION, self.token, "correction"), self.token, "committed")


@pytest.mark.parametrize("seed", range(60))
def test_every_token_has_one_holder_and_nobody_ends_what_was_taken_over(ditto: Ditto, seed: int) -> None:
    random, ledger = Random(seed), Ledger()
    runs = [Run(ditto, ledger, random.choice(["good", "good", "refused", "release"])) for _ in range(6)]
    for _ in range(40):
        random.choice(runs).step()
    for place, (token, event) in enumerate(ledger.events):
        assert all(earlier <= token for earlier, _ in ledger.events[:place]), ledger.events
        if event == "started":
            assert token not in [earlier for earlier, _ in ledger.events[:place]], ledger.events
