"""What a merger model may say in its config, and what it is told when that is wrong."""

from __future__ import annotations

from typing import Any

import pytest
from macro_harness import Ditto
from merger_model import refusal, settings


def test_defaults(ditto: Ditto) -> None:
    found = settings(ditto)
    assert found["unique_key"] == ["id"]
    assert (found["on_duplicate_key"], found["on_null_key"], found["prune"]) == ("error", "error", True)
    assert (found["table"], found["view"], found["relation"]) == ("`demo`.`devices`", None, "demo.devices")


def test_options_under_meta_count_like_those_at_the_top(ditto: Ditto) -> None:
    options: dict[str, Any] = {
        "unique_key": ["type", "version"],
        "soft_delete": "is_deleted",
        "sequence_by": "changed_at",
        "on_duplicate_key": "latest",
        "on_null_key": "allow",
        "update_columns": ["name"],
        "merge_condition": "source.name is not null",
        "prune": False,
    }
    assert settings(ditto, unique_key=None, meta=options) == settings(ditto, meta=options, **options)


@pytest.mark.parametrize("option", ["update_columns", "exclude_columns"])
def test_the_names_that_dbt_gives_to_update_columns_work_too(ditto: Ditto, option: str) -> None:
    assert settings(ditto, **{f"merge_{option}": ["a", "b"]})[option] == ["a", "b"]
    assert settings(ditto, **{f"merge_{option}": "a"})[option] == ["a"]


def test_sequence_by_also_orders_the_rows_of_one_key(ditto: Ditto) -> None:
    assert settings(ditto, sequence_by="seq", on_duplicate_key="latest")["order_by"] == ["seq"]
    assert settings(ditto, sequence_by="seq", order_by=["a", "b"])["order_by"] == ["a", "b"]


def test_deleted_rows_are_kept_in_a_table_of_their_own_name_only_with_a_sequence(ditto: Ditto) -> None:
    hidden = settings(ditto, soft_delete="is_deleted", sequence_by="seq")
    assert (hidden["table"], hidden["view"]) == ("`demo`.`devices__data`", "`demo`.`devices`")
    assert (hidden["identifier"], hidden["view_identifier"]) == ("devices__data", "devices")
    assert hidden["relation"] == "demo.devices"
    assert settings(ditto, soft_delete="is_deleted")["view"] is None
    assert settings(ditto, sequence_by="seq")["view"] is None


@pytest.mark.parametrize(
    ("config", "rule"),
    [
        (None, None),
        ("delete", {"condition": None, "changes": None}),
        ({"condition": "target.x = 1"}, {"condition": "target.x = 1", "changes": None}),
        (
            {"condition": "target.x = 1", "update": {"gone": "true"}},
            {"condition": "target.x = 1", "changes": {"gone": "true"}},
        ),
    ],
)
def test_rules_for_rows_that_the_increment_lacks(ditto: Ditto, config: object, rule: object) -> None:
    assert settings(ditto, not_matched_by_source=config)["not_matched_by_source"] == rule


@pytest.mark.parametrize(
    "config",
    [
        "remove",
        True,
        {"update": {"gone": "true"}},
        {"condition": "target.x = 1", "updates": {"gone": "true"}},
        {"condition": "target.x = 1", "update": {}},
        {"condition": "target.x = 1", "update": "gone = true"},
    ],
)
def test_other_rules_are_refused_with_an_example(ditto: Ditto, config: object) -> None:
    text = refusal(lambda: settings(ditto, not_matched_by_source=config))
    assert "found:    not_matched_by_source: " in text
    assert "for example not_matched_by_source={'condition': \"target.region = 'eu'\"}" in text


@pytest.mark.parametrize(
    ("config", "found", "fix"),
    [
        ({"unique_key": None}, "no unique_key", "add unique_key='id'"),
        ({"unique_key": []}, "no unique_key", "add unique_key='id'"),
        ({"unique_key": ["id", 3]}, "unique_key: ['id', 3]", "unique_key=['id']"),
        ({"unique_key": " "}, "unique_key:  ", "unique_key=['id']"),
        (
            {"update_columns": "a", "exclude_columns": "b"},
            "update_columns and exclude_columns",
            "remove update_columns or exclude_columns",
        ),
        (
            {"merge_update_columns": "a", "merge_exclude_columns": "b"},
            "update_columns and exclude_columns",
            "remove update_columns or exclude_columns",
        ),
        (
            {"on_duplicate_key": "latest"},
            "on_duplicate_key: latest without order_by",
            "add order_by='updated_at'",
        ),
        ({"on_duplicate_key": "first"}, "on_duplicate_key: first", "on_duplicate_key='error'"),
        ({"on_null_key": "skip"}, "on_null_key: skip", "on_null_key='error'"),
        ({"prune": "yes"}, "prune: yes", "prune="),
        ({"on_schema_change": "grow"}, "on_schema_change: grow", "on_schema_change='ignore'"),
        ({"file_format": "parquet"}, "file_format: parquet", "set file_format='delta'"),
        (
            {"soft_delete": "gone", "sequence_by": "seq", "not_matched_by_source": "delete"},
            "not_matched_by_source together with sequence_by and soft_delete",
            "remove not_matched_by_source or sequence_by",
        ),
    ],
)
def test_mistakes_are_named_with_their_remedy(ditto: Ditto, config: dict[str, Any], found: str, fix: str) -> None:
    text = refusal(lambda: settings(ditto, **config))
    assert f"found:    {found}" in text
    assert fix in text[text.index("fix:") :]
