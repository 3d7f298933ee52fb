"""The text of what is written to the ledger and read from it, and how its answers become facts."""

from __future__ import annotations

import json
from typing import Any

import pytest
from dbt_common.exceptions import CompilationError
from macro_harness import Ditto, relation, sql

NOW = "2024-10-07 00:00:00"
LEDGER = "`demo`.`ditto_ledger`"


def event(ditto: Ditto, **fields: Any) -> dict[str, Any]:
    identity = {
        "relation": "demo.visits",
        "pattern": "merger",
        "execution_time": "2024-10-07 00:00:00",
        "mode": "normal",
        "invocation_id": "me",
    }
    return ditto.event(identity, "committed", 1, 5, {"version": 4, "base_version": 3, "token": None} | fields)


def test_where_the_ledger_is(ditto: Ditto) -> None:
    assert ditto.ledger_table() == "`demo`.`ditto_ledger`"
    elsewhere = ditto.with_context(var={"ditto_schema": "audit"})
    assert elsewhere.ledger_table("ditto_state") == "`audit`.`ditto_state`"


def test_the_ledger_is_made_append_only(ditto: Ditto) -> None:
    made = sql(ditto.ledger_create_sql(LEDGER))
    assert "'delta.appendOnly' = 'true'" in made
    assert all(f"`{column['name']}` {column['type']}" in made for column in ditto.ledger_columns())


def test_the_hash_covers_every_column_but_itself(ditto: Ditto) -> None:
    digest = ditto.ledger_digest()
    names = [column["name"] for column in ditto.ledger_columns()]
    assert names[-2:] == ["prev_hash", "hash"]
    assert [name for name in names if f"`{name}`" in digest] == names[:-1]
    assert "unix_micros(`at`)" in digest


def test_two_events_are_chained_in_one_statement(ditto: Ditto) -> None:
    text = sql(ditto.ledger_append_sql(LEDGER, [event(ditto), event(ditto, version=5)], "the last hash"))
    first, second = text.split("event_2 as (")
    assert text.startswith("insert into `demo`.`ditto_ledger` select * from (with event_1 as (")
    assert "cast('the last hash' as string) as `prev_hash`" in first
    assert "`hash` as `prev_hash` from event_1" in second
    assert text.endswith("select * from event_1 union all select * from event_2)")
    assert "where" not in text


def test_the_first_event_of_a_relation_has_no_event_before_it(ditto: Ditto) -> None:
    assert "cast(null as string) as `prev_hash`" in ditto.ledger_append_sql(LEDGER, [event(ditto)])


def test_a_lease_is_a_transaction_of_its_own(ditto: Ditto) -> None:
    lease = ditto.lease_id("demo.it's", 3)
    text = sql(ditto.ledger_append_sql(LEDGER, [event(ditto)], lease=lease, marker="m"))
    options = r"'txnAppId' = 'ditto:lease:demo.it\'s', 'txnVersion' = '9', 'userMetadata' = 'm'"
    assert f"with ({options}) select" in text


def test_what_a_holder_appends_is_newer_than_its_claim_and_older_than_the_next(ditto: Ditto) -> None:
    steps = ["claim", "end", "correction"]
    ids = [ditto.lease_id("demo.visits", token, step) for token in (1, 2) for step in steps]
    versions = [made["version"] for made in ids]
    assert versions == sorted(set(versions)) and {made["app"] for made in ids} == {"ditto:lease:demo.visits"}
    assert ditto.lease_id("demo.visits", 2)["version"] == versions[3]


def test_a_stamped_event_is_the_same_however_often_it_is_sent(ditto: Ditto) -> None:
    """Its time and user are literals then, so the hash that the stamp gave is the hash that is appended."""
    stamp = sql(ditto.ledger_stamp_sql(event(ditto), "the last hash"))
    assert "current_timestamp() as `at`" in stamp and "current_user() as `user`" in stamp and "from `demo`" not in stamp
    stamped = event(ditto, at=1728259200000000, user="ann")
    text = sql(ditto.ledger_append_sql(LEDGER, [stamped], "the last hash"))
    assert "timestamp_micros(1728259200000000) as `at`" in text and "cast('ann' as string) as `user`" in text
    values = stamp[stamp.index("from (select *") + len("from (") : stamp.rindex(")")].strip()
    values = values.replace("current_timestamp()", "timestamp_micros(1728259200000000)")
    assert values.replace("current_user()", "cast('ann' as string)") in text


