"""Is the unit prepared anew or does it go on, what does that undo, and what is refused?"""

from __future__ import annotations

import random
from typing import Any

import pytest
from fast_metadata_cleaner_model import executions, facts, moment, refusal, settings, unfinished
from fast_metadata_cleaner_model import plan as plan_of
from macro_harness import Ditto

WEEK = "10-07 10-08 10-09 10-10 10-11 10-12 10-13"


def decide(
    ditto: Ditto,
    day: str,
    tables: str = "",
    opened: dict[str, Any] | None = None,
    done: list[dict[str, Any]] | None = None,
    **config: Any,
) -> dict[str, Any]:
    read = settings(ditto, day, **config)
    return ditto.fast_metadata_cleaner_decision(read, facts(ditto, read, tables.split(), done, opened))


def problems(
    ditto: Ditto,
    day: str,
    tables: str = "",
    opened: dict[str, Any] | None = None,
    done: list[dict[str, Any]] | None = None,
    **config: Any,
) -> list[dict[str, str]]:
    read = settings(ditto, day, **config)
    known = facts(ditto, read, tables.split(), done, opened)
    return ditto.fast_metadata_cleaner_problems(read, known, ditto.fast_metadata_cleaner_decision(read, known))


def short(decision: dict[str, Any]) -> tuple[str, bool]:
    return decision["mode"], decision["reset"]


def days(times: list[str]) -> str:
    return " ".join(time[5:10] + (f"T{time[11:13]}" if time[11:] != "00:00:00" else "") for time in times)


# --- reset or slice -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("day", ["10-07", "10-09"])
def test_the_first_execution_that_finds_no_unit_makes_it(ditto: Ditto, day: str) -> None:
    decision = decide(ditto, day)
    assert short(decision) == ("reset", True)
    assert decision["reason"] == "there is no table of week 2024-10-07 yet"
    assert (decision["become_stale"], decision["stale_before"], decision["lost"]) == ([], [], [])


def test_another_unit_goes_on_by_itself(ditto: Ditto) -> None:
    assert short(decide(ditto, "10-14", "w20241007", done=executions(live="10-13"))) == ("reset", True)


def test_any_other_execution_loads_its_slice(ditto: Ditto) -> None:
    decision = decide(ditto, "10-09", "w20241007", done=executions(live="10-07 10-08"))
    assert short(decision) == ("slice", False)
    assert decision["reason"] == "week 2024-10-07 goes on"
    assert (decision["become_stale"], decision["applied"]) == ([], False)


@pytest.mark.parametrize("status", ["live", "stale"])
def test_a_slice_that_was_loaded_before_is_replaced(ditto: Ditto, status: str) -> None:
    decision = decide(ditto, "10-09", "w20241007", done=executions(live="10-07") + executions(**{status: "10-09"}))
    assert short(decision) == ("slice", False)
    assert decision["reason"] == "this execution was applied before"
    assert (decision["become_stale"], decision["applied"]) == ([], True)


def test_the_units_first_execution_prepares_it_anew(ditto: Ditto) -> None:
    decision = decide(ditto, "10-07", "w20241007", done=executions(live=WEEK))
    assert short(decision) == ("reset", True)
    assert decision["reason"] == "the first execution of week 2024-10-07"
    assert days(decision["become_stale"]) == "10-08 10-09 10-10 10-11 10-12 10-13"


def test_what_is_stale_already_does_not_become_so(ditto: Ditto) -> None:
    decision = decide(ditto, "10-07", "w20241007", done=executions(live="10-07 10-08", stale="10-09 10-01"))
    assert days(decision["become_stale"]) == "10-08"
    assert days(decision["stale"]) == "10-01 10-09"


def test_executions_of_other_units_are_not_touched(ditto: Ditto) -> None:
    decision = decide(ditto, "10-07", "w20240930 w20241007 w20241014", done=executions(live="10-06 10-08 10-14"))
    assert days(decision["become_stale"]) == "10-08"


@pytest.mark.parametrize(
    ("day", "tables", "expected"),
    [
        ("2025-01-01", "w20250101", True),
        ("2025-01-06", "w20250106", True),
        ("2025-01-02", "w20250101", False),
        ("2024-12-31", "w20241230", False),
        ("2024-12-30", "w20241230", True),
    ],
)
def test_a_week_that_begins_on_new_year(ditto: Ditto, day: str, tables: str, expected: bool) -> None:
    assert decide(ditto, day, tables)["reset"] is expected


