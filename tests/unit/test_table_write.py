"""The runner: the order of a plan's steps, and what happens when a write is refused or another run was first."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from dbt_common.exceptions import CompilationError
from macro_harness import Ditto, sql

PLAN = {
    "subject": "merger model visits",
    "model": "visits",
    "table": "`demo`.`visits`",
    "execution_time": "2024-10-07 00:00:00",
    "mode": "normal",
    "reason": "because",
}
DIAGNOSIS = {"sql": "select problem", "found": "bad rows", "expected": "good rows", "fix": "correct the SELECT"}


def engine(ditto: Ditto, *verdicts: str | None, problems: tuple[str, ...] = ()) -> tuple[Ditto, list[str]]:
    """An engine that answers each guarded statement with the next of these words."""
    answers = list(verdicts)
    sent: list[str] = []

    def send(name: str, statement: str) -> dict[str, Any]:
        sent.append(sql(statement))
        verdict = answers.pop(0) if answers and statement.strip().startswith("begin") else None
        rows = [{"ditto_verdict": verdict}] if verdict else []
        return {"table": SimpleNamespace(column_names=["ditto_verdict"] if verdict else [], rows=rows)}

    macros = {"send": send, "fetch": lambda statement: [{"problem": problem} for problem in problems]}
    return ditto.with_context(macros=macros), sent


def write(**changes: Any) -> dict[str, Any]:
    return {"kind": "write", "name": "merge", "sql": "merge into t", "diagnosis": DIAGNOSIS} | changes


def test_a_write_that_goes_through_is_sent_once(ditto: Ditto) -> None:
    context, sent = engine(ditto, None)
    context.guarded_write(PLAN, write())
    assert len(sent) == 1
    assert "merge into t;" in sent[0]


def test_a_run_that_lost_against_another_one_tries_again(ditto: Ditto) -> None:
    context, sent = engine(ditto, "conflict", "conflict", None)
    context.guarded_write(PLAN, write())
    assert len(sent) == 3
    assert len([line for line in context.logs if "another run committed first" in line]) == 2


def test_a_run_that_always_loses_gives_up_and_says_so(ditto: Ditto) -> None:
    context, sent = engine(ditto, *["conflict"] * 9)
    tag = {"invocation_id": "other", "execution_time": "2024-10-08 00:00:00"}
    macros = context._overrides["macros"] | {"commits": lambda table, n: [{"tag": tag, "version": 7, "at": "noon"}]}
    context = context.with_context(macros=macros)
    with pytest.raises(CompilationError) as caught:
        context.guarded_write(PLAN, write())
    assert len(sent) == 5
    assert "other runs of this model committed to `demo`.`visits` during each of 5 attempts" in str(caught.value)
    assert "invocation other for execution 2024-10-08 00:00:00, version 7 at noon" in str(caught.value)
    assert "dbt run --select visits --vars '{execution_date: 2024-10-07}'" in str(caught.value)


def test_refused_rows_are_named_and_nothing_is_sent_again(ditto: Ditto) -> None:
    context, sent = engine(ditto, "refused", problems=('{"id":1}: 2 rows', '{"id":2}: 3 rows'))
    with pytest.raises(CompilationError) as caught:
        context.guarded_write(PLAN, write())
    assert len(sent) == 1
    assert 'found:    bad rows:\n      - {"id":1}: 2 rows\n      - {"id":2}: 3 rows' in str(caught.value)
    assert "expected: good rows" in str(caught.value)


@pytest.mark.parametrize("diagnosis", [DIAGNOSIS, None])
def test_a_refusal_that_cannot_be_explained_is_told_by_the_engine(
    ditto: Ditto, diagnosis: dict[str, str] | None
) -> None:
    context, sent = engine(ditto, "refused", None)
    context.guarded_write(PLAN, write(diagnosis=diagnosis))
    assert sent[1] == "merge into t"


def test_the_steps_of_a_plan_are_done_in_their_order(ditto: Ditto) -> None:
    done: list[Any] = []

    def note(word: str, answer: Any = None) -> Any:
        return lambda *args: (done.append(word), answer)[1]

    lease = {"token": 3, "hash": "h"}

    def record(plan: dict[str, Any], held: dict[str, Any] | None) -> dict[str, Any]:
        done.append(("outcome", held))
        return {"version": 4}

    context = ditto.with_context(
        macros={
            "claim": note("claim", lease),
            "send": note("send"),
            "guarded_write": note("write"),
            "refuse_problems": note("check"),
            "record_outcome": record,
        }
    )
    kinds = ["check", "intent", "sql", "write", "outcome"]
    steps = [{"kind": kind, "name": kind, "sql": "x"} for kind in kinds]
    assert context.run_plan(PLAN | {"steps": steps}) == {"version": 4}
    assert done == ["check", "claim", "send", "write", ("outcome", lease)]
    assert "merger model visits at 2024-10-07 00:00:00: normal (because)" in context.logs[0]


def test_without_an_intent_there_is_no_lease_and_without_an_outcome_no_outcome(ditto: Ditto) -> None:
    held: list[Any] = []
    context = ditto.with_context(macros={"record_outcome": lambda plan, lease: held.append(lease)})
    context.run_plan(PLAN | {"steps": [{"kind": "outcome", "name": "outcome"}]})
    assert held == [None]
    assert context.run_plan(PLAN | {"steps": []}) is None


@pytest.mark.parametrize(
    ("outcome", "rows"),
    [({"rows_inserted": "2", "rows_updated": None, "rows_deleted": None, "version": 1}, "2"), (None, None)],
)
def test_dbt_is_told_what_was_done(ditto: Ditto, outcome: dict[str, Any] | None, rows: str | None) -> None:
    told: list[Any] = []

    def noop_statement(name: str, message: str, code: str, rows_affected: Any, caller: Any) -> str:
        told.extend([message, rows_affected, sql(caller())])
        return ""

    steps = [{"kind": "sql", "name": "create", "sql": "create table t"}, {"kind": "outcome", "name": "outcome"}]
    ditto.with_context(noop_statement=noop_statement).report(PLAN | {"steps": steps}, outcome)
    assert told[1:] == [rows, "create table t"]
    assert told[0] == ditto.outcome_message(PLAN, outcome)


# --- runs that hold a lease -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(("undo", "given_up"), [(False, True), (True, False)])
def test_a_refused_run_gives_its_lease_back_unless_the_table_went_back(
    ditto: Ditto, undo: bool, given_up: bool
) -> None:
    context, _ = engine(ditto, "refused", problems=("key 1",))
    given: list[dict[str, Any]] = []
    context = context.with_context(
        macros={**context._overrides["macros"], "give_up": lambda plan, lease: given.append(lease)}
    )
    with pytest.raises(CompilationError, match="bad rows"):
        context.guarded_write(PLAN | {"undo": undo}, write(), {"token": 3, "hash": "h"})
    assert given == ([{"token": 3, "hash": "h"}] if given_up else [])


@pytest.mark.parametrize(
    ("properties", "expected"),
    [("[a=b,c=d]", []), ("[a=b]", ["alter table `demo`.`visits` set tblproperties (\\'c\\' = \\'d\\')"])],
)
def test_properties_are_set_again_only_where_a_restore_changed_them(
    ditto: Ditto, properties: str, expected: list[str]
) -> None:
    context, sent = engine(ditto)
    found = {"properties": properties}
    context = context.with_context(macros={**context._overrides["macros"], "table_facts": lambda *args: found})
    settings = {"table": "`demo`.`visits`", "schema": "demo", "identifier": "visits"}
    step = {"kind": "upkeep", "settings": settings, "spec": {"upkeep": {"a": "b", "c": "d"}}, "fence": "1 = 1"}
    context.keep_properties(step)
    assert len(sent) == len(expected)
    assert all(
        "if 1 = 1 then" in statement and part in statement for statement, part in zip(sent, expected, strict=True)
    )


def test_readers_are_pinned_to_the_version_that_was_recorded(ditto: Ditto) -> None:
    context, sent = engine(ditto)
    macros = {**context._overrides["macros"], "record_outcome": lambda plan, lease: {"version": 7}}
    pin = {
        "kind": "pin",
        "name": "pin",
        "stand_in": "_v_",
        "sql": "create view v as select * from t version as of _v_",
    }
    steps = [{"kind": "outcome", "name": "outcome"}, pin]
    context.with_context(macros=macros).run_plan(PLAN | {"steps": steps})
    assert sent == ["create view v as select * from t version as of 7"]


@pytest.mark.parametrize(("undo", "given_up"), [(False, True), (True, False)])
def test_a_check_that_fails_under_a_lease_gives_it_back(ditto: Ditto, undo: bool, given_up: bool) -> None:
    context, _ = engine(ditto, problems=("id > 0",))
    given: list[dict[str, Any]] = []
    macros = {**context._overrides["macros"], "claim": lambda plan: {"token": 3}}
    context = context.with_context(macros={**macros, "give_up": lambda plan, lease: given.append(lease)})
    steps = [{"kind": "intent", "name": "intent"}, {"kind": "check", "name": "audits", "diagnosis": DIAGNOSIS}]
    with pytest.raises(CompilationError, match="bad rows"):
        context.run_plan(PLAN | {"undo": undo, "steps": steps})
    assert given == ([{"token": 3}] if given_up else [])


def test_the_repetition_of_a_write_may_be_another_statement(ditto: Ditto) -> None:
    context, sent = engine(ditto, "conflict", "conflict", None)
    context.guarded_write(PLAN, write(again="merge once more"))
    assert ["merge into t;" in sent[0], *("merge once more;" in text for text in sent[1:])] == [True, True, True]


def test_the_constraints_are_looked_at_when_the_keys_are_right(ditto: Ditto) -> None:
    context, _ = engine(ditto, "refused")
    rows = {"select problem": [], "show tblproperties t": [{"key": "delta.constraints.a", "value": "id > 0"}]}
    macros = {"fetch": lambda statement: rows.get(statement, [{"problem": "id > 0: {}"}])}
    context = context.with_context(macros={**context._overrides["macros"], **macros})
    constraints = {"table": "t", "rows": "select 1 as id", "known": [], "fix": "correct it", "exists": True}
    with pytest.raises(CompilationError) as caught:
        context.guarded_write(PLAN, write(constraints=constraints))
    assert "that break a constraint of t; the first of them:\n      - id > 0: {}" in str(caught.value)


def test_the_engine_is_asked_again_only_while_nobody_else_has_taken_over(ditto: Ditto) -> None:
    """What cannot be explained is sent once more; what it then writes needs an outcome of this run."""
    context, sent = engine(ditto, "refused")
    asked: list[tuple[int, str]] = []

    def require_landed(plan: dict[str, Any], token: int, marker: str, what: str) -> None:
        asked.append((token, marker))
        raise CompilationError(what)

    macros = {"give_up": lambda plan, lease: "ditto:give_up:e", "require_landed": require_landed}
    context = context.with_context(macros={**context._overrides["macros"], **macros})
    with pytest.raises(CompilationError, match="took over this execution"):
        context.guarded_write(PLAN | {"undo": False}, write(), {"token": 3, "hash": "h"})
    assert asked == [(3, "ditto:give_up:e")]
    assert len(sent) == 1