def test_values_of_an_event_are_escaped_and_typed(ditto: Ditto) -> None:
    text = ditto.ledger_append_sql(LEDGER, [event(ditto, unit="it's", details='{"a": "\\\\"}')])
    assert r"cast('it\'s' as string) as `unit`" in text
    assert "cast('2024-10-07 00:00:00' as timestamp_ntz) as `execution_time`" in text
    assert "cast('4' as bigint) as `version`" in text
    assert "cast(null as bigint) as `rows_inserted`" in text
    assert "current_timestamp() as `at`" in text


def facts(ditto: Ditto, *rows: dict[str, Any]) -> dict[str, Any]:
    answers = [{"facts": json.dumps(row)} for row in rows]
    return ditto.with_context(macros={"fetch": lambda statement: answers}).ledger_facts(
        "demo.visits", "2024-10-07 00:00:00", ["demo.raw"]
    )


def test_a_relation_that_the_ledger_does_not_know(ditto: Ditto) -> None:
    found = facts(ditto)
    assert (found["generation"], found["seq"], found["token"], found["hash"]) == (0, 0, 0, None)
    assert (found["last"], found["own"], found["previous"]) == (None, False, None)
    assert (found["unfinished"], found["inputs"]) == ([], [])


def test_what_the_ledger_leaves_out_is_none_and_not_undefined(ditto: Ditto) -> None:
    """JSON without nulls: a table without versions, an intent before there was a table."""
    intent = {"event": "started", "execution_time": "2024-10-07 00:00:00", "mode": "first", "invocation_id": "x"}
    last = {"execution_time": "2024-10-06 00:00:00", "event_id": "e", "invocation_id": "x", "generation": 1}
    own = {"relation": "demo.visits", "generation": 1, "seq": 2, "hash": "h", "own": False, "last": last}
    found = facts(ditto, own | {"lease": intent}, own | {"relation": "demo.raw"})
    assert found["last"] == last | {"version": None, "base_version": None}
    assert found["unfinished"] == [intent | {"base_version": None, "version": None, "undoes_until": None}]
    assert found["token"] == 0
    assert found["inputs"] == [
        {"relation": "demo.raw", "execution_time": "2024-10-06 00:00:00", "version": None, "event_id": "e"}
    ]


def test_an_older_generation_and_a_finished_lease_are_past(ditto: Ditto) -> None:
    old = {"execution_time": "2024-10-06 00:00:00", "generation": 1}
    done = {"event": "committed", "execution_time": "2024-10-06 00:00:00", "token": 4}
    row = {"relation": "demo.visits", "generation": 2, "seq": 9, "token": 4, "hash": "h", "own": False}
    found = facts(ditto, row | {"last": old, "previous": old, "newest": old, "lease": done})
    assert (found["last"], found["previous"], found["newest"], found["unfinished"]) == (None, None, None, [])
    current = old | {"generation": 2}
    found = facts(ditto, row | {"previous": current, "newest": current})
    assert (found["previous"], found["newest"]) == ("2024-10-06 00:00:00", "2024-10-06 00:00:00")


def test_outcomes_of_an_older_generation_are_not_in_the_chain(ditto: Ditto) -> None:
    outcomes = [{"generation": number, "event": "committed", "time": NOW, "seq": number} for number in (1, 2, 2)]
    row = {"relation": "demo.visits", "generation": 2, "seq": 9, "hash": "h", "own": False, "outcomes": outcomes}
    assert [outcome["generation"] for outcome in facts(ditto, row)["outcomes"]] == [2, 2]
    assert facts(ditto)["outcomes"] == []


