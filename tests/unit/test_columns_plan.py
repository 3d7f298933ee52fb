"""How the increment's columns meet the table's, for each value of on_schema_change."""

from __future__ import annotations

from typing import Any

import pytest
from dbt_common.exceptions import CompilationError
from macro_harness import Ditto, sql


def columns(text: str) -> list[dict[str, str]]:
    """`a int, b string` as the engine describes it."""
    return [dict(zip(("name", "type"), column.split(" "), strict=True)) for column in text.split(", ")]


def settings(on_schema_change: str, file_format: str = "delta") -> dict[str, Any]:
    return {
        "subject": "merger model visits",
        "model": "visits",
        "table": "`demo`.`visits`",
        "execution_time": "2024-10-07 00:00:00",
        "file_format": file_format,
        "on_schema_change": on_schema_change,
    }


def plan(
    ditto: Ditto, on_schema_change: str, increment: str, table: str, properties: str = "[]", file_format: str = "delta"
) -> tuple[list[str], list[tuple[str, bool]]]:
    target = {"columns": columns(table), "properties": properties}
    made = ditto.plan_columns(settings(on_schema_change, file_format), columns(increment), target)
    return [sql(step["sql"]) for step in made["steps"]], [
        (column["name"], column["given"]) for column in made["columns"]
    ]


ALL_OPTIONS = ["ignore", "fail", "append_new_columns", "sync_all_columns"]


@pytest.mark.parametrize("option", ALL_OPTIONS)
def test_the_same_columns_change_nothing(ditto: Ditto, option: str) -> None:
    assert plan(ditto, option, "B string, a int", "a int, b string") == ([], [("a", True), ("b", True)])


def test_ignore_leaves_new_columns_out_and_fills_missing_ones_with_null(ditto: Ditto) -> None:
    assert plan(ditto, "ignore", "a int, c int", "a int, b string") == ([], [("a", True), ("b", False)])


def test_append_adds_new_columns_and_keeps_missing_ones(ditto: Ditto) -> None:
    assert plan(ditto, "append_new_columns", "a int, c int, d`e map<string,int>", "a int, b string") == (
        ["alter table `demo`.`visits` add columns (`c` int, `d``e` map<string,int>)"],
        [("a", True), ("b", False), ("c", True), ("d`e", True)],
    )


def test_sync_adds_new_columns_and_drops_missing_ones(ditto: Ditto) -> None:
    assert plan(ditto, "sync_all_columns", "a int, c int", "a int, b string, d date") == (
        [
            "alter table `demo`.`visits` add columns (`c` int)",
            "alter table `demo`.`visits` set tblproperties ('delta.columnMapping.mode' = 'name')",
            "alter table `demo`.`visits` drop columns (`b`, `d`)",
        ],
        [("a", True), ("c", True)],
    )


@pytest.mark.parametrize(
    ("properties", "mapped"),
    [
        ("[delta.columnMapping.mode=name,delta.minReaderVersion=2]", True),
        ("[a=b,delta.columnMapping.mode=name]", True),
        ("[delta.columnMapping.mode=none]", False),
        ("[old.delta.columnMapping.mode=name]", False),
        ("", False),
    ],
)
def test_columns_are_mapped_once_before_one_is_dropped(ditto: Ditto, properties: str, mapped: bool) -> None:
    statements, _ = plan(ditto, "sync_all_columns", "a int", "a int, b string", properties)
    assert len(statements) == (1 if mapped else 2)


def test_dropping_needs_delta(ditto: Ditto) -> None:
    with pytest.raises(CompilationError) as caught:
        plan(ditto, "sync_all_columns", "a int", "a int, b string", file_format="parquet")
    assert "columns to drop: b, in a parquet table" in str(caught.value)
    assert "dbt run --select visits --full-refresh --vars '{execution_date: 2024-10-07}'" in str(caught.value)


@pytest.mark.parametrize(
    ("increment", "found"),
    [
        ("a int, b string, c int", "new: c; gone: none; other types: none"),
        ("a int", "new: none; gone: b; other types: none"),
        ("a bigint, B string", "new: none; gone: none; other types: a (int -> bigint)"),
        ("c int", "new: c; gone: a, b; other types: none"),
    ],
)
def test_fail_names_every_difference(ditto: Ditto, increment: str, found: str) -> None:
    with pytest.raises(CompilationError) as caught:
        plan(ditto, "fail", increment, "a int, b string")
    assert found in str(caught.value)
    assert "on_schema_change to ignore, append_new_columns or sync_all_columns" in str(caught.value)


def test_what_the_increment_lacks_is_null_in_the_order_of_the_table(ditto: Ditto) -> None:
    made = [
        {"name": "a", "type": "int", "given": True},
        {"name": "b", "type": "decimal(3,1)", "given": False},
        {"name": "c`d", "type": "int", "given": True},
    ]
    assert ditto.select_columns(made) == "`a`, cast(null as decimal(3,1)) as `b`, `c``d`"
    assert ditto.select_columns(made, "source.", alias=False) == "source.`a`, cast(null as decimal(3,1)), source.`c``d`"


def test_the_first_timestamp_without_a_zone_is_announced_to_delta(ditto: Ditto) -> None:
    allow = "alter table `demo`.`visits` set tblproperties ('delta.feature.timestampNtz' = 'supported')"
    add = "alter table `demo`.`visits` add columns (`b` timestamp_ntz)"
    steps, _ = plan(ditto, "append_new_columns", "a int, b timestamp_ntz", "a int")
    assert steps == [allow, add]
    steps, _ = plan(ditto, "append_new_columns", "a timestamp_ntz, b timestamp_ntz", "a timestamp_ntz")
    assert steps == [add], "it has one already"
    steps, _ = plan(ditto, "append_new_columns", "a int, b timestamp_ntz", "a int", file_format="parquet")
    assert steps == [add]
