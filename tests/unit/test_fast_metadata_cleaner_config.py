"""What a fast_metadata_cleaner model may say in its config, and what it is told when that is wrong."""

from __future__ import annotations

from typing import Any

import pytest
from fast_metadata_cleaner_model import node, refusal, settings
from macro_harness import Ditto


def test_defaults(ditto: Ditto) -> None:
    found = settings(ditto, "10-09")
    assert (found["pattern"], found["granularity"], found["reset"]) == ("fast_metadata_cleaner", "week", "replace")
    assert (found["on_stale"], found["max_units"], found["slice_only"]) == ("error", 1000, False)
    assert (found["execution_time_column"], found["unit_column"]) == (None, None)
    assert (found["leased"], found["units"], found["file_format"]) == (True, True, "delta")


def test_the_table_is_the_unit_and_the_relation_is_the_model(ditto: Ditto) -> None:
    found = settings(ditto, "10-09", partition_by="country")
    assert (found["identifier"], found["table"]) == ("visits__w20241007", "`demo`.`visits__w20241007`")
    assert (found["view_identifier"], found["view"]) == ("visits", "`demo`.`visits`")
    assert (found["relation"], found["alias"]) == ("demo.visits", "visits")
    assert found["partition_by"] == ["_ditto_execution_time", "country"]
    assert found["given_partitions"] == ["country"]
    assert found["unit"]["first"] == "2024-10-07"


def test_another_execution_of_the_same_settings(ditto: Ditto) -> None:
    found = settings(ditto, "10-09", partition_by="country")
    other = found | ditto.unit_settings(found, "2025-01-01 05:00:00")
    assert other == settings(ditto, "2025-01-01T05", partition_by="country")


def test_the_units_are_called_after_the_alias(ditto: Ditto) -> None:
    found = settings(ditto, "10-09", alias="Page_Visits")
    assert found["table"] == "`demo`.`Page_Visits__w20241007`"
    assert found["relation"] == "demo.page_visits"


@pytest.mark.parametrize(
    ("granularity", "suffix"),
    [("day", "d20241009"), ("week", "w20241007"), ("month", "m20241001"), ("year", "y20240101"), ("full", "full")],
)
def test_granularities(ditto: Ditto, granularity: str, suffix: str) -> None:
    assert settings(ditto, "10-09", granularity=granularity)["identifier"] == f"visits__{suffix}"


def test_options_under_meta_count_like_those_at_the_top(ditto: Ditto) -> None:
    options: dict[str, Any] = {
        "granularity": "month",
        "reset": "drop",
        "on_stale": "warn",
        "max_units": 24,
        "execution_time_column": "loaded_for",
        "unit_column": "month",
    }
    found = settings(ditto, meta=options)
    assert found == settings(ditto, **options)
    assert {name: found[name] for name in options} == options


@pytest.mark.parametrize(("given", "expected"), [(True, True), ("true", True), ("True", True), ("false", False)])
def test_slices_only_is_asked_for_by_a_var(ditto: Ditto, given: Any, expected: bool) -> None:
    assert settings(ditto, slice_only=given)["slice_only"] is expected


def test_the_execution_time_is_that_of_the_run_unless_a_plan_names_another(ditto: Ditto) -> None:
    run = ditto.with_context(var={"execution_date": "2024-10-09T05:00:00"})
    found = run.fast_metadata_cleaner_settings(node())
    assert (found["execution_time"], found["identifier"]) == ("2024-10-09 05:00:00", "visits__w20241007")
    planned = run.fast_metadata_cleaner_settings(node(), execution_time="2024-10-01 00:00:00")
    assert planned["identifier"] == "visits__w20240930"


@pytest.mark.parametrize(
    ("option", "given", "allowed"),
    [
        ("granularity", "hour", "day, week, month, year, full"),
        ("reset", "delete", "replace, truncate, drop"),
        ("on_stale", "ignore", "error, warn"),
        ("on_schema_change", "merge", "ignore, fail, append_new_columns, sync_all_columns"),
    ],
)
def test_other_words_are_refused(ditto: Ditto, option: str, given: str, allowed: str) -> None:
    text = refusal(lambda: settings(ditto, **{option: given}))
    assert f"found:    {option}: {given}" in text
    assert f"one of {allowed}" in text


@pytest.mark.parametrize("file_format", ["parquet", "PARQUET", "iceberg"])
def test_files_without_a_metadata_layer_are_another_patterns_business(ditto: Ditto, file_format: str) -> None:
    text = refusal(lambda: settings(ditto, file_format=file_format))
    assert f"found:    file_format: {file_format}" in text
    assert "materialized='insert_overwrite'" in text


def test_the_format_may_be_named(ditto: Ditto) -> None:
    assert settings(ditto, file_format="DELTA")["file_format"] == "delta"


@pytest.mark.parametrize("option", ["cluster_by", "liquid_clustered_by"])
def test_a_unit_is_not_clustered(ditto: Ditto, option: str) -> None:
    text = refusal(lambda: settings(ditto, **{option: ["id", "page"]}))
    assert "found:    cluster_by: id, page" in text
    assert "partitioned by the execution time" in text


@pytest.mark.parametrize("given", [0, -1, "10", 1.5, True, [3]])
def test_max_units_is_a_number_from_one(ditto: Ditto, given: object) -> None:
    assert f"found:    max_units: {given}" in refusal(lambda: settings(ditto, max_units=given))


def test_a_full_dataset_has_no_slices(ditto: Ditto) -> None:
    text = refusal(lambda: settings(ditto, granularity="full", slice_only=True))
    assert "found:    ditto_slice_only with granularity: full" in text


@pytest.mark.parametrize("option", ["execution_time_column", "unit_column"])
@pytest.mark.parametrize("given", ["", "  ", True, 3, ["a"]])
def test_names_of_technical_columns(ditto: Ditto, option: str, given: object) -> None:
    text = refusal(lambda: settings(ditto, **{option: given}))
    assert f"found:    {option}: {given}" in text
    assert f"{option}='loaded_for'" in text


def test_technical_columns_have_two_names(ditto: Ditto) -> None:
    text = refusal(lambda: settings(ditto, execution_time_column="loaded", unit_column="Loaded"))
    assert "found:    unit_column and execution_time_column: Loaded" in text
    assert settings(ditto, unit_column="none")["unit_column"] == "none"
