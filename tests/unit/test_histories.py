"""Random histories: the shrinker finds a known cause, and the oracles say what the docs say."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from tests.chaos.histories.generate import history as generate
from tests.chaos.histories.history import History, shell
from tests.chaos.histories.patterns import PATTERNS
from tests.chaos.histories.shrink import shrink
from tests.chaos.histories.worlds import World

DAYS = [f"2024-10-0{number}T00:00:00" for number in range(5, 10)]


def failing_after_a_replay(history: History) -> bool:
    """A bug for the shrinker: a replay of the first execution after a compaction, while its input has a B."""
    words = [step[0] for step in history.steps]
    if "optimize" not in words:
        return False
    later = history.steps[words.index("optimize") :]
    return ["run", DAYS[0]] in later and any(row[0] == "B" for row in history.feed[DAYS[0]])


def test_the_smallest_failing_history_is_found() -> None:
    feed = {day: [["A", 1], ["B", 2], ["C", 3]] for day in DAYS}
    noise = [["run", day] for day in DAYS]
    steps = [*noise, ["correct", DAYS[1], [["A", 1]]], ["optimize"], *noise, ["release"], *noise]
    smallest = shrink(History("merger", "soft_delete", feed, steps), failing_after_a_replay)
    assert smallest.steps == [["optimize"], ["run", DAYS[0]]]
    assert smallest.feed == {day: [] for day in DAYS} | {DAYS[0]: [["B", 2]]}


def test_rows_of_a_correction_shrink_too() -> None:
    def fails(history: History) -> bool:
        return any(step[0] == "correct" and [2] in step[2] for step in history.steps)

    smallest = shrink(
        History("merger", "soft_delete", {}, [["correct", DAYS[0], [[1], [2], [3]]], ["optimize"]]), fails
    )
    assert smallest.steps == [["correct", DAYS[0], [[2]]]]


def test_shrinking_ends_in_time_with_a_history_that_fails() -> None:
    history = History("merger", "soft_delete", {}, [["run", day] for day in DAYS])
    assert shrink(history, lambda _: True, seconds=-1) == history


def test_a_history_is_data_and_comes_from_its_seed() -> None:
    for seed in range(100):
        history = generate(seed)
        assert History.from_json(history.to_json()) == history == generate(seed)
        assert history.to_json() in shell(history).replace("'\\''", "'")


def test_seeds_go_through_every_variant_of_every_pattern() -> None:
    made = {(history.pattern, history.variant) for history in map(generate, range(45))}
    assert made == {(name, variant) for name, pattern in PATTERNS.items() for variant in pattern.variants}


def test_every_step_of_the_oracles_has_an_end() -> None:
    """Whatever happens in whatever order, an oracle knows what may come of it."""
    for seed in range(300):
        history = generate(seed)
        pattern = PATTERNS[history.pattern](history.variant)
        worlds = [World(pattern.empty)]
        for word, *arguments in history.steps:
            if word not in ("run", "crash", "full_refresh", "crash_refresh", "release"):
                continue
            after = []
            for world in worlds:
                if word == "release":
                    after += pattern.release(world)
                else:
                    given: Any = history.feed.get(arguments[0], []) if pattern.columns else {"a.csv": [[1], 1]}
                    act = pattern.crash if word.startswith("crash") else pattern.run
                    after += act(world, arguments[0], given, word in ("full_refresh", "crash_refresh"))
            assert after
            worlds = list({repr(possible.world): possible.world for possible in after}.values())[:50]
            for world in worlds:
                pattern.seen(world)


def changes(*letters: str) -> list[list[Any]]:
    """`A-U` is an update of A, `A-D` a deletion."""
    return [[letter[0], letter, None, letter.endswith("-D")] for letter in letters]


FOUR_HOURS = [changes("A"), changes("A-U", "B"), changes("B-D", "C"), changes("M", "N", "O")]
END = ["A-U", "C", "M", "N", "O"]


@pytest.mark.parametrize(
    ("name", "variant", "expected"),
    [
        ("merger", "soft_delete", [["A-U", "B", "C", "M", "N", "O"], END, END]),
        ("stateful_merge", "delta", [["A-U", "B"], ["A-U", "C"], END]),
    ],
)
def test_the_oracles_know_the_example_of_the_docs(name: str, variant: str, expected: list[list[str]]) -> None:
    pattern = PATTERNS[name](variant)
    world, found = World(pattern.empty), []
    for hour, given in itertools.chain(enumerate(FOUR_HOURS), list(enumerate(FOUR_HOURS))[1:]):
        [possible] = pattern.run(world, DAYS[hour], given)
        assert possible.result == "ok"
        world = possible.world
        found.append([row.split("|")[1] for row in pattern.seen(world)["model"]])
    assert found[3] == END
    assert found[4:] == expected
