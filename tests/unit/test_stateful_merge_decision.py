"""Every row of the plan table: what has to happen to the table before the increment is merged, and what is refused."""

from __future__ import annotations

from typing import Any

import pytest
from macro_harness import Ditto
from merger_model import view
from stateful_merge_model import (
    INCREMENT,
    ROWS,
    UNTOUCHED,
    applied,
    facts,
    moment,
    node,
    outcome,
    refusal,
    settings,
    unfinished,
)

FOUR = applied("10-05", "10-06", "10-07", "10-08")


def decide(ditto: Ditto, known: dict[str, Any], day: str = "10-07", **config: Any) -> dict[str, Any]:
    return ditto.stateful_merge_decision(settings(ditto, day, **config), known)


def short(decision: dict[str, Any]) -> tuple[str, int | None, bool]:
    return decision["mode"], decision["restore"], decision["truncate"]


def days(times: list[str]) -> list[str]:
    return [time[5:10] for time in times]


def problems(ditto: Ditto, known: dict[str, Any], day: str = "10-07", **config: Any) -> list[dict[str, str]]:
    read = settings(ditto, day, **config)
    return ditto.stateful_merge_problems(read, known, ditto.stateful_merge_decision(read, known))


def plan(ditto: Ditto, known: dict[str, Any], day: str = "10-07", **config: Any) -> dict[str, Any]:
    read = settings(ditto, day, **config)
    options = {name: value for name, value in config.items() if name not in ("full_refresh", "dry")}
    return ditto.stateful_merge_plan(node(**options), read, known, INCREMENT)


def names(made: dict[str, Any]) -> list[str]:
    return [step["name"] for step in made["steps"]]


# --- first ----------------------------------------------------------------------------------------------------------


def test_the_first_run_of_all(ditto: Ditto) -> None:
    decision = decide(ditto, facts([], exists=False))
    assert short(decision) == ("first", None, False)
    assert decision["reason"] == "no execution is recorded for this table"
    assert (decision["head"], decision["become_stale"], decision["missing"]) == (None, [], [])


def test_a_table_that_was_dropped_starts_again(ditto: Ditto) -> None:
    assert short(decide(ditto, facts(FOUR, exists=False), "10-09")) == ("first", None, False)


@pytest.mark.parametrize(
    ("existing_rows", "expected", "refused"),
    [
        ("error", ("first", None, False), True),
        ("keep", ("first", None, False), False),
        ("truncate", ("truncate", None, True), False),
    ],
)
def test_rows_that_no_execution_brought(ditto: Ditto, existing_rows: str, expected: Any, refused: bool) -> None:
    known = facts([], head=3, has_rows=True)
    assert short(decide(ditto, known, existing_rows=existing_rows)) == expected
    found = problems(ditto, known, existing_rows=existing_rows)
    assert [problem["rule"] for problem in found] == (["error"] if refused else [])
    if refused:
        assert "existing_rows='keep'" in found[0]["fix"]
        assert "existing_rows='truncate'" in found[0]["fix"]


def test_an_empty_table_without_executions_needs_no_decision_about_its_rows(ditto: Ditto) -> None:
    known = facts([], head=0, has_rows=False)
    assert short(decide(ditto, known, existing_rows="truncate")) == ("first", None, False)
    assert problems(ditto, known) == []


# --- truncate: no earlier execution ---------------------------------------------------------------------------------


def test_a_backfill_of_the_first_execution_empties_the_table(ditto: Ditto) -> None:
    decision = decide(ditto, facts(FOUR), "10-05")
    assert short(decision) == ("truncate", None, True)
    assert decision["reason"] == "no earlier execution is recorded"
    assert days(decision["become_stale"]) == ["10-06", "10-07", "10-08"]


def test_an_execution_before_all_others_empties_the_table(ditto: Ditto) -> None:
    decision = decide(ditto, facts(FOUR), "10-04")
    assert short(decision) == ("truncate", None, True)
    assert days(decision["become_stale"]) == ["10-05", "10-06", "10-07", "10-08"]


def test_a_table_without_rows_is_not_emptied(ditto: Ditto) -> None:
    assert short(decide(ditto, facts(FOUR, has_rows=False), "10-05")) == ("truncate", None, False)


def test_kept_rows_are_there_before_the_first_execution_too(ditto: Ditto) -> None:
    """Version 3 is the table as it was when ditto found it."""
    known = facts([outcome("10-05", 4), outcome("10-06", 5)])
    assert short(decide(ditto, known, "10-05", existing_rows="keep")) == ("backfill", 3, False)
    assert short(decide(ditto, known, "10-04", existing_rows="keep")) == ("backfill", 3, False)


# --- normal ---------------------------------------------------------------------------------------------------------


