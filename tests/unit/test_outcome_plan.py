"""From the table's commits to the events that the ledger still lacks."""

from __future__ import annotations

import json
from typing import Any

import pytest
from dbt_common.exceptions import CompilationError
from macro_harness import Ditto

NOW = "2024-10-07 00:00:00"
BEFORE = "2024-10-06 00:00:00"


def commit(version: int, run: str | None, execution_time: str = NOW, **changes: Any) -> dict[str, Any]:
    """`run` is the invocation that tagged it; without one it is somebody else's."""
    tag = {"pattern": "merger", "mode": "normal", "execution_time": execution_time, "invocation_id": run}
    metrics = {"numTargetRowsInserted": "2", "numTargetRowsUpdated": "1", "numTargetRowsDeleted": "0"}
    base = {
        "version": version,
        "read_version": version - 1,
        "operation": "MERGE",
        "tag": tag if run else None,
        "metrics": metrics,
    }
    return base | changes


def plan(last: dict[str, Any] | None = None, **changes: Any) -> dict[str, Any]:
    ledger = {
        "generation": 1 if last else 0,
        "seq": 4 if last else 0,
        "token": 0,
        "hash": "h",
        "last": last,
        "inputs": [],
    }
    base = {
        "relation": "demo.visits",
        "pattern": "merger",
        "mode": "normal",
        "execution_time": NOW,
        "invocation_id": "me",
        "unit": "`demo`.`visits`",
        "ledger": ledger | changes.pop("ledger", {}),
        "missing": False,
        "made_anew": False,
        "base_version": None,
    }
    return base | changes


def last(version: int | None = 3, run: str = "old", base_version: int | None = 2) -> dict[str, Any]:
    return {"execution_time": BEFORE, "version": version, "base_version": base_version, "invocation_id": run}


def short(events: list[dict[str, Any]]) -> list[tuple[Any, ...]]:
    keys = ("invocation_id", "execution_time", "generation", "seq", "base_version", "version")
    assert {event["event"] for event in events} == {"committed"}
    return [tuple(event[key] for key in keys) for event in events]


def test_the_outcome_of_a_run(ditto: Ditto) -> None:
    inputs = [{"relation": "demo.raw", "version": 8}]
    (event,) = ditto.outcome_events(
        plan(last(), ledger={"inputs": inputs}), [commit(4, "me"), commit(3, "old", BEFORE)]
    )
    assert short([event]) == [("me", NOW, 1, 5, 3, 4)]
    assert (event["rows_inserted"], event["rows_updated"], event["rows_deleted"]) == ("2", "1", "0")
    assert (event["relation"], event["pattern"], event["mode"]) == ("demo.visits", "merger", "normal")
    assert (event["unit"], event["token"]) == ("`demo`.`visits`", None)
    assert json.loads(event["inputs"]) == inputs


def test_the_first_run_starts_the_first_generation(ditto: Ditto) -> None:
    commits = [commit(1, "me"), commit(0, None, operation="CREATE TABLE")]
    assert short(ditto.outcome_events(plan(missing=True), commits)) == [("me", NOW, 1, 1, 0, 1)]


def test_commits_of_runs_that_died_before_their_outcome_are_recorded_too(ditto: Ditto) -> None:
    commits = [
        commit(7, "me"),
        commit(6, None, operation="OPTIMIZE"),
        commit(5, "lost 2", "2024-10-05 00:00:00"),
        commit(4, "lost 1", BEFORE),
        commit(3, "old", BEFORE),
    ]
    events = ditto.outcome_events(plan(last()), commits)
    assert short(events) == [
        ("lost 1", BEFORE, 1, 5, 3, 4),
        ("lost 2", "2024-10-05 00:00:00", 1, 6, 4, 5),
        ("me", NOW, 1, 7, 6, 7),
    ]
    assert json.loads(events[0]["details"]) == {"recorded_by": "me"}


def test_commits_of_another_pattern_are_no_outcomes_of_this_one(ditto: Ditto) -> None:
    """The model changed its materialization: what the other pattern lost has another meaning."""
    tag = commit(4, "lost", BEFORE)["tag"] | {"pattern": "stateful_merge"}
    commits = [commit(5, "me"), commit(4, "lost", BEFORE, tag=tag), commit(3, "old", BEFORE)]
    assert [event["invocation_id"] for event in ditto.outcome_events(plan(last()), commits)] == ["me"]


