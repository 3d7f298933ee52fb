"""Statements that make and alter tables, and scripts around statements."""

from __future__ import annotations

from typing import Any

import pytest
from dbt_common.exceptions import CompilationError
from macro_harness import Ditto, sql

TABLE = "`demo`.`visits`"


def spec(**changes: Any) -> dict[str, Any]:
    columns = [{"name": "id", "type": "int", "not_null": False, "comment": ""}]
    empty = {"partition_by": [], "cluster_by": [], "location": None, "comment": None, "properties": {}, "upkeep": {}}
    return {"columns": columns, "file_format": "delta", **empty, **changes}


def test_a_plain_table(ditto: Ditto) -> None:
    made = sql(ditto.create_table_sql(TABLE, spec()))
    assert made == "create table if not exists `demo`.`visits` (`id` int) using delta"


def test_a_table_with_everything(ditto: Ditto) -> None:
    columns = [
        {"name": "id", "type": "int", "not_null": True, "comment": "It's the key"},
        {"name": "na`me", "type": "varchar(3)", "not_null": False, "comment": ""},
        {"name": "day", "type": "date", "not_null": False, "comment": "a \\ b"},
    ]
    made = spec(
        columns=columns,
        partition_by=["day"],
        location="/data/it's here/visits",
        comment="The owner's table; see 'x'",
        properties={"delta.appendOnly": True, "delta.enableDeletionVectors": False, "n": 7, "quote'd": "it's"},
    )
    assert sql(ditto.create_table_sql(TABLE, made)) == sql(
        r"""
        create table if not exists `demo`.`visits` (
            `id` int not null comment 'It\'s the key',
            `na``me` varchar(3),
            `day` date comment 'a \\ b'
        ) using delta
        partitioned by (`day`)
        location '/data/it\'s here/visits'
        comment 'The owner\'s table; see \'x\''
        tblproperties (
            'delta.appendOnly' = 'true', 'delta.enableDeletionVectors' = 'false', 'n' = '7', 'quote\'d' = 'it\'s'
        )
        """
    )


def test_a_clustered_table_is_replaced(ditto: Ditto) -> None:
    made = ditto.create_table_sql(TABLE, spec(cluster_by=["a", "b"], file_format="delta"), replace=True)
    assert sql(made) == "create or replace table `demo`.`visits` (`id` int) using delta cluster by (`a`, `b`)"


def test_a_whole_table_in_one_commit(ditto: Ditto) -> None:
    made = ditto.create_as_select_sql(TABLE, spec(properties={"a": True}), "select 1 as id", "it's", {"a": "b", "c": 3})
    assert sql(made) == sql(
        r"""
        create table `demo`.`visits` using delta
        comment 'it\'s'
        tblproperties ('a' = 'b', 'c' = '3')
        as
        select 1 as id
        """
    )


def test_a_whole_table_with_everything(ditto: Ditto) -> None:
    """What is handed over counts more than what the spec has; columns would not be understood here."""
    partitioned = spec(partition_by=["day", "h"], location="/lake/it's", comment="of the model", properties={"a": "1"})
    made = sql(ditto.create_as_select_sql(TABLE, partitioned, "select 1", "of the table", {"b": "2"}, replace=True))
    assert made == sql(
        r"""
        create or replace table `demo`.`visits` using delta partitioned by (`day`, `h`) location '/lake/it\'s'
        comment 'of the table' tblproperties ('a' = '1', 'b' = '2') as select 1
        """
    )
    clustered = ditto.create_as_select_sql(TABLE, spec(cluster_by=["a"]), "select 1", "c", {"b": "2"})
    assert "using delta cluster by (`a`) comment 'c'" in sql(clustered)


def test_alterations(ditto: Ditto) -> None:
    columns = [{"name": "a", "type": "int"}, {"name": "b", "type": "array<string>"}]
    alter = "alter table `demo`.`visits` "
    assert ditto.add_columns_sql(TABLE, columns) == alter + "add columns (`a` int, `b` array<string>)"
    assert ditto.drop_columns_sql(TABLE, columns) == alter + "drop columns (`a`, `b`)"
    assert ditto.set_properties_sql(TABLE, {"a": True, "b": "it's"}) == (
        alter + r"set tblproperties ('a' = 'true', 'b' = 'it\'s')"
    )
    assert ditto.comment_column_sql(TABLE, "a", "it's") == alter + r"alter column `a` comment 'it\'s'"
    assert ditto.comment_table_sql(TABLE, "it's") == r"comment on table `demo`.`visits` is 'it\'s'"


