"""From a config and the facts to the steps of a merger run."""

from __future__ import annotations

from typing import Any

import pytest
from macro_harness import Ditto, sql
from merger_model import (
    DATE,
    INCREMENT,
    columns,
    facts,
    ledger,
    node,
    ran_before,
    refusal,
    settings,
    table,
    view,
)

ROWS = columns(id="int", name="string")
TRACKED = columns(id="int", seq="int", is_deleted="boolean")
HIDING: dict[str, Any] = {"soft_delete": "is_deleted", "sequence_by": "seq"}


def plan(
    ditto: Ditto, known: dict[str, Any], full_refresh: bool = False, dry: bool = False, **config: object
) -> dict[str, Any]:
    read = settings(ditto, full_refresh, dry, **config)
    return ditto.with_context(var={"execution_date": DATE}).merger_plan(node(**config), read, known, INCREMENT)


def names(made: dict[str, Any]) -> list[str]:
    return [step["name"] for step in made["steps"]]


def step(made: dict[str, Any], name: str) -> dict[str, Any]:
    return next(step for step in made["steps"] if step["name"] == name)


# --- steps ----------------------------------------------------------------------------------------------------------


def test_a_first_run_makes_the_table_and_merges_into_it(ditto: Ditto) -> None:
    made = plan(ditto, facts(ROWS))
    assert (made["mode"], names(made)) == ("first", ["create_table", "merge", "outcome"])


@pytest.mark.parametrize(
    ("known", "mode"),
    [
        (ran_before(), "normal"),
        (ran_before("2024-10-07 00:00:00", own=True), "replay"),
        (ran_before("2024-10-08 00:00:00", previous=None), "late"),
    ],
)
def test_one_commit_needs_no_intent(ditto: Ditto, known: dict[str, Any], mode: str) -> None:
    made = plan(ditto, facts(ROWS, table(ROWS), ledger=known))
    assert (made["mode"], names(made)) == (mode, ["merge", "outcome"])
    assert f"ditto:1|merger|{mode}|2024-10-07 00:00:00|" in step(made, "merge")["sql"]


def test_a_full_refresh_is_checked_then_announced_then_fenced(ditto: Ditto) -> None:
    made = plan(ditto, facts(ROWS, table(ROWS), ledger=ran_before(token=4), head=7), full_refresh=True)
    assert (made["mode"], made["base_version"]) == ("full_refresh", 7)
    assert made["undo"]  # refused after the table is empty, it stays unfinished
    assert names(made) == ["check_keys", "intent", "replace_table", "merge", "outcome"]
    fence = "(select max(`token`) from `demo`.`ditto_ledger` where `relation` = 'demo.devices') = 5"
    assert fence in step(made, "replace_table")["sql"]
    assert fence in step(made, "merge")["sql"]


def test_a_full_refresh_keeps_the_history_of_the_table(ditto: Ditto) -> None:
    made = plan(ditto, facts(ROWS, table(ROWS), ledger=ran_before()), full_refresh=True)
    assert "create or replace table" in step(made, "replace_table")["sql"]
    assert "drop" not in step(made, "replace_table")["sql"]


def test_an_unfinished_execution_is_taken_over_or_stops_another_one(ditto: Ditto) -> None:
    opened = {"mode": "full_refresh", "token": 1, "base_version": 0, "invocation_id": "i", "user": "ada", "at": "noon"}
    own = {"execution_time": "2024-10-07 00:00:00"}
    known = facts(ROWS, table(ROWS), ledger=ledger(unfinished=[opened | own]))
    assert names(plan(ditto, known)) == ["check_keys", "intent", "replace_table", "merge", "outcome"]
    known = facts(ROWS, table(ROWS), ledger=ledger(unfinished=[opened | own | {"mode": "normal"}]))
    assert (plan(ditto, known)["mode"], names(plan(ditto, known))) == ("takeover", ["intent", "merge", "outcome"])

    other = ledger(unfinished=[opened | {"execution_time": "2024-10-06 00:00:00"}])
    text = refusal(lambda: plan(ditto, facts(ROWS, table(ROWS), ledger=other)))
    assert "execution 2024-10-06 00:00:00 did not finish" in text
    assert "dbt run --select devices --vars '{execution_date: 2024-10-06}'" in text