def test_the_next_execution_is_a_normal_run(ditto: Ditto) -> None:
    decision = decide(ditto, facts(FOUR), "10-09")
    assert short(decision) == ("normal", None, False)
    assert decision["reason"] == "the previous execution is 2024-10-08"
    assert (decision["head"], decision["become_stale"], decision["stale_before"]) == (4, [], [])


def test_a_skipped_day_is_not_a_first_run(ditto: Ditto) -> None:
    decision = decide(ditto, facts(FOUR), "10-20")
    assert short(decision) == ("normal", None, False)
    assert decision["missing"] == []


def test_a_stale_execution_is_a_normal_run_once_those_before_it_are_live(ditto: Ditto) -> None:
    """10-07 was replayed: 10-08 is applied on top of it."""
    decision = decide(ditto, facts([*FOUR, outcome("10-07", 6, 5)]), "10-08")
    assert short(decision) == ("normal", None, False)
    assert (decision["stale"], decision["stale_before"]) == ([], [])


# --- backfill -------------------------------------------------------------------------------------------------------


def test_a_replay_restores_the_base_version(ditto: Ditto) -> None:
    decision = decide(ditto, facts(FOUR), "10-07")
    assert short(decision) == ("backfill", 2, False)
    assert decision["reason"] == "this execution was applied before, to version 2"
    assert days(decision["become_stale"]) == ["10-08"]


def test_a_replay_of_the_newest_makes_nothing_stale(ditto: Ditto) -> None:
    decision = decide(ditto, facts(FOUR), "10-08")
    assert (short(decision), decision["become_stale"]) == (("backfill", 3, False), [])


def test_compactions_between_two_runs_are_kept(ditto: Ditto) -> None:
    """Merge 5, compactions 6 to 8, merge 9 for 10-07, merge 10: a backfill of 10-07 restores 8."""
    known = facts([outcome("10-05", 4), outcome("10-06", 5), outcome("10-07", 9, 8), outcome("10-08", 10)])
    assert short(decide(ditto, known, "10-07")) == ("backfill", 8, False)


def test_a_late_execution_restores_the_base_of_the_next_one(ditto: Ditto) -> None:
    decision = decide(ditto, facts(applied("10-05", "10-06", "10-08", "10-09")), "10-07")
    assert short(decision) == ("backfill", 2, False)
    assert decision["reason"] == "a later execution, 2024-10-08, was applied before, to version 2"
    assert days(decision["become_stale"]) == ["10-08", "10-09"]


def test_a_replay_of_a_replay_restores_the_newer_base(ditto: Ditto) -> None:
    known = facts([*FOUR, outcome("10-07", 6, 5), outcome("10-08", 7)])
    assert short(decide(ditto, known, "10-07")) == ("backfill", 5, False)
    assert short(decide(ditto, known, "10-08")) == ("backfill", 6, False)


def test_stale_executions_are_not_gone_back_to(ditto: Ditto) -> None:
    """10-06 was replayed, 10-07 and 10-08 are stale: only live ones have a base that counts."""
    known = facts([*FOUR, outcome("10-06", 6, 5)])
    decision = decide(ditto, known, "10-06")
    assert short(decision) == ("backfill", 5, False)
    assert (decision["become_stale"], days(decision["stale"])) == ([], ["10-07", "10-08"])
    assert short(decide(ditto, known, "10-07")) == ("normal", None, False)


def test_hours_are_executions_like_days(ditto: Ditto) -> None:
    known = facts(applied("2024-10-07T07", "2024-10-07T08", "2024-10-07T09", "2024-10-07T10"))
    decision = decide(ditto, known, "2024-10-07T08", interval="hour")
    assert short(decision) == ("backfill", 1, False)
    assert decision["become_stale"] == [moment("2024-10-07T09"), moment("2024-10-07T10")]
    late = decide(ditto, facts(applied("2024-10-07T07", "2024-10-07T09")), "2024-10-07T08")
    assert late["reason"] == "a later execution, 2024-10-07T09:00:00, was applied before, to version 1"


# --- stale ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("rule", ["error", "warn", "ignore"])
def test_stale_executions_before_this_one(ditto: Ditto, rule: str) -> None:
    known = facts([*FOUR, outcome("10-06", 6, 5)])
    decision = decide(ditto, known, "10-09")
    assert (decision["mode"], days(decision["stale_before"])) == ("normal", ["10-07", "10-08"])
    (problem,) = problems(ditto, known, "10-09", on_stale=rule)
    assert problem["rule"] == rule
    assert "stale executions before this one: 2024-10-07, 2024-10-08; " in problem["found"]
    commands = [f"dbt run --select devices --vars '{{execution_date: 2024-10-{day}}}'" for day in ("07", "08", "09")]
    assert problem["fix"].split("\n            ")[1:] == commands


