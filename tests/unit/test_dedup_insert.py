"""dedup_insert: its config, its plan and its SQL."""

from __future__ import annotations

from typing import Any

import pytest
from macro_harness import INVOCATION_ID, Ditto, sql
from merger_model import DATE, INCREMENT, columns, facts, given, ledger, ran_before, table
from merger_model import node as merger_node
from stateful_merge_model import refusal as refused

ROWS = columns(id="int", name="string")
TAG = f"ditto:1|dedup_insert|normal|2024-10-07 00:00:00|{INVOCATION_ID}"
DAYS = {"name": "day", "type": "date", "low": "2024-10-01", "high": "2024-10-07", "nulls": False}


def node(**config: object) -> dict[str, Any]:
    return merger_node(**({"materialized": "dedup_insert"} | config))


def settings(ditto: Ditto, full_refresh: bool = False, dry: bool = False, **config: object) -> dict[str, Any]:
    read = ditto.with_context(var={"execution_date": DATE}).dedup_insert_settings(node(**config), full_refresh, dry)
    return read | {"ledger_table": "`demo`.`ditto_ledger`"}


def plan(
    ditto: Ditto, known: dict[str, Any], full_refresh: bool = False, dry: bool = False, **config: object
) -> dict[str, Any]:
    return ditto.dedup_insert_plan(node(**config), settings(ditto, full_refresh, dry, **config), known, INCREMENT)


def names(made: dict[str, Any]) -> list[str]:
    return [step["name"] for step in made["steps"]]


def step(made: dict[str, Any], name: str) -> dict[str, Any]:
    return next(step for step in made["steps"] if step["name"] == name)


def refusal(call: Any) -> str:
    return refused(call, "ditto: dedup_insert model devices")


# --- config ---------------------------------------------------------------------------------------------------------


def test_defaults(ditto: Ditto) -> None:
    found = settings(ditto)
    assert (found["pattern"], found["unique_key"], found["leased"]) == ("dedup_insert", ["id"], False)
    assert (found["on_duplicate_key"], found["on_null_key"], found["prune"]) == ("error", "error", True)


@pytest.mark.parametrize(
    ("config", "found", "fix"),
    [
        ({"unique_key": None}, "no unique_key", "add unique_key='id'"),
        ({"on_duplicate_key": "last"}, "on_duplicate_key: last", "on_duplicate_key='error'"),
        ({"on_duplicate_key": "first"}, "on_duplicate_key: first without order_by", "add order_by='updated_at'"),
        ({"on_duplicate_key": "latest"}, "on_duplicate_key: latest without order_by", "add order_by='updated_at'"),
        ({"on_null_key": "skip"}, "on_null_key: skip", "on_null_key='error'"),
        ({"prune": "yes"}, "prune: yes", "prune="),
        ({"file_format": "parquet"}, "file_format: parquet", "set file_format='delta'"),
        ({"soft_delete": "gone"}, "soft_delete: gone", "use materialized='merger', or remove soft_delete"),
        ({"meta": {"sequence_by": "seq"}}, "sequence_by: seq", "use materialized='merger'"),
        ({"update_columns": ["name"]}, "update_columns: ['name']", "use materialized='merger'"),
        ({"merge_exclude_columns": "name"}, "merge_exclude_columns: name", "use materialized='merger'"),
        ({"merge_condition": "true"}, "merge_condition: true", "use materialized='merger'"),
        ({"not_matched_by_source": "delete"}, "not_matched_by_source: delete", "use materialized='merger'"),
    ],
)
def test_mistakes_are_named_with_their_remedy(ditto: Ditto, config: dict[str, Any], found: str, fix: str) -> None:
    text = refusal(lambda: settings(ditto, **config))
    assert f"found:    {found}" in text
    assert fix in text[text.index("fix:") :]


# --- plan -----------------------------------------------------------------------------------------------------------


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
    assert (made["mode"], names(made)) == (mode, ["insert", "outcome"])
    assert f"ditto:1|dedup_insert|{mode}|2024-10-07 00:00:00|" in step(made, "insert")["sql"]
    assert step(made, "insert")["inserts"] is True


def test_a_first_run_makes_the_table(ditto: Ditto) -> None:
    made = plan(ditto, facts(ROWS))
    assert (made["mode"], names(made)) == ("first", ["create_table", "insert", "outcome"])
    assert "'delta.setTransactionRetentionDuration\\' = \\'interval 7 days" in step(made, "create_table")["sql"]