def test_outcomes_are_read_only_for_patterns_that_undo(ditto: Ditto) -> None:
    assert "collect_list" not in ditto.ledger_read_sql(LEDGER, ["demo.visits"], NOW)
    chain = sql(ditto.ledger_read_sql(LEDGER, ["demo.visits"], NOW, chain=True))
    assert "filter (where `event` <> 'started' and `undoes_until` is not null) as `outcomes`" in chain


def test_leases_since_a_version_come_in_their_order(ditto: Ditto) -> None:
    assert sql(ditto.ledger_leases_sql(LEDGER, "demo.it's", 4)) == sql(rf"""
        select `event`, `token`, `version` from {LEDGER}
        where `relation` = 'demo.it\'s' and `token` is not null and coalesce(`version`, -1) >= 4
        order by `token`, `seq`
    """)


def test_only_upstream_models_of_ditto_are_inputs(ditto: Ditto) -> None:
    def node(name: str, materialized: str) -> dict[str, Any]:
        return {"schema": "Demo", "alias": name, "config": {"materialized": materialized}}

    nodes = {"model.a": node("A", "merger"), "model.b": node("b", "view"), "model.c": node("c", "insert_overwrite")}
    reader = {"depends_on": {"nodes": ["model.a", "model.b", "seed.s", "model.c"]}}
    assert ditto.with_context(graph={"nodes": nodes}).upstream_relations(reader) == ["demo.a", "demo.c"]


# --- the lease ------------------------------------------------------------------------------------------------------


def require(ditto: Ditto, holder: dict[str, Any] | None, token: int = 3) -> dict[str, Any]:
    rows = [{"holder": json.dumps(holder)}] if holder else []
    plan = {
        "relation": "demo.visits",
        "subject": "merger model visits",
        "model": "visits",
        "execution_time": "2024-10-07 00:00:00",
        "invocation_id": "me",
        "ledger": {"unfinished": []},
    }
    context = ditto.with_context(macros={"fetch": lambda statement: rows})
    return context.require_lease(plan, token, "claimed the model first")


HOLDER = {
    "token": 3,
    "invocation_id": "me",
    "execution_time": "2024-10-07 00:00:00",
    "user": "ann",
    "at": "noon",
    "hash": "h",
}


def test_who_holds_the_newest_token_may_go_on(ditto: Ditto) -> None:
    assert require(ditto, HOLDER)["hash"] == "h"


@pytest.mark.parametrize("changes", [{"invocation_id": "other"}, {"token": 4}, {"token": 2}])
def test_everybody_else_is_told_who_holds_it(ditto: Ditto, changes: dict[str, Any]) -> None:
    with pytest.raises(CompilationError) as caught:
        require(ditto, HOLDER | changes)
    holder = (HOLDER | changes)["invocation_id"]
    message = str(caught.value)
    assert f"another run claimed the model first: invocation {holder} of ann" in message
    assert "for execution 2024-10-07 00:00:00, started at noon" in message
    assert "dbt run --select visits --vars '{execution_date: 2024-10-07}'" in str(caught.value)


def test_an_operation_that_lost_the_lease_has_no_date_to_run_again(ditto: Ditto) -> None:
    plan = {"relation": "demo.visits", "subject": "ditto_freeze of visits", "model": "visits", "execution_time": None}
    context = ditto.with_context(macros={"fetch": lambda statement: [{"holder": json.dumps(HOLDER)}]})
    with pytest.raises(CompilationError) as caught:
        context.require_lease(plan | {"invocation_id": "other"}, 3, "took over this operation")
    assert "ditto: ditto_freeze of visits" in str(caught.value)
    assert "another run took over this operation: invocation me of ann for execution" in str(caught.value)
    assert "wait until the other one is done, then run the operation again" in str(caught.value)


def test_an_operation_that_meets_too_many_others(ditto: Ditto) -> None:
    plan = {"subject": "ditto_freeze of visits", "model": "visits", "execution_time": None, "table": "`a`.`b`"}
    other = {"tag": None, "version": 7, "operation": "UPDATE", "user": "ada", "at": "noon"}
    told = {"send": lambda *args: None, "verdict": lambda result: "conflict", "commits": lambda table, limit: [other]}
    context = ditto.with_context(macros=told)
    with pytest.raises(CompilationError, match="the last of them: version 7: UPDATE by ada at noon") as caught:
        context.guarded_write(plan, {"name": "outcome", "sql": "select 1"})
    assert str(caught.value).rstrip().endswith("run it again")