@pytest.mark.parametrize(
    ("granularity", "first", "second"),
    [("day", "10-09", "10-09T05"), ("month", "10-01", "10-02"), ("year", "01-01", "01-02")],
)
def test_the_first_execution_by_granularity(ditto: Ditto, granularity: str, first: str, second: str) -> None:
    table = settings(ditto, first, granularity=granularity)["identifier"].removeprefix("visits__")
    done = executions(live=f"{first} {second}")
    assert decide(ditto, first, table, done=done, granularity=granularity)["reset"] is True
    assert decide(ditto, second, table, done=done, granularity=granularity)["reset"] is False


# --- hours ----------------------------------------------------------------------------------------------------------


def test_the_hours_of_monday_are_not_all_the_first(ditto: Ditto) -> None:
    done = executions(live="10-07T00 10-07T01 10-07T02")
    assert decide(ditto, "10-07T03", "w20241007", done=done)["reset"] is False
    assert decide(ditto, "10-07T01", "w20241007", done=done)["reset"] is False
    decision = decide(ditto, "10-07T00", "w20241007", done=done)
    assert (decision["reset"], days(decision["become_stale"])) == (True, "10-07T01 10-07T02")


def test_a_pipeline_whose_day_begins_at_nine(ditto: Ditto) -> None:
    done = executions(live="10-07T09 10-08T09")
    assert decide(ditto, "10-07T09", "w20241007", done=done)["reset"] is True
    assert decide(ditto, "10-08T09", "w20241007", done=done)["reset"] is False


def test_the_first_hour_of_tuesday_is_a_slice(ditto: Ditto) -> None:
    assert decide(ditto, "10-08", "w20241007", done=executions(live="10-08T01"))["reset"] is False


@pytest.mark.parametrize("status", ["stale", "released"])
def test_an_earlier_hour_counts_however_it_stands(ditto: Ditto, status: str) -> None:
    done = executions(**{status: "10-07T00"}, live="10-07T01")
    assert decide(ditto, "10-07T01", "w20241007", done=done)["reset"] is False


# --- slices only ----------------------------------------------------------------------------------------------------


def test_slices_only_leaves_the_rest_of_the_unit(ditto: Ditto) -> None:
    decision = decide(ditto, "10-07", "w20241007", done=executions(live=WEEK), slice_only=True)
    assert (short(decision), decision["become_stale"]) == (("slice", False), [])


def test_slices_only_makes_a_unit_that_is_missing(ditto: Ditto) -> None:
    assert decide(ditto, "10-07", slice_only=True)["reset"] is True


# --- full -----------------------------------------------------------------------------------------------------------


def test_each_load_of_a_full_dataset_prepares_it_anew(ditto: Ditto) -> None:
    done = executions(live="10-07 10-08 10-09")
    decision = decide(ditto, "10-08", "full", done=done, granularity="full")
    assert (short(decision), decision["reason"]) == (("reset", True), "each load is the full dataset")
    assert days(decision["become_stale"]) == "10-09"


def test_a_full_dataset_is_not_refused_for_what_is_stale_or_gone(ditto: Ditto) -> None:
    done = executions(live="10-07", stale="10-08")
    assert problems(ditto, "10-09", "full", done=done, granularity="full") == []
    dropped = unfinished("10-09", "9999-12-31")
    assert problems(ditto, "10-09", "", done=done, opened=dropped, granularity="full") == []


# --- a run that died ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("until", "expected"), [("10-14", True), (None, False)])
def test_what_a_dead_run_began_is_finished(ditto: Ditto, until: str | None, expected: bool) -> None:
    """Whether the unit was being prepared anew is what its intent says, and not what the tables look like now."""
    done = executions(live="10-08", unfinished="10-09")
    decision = decide(ditto, "10-09", "w20241007", unfinished("10-09", until), done)
    assert short(decision) == ("takeover", expected)
    assert decision["reason"] == "invocation dead did not finish"


def test_a_dead_reset_is_finished_also_when_only_slices_are_asked_for(ditto: Ditto) -> None:
    done = executions(live="10-08", unfinished="10-07")
    decision = decide(ditto, "10-07", "w20241007", unfinished("10-07", "10-14"), done, slice_only=True)
    assert (decision["reset"], days(decision["become_stale"])) == (True, "10-08")


