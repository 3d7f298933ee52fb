"""What happens to each file: one that is new, changed, renamed, copied, broken, gone, or of a run that died."""

from __future__ import annotations

from typing import Any

import pytest
from file_ingest_model import World, settings
from macro_harness import Ditto


@pytest.fixture
def world(ditto: Ditto) -> World:
    """`a` and `b` are loaded."""
    made = World(ditto, settings(ditto, max_retries=1))
    made.put("a", "x")
    made.put("b", "yy")
    made.run()
    return made


def state(world: World, path: str, *columns: str) -> tuple[Any, ...]:
    row = world.tracker[path]
    return tuple(row[column] for column in columns or ("status", "attempts", "record_count"))


def nothing(found: dict[str, Any]) -> bool:
    return not any(found[key] for key in ("rows", "load", "replaced", "failed", "duplicates", "waiting"))


# --- good files -----------------------------------------------------------------------------------------------------


def test_new_files_are_loaded_and_known_ones_are_not_opened(world: World) -> None:
    assert world.loaded() == {"a": "x", "b": "yy"}
    assert (state(world, "a"), state(world, "b")) == (("SUCCESS", 1, 1), ("SUCCESS", 1, 2))
    assert nothing(world.run())
    world.put("c", "zzz")
    found = world.run()
    assert (found["load"], found["replaced"]) == (["c"], [])
    assert [row["file_path"] for row in found["rows"]] == ["c"]


def test_a_changed_file_replaces_its_own_rows(world: World) -> None:
    world.put("a", "zzz")
    found = world.run()
    assert (found["load"], found["replaced"], found["rows"][0]["loaded_hash"]) == (["a"], ["a"], "x")
    assert world.loaded() == {"a": "zzz", "b": "yy"}
    assert state(world, "a") == ("SUCCESS", 1, 3)


def test_a_touched_file_is_looked_at_once(world: World) -> None:
    world.touch("a")
    found = world.run()
    assert (found["load"], found["replaced"]) == ([], [])
    assert [(row["file_path"], row["status"], row["attempts"]) for row in found["rows"]] == [("a", "SUCCESS", 1)]
    assert state(world, "a", "record_count", "modified") == (1, world.folder["a"].modified)
    assert nothing(world.run())


def test_a_file_that_changed_as_it_was_read_is_looked_at_again(world: World) -> None:
    """Its time cannot tell it from what was read. Once is enough, if it is the same by then."""
    world.tracker["a"]["hashed"] = world.tracker["a"]["modified"] + 1_000_000
    found = world.run()
    assert (found["load"], [(row["file_path"], row["status"], row["attempts"]) for row in found["rows"]]) == (
        [],
        [("a", "SUCCESS", 1)],
    )
    assert nothing(world.run())
    world.tracker["a"]["hashed"] = world.tracker["a"]["modified"] + 1_000_000
    world.folder["a"].content = "z"
    found = world.run()
    assert (found["load"], found["replaced"]) == (["a"], ["a"])


def test_a_change_that_the_time_hides_is_found_by_content_only(ditto: Ditto, world: World) -> None:
    world.folder["a"].content = "z"
    assert nothing(world.run())
    world.settings = settings(ditto, detect_changes="content")
    assert world.run()["load"] == ["a"]


def test_a_renamed_file_is_not_loaded_again(world: World) -> None:
    world.rename("a", "c")
    found = world.run()
    assert (found["load"], found["duplicates"]) == ([], 1)
    assert state(world, "c", "status", "record_count", "duplicate_of") == ("SUCCESS", 0, "a")
    assert world.loaded() == {"a": "x", "b": "yy"}
    assert nothing(world.run())


def test_of_two_new_copies_the_older_one_is_loaded(world: World) -> None:
    world.put("d", "zzz")
    world.copy("d", "c")
    found = world.run()
    assert (found["load"], found["duplicates"]) == (["d"], 1)
    assert state(world, "c", "status", "duplicate_of") == ("SUCCESS", "d")


