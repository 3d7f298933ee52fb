"""Every pattern against a model of a few lines of Python: random histories, compared after every step.

DITTO_HISTORIES=200 runs it at length, DITTO_SEED=7 begins elsewhere, DITTO_STEPS=9 makes each of them longer,
DITTO_PATTERN=merger takes only one. A failure is made smaller for DITTO_SHRINK seconds, and printed with the command
that plays it again.
"""

from __future__ import annotations

import os
from collections.abc import Callable

import pytest

from tests.chaos.histories.engine import Difference, play
from tests.chaos.histories.generate import history as generate
from tests.chaos.histories.history import History, shell
from tests.chaos.histories.shrink import shrink
from tests.support import Project, note

SEQUENCES = int(os.environ.get("DITTO_HISTORIES", "60"))
STEPS_OF_EACH = int(os.environ.get("DITTO_STEPS", "5"))
FIRST_SEED = int(os.environ.get("DITTO_SEED", "0"))
PATTERN = os.environ.get("DITTO_PATTERN")
SHRINK = float(os.environ.get("DITTO_SHRINK", "120"))
SEEDS = range(FIRST_SEED + 1, FIRST_SEED + SEQUENCES)  # the first one is the short one
NewProject = Callable[[], Project]


def difference(new_project: NewProject, history: History) -> Difference | None:
    try:
        play(new_project(), history)
    except Difference as found:
        return found
    except Exception as error:  # a view that leads nowhere, say: what the engine cannot read is a difference too
        return Difference(f"{type(error).__name__}: {error}", len(history.steps))
    return None


def check(new_project: NewProject, seed: int) -> None:
    history = generate(seed, STEPS_OF_EACH, PATTERN)
    if (found := difference(new_project, history)) is None:
        note("history", pattern=history.pattern, variant=history.variant, seed=seed, steps=history.words())
        return
    begun = history.with_steps(history.steps[: found.steps])
    smallest = shrink(begun, lambda smaller: difference(new_project, smaller) is not None, SHRINK)
    if smallest != begun:
        found = difference(new_project, smallest) or found
    pytest.fail(f"seed {seed}\n{smallest.story()}\n{found}\n\nto see it again:\n{shell(smallest)}", pytrace=False)


def test_a_short_history(another_project: NewProject) -> None:
    check(another_project, FIRST_SEED)


@pytest.mark.slow
@pytest.mark.parametrize("seed", SEEDS, ids=lambda seed: f"{generate(seed, pattern=PATTERN).pattern}-{seed}")
def test_a_random_history(another_project: NewProject, seed: int) -> None:
    check(another_project, seed)