def test_a_dead_run_that_dropped_the_unit_still_knows_what_it_made_stale(ditto: Ditto) -> None:
    done = executions(live="10-08 10-09", unfinished="10-07")
    decision = decide(ditto, "10-07", "", unfinished("10-07", "10-14"), done)
    assert (short(decision), days(decision["become_stale"])) == (("takeover", True), "10-08 10-09")
    assert decision["lost"] == []


def test_a_unit_that_was_dropped_by_hand_is_missed_by_a_takeover_too(ditto: Ditto) -> None:
    done = executions(live="10-07 10-08", unfinished="10-09")
    found = problems(ditto, "10-09", "w20240930", unfinished("10-09", None, "slice"), done)
    assert [problem["rule"] for problem in found] == ["error"]
    assert "2024-10-07, 2024-10-08" in found[0]["found"]


def test_a_stale_execution_that_was_begun_may_be_finished_before_those_before_it(ditto: Ditto) -> None:
    """Nothing else may run until it is: refusing it would leave no way but to give it up."""
    done = executions(live="10-07", stale="10-08", unfinished="10-09")
    opened = unfinished("10-09", None, "slice")
    assert days(decide(ditto, "10-09", "w20241007", opened, done)["stale_before"]) == "10-08"
    assert problems(ditto, "10-09", "w20241007", opened, done) == []


@pytest.mark.parametrize(("day", "command"), [("10-08", "2024-10-08"), (None, "ditto_freeze")])
def test_another_execution_waits_for_it(ditto: Ditto, day: str | None, command: str) -> None:
    read = settings(ditto, "10-09")
    known = facts(ditto, read, ["w20241007"], opened=unfinished(day, mode="freeze" if day is None else "slice"))
    text = refusal(lambda: plan_of(ditto, known, "10-09"))
    assert command in text
    assert "ditto_release" in text


# --- full refresh and dry runs --------------------------------------------------------------------------------------


def test_a_full_refresh_leaves_nothing_to_become_stale(ditto: Ditto) -> None:
    done = executions(live=WEEK, stale="10-01")
    decision = decide(ditto, "10-09", "w20240930 w20241007", done=done, full_refresh=True)
    assert short(decision) == ("full_refresh", True)
    assert [decision[name] for name in ("become_stale", "stale", "stale_before", "lost")] == [[], [], [], []]


def test_a_dead_full_refresh_is_finished_as_one(ditto: Ditto) -> None:
    decision = decide(ditto, "10-09", "w20240930", unfinished("10-09", "10-14", "full_refresh"))
    assert short(decision) == ("full_refresh", True)
    assert decision["reason"] == "the full refresh of dead did not finish"


def test_a_dry_run_is_never_refused(ditto: Ditto) -> None:
    done = executions(stale="10-01", live="10-07")
    assert decide(ditto, "10-09", "frozen_2024", done=done, dry=True)["mode"] == "dry"
    assert problems(ditto, "10-09", "frozen_2024 d20241001", done=done, dry=True, max_units=1) == []


# --- stale ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("on_stale", ["error", "warn"])
@pytest.mark.parametrize(("day", "tables"), [("10-10", "w20241007"), ("10-14", "w20241007"), ("10-21", "w20241007")])
def test_a_new_execution_waits_for_the_stale_ones_before_it(ditto: Ditto, on_stale: str, day: str, tables: str) -> None:
    done = executions(live="10-07", stale="10-09 10-08")
    (found,) = problems(ditto, day, tables, done=done, on_stale=on_stale)
    assert found["rule"] == on_stale
    assert "2024-10-08, 2024-10-09" in found["found"]
    commands = [line.split("execution_date: ")[1] for line in found["fix"].splitlines() if "dbt run" in line]
    assert commands == ["2024-10-08}'", "2024-10-09}'", f"{moment(day)[:10]}}}'"]


@pytest.mark.parametrize("day", ["10-07", "10-08", "10-09"])
def test_a_replay_does_not_wait(ditto: Ditto, day: str) -> None:
    done = executions(live="10-07", stale="10-08 10-09")
    assert problems(ditto, day, "w20241007", done=done) == []