UNFINISHED = {"mode": "freeze", "invocation_id": "lost", "user": "ann", "at": "noon", "execution_time": None}


@pytest.mark.parametrize("operation", ["freeze", "evolve_units"])
def test_an_unfinished_operation_is_finished_by_itself_or_given_up(ditto: Ditto, operation: str) -> None:
    problem = ditto.unfinished_problem("visits", UNFINISHED | {"mode": operation})
    assert problem["found"] == f"ditto_{operation} did not finish: invocation lost of ann, started at noon"
    assert problem["expected"] == "no unfinished operation"
    again = f"dbt run-operation ditto_{operation} --args '{{model: visits}}'"
    assert f"finish it: with the arguments that it had, {again}" in problem["fix"]
    assert "give it up: dbt run-operation ditto_release --args '{model: visits}'" in problem["fix"]


def test_an_unfinished_execution_is_finished_by_a_run(ditto: Ditto) -> None:
    problem = ditto.unfinished_problem("visits", UNFINISHED | {"execution_time": NOW, "mode": "reset"})
    assert problem["found"].startswith("execution 2024-10-07 00:00:00 did not finish (reset): invocation lost of ann")
    assert "finish it: dbt run --select visits --vars '{execution_date: 2024-10-07}'" in problem["fix"]


def test_the_intent_of_an_operation_has_no_time_and_stops_every_execution(ditto: Ditto) -> None:
    lease = {"event": "started", "mode": "freeze", "token": 3, "invocation_id": "lost", "user": "ann", "at": "noon"}
    found = facts(
        ditto, {"relation": "demo.visits", "generation": 1, "seq": 3, "hash": "h", "own": False, "lease": lease}
    )
    (opened,) = found["unfinished"]
    assert (opened["execution_time"], opened["undoes_until"], opened["base_version"]) == (None, None, None)
    run = {"model": "visits", "subject": "fast_metadata_cleaner model visits", "execution_time": NOW, "dry": False}
    with pytest.raises(CompilationError, match="ditto_freeze did not finish"):
        ditto.refuse_unfinished(run, found)
    ditto.refuse_unfinished(run | {"dry": True}, found)


def test_nobody_holds_it(ditto: Ditto) -> None:
    """A restored ledger has seen newer transaction ids than its rows tell."""
    with pytest.raises(CompilationError, match="a ledger that skipped the claim of this run, though nobody else"):
        require(ditto, None)


def test_an_outcome_that_landed_is_found_whoever_claimed_since(ditto: Ditto) -> None:
    rows = [{"holder": json.dumps(HOLDER | {"seq": seq} | each)} for seq, each in enumerate(
        ({"event_id": "mine"}, {"event_id": "theirs", "token": 4, "invocation_id": "other"})
    )]  # fmt: skip
    context = ditto.with_context(macros={"fetch": lambda statement: rows if "as `holder`" in statement else []})
    plan = {"relation": "demo.visits", "subject": "s", "model": "visits", "execution_time": NOW, "invocation_id": "me"}
    context.require_landed(plan, 3, "ditto:outcome:mine", "took over this execution")
    with pytest.raises(CompilationError, match="another run took over this execution: invocation other"):
        context.require_landed(plan, 3, "ditto:outcome:lost", "took over this execution")


def test_what_takes_over_competes_with_the_end_of_the_run(ditto: Ditto) -> None:
    """Delta takes one of the two: so what has ended is not taken over, and what was taken over does not end."""
    outcome = ditto.lease_id("demo.visits", 3, "end")
    assert ditto.claim_id("demo.visits", {"token": 3, "unfinished": [{"token": 3}]}) == outcome
    assert ditto.claim_id("demo.visits", {"token": 3, "unfinished": []}) == ditto.lease_id("demo.visits", 4)
    assert ditto.claim_id("demo.visits", {"token": 0, "unfinished": []}) == ditto.lease_id("demo.visits", 1)


