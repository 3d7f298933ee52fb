"""stateful_merge against a model of a few lines of Python: random histories, compared after every step.

DITTO_HISTORIES=200 runs it at length, DITTO_SEED=7 begins elsewhere, DITTO_STEPS=9 makes each of them longer. A failure
prints its steps.
"""

from __future__ import annotations

import datetime as dt
import os
import random
from collections.abc import Callable

import pytest

from tests.functional.stateful_merge.feed import expected, letters, seen
from tests.support import Project, statements

SEQUENCES = int(os.environ.get("DITTO_HISTORIES", "1"))
STEPS_OF_EACH = int(os.environ.get("DITTO_STEPS", "4"))
FIRST_SEED = int(os.environ.get("DITTO_SEED", "5"))  # a plain one; 4 is one without versions
VARIANTS = [{}, {}, {}, {"readers": "pinned"}, {"versioning": "history", "file_format": "parquet"}]


class History:
    """One model and what its table should hold."""

    def __init__(self, project: Project, seed: int) -> None:
        self.random = random.Random(seed)
        self.project = project
        self.config = VARIANTS[seed % len(VARIANTS)]
        step = dt.timedelta(hours=1) if self.random.random() < 0.3 else dt.timedelta(days=1)
        self.times = [(dt.datetime(2024, 10, 5) + number * step).isoformat() for number in range(6)]
        self.feed = {time: self.increment() for time in self.times}
        self.applied: dict[str, list[str]] = {}
        """Live executions and the increment that each of them brought."""
        self.stale: set[str] = set()
        self.readers = ""
        self.steps: list[str] = []
        self.save()

    def increment(self) -> list[str]:
        keys = self.random.sample("ABCDEF", self.random.randint(0, 3))
        return [f"{key}{self.random.choice(['', '-U', '-V', '-D', '-D'])}" for key in keys]

    def save(self) -> None:
        letters(self.project, self.feed, **self.config)

    def content(self) -> str:
        return expected(self.applied, *sorted(self.applied))

    def done(self, time: str) -> None:
        later = {other for other in self.applied if other > time}
        self.stale = (self.stale | later) - {time}
        self.applied = {other: rows for other, rows in self.applied.items() if other < time} | {time: self.feed[time]}
        if not self.stale:
            self.readers = self.content()

    def refused(self, time: str) -> bool:
        return any(other < time for other in self.stale)

    def run(self, time: str) -> None:
        self.steps.append(f"run {time}")
        outcome = self.project.run(time)
        if self.refused(time):
            assert not outcome.ok and "stale executions before this one" in outcome.text, self.story(outcome.text)
        else:
            assert outcome.ok, self.story(outcome.text)
            self.done(time)

    def next_time(self) -> str | None:
        known = self.stale | set(self.applied)
        return next((time for time in self.times if time not in known), None)

    # the steps

    def forward(self) -> None:
        waiting = sorted(self.stale)
        time = waiting[0] if waiting else self.next_time()
        if time:
            self.run(time)

    def any_time(self) -> None:
        """A replay, a duplicate, a late one, or one that has to be refused."""
        self.run(self.random.choice(self.times[: len(self.applied) + len(self.stale) + 1]))

    def correction(self) -> None:
        time = self.random.choice(self.times)
        self.feed[time] = self.increment()
        self.steps.append(f"the input of {time} is now {self.feed[time]}")
        self.save()

    def backfill(self) -> None:
        known = sorted(self.stale | set(self.applied))
        if not known or self.refused(known[-1]):
            return
        for time in known[self.random.randrange(len(known)) :]:
            self.run(time)

    def compact(self) -> None:
        if self.applied and "versioning" not in self.config:
            table = "letters__data" if "readers" in self.config else "letters"
            self.steps.append("optimize")
            self.project.spark.sql(f"optimize {self.project.schema}.{table}")

    def crash(self) -> None:
        time = self.random.choice(self.times[: len(self.applied) + len(self.stale) + 1])
        if self.refused(time):
            return
        point = self.random.randint(3, 24)
        self.steps.append(f"run {time}, killed before statement {point}")
        with statements(die_before=point) as sent:
            killed = self.project.run(time)
        self.steps[-1] += f" ({'died' if len(sent) < point else 'done'} after {len(sent)})"
        if killed.ok:
            self.done(time)
            return
        status = self.project.states("letters") if self.ledger() else {}
        moment = time.replace("T", " ")
        if status.get(moment) == "unfinished" and "versioning" not in self.config and self.random.random() < 0.3:
            self.steps.append("release")
            assert self.project.dbt("run-operation", "ditto_release", "--args", "{model: letters}").ok, self.story()
        else:
            self.run(time)

    def ledger(self) -> bool:
        return self.project.spark.catalog.tableExists(f"{self.project.schema}.ditto_state")

    # the comparison

    def check(self) -> None:
        if not self.applied:
            return
        assert seen(self.project) == (self.readers if "readers" in self.config else self.content()), self.story()
        if "readers" in self.config:
            assert seen(self.project, "letters__data") == self.content(), self.story()
        status = {time.replace("T", " "): "live" for time in self.applied}
        status |= {time.replace("T", " "): "stale" for time in self.stale}
        known = {time: state for time, state in self.project.states("letters").items() if state != "released"}
        assert known == status, self.story()

    def story(self, text: str = "") -> str:
        return "\n".join([str(self.config), str(self.feed), *self.steps, text])


STEPS: list[tuple[int, Callable[[History], None]]] = [
    (5, History.forward),
    (3, History.any_time),
    (1, History.correction),
    (2, History.backfill),
    (1, History.compact),
    (3, History.crash),
]


@pytest.mark.parametrize("seed", range(FIRST_SEED, FIRST_SEED + SEQUENCES))
def test_a_random_history(project: Project, seed: int) -> None:
    history = History(project, seed)
    weights, steps = zip(*STEPS, strict=True)
    history.forward()
    history.check()
    for step in history.random.choices(steps, weights, k=STEPS_OF_EACH):
        step(history)
        history.check()
    assert project.dbt("run-operation", "ditto_verify").ok, history.story()
