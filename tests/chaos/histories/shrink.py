"""Make a failing history smaller for as long as it fails: whole halves of its steps, then single ones, then rows."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import replace

from tests.chaos.histories.history import History, Rows

Fails = Callable[[History], bool]


def shrink(history: History, fails: Fails, seconds: float = 120) -> History:
    """The smallest history that was found in this time; every one that is kept has been seen failing."""
    until = time.monotonic() + seconds
    found = True
    while found:
        found = False
        for smaller in candidates(history):
            if time.monotonic() > until:
                return history
            if fails(smaller):
                history, found = smaller, True
                break
    return history


def candidates(history: History) -> Iterator[History]:
    """What is one bite smaller, large bites first."""
    size = len(history.steps) // 2
    while size >= 1:
        for start in range(0, len(history.steps), size):
            yield history.with_steps(history.steps[:start] + history.steps[start + size :])
        size //= 2
    yield from _without_rows(history)


def _without_rows(history: History) -> Iterator[History]:
    for moment, rows in history.feed.items():
        for fewer in _fewer(rows):
            yield replace(history, feed=history.feed | {moment: fewer})
    for number, step in enumerate(history.steps):
        for fewer in _fewer(step[2]) if step[0] == "correct" else ():
            yield history.with_steps([*history.steps[:number], [*step[:2], fewer], *history.steps[number + 1 :]])


def _fewer(rows: Rows) -> Iterator[Rows]:
    if len(rows) > 1:
        yield []
    for number in range(len(rows)):
        yield rows[:number] + rows[number + 1 :]