# --- ditto_release and ditto_verify ---------------------------------------------------------------------------------


def release(
    ditto: Ditto,
    unfinished: list[dict[str, Any]],
    holder: dict[str, Any] | None,
    pattern: str = "merger",
    ended: dict[str, Any] | None = None,
) -> tuple[Ditto, list[str]]:
    """`holder`: who has the next token then; `ended`: what the ledger says of the run that is to be released."""
    sent: list[str] = []
    node = {
        "name": "visits",
        "alias": "visits",
        "schema": "demo",
        "resource_type": "model",
        "config": {"materialized": pattern},
    }
    row: dict[str, Any] = {"relation": "demo.visits", "generation": 2, "seq": 7, "token": 2, "hash": "h", "own": False}
    row |= {"lease": unfinished[0] | {"event": "started"}} if unfinished else {}

    def fetch(statement: str) -> list[dict[str, str]]:
        if "as `holder`" not in statement:
            return [{"facts": json.dumps(row)}]
        found = holder if "`token` >= 3" in statement else ended
        return [{"holder": json.dumps(found)}] if found else []

    context = ditto.with_context(
        graph={"nodes": {"model.app.visits": node}},
        invocation_id="me",
        macros={
            "ledger_exists": lambda: True,
            "fetch": fetch,
            "send": lambda name, statement: sent.append(sql(statement)),
        },
    )
    context.ditto_release("visits")
    return context, sent


INTENT = {
    "execution_time": "2024-10-05 00:00:00",
    "mode": "first",
    "invocation_id": "lost",
    "user": "ann",
    "at": "noon",
    "token": 2,
}


def test_a_release_takes_the_lease(ditto: Ditto) -> None:
    context, (statement,) = release(ditto, [INTENT], HOLDER)
    assert statement.startswith("begin declare exit handler for sqlstate '2D521' begin end; insert into")
    assert "with ('txnAppId' = 'ditto:lease:demo.visits', 'txnVersion' = '7')" in statement
    assert "cast('released' as string) as `event`" in statement
    assert "cast(null as bigint) as `base_version`" in statement
    assert "released execution 2024-10-05 00:00:00 of visits (invocation lost of ann" in "\n".join(context.logs)


UNITS = "fast_metadata_cleaner"


@pytest.mark.parametrize(("until", "written"), [("2024-10-14 00:00:00", "'2024-10-14 00:00:00'"), (None, "null")])
def test_a_released_reset_still_makes_the_rest_of_its_unit_stale(ditto: Ditto, until: str | None, written: str) -> None:
    _, (statement,) = release(ditto, [INTENT | {"mode": "reset", "undoes_until": until}], HOLDER, UNITS)
    assert f"cast({written} as timestamp_ntz) as `undoes_until`" in statement
    _, (statement,) = release(ditto, [INTENT | {"undoes_until": until}], HOLDER, "merger")
    assert "cast(null as timestamp_ntz) as `undoes_until`" in statement


def test_an_operation_is_released_without_a_command_to_apply_it(ditto: Ditto) -> None:
    opened = {name: value for name, value in UNFINISHED.items() if value is not None} | {"token": 2}
    context, (statement,) = release(ditto, [opened], HOLDER, UNITS)
    assert "cast('released' as string) as `event`" in statement
    assert "cast('freeze' as string) as `mode`" in statement
    assert "cast(null as timestamp_ntz) as `execution_time`" in statement
    assert context.logs == ["ditto: released ditto_freeze of visits (invocation lost of ann, started at noon)"]


def test_a_full_refresh_of_units_cannot_be_given_up(ditto: Ditto) -> None:
    """Units may be gone already, and their executions would count as live."""
    with pytest.raises(CompilationError) as caught:
        release(ditto, [INTENT | {"mode": "full_refresh"}], HOLDER, UNITS)
    assert "a full refresh that did not finish: invocation lost of ann" in str(caught.value)
    assert "dbt run --select visits --full-refresh --vars '{execution_date: 2024-10-05}'" in str(caught.value)
    _, (statement,) = release(ditto, [INTENT | {"mode": "full_refresh"}], HOLDER, "merger")
    assert "cast('released' as string) as `event`" in statement