def test_only_what_is_stale_before_it_stops_a_run(ditto: Ditto) -> None:
    known = facts([*FOUR, outcome("10-06", 6, 5)])
    assert problems(ditto, known, "10-07") == []
    assert days(decide(ditto, known, "10-07")["stale"]) == ["10-08"]
    assert [problem["rule"] for problem in problems(ditto, known, "10-08")] == ["error"]


def test_of_many_stale_executions_ten_are_named(ditto: Ditto) -> None:
    month = applied(*[f"10-{day:02}" for day in range(1, 21)])
    (problem,) = problems(ditto, facts([*month, outcome("10-01", 22)]), "10-25")
    assert "2024-10-02, " in problem["found"]
    assert "2024-10-11 and 9 more;" in problem["found"]


# --- gaps -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("interval", "previous", "now", "missing"),
    [
        ("hour", "2024-10-07T22", "2024-10-08T01", ["2024-10-07T23", "2024-10-08T00"]),
        ("hour", "2024-10-07T22", "2024-10-07T23", []),
        ("day", "2024-02-27", "2024-03-01", ["2024-02-28", "2024-02-29"]),
        ("day", "2023-02-27", "2023-03-01", ["2023-02-28"]),
        ("day", "2024-10-06", "2024-10-07", []),
        ("week", "2024-12-23", "2025-01-13", ["2024-12-30", "2025-01-06"]),
        ("month", "2024-11-01", "2025-02-01", ["2024-12-01", "2025-01-01"]),
        ("month", "2024-11-01", "2024-12-01", []),
        ("month", "2024-01-31", "2024-02-29", []),
    ],
)
def test_missing_executions(ditto: Ditto, interval: str, previous: str, now: str, missing: list[str]) -> None:
    decision = decide(ditto, facts(applied(previous)), now, interval=interval)
    assert decision["mode"] == "normal"
    assert decision["missing"] == [moment(time) for time in missing]


@pytest.mark.parametrize("rule", ["error", "warn", "ignore"])
def test_a_gap_and_how_to_close_it(ditto: Ditto, rule: str) -> None:
    known = facts(applied("10-05"))
    (problem,) = problems(ditto, known, "10-08", interval="day", on_gap=rule)
    assert problem["rule"] == rule
    assert problem["found"] == "missing executions before this one (interval: day): 2024-10-06, 2024-10-07"
    assert "{execution_date: 2024-10-06}" in problem["fix"]
    assert "on_gap='warn'" in problem["fix"]


def test_without_an_interval_no_execution_is_missing(ditto: Ditto) -> None:
    assert problems(ditto, facts(applied("10-05")), "10-08") == []


def test_nothing_is_missing_before_the_first_execution(ditto: Ditto) -> None:
    assert decide(ditto, facts(applied("10-05")), "10-01", interval="day")["missing"] == []


def test_a_gap_before_a_replay_counts_too(ditto: Ditto) -> None:
    decision = decide(ditto, facts(applied("10-05", "10-07", "10-08")), "10-07", interval="day")
    assert (decision["mode"], days(decision["missing"])) == ("backfill", ["10-06"])


def test_a_stale_execution_is_not_reported_as_a_gap_as_well(ditto: Ditto) -> None:
    known = facts([*FOUR, outcome("10-06", 6, 5)])
    found = problems(ditto, known, "10-10", interval="day")
    assert [problem["found"].split(":")[0] for problem in found] == [
        "stale executions before this one",
        "missing executions before this one (interval",
    ]
    assert found[1]["found"].endswith("(interval: day): 2024-10-09")


# --- takeover -------------------------------------------------------------------------------------------------------


def test_the_same_execution_takes_over_and_goes_back_to_where_the_intent_wanted_to_be(ditto: Ditto) -> None:
    """A backfill of 10-07 restored version 2 as 5, merged as 6, and died before its outcome."""
    known = facts(FOUR, head=6, opened=unfinished("10-07", base_version=2, version=4))
    decision = decide(ditto, known)
    assert short(decision) == ("takeover", 2, False)
    assert decision["reason"] == "invocation dead did not finish"
    assert decision["head"] == 4
    assert days(decision["become_stale"]) == ["10-08"]


def test_a_normal_run_that_died_is_undone_and_done_again(ditto: Ditto) -> None:
    known = facts(FOUR, head=5, opened=unfinished("10-09", base_version=4, version=4, mode="normal"))
    assert short(decide(ditto, known, "10-09")) == ("takeover", 4, False)


