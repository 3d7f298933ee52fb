"""The mode of a run, and the steps that bring the table to what the model describes."""

from __future__ import annotations

from typing import Any

import pytest
from dbt_common.exceptions import CompilationError
from macro_harness import Ditto, sql

NOW = "2024-10-07 00:00:00"


def settings(**changes: Any) -> dict[str, Any]:
    base = {
        "subject": "merger model visits",
        "model": "visits",
        "relation": "demo.visits",
        "identifier": "visits",
        "table": "`demo`.`visits`",
        "execution_time": NOW,
        "invocation_id": "me",
        "file_format": "delta",
        "partition_by": [],
        "cluster_by": [],
        "on_schema_change": "ignore",
        "full_refresh": False,
        "dry": False,
    }
    return base | changes


def ledger(**changes: Any) -> dict[str, Any]:
    last = {"execution_time": "2024-10-06 00:00:00", "version": 1, "base_version": 0, "invocation_id": "x"}
    base = {
        "generation": 1,
        "seq": 1,
        "token": 0,
        "hash": "h",
        "last": last,
        "own": False,
        "previous": "2024-10-06 00:00:00",
        "newest": "2024-10-06 00:00:00",
        "unfinished": [],
        "inputs": [],
    }
    return base | changes


def unfinished(execution_time: str = NOW, mode: str = "normal") -> dict[str, Any]:
    who = {"invocation_id": "lost", "user": "ann", "at": "2024-10-07 01:02:03", "base_version": 3}
    return {"execution_time": execution_time, "mode": mode, **who}


def facts(exists: bool = True, **changes: Any) -> dict[str, Any]:
    return {"target": {"exists": exists}, "ledger": ledger(**changes), "head": None}


@pytest.mark.parametrize(
    ("expected", "given", "world", "reason"),
    [
        ("first", {}, facts(exists=False), "no execution is recorded for this table"),
        ("first", {}, facts(last=None, newest=None, previous=None), "no execution is recorded for this table"),
        ("normal", {}, facts(), "the previous execution is 2024-10-06 00:00:00"),
        ("replay", {}, facts(own=True, newest="2024-10-09 00:00:00"), "applied before"),
        ("late", {}, facts(newest="2024-10-09 00:00:00"), "a later execution was applied before: 2024-10-09 00:00:00"),
        ("late", {}, facts(newest="2024-10-07 00:00:00.5"), "2024-10-07 00:00:00.5"),
        ("takeover", {}, facts(unfinished=[unfinished()]), "invocation lost did not finish"),
        ("takeover", {}, facts(unfinished=[unfinished()], own=True), "invocation lost did not finish"),
        (
            "full_refresh",
            {},
            facts(unfinished=[unfinished(mode="full_refresh")]),
            "full refresh of lost did not finish",
        ),
        ("full_refresh", {"full_refresh": True}, facts(), "--full-refresh"),
        ("full_refresh", {"full_refresh": True}, facts(unfinished=[unfinished()]), "--full-refresh"),
        ("full_refresh", {"full_refresh": True}, facts(exists=False, last=None), "--full-refresh"),
        ("dry", {"dry": True}, facts(), "nothing is written"),
        ("dry", {"dry": True, "full_refresh": True}, facts(unfinished=[unfinished()]), "nothing is written"),
    ],
)
def test_the_mode_and_its_reason(
    ditto: Ditto, expected: str, given: dict[str, Any], world: dict[str, Any], reason: str
) -> None:
    mode = ditto.plan_mode(settings(**given), world)
    assert mode["mode"] == expected
    assert reason in mode["reason"]


def test_another_unfinished_execution_stops_the_run_and_says_how_to_go_on(ditto: Ditto) -> None:
    world = ledger(unfinished=[unfinished(), unfinished("2024-10-05 09:00:00", "full_refresh")])
    with pytest.raises(CompilationError) as caught:
        ditto.refuse_unfinished(settings(), world)
    message = str(caught.value)
    assert "execution 2024-10-05 09:00:00 did not finish (full_refresh)" in message
    assert "invocation lost of ann for execution 2024-10-05 09:00:00, started at 2024-10-07 01:02:03" in message
    assert "dbt run --select visits --vars '{execution_date: 2024-10-05T09:00:00}'" in message
    assert "dbt run-operation ditto_release --args '{model: visits}'" in message