def test_a_guarded_write_turns_known_failures_into_words(ditto: Ditto) -> None:
    assert sql(ditto.guarded_sql("insert into t select 1")) == sql(
        """
        begin
            declare exit handler for sqlstate 'P0001', sqlstate '44000' begin select 'refused' as ditto_verdict; end;
            declare exit handler for sqlstate '2D521' begin select 'conflict' as ditto_verdict; end;
            insert into t select 1;
        end
        """
    )
    inserts = ditto.guarded_sql("insert into t select 1", inserts=True)
    assert "for sqlstate 'P0001', sqlstate '44000', sqlstate '58030' begin select 'refused'" in inserts


def test_broken_constraints_are_caught_for_a_step_that_can_explain_them(ditto: Ditto) -> None:
    caught = "sqlstate '44000', sqlstate '22001', sqlstate '23001', sqlstate '23502', sqlstate '58030' begin select"
    assert caught in sql(ditto.guarded_sql("insert into t select 1", constrained=True))


def test_a_table_needs_nothing_but_its_rows(ditto: Ditto) -> None:
    made = ditto.create_as_select_sql(TABLE, {"file_format": "delta"}, "select 1 as id", replace=True)
    assert sql(made) == "create or replace table `demo`.`visits` using delta as select 1 as id"


def test_a_fence_stands_around_a_statement(ditto: Ditto) -> None:
    assert ditto.fenced_sql("truncate table t", None) == "truncate table t"
    assert ditto.fenced_sql("truncate table t", None, script=True) == "truncate table t"
    inside = ditto.fenced_sql("truncate table t", "(select max(token) from l) = 2")
    assert sql(inside) == "if (select max(token) from l) = 2 then truncate table t; end if"
    script = ditto.fenced_sql("truncate table t", "1 = 2", script=True)
    assert sql(script) == "begin if 1 = 2 then truncate table t; end if; end"


def test_the_fence_is_the_newest_token_of_the_relation(ditto: Ditto) -> None:
    assert ditto.fence_condition("`x`.`ledger`", "demo.it's", 7) == (
        r"(select max(`token`) from `x`.`ledger` where `relation` = 'demo.it\'s') = 7"
    )


def test_a_compare_and_set_that_lost_is_silent(ditto: Ditto) -> None:
    assert sql(ditto.compare_and_set_sql("insert into l select 1")) == (
        "begin declare exit handler for sqlstate '2D521' begin end; insert into l select 1; end"
    )


def test_a_table_that_others_create_too_is_tried_again_and_at_last_without_a_net(ditto: Ditto) -> None:
    script = sql(ditto.create_if_missing_sql("create table if not exists t (a int)", tries=7, unknown_tries=3))
    assert script.count("execute immediate 'create table if not exists t (a int)'") == 2
    assert "while not created and attempt < 7 and unknown < 3 do" in script
    # What others do at the same time is waited for; an unknown error a few times; a wrong statement not once more.
    assert "handler for sqlstate '2D521', sqlstate '42601', sqlstate '42P07', sqlstate '42704' begin end;" in script
    assert "handler for sqlexception begin set unknown = unknown + 1; end;" in script
    assert "sqlstate '42K05', sqlstate '42K09', sqlstate '46121' begin set unknown = 3; end;" in script
    assert script.endswith("if not created then execute immediate 'create table if not exists t (a int)'; end if; end")


def test_a_statement_that_delta_has_to_parse_goes_into_a_script_as_text(ditto: Ditto) -> None:
    statement = ditto.create_table_sql(TABLE, spec(cluster_by=["id"], comment="it's"))
    text = ditto.immediate_sql(statement)
    assert text == "execute immediate " + ditto.literal(statement.strip())
    assert text.endswith(r"comment \'it\\\'s\''")


@pytest.mark.parametrize(
    ("table", "column_names", "expected"),
    [(True, ["ditto_verdict"], "refused"), (True, ["num_affected_rows"], None), (False, [], None)],
)
def test_the_verdict_of_a_guarded_write(
    ditto: Ditto, table: bool, column_names: list[str], expected: str | None
) -> None:
    class Table:
        rows = ({"ditto_verdict": "refused"},)

        def __init__(self) -> None:
            self.column_names = column_names

    assert ditto.verdict({"table": Table() if table else None}) == expected