def test_a_leased_run_that_died_left_no_outcome(ditto: Ditto) -> None:
    """It was taken over or released, and what it committed undone."""
    commits = [commit(7, "me"), commit(6, None, operation="RESTORE"), commit(5, "dead"), commit(3, "old", BEFORE)]
    leased = plan(last(), leased=True, undoes_until="9999-12-31 00:00:00", base_version=3)
    (event,) = ditto.outcome_events(leased, commits, token=2)
    assert short([event]) == [("me", NOW, 1, 6, 6, 7)]
    assert event["undoes_until"] == "9999-12-31 00:00:00"


def test_other_outcomes_undo_nothing(ditto: Ditto) -> None:
    (event,) = ditto.outcome_events(plan(last(), undoes_until=None), [commit(4, "me"), commit(3, "old", BEFORE)])
    assert event["undoes_until"] is None


def test_what_the_ledger_knows_is_not_recorded_again(ditto: Ditto) -> None:
    commits = [commit(4, "me"), commit(3, "old", BEFORE), commit(2, "older", BEFORE), commit(1, "oldest", BEFORE)]
    assert [event["invocation_id"] for event in ditto.outcome_events(plan(last()), commits)] == ["me"]


def test_a_statement_that_was_sent_twice_is_one_outcome(ditto: Ditto) -> None:
    commits = [commit(5, "me"), commit(4, "me"), commit(3, "old", BEFORE)]
    assert short(ditto.outcome_events(plan(last()), commits)) == [("me", NOW, 1, 5, 3, 5)]
    lost = [commit(6, "me"), commit(5, "lost", BEFORE), commit(4, "lost", BEFORE), commit(3, "old", BEFORE)]
    assert [event["version"] for event in ditto.outcome_events(plan(last()), lost)] == [5, 6]


def test_two_executions_of_one_invocation_are_two_outcomes(ditto: Ditto) -> None:
    commits = [commit(5, "me"), commit(4, "me", BEFORE), commit(3, "old", BEFORE)]
    assert [event["execution_time"] for event in ditto.outcome_events(plan(last()), commits)] == [BEFORE, NOW]


def test_a_merge_that_changed_nothing_left_the_head_as_it_was(ditto: Ditto) -> None:
    (event,) = ditto.outcome_events(plan(last()), [commit(3, "old", BEFORE)])
    assert short([event]) == [("me", NOW, 1, 5, 3, 3)]
    assert (event["rows_inserted"], event["rows_updated"], event["rows_deleted"]) == (0, 0, 0)


def test_a_table_without_versions_has_an_outcome_without_them(ditto: Ditto) -> None:
    (event,) = ditto.outcome_events(plan(last(version=None, base_version=None)), [])
    assert short([event]) == [("me", NOW, 1, 5, None, None)]


@pytest.mark.parametrize(
    ("changes", "commits"),
    [
        (
            {"made_anew": True},
            [commit(5, "me"), commit(4, None, operation="CREATE OR REPLACE TABLE"), commit(3, "old", BEFORE)],
        ),
        ({"missing": True}, [commit(1, "me"), commit(0, None, operation="CREATE TABLE")]),
        ({}, [commit(2, "me"), commit(1, None, operation="WRITE")]),  # dropped, made again by others
        ({}, [commit(4, "me"), commit(3, None, operation="WRITE")]),  # ... and grown beyond the known version
        (
            {},
            [commit(5, "me"), commit(4, None, operation="CREATE OR REPLACE TABLE AS SELECT"), commit(3, "old", BEFORE)],
        ),
    ],
)
def test_another_table_under_the_same_name_is_a_new_generation(
    ditto: Ditto, changes: dict[str, Any], commits: list[dict[str, Any]]
) -> None:
    events = ditto.outcome_events(plan(last(), **changes), commits)
    assert [(event["invocation_id"], event["generation"]) for event in events] == [("me", 2)]


def test_a_dropped_table_that_grew_again_tells_who_filled_it(ditto: Ditto) -> None:
    """The run that made it anew died before its outcome; its version is one that the ledger knows from another run."""
    commits = [commit(2, "me"), commit(1, "lost", BEFORE), commit(0, None, operation="CREATE TABLE")]
    known = last(version=1, base_version=0)
    assert short(ditto.outcome_events(plan(known), commits)) == [
        ("lost", BEFORE, 2, 5, 0, 1),
        ("me", NOW, 2, 6, 1, 2),
    ]


def test_what_was_committed_before_a_replacement_is_not_in_the_table(ditto: Ditto) -> None:
    commits = [
        commit(6, "me"),
        commit(5, None, operation="CREATE OR REPLACE TABLE"),
        commit(4, "lost", BEFORE),
        commit(3, "old", BEFORE),
    ]
    assert short(ditto.outcome_events(plan(last()), commits)) == [("me", NOW, 2, 5, 5, 6)]