def test_what_is_stale_later_stops_nobody(ditto: Ditto) -> None:
    assert problems(ditto, "10-01", "w20240930 w20241007", done=executions(live="10-07", stale="10-08")) == []


def test_a_stale_execution_of_an_earlier_unit_stops_a_new_unit(ditto: Ditto) -> None:
    (found,) = problems(ditto, "10-14", "w20240930", done=executions(stale="10-01"))
    assert "2024-10-01" in found["found"]


def test_a_released_execution_that_never_wrote_stops_nobody(ditto: Ditto) -> None:
    assert problems(ditto, "10-14", "w20241007", done=executions(live="10-07", released="10-08")) == []


# --- lost, frozen, mixed, too many ----------------------------------------------------------------------------------


def test_a_unit_that_is_gone_is_not_begun_in_the_middle(ditto: Ditto) -> None:
    done = executions(live="10-07 10-08 10-10")
    (found,) = problems(ditto, "10-09", "w20240930", done=done)
    assert (found["rule"], "2024-10-07, 2024-10-08" in found["found"]) == ("error", True)
    assert "2024-10-10" not in found["found"]
    assert found["fix"].index("2024-10-07") < found["fix"].index("2024-10-08") < found["fix"].index("2024-10-09")


def test_a_unit_that_is_gone_is_begun_with_its_first_execution(ditto: Ditto) -> None:
    done = executions(live="10-07 10-08")
    assert problems(ditto, "10-07", "w20240930", done=done) == []
    assert days(decide(ditto, "10-07", "w20240930", done=done)["become_stale"]) == "10-08"


@pytest.mark.parametrize(
    ("day", "tables", "expected"),
    [
        ("10-09", "frozen_202410", "visits__frozen_202410"),
        ("10-09", "frozen_2024", "visits__frozen_2024"),
        ("10-03", "frozen_202409", "visits__frozen_202409"),
        ("10-03", "frozen_202410", None),
        ("10-09", "frozen_202409 frozen_2023", None),
        ("2025-01-01", "frozen_2024", None),
    ],
)
def test_a_frozen_unit_is_refused(ditto: Ditto, day: str, tables: str, expected: str | None) -> None:
    found = problems(ditto, day, tables)
    assert [problem["rule"] for problem in found] == (["error"] if expected else [])
    if expected:
        assert expected in found[0]["found"]
        assert "is frozen" in found[0]["found"]


def test_a_full_refresh_does_not_drop_frozen_tables(ditto: Ditto) -> None:
    (found,) = problems(ditto, "10-09", "frozen_2022 frozen_202301 w20241007", full_refresh=True)
    assert (found["rule"], found["found"]) == ("error", "frozen units: visits__frozen_2022, visits__frozen_202301")


@pytest.mark.parametrize(
    ("granularity", "tables", "mixed"),
    [
        ("day", "d20241007 d20241008", ""),
        ("day", "w20241007", "visits__w20241007"),
        ("week", "w20241007 frozen_2023", ""),
        ("week", "w20241007 m20240901 full", "visits__m20240901, visits__full"),
        ("month", "y20230101", "visits__y20230101"),
        ("full", "full", ""),
        ("full", "w20241007", "visits__w20241007"),
        # Nothing freezes a full dataset: its rows would be shown beside those of the old units.
        ("full", "frozen_2023", "visits__frozen_2023"),
    ],
)
def test_one_granularity_for_all_units(ditto: Ditto, granularity: str, tables: str, mixed: str) -> None:
    found = problems(ditto, "10-09", tables, granularity=granularity)
    assert [problem["rule"] for problem in found] == (["error"] if mixed else [])
    if mixed:
        assert found[0]["found"] == f"granularity: {granularity}, and units of another one: {mixed}"
        assert "--full-refresh" in found[0]["fix"]
    assert problems(ditto, "10-09", "w20241007 d20241007", granularity=granularity, full_refresh=True) == []


@pytest.mark.parametrize(
    ("there", "rule"), [(6, None), (7, "warn"), (8, "warn"), (9, "warn"), (10, "error"), (11, "error")]
)
def test_how_many_units_there_may_be(ditto: Ditto, there: int, rule: str | None) -> None:
    tables = " ".join(f"d202409{number:02}" for number in range(1, there + 1))
    found = problems(ditto, "10-09", tables, granularity="day", max_units=10)
    assert [problem["rule"] for problem in found] == ([rule] if rule else [])
    if rule:
        assert found[0]["found"] == f"{there + 1} units with this one, max_units: 10"
        assert "ditto_freeze" in found[0]["fix"]


