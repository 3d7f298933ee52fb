"""Execution times in a row: hours, days, weeks and months."""

from __future__ import annotations

import datetime

import pytest
from macro_harness import Ditto


def test_the_intervals(ditto: Ditto) -> None:
    assert ditto.intervals() == ["hour", "day", "week", "month"]


@pytest.mark.parametrize(
    ("time", "interval", "steps", "shifted"),
    [
        ("2024-10-07 09:00:00", "hour", 1, "2024-10-07 10:00:00"),
        ("2024-12-31 23:00:00", "hour", 1, "2025-01-01 00:00:00"),
        ("2024-10-07 09:30:15", "hour", -10, "2024-10-06 23:30:15"),
        ("2024-02-28 00:00:00", "day", 1, "2024-02-29 00:00:00"),
        ("2023-02-28 00:00:00", "day", 1, "2023-03-01 00:00:00"),
        ("2024-10-07 06:00:00", "day", 2, "2024-10-09 06:00:00"),
        ("2024-12-30 00:00:00", "week", 1, "2025-01-06 00:00:00"),
        ("2024-10-07 00:00:00", "month", 1, "2024-11-07 00:00:00"),
        ("2024-12-01 00:00:00", "month", 1, "2025-01-01 00:00:00"),
        ("2024-10-07 00:00:00", "month", 14, "2025-12-07 00:00:00"),
        ("2024-01-01 00:00:00", "month", -1, "2023-12-01 00:00:00"),
        ("2024-10-07 09:00:00", "month", 0, "2024-10-07 09:00:00"),
    ],
)
def test_shifted_times(ditto: Ditto, time: str, interval: str, steps: int, shifted: str) -> None:
    assert ditto.shift_time(time, interval, steps) == shifted


@pytest.mark.parametrize(
    ("time", "shifted"),
    [
        ("2024-01-31 00:00:00", "2024-02-29 00:00:00"),
        ("2023-01-31 00:00:00", "2023-02-28 00:00:00"),
        ("2100-01-31 00:00:00", "2100-02-28 00:00:00"),  # no leap year
        ("2000-01-31 00:00:00", "2000-02-29 00:00:00"),  # a leap year after all
        ("2024-03-31 00:00:00", "2024-04-30 00:00:00"),
        ("2024-01-30 12:00:00", "2024-02-29 12:00:00"),
    ],
)
def test_a_shorter_month_ends_on_its_last_day(ditto: Ditto, time: str, shifted: str) -> None:
    assert ditto.shift_time(time, "month", 1) == shifted


def test_a_month_end_stays_one_when_it_is_counted_from_the_first(ditto: Ditto) -> None:
    times = ditto.times_from("2024-01-31 00:00:00", "2024-05-31 00:00:00", "month")
    assert [time[:10] for time in times] == ["2024-01-31", "2024-02-29", "2024-03-31", "2024-04-30"]


def test_fractions_are_written_as_spark_writes_them(ditto: Ditto) -> None:
    assert ditto.shift_time("2024-10-07 09:00:00.5", "hour", 1) == "2024-10-07 10:00:00.5"
    assert ditto.shift_time("2024-10-07 09:00:00.250000", "day", 0) == "2024-10-07 09:00:00.25"


@pytest.mark.parametrize("interval", ["hour", "day", "week"])
def test_fixed_intervals_are_those_of_the_calendar(ditto: Ditto, interval: str) -> None:
    first, stop = datetime.datetime(2023, 12, 30), datetime.datetime(2024, 3, 3, 1)
    step = datetime.timedelta(**{f"{interval}s": 1})
    expected = []
    while first < stop:
        expected.append(str(first))
        first += step
    assert ditto.times_from(expected[0], str(stop), interval) == expected


@pytest.mark.parametrize(
    ("first", "stop", "times"),
    [
        ("2024-10-07 00:00:00", "2024-10-07 00:00:00", []),
        ("2024-10-08 00:00:00", "2024-10-07 00:00:00", []),
        ("2024-10-06 00:00:00", "2024-10-07 00:00:00", ["2024-10-06 00:00:00"]),
        ("2024-10-06 00:00:00", "2024-10-07 12:00:00", ["2024-10-06 00:00:00", "2024-10-07 00:00:00"]),
    ],
)
def test_the_end_is_not_part_of_the_row(ditto: Ditto, first: str, stop: str, times: list[str]) -> None:
    assert ditto.times_from(first, stop, "day") == times


def test_a_row_has_an_end(ditto: Ditto) -> None:
    assert len(ditto.times_from("2024-01-01 00:00:00", "2034-01-01 00:00:00", "hour", 50)) == 50