def test_a_full_refresh_is_checked_then_announced_then_fenced(ditto: Ditto) -> None:
    made = plan(ditto, facts(ROWS, table(ROWS), ledger=ran_before(token=4), head=7), full_refresh=True)
    assert (made["mode"], made["base_version"]) == ("full_refresh", 7)
    assert names(made) == ["check_keys", "intent", "replace_table", "insert", "outcome"]
    fence = "(select max(`token`) from `demo`.`ditto_ledger` where `relation` = 'demo.devices') = 5"
    assert fence in step(made, "replace_table")["sql"]
    # Around the statement, since an INSERT of no rows is a commit too, and in it.
    assert sql(step(made, "insert")["sql"]).startswith(f"begin if {fence} then insert into")
    assert f"where `_ditto_rank` = 1 and {fence}" in step(made, "insert")["sql"]


def test_an_unfinished_execution_is_taken_over_or_stops_another_one(ditto: Ditto) -> None:
    opened = {"mode": "normal", "token": 1, "base_version": 0, "invocation_id": "i", "user": "ada", "at": "noon"}
    own = ledger(unfinished=[opened | {"execution_time": "2024-10-07 00:00:00"}])
    made = plan(ditto, facts(ROWS, table(ROWS), ledger=own))
    assert (made["mode"], names(made)) == ("takeover", ["intent", "insert", "outcome"])
    assert step(made, "insert")["sql"].startswith("begin")
    other = ledger(unfinished=[opened | {"execution_time": "2024-10-06 00:00:00"}])
    text = refusal(lambda: plan(ditto, facts(ROWS, table(ROWS), ledger=other)))
    assert "execution 2024-10-06 00:00:00 did not finish" in text


def test_a_dry_run_writes_nothing(ditto: Ditto) -> None:
    assert names(plan(ditto, facts(ROWS), dry=True)) == ["create_table"]
    assert names(plan(ditto, facts(ROWS, table(ROWS)), dry=True)) == []


def test_new_columns_are_added_before_the_insert(ditto: Ditto) -> None:
    wider = columns(id="int", name="string", colour="string")
    made = plan(ditto, facts(wider, table(ROWS), ledger=ran_before()), on_schema_change="append_new_columns")
    assert names(made) == ["add_columns", "insert", "outcome"]
    assert "source.`colour`" in step(made, "insert")["sql"]


@pytest.mark.parametrize(
    ("option", "config"),
    [
        ("unique_key", {"unique_key": ["id", "nope"]}),
        ("order_by", {"order_by": "nope", "on_duplicate_key": "first"}),
        ("partition_by", {"partition_by": "nope"}),
    ],
)
def test_a_column_that_the_select_lacks_is_refused(ditto: Ditto, option: str, config: dict[str, Any]) -> None:
    text = refusal(lambda: plan(ditto, facts(ROWS), **config))
    assert f"found:    {option}: nope, which the SELECT does not give" in text


def test_a_key_that_only_the_table_lacks_is_refused_with_the_way_to_add_it(ditto: Ditto) -> None:
    wider = columns(id="int", name="string", extra="int")
    known = facts(wider, table(ROWS), ledger=ran_before())
    text = refusal(lambda: plan(ditto, known, unique_key=["id", "extra"]))
    assert "found:    unique_key: extra, which `demo`.`devices` does not have" in text
    assert "insert" in names(plan(ditto, known, unique_key=["id", "extra"], on_schema_change="append_new_columns"))


@pytest.mark.parametrize(
    ("in_select", "in_table"),
    [("string", "int"), ("double", "int"), ("bigint", "int"), ("timestamp", "date"), ("string", "char(3)")],
)
def test_a_key_that_is_stored_as_something_else_is_refused(ditto: Ditto, in_select: str, in_table: str) -> None:
    known = facts(columns(ID=in_select), table(columns(id=in_table)), ledger=ran_before())
    text = refusal(lambda: plan(ditto, known))
    assert f"found:    unique_key: id, a {in_select} in the SELECT and a {in_table} in `demo`.`devices`" in text
    assert f"cast(id as {in_table})" in text
    assert "insert" in names(plan(ditto, known, full_refresh=True))


@pytest.mark.parametrize(("in_select", "in_table"), [("smallint", "bigint"), ("string", "varchar(9)")])
def test_a_wider_type_keeps_the_key(ditto: Ditto, in_select: str, in_table: str) -> None:
    known = facts(columns(id=in_select), table(columns(id=in_table)), ledger=ran_before())
    assert names(plan(ditto, known)) == ["insert", "outcome"]