def test_copies_are_all_loaded_where_the_config_says_so(ditto: Ditto) -> None:
    world = World(ditto, settings(ditto, on_duplicate_content="load"))
    world.put("a", "x")
    world.copy("a", "b")
    found = world.run()
    assert (found["load"], found["duplicates"]) == (["a", "b"], 0)
    world.copy("a", "c")
    assert world.run()["load"] == ["c"]


def test_copies_are_refused_where_the_config_says_so(ditto: Ditto, world: World) -> None:
    world.settings = settings(ditto, on_duplicate_content="error")
    world.copy("a", "c")
    world.put("d", "zzz")
    world.copy("d", "e")
    assert world.run(crash="track")["refused"] == ["c has the content of a", "e has the content of d"]


def test_a_copy_takes_the_place_of_a_changed_original(world: World) -> None:
    world.copy("a", "c")
    world.run()
    world.put("a", "zzz")
    found = world.run()
    assert (sorted(found["load"]), found["replaced"]) == (["a", "c"], ["a"])
    assert world.loaded() == {"a": "zzz", "b": "yy", "c": "x"}
    assert state(world, "c", "status", "duplicate_of", "record_count") == ("SUCCESS", None, 1)


def test_a_copy_waits_while_another_copy_is_loaded(ditto: Ditto) -> None:
    """Two copies were loaded while the config said so; a third one came later, and was left out."""
    world = World(ditto, settings(ditto, on_duplicate_content="load"))
    world.put("a", "x")
    world.copy("a", "b")
    world.run()
    world.settings = settings(ditto)
    world.copy("a", "c")
    world.run()
    world.put("a", "zzz")
    assert world.run()["load"] == ["a"]
    world.put("b", "yy")
    assert sorted(world.run()["load"]) == ["b", "c"]


def test_a_loaded_file_that_becomes_a_copy_is_emptied(world: World) -> None:
    world.put("a", "yy")
    found = world.run()
    assert (found["load"], found["replaced"], found["duplicates"]) == ([], ["a"], 1)
    assert found["rows"][0]["status"] == "IN_PROGRESS"
    assert world.loaded() == {"b": "yy"}
    assert state(world, "a", "status", "record_count", "duplicate_of", "loaded_hash") == ("SUCCESS", 0, "b", None)
    assert nothing(world.run())


def test_a_file_that_goes_away_leaves_its_rows(world: World) -> None:
    del world.folder["a"]
    assert nothing(world.run())
    assert world.loaded() == {"a": "x", "b": "yy"}
    world.put("a", "zzz")
    world.run()
    assert world.loaded() == {"a": "zzz", "b": "yy"}


# --- broken files ---------------------------------------------------------------------------------------------------


def test_a_broken_file_is_tried_again_then_dead_then_left_alone(world: World) -> None:
    world.put("c", "!broken")
    world.put("d", "zzz")
    found = world.run()
    assert (found["load"], [row["file_path"] for row in found["failed"]]) == (["d"], ["c"])
    assert state(world, "c", "status", "attempts", "error_message") == ("FAILED", 1, "line 2 cannot be read")
    assert world.run()["failed"][0]["status"] == "DEAD"
    assert nothing(world.run())


def test_a_dead_file_is_left_alone_where_all_files_are_hashed(ditto: Ditto) -> None:
    world = World(ditto, settings(ditto, max_retries=0, detect_changes="content"))
    world.put("a", "!broken")
    world.run()
    assert nothing(world.run())
    assert world.run(anew=True)["failed"][0]["attempts"] == 1
    world.folder["a"].content = "xxxxxxx"
    assert world.run()["load"] == ["a"]


def test_what_a_dead_file_brought_before_is_not_loaded_again(ditto: Ditto) -> None:
    world = World(ditto, settings(ditto, max_retries=0, detect_changes="content"))
    world.put("a", "x")
    world.run()
    world.put("a", "!broken")
    world.run()
    world.put("b", "x")
    assert (world.run()["load"], state(world, "b", "duplicate_of")) == ([], ("a",))


