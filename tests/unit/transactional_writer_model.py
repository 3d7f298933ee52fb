"""A transactional_writer model for unit tests: its node, its settings, and its plan from some facts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import merger_model
import pytest
from dbt_common.exceptions import CompilationError
from macro_harness import Ditto, default_model, relation
from merger_model import DATE, INCREMENT, columns, table

ROWS = columns(id="int", name="string")
STAMPED = columns(id="int", name="string", _ditto_execution_time="timestamp_ntz")
NOW = "cast('2024-10-07 00:00:00' as timestamp_ntz)"


def node(**config: object) -> dict[str, Any]:
    """`orders`, a transactional_writer model with this config. Its `columns` make a contract."""
    base = default_model(relation("orders"))
    given = {"description": "", "constraints": [], "columns": config.pop("columns", {})}
    return base | given | {"config": {"materialized": "transactional_writer", "meta": {}, "unique_key": "id"} | config}


def settings(ditto: Ditto, **config: Any) -> dict[str, Any]:
    """`full_refresh` and `dry` are the flags of the run, everything else is config."""
    flags = {flag: config.pop(flag, False) for flag in ("full_refresh", "dry")}
    read = ditto.with_context(var={"execution_date": DATE}).transactional_writer_settings(node(**config), **flags)
    return read | {"ledger_table": "`demo`.`ditto_ledger`"}


def facts(increment: list[dict[str, Any]] = ROWS, target: Any = None, **other: object) -> dict[str, Any]:
    known = merger_model.facts(increment, table(target) if isinstance(target, list) else target)
    return known | {"own_rows": False, "candidate": table(None)} | other


def plan(ditto: Ditto, known: dict[str, Any], **config: Any) -> dict[str, Any]:
    read = settings(ditto, **config)
    described = node(**{key: value for key, value in config.items() if key not in ("full_refresh", "dry")})
    return ditto.with_context(var={"execution_date": DATE}).transactional_writer_plan(described, read, known, INCREMENT)


def refusal(call: Callable[[], object]) -> str:
    """The error that a call ends with; it has to say what was found, what is expected and what fixes it."""
    with pytest.raises(CompilationError) as error:
        call()
    text = str(error.value)
    parts = [text.index(part) for part in ("ditto: transactional_writer model orders", "found:", "expected:", "fix:")]
    assert parts == sorted(parts)
    return text
