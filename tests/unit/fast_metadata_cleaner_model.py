"""A fast_metadata_cleaner model for unit tests: its node, its settings, its units, and the facts of a plan."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import stateful_merge_model
from macro_harness import Ditto, default_model, relation
from merger_model import columns, ledger, table

INCREMENT = "select * from feed"
ROWS = columns(id="int", page="string")
SLICE_TIME = {"name": "_ditto_execution_time", "type": "timestamp_ntz", "comment": ""}
FLAGS = ("full_refresh", "dry")

Columns = list[dict[str, Any]]


def moment(text: str) -> str:
    """`10-07` -> `2024-10-07 00:00:00`, `10-07T09` -> `2024-10-07 09:00:00`."""
    day, _, hour = text.partition("T")
    return f"{day if len(day) > 5 else f'2024-{day}'} {hour or '00'}:00:00"


def node(**config: Any) -> dict[str, Any]:
    """`description`, `columns` and `constraints` are of the yml, everything else is config."""
    known = {name: config.pop(name) for name in ("description", "columns", "constraints", "alias") if name in config}
    base = default_model(relation("visits")) | {"description": "", "constraints": []}
    return base | known | {"config": {"materialized": "fast_metadata_cleaner", "meta": {}} | config}


def settings(ditto: Ditto, day: str = "10-07", slice_only: bool = False, **config: Any) -> dict[str, Any]:
    """`full_refresh`, `dry` and `slice_only` are of the run, everything else is of the model."""
    flags = {flag: config.pop(flag, False) for flag in FLAGS}
    run = ditto.with_context(var={"ditto_slice_only": slice_only})
    read = run.fast_metadata_cleaner_settings(node(**config), execution_time=moment(day), **flags)
    return read | {"ledger_table": "`demo`.`ditto_ledger`"}


def unit(ditto: Ditto, identifier: str) -> dict[str, Any]:
    """`w20241007` -> what the catalog tells about this unit of `visits`."""
    found = ditto.parse_unit("visits", f"visits__{identifier}")
    assert found is not None
    return found


def executions(**statuses: str) -> list[dict[str, Any]]:
    """`live="10-07 10-08", stale="10-09"`"""
    return [{"time": moment(day), "status": status} for status, days in statuses.items() for day in days.split()]


def unfinished(day: str | None, until: str | None = None, mode: str = "reset") -> dict[str, Any]:
    """An intent; `until` is the end of the unit that it prepares anew."""
    known = {"event": "started", "mode": mode, "token": 3, "invocation_id": "dead", "user": "ada", "at": "noon"}
    times = {"execution_time": moment(day) if day else None, "undoes_until": moment(until) if until else None}
    return known | times | {"base_version": None, "version": None}


def no_view() -> dict[str, Any]:
    return table(None, text="", comment=None)


def views(ditto: Ditto, read: dict[str, Any], tables: dict[str, Columns], limit: int = 30000) -> dict[str, Any]:
    """`view` and `chunks` as they are once a run has shown these tables (`{"w20241007": columns}`)."""
    units = ditto.shown_units("visits", [unit(ditto, identifier) for identifier in tables])
    known = {f"visits__{identifier}": described for identifier, described in tables.items()}
    nothing = {"view": no_view(), "chunks": []}
    texts = ditto.view_texts(read, nothing, units, known, limit)
    shown = list(ditto.view_columns(read, nothing, units, known)["columns"])
    for option, type_ in (("execution_time_column", "timestamp_ntz"), ("unit_column", "date")):
        if read[option]:
            shown.append({"name": read[option], "type": type_})
    return after(ditto, read, texts, [column | {"comment": ""} for column in shown])


def after(ditto: Ditto, read: dict[str, Any], texts: dict[str, str], shown: Columns) -> dict[str, Any]:
    """The facts that these view texts leave behind."""
    part = "ditto: a part of demo.visits"
    chunks = [
        table([], type="view", text=text, comment=part) | {"identifier": identifier}
        for identifier, text in texts.items()
        if identifier != "visits"
    ]
    return {"view": table(shown, type="view", text=texts["visits"], comment=""), "chunks": chunks}


def facts(
    ditto: Ditto,
    read: dict[str, Any],
    tables: dict[str, Columns] | list[str] | None = None,
    done: list[dict[str, Any]] | None = None,
    opened: dict[str, Any] | None = None,
    **other: Any,
) -> dict[str, Any]:
    """`tables`: the units, all shown by the view; `done`: what the ledger knows of executions."""
    described = tables if isinstance(tables, dict) else dict.fromkeys(tables or [], ROWS)
    own = described.get(read["identifier"].removeprefix("visits__"))
    last = {"execution_time": moment("10-01"), "version": 1, "base_version": 0, "invocation_id": "i", "event_id": "e"}
    known = {
        "ledger": ledger(
            generation=1 if described or done else 0,
            seq=4,
            token=2,
            last=last if described or done else None,
            unfinished=[opened] if opened else [],
        ),
        "target": table(None if own is None else [*own, SLICE_TIME]),
        "head": None if own is None else 3,
        "increment": ROWS,
        "contract": [],
        "units": [unit(ditto, identifier) for identifier in described],
        "pending": [],
        "known": {},
        "executions": done or [],
    }
    shown = views(ditto, read, described) if described else {"view": no_view(), "chunks": []}
    return known | shown | other


def plan(ditto: Ditto, known: dict[str, Any], day: str = "10-07", **config: Any) -> dict[str, Any]:
    read = settings(ditto, day, **config)
    options = {name: value for name, value in config.items() if name not in (*FLAGS, "slice_only")}
    return ditto.fast_metadata_cleaner_plan(node(**options), read, known, INCREMENT)


def names(made: dict[str, Any]) -> list[str]:
    return [step["name"] for step in made["steps"]]


def statement(made: dict[str, Any], name: str, place: int = 0) -> str:
    """The SQL of a step as the engine reads it: what is executed as text has its quotes back."""
    found = [step["sql"] for step in made["steps"] if step["name"] == name]
    return found[place].replace("\\'", "'").replace("\\\\", "\\")


def refusal(call: Callable[[], object], subject: str = "ditto: fast_metadata_cleaner model visits") -> str:
    return stateful_merge_model.refusal(call, subject)
