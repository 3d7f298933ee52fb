"""A stateful_merge model for unit tests: its node, its settings, its ledger, and the facts that a plan is made from."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from dbt_common.exceptions import CompilationError
from macro_harness import Ditto, default_model, relation
from merger_model import columns, ledger, table

INCREMENT = "select * from feed"
ROWS = columns(id="int", name="string")
UNTOUCHED = {"commits": [], "leases": [], "columns": None, "readable": True, "earliest": None}


def moment(text: str) -> str:
    """`10-07` -> `2024-10-07 00:00:00`, `2024-10-07T09` -> `2024-10-07 09:00:00`."""
    day, _, hour = (text if len(text) > 5 else f"2024-{text}").partition("T")
    return f"{day} {hour or '00'}:00:00"


def node(**config: object) -> dict[str, Any]:
    base = default_model(relation("devices"))
    return base | {
        "description": "",
        "constraints": [],
        "config": {"materialized": "stateful_merge", "meta": {}, "unique_key": "id"} | config,
    }


def settings(ditto: Ditto, day: str = "10-07", **config: Any) -> dict[str, Any]:
    """`full_refresh` and `dry` are the flags of the run, everything else is config."""
    flags = {flag: config.pop(flag, False) for flag in ("full_refresh", "dry")}
    read = ditto.stateful_merge_settings(node(**config), execution_time=moment(day), **flags)
    return read | {"ledger_table": "`demo`.`ditto_ledger`"}


def outcome(day: str, version: int, base_version: int | None = None, **changes: Any) -> dict[str, Any]:
    """A committed execution; its `seq` follows from the version, as in a ledger without crashes."""
    base = version - 1 if base_version is None else base_version
    known = {"generation": 1, "event": "committed", "time": moment(day), "version": version, "base_version": base}
    return known | {"seq": version * 2} | changes


def applied(*days: str) -> list[dict[str, Any]]:
    """These executions one after the other, on a table that was created as version 0."""
    return [outcome(day, version) for version, day in enumerate(days, start=1)]


def unfinished(day: str, base_version: int | None, version: int | None, mode: str = "backfill") -> dict[str, Any]:
    """An intent: `base_version` is where the table has to be before the merge, `version` the head that it saw."""
    known = {
        "execution_time": moment(day),
        "mode": mode,
        "token": 3,
        "invocation_id": "dead",
        "user": "ada",
        "at": "noon",
    }
    return known | {"event": "started", "base_version": base_version, "version": version}


def facts(
    outcomes: list[dict[str, Any]],
    head: int | None = None,
    opened: dict[str, Any] | None = None,
    exists: bool = True,
    **other: Any,
) -> dict[str, Any]:
    """`head` is by default the version of the last outcome."""
    newest = max((outcome["version"] for outcome in outcomes), default=0)
    known = {
        "ledger": ledger(
            generation=1 if outcomes else 0,
            seq=max((outcome["seq"] for outcome in outcomes), default=0),
            unfinished=[opened] if opened else [],
            outcomes=outcomes,
        ),
        "target": table(ROWS if exists else None),
        "head": (newest if head is None else head) if exists else None,
        "has_rows": bool(outcomes) and exists,
        "increment": ROWS,
        "contract": [],
        "key_range": [],
        "view": table(None),
        "undone": UNTOUCHED,
        "earliest": None,
    }
    return known | other


def refusal(call: Callable[[], object], subject: str = "ditto: stateful_merge model devices") -> str:
    """The error that a call ends with; it has to say what was found, what is expected and what fixes it."""
    with pytest.raises(CompilationError) as error:
        call()
    text = str(error.value)
    parts = [text.index(part) for part in (subject, "found:", "expected:", "fix:")]
    assert parts == sorted(parts)
    return text