@pytest.mark.parametrize("has_rows", [True, False])
def test_an_intent_without_a_base_found_no_rows_or_removed_them(ditto: Ditto, has_rows: bool) -> None:
    opened = unfinished("10-05", base_version=None, version=4, mode="truncate")
    known = facts(FOUR, head=6, opened=opened, has_rows=has_rows)
    assert short(decide(ditto, known, "10-05")) == ("takeover", None, has_rows)


def test_a_takeover_asks_neither_for_gaps_nor_for_stale_ones(ditto: Ditto) -> None:
    """They were looked at when the intent was written."""
    outcomes = [*FOUR, outcome("10-06", 6, 5)]
    known = facts(outcomes, opened=unfinished("10-20", base_version=6, version=6, mode="normal"))
    decision = decide(ditto, known, "10-20", interval="day")
    assert (decision["mode"], decision["stale_before"], decision["missing"]) == ("takeover", [], [])


def test_another_execution_is_refused_with_both_ways_out(ditto: Ditto) -> None:
    known = facts(FOUR, head=6, opened=unfinished("10-07", base_version=2, version=4))
    text = refusal(lambda: plan(ditto, known, "10-09"))
    assert "execution 2024-10-07 00:00:00 did not finish (backfill)" in text
    assert "dbt run --select devices --vars '{execution_date: 2024-10-07}'" in text
    assert "dbt run-operation ditto_release --args '{model: devices}'" in text


# --- flags ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("flag", ["full_refresh", "dry"])
def test_flags_go_before_everything_else(ditto: Ditto, flag: str) -> None:
    known = facts([*FOUR, outcome("10-06", 6, 5)])
    decision = decide(ditto, known, "10-20", interval="day", **{flag: True})
    assert short(decision) == (flag, None, False)
    assert [decision[key] for key in ("become_stale", "stale", "stale_before", "missing")] == [[], [], [], []]
    assert problems(ditto, known, "10-20", interval="day", **{flag: True}) == []


def test_a_full_refresh_that_died_is_repeated_without_the_flag(ditto: Ditto) -> None:
    known = facts(FOUR, head=5, opened=unfinished("10-07", base_version=4, version=4, mode="full_refresh"))
    assert short(decide(ditto, known)) == ("full_refresh", None, False)


@pytest.mark.parametrize("before", [4, None])
@pytest.mark.parametrize("mode", ["backfill", "full_refresh"])
def test_whoever_takes_over_knows_where_the_table_was_before_all_of_it(
    ditto: Ditto, mode: str, before: int | None
) -> None:
    """A release brings that version back, not what the first of the runs that died has left."""
    known = facts(FOUR, head=6, opened=unfinished("10-07", base_version=2, version=before, mode=mode))
    assert decide(ditto, known)["head"] == before
    assert decide(ditto, known, full_refresh=True)["head"] == before


# --- renewal --------------------------------------------------------------------------------------------------------


def test_an_aged_table_gets_a_young_version_before_the_intent(ditto: Ditto) -> None:
    made = plan(ditto, facts(FOUR, aged=True), "10-09")
    assert names(made)[:2] == ["renew", "intent"]
    assert "ditto.renewed_by" in made["steps"][0]["sql"]
    known = facts(FOUR, aged=True)
    known["ledger"]["token"] = 4
    nobody_has_claimed_since = ditto.fence_condition("`demo`.`ditto_ledger`", "demo.devices", 4)
    assert nobody_has_claimed_since in plan(ditto, known, "10-09")["steps"][0]["sql"]


@pytest.mark.parametrize(("day", "base"), [("10-09", 9), ("10-07", 2)])
def test_from_then_on_the_plan_is_about_the_young_version(ditto: Ditto, day: str, base: int) -> None:
    sent: list[str] = []
    macros = {"send": lambda name, statement: sent.append(name), "commits": lambda table, limit: [{"version": 9}]}
    context = ditto.with_context(macros=macros)
    made = plan(context, facts(FOUR, aged=True), day)
    step = next(step for step in made["steps"] if step["name"] == "renew")
    context.renew_head(made, step)
    assert (made["head"], made["seen"], made["base_version"], sent) == (9, 9, base, ["renew"])


@pytest.mark.parametrize("stale", [False, True])
def test_pinned_readers_are_shown_the_young_version_unless_something_is_stale(ditto: Ditto, stale: bool) -> None:
    outcomes = [*FOUR, outcome("10-06", 6, 1)] if stale else FOUR
    known = facts(outcomes, aged=True, view=view(ROWS))
    made = plan(ditto, known, "10-07" if stale else "10-09", readers="pinned")
    pin = next(step for step in made["steps"] if step["name"] == "renew")["pin"]
    assert pin is None if stale else "version as of" in pin


# --- what going back would undo -------------------------------------------------------------------------------------


