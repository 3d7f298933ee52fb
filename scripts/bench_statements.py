"""What each statement of a dbt command takes."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from dbt.adapters.spark.session import Cursor


@contextmanager
def timed_statements() -> Iterator[list[tuple[str, float]]]:
    """What each statement takes, its result included. dbt fetches lazily, so both halves are timed."""
    spent: list[tuple[str, float]] = []
    execute, fetchall = Cursor.execute, Cursor.fetchall

    def timed_execute(cursor: Cursor, sql: str, *parameters: Any) -> None:
        started = time.perf_counter()
        execute(cursor, sql, *parameters)
        spent.append((label(sql), time.perf_counter() - started))

    def timed_fetch(cursor: Cursor) -> Any:
        started = time.perf_counter()
        rows = fetchall(cursor)
        spent[-1] = (spent[-1][0], spent[-1][1] + time.perf_counter() - started)
        return rows

    Cursor.execute, Cursor.fetchall = timed_execute, timed_fetch  # type: ignore[method-assign]
    try:
        yield spent
    finally:
        Cursor.execute, Cursor.fetchall = execute, fetchall  # type: ignore[method-assign]


def label(sql: str) -> str:
    """The beginning of a statement, without dbt's comment and without the handlers around a guarded write."""
    text = " ".join(re.sub(r"/\*.*?\*/", "", sql, flags=re.DOTALL).split())
    if text.startswith("begin declare"):
        kinds = "merge into|insert into|insert overwrite|create or replace table|create table|delete from"
        found = re.search(rf"\b({kinds}) \S+", text)
        return "script: " + (found.group(0) if found else text[:60])
    return "read the ledger" if text.startswith("select to_json(struct( `relation`") else text[:60]
