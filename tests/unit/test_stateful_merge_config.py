"""What a stateful_merge model may say in its config, and what it is told when that is wrong."""

from __future__ import annotations

from typing import Any

import pytest
from macro_harness import Ditto
from stateful_merge_model import node, refusal, settings


def test_defaults(ditto: Ditto) -> None:
    found = settings(ditto)
    assert (found["pattern"], found["versioning"], found["readers"]) == ("stateful_merge", "delta", "table")
    assert (found["on_stale"], found["on_gap"], found["interval"]) == ("error", "error", None)
    assert (found["on_foreign_commits"], found["existing_rows"]) == ("error", "error")
    assert found["backfill_window"] == "interval 30 days"
    assert (found["leased"], found["chained"]) == (True, True)
    assert (found["table"], found["view"], found["relation"]) == ("`demo`.`devices`", None, "demo.devices")
    assert (found["unique_key"], found["on_duplicate_key"], found["on_null_key"]) == (["id"], "error", "error")


def test_options_under_meta_count_like_those_at_the_top(ditto: Ditto) -> None:
    options: dict[str, Any] = {
        "unique_key": ["type", "version"],
        "interval": "hour",
        "on_stale": "warn",
        "on_gap": "ignore",
        "on_foreign_commits": "warn",
        "existing_rows": "keep",
        "backfill_window": "2 weeks",
        "readers": "pinned",
    }
    found = settings(ditto, unique_key=None, meta=options)
    assert found == settings(ditto, meta=options, **options)
    assert {name: found[name] for name in options} == options | {"backfill_window": "interval 2 weeks"}


def test_the_execution_time_is_that_of_the_run_unless_a_plan_names_another(ditto: Ditto) -> None:
    run = ditto.with_context(var={"execution_date": "2024-10-09"})
    assert run.stateful_merge_settings(node())["execution_time"] == "2024-10-09 00:00:00"
    planned = run.stateful_merge_settings(node(), execution_time="2024-10-01 00:00:00")
    assert planned["execution_time"] == "2024-10-01 00:00:00"


@pytest.mark.parametrize("interval", ["hour", "day", "week", "month"])
def test_intervals(ditto: Ditto, interval: str) -> None:
    assert settings(ditto, interval=interval)["interval"] == interval


@pytest.mark.parametrize(
    ("given", "property_"),
    [
        ("30 days", "interval 30 days"),
        ("1 day", "interval 1 day"),
        (" 12 HOURS ", "interval 12 hours"),
        ("52 weeks", "interval 52 weeks"),
    ],
)
def test_windows_as_delta_spells_them(ditto: Ditto, given: str, property_: str) -> None:
    assert settings(ditto, backfill_window=given)["backfill_window"] == property_


@pytest.mark.parametrize(
    "given", [30, "30", "days", "0 days", "-1 days", "1.5 days", "1 month", "1 year", "1  day", "1 day;"]
)
def test_other_windows_are_refused(ditto: Ditto, given: object) -> None:
    text = refusal(lambda: settings(ditto, backfill_window=given))
    assert f"found:    backfill_window: {given}" in text
    assert "a number of hours, days or weeks" in text
    assert "backfill_window='30 days'" in text


@pytest.mark.parametrize(
    ("option", "given", "allowed"),
    [
        ("versioning", "iceberg", "delta, history"),
        ("interval", "year", "hour, day, week, month"),
        ("on_stale", "skip", "error, warn, ignore"),
        ("on_gap", "fill", "error, warn, ignore"),
        ("on_foreign_commits", "ignore", "error, warn"),
        ("existing_rows", "drop", "error, keep, truncate"),
        ("readers", "view", "table, pinned"),
    ],
)
def test_a_wrong_choice_is_named_with_the_right_ones(ditto: Ditto, option: str, given: str, allowed: str) -> None:
    text = refusal(lambda: settings(ditto, **{option: given}))
    assert f"found:    {option}: {given}" in text
    assert allowed in text[text.index("expected:") : text.index("fix:")]


@pytest.mark.parametrize(
    ("config", "found"),
    [
        ({"unique_key": None}, "no unique_key"),
        ({"update_columns": "a", "exclude_columns": "b"}, "update_columns and exclude_columns"),
        ({"on_duplicate_key": "latest"}, "on_duplicate_key: latest without order_by"),
        ({"file_format": "parquet"}, "file_format: parquet"),
    ],
)
def test_the_mistakes_of_merger_are_mistakes_here(ditto: Ditto, config: dict[str, Any], found: str) -> None:
    assert f"found:    {found}" in refusal(lambda: settings(ditto, **config))


# --- views ----------------------------------------------------------------------------------------------------------


def test_pinned_readers_get_a_view_of_the_same_name(ditto: Ditto) -> None:
    found = settings(ditto, readers="pinned")
    assert (found["table"], found["view"]) == ("`demo`.`devices__data`", "`demo`.`devices`")
    assert (found["identifier"], found["view_identifier"]) == ("devices__data", "devices")
    assert (found["relation"], found["keeps_deleted"]) == ("demo.devices", False)


def test_pinned_readers_of_hidden_rows_have_one_view(ditto: Ditto) -> None:
    found = settings(ditto, readers="pinned", soft_delete="gone", sequence_by="seq")
    assert (found["table"], found["view"]) == ("`demo`.`devices__data`", "`demo`.`devices`")
    assert found["keeps_deleted"] is True


# --- versioning: history --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("file_format", ["delta", "parquet"])
def test_history_keeps_the_raw_rows_beside_the_table(ditto: Ditto, file_format: str) -> None:
    found = settings(ditto, versioning="history", file_format=file_format, soft_delete="gone")
    assert (found["history"], found["history_identifier"]) == ("`demo`.`devices__history`", "devices__history")
    assert found["table"] == "`demo`.`devices`"


@pytest.mark.parametrize(
    "config",
    [
        {"sequence_by": "seq"},
        {"update_columns": ["name"]},
        {"exclude_columns": ["name"]},
        {"merge_update_columns": ["name"]},
        {"merge_exclude_columns": ["name"]},
        {"merge_condition": "true"},
        {"not_matched_by_source": "delete"},
        {"meta": {"sequence_by": "seq"}},
    ],
)
def test_history_refuses_what_is_not_the_latest_row_of_each_key(ditto: Ditto, config: dict[str, Any]) -> None:
    text = refusal(lambda: settings(ditto, versioning="history", **config))
    name = next(iter(config.get("meta", config)))
    assert f"found:    {name} with versioning: history" in text
    assert f"remove {name}" in text[text.index("fix:") :]


def test_history_has_no_versions_to_pin_readers_to(ditto: Ditto) -> None:
    text = refusal(lambda: settings(ditto, versioning="history", readers="pinned"))
    assert "found:    readers: pinned with versioning: history" in text