def by_hand(version: int, operation: str = "UPDATE") -> dict[str, Any]:
    return {"version": version, "operation": operation, "tag": None, "restored": None, "user": "ada", "at": "noon"}


def merged(version: int) -> dict[str, Any]:
    return by_hand(version, "MERGE") | {"tag": {"invocation_id": "old", "execution_time": moment("10-08")}}


def undone(*commits: dict[str, Any], **changes: Any) -> dict[str, Any]:
    return UNTOUCHED | {"commits": list(commits)} | changes


@pytest.mark.parametrize("rule", ["error", "warn"])
def test_commits_by_others_are_named(ditto: Ditto, rule: str) -> None:
    known = facts(FOUR, head=5, undone=undone(by_hand(5), merged(4), merged(3)))
    (problem,) = problems(ditto, known, on_foreign_commits=rule)
    assert problem["rule"] == rule
    assert "would undo:\n    - version 5: UPDATE by ada at noon" in problem["found"]
    assert "going back to version 2" in problem["found"]
    assert "on_foreign_commits='warn'" in problem["fix"]


def test_commits_by_others_stop_no_normal_run(ditto: Ditto) -> None:
    assert problems(ditto, facts(FOUR, head=5, undone=undone(by_hand(5))), "10-09") == []


def test_a_takeover_counts_commits_by_others_from_its_own_start(ditto: Ditto) -> None:
    """What was there before the intent was allowed when the intent was written."""
    opened = unfinished("10-07", base_version=2, version=5)
    known = facts(FOUR, head=5, opened=opened, undone=undone(by_hand(5), merged(4), merged(3)))
    assert problems(ditto, known) == []
    known = facts(FOUR, head=6, opened=opened, undone=undone(by_hand(6), by_hand(5), merged(4), merged(3)))
    (problem,) = problems(ditto, known)
    assert "version 6: UPDATE" in problem["found"]
    assert "version 5: UPDATE" not in problem["found"]


def test_a_version_that_cannot_be_read_is_refused_with_the_earliest_that_can(ditto: Ditto) -> None:
    gone = undone(merged(4), merged(3), readable=False, earliest=moment("10-08"))
    (problem,) = problems(ditto, facts(FOUR, undone=gone), backfill_window="7 days")
    assert problem["rule"] == "error"
    assert "version 2 of `demo`.`devices`" in problem["found"]
    assert "(backfill_window: 7 days)" in problem["found"]
    assert "a backfill from 2024-10-08 on, the earliest that is possible; nothing was changed" in problem["expected"]
    assert "backfill from there: dbt run --select devices --vars '{execution_date: 2024-10-08}'" in problem["fix"]
    assert "replay everything from the first execution" in problem["fix"]
    assert "{execution_date: 2024-10-05}" in problem["fix"]


def test_without_any_version_left_only_the_first_execution_helps(ditto: Ditto) -> None:
    gone = undone(merged(4), merged(3), readable=False, earliest=None)
    (problem,) = problems(ditto, facts(FOUR, undone=gone))
    assert "no version before an execution can be read any more" in problem["expected"]
    assert "backfill from there" not in problem["fix"]
    assert "{execution_date: 2024-10-05}" in problem["fix"]


def test_errors_are_raised_and_warnings_are_shown(ditto: Ditto) -> None:
    known = facts([*FOUR, outcome("10-06", 6, 5)])
    assert "stale executions before this one" in refusal(lambda: plan(ditto, known, "10-09"))
    assert ditto.warnings == []
    made = plan(ditto, known, "10-09", on_stale="warn")
    assert made["mode"] == "normal"
    (warning,) = ditto.warnings
    assert warning.startswith("ditto: stateful_merge model devices: stale executions before this one")
    plan(ditto, known, "10-09", on_stale="ignore")
    assert len(ditto.warnings) == 1


# --- steps ----------------------------------------------------------------------------------------------------------


RETENTION = "[delta.deletedFileRetentionDuration=interval 30 days,delta.logRetentionDuration=interval 30 days]"


def settled(known: dict[str, Any]) -> dict[str, Any]:
    """The same on a table that has the properties that the config asks for."""
    return known | {"target": known["target"] | {"properties": RETENTION}}