def test_an_attempt_turns_any_failure_into_a_word(ditto: Ditto) -> None:
    """As text, since Delta's own statements are not understood inside of a script."""
    assert sql(ditto.attempt_sql("\n  generate m for table `a`.`it's` \n")) == sql(
        r"""
        begin
            declare exit handler for sqlexception begin select 'failed' as ditto_verdict; end;
            execute immediate 'generate m for table `a`.`it\'s`';
        end
        """
    )


@pytest.mark.parametrize("verdict", ["failed", None])
def test_a_step_that_may_fail_says_how_to_do_it_again_alone(ditto: Ditto, verdict: str | None) -> None:
    sent: list[tuple[str, str]] = []
    context = ditto.with_context(
        macros={"send": lambda name, text: sent.append((name, text)), "verdict": lambda result: verdict}
    )
    failure = {"found": "no manifest", "expected": "a manifest", "fix": "build it"}
    step = {"kind": "try", "name": "manifest", "sql": "insert 1", "failure": failure}
    plan = {"subject": "proxy_view model devices", "steps": [step], "execution_time": None, "mode": "m", "reason": "r"}
    if verdict:
        with pytest.raises(CompilationError) as error:
            context.run_plan(plan)
        text = str(error.value)
        assert all(part in text for part in ("ditto: proxy_view model devices", *failure.values()))
    else:
        assert context.run_plan(plan) is None
    ((name, statement),) = sent
    assert (name, sql(statement)) == ("manifest", sql(ditto.attempt_sql("insert 1")))


def test_an_append_that_collides_is_repeated_by_the_engine(ditto: Ditto) -> None:
    """Each time in a block of its own, whose handler lets the loop go on; the word comes when all have failed."""
    script = sql(ditto.patient_sql("insert into l select 1", tries=7))
    assert "while not landed and attempt < 7 do begin declare exit handler for sqlstate '2D521' begin end;" in script
    assert "insert into l select 1; set landed = true; end; set attempt = attempt + 1; end while;" in script
    assert script.endswith("if not landed then select 'conflict' as ditto_verdict; end if; end")


@pytest.mark.parametrize("verdict", [None, "conflict"])
def test_the_last_event_lands_or_the_error_says_why_not(ditto: Ditto, verdict: str | None) -> None:
    sent: list[str] = []
    macros = {
        "send": lambda name, text: sent.append(name),
        "verdict": lambda result: verdict,
        "ledger_append_sql": lambda ledger, events, last, lease, marker: f"{last} {lease['version']} {marker}",
        "patient_sql": lambda text: sent.append(text),
    }
    context = ditto.with_context(macros=macros)
    plan = {"subject": "stateful_merge model devices", "model": "devices", "execution_time": "2024-10-07 00:00:00"}
    plan["relation"] = "demo.devices"
    args = (plan, {"token": 3, "hash": "of the claim"}, "outcome", [{"event_id": "e1"}, {"event_id": "e2"}])
    if verdict is None:
        assert context.append_last(*args) == "ditto:outcome:e2"
    else:
        with pytest.raises(CompilationError) as raised:
            context.append_last(*args)
        assert "too many other changes of the ledger" in str(raised.value)
        assert "dbt run --select devices --vars '{execution_date: 2024-10-07}'" in str(raised.value)
    assert sent == ["of the claim 10 ditto:outcome:e2", "outcome"]


def test_an_outcome_after_the_lease_was_given_up_is_a_correction(ditto: Ditto) -> None:
    ids: list[int] = []
    macros = {
        "send": lambda name, text: None,
        "verdict": lambda result: None,
        "ledger_append_sql": lambda ledger, events, last, lease, marker: ids.append(lease["version"]) or "",
        "event": lambda *args: {"event_id": "e"},
    }
    context = ditto.with_context(macros=macros)
    plan = {"relation": "demo.devices", "ledger": {"generation": 1, "seq": 4}, "base_version": 1, "head": 1}
    lease = {"token": 3, "hash": "h", "given_up": False}
    assert context.give_up(plan, lease) == "ditto:give_up:e"
    context.append_last(plan, lease, "outcome", [{"event_id": "o"}])
    assert ids == [10, 11]