def test_a_replacement_that_was_undone_is_none(ditto: Ditto) -> None:
    """A full refresh that died and was released: the table is again what it was before."""
    undone = [
        commit(7, "me"),
        commit(6, None, operation="RESTORE", restored=3),
        commit(5, "dead"),
        commit(4, None, operation="CREATE OR REPLACE TABLE"),
        commit(3, "old", BEFORE),
    ]
    assert ditto.replaced_at(undone) == -1
    assert not ditto.is_new_generation(plan(last()) | {"many_tables": False}, undone)
    # One that went back to after the replacement has left it as it is.
    undone[1]["restored"] = 4
    assert ditto.replaced_at(undone) == 4


def test_a_commit_between_a_replacement_and_its_outcome_is_in_the_new_generation(ditto: Ditto) -> None:
    commits = [
        commit(6, "me"),
        commit(5, "other", BEFORE),
        commit(4, None, operation="CREATE OR REPLACE TABLE"),
        commit(3, "old", BEFORE),
    ]
    events = ditto.outcome_events(plan(last(), made_anew=True), commits)
    assert [(event["invocation_id"], event["generation"]) for event in events] == [("other", 2), ("me", 2)]


def test_the_holder_of_a_lease_counts_from_its_intent(ditto: Ditto) -> None:
    """The intent is event 5; the base is the one that it named, not what the last of several commits had read."""
    commits = [commit(5, "me", read_version=4), commit(4, None, operation="DELETE"), commit(3, "old", BEFORE)]
    (event,) = ditto.outcome_events(plan(last(), base_version=3), commits, token=2)
    assert short([event]) == [("me", NOW, 1, 6, 3, 5)]
    assert event["token"] == 2
    with_lost = [commit(5, "me"), commit(4, "lost", BEFORE), commit(3, "old", BEFORE)]
    events = ditto.outcome_events(plan(last(), base_version=4), with_lost, token=2)
    assert [(event["seq"], event.get("token")) for event in events] == [(6, None), (7, 2)]


def test_an_event_has_the_same_id_whoever_records_it(ditto: Ditto) -> None:
    mine = ditto.outcome_events(plan(last()), [commit(4, "me"), commit(3, "old", BEFORE)])[0]
    by_other = ditto.outcome_events(
        plan(last(), invocation_id="other", execution_time="2024-10-08 00:00:00"),
        [commit(5, "other", "2024-10-08 00:00:00"), commit(4, "me"), commit(3, "old", BEFORE)],
    )[0]
    assert mine["event_id"] == by_other["event_id"]
    another = ditto.outcome_events(plan(last()), [commit(5, "me"), commit(3, "old", BEFORE)])[0]
    assert mine["event_id"] != another["event_id"]


@pytest.mark.parametrize("moment", [NOW, "2024-10-07 09:00:00.5", "0001-01-01 00:00:00", "9999-12-31 23:59:59.999999"])
def test_a_tag_can_be_read_back(ditto: Ditto, moment: str) -> None:
    identity = {
        "pattern": "insert_overwrite",
        "mode": "full_refresh",
        "execution_time": moment,
        "invocation_id": "5c7bf0a2-9f4e-4b5a-9f0e-0123456789ab",
    }
    tag = ditto.tag(identity)
    assert ditto.parse_tag(tag) == identity
    assert ditto.parse_tag(f'{{"predicate": "[\\"(_ditto_run#7 = {tag})\\"]"}}') == identity


@pytest.mark.parametrize(
    "text", ["", " ", "ditto:1", "ditto:1|merger|normal|", "ditto:2|merger|normal|2024-10-07|x", "by hand"]
)
def test_what_is_no_tag(ditto: Ditto, text: str) -> None:
    assert ditto.parse_tag(text) is None


def history(versions: range, recorded: int | None, ditto: Ditto) -> list[int]:
    """Which limits are asked for, when the table has these versions and the ledger knows one of them."""
    asked = []

    def commits(table: str, limit: int) -> list[dict[str, Any]]:
        asked.append(limit)
        return [commit(version, "x") for version in reversed(versions)][:limit]

    known = None if recorded is None else last(version=recorded)
    found = ditto.with_context(macros={"commits": commits}).commits_of_run(plan(known) | {"table": "t"})
    wanted = -1 if recorded is None else recorded
    assert [one["version"] for one in found if one["version"] > wanted] == [v for v in reversed(versions) if v > wanted]
    return asked


def test_the_history_is_read_as_far_back_as_the_ledger_knows_it(ditto: Ditto) -> None:
    assert len(history(range(0, 3), 1, ditto)) == 1
    assert len(history(range(0, 100), 95, ditto)) == 1
    assert len(history(range(0, 100), 40, ditto)) == 2
    assert len(history(range(0, 100), None, ditto)) == 2