@pytest.mark.parametrize("runs", [1, 2])
def test_a_fixed_file_comes_in(world: World, runs: int) -> None:
    world.put("c", "!broken")
    for _ in range(runs):
        world.run()
    world.put("c", "!worse")
    world.run()
    assert state(world, "c", "status", "attempts") == ("FAILED", 1), "attempts are counted for one content"
    world.put("c", "zzz")
    assert world.run()["load"] == ["c"]
    assert state(world, "c") == ("SUCCESS", 1, 3)
    assert world.tracker["c"]["error_message"] is None


def test_no_retry_means_dead_at_once(ditto: Ditto) -> None:
    world = World(ditto, settings(ditto, max_retries=0))
    world.put("a", "!broken")
    assert world.run()["failed"][0]["status"] == "DEAD"


def test_a_file_that_is_overwritten_by_a_broken_one_keeps_its_rows(world: World) -> None:
    world.put("a", "!broken")
    found = world.run()
    assert (found["load"], found["replaced"]) == ([], [])
    assert state(world, "a", "status", "record_count", "loaded_hash") == ("FAILED", 1, "x")
    world.put("c", "x")
    assert world.run()["duplicates"] == 1, "its content is still there"


def test_a_reverted_file_is_no_new_load(world: World) -> None:
    world.put("a", "!broken")
    world.run()
    world.put("a", "x")
    found = world.run()
    assert (found["load"], found["replaced"], found["failed"]) == ([], [], [])
    assert state(world, "a", "status", "record_count", "error_message") == ("SUCCESS", 1, None)


# --- runs that died -------------------------------------------------------------------------------------------------


def test_a_load_that_came_through_is_not_repeated(world: World) -> None:
    world.put("a", "zzz")
    world.put("c", "new")
    world.run(crash="load")
    assert state(world, "c", "status", "record_count") == ("IN_PROGRESS", None)
    found = world.run()
    assert (found["load"], found["replaced"], found["landed"]) == ([], [], ["load 2"])
    assert (state(world, "a"), state(world, "c")) == (("SUCCESS", 1, 3), ("SUCCESS", 1, 3))
    assert world.run()["landed"] == []


def test_a_load_that_did_not_come_through_is_repeated(world: World) -> None:
    world.put("a", "zzz")
    world.put("c", "new")
    world.run(crash="track")
    assert world.loaded() == {"a": "x", "b": "yy"}
    found = world.run()
    assert (found["load"], found["replaced"], found["landed"]) == (["a", "c"], ["a", "c"], [])
    assert state(world, "c") == ("SUCCESS", 2, 3)


def test_a_file_that_went_away_meanwhile_is_known_by_its_load(world: World) -> None:
    world.put("c", "zzz")
    world.run(crash="load")
    del world.folder["c"]
    found = world.run()
    assert (found["failed"], state(world, "c")) == ([], ("SUCCESS", 1, 3))
    world.put("d", "new")
    world.run(crash="track")
    del world.folder["d"]
    found = world.run()
    assert [row["error_message"] for row in found["failed"]] == ["the file went away before it was loaded"]
    assert state(world, "d", "status", "loaded_hash") == ("FAILED", None)
    world.run()
    assert "d" not in world.tracker, "it never came in, and is forgotten"
    assert nothing(world.run())


def test_a_broken_file_that_is_removed_is_forgotten(world: World) -> None:
    world.put("c", "!broken")
    world.put("d", "zzz")
    world.run()
    world.put("d", "!broken")
    world.run()
    assert {world.tracker[name]["status"] for name in "cd"} <= {"FAILED", "DEAD"}
    del world.folder["c"], world.folder["d"]
    world.run()
    assert "c" not in world.tracker
    assert state(world, "d", "status", "loaded_hash", "file_hash") == ("SUCCESS", "zzz", "zzz"), "its rows are there"
    assert nothing(world.run())