def test_a_release_that_came_too_late_says_so(ditto: Ditto) -> None:
    with pytest.raises(CompilationError, match="another run claimed the model first: invocation other"):
        release(ditto, [INTENT], HOLDER | {"invocation_id": "other"})


def test_a_run_that_ended_meanwhile_is_not_released(ditto: Ditto) -> None:
    with pytest.raises(CompilationError) as caught:
        release(ditto, [INTENT], None, ended=HOLDER | {"token": 2, "invocation_id": "lost"})
    assert "the run it was about to take over has ended: invocation lost of ann for execution" in str(caught.value)


def test_there_is_nothing_to_release(ditto: Ditto) -> None:
    context, sent = release(ditto, [], HOLDER)
    assert sent == []
    assert "visits has no unfinished execution" in "\n".join(context.logs)


def test_releasing_an_unknown_model_names_the_known_ones(ditto: Ditto) -> None:
    node = {"name": "visits", "resource_type": "model", "config": {"materialized": "merger"}}
    view = {"name": "plain", "resource_type": "model", "config": {"materialized": "view"}}
    context = ditto.with_context(graph={"nodes": {"a": node, "b": view}})
    with pytest.raises(CompilationError) as caught:
        context.ditto_release("plain")
    assert "no ditto model of this name" in str(caught.value)
    assert "one of visits" in str(caught.value)


def test_verifying_needs_a_ledger(ditto: Ditto) -> None:
    context = ditto.with_context(macros={"ledger_exists": lambda: False})
    context.ditto_verify()
    assert context.logs == ["ditto: there is no ledger yet, nothing to verify"]


def test_verifying_names_the_events_that_do_not_fit(ditto: Ditto) -> None:
    rows = [{"problem": "demo.visits event 3 (committed of execution 2024-10-07): its fields were changed"}]
    context = ditto.with_context(macros={"ledger_exists": lambda: True, "fetch": lambda statement: rows})
    with pytest.raises(CompilationError) as caught:
        context.ditto_verify()
    assert "demo.visits event 3 (committed of execution 2024-10-07): its fields were changed" in str(caught.value)
    assert "describe history `demo`.`ditto_ledger`" in str(caught.value)


# --- the ledger against the history ---------------------------------------------------------------------------------


def tagged(version: int, run: str | None, operation: str = "MERGE") -> dict[str, Any]:
    tag = {"execution_time": "2024-10-07 00:00:00", "invocation_id": run} if run else None
    return {"version": version, "operation": operation, "tag": tag}


def test_only_commits_of_the_table_as_it_is_are_compared(ditto: Ditto) -> None:
    commits = [tagged(4, "b"), tagged(3, None, "CREATE OR REPLACE TABLE"), tagged(2, "a"), tagged(1, None, "WRITE")]
    text = sql(ditto.ledger_differences_sql(LEDGER, "demo.it's", commits))
    assert "('2024-10-07 00:00:00', 'b', 4, null)" in text
    assert "'a'" not in text
    assert "outcomes.`version` >= 1" in text
    assert r"`relation` in ('demo.it\'s')" in text


def test_a_table_without_history_has_nothing_to_compare(ditto: Ditto) -> None:
    text = sql(ditto.ledger_differences_sql(LEDGER, "demo.visits", []))
    assert "from values (null, null, null, null) as commits" in text


@pytest.mark.parametrize("interval", ["minute", "year", "1 day; drop table x"])
def test_gaps_are_looked_for_in_known_intervals_only(ditto: Ditto, interval: str) -> None:
    with pytest.raises(CompilationError, match="hour, day, week or month"):
        ditto.test_ditto_no_gaps(relation("visits"), interval)


def test_uniqueness_needs_keys(ditto: Ditto) -> None:
    with pytest.raises(CompilationError, match="no keys"):
        ditto.test_ditto_unique(relation("visits"))
    text = sql(ditto.test_ditto_unique(relation("visits"), keys=["a", "b`c"]))
    assert "group by `a`, `b``c` having count(*) > 1" in text
