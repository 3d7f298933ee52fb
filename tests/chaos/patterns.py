"""The nine patterns as small models, and what each table holds after a set of executions, whatever order they ran in.

An increment has eight rows that every execution brings (only the day differs) and three of its own.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Collection
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.functional.file_ingest.landing import SCHEMA, Landing
from tests.support import Project

FIRST = dt.date(2024, 10, 7)  # a Monday
SHARED, OWN = 8, 3
INCREMENT = f"""
    select cast(id as int) as id, date'{{{{ ditto.execution_date() }}}}' as day from range({SHARED})
    union all
    select
        cast(1000 + 100 * datediff(date'{{{{ ditto.execution_date() }}}}', date'{FIRST}') + id as int) as id,
        date'{{{{ ditto.execution_date() }}}}' as day
    from range({OWN})
"""
Row = tuple[int, str]


@dataclass(frozen=True)
class Pattern:
    """A model. `keeps`: whose rows stay: each execution's, or by key those of the last, the first or the latest one."""

    name: str
    materialized: str
    keeps: str
    config: dict[str, Any] = field(default_factory=dict)
    leased: bool = False

    def write(self, project: Project) -> None:
        config = dict(self.config)
        sql = INCREMENT
        if self.keeps == "files":
            folder = Landing(landing_of(project)).folder
            config["files"] = {"path": str(folder), "format": "csv", "schema": SCHEMA, "options": {"header": True}}
            sql = "select * from {{ ditto.incoming() }}"
        project.model(self.name, sql, materialized=self.materialized, **config)


PATTERNS = {
    pattern.name: pattern
    for pattern in (
        Pattern("overwritten", "insert_overwrite", "each", {"partition_by": "day"}),
        Pattern("merged", "merger", "last", {"unique_key": "id"}),
        Pattern("stateful", "stateful_merge", "latest", {"unique_key": "id"}, leased=True),
        Pattern("cleaned", "fast_metadata_cleaner", "each", {"granularity": "week"}, leased=True),
        Pattern("published", "proxy_view", "newest", leased=True),
        Pattern("transacted", "transactional_writer", "latest", {"unique_key": "id"}),
        Pattern("keyed", "keyed_idempotency", "last", {"unique_key": "id"}),
        Pattern("deduplicated", "dedup_insert", "first", {"unique_key": "id"}),
        Pattern("ingested", "file_ingest", "files", leased=True),
        # The ways of the same patterns that take several commits.
        Pattern(
            "reinserted", "insert_overwrite", "each", {"partition_by": "day", "mode": "delete_insert"}, leased=True
        ),
        Pattern("appended", "transactional_writer", "each", {"write": "append"}),
        Pattern("audited", "transactional_writer", "latest", {"unique_key": "id", "audits": ["id >= 0"]}, leased=True),
        Pattern("native", "proxy_view", "newest", {"versioning": "native"}, leased=True),
        Pattern("pinned", "stateful_merge", "latest", {"unique_key": "id", "readers": "pinned"}, leased=True),
    )
}


def landing_of(project: Project) -> Path:
    return project.path / "landing"


def increment(day: str) -> list[Row]:
    number = (dt.date.fromisoformat(day) - FIRST).days
    return [(id, day) for id in range(SHARED)] + [(1000 + 100 * number + id, day) for id in range(OWN)]


def by_key(days: Collection[str], winner: str) -> list[Row]:
    """The rows of their own of all executions, and those that all of them bring from one."""
    own = [row for day in days for row in increment(day)[SHARED:]]
    return sorted(increment(winner)[:SHARED] + own)


def possible(keeps: str, days: Collection[str]) -> list[list[Row]]:
    """Every table that some serial order of these executions gives."""
    if keeps == "each":
        return [sorted(row for day in days for row in increment(day))]
    if keeps == "newest":
        return [sorted(increment(max(days)))]
    if keeps == "latest":
        return [by_key(days, max(days))]
    return [by_key(days, winner) for winner in sorted(days)]