def test_a_dry_run_writes_nothing(ditto: Ditto) -> None:
    assert names(plan(ditto, facts(ROWS), dry=True)) == ["create_table"]
    assert names(plan(ditto, facts(ROWS, table(ROWS)), dry=True)) == []


def test_new_columns_are_added_before_the_merge(ditto: Ditto) -> None:
    wider = columns(id="int", name="string", colour="string")
    made = plan(ditto, facts(wider, table(ROWS), ledger=ran_before()), on_schema_change="append_new_columns")
    assert names(made) == ["add_columns", "merge", "outcome"]
    assert "`colour` = source.`colour`" in step(made, "merge")["sql"]


def test_a_table_of_nothing_but_keys_is_checked_before_it_is_inserted_into(ditto: Ditto) -> None:
    keys = columns(id="int", day="date")
    made = plan(ditto, facts(keys), unique_key=["id", "day"])
    assert names(made) == ["create_table", "check_keys", "merge", "outcome"]
    assert step(made, "check_keys")["diagnosis"] == step(made, "merge")["diagnosis"]
    assert "check_keys" not in names(plan(ditto, facts(ROWS)))


# --- the view that hides deleted rows -------------------------------------------------------------------------------


def test_hidden_rows_get_a_view_in_front(ditto: Ditto) -> None:
    made = plan(ditto, facts(TRACKED), **HIDING)
    assert names(made) == ["create_table", "view", "merge", "outcome"]
    assert "`demo`.`devices__data`" in step(made, "create_table")["sql"]
    assert "create or replace view `demo`.`devices`\n" in step(made, "view")["sql"]


@pytest.mark.parametrize(
    ("shown", "config", "full_refresh", "again"),
    [
        (view(TRACKED), {}, False, False),
        (view(TRACKED[:2]), {}, False, True),
        (view(TRACKED), {}, True, True),
        (view(TRACKED, comment="old"), {"persist_docs": {"relation": True}}, False, True),
        (view(TRACKED, comment="Devices."), {"persist_docs": {"relation": True}}, False, False),
    ],
)
def test_the_view_is_made_again_only_when_it_shows_something_else(
    ditto: Ditto, shown: dict[str, Any], config: dict[str, Any], full_refresh: bool, again: bool
) -> None:
    known = facts(TRACKED, table(TRACKED, comment="Devices."), ledger=ran_before(), view=shown)
    read = settings(ditto, full_refresh, **HIDING, **config)
    made = ditto.merger_plan(node(**HIDING, **config) | {"description": "Devices."}, read, known, INCREMENT)
    assert ("view" in names(made)) is again


def test_a_table_in_the_place_of_the_view_is_not_touched(ditto: Ditto) -> None:
    text = refusal(lambda: plan(ditto, facts(TRACKED, view=table(TRACKED)), **HIDING))
    assert "found:    a table under the name `demo`.`devices`" in text
    assert "alter table `demo`.`devices` rename to `demo`.`devices__data`" in text


# --- columns that the config names ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("option", "config"),
    [
        ("unique_key", {"unique_key": ["id", "nope"]}),
        ("order_by", {"order_by": "nope", "on_duplicate_key": "latest"}),
        ("update_columns", {"update_columns": "nope"}),
        ("exclude_columns", {"exclude_columns": "nope"}),
        ("soft_delete", {"soft_delete": "nope"}),
        ("sequence_by", {"sequence_by": "nope", "order_by": "id"}),
        ("partition_by", {"partition_by": "nope"}),
        ("cluster_by", {"cluster_by": "nope"}),
    ],
)
def test_a_column_that_the_select_lacks_is_refused(ditto: Ditto, option: str, config: dict[str, Any]) -> None:
    text = refusal(lambda: plan(ditto, facts(ROWS), **config))
    assert f"found:    {option}: nope, which the SELECT does not give" in text
    assert "expected: one of its columns: id, name" in text


def test_column_names_ignore_case(ditto: Ditto) -> None:
    made = plan(ditto, facts(TRACKED, table(TRACKED)), unique_key="ID", soft_delete="IS_DELETED", sequence_by="Seq")
    assert "target.`ID` <=> source.`ID`" in step(made, "merge")["sql"]


