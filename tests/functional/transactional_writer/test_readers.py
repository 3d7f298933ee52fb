"""Readers never see a part: a thread reads in a loop while dbt writes."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from tests.support import Project

ROWS = 500
BATCH = f"""
    select cast(id as int) as id, '{{{{ ditto.execution_date() }}}}' as batch
    from range(0, {ROWS}, 1, 4)
"""
LOOK = "select count(*), count(distinct id), count(distinct batch), max(batch) from {schema}.%s"


@contextmanager
def watching(project: Project, tables: list[str]) -> Iterator[dict[str, list[tuple[Any, ...]]]]:
    """What a reader sees of these tables, as often as it can look."""
    seen: dict[str, list[tuple[Any, ...]]] = {table: [] for table in tables}
    errors: list[Exception] = []
    done = threading.Event()

    def look() -> None:
        try:
            while not done.is_set():
                for table in tables:
                    seen[table] += project.sql(LOOK % table)
        except Exception as error:
            errors.append(error)

    reader = threading.Thread(target=look)
    reader.start()
    try:
        yield seen
    finally:
        done.set()
        reader.join()
    assert errors == []


@pytest.mark.slow
def test_every_read_sees_one_whole_execution(project: Project) -> None:
    writes = ["merge", "overwrite"]
    for write in writes:
        project.model(write, BATCH, materialized="transactional_writer", write=write, unique_key="id")
    days = [f"2024-10-0{number}" for number in range(1, 6)]
    project.must_run(days[0])
    with watching(project, writes) as seen:
        for day in days[1:-1]:
            project.must_run(day)
        # Also one that makes the table anew.
        project.must_run(days[-1], "--full-refresh")
    for write in writes:
        assert {read[:3] for read in seen[write]} == {(ROWS, ROWS, 1)}
        # It did look while dbt wrote, and more than once at what each execution left.
        assert len(seen[write]) > 2 * len(days)
        assert {read[3] for read in seen[write]} >= set(days[:-1])
