"""What ditto_plan says about units: resets and slices, what becomes stale, and the range that is replayed."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any

import pytest
from fast_metadata_cleaner_model import executions, facts, moment, node, refusal, settings, unfinished
from macro_harness import Ditto

WEEK = "10-07 10-08 10-09 10-10"


def world(ditto: Ditto, tables: str = "", done: list[dict[str, Any]] | None = None, **other: Any) -> dict[str, Any]:
    config = {name: other.pop(name) for name in ("granularity", "unit_column") if name in other}
    known = facts(ditto, settings(ditto, **config), tables.split(), done, other.pop("opened", None))
    known["ledger"] |= {"outcomes": []}
    return known | {"earliest": None, "statuses": {each["time"]: each["status"] for each in done or []}} | other


def announce(ditto: Ditto, known: dict[str, Any], days: str, **config: Any) -> dict[str, Any]:
    return ditto.announce(node(**config), known, [moment(day) for day in days.split()])


def modes(plan: dict[str, Any]) -> list[str]:
    """`10-07 reset w20241007`"""
    return [
        f"{each['execution_time'][5:10]} {each['mode']} {each['unit'].removeprefix('visits__')}"
        for each in plan["executions"]
    ]


# --- one execution after the other ----------------------------------------------------------------------------------


def test_a_week_that_is_there_is_prepared_once_and_then_goes_on(ditto: Ditto) -> None:
    plan = announce(ditto, world(ditto, "w20240930 w20241007", executions(live=f"10-06 {WEEK}")), WEEK)
    assert modes(plan) == [
        "10-07 reset w20241007",
        "10-08 slice w20241007",
        "10-09 slice w20241007",
        "10-10 slice w20241007",
    ]
    assert plan["executions"][0]["becomes_stale"] == [moment(day) for day in ("10-08", "10-09", "10-10")]
    assert [each["becomes_stale"] for each in plan["executions"][1:]] == [[], [], []]
    assert [each["status"] for each in plan["executions"]] == ["live"] * 4
    assert all(each["allowed"] for each in plan["executions"])
    assert (plan["stale_afterwards"], plan["version"], plan["relation"]) == ([], None, "demo.visits")
    assert plan["executions"][0]["action"] == "prepare week 2024-10-07 anew (visits__w20241007)"
    assert plan["executions"][1]["action"] == "replace its slice of week 2024-10-07"


def test_only_the_monday_leaves_the_rest_of_its_week_stale(ditto: Ditto) -> None:
    plan = announce(ditto, world(ditto, "w20241007", executions(live=WEEK)), "10-07")
    assert plan["stale_afterwards"] == [moment(day) for day in ("10-08", "10-09", "10-10")]
    assert [command[-12:-2] for command in plan["commands"]] == [f"2024-10-{day}" for day in ("07", "08", "09", "10")]


def test_a_forward_run_over_stale_ones_is_refused_and_allowed_once_they_are_replayed(ditto: Ditto) -> None:
    known = world(ditto, "w20241007", executions(live="10-07", stale="10-08 10-09"))
    (alone,) = announce(ditto, known, "10-10")["executions"]
    assert (alone["allowed"], alone["mode"]) == (False, "slice")
    assert "stale executions before this one: 2024-10-08, 2024-10-09" in alone["problems"][0]["found"]
    half = announce(ditto, known, "10-09 10-10")
    assert [each["allowed"] for each in half["executions"]] == [True, False]
    whole = announce(ditto, known, "10-08 10-09 10-10")
    assert [each["allowed"] for each in whole["executions"]] == [True, True, True]
    assert whole["stale_afterwards"] == []
    warned = announce(ditto, known, "10-10", on_stale="warn")["executions"][0]
    assert (warned["allowed"], len(warned["problems"])) == (True, 1)


def test_the_first_of_a_range_makes_the_unit_that_the_next_one_finds(ditto: Ditto) -> None:
    plan = announce(ditto, world(ditto), "12-29 12-30 12-31 2025-01-01 2025-01-02 2025-01-06")
    assert modes(plan) == [
        "12-29 reset w20241223",
        "12-30 reset w20241230",
        "12-31 slice w20241230",
        "01-01 reset w20250101",
        "01-02 slice w20250101",
        "01-06 reset w20250106",
    ]


def test_each_load_of_a_full_dataset(ditto: Ditto) -> None:
    known = world(ditto, "full", executions(live="10-07 10-08 10-09"), granularity="full")
    plan = announce(ditto, known, "10-07 10-08", granularity="full")
    assert modes(plan) == ["10-07 reset full", "10-08 reset full"]
    assert [each["becomes_stale"] for each in plan["executions"]] == [[moment("10-08"), moment("10-09")], []]
    assert plan["stale_afterwards"] == [moment("10-09")]


def test_the_world_after_each_execution(ditto: Ditto) -> None:
    known = world(ditto, "w20240930", executions(live="10-06 10-08"), opened=unfinished("10-07", "10-14"))
    read = settings(ditto, "10-07")
    assert ditto.unit_world(read, known)["target"]["exists"] is False
    after = ditto.after_unit(known, read, {"mode": "takeover", "become_stale": [moment("10-08")]})
    assert {each["time"][5:10]: each["status"] for each in after["executions"]} == {
        "10-07": "live",
        "10-06": "live",
        "10-08": "stale",
    }
    assert [each["identifier"] for each in after["units"]] == ["visits__w20240930", "visits__w20241007"]
    assert after["units"][-1] == ditto.parse_unit("visits", "visits__w20241007")
    assert after["ledger"]["unfinished"] == []
    assert ditto.unit_world(read, after)["target"]["exists"] is True
    again = ditto.after_unit(after, read, {"mode": "reset", "become_stale": []})
    assert len(again["units"]) == 2


def test_a_full_refresh_that_did_not_finish_leaves_nothing_for_those_after_it(ditto: Ditto) -> None:
    opened = unfinished("10-08", "10-14", mode="full_refresh")
    plan = announce(ditto, world(ditto, "w20240930 w20241007", executions(stale="10-02"), opened=opened), "10-08 10-14")
    assert modes(plan) == ["10-08 full_refresh w20241007", "10-14 reset w20241014"]
    assert plan["executions"][1]["allowed"] is True
    assert plan["stale_afterwards"] == []


def test_names_in_upper_case_are_the_same_units(ditto: Ditto) -> None:
    known = world(ditto, "w20241007", executions(live=WEEK))
    plan = announce(ditto, known, "10-08", alias="VISITS")
    assert [each["mode"] for each in plan["executions"]] == ["slice"]


def test_planning_changes_no_facts(ditto: Ditto) -> None:
    known = world(ditto, "w20241007", executions(live=WEEK))
    before = json.dumps(known)
    announce(ditto, known, "10-07 10-08 10-14")
    assert json.dumps(known) == before


def test_max_units_counts_the_units_that_the_range_makes(ditto: Ditto) -> None:
    plan = announce(ditto, world(ditto, "w20240930"), "10-07 10-14 10-21", max_units=3)
    assert [each["allowed"] for each in plan["executions"]] == [True, True, False]
    assert "4 units with this one, max_units: 3" in plan["executions"][2]["problems"][0]["found"]


def test_an_unfinished_operation_stands_in_the_way(ditto: Ditto) -> None:
    known = world(ditto, "w20241007", executions(live="10-07"), opened=unfinished(None, mode="freeze"))
    (execution,) = announce(ditto, known, "10-08")["executions"]
    assert execution["allowed"] is False
    assert execution["problems"][0]["found"].startswith("ditto_freeze did not finish: invocation dead of ada, started")


# --- slices only ----------------------------------------------------------------------------------------------------


def test_slices_only(ditto: Ditto) -> None:
    known = world(ditto, "w20241007", executions(live="10-07 10-08", stale="10-09"), slice_only=True)
    plan = announce(ditto, known, "10-07")
    assert modes(plan) == ["10-07 slice w20241007"]
    assert plan["executions"][0]["becomes_stale"] == []
    # What is stale besides is replayed as always.
    assert plan["commands"] == [
        "dbt run --select visits --vars '{execution_date: 2024-10-07, ditto_slice_only: true}'",
        "dbt run --select visits --vars '{execution_date: 2024-10-09}'",
    ]


def test_without_slices_only_no_command_has_it(ditto: Ditto) -> None:
    plan = announce(ditto, world(ditto, "w20241007", executions(live=WEEK)), "10-07 10-08")
    assert "slice_only" not in " ".join(plan["commands"])


def test_a_plan_refuses_what_its_commands_would_be_refused_for(ditto: Ditto) -> None:
    known = world(ditto, "full", executions(live="10-07"), granularity="full", slice_only=True)
    text = refusal(lambda: announce(ditto, known, "10-07", granularity="full"))
    assert "ditto_slice_only with granularity: full" in text


# --- the range of a backfill ----------------------------------------------------------------------------------------


def expand(
    ditto: Ditto, first: str, last: str, known: str, granularity: str = "week", interval: str = "day", **how: Any
) -> tuple[str, list[str]]:
    times = [*ditto.times_from(moment(first), moment(last), interval), moment(last)]
    ends = {"first": moment(first), "last": moment(last), "times": times}
    statuses = {moment(day): "live" for day in known.split()}
    found = ditto.unit_range(granularity, ends, statuses, **how)
    return " ".join(time[5:10] for time in found["times"]), found["filled"]


def test_a_wednesday_is_its_whole_week(ditto: Ditto) -> None:
    known = "10-06 10-07 10-08 10-09 10-10 10-13 10-14"
    assert expand(ditto, "10-09", "10-09", known) == ("10-07 10-08 10-09 10-10 10-13", ["week 2024-10-07"])
    assert expand(ditto, "10-09", "10-09", known, slice_only=True) == ("10-09", [])


def test_only_what_the_ledger_knows_is_filled_up(ditto: Ditto) -> None:
    assert expand(ditto, "10-09", "10-10", "") == ("10-09 10-10", [])
    assert expand(ditto, "10-09", "10-10", "10-10 10-12") == ("10-09 10-10 10-12", ["week 2024-10-07"])


def test_the_first_and_the_last_unit_are_filled_up(ditto: Ditto) -> None:
    times, filled = expand(ditto, "10-12", "10-15", "10-07 10-12 10-14 10-15 10-20 10-21")
    assert times == "10-07 10-12 10-13 10-14 10-15 10-20"
    assert filled == ["week 2024-10-07", "week 2024-10-14"]


def test_a_range_over_the_end_of_a_year(ditto: Ditto) -> None:
    """2024-12-30 and 12-31 are a unit, and 2025-01-01 to 01-05 are one."""
    known = "12-29 12-30 12-31 2025-01-01 2025-01-02 2025-01-05 2025-01-06"
    assert expand(ditto, "12-31", "12-31", known) == ("12-30 12-31", ["week 2024-12-30"])
    assert expand(ditto, "2025-01-02", "2025-01-02", known) == ("01-01 01-02 01-05", ["week 2025-01-01"])
    assert expand(ditto, "12-31", "2025-01-01", known) == (
        "12-30 12-31 01-01 01-02 01-05",
        ["week 2024-12-30", "week 2025-01-01"],
    )


@pytest.mark.parametrize(
    ("granularity", "times", "filled"),
    [
        ("day", "10-09", []),
        ("month", "10-01 10-09 10-31", ["month 2024-10"]),
        ("year", "01-01 10-01 10-09 10-31 12-31", ["year 2024"]),
        ("full", "10-09", []),
    ],
)
def test_other_granularities(ditto: Ditto, granularity: str, times: str, filled: list[str]) -> None:
    known = "2023-12-31 01-01 10-01 10-09 10-31 12-31 2025-01-01"
    assert expand(ditto, "10-09", "10-09", known, granularity) == (times, filled)


def test_hours_of_a_day(ditto: Ditto) -> None:
    hours = [moment("10-09T05"), moment("10-09T06")]
    ends = {"first": hours[0], "last": hours[-1], "times": hours}
    statuses = {moment(f"10-09T{hour}"): "live" for hour in ("00", "05", "23")} | {moment("10-10"): "live"}
    found = ditto.unit_range("day", ends, statuses)
    assert [time[11:13] for time in found["times"]] == ["00", "05", "06", "23"]
    assert found["filled"] == ["day 2024-10-09"]
    inside = ditto.unit_range("day", ends, {moment("10-09T05"): "live"} | {"2024-10-09 05:30:00": "live"})
    assert ([time[11:16] for time in inside["times"]], inside["filled"]) == (["05:00", "05:30", "06:00"], [])


# --- text and the operation -----------------------------------------------------------------------------------------


def test_the_text_of_a_week(ditto: Ditto) -> None:
    lacking = [{"column": "browser", "unit": f"visits__{name}", "first": first, "frozen": False} for name, first in (
        ("w20240930", "2024-09-30"), ("w20241007", "2024-10-07"))]  # fmt: skip
    known = world(ditto, "w20241007", executions(live="10-07 10-08"), filled=["week 2024-10-07"], required=lacking)
    plan = announce(ditto, known, "10-07 10-08") | {"downstream": []}
    assert ditto.plan_text(plan).splitlines() == [
        "ditto: plan for visits (fast_metadata_cleaner), table demo.visits",
        "",
        "  2024-10-07          reset      prepare week 2024-10-07 anew (visits__w20241007): "
        "the first execution of week 2024-10-07",
        "                                 becomes stale: 2024-10-08",
        "  2024-10-08          slice      replace its slice of week 2024-10-07: this execution was applied before",
        "",
        "  the unit is the boundary: all that is known of week 2024-10-07 is replayed; "
        "for the slices of the range alone: slice_only",
        "  column browser is required, and units lack it: visits__w20240930, visits__w20241007; replay from 2024-09-30",
        "  read by: no model",
        "  commands, in order:",
        "    dbt run --select visits --vars '{execution_date: 2024-10-07}'",
        "    dbt run --select visits --vars '{execution_date: 2024-10-08}'",
    ]


def operation(ditto: Ditto, known: dict[str, Any], statuses: dict[str, str]) -> Ditto:
    rows = [{"time": time, "status": status} for time, status in statuses.items()]
    return ditto.with_context(
        graph={"nodes": {"model.ditto.visits": node()}},
        adapter=SimpleNamespace(check_schema_exists=lambda database, schema: True),
        macros={
            "fast_metadata_cleaner_facts": lambda *args, **kwargs: known,
            "ledger_exists": lambda: True,
            "fetch": lambda statement: rows,
        },
    )


def planned(context: Ditto, **arguments: Any) -> dict[str, Any]:
    context.ditto_plan("visits", format="json", **arguments)
    return json.loads(context.logs[-1])


def test_a_range_is_filled_up_and_one_execution_is_not(ditto: Ditto) -> None:
    statuses = {moment(day): "live" for day in WEEK.split()}
    context = operation(ditto, world(ditto, "w20241007"), statuses)
    plan = planned(context, **{"from": "2024-10-09", "to": "2024-10-09"})
    assert [each["execution_time"][8:10] for each in plan["executions"]] == ["07", "08", "09", "10"]
    assert plan["filled_units"] == ["week 2024-10-07"]
    plan = planned(context, **{"from": "2024-10-07", "to": "2024-10-07"}, slice_only=True)
    assert (modes(plan), plan["filled_units"]) == (["10-07 slice w20241007"], [])
    assert modes(planned(context, execution_date="2024-10-09")) == ["10-09 slice w20241007"]


def test_the_plan_asks_the_ledger_what_a_run_asks(ditto: Ditto) -> None:
    """What was applied, and given up when it ran again, has to be replayed: a run refuses to go past it."""
    read = settings(ditto) | {"ledger_table": "`demo`.`ditto_ledger`"}
    rule = "`status` = 'released' and `delta_table_version` is not null, 'stale', `status`) as `status`"
    assert rule in ditto.unit_executions_sql(read)
    sent: list[str] = []
    context = ditto.with_context(macros={"ledger_exists": lambda: True, "fetch": lambda text: sent.append(text) or []})
    assert context._statuses(node()) == {}
    assert f"if(`pattern` = 'fast_metadata_cleaner' and {rule} from `demo`.`ditto_state`" in sent[0]


@pytest.mark.parametrize(
    ("tables", "opened", "stale"), [("w20241007", False, 1), ("", False, 0), ("", True, 1)]
)  # fmt: skip
def test_of_a_model_that_was_dropped_as_a_whole_nothing_is_left(
    ditto: Ditto, tables: str, opened: bool, stale: int
) -> None:
    """But a run that dropped its only unit and died has made executions stale all the same."""
    known = world(ditto, tables, opened=unfinished("10-07", "10-14") if opened else None)
    found = ditto._as_executions(known, {moment("10-08"): "stale"})
    assert len(found) == stale
