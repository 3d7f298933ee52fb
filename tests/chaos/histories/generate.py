"""Histories from a seed."""

from __future__ import annotations

import datetime as dt
from random import Random
from typing import Any

from tests.chaos.histories.history import History, Rows, Step
from tests.chaos.histories.patterns import PATTERNS

ORDER = list(PATTERNS)
EXECUTIONS = 6
NAMES = ["a.csv", "b.csv", "c.csv", "d.csv"]


def history(seed: int, length: int = 5, pattern: str | None = None) -> History:
    """The pattern goes round with the seed, and so does its variant."""
    name = pattern or ORDER[seed % len(ORDER)]
    variants = list(PATTERNS[name].variants)
    variant = variants[(seed if pattern else seed // len(ORDER)) % len(variants)]
    return Maker(Random(f"{name} {seed}"), name, variant).history(length)


class Maker:
    def __init__(self, random: Random, pattern: str, variant: str) -> None:
        self.random, self.pattern, self.variant = random, pattern, variant
        hourly = pattern in ("stateful_merge", "fast_metadata_cleaner") and variant != "week" and random.random() < 0.4
        # Three weeks meet at this new year; eight hours divide a day into three.
        step = dt.timedelta(hours=8) if hourly else dt.timedelta(days=1)
        first = dt.datetime(2024, 12, 28 + random.randrange(3))
        self.times = [(first + number * step).isoformat() for number in range(EXECUTIONS)]
        self.known = 0
        """How many of them were run, or tried."""
        self.files: list[str] = []

    def history(self, length: int) -> History:
        feed = {} if self.pattern == "file_ingest" else {time: self.increment(time) for time in self.times}
        steps: list[Step] = [*self.arrivals(), *self.forward()]
        while len(steps) < length:
            kinds, weights = zip(*self.kinds(), strict=True)
            steps += self.random.choices(kinds, weights)[0]()
        return History(self.pattern, self.variant, feed, steps)

    def kinds(self) -> list[tuple[Any, int]]:
        kinds = [(self.forward, 5), (self.again, 3), (self.crash, 4), (self.backfill, 2), (self.full_refresh, 1)]
        kinds += [(self.empty, 1), (self.optimize, 1)]
        if self.pattern == "proxy_view":
            kinds.append((self.point, 3))
        if self.pattern == "file_ingest":
            return [*kinds, (self.file, 6)]
        return [*kinds, (self.correct, 3)]

    # What the input brings.

    def increment(self, time: str) -> Rows:
        if self.pattern == "insert_overwrite":
            return [[self.random.randrange(20), self.day(time)] for _ in range(self.random.randrange(4))]
        rows = [self.change(key) for key in self.random.sample("ABCDEF", self.random.randrange(4))]
        if self.random.random() < 0.06 and rows:
            rows.append([rows[0][0], "again", 9, False])
        return rows

    def day(self, time: str) -> str:
        """Mostly its own."""
        others = 0.4 if self.variant in ("partitions", "parquet", "table") else 0.05
        return (self.random.choice(self.times) if self.random.random() < others else time)[:10]

    def change(self, key: str) -> list[Any]:
        audited = self.variant == "audited" and self.random.random() < 0.1
        value = "bad" if audited else f"{key}{self.random.randrange(100)}"
        seq = None if self.random.random() < 0.1 else self.random.randrange(6)
        return [key, value, seq, self.random.random() < 0.35]

    # The steps.

    def some_time(self) -> str:
        return self.random.choice(self.times[: min(self.known + 1, EXECUTIONS)])

    def forward(self) -> list[Step]:
        """The next one, or one that leaves a gap."""
        if self.known >= EXECUTIONS:
            return self.again()
        skipped = 1 if self.random.random() < 0.15 and self.known < EXECUTIONS - 1 else 0
        self.known += 1 + skipped
        return [["run", self.times[self.known - 1]]]

    def again(self) -> list[Step]:
        return [["run", self.some_time()]]

    def crash(self) -> list[Step]:
        """And what one does about it, which is not always the right thing."""
        time, point = self.some_time(), self.random.randint(1, 6)
        word = "crash_refresh" if self.random.random() < 0.15 else "crash"
        then: list[list[Step]] = [
            [["run", time]],
            [["release"]],
            [["crash", time, self.random.randint(1, 6)], ["run", time]],
            [["run", self.some_time()], ["run", time]],
            [],
        ]
        return [[word, time, point], *self.random.choices(then, [6, 3, 2, 2, 1])[0]]

    def backfill(self) -> list[Step]:
        time = self.some_time()
        return [["run", time], ["backfill", time]] if self.random.random() < 0.5 else [["backfill", time]]

    def correct(self) -> list[Step]:
        time = self.some_time()
        return [["correct", time, self.increment(time)], ["run", time]]

    def full_refresh(self) -> list[Step]:
        return [["full_refresh", self.some_time()]]

    def empty(self) -> list[Step]:
        return [["empty", self.some_time()]]

    def optimize(self) -> list[Step]:
        return [["optimize"]]

    def point(self) -> list[Step]:
        return [["point", self.random.choice(["previous", "latest"])]]

    # Files.

    def arrivals(self) -> list[Step]:
        return [self.put(), self.put()] if self.pattern == "file_ingest" else []

    def put(self) -> Step:
        name = self.random.choice(NAMES)
        self.files = sorted({*self.files, name})
        content = self.random.sample(range(4), self.random.randint(1, 2))
        return ["put", name, None if self.random.random() < 0.2 else content]

    def file(self) -> list[Step]:
        """Something happens in the folder, then a run."""
        word, name = self.random.choice(["put", "put", "copy", "rename", "remove"]), self.random.choice(self.files)
        step = [word, name] if word == "remove" else [word, name, self.random.choice(NAMES)]
        return [self.put() if word == "put" else step, *(self.again() if self.random.random() < 0.8 else [])]