def test_the_steps_of_each_mode(ditto: Ditto) -> None:
    going_back = undone(merged(4), merged(3))
    runs = {
        "first": plan(ditto, facts([], exists=False)),
        "normal": plan(ditto, settled(facts(FOUR)), "10-09"),
        "backfill": plan(ditto, settled(facts(FOUR, undone=going_back))),
        "truncate": plan(ditto, settled(facts(FOUR)), "10-05"),
        "full_refresh": plan(ditto, settled(facts(FOUR)), full_refresh=True),
    }
    assert {mode: made["mode"] for mode, made in runs.items()} == {mode: mode for mode in runs}
    assert {mode: names(made) for mode, made in runs.items()} == {
        "first": ["intent", "create_table", "merge", "outcome"],
        "normal": ["intent", "merge", "outcome"],
        "backfill": ["check_keys", "intent", "restore", "properties", "merge", "outcome"],
        "truncate": ["check_keys", "intent", "truncate", "merge", "outcome"],
        "full_refresh": ["check_keys", "intent", "replace_table", "merge", "outcome"],
    }
    assert {mode: (made["base_version"], made["head"]) for mode, made in runs.items()} == {
        "first": (None, None),
        "normal": (4, 4),
        "backfill": (2, 4),
        "truncate": (None, 4),
        "full_refresh": (4, 4),
    }


def test_what_is_refused_after_the_table_changed_stays_unfinished(ditto: Ditto) -> None:
    """To give the lease back would call the executions live that are not in the table any more."""
    assert plan(ditto, settled(facts(FOUR)), full_refresh=True)["undo"]
    assert plan(ditto, settled(facts(FOUR)), "10-05")["undo"]
    assert not plan(ditto, settled(facts(FOUR)), "10-09")["undo"]


def test_a_table_that_the_ledger_does_not_know_begins_anew(ditto: Ditto) -> None:
    """Dropped or replaced by others: nothing in it belongs to an execution, so none is undone or built upon."""
    known = facts(FOUR, known=False)
    for day in ("10-06", "10-09"):
        assert short(decide(ditto, known, day)) == ("first", None, False)
        (problem,) = problems(ditto, known, day)
        assert "the table that the ledger knows was dropped or replaced" in problem["found"]
    made = plan(ditto, settled(known | {"has_rows": False}), "10-09")
    assert (made["mode"], made["missing"]) == ("first", True)
    assert not plan(ditto, settled(facts(FOUR)), "10-09")["missing"]


@pytest.mark.parametrize(
    ("head", "newer", "known"),
    [
        (4, [], True),
        (6, [{"operation": "OPTIMIZE"}, {"operation": "OPTIMIZE"}], True),
        (3, [], False),
        (5, [{"operation": "CREATE OR REPLACE TABLE AS SELECT"}], False),
        (6, [{"operation": "RESTORE", "restored": 4}, {"operation": "CREATE OR REPLACE TABLE"}], True),
    ],
)
def test_the_newest_commits_tell_whether_it_is_the_table_of_the_ledger(
    ditto: Ditto, head: int, newer: list[dict[str, Any]], known: bool
) -> None:
    last = {"execution_time": moment("10-08"), "version": 4, "base_version": 3, "invocation_id": "old"}
    tagged = {"operation": "MERGE", "tag": {"invocation_id": "old"}, "restored": None, "version": head - len(newer)}
    commits = [
        {"tag": None, "restored": None, "version": head - place, **commit} for place, commit in enumerate(newer)
    ] + [tagged]
    asked = []
    ditto = ditto.with_context(macros={"commits": lambda table, limit: asked.append(limit) or commits[:limit]})
    there = facts(FOUR, head=head, head_commit=commits[0])
    there["ledger"]["last"] = last
    assert ditto._is_known(settings(ditto, "10-09"), there) is known
    assert asked == ([len(newer) + 1] if head > 4 else [])  # mostly nothing has to be asked


def test_going_back_is_fenced(ditto: Ditto) -> None:
    made = plan(ditto, settled(facts(FOUR, undone=undone(merged(4), merged(3)))))
    fence = "(select max(`token`) from `demo`.`ditto_ledger` where `relation` = 'demo.devices') = 1"
    sent = {step["name"]: step["sql"] for step in made["steps"] if step.get("sql")}
    assert "restore table `demo`.`devices` to version as of 2" in sent["restore"]
    assert all(fence in sent[name] for name in ("restore", "merge"))


def test_a_table_that_stands_there_already_is_not_restored(ditto: Ditto) -> None:
    """The run before died between RESTORE and MERGE."""
    restored = by_hand(5, "RESTORE") | {"restored": 2}
    opened = unfinished("10-07", base_version=2, version=4)
    lease = {"event": "started", "version": 4}
    known = facts(FOUR, head=5, opened=opened, undone=undone(restored, merged(4), merged(3), leases=[lease]))
    made = plan(ditto, settled(known))
    assert (made["mode"], names(made)) == ("takeover", ["check_keys", "intent", "merge", "outcome"])
    assert (made["base_version"], made["head"]) == (2, 4)


def test_a_dry_run_writes_nothing(ditto: Ditto) -> None:
    assert names(plan(ditto, facts([], exists=False), dry=True)) == ["create_table"]
    assert names(plan(ditto, facts(FOUR), dry=True)) == []


