"""Config: top level or meta, choices, lists; and the one form of every error."""

from __future__ import annotations

from typing import Any

import pytest
from dbt_common.exceptions import CompilationError
from macro_harness import Ditto


def node(**config: Any) -> dict[str, Any]:
    return {"name": "visits", "config": {"materialized": "merger", **config}}


def full_node(**config: Any) -> dict[str, Any]:
    return node(**config) | {"schema": "Demo", "alias": "Visits_A"}


@pytest.mark.parametrize(
    ("config", "expected"),
    [
        ({}, "default"),
        ({"key": "top"}, "top"),
        ({"meta": {"key": "below"}}, "below"),
        ({"key": "top", "meta": {"key": "below"}}, "top"),
        ({"key": None, "meta": {"key": "below"}}, "below"),
        ({"key": False, "meta": {"key": True}}, False),
        ({"key": 0}, 0),
        ({"key": ""}, ""),
        ({"meta": None}, "default"),
        ({"meta": {"key": False}}, False),
    ],
)
def test_an_option_stands_at_the_top_or_under_meta(ditto: Ditto, config: dict[str, Any], expected: object) -> None:
    assert ditto.option(node(**config), "key", "default") == expected


def test_a_missing_option_is_none(ditto: Ditto) -> None:
    assert ditto.option(node(), "key") is None


def test_a_choice(ditto: Ditto) -> None:
    assert ditto.choice(node(), "mode", ["a", "b"], "a") == "a"
    assert ditto.choice(node(meta={"mode": "b"}), "mode", ["a", "b"], "a") == "b"
    with pytest.raises(CompilationError) as caught:
        ditto.choice(node(mode="c"), "mode", ["a", "b"], "a")
    message = str(caught.value)
    assert "ditto: merger model visits" in message
    assert "found:    mode: c" in message
    assert "expected: one of a, b" in message
    assert "mode='a'" in message


@pytest.mark.parametrize("value", [5, True, " ", {"id": 1}, [1], ["a", ""]])
def test_a_list_option_that_names_no_columns(ditto: Ditto, value: object) -> None:
    with pytest.raises(CompilationError, match=r"found: +keys: (.|\n)*expected: a column name or a list"):
        ditto.list_option(node(keys=value), "keys")


def test_one_text(ditto: Ditto) -> None:
    assert ditto.text_option(node(), "when", "a condition", "a > 0") is None
    assert ditto.text_option(node(when="b"), "when", "a condition", "a > 0") == "b"
    for value in (5, "", ["a"], True):
        with pytest.raises(CompilationError) as caught:
            ditto.text_option(node(when=value), "when", "a condition", "a > 0")
        assert f"found:    when: {value}" in str(caught.value)
        assert 'for example when="a > 0"' in str(caught.value)


def test_one_mapping(ditto: Ditto) -> None:
    assert ditto.mapping_option(node(), "tblproperties", "{}") == {}
    assert ditto.mapping_option(node(tblproperties={"a": 1}), "tblproperties", "{}") == {"a": 1}
    for value in ("a=1", ["a"], {"a": {"b": 1}}, {"a": None}):
        with pytest.raises(CompilationError, match="expected: a mapping of names to values"):
            ditto.mapping_option(node(tblproperties=value), "tblproperties", "{}")


@pytest.mark.parametrize("alias", ["it's", "a b", "visits|x", "visits*", "café", "`"])
def test_a_name_that_the_catalog_does_not_take(ditto: Ditto, alias: str) -> None:
    with pytest.raises(CompilationError) as caught:
        ditto.common_settings(full_node() | {"alias": alias}, "merger", execution_time="2024-10-07 00:00:00")
    assert f"found:    alias: {alias}" in str(caught.value)


@pytest.mark.parametrize(
    ("value", "expected"),
    [(None, []), ("id", ["id"]), (["a", "b"], ["a", "b"]), (("a",), ["a"]), ([], [])],
)
def test_a_list_option_takes_one_name_or_several(ditto: Ditto, value: object, expected: list[str]) -> None:
    assert ditto.list_option(node(keys=value), "keys") == expected
    assert ditto.list_option(node(meta={"keys": value}), "keys") == expected


