"""What ditto_plan says: the decisions of a run, one execution after the other, as text and as JSON."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any

import pytest
from macro_harness import Ditto
from merger_model import ran_before
from stateful_merge_model import UNTOUCHED, applied, facts, moment, node, outcome, refusal, unfinished

FOUR = applied("10-05", "10-06", "10-07", "10-08")


def announce(ditto: Ditto, known: dict[str, Any], *days: str, **config: Any) -> dict[str, Any]:
    return ditto.announce(node(**config), known, [moment(day) for day in days])


def modes(plan: dict[str, Any]) -> list[tuple[str, str, int | None]]:
    return [(item["execution_time"][5:10], item["mode"], item["restore_version"]) for item in plan["executions"]]


# --- one execution --------------------------------------------------------------------------------------------------


def test_a_backfill_and_what_has_to_be_replayed_after_it(ditto: Ditto) -> None:
    plan = announce(ditto, facts(FOUR), "10-07")
    assert modes(plan) == [("10-07", "backfill", 2)]
    (execution,) = plan["executions"]
    assert (execution["becomes_stale"], execution["truncates"]) == ([moment("10-08")], False)
    assert (execution["allowed"], execution["problems"]) == (True, [])
    assert plan["stale_afterwards"] == [moment("10-08")]
    assert plan["commands"] == [
        "dbt run --select devices --vars '{execution_date: 2024-10-07}'",
        "dbt run --select devices --vars '{execution_date: 2024-10-08}'",
    ]


def test_the_decisions_are_those_of_a_run(ditto: Ditto) -> None:
    assert modes(announce(ditto, facts(FOUR), "10-09")) == [("10-09", "normal", None)]
    assert modes(announce(ditto, facts(FOUR), "10-05")) == [("10-05", "truncate", None)]
    assert modes(announce(ditto, facts([], exists=False), "10-05")) == [("10-05", "first", None)]
    known = facts(FOUR, opened=unfinished("10-07", base_version=2, version=4))
    assert modes(announce(ditto, known, "10-07")) == [("10-07", "takeover", 2)]


def test_a_refusal_is_announced_and_not_raised(ditto: Ditto) -> None:
    plan = announce(ditto, facts([*FOUR, outcome("10-06", 6, 5)]), "10-09")
    (execution,) = plan["executions"]
    assert execution["allowed"] is False
    assert "stale executions before this one: 2024-10-07, 2024-10-08" in execution["problems"][0]["found"]


@pytest.mark.parametrize(("rule", "shown"), [("warn", 1), ("ignore", 0)])
def test_what_the_config_allows_is_allowed(ditto: Ditto, rule: str, shown: int) -> None:
    plan = announce(ditto, facts([*FOUR, outcome("10-06", 6, 5)]), "10-09", on_stale=rule)
    (execution,) = plan["executions"]
    assert (execution["allowed"], len(execution["problems"])) == (True, shown)


def test_an_unfinished_execution_of_another_time_is_announced(ditto: Ditto) -> None:
    plan = announce(ditto, facts(FOUR, opened=unfinished("10-07", base_version=2, version=4)), "10-09")
    (execution,) = plan["executions"]
    assert execution["allowed"] is False
    assert "execution 2024-10-07 00:00:00 did not finish" in execution["problems"][0]["found"]
    assert "ditto_release --args '{model: devices}'" in execution["problems"][0]["fix"]


def test_where_rows_that_match_a_rule_go(ditto: Ditto) -> None:
    rules = [{"name": "negative", "when": "amount < 0"}, "corrupt_records"]
    plan = announce(ditto, facts(FOUR), "10-09", dead_letters=rules)
    assert plan["dead_letters"] == {"table": "`demo`.`devices__dead_letters`", "rules": ["negative", "corrupt_record"]}
    text = ditto.plan_text(plan | {"downstream": []})
    assert "\n  rows that match negative, corrupt_record go to `demo`.`devices__dead_letters`\n" in text
    assert announce(ditto, facts(FOUR), "10-09")["dead_letters"] is None


# --- a range --------------------------------------------------------------------------------------------------------


def test_each_execution_of_a_range_is_decided_as_if_those_before_it_had_run(ditto: Ditto) -> None:
    plan = announce(ditto, facts(FOUR), "10-06", "10-07", "10-08", "10-09")
    assert modes(plan) == [
        ("10-06", "backfill", 1),
        ("10-07", "normal", None),
        ("10-08", "normal", None),
        ("10-09", "normal", None),
    ]
    assert all(execution["allowed"] for execution in plan["executions"])
    assert plan["stale_afterwards"] == []


def test_a_range_from_the_first_execution_on(ditto: Ditto) -> None:
    plan = announce(ditto, facts(FOUR), "10-05", "10-06")
    assert [(item["mode"], item["truncates"]) for item in plan["executions"]] == [("truncate", True), ("normal", False)]
    assert plan["stale_afterwards"] == [moment("10-07"), moment("10-08")]


def test_a_range_that_skips_executions_leaves_them_stale(ditto: Ditto) -> None:
    plan = announce(ditto, facts(FOUR), "10-06", "10-08")
    assert [execution["allowed"] for execution in plan["executions"]] == [True, False]
    assert "stale executions before this one: 2024-10-07" in plan["executions"][1]["problems"][0]["found"]
    assert [command[-12:-2] for command in plan["commands"]] == ["2024-10-06", "2024-10-07", "2024-10-08"]


def test_a_range_on_an_empty_ledger(ditto: Ditto) -> None:
    plan = announce(ditto, facts([], exists=False), "10-05", "10-06", "10-07", interval="day")
    assert [mode for _, mode, _ in modes(plan)] == ["first", "normal", "normal"]


def test_only_the_first_of_a_range_can_be_beyond_retention(ditto: Ditto) -> None:
    gone = UNTOUCHED | {"readable": False, "earliest": moment("10-08")}
    plan = announce(ditto, facts(FOUR, undone=gone), "10-06", "10-07")
    assert [execution["allowed"] for execution in plan["executions"]] == [False, True]


def test_planning_changes_no_facts(ditto: Ditto) -> None:
    known = facts(FOUR)
    before = json.dumps(known)
    announce(ditto, known, "10-06", "10-07")
    assert json.dumps(known) == before


# --- other patterns -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("pattern", ["merger", "dedup_insert", "keyed_idempotency"])
def test_a_model_of_one_commit_has_a_plan_too(ditto: Ditto, pattern: str) -> None:
    known = facts([]) | {"ledger": ran_before("2024-10-06 00:00:00") | {"outcomes": []}}
    plan = announce(ditto, known, "10-07", materialized=pattern)
    assert (plan["pattern"], modes(plan)) == (pattern, [("10-07", "normal", None)])
    assert f"plan for devices ({pattern})" in ditto.plan_text(plan | {"downstream": []})
    assert (plan["stale_afterwards"], plan["first_execution"]) == ([], None)


def test_a_transactional_writer_model_has_a_plan_too(ditto: Ditto) -> None:
    known = facts(FOUR) | {"ledger": ran_before(moment("10-08"), outcomes=[]), "statuses": {moment("10-07"): "live"}}
    plan = announce(ditto, known, "10-07", materialized="transactional_writer")
    assert (plan["pattern"], modes(plan)) == ("transactional_writer", [("10-07", "replay", None)])
    assert plan["commands"] == ["dbt run --select devices --vars '{execution_date: 2024-10-07}'"]


def test_a_range_of_a_merger_model_knows_what_was_applied_before(ditto: Ditto) -> None:
    statuses = {moment("10-06"): "live", moment("10-07"): "live", moment("10-08"): "live"}
    known = facts([]) | {"ledger": ran_before(moment("10-08"), own=True) | {"outcomes": []}, "statuses": statuses}
    plan = announce(ditto, known, "10-07", "10-08", "10-09", materialized="merger")
    assert [mode for _, mode, _ in modes(plan)] == ["replay", "replay", "normal"]


# --- text -----------------------------------------------------------------------------------------------------------


def test_the_text_of_a_range(ditto: Ditto) -> None:
    plan = announce(ditto, facts(FOUR, earliest=moment("10-06")), "10-07", "10-08")
    plan |= {"downstream": [{"name": "report", "materialized": "table"}]}
    assert ditto.plan_text(plan).splitlines() == [
        "ditto: plan for devices (stateful_merge), table demo.devices at version 4",
        "",
        "  2024-10-07          backfill   restore version 2, then write: "
        "this execution was applied before, to version 2",
        "                                 becomes stale: 2024-10-08",
        "  2024-10-08          normal     write: the previous execution is 2024-10-07",
        "",
        "  how far back: 2024-10-06; or everything from the first execution, 2024-10-05",
        "  read by: report (table)",
        "  commands, in order:",
        "    dbt run --select devices --vars '{execution_date: 2024-10-07}'",
        "    dbt run --select devices --vars '{execution_date: 2024-10-08}'",
    ]


def test_the_text_of_a_truncation_and_of_a_refusal(ditto: Ditto) -> None:
    first = ditto.plan_text(announce(ditto, facts(FOUR), "10-05") | {"downstream": []})
    assert "truncate   empty the table, then write: no earlier execution is recorded" in first
    assert "how far back: no version is left to go back to; or everything from the first execution" in first
    assert "read by: no model" in first
    assert "stale afterwards, to be replayed: 2024-10-06, 2024-10-07, 2024-10-08" in first
    stale = facts([*FOUR, outcome("10-07", 6, 5)])
    assert "REFUSED: stale executions" in ditto.plan_text(announce(ditto, stale, "10-09") | {"downstream": []})
    warned = announce(ditto, stale, "10-09", on_stale="warn") | {"downstream": []}
    assert "warning: stale executions" in ditto.plan_text(warned)


def test_hours_are_written_as_they_are_in_a_command(ditto: Ditto) -> None:
    known = facts(applied("2024-10-07T08", "2024-10-07T09"))
    text = ditto.plan_text(announce(ditto, known, "2024-10-07T09") | {"downstream": []})
    assert "  2024-10-07T09:00:00 backfill   restore version 1" in text
    assert "{execution_date: 2024-10-07T09:00:00}" in text


# --- the operation --------------------------------------------------------------------------------------------------


def operation(ditto: Ditto, known: dict[str, Any], **config: Any) -> Ditto:
    """The package with `devices` in its graph, `report` that reads it, and these facts in place of a database."""
    devices = node(**config)
    report = {
        "unique_id": "model.ditto.report",
        "name": "report",
        "resource_type": "model",
        "config": {"materialized": "table"},
        "depends_on": {"nodes": [devices["unique_id"]]},
    }
    nodes = {item["unique_id"]: item for item in (devices, report)}
    return ditto.with_context(
        graph={"nodes": nodes},
        adapter=SimpleNamespace(check_schema_exists=lambda database, schema: True),
        macros={
            "stateful_merge_facts": lambda *args, **kwargs: known,
            "_statuses": lambda *args: {item["time"]: "live" for item in known["ledger"]["outcomes"]},
            "earliest_restorable": lambda *args: moment("10-06"),
        },
    )


def test_the_json_of_a_range(ditto: Ditto) -> None:
    package = operation(ditto, facts(FOUR))
    package.ditto_plan("devices", **{"from": "2024-10-07", "to": "2024-10-09", "format": "json"})
    plan = json.loads(package.logs[-1])
    assert (plan["model"], plan["pattern"], plan["relation"], plan["version"]) == (
        "devices",
        "stateful_merge",
        "demo.devices",
        4,
    )
    assert [(item["execution_time"], item["mode"]) for item in plan["executions"]] == [
        ("2024-10-07 00:00:00", "backfill"),
        ("2024-10-08 00:00:00", "normal"),
        ("2024-10-09 00:00:00", "normal"),
    ]
    assert plan["executions"][0]["restore_version"] == 2
    assert plan["executions"][0]["becomes_stale"] == ["2024-10-08 00:00:00"]
    assert (plan["earliest_backfill"], plan["first_execution"]) == (moment("10-06"), moment("10-05"))
    assert [(item["name"], item["materialized"]) for item in plan["downstream"]] == [("report", "table")]
    assert [item["status"] for item in plan["executions"]] == ["live", "live", None]
    assert len(plan["commands"]) == 3


def test_a_range_has_every_interval_and_what_the_ledger_has_besides(ditto: Ditto) -> None:
    package = operation(ditto, facts(applied("2024-10-07T08", "2024-10-07T09", "2024-10-07T10")), interval="hour")
    package.ditto_plan("devices", **{"from": "2024-10-07T08:00:00", "to": "2024-10-07T11:00:00", "format": "json"})
    times = [item["execution_time"][11:13] for item in json.loads(package.logs[-1])["executions"]]
    assert times == ["08", "09", "10", "11"]
    package = operation(ditto, facts([outcome("10-06", 1), outcome("2024-10-06T12", 2), outcome("10-07", 3)]))
    package.ditto_plan("devices", **{"from": "2024-10-06", "to": "2024-10-07", "format": "json"})
    times = [item["execution_time"][5:13] for item in json.loads(package.logs[-1])["executions"]]
    assert times == ["10-06 00", "10-06 12", "10-07 00"]


def test_one_execution_from_its_argument_or_from_the_var(ditto: Ditto) -> None:
    package = operation(ditto, facts(FOUR))
    package.ditto_plan("devices", execution_date="2024-10-09")
    by_var = package.with_context(var={"execution_date": "2024-10-09"})
    by_var.ditto_plan("devices")
    assert package.logs[-1] == by_var.logs[-1]
    assert "  2024-10-09          normal     write: the previous execution is 2024-10-08" in package.logs[-1]
    assert "  read by: report (table)" in package.logs[-1]


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ({}, "one execution_date, or from and to"),
        ({"from": "2024-10-07"}, "one execution_date, or from and to"),
        ({"to": "2024-10-07"}, "one execution_date, or from and to"),
        ({"execution_date": "2024-10-07", "from": "2024-10-07", "to": "2024-10-08"}, "one execution_date, or from"),
        ({"from": "2024-10-09", "to": "2024-10-07"}, "a range in order"),
        ({"from": "2024-10-07", "to": "2024-10-09", "interval": "year"}, "hour, day, week, month"),
        ({"from": "2024-10-07T08:00:00", "to": "2024-10-07T09:00:00"}, "how far apart the executions are"),
    ],
)
def test_what_is_no_range_is_refused(ditto: Ditto, arguments: dict[str, str], expected: str) -> None:
    package = operation(ditto, facts(FOUR))
    text = refusal(lambda: package.ditto_plan("devices", **arguments), "ditto_plan of devices")
    assert expected in text


def test_a_range_that_is_too_long_is_refused_and_split(ditto: Ditto) -> None:
    """Nothing is left out silently: 10,000 hours are planned, and one more is not."""
    fits = ditto._planned_range(node(), None, "2024-01-01", "2025-02-20T15:00:00", "hour")
    assert len(fits["times"]) == 10000
    package = operation(ditto, facts([], exists=False))
    whole = {"from": "2024-01-01", "to": "2025-02-20T16:00:00", "interval": "hour"}
    text = refusal(lambda: package.ditto_plan("devices", **whole), "ditto_plan of devices")
    assert "found:    more than 10000 executions from 2024-01-01 to 2025-02-20T16:00:00, interval: hour" in text
    assert "expected: at most 10000 executions in one range" in text
    assert "split the range: from 2024-01-01 to 2025-02-20T15:00:00, then from 2025-02-20T16:00:00" in text


def own_times(ditto: Ditto, first: str, last: str, *known: str, **config: Any) -> list[str]:
    package = operation(ditto, facts(applied(*known), exists=bool(known)), **config)
    package.ditto_plan("devices", **{"from": first, "to": last, "format": "json", "within": True})
    return [item["execution_time"][5:16] for item in json.loads(package.logs[-1])["executions"]]


@pytest.mark.parametrize(
    ("first", "last", "known", "planned"),
    [
        # The end is an hour of the model that it reads, and no day.
        ("2024-10-07", "2024-10-07T23:00:00", [], ["10-07 00:00"]),
        ("2024-10-07", "2024-10-08", ["10-07"], ["10-07 00:00", "10-08 00:00"]),
        # Neither is the beginning.
        ("2024-10-07T05:00:00", "2024-10-09T04:00:00", ["10-06"], ["10-08 00:00", "10-09 00:00"]),
        ("2024-10-07T05:00:00", "2024-10-07T09:00:00", ["10-06", "10-07", "10-08"], []),
        # What the ledger has besides was an execution.
        ("2024-10-07T05:00:00", "2024-10-08T04:00:00", ["10-06", "2024-10-07T06"], ["10-07 06:00", "10-08 00:00"]),
    ],
)
def test_a_model_inside_the_range_of_another_keeps_its_own_row(
    ditto: Ditto, first: str, last: str, known: list[str], planned: list[str]
) -> None:
    assert own_times(ditto, first, last, *known, interval="day") == planned


def test_the_rest_of_a_range_keeps_its_row(ditto: Ditto) -> None:
    """Also where it begins with an execution that only the ledger has."""
    known = facts(applied("10-06", "2024-10-06T12", "10-07"))
    for start, rest in (("2024-10-06T12:00:00", 1), ("2024-10-08", 3), ("2024-10-06", 0), ("2024-10-09", 4)):
        package = operation(ditto, known, interval="day")
        package.ditto_plan("devices", **{"from": "2024-10-06", "to": "2024-10-08", "start": start, "format": "json"})
        times = [item["execution_time"][5:16] for item in json.loads(package.logs[-1])["executions"]]
        assert times == ["10-06 00:00", "10-06 12:00", "10-07 00:00", "10-08 00:00"][rest:]


def test_a_plan_says_how_far_apart_executions_are(ditto: Ditto) -> None:
    package = operation(ditto, facts(FOUR), interval="day")
    package.ditto_plan("devices", **{"from": "2024-10-07", "to": "2024-10-08", "format": "json"})
    plan = json.loads(package.logs[-1])
    assert (plan["interval"], plan["downstream"][0]["interval"]) == ("day", None)


def test_both_formats_at_once(ditto: Ditto) -> None:
    package = operation(ditto, facts(FOUR))
    package.ditto_plan("devices", "2024-10-07", format="both")
    text, data = package.logs
    assert text.startswith("ditto: plan for devices")
    assert json.loads(data)["model"] == "devices"


def test_other_formats_are_refused(ditto: Ditto) -> None:
    package = operation(ditto, facts(FOUR))
    text = refusal(lambda: package.ditto_plan("devices", "2024-10-07", format="yaml"), "ditto_plan")
    assert "found:    format: yaml" in text


def test_downstream_models_are_found_through_others(ditto: Ditto) -> None:
    def model(name: str, *parents: str, kind: str = "model") -> dict[str, Any]:
        depends_on = {"nodes": [f"model.ditto.{parent}" for parent in parents]}
        known = {"unique_id": f"model.ditto.{name}", "name": name, "resource_type": kind, "depends_on": depends_on}
        return known | {"config": {"materialized": "view"}}

    nodes = [model("c", "b"), model("b", "a"), model("a"), model("z"), model("d", "a", "z")]
    nodes += [model("t", "a", kind="test")]
    package = ditto.with_context(graph={"nodes": {item["unique_id"]: item for item in nodes}})
    found = package.downstream_models(model("a"))
    assert [(item["name"], item["reads"]) for item in found] == [("b", ["a"]), ("c", ["b"]), ("d", ["a", "z"])]