def test_the_window_is_set_when_the_table_is_made_and_when_it_changes(ditto: Ditto) -> None:
    created = next(step for step in plan(ditto, facts([], exists=False))["steps"] if step["name"] == "create_table")
    for name in ("deletedFileRetentionDuration", "logRetentionDuration"):
        assert f"delta.{name}\\' = \\'interval 30 days" in created["sql"]
    assert "delta.enableDeletionVectors\\' = \\'true" in created["sql"]
    made = plan(ditto, settled(facts(FOUR)), "10-09", backfill_window="60 days")
    assert names(made) == ["intent", "properties", "merge", "outcome"]
    assert "'delta.logRetentionDuration' = 'interval 60 days'" in made["steps"][1]["sql"]


# --- pinned readers -------------------------------------------------------------------------------------------------


def pinned(ditto: Ditto, known: dict[str, Any], day: str) -> list[str]:
    return names(plan(ditto, settled(known), day, readers="pinned"))


def test_readers_move_on_only_when_nothing_is_stale(ditto: Ditto) -> None:
    replayed = facts([*FOUR, outcome("10-07", 6, 5)])
    assert pinned(ditto, facts(FOUR), "10-09")[-2:] == ["outcome", "pin"]
    assert pinned(ditto, facts(FOUR, undone=undone(merged(4), merged(3))), "10-07")[-1] == "outcome"
    assert pinned(ditto, replayed, "10-08")[-2:] == ["outcome", "pin"]


def test_readers_are_pinned_to_the_version_of_the_outcome(ditto: Ditto) -> None:
    made = plan(ditto, settled(facts(FOUR)), "10-09", readers="pinned")
    pin = made["steps"][-1]
    assert pin["kind"] == "pin"
    shown = pin["sql"].replace(pin["stand_in"], "5")
    assert "create or replace view `demo`.`devices`" in shown
    assert "from `demo`.`devices__data` version as of 5 as target" in shown


def test_a_table_in_the_place_of_the_pinned_view_is_not_touched(ditto: Ditto) -> None:
    known = facts([], exists=False) | {"view": facts(FOUR)["target"]}
    text = refusal(lambda: plan(ditto, known, readers="pinned"))
    assert "a table under the name `demo`.`devices`" in text
    assert "alter table `demo`.`devices` rename to `demo`.`devices__data`" in text


# --- versioning: history --------------------------------------------------------------------------------------------


def with_history(known: dict[str, Any], exists: bool = True, slices: list[str] | None = None) -> dict[str, Any]:
    columns = [*ROWS, {"name": "execution_time", "type": "string", "comment": ""}]
    comment = "ditto: the raw rows of every execution of demo.devices"
    raw = known["target"] | {"exists": exists, "columns": columns, "comment": comment}
    return known | {"history": {"target": raw, "slices": slices or []}}


def test_history_decides_the_same_but_never_goes_back(ditto: Ditto) -> None:
    history = {"versioning": "history"}
    assert short(decide(ditto, facts(FOUR), "10-07", **history)) == ("backfill", None, False)
    assert short(decide(ditto, facts(FOUR), "10-05", **history)) == ("truncate", None, False)
    assert short(decide(ditto, facts(FOUR), "10-09", **history)) == ("normal", None, False)
    assert days(decide(ditto, facts(FOUR), "10-06", **history)["become_stale"]) == ["10-07", "10-08"]


def test_history_forgets_later_rows_and_rebuilds_the_table(ditto: Ditto) -> None:
    made = plan(ditto, with_history(facts(FOUR)), "10-07", versioning="history")
    assert names(made) == ["check_keys", "intent", "forget", "load", "rebuild", "outcome"]
    forget = next(step["sql"] for step in made["steps"] if step["name"] == "forget")
    assert "delete from `demo`.`devices__history` where `execution_time` > '2024-10-07 00:00:00'" in forget


def test_history_on_delta_merges_what_is_new(ditto: Ditto) -> None:
    made = plan(ditto, with_history(facts(FOUR)), "10-09", versioning="history")
    assert names(made)[-3:] == ["load", "merge", "outcome"]


def test_history_on_delta_rebuilds_where_the_select_lacks_a_column(ditto: Ditto) -> None:
    """A MERGE would keep what the column had, and a replay could not know it."""
    known = with_history(facts(FOUR)) | {"increment": ROWS[:1]}
    assert names(plan(ditto, known, "10-09", versioning="history"))[-3:] == ["load", "rebuild", "outcome"]


