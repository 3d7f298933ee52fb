"""The config of a transactional_writer model: what it takes, and what it refuses before any SQL runs."""

from __future__ import annotations

from typing import Any

import pytest
from macro_harness import Ditto
from transactional_writer_model import refusal, settings


def test_what_stands_by_default(ditto: Ditto) -> None:
    read = settings(ditto)
    assert (read["write"], read["leased"], read["audits"]) == ("merge", False, [])
    assert (read["pattern"], read["execution_time_column"]) == ("transactional_writer", "_ditto_execution_time")
    assert read["candidate"] == "`demo`.`orders__candidate`"


@pytest.mark.parametrize("write", ["append", "overwrite"])
def test_only_a_merge_needs_a_key(ditto: Ditto, write: str) -> None:
    assert settings(ditto, unique_key=None, write=write)["unique_key"] == []
    assert "found:    no unique_key" in refusal(lambda: settings(ditto, unique_key=None))


def test_options_may_stand_under_meta(ditto: Ditto) -> None:
    read = settings(ditto, meta={"write": "append", "execution_time_column": "loaded_by", "audits": "id > 0"})
    assert (read["write"], read["execution_time_column"], len(read["audits"])) == ("append", "loaded_by", 1)


@pytest.mark.parametrize(
    ("config", "found"),
    [
        ({"write": "upsert"}, "write: upsert"),
        ({"sequence_by": "changed_at"}, "sequence_by: changed_at"),
        ({"not_matched_by_source": "delete"}, "not_matched_by_source"),
        ({"write": "append", "update_columns": "name"}, "update_columns with write: append"),
        ({"write": "overwrite", "exclude_columns": "name"}, "exclude_columns with write: overwrite"),
        ({"write": "append", "merge_condition": "true"}, "merge_condition with write: append"),
        ({"write": "append", "soft_delete": "gone"}, "soft_delete with write: append"),
        (
            {"write": "append", "unique_key": None, "on_duplicate_key": "latest", "order_by": "at"},
            "on_duplicate_key: latest without unique_key",
        ),
        ({"on_duplicate_key": "latest"}, "on_duplicate_key: latest without order_by"),
        ({"execution_time_column": " "}, "execution_time_column: "),
        ({"execution_time_column": 7}, "execution_time_column: 7"),
        ({"file_format": "parquet"}, "file_format: parquet"),
    ],
)
def test_what_cannot_work_is_refused(ditto: Ditto, config: dict[str, Any], found: str) -> None:
    assert f"found:    {found}" in refusal(lambda: settings(ditto, **config))


# --- audits ---------------------------------------------------------------------------------------------------------


def test_the_forms_of_an_audit(ditto: Ditto) -> None:
    query = "select * from {candidate} where id is null"
    given = ["id > 0", {"name": "short", "every_row": "length(name) < 9"}, {"name": "some", "table": "count(*) > 0"}]
    read = settings(ditto, audits=[*given, {"name": "keys", "query": query}])
    assert [(audit["name"], audit["kind"], audit["sql"]) for audit in read["audits"]] == [
        ("id > 0", "every_row", "id > 0"),
        ("short", "every_row", "length(name) < 9"),
        ("some", "table", "count(*) > 0"),
        ("keys", "query", query),
    ]
    assert read["leased"] is True


@pytest.mark.parametrize("single", ["id > 0", {"name": "id > 0", "every_row": "id > 0"}])
def test_a_single_audit_needs_no_list(ditto: Ditto, single: Any) -> None:
    assert settings(ditto, audits=single)["audits"] == [{"name": "id > 0", "kind": "every_row", "sql": "id > 0"}]


@pytest.mark.parametrize(
    ("audit", "expected"),
    [
        ("", "a condition that is true of every row"),
        (7, "a condition that is true of every row"),
        (True, "a condition that is true of every row"),
        ({"every_row": "id > 0"}, "{name: ...} with one of every_row, table, query"),
        ({"name": "x"}, "{name: ...} with one of every_row, table, query"),
        ({"name": "x", "rows": "id > 0"}, "{name: ...} with one of every_row, table, query"),
        ({"name": "x", "every_row": "id > 0", "table": "true"}, "{name: ...} with one of every_row, table, query"),
        ({"name": "x", "table": 1}, "{name: ...} with one of every_row, table, query"),
        ({"name": " ", "table": "true"}, "{name: ...} with one of every_row, table, query"),
        ({"name": "x", "query": "select 1"}, "from {candidate}"),
    ],
)
def test_what_is_no_audit_is_refused(ditto: Ditto, audit: Any, expected: str) -> None:
    text = refusal(lambda: settings(ditto, audits=[audit]))
    assert f"found:    audits: {audit}" in text
    assert expected in text


def test_each_audit_has_a_name_of_its_own(ditto: Ditto) -> None:
    text = refusal(lambda: settings(ditto, audits=["id > 0", {"name": "id > 0", "table": "true"}]))
    assert "expected: a name of its own for each audit" in text
    assert "found:    audits: True" in refusal(lambda: settings(ditto, audits=True))