@pytest.mark.parametrize("change", ["gone", "changed", "broken"])
def test_a_copy_takes_the_place_of_a_file_that_was_never_loaded(world: World, change: str) -> None:
    """The copy was left out for the sake of a load that died: its content would be lost for ever."""
    world.put("c", "zzz")
    world.copy("c", "d")
    world.run(crash="track")
    if change == "gone":
        del world.folder["c"]
    else:
        world.put("c", "!broken" if change == "broken" else "new")
    assert "d" in world.run()["load"]
    assert world.loaded()["d"] == "zzz"


def test_a_copy_takes_the_place_of_a_file_that_changed_while_it_was_loaded(world: World) -> None:
    world.put("c", "zzz")
    world.copy("c", "d")
    world.run(meanwhile=lambda: world.put("c", "new"))
    assert state(world, "c", "status", "loaded_hash") == ("PENDING", "changed")
    found = world.run()
    assert (sorted(found["load"]), found["replaced"]) == (["c", "d"], ["c"])
    assert world.loaded() == {"a": "x", "b": "yy", "c": "new", "d": "zzz"}


@pytest.mark.parametrize("content", ["-", "yy"])
def test_rows_that_a_load_without_rows_took_away_come_back(world: World, content: str) -> None:
    """A header alone, or a copy: the load brings no row that tells of it, and the file gets its old content back."""
    world.put("a", content)
    world.run(crash="load")
    assert "a" not in world.loaded() or content == "-"
    world.put("a", "x")
    found = world.run()
    assert (found["load"], found["replaced"]) == (["a"], ["a"])
    assert world.loaded() == {"a": "x", "b": "yy"}


def test_what_a_dead_load_left_of_a_file_stays_known(world: World) -> None:
    world.put("a", "zzz")
    world.run(crash="track")
    world.put("a", "!broken")
    world.run()
    assert state(world, "a", "status", "record_count", "loaded_hash") == ("FAILED", 1, "x")


# --- full refresh, a lost tracker, many files -----------------------------------------------------------------------


def test_a_full_refresh_loads_everything_and_replaces_nothing(world: World) -> None:
    world.copy("a", "c")
    world.put("d", "!broken")
    world.run()
    found = world.run(anew=True)
    assert (found["load"], found["replaced"], found["lost"]) == (["a", "b"], [], [])
    assert (found["duplicates"], len(found["failed"]), state(world, "d")[:2]) == (1, 1, ("FAILED", 1))
    assert world.loaded() == {"a": "x", "b": "yy"}


def test_a_full_refresh_names_the_files_that_would_be_lost(world: World) -> None:
    del world.folder["a"]
    assert world.run(anew=True)["lost"] == ["a"]


def test_a_lost_tracker_doubles_nothing(world: World) -> None:
    world.tracker = {}
    found = world.run()
    assert (found["load"], found["replaced"]) == (["a", "b"], ["a", "b"])
    assert world.loaded() == {"a": "x", "b": "yy"}


def test_a_lost_tracker_empties_copies(world: World) -> None:
    """Which of two copies had been loaded is not known any more: the rows of both go, those of one come."""
    world.tracker = {}
    world.put("a", "yy")
    found = world.run()
    assert (found["load"], found["replaced"]) == (["b"], ["b", "a"])
    assert world.loaded() == {"b": "yy"}


def test_more_files_than_one_run_may_take_wait(ditto: Ditto) -> None:
    world = World(ditto, settings(ditto, max_files=2))
    for number in range(5):
        world.put(f"f{number}", "x" * (number + 1))
    assert [(found["load"], found["waiting"]) for found in (world.run(), world.run(), world.run())] == [
        (["f0", "f1"], 3),
        (["f2", "f3"], 1),
        (["f4"], 0),
    ]


def test_nothing_in_the_folder_is_nothing_to_do(ditto: Ditto) -> None:
    assert nothing(World(ditto, settings(ditto)).run())