def test_the_own_unfinished_execution_stops_nothing(ditto: Ditto) -> None:
    assert ditto.refuse_unfinished(settings(), ledger(unfinished=[unfinished()])).strip() == ""


# --- table_spec -----------------------------------------------------------------------------------------------------


def node(**changes: Any) -> dict[str, Any]:
    base = {"name": "visits", "description": "", "columns": {}, "constraints": [], "config": {"materialized": "merger"}}
    return base | changes


INCREMENT = [{"name": "id", "type": "int"}, {"name": "name", "type": "string"}]


def test_without_a_contract_the_table_is_what_the_select_gives(ditto: Ditto) -> None:
    columns = {"id": {"description": "The key", "constraints": [{"type": "not_null"}]}}
    spec = ditto.table_spec(node(columns=columns, description="All"), settings(), INCREMENT, [], {"p": "1"})
    assert [(c["name"], c["type"], bool(c["not_null"]), c["comment"]) for c in spec["columns"]] == [
        ("id", "int", False, ""),
        ("name", "string", False, ""),
    ]
    assert spec["properties"] == {"p": "1"}
    assert (spec["comment"], spec["location"], spec["upkeep"]) == (None, None, {})


def test_a_contract_gives_types_constraints_and_comments(ditto: Ditto) -> None:
    contract = [
        {"name": "id", "type": "int", "declared": "int"},
        {"name": "name", "type": "string", "declared": "varchar(3)"},
    ]
    config = {
        "materialized": "merger",
        "persist_docs": {"relation": True, "columns": True},
        "location_root": "/data",
        "tblproperties": {"p": 2, "team": "web"},
    }
    columns = {
        "ID": {
            "description": "The key",
            "constraints": [{"type": "not_null"}, {"type": "check", "expression": "id > 0"}],
        },
        "name": {"description": ""},
    }
    described = node(
        description="All visits",
        columns=columns,
        constraints=[{"type": "check", "name": "short", "expression": "length(name) < 9"}, {"type": "primary_key"}],
        config=config,
    )
    spec = ditto.table_spec(described, settings(), INCREMENT, contract, {"p": "1"})
    assert [(c["name"], c["type"], bool(c["not_null"]), c["comment"]) for c in spec["columns"]] == [
        ("id", "int", True, "The key"),
        ("name", "varchar(3)", False, ""),
    ]
    checks = {key: value for key, value in spec["properties"].items() if key.startswith("delta.constraints.")}
    assert checks.pop("delta.constraints.short") == "length(name) < 9"
    assert list(checks.values()) == ["id > 0"]
    assert {key: spec["properties"][key] for key in ("p", "team")} == {"p": 2, "team": "web"}
    assert spec["upkeep"] == {"p": 2, "team": "web"}
    assert (spec["comment"], spec["location"]) == ("All visits", "/data/visits")


@pytest.mark.parametrize(
    ("increment", "changes", "message"),
    [
        ([*INCREMENT, {"name": "ID", "type": "int"}], {}, "column id twice in the SELECT"),
        ([*INCREMENT, {"name": "_ditto_x", "type": "int"}], {}, "column _ditto_x in the SELECT"),
        ([*INCREMENT, {"name": "a b", "type": "int"}], {}, "column `a b` in the SELECT"),
        ([*INCREMENT, {"name": "a=b", "type": "int"}], {}, "column `a=b` in the SELECT"),
        (INCREMENT, {"partition_by": ["day"]}, "partition_by: day, which the SELECT does not give"),
        (INCREMENT, {"cluster_by": ["day"]}, "cluster_by: day, which the SELECT does not give"),
    ],
)
def test_columns_that_cannot_be_are_refused(
    ditto: Ditto, increment: list[dict[str, str]], changes: dict[str, Any], message: str
) -> None:
    with pytest.raises(CompilationError, match=message):
        ditto.table_spec(node(), settings(**changes), increment)


