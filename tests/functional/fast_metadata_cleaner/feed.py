"""Units of clicks: each execution brings two rows that name it, so that every table and view can be told by heart."""

from __future__ import annotations

import datetime as dt
from typing import Any

from tests.support import Project

SELECT = """
    select cast(id as int) as id, '{{ ditto.execution_time() }}' as loaded, date'{{ ditto.execution_date() }}' as day
    from range(0, 2)
"""


def clicks(project: Project, sql: str = SELECT, **config: Any) -> None:
    project.model("clicks", sql, materialized="fast_metadata_cleaner", **config)


def rows(*times: str) -> list[tuple[Any, ...]]:
    """What these executions bring; `2024-10-07` or `2024-10-07 09:00:00`."""
    made = []
    for time in times:
        moment = time if len(time) > 10 else f"{time} 00:00:00"
        made += [(number, moment, dt.date.fromisoformat(time[:10])) for number in range(2)]
    return sorted(made, key=repr)


def units(project: Project) -> list[str]:
    """The tables behind the view, by their suffix."""
    names = [row[1] for row in project.sql("show tables in {schema} like 'clicks__*'")]
    return sorted(name.removeprefix("clicks__") for name in names)


def head(project: Project, unit: str) -> int:
    return project.versions(f"clicks__{unit}")


def days(first: str, count: int) -> list[str]:
    return [str(dt.date.fromisoformat(first) + dt.timedelta(days=number)) for number in range(count)]