@pytest.mark.parametrize("type_", ["string", "double", "date"])
def test_a_flag_that_could_be_misread_is_refused(ditto: Ditto, type_: str) -> None:
    text = refusal(lambda: plan(ditto, facts(columns(id="int", op=type_)), soft_delete="op"))
    assert f"found:    soft_delete: op, a {type_}" in text
    assert "op = 'D' as is_deleted" in text


@pytest.mark.parametrize("type_", ["boolean", "tinyint", "int", "bigint"])
def test_flags_are_booleans_or_whole_numbers(ditto: Ditto, type_: str) -> None:
    assert "merge" in names(plan(ditto, facts(columns(id="int", gone=type_)), soft_delete="gone"))


@pytest.mark.parametrize("option", ["soft_delete", "sequence_by"])
def test_a_column_that_only_the_table_lacks_is_refused_with_the_way_to_add_it(ditto: Ditto, option: str) -> None:
    wider = columns(id="int", name="string", extra="boolean")
    known = facts(wider, table(ROWS), ledger=ran_before())
    text = refusal(lambda: plan(ditto, known, **{option: "extra"}))
    assert f"found:    {option}: extra, which `demo`.`devices` does not have" in text
    assert "on_schema_change='append_new_columns'" in text
    assert "merge" in names(plan(ditto, known, on_schema_change="append_new_columns", **{option: "extra"}))


# --- columns whose range prunes files -------------------------------------------------------------------------------


PAIR = columns(day="date", id="int")


def range_columns(ditto: Ditto, known: dict[str, Any], **config: object) -> list[str]:
    flags = [bool(config.pop(flag, False)) for flag in ("full_refresh", "dry")]
    read = settings(ditto, *flags, **config)
    return [column["name"] for column in ditto.merger_range_columns(read, known)]


def test_keys_that_the_table_is_laid_out_by_prune(ditto: Ditto) -> None:
    both = {"unique_key": ["id", "DAY"]}
    assert range_columns(ditto, facts(PAIR, table(PAIR, partition_by=["Day"])), **both) == ["day"]
    assert range_columns(ditto, facts(PAIR, table(PAIR)), cluster_by=["day", "id"], **both) == ["day", "id"]


@pytest.mark.parametrize(
    "config",
    [
        {"unique_key": "id"},  # the partition column is no key: a row may have moved to another partition
        {"unique_key": ["id", "day"], "prune": False},
        {"unique_key": ["id", "day"], "not_matched_by_source": "delete"},
        {"unique_key": ["id", "day"], "full_refresh": True},
        {"unique_key": ["id", "day"], "dry": True},
    ],
)
def test_other_tables_are_read_whole(ditto: Ditto, config: dict[str, Any]) -> None:
    assert range_columns(ditto, facts(PAIR, table(PAIR, partition_by=["day"])), **config) == []


def test_a_range_of_another_type_does_not_prune(ditto: Ditto) -> None:
    """The strings '10' to '9' are no range of the numbers 9 and 10: their rows would be inserted again."""
    known = facts(columns(day="date", id="string"), table(PAIR, partition_by=["id"]))
    assert range_columns(ditto, known) == []
    assert range_columns(ditto, facts(columns(id="binary"), table(columns(id="binary"), partition_by=["id"]))) == []


def test_a_table_made_anew_is_not_pruned(ditto: Ditto) -> None:
    bounds = [{"name": "id", "type": "int", "low": "1", "high": "2", "nulls": False}]
    known = facts(ROWS, table(ROWS), ledger=ran_before(), key_range=bounds)
    assert "between" in step(plan(ditto, known), "merge")["sql"]
    assert "between" not in step(plan(ditto, known, full_refresh=True), "merge")["sql"]


@pytest.mark.parametrize("rule", [None, "delete"])
def test_a_run_that_was_superseded_deletes_nothing(ditto: Ditto, rule: str | None) -> None:
    """In the source the fence leaves no rows, and not_matched_by_source would take that for a table that is gone."""
    read = settings(ditto, unique_key="id", not_matched_by_source=rule)
    written = [{**column, "given": True} for column in ROWS]
    steps = ditto.merger_write_steps(read, written, INCREMENT, "takeover", [], "(mine)")
    text = sql(steps[-1]["sql"])
    assert text.startswith("begin if (mine) then merge into" if rule else "merge into")
    assert ("and (mine)" in text) == (not rule)