def test_a_select_that_differs_from_the_contract_is_refused(ditto: Ditto) -> None:
    contract = [
        {"name": "id", "type": "bigint", "declared": "bigint"},
        {"name": "day", "type": "date", "declared": "date"},
    ]
    with pytest.raises(CompilationError) as caught:
        ditto.table_spec(node(), settings(), INCREMENT, contract)
    found = "not in the contract: name; not in the SELECT: day; other types: id (bigint -> int)"
    assert found in str(caught.value)


# --- plan_table -----------------------------------------------------------------------------------------------------


def target(**changes: Any) -> dict[str, Any]:
    columns = [{"name": "id", "type": "int", "comment": ""}, {"name": "name", "type": "string", "comment": "old"}]
    base = {"exists": True, "type": "table", "provider": "delta", "columns": columns, "comment": "", "properties": "[]"}
    return base | changes


def steps(ditto: Ditto, there: dict[str, Any], fence: str | None = None, **spec: Any) -> list[tuple[str, str]]:
    columns = [dict(column, not_null=False, comment="") for column in INCREMENT]
    empty = {"partition_by": [], "cluster_by": [], "location": None, "comment": None, "properties": {}, "upkeep": {}}
    anew = spec.pop("anew", False)
    described = {"columns": columns, "file_format": "delta", **empty, **spec}
    world = {"target": there, "increment": INCREMENT}
    made = ditto.plan_table(settings(), world, described, anew, fence)
    return [(step["name"], sql(step["sql"])) for step in made["steps"]]


def test_a_missing_table_is_made_and_nobody_is_disturbed(ditto: Ditto) -> None:
    (name, statement), *rest = steps(ditto, target(exists=False))
    assert (name, rest) == ("create_table", [])
    assert "create table if not exists `demo`.`visits`" in statement
    assert "replace" not in statement


def test_a_full_refresh_of_a_delta_table_keeps_its_history_and_is_fenced(ditto: Ditto) -> None:
    made = steps(ditto, target(), fence="1 = 2", anew=True)
    assert [name for name, _ in made] == ["replace_table"]
    assert made[0][1].startswith("begin if 1 = 2 then execute immediate 'create or replace table `demo`.`visits`")


@pytest.mark.parametrize(
    ("there", "dropped"), [({"type": "view", "provider": ""}, "drop_view"), ({"provider": "parquet"}, "drop_table")]
)
def test_a_full_refresh_drops_what_cannot_be_replaced(ditto: Ditto, there: dict[str, Any], dropped: str) -> None:
    made = steps(ditto, target(**there), fence="1 = 2", anew=True)
    assert [name for name, _ in made] == [dropped, "create_table"]
    assert all(statement.startswith("begin if 1 = 2 then ") for _, statement in made)


@pytest.mark.parametrize(
    ("there", "found"),
    [({"type": "view", "provider": ""}, "a view under the name"), ({"provider": "parquet"}, "a parquet table under")],
)
def test_something_else_under_the_name_is_never_replaced_unasked(
    ditto: Ditto, there: dict[str, Any], found: str
) -> None:
    with pytest.raises(CompilationError) as caught:
        steps(ditto, target(**there))
    assert found in str(caught.value)
    assert "--full-refresh" in str(caught.value)


def test_a_table_as_described_is_left_alone(ditto: Ditto) -> None:
    columns = [dict(INCREMENT[0], comment="The key"), dict(INCREMENT[1], comment="")]
    there = target(columns=columns, comment="All", properties="[a=1,b=true,delta.minReaderVersion=1]")
    described = [dict(column, not_null=False) for column in columns]
    assert steps(ditto, there, columns=described, comment="All", upkeep={"a": 1, "b": True}) == []
    assert steps(ditto, there, comment=None) == []