# --- SQL ------------------------------------------------------------------------------------------------------------


def insert(ditto: Ditto, *columns: str, missing: str | None = None, **config: Any) -> str:
    key_range = config.pop("key_range", [])
    read = settings(ditto, **config)
    return sql(ditto.dedup_insert_sql(read, given(*columns, missing=missing), INCREMENT, TAG, key_range))


def test_the_whole_statement(ditto: Ditto) -> None:
    transaction = f"ditto:write:{INVOCATION_ID}:demo.devices:2024-10-07 00:00:00"
    options = f"('userMetadata' = '{TAG}', 'txnAppId' = '{transaction}', 'txnVersion' = '1')"
    assert insert(ditto, "id", "name", missing="old") == sql(f"""
        insert into `demo`.`devices` with {options}
        with `_ditto_target` as (select `id` from `demo`.`devices` with {options})
        select source.`id`, source.`name`, cast(null as string) as `old`
        from (
            select `id`, `name`
            from (
                select `id`, `name`, case
                    when `_ditto_differs` then raise_error('ditto: different rows with one key')
                    when coalesce(cast(`id` as string)) is null then raise_error('ditto: a row without a key')
                    end as `_ditto_guard`
                from (
                    select *,
                        row_number() over (partition by `id` order by `_ditto_row` desc) as `_ditto_rank`,
                        min(`_ditto_row`) over (partition by `id`) <> max(`_ditto_row`) over (partition by `id`)
                            as `_ditto_differs`
                    from (
                        select *, sha2({ditto.comparable_columns(["id", "name"], ROWS)}, 256) as `_ditto_row`
                        from (select * from feed)
                    )
                )
                where `_ditto_rank` = 1
            )
            where `_ditto_guard` is null
        ) as source
        left anti join `_ditto_target` as target
            on target.`id` <=> source.`id`
    """)


def test_composite_keys_compare_null_safe(ditto: Ditto) -> None:
    text = insert(ditto, "type", "version", unique_key=["type", "version"], on_null_key="allow")
    assert text.endswith("on target.`type` <=> source.`type` and target.`version` <=> source.`version`")
    assert "without a key" not in text


@pytest.mark.parametrize(("choice", "order"), [("first", "asc"), ("latest", "desc")])
def test_the_first_or_the_latest_of_different_rows(ditto: Ditto, choice: str, order: str) -> None:
    text = insert(ditto, "id", "at", "seq", on_duplicate_key=choice, order_by=["at", "seq"])
    by = f"order by `at` {order} nulls last, `seq` {order} nulls last, `_ditto_row` desc"
    assert by in text
    assert "different rows" not in text
    # Without the choice the order says nothing.
    assert "nulls last" not in insert(ditto, "id", "at", order_by="at")


def test_nothing_to_guard(ditto: Ditto) -> None:
    text = insert(ditto, "id", "at", on_duplicate_key="first", order_by="at", on_null_key="allow")
    assert "null as `_ditto_guard`" in text


def test_the_range_of_the_keys_narrows_what_is_read(ditto: Ditto) -> None:
    bounds = [DAYS, DAYS | {"name": "until", "nulls": True}]
    text = insert(ditto, "day", "until", unique_key=["day", "until"], key_range=bounds)
    day = "between cast('2024-10-01' as date) and cast('2024-10-07' as date)"
    assert f"where (`day` {day}) and (`until` {day} or `until` is null)) select" in text
    assert f"when not (`day` {day}) then raise_error('ditto: the increment changed while it was read" in text


def test_a_table_made_anew_is_not_pruned(ditto: Ditto) -> None:
    bounds = [{"name": "id", "type": "int", "low": "1", "high": "2", "nulls": False}]
    known = facts(ROWS, table(ROWS), ledger=ran_before(), key_range=bounds)
    assert "between" in step(plan(ditto, known), "insert")["sql"]
    assert "between" not in step(plan(ditto, known, full_refresh=True), "insert")["sql"]


def test_copies_of_a_row_are_no_bad_key(ditto: Ditto) -> None:
    diagnosis = step(plan(ditto, facts(ROWS)), "insert")["diagnosis"]
    assert "from ( select distinct `id`, `_ditto_row` from (" in " ".join(diagnosis["sql"].split())
    assert diagnosis["found"].startswith("different rows in the increment that share a key, or rows without one")
