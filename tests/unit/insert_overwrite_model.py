"""An insert_overwrite model for unit tests: its node, its settings and the plan that they lead to."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from dbt_common.exceptions import CompilationError
from macro_harness import INVOCATION_ID, Ditto, default_model, relation
from merger_model import columns, ledger, table

DATE = "2024-10-07"
HOUR = "2024-10-07T09:00:00"
INCREMENT = "select * from feed"
DAILY = columns(id="int", day="date")
HOURLY = columns(id="int", day="date", hour="int")
TAG = f"ditto:1|insert_overwrite|normal|2024-10-07 00:00:00|{INVOCATION_ID}"


def node(**config: object) -> dict[str, Any]:
    """`visits`, with this config, as dbt describes it to a materialization."""
    base = default_model(relation("visits"))
    return base | {
        "description": "",
        "constraints": [],
        "config": {"materialized": "insert_overwrite", "meta": {}} | config,
    }


def settings(
    ditto: Ditto, at: str = DATE, full_refresh: bool = False, dry: bool = False, **config: object
) -> dict[str, Any]:
    read = ditto.with_context(var={"execution_date": at}).insert_overwrite_settings(node(**config), full_refresh, dry)
    return read | {"ledger_table": "`demo`.`ditto_ledger`"}


def partition(**values: tuple[str, Any]) -> list[dict[str, Any]]:
    """day=('date', '2024-10-07'): as the facts name a partition."""
    return [{"name": name, "type": type_, "value": value} for name, (type_, value) in values.items()]


def facts(increment: list[dict[str, Any]], target: dict[str, Any] | None = None, **other: object) -> dict[str, Any]:
    known = {"ledger": ledger(), "target": target or table(None), "head": None, "contract": [], "partitions": []}
    return known | {"increment": increment} | other


def plan(
    ditto: Ditto,
    known: dict[str, Any],
    at: str = DATE,
    full_refresh: bool = False,
    dry: bool = False,
    **config: object,
) -> dict[str, Any]:
    read = settings(ditto, at, full_refresh, dry, **config)
    return ditto.with_context(var={"execution_date": at}).insert_overwrite_plan(node(**config), read, known, INCREMENT)


def names(made: dict[str, Any]) -> list[str]:
    return [step["name"] for step in made["steps"]]


def step(made: dict[str, Any], name: str) -> dict[str, Any]:
    return next(step for step in made["steps"] if step["name"] == name)


def refusal(call: Callable[[], object]) -> str:
    """The error that a call ends with; it has to say what was found, what is expected and what fixes it."""
    with pytest.raises(CompilationError) as error:
        call()
    text = str(error.value)
    parts = [text.index(part) for part in ("ditto: insert_overwrite model visits", "found:", "expected:", "fix:")]
    assert parts == sorted(parts)
    return text
