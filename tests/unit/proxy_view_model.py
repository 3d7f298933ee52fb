"""A proxy_view model for unit tests: its node, its settings, its versions, and the facts that a plan is made from."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import stateful_merge_model
from fast_metadata_cleaner_model import moment, statement
from macro_harness import Ditto, default_model, relation
from merger_model import columns, ledger, table, view

INCREMENT = "select * from feed"
ROWS = columns(id="int", name="string")
WIDE = columns(id="int", name="string", colour="string")
NAME = "v20241007_120000"  # when the harness began its run
TABLE = f"`demo`.`devices__{NAME}`"
FENCE = "(select max(`token`) from `demo`.`ditto_ledger` where `relation` = 'demo.devices') = 3"
FLAGS = ("full_refresh", "dry")


def node(**config: Any) -> dict[str, Any]:
    """`description`, `columns`, `constraints` and `alias` are of the yml, everything else is config."""
    known = {name: config.pop(name) for name in ("description", "columns", "constraints", "alias") if name in config}
    base = default_model(relation("devices")) | {"description": "", "constraints": []}
    return base | known | {"config": {"materialized": "proxy_view", "meta": {}} | config}


def settings(ditto: Ditto, day: str = "10-07", **config: Any) -> dict[str, Any]:
    """`full_refresh` and `dry` are of the run, everything else is of the model."""
    flags = {flag: config.pop(flag, False) for flag in FLAGS}
    read = ditto.proxy_view_settings(node(**config), execution_time=moment(day), **flags)
    return read | {"ledger_table": "`demo`.`ditto_ledger`"}


def facts(newest: str | None = None, opened: dict[str, Any] | None = None, **other: Any) -> dict[str, Any]:
    """`newest`: the newest execution that the ledger knows; then the view is there too."""
    time = moment(newest) if newest else None
    last = {"execution_time": time, "version": 0, "base_version": None, "invocation_id": "i", "event_id": "e"}
    known = {
        "ledger": ledger(
            generation=1 if newest else 0,
            seq=4,
            token=2,
            last=last if newest else None,
            previous=time,
            newest=time,
            own=other.pop("own", False),
            unfinished=[opened] if opened else [],
            outcomes=[],
        ),
        "target": table(None),
        "head": None,
        "increment": ROWS,
        "contract": [],
        "view": view(ROWS, text=f"select `id`, `name` from {TABLE}") if newest else table(None, text=""),
        "changed": [],
    }
    return known | other


def plan(ditto: Ditto, known: dict[str, Any], day: str = "10-07", **config: Any) -> dict[str, Any]:
    options = {name: value for name, value in config.items() if name not in FLAGS}
    return ditto.proxy_view_plan(node(**options), settings(ditto, day, **config), known, INCREMENT)


def inside(made: dict[str, Any], name: str) -> str:
    """The statement of a step without the script and the fence around it."""
    text = statement(made, name)
    found = re.search(r"execute immediate '(.*)'\s*;\s*end if;\s*end$", text, re.DOTALL)
    assert found, text
    return found[1]


def commit(
    version: int, operation: str = "WRITE", run: str | None = None, restored: int | None = None
) -> dict[str, Any]:
    """A line of the history; `run` is the invocation that tagged it."""
    tag = {"pattern": "proxy_view", "mode": "normal", "execution_time": moment("10-07"), "invocation_id": run}
    known = {"version": version, "operation": operation, "tag": tag if run else None, "restored": restored}
    return known | {"read_version": version - 1, "user": "eve", "at": "noon", "metrics": {}}


def written(version: int = 0, run: str = "me") -> dict[str, Any]:
    return commit(version, "CREATE TABLE AS SELECT", run)


def version(name: str = NAME, **changes: Any) -> dict[str, Any]:
    """What `parse_version` gives for a version with a table of its own."""
    known = {
        "name": name,
        "native": False,
        "identifier": f"devices__{name}",
        "table": f"`demo`.`devices__{name}`",
        "time": moment("10-07"),
        "version": 0,
        "rows": 2,
        "invocation_id": "me",
        "files": 1,
        "bytes": 1024,
        "shown": True,
        "at": "2024-10-07 12:00:05.123",
        "age": 48,
        "seq": 2,
    }
    return known | changes


def native(number: int, **changes: Any) -> dict[str, Any]:
    """One of many versions in one table."""
    place = {"native": True, "identifier": "devices__data", "table": "`demo`.`devices__data`"}
    return version(f"v{number}", version=number, seq=2 * number + 2, **place) | changes


def refusal(call: Callable[[], object], subject: str = "ditto: proxy_view model devices") -> str:
    return stateful_merge_model.refusal(call, subject)
