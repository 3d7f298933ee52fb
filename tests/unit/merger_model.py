"""A merger model for unit tests: its node, its settings, and the facts that a plan is made from."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from dbt_common.exceptions import CompilationError
from macro_harness import Ditto, default_model, relation

DATE = "2024-10-07"
TAG = "ditto:1|merger|normal|2024-10-07 00:00:00|00000000-0000-0000-0000-000000000001"
INCREMENT = "select * from feed"


def node(**config: object) -> dict[str, Any]:
    """`devices`, a merger model with this config, as dbt describes it to a materialization."""
    base = default_model(relation("devices"))
    return base | {
        "description": "",
        "constraints": [],
        "config": {"materialized": "merger", "meta": {}, "unique_key": "id"} | config,
    }


def settings(ditto: Ditto, full_refresh: bool = False, dry: bool = False, **config: object) -> dict[str, Any]:
    read = ditto.with_context(var={"execution_date": DATE}).merger_settings(node(**config), full_refresh, dry)
    return read | {"ledger_table": "`demo`.`ditto_ledger`"}


def columns(**types: str) -> list[dict[str, Any]]:
    return [{"name": name, "type": type_, "comment": ""} for name, type_ in types.items()]


def given(*names: str, missing: str | None = None) -> list[dict[str, Any]]:
    """The table's columns as a plan hands them to the builders; `missing` is one that the increment lacks."""
    known = [{"name": name, "type": "string", "given": True} for name in names]
    return known + ([{"name": missing, "type": "string", "given": False}] if missing else [])


def table(existing: list[dict[str, Any]] | None, **facts: object) -> dict[str, Any]:
    """What `table_facts` says about a Delta table with these columns; None: there is none."""
    found = {"exists": existing is not None, "type": None, "provider": None, "columns": existing or []}
    if existing is not None:
        found |= {"type": "table", "provider": "delta"}
    return found | {"partition_by": [], "comment": "", "properties": ""} | facts


def view(existing: list[dict[str, Any]], **facts: object) -> dict[str, Any]:
    return table(existing, type="view", provider="", **facts)


def ledger(**facts: object) -> dict[str, Any]:
    nothing = {"generation": 0, "seq": 0, "token": 0, "hash": None, "last": None, "own": False, "previous": None}
    return nothing | {"newest": None, "unfinished": [], "inputs": []} | facts


def ran_before(execution_time: str = "2024-10-06 00:00:00", **facts: object) -> dict[str, Any]:
    last = {"execution_time": execution_time, "version": 1, "base_version": 0, "invocation_id": "i", "event_id": "e"}
    return ledger(generation=1, seq=1, last=last, previous=execution_time, newest=execution_time) | facts


def facts(increment: list[dict[str, Any]], target: dict[str, Any] | None = None, **other: object) -> dict[str, Any]:
    known = {"ledger": ledger(), "target": target or table(None), "head": None, "contract": [], "key_range": []}
    return known | {"increment": increment, "view": table(None)} | other


def refusal(call: Callable[[], object]) -> str:
    """The error that a call ends with; it has to say what was found, what is expected and what fixes it."""
    with pytest.raises(CompilationError) as error:
        call()
    text = str(error.value)
    parts = [text.index(part) for part in ("ditto: merger model devices", "found:", "expected:", "fix:")]
    assert parts == sorted(parts)
    return text