@pytest.mark.parametrize("released", ["10-05", "10-07"])
def test_history_rebuilds_after_a_release_which_could_not_take_anything_back(ditto: Ditto, released: str) -> None:
    gone = outcome(released, 4, event="released", seq=20)
    known = with_history(facts([*FOUR, gone]))
    decision = decide(ditto, known, released, versioning="history")
    assert decision["mode"] == "backfill" and "was released half way" in decision["reason"]
    made = plan(ditto, known, released, versioning="history")
    assert names(made)[-3:] == ["load", "rebuild", "outcome"]
    # Once it has been replayed, the table is what the raw rows say.
    again = outcome(released, 5, seq=22)
    later = "10-06" if released == "10-05" else "10-08"
    assert decide(ditto, facts([*FOUR, gone, again]), later, versioning="history")["mode"] == "normal"


def test_history_on_parquet_drops_the_later_slices(ditto: Ditto) -> None:
    known = with_history(facts(FOUR), slices=[moment(day) for day in ("10-06", "10-07", "10-08")])
    for part in (known["target"], known["history"]["target"]):
        part["provider"] = "parquet"
    made = plan(ditto, known | {"head": None}, "10-07", versioning="history", file_format="parquet")
    assert names(made) == ["check_keys", "intent", "forget", "load", "rebuild", "outcome"]
    forget = next(step["sql"] for step in made["steps"] if step["name"] == "forget")
    assert "drop if exists partition (`execution_time` = \\'2024-10-08 00:00:00\\')" in forget
    assert "10-06" not in forget.split("then")[1]


def test_history_needs_the_name_execution_time_for_itself(ditto: Ditto) -> None:
    wider = [*ROWS, {"name": "Execution_Time", "type": "string", "comment": ""}]
    text = refusal(lambda: plan(ditto, with_history(facts(FOUR)) | {"increment": wider}, "10-09", versioning="history"))
    assert "a column execution_time in the SELECT" in text


# --- what a review found ---------------------------------------------------------------------------------------------


def test_emptying_the_table_is_refused_over_commits_by_others_too(ditto: Ditto) -> None:
    by_hand = {"version": 5, "operation": "DELETE", "user": "ada", "at": "noon", "tag": None, "restored": None}
    known = facts(FOUR, head=5, undone=UNTOUCHED | {"commits": [by_hand]})
    found = problems(ditto, known, "10-05")
    assert [problem["rule"] for problem in found] == ["error"]
    assert "emptying the table would undo:\n    - version 5: DELETE by ada" in found[0]["found"]


def test_keys_of_a_table_of_nothing_else_are_checked_before_the_intent(ditto: Ditto) -> None:
    """There the guard of the MERGE fails as a failed write, so refused rows would leave an unfinished execution."""
    only_keys = [{"name": "id", "type": "int", "comment": ""}]
    known = facts(applied("10-06"), increment=only_keys)
    known["target"]["columns"] = only_keys
    assert names(plan(ditto, known)) == ["check_keys", "intent", "properties", "merge", "outcome"]


@pytest.mark.parametrize(("previous", "day", "missing"), [
    ("2024-02-29", "2024-03-31", []),
    ("2024-01-31", "2024-02-29", []),
    ("2024-01-31", "2024-03-31", ["2024-02-29"]),
])  # fmt: skip
def test_the_end_of_a_month_is_no_gap(ditto: Ditto, previous: str, day: str, missing: list[str]) -> None:
    decision = decide(ditto, facts([outcome(previous, 1)]), day, interval="month")
    assert [time[:10] for time in decision["missing"]] == missing


def test_a_dropped_table_holds_nothing_of_the_ledger(ditto: Ditto) -> None:
    stale = [*FOUR, outcome("10-06", 6, 5)]
    decision = decide(ditto, facts(stale, exists=False), "10-09", interval="day")
    assert short(decision) == ("first", None, False)
    assert (decision["stale_before"], decision["missing"], decision["become_stale"]) == ([], [], [])
    opened = unfinished("10-09", None, None, mode="first")
    taken_over = decide(ditto, facts(stale, head=1, opened=opened, has_rows=True), "10-09")
    assert short(taken_over) == ("takeover", None, True)
    assert taken_over["stale"] == []


@pytest.mark.parametrize(("config", "ok"), [
    ({"interval": "month"}, True),
    ({"interval": "month", "backfill_window": "30 days"}, False),
    ({"interval": "week", "backfill_window": "7 days"}, False),
    ({"interval": "day", "backfill_window": "25 hours"}, True),
])  # fmt: skip
def test_the_window_is_longer_than_the_interval(ditto: Ditto, config: dict[str, str], ok: bool) -> None:
    """What an execution was applied to was committed an interval before it."""
    if ok:
        settings(ditto, **config)
    else:
        assert "longer than the interval" in refusal(lambda: settings(ditto, **config))