def test_what_differs_is_altered_once(ditto: Ditto) -> None:
    columns = [dict(INCREMENT[0], comment="The key"), dict(INCREMENT[1], comment="old")]
    described = [dict(column, not_null=False) for column in columns]
    made = steps(ditto, target(properties="[a=1]"), columns=described, comment="All", upkeep={"a": 2, "b": False})
    assert made == [
        ("properties", "alter table `demo`.`visits` set tblproperties ('a' = '2', 'b' = 'false')"),
        ("comment", "comment on table `demo`.`visits` is 'All'"),
        ("column_comment", "alter table `demo`.`visits` alter column `id` comment 'The key'"),
    ]


@pytest.mark.parametrize(
    ("properties", "same"),
    [
        ("[a=1]", True),
        ("[a=1,z=2]", True),
        ("[0=0,a=1]", True),
        ("[a=10]", False),
        ("[aa=1]", False),
        ("[x.a=1,b=2]", False),
    ],
)
def test_only_the_whole_property_counts_as_the_same(ditto: Ditto, properties: str, same: bool) -> None:
    made = steps(ditto, target(properties=properties), upkeep={"a": 1})
    assert (made == []) is same


def test_a_plan_knows_what_it_stands_on(ditto: Ditto) -> None:
    world = {"target": target(exists=False), "ledger": ledger(), "head": 4}
    plan = ditto.new_plan(settings(), world, {"mode": "full_refresh", "reason": "asked"}, ["step"])
    expected = {"mode": "full_refresh", "reason": "asked", "steps": ["step"], "missing": True}
    expected |= {"made_anew": True, "base_version": 4, "versioned": True}
    assert {key: plan[key] for key in expected} == expected


# --- what the engine describes --------------------------------------------------------------------------------------


def test_the_description_of_a_table_is_understood(ditto: Ditto) -> None:
    lines = [
        ("id", "int", "The key"),
        ("Type", "string", None),
        ("day", "date", None),
        ("# Partition Information", "", ""),
        ("# col_name", "data_type", "comment"),
        ("day", "date", None),
        ("", "", ""),
        ("# Detailed Table Information", "", ""),
        ("Name", "spark_catalog.demo.visits", ""),
        ("Type", "MANAGED", ""),
        ("Comment", "All visits", ""),
        ("Provider", "delta", ""),
        ("Table Properties", "[a=1,b=2]", ""),
    ]
    rows = [dict(zip(("col_name", "data_type", "comment"), line, strict=True)) for line in lines]
    found = ditto.parse_description(rows)
    assert found == {
        "columns": [
            {"name": "id", "type": "int", "comment": "The key"},
            {"name": "Type", "type": "string", "comment": ""},
            {"name": "day", "type": "date", "comment": ""},
        ],
        "partition_by": ["day"],
        "type": "table",
        "provider": "delta",
        "comment": "All visits",
        "properties": "[a=1,b=2]",
        "text": "",
    }


def test_the_information_about_a_view(ditto: Ditto) -> None:
    """Of several lines; a view that was never described has no comment."""
    text = "select `id` from `s`.`visits__w20241007`\nunion all\nselect `id` from `s`.`visits__w20241014`"
    head = "Catalog: spark_catalog\nDatabase: s\nTable: visits__units_2024\nType: VIEW\n"
    tail = f"View Text: {text}\nView Original Text: {text}\nView Schema Mode: COMPENSATION\nSchema: root\n"
    found = {"type": "view", "text": text, "comment": "ditto: a part of s.visits"}
    assert ditto.parse_information(f"{head}Comment: ditto: a part of s.visits\n{tail}") == found
    assert ditto.parse_information(head + tail) == found | {"comment": ""}


def test_the_message_beside_the_name_of_a_model(ditto: Ditto) -> None:
    plan = {"mode": "replay"}
    outcome = {"rows_inserted": "0", "rows_updated": "2", "rows_deleted": None, "version": 4}
    assert ditto.outcome_message(plan, outcome) == "OK replay: 0 inserted, 2 updated, version 4"
    assert ditto.outcome_message(plan, outcome | {"version": None}) == "OK replay: 0 inserted, 2 updated"
    assert ditto.outcome_message(plan, None) == "DRY RUN, nothing written"