def test_the_default_of_a_list_option(ditto: Ditto) -> None:
    assert ditto.list_option(node(), "keys", "id") == ["id"]
    assert ditto.list_option(node(keys="other"), "keys", "id") == ["other"]


@pytest.mark.parametrize("value", ["", " ", [""], ["a", None], [1], [["a"]]])
def test_a_list_option_refuses_what_is_no_name(ditto: Ditto, value: object) -> None:
    with pytest.raises(CompilationError, match="a column name or a list of column names"):
        ditto.list_option(node(keys=value), "keys")


def test_every_error_has_one_form(ditto: Ditto) -> None:
    assert ditto.error_text("merger model visits", "a", "b", "dbt run") == (
        "ditto: merger model visits\n  found:    a\n  expected: b\n  fix:      dbt run"
    )
    with pytest.raises(CompilationError) as caught:
        ditto.error("merger model visits", "a", "b", "dbt run")
    assert caught.value.msg == ditto.error_text("merger model visits", "a", "b", "dbt run")


def test_a_warning_says_where(ditto: Ditto) -> None:
    ditto.warning("merger model visits", "careful")
    assert ditto.warnings == ["ditto: merger model visits: careful"]


def settings(ditto: Ditto, node: dict[str, Any], **arguments: Any) -> dict[str, Any]:
    return ditto.with_context(var={"execution_date": "2024-10-07"}).common_settings(node, "merger", **arguments)


def test_what_every_pattern_knows(ditto: Ditto) -> None:
    found = settings(ditto, full_node(partition_by="day", meta={"on_schema_change": "fail"}), dry=True)
    assert (
        found
        | {
            "pattern": "merger",
            "subject": "merger model visits",
            "model": "visits",
            "relation": "demo.visits_a",
            "table": "`Demo`.`Visits_A`",
            "execution_time": "2024-10-07 00:00:00",
            "file_format": "delta",
            "partition_by": ["day"],
            "cluster_by": [],
            "on_schema_change": "fail",
            "full_refresh": False,
            "dry": True,
            "leased": False,
        }
        == found
    )


@pytest.mark.parametrize("name", ["cluster_by", "liquid_clustered_by"])
def test_clustering(ditto: Ditto, name: str) -> None:
    assert settings(ditto, full_node(**{name: ["a", "b"]}))["cluster_by"] == ["a", "b"]


@pytest.mark.parametrize(
    ("config", "arguments", "message"),
    [
        ({"file_format": "csv"}, {}, "file_format: csv"),
        ({"file_format": "Parquet"}, {}, "file_format: parquet"),
        ({"cluster_by": "a", "partition_by": "b"}, {}, "cluster_by: a with partition_by"),
        ({"cluster_by": "a", "file_format": "parquet"}, {"formats": ["delta", "parquet"]}, "with file_format: parquet"),
        ({"on_schema_change": "adapt"}, {}, "on_schema_change: adapt"),
    ],
)
def test_a_wrong_config_is_refused(
    ditto: Ditto, config: dict[str, Any], arguments: dict[str, Any], message: str
) -> None:
    with pytest.raises(CompilationError, match=message):
        settings(ditto, full_node(**config), **arguments)


@pytest.mark.parametrize(
    ("context", "dry"),
    [
        ({}, False),
        ({"flags": {"EMPTY": True}}, True),
        ({"flags": {"EMPTY": None}}, False),
        ({"invocation_args_dict": {"sample": "a window"}}, True),
        ({"invocation_args_dict": {"sample": None}}, False),
    ],
)
def test_empty_and_sample_are_dry_runs(ditto: Ditto, context: dict[str, Any], dry: bool) -> None:
    assert ditto.with_context(**context).is_dry_run() is dry


@pytest.mark.parametrize("code", ["select 1", "select 1;", " \nselect 1 ;; \n"])
def test_the_semicolon_at_the_end_of_a_model_does_no_harm(ditto: Ditto, code: str) -> None:
    assert ditto.increment_sql(code) == "select 1"