def test_only_a_new_unit_can_be_one_too_many(ditto: Ditto) -> None:
    assert problems(ditto, "10-09", "w20241007 w20240930 frozen_202408", max_units=2) == []
    assert problems(ditto, "10-09", "w20240930 w20240923", max_units=2, full_refresh=True) == []
    (found,) = problems(ditto, "10-09", "w20240930 frozen_202408", max_units=2)
    assert found["rule"] == "error"


# --- any history ----------------------------------------------------------------------------------------------------


class World:
    """Units and ledger as the decision sees them; a run may die between any two of its statements."""

    def __init__(self, ditto: Ditto, reset: str) -> None:
        self.ditto, self.reset = ditto, reset
        self.units: dict[str, set[str]] = {}
        self.outcomes: list[tuple[str, str | None]] = []
        self.opened: dict[str, Any] | None = None

    def statuses(self) -> dict[str, str]:
        """As `ditto_state` has it: stale once an earlier execution has undone it."""
        found: dict[str, str] = {}
        for time, until in self.outcomes:
            for other in found:
                if until is not None and time < other < until:
                    found[other] = "stale"
            found[time] = "live"
        if self.opened:
            found[self.opened["execution_time"]] = "unfinished"
        return found

    def run(self, day: str, dies_after: int | None, **config: Any) -> bool:
        """False if the run was refused."""
        read = settings(self.ditto, day, reset=self.reset, **config)
        done = [{"time": time, "status": status} for time, status in self.statuses().items()]
        known = facts(self.ditto, read, list(self.units), done, self.opened)
        if self.opened and self.opened["execution_time"] != read["execution_time"]:
            return False
        decision = self.ditto.fast_metadata_cleaner_decision(read, known)
        found = self.ditto.fast_metadata_cleaner_problems(read, known, decision)
        if any(problem["rule"] == "error" for problem in found):
            return False
        until = read["unit"]["until"] if decision["reset"] else None
        self.opened = unfinished(day) | {"undoes_until": until}
        for step in self.statements(read, decision)[:dies_after]:
            step()
        return True

    def statements(self, read: dict[str, Any], decision: dict[str, Any]) -> list[Any]:
        name, time = read["identifier"].removeprefix("visits__"), read["execution_time"]
        until = read["unit"]["until"] if decision["reset"] else None

        def finish() -> None:
            self.outcomes.append((time, until))
            self.opened = None

        clean = {
            "drop": [lambda: self.units.pop(name, None)],
            "truncate": [lambda: self.units.get(name, set()).clear()],
        }
        if decision["reset"] and self.reset == "replace":
            return [lambda: self.units.update({name: {time}}), finish]
        first = clean[self.reset] if decision["reset"] else []
        return [*first, lambda: self.units.setdefault(name, set()).add(time), finish]


@pytest.mark.parametrize("reset", ["replace", "truncate", "drop"])
@pytest.mark.parametrize("seed", range(6))
def test_after_any_history_the_table_is_what_the_ledger_says(ditto: Ditto, reset: str, seed: int) -> None:
    chance = random.Random(seed)
    world = World(ditto, reset)
    month = [f"10-{day:02}" for day in range(1, 22)]
    for _ in range(40):
        day = world.opened["execution_time"][5:10] if world.opened else chance.choice(month)
        assert world.run(day, chance.choice([None, None, 0, 1, 2]), on_stale="warn", slice_only=chance.random() < 0.3)
        if not world.opened:
            statuses = world.statuses()
            assert set().union(*world.units.values()) == {time for time in statuses if statuses[time] == "live"}
    if world.opened:
        assert world.run(world.opened["execution_time"][5:10], None)
    for day in month:
        if world.statuses().get(moment(day)) != "live":
            assert world.run(day, None, on_stale="warn")
    for time in sorted(world.statuses()):
        if world.statuses()[time] == "stale":
            assert world.run(time[5:10], None)
    assert set().union(*world.units.values()) == {moment(day) for day in month}
    assert set(world.statuses().values()) == {"live"}
