"""Random histories of a folder, with crashes: after each run the table has what the oracle says, and nothing twice."""

from __future__ import annotations

import random
from collections import Counter

import pytest
from file_ingest_model import World, is_broken, row_count, settings
from macro_harness import Ditto

NAMES = ["a", "b", "c", "d"]
CONTENTS = ["x", "yy", "zzz", "-", "!broken", "!other"]


def change(world: World, dice: random.Random) -> str:
    """Something happens in the folder."""
    name, other = dice.sample(NAMES, 2)
    there = name in world.folder
    what = dice.choice(["put", "put", "touch", "rename", "copy", "copy", "delete"])
    if what == "put" or not there:
        content = dice.choice(CONTENTS)
        world.put(name, content)
        return f"put {name} {content}"
    if what == "delete":
        del world.folder[name]
    elif what == "touch":
        world.touch(name)
    else:
        getattr(world, what)(name, other)
    return f"{what} {name} {other if what in ('rename', 'copy') else ''}"


def check_table(world: World, before: dict[str, str], expected: dict[str, str]) -> None:
    """Each content as often as the oracle says, and no path has rows of a content that it never had."""
    now = world.loaded()
    assert Counter(filter(row_count, now.values())) == Counter(filter(row_count, expected.values()))
    assert all(content in (before.get(path), expected.get(path), world.content(path)) for path, content in now.items())


def change_while_it_runs(world: World, dice: random.Random) -> str:
    """What such a run reads is anybody's guess; the next one sets it right."""
    story: list[str] = []
    world.run(meanwhile=lambda: story.append(change(world, dice)))
    return f"run, and while it runs {story[0]}"


def check_run(world: World, dice: random.Random, anew: bool) -> str:
    """One run, perhaps killed, compared with the oracle. A killed full refresh is done again, as the ledger demands."""
    crash = dice.choice([None, None, None, "track", "load"])
    before = world.loaded()
    expected = world.expected(anew)
    world.run(crash, anew)
    if crash == "track":
        expected = before
    check_table(world, before, expected)
    if crash is None:
        check_tracker(world)
    elif anew:
        return f"run anew, dies after {crash}, then " + check_run(world, dice, anew)
    return f"run{' anew' if anew else ''}{f', dies after {crash}' if crash else ''}"


def check_tracker(world: World) -> None:
    """It tells the truth about the folder and the table."""
    for path, file in world.folder.items():
        row = world.tracker[path]
        broken = is_broken(file.content)
        tries = "DEAD" if row["attempts"] > world.settings["max_retries"] else "FAILED"
        assert row["status"] == (tries if broken else "SUCCESS"), path
        assert bool(row["error_message"]) == broken
        assert not row["duplicate_of"] or path not in world.table
    for path, row in world.tracker.items():
        assert row["status"] != "IN_PROGRESS"
        assert (row["record_count"] or 0) == world.rows_of(path)
    for path, (content, _) in world.table.items():
        if row_count(content):
            assert world.tracker[path]["loaded_hash"] == ("changed" if path in world.uncertain else content)


@pytest.mark.parametrize("rule", ["skip", "load"])
@pytest.mark.parametrize("seed", range(6))
def test_histories(ditto: Ditto, rule: str, seed: int) -> None:
    detect = "content" if seed % 2 else "metadata"
    read = settings(ditto, on_duplicate_content=rule, detect_changes=detect, max_retries=1)
    for number in range(25):
        dice = random.Random(f"{rule} {seed} {number}")
        world = World(ditto, read)
        story: list[str] = []
        try:
            for _ in range(dice.randint(2, 5)):
                story += [change(world, dice) for _ in range(dice.randint(0, 3))]
                story += [change_while_it_runs(world, dice)] if dice.random() < 0.1 else []
                story.append(check_run(world, dice, anew=dice.random() < 0.05))
            world.run()
            again = world.run()
            assert not again["load"] and not again["replaced"], "a run without news loads nothing"
        except AssertionError as error:
            raise AssertionError(f"{rule}, {seed} {number}: {'; '.join(story)}") from error


@pytest.mark.parametrize("limit", [1, 2])
def test_a_few_files_at_a_time_end_in_the_same_table(ditto: Ditto, limit: int) -> None:
    for number in range(20):
        dice = random.Random(f"{limit} {number}")
        world = World(ditto, settings(ditto, max_files=limit, max_retries=1))
        story = []
        for _ in range(3):
            story += [change(world, dice) for _ in range(4)]
            world.run(crash := dice.choice([None, "track", "load"]))
            story.append(f"run, dies after {crash}" if crash else "run")
        last = [world.run() for _ in range(15)][-1]
        good = {file.content for file in world.folder.values() if not is_broken(file.content)}
        found = Counter(filter(row_count, world.loaded().values()))
        assert not last["load"] and last["waiting"] == 0, story
        assert set(filter(row_count, good)) <= found.keys() and set(found.values()) <= {1}, story