# --- what a pattern wants to remember -------------------------------------------------------------------------------


def made(run: str = "me") -> dict[str, Any]:
    metrics = {"numFiles": "3", "numOutputRows": "7", "numOutputBytes": "2048"}
    return commit(0, run, read_version=None, operation="CREATE TABLE AS SELECT", metrics=metrics)


def version_plan(**changes: Any) -> dict[str, Any]:
    """A run that writes a table of its own, after others that did."""
    details = {"version": "v1", "shown": True}
    known = plan(last(version=0, base_version=None), many_tables=True, leased=True, pattern="proxy_view")
    return known | {"details": details} | changes


def test_details_are_recorded_with_what_the_commit_weighs(ditto: Ditto) -> None:
    (event,) = ditto.outcome_events(version_plan(), [commit(1, None, operation="CHANGE COLUMN"), made()], token=3)
    assert json.loads(event["details"]) == {"version": "v1", "shown": True, "files": 3, "bytes": 2048}
    assert (event["version"], event["base_version"], event["rows_inserted"], event["generation"]) == (0, None, 7, 1)
    assert (event["seq"], event["token"]) == (6, 3), "the intent is the first event of the run"


def test_a_version_among_others_has_no_name_of_its_own(ditto: Ditto) -> None:
    details = {"version": None, "shown": False}
    (event,) = ditto.outcome_events(version_plan(details=details), [made()], token=3)
    assert json.loads(event["details"]) == {"version": None, "shown": False, "files": 3, "bytes": 2048}


@pytest.mark.parametrize("commits", [[], [made("somebody")]])
def test_details_of_a_run_without_a_commit(ditto: Ditto, commits: list[dict[str, Any]]) -> None:
    (event,) = ditto.outcome_events(version_plan(), commits, token=3)
    assert json.loads(event["details"]) == {"version": "v1", "shown": True, "files": 0, "bytes": 0}


def test_other_patterns_remember_nothing(ditto: Ditto) -> None:
    (event,) = ditto.outcome_events(plan(last(), details=None), [commit(4, "me"), commit(3, "old", BEFORE)])
    assert event.get("details") is None


def test_each_table_has_versions_of_its_own(ditto: Ditto) -> None:
    """The lower version of another table is no sign that a table was made anew; a full refresh is none either."""
    known = plan(last(version=9), many_tables=True, leased=True, details={"version": "v1"})
    (event,) = ditto.outcome_events(known, [made()], token=3)
    assert (event["generation"], event["version"]) == (1, 0)
    (event,) = ditto.outcome_events(version_plan(mode="full_refresh"), [made()], token=3)
    assert event["generation"] == 1


@pytest.mark.parametrize(("many", "there", "asked"), [(True, True, True), (True, False, False), (False, False, True)])
def test_a_table_that_was_never_made_has_no_commits(ditto: Ditto, many: bool, there: bool, asked: bool) -> None:
    """A run that was fenced off: the error has to be that of the fence, not that its table is missing."""
    looked: list[str] = []

    def commits(table: str, limit: int) -> list[dict[str, Any]]:
        looked.append(table)
        return [made()]

    context = ditto.with_context(
        macros={
            "tables_like": lambda schema, pattern: ["visits__v1"] if there and pattern == "Visits__v1" else [],
            "commits": commits,
            "append_last": lambda *args: "marker",
            "require_landed": lambda *args: None,
        }
    )
    place = {"schema": "demo", "identifier": "Visits__v1", "table": "`demo`.`visits__v1`"}
    run = {"versioned": True, "missing": True, "head": None, "subject": "s", "seen": None, "undoes_until": None}
    event = context.record_outcome(version_plan(many_tables=many, **place, **run), {"token": 3})
    assert looked == (["`demo`.`visits__v1`"] if asked else [])
    assert (event["version"] is None) == (not asked)


def test_a_write_that_the_table_skipped_is_no_outcome(ditto: Ditto) -> None:
    """Of a run that was taken over, or of a ledger that counts its tokens anew."""
    asked: list[int] = []
    ditto = ditto.with_context(macros={"require_lease": lambda plan, token, what: asked.append(token)})
    made = plan(last(), must_commit=True, versioned=True, subject="insert_overwrite model visits", model="visits")
    made |= {"table": "`demo`.`visits`"}
    assert ditto.refuse_skipped(made, [commit(4, "me")], {"token": 7}).strip() == "" and asked == []
    with pytest.raises(CompilationError, match="it was written with another ledger before"):
        ditto.refuse_skipped(made, [commit(3, "old", BEFORE)], {"token": 7})
    assert asked == [7]  # first: does another run hold the lease?
