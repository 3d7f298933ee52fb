"""Day after day over the turn of a year, then one unit again. At length: DITTO_DAYS=366 DITTO_FIRST=2024-01-01."""

from __future__ import annotations

import datetime as dt
import os

import pytest

from tests.functional.fast_metadata_cleaner.feed import clicks, days, rows, units
from tests.support import Project

FIRST = os.environ.get("DITTO_FIRST", "2024-12-30")
COUNT = int(os.environ.get("DITTO_DAYS", "8"))


def week_of(day: str) -> str:
    """The unit of a day, worked out another way: back until Monday or 1 January."""
    date = dt.date.fromisoformat(day)
    while date.weekday() != 0 and (date.month, date.day) != (1, 1):
        date -= dt.timedelta(days=1)
    return f"w{date:%Y%m%d}"


@pytest.mark.slow
def test_day_after_day(project: Project) -> None:
    clicks(project)
    loaded = days(FIRST, COUNT)
    for day in loaded:
        project.must_run(day)
    weeks = sorted({week_of(day) for day in loaded})
    assert units(project) == weeks
    if COUNT == 366:
        assert len(weeks) in (53, 54)
    assert project.rows("clicks") == rows(*loaded)

    middle = [day for day in loaded if week_of(day) == weeks[(len(weeks) - 1) // 2]]
    for day in middle:
        project.must_run(day)
    assert project.rows("clicks") == rows(*loaded)
    assert project.sql("select count(*), count(distinct id, loaded) from {schema}.clicks") == [(2 * COUNT, 2 * COUNT)]
    assert set(project.states("clicks").values()) == {"live"}
