"""Which unit an execution belongs to, what the units are called, and what their names tell."""

from __future__ import annotations

import datetime
from itertools import pairwise
from typing import Any

import pytest
from macro_harness import Ditto

GRANULARITIES = ["day", "week", "month", "year"]
LETTERS = {"day": "d", "week": "w", "month": "m", "year": "y"}


def days(first: str, last: str) -> list[datetime.date]:
    start, stop = datetime.date.fromisoformat(first), datetime.date.fromisoformat(last)
    return [start + datetime.timedelta(days=number) for number in range((stop - start).days + 1)]


def first_day(granularity: str, day: datetime.date) -> datetime.date:
    """The same answer by walking back a day at a time."""
    begins = {
        "day": lambda found: True,
        "week": lambda found: found.weekday() == 0 or (found.month, found.day) == (1, 1),
        "month": lambda found: found.day == 1,
        "year": lambda found: (found.month, found.day) == (1, 1),
    }[granularity]
    while not begins(day):
        day -= datetime.timedelta(days=1)
    return day


def suffix(ditto: Ditto, granularity: str, day: object) -> str:
    return ditto.unit_of(granularity, f"{day} 00:00:00")["suffix"]


# --- the unit of an execution ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("time", "granularity", "expected"),
    [
        ("2024-10-09 00:00:00", "day", ("d20241009", "2024-10-09", "2024-10-10 00:00:00", "day 2024-10-09")),
        ("2024-10-09 00:00:00", "week", ("w20241007", "2024-10-07", "2024-10-14 00:00:00", "week 2024-10-07")),
        ("2024-10-09 00:00:00", "month", ("m20241001", "2024-10-01", "2024-11-01 00:00:00", "month 2024-10")),
        ("2024-10-09 00:00:00", "year", ("y20240101", "2024-01-01", "2025-01-01 00:00:00", "year 2024")),
        ("2024-10-09 00:00:00", "full", ("full", "0001-01-01", "9999-12-31 00:00:00", "the full dataset")),
        ("2024-02-29 23:59:59", "month", ("m20240201", "2024-02-01", "2024-03-01 00:00:00", "month 2024-02")),
        ("2023-02-28 00:00:00", "day", ("d20230228", "2023-02-28", "2023-03-01 00:00:00", "day 2023-02-28")),
        ("2024-12-31 12:00:00", "month", ("m20241201", "2024-12-01", "2025-01-01 00:00:00", "month 2024-12")),
        ("2024-12-31 00:00:00", "day", ("d20241231", "2024-12-31", "2025-01-01 00:00:00", "day 2024-12-31")),
    ],
)
def test_units(ditto: Ditto, time: str, granularity: str, expected: tuple[str, str, str, str]) -> None:
    found = ditto.unit_of(granularity, time)
    assert (found["suffix"], found["first"], found["until"], found["label"]) == expected


@pytest.mark.parametrize(
    ("day", "expected", "until"),
    [
        ("2024-12-29", "w20241223", "2024-12-30"),
        ("2024-12-30", "w20241230", "2025-01-01"),
        ("2024-12-31", "w20241230", "2025-01-01"),
        ("2025-01-01", "w20250101", "2025-01-06"),
        ("2025-01-02", "w20250101", "2025-01-06"),
        ("2025-01-03", "w20250101", "2025-01-06"),
        ("2025-01-04", "w20250101", "2025-01-06"),
        ("2025-01-05", "w20250101", "2025-01-06"),
        ("2025-01-06", "w20250106", "2025-01-13"),
        ("2025-01-07", "w20250106", "2025-01-13"),
        ("2026-12-31", "w20261228", "2027-01-01"),
        ("2027-01-01", "w20270101", "2027-01-04"),
        ("2027-01-02", "w20270101", "2027-01-04"),
        ("2027-01-03", "w20270101", "2027-01-04"),
        ("2027-01-04", "w20270104", "2027-01-11"),
    ],
)
def test_weeks_around_new_year(ditto: Ditto, day: str, expected: str, until: str) -> None:
    for clock in ("00:00:00", "23:59:59.999999"):
        found = ditto.unit_of("week", f"{day} {clock}")
        assert (found["suffix"], found["until"]) == (expected, f"{until} 00:00:00")


@pytest.mark.parametrize("granularity", GRANULARITIES)
def test_every_day_of_five_years_is_in_the_unit_that_a_calendar_gives(ditto: Ditto, granularity: str) -> None:
    """2023 to 2027: a leap year, and years that begin on a Sunday, Monday, Wednesday, Thursday and Friday."""
    for day in days("2023-01-01", "2027-12-31"):
        first = first_day(granularity, day)
        found = ditto.unit_of(granularity, f"{day} 00:00:00")
        assert found["first"] == str(first)
        assert found["suffix"] == f"{LETTERS[granularity]}{first:%Y%m%d}"
        assert found["first"] <= str(day) < found["until"]
        assert found["first"][:4] == str(day.year)


@pytest.mark.parametrize("granularity", GRANULARITIES)
def test_a_unit_ends_where_the_next_one_begins(ditto: Ditto, granularity: str) -> None:
    units: dict[str, dict[str, Any]] = {}
    for day in days("2023-12-20", "2025-02-10"):
        found = ditto.unit_of(granularity, f"{day} 00:00:00")
        units.setdefault(found["suffix"], found)
    for unit, following in pairwise(units.values()):
        assert unit["until"] == following["first"] + " 00:00:00"


@pytest.mark.parametrize(("year", "number"), [(2024, 53), (2025, 53), (2026, 53), (2028, 53), (2012, 54), (2040, 54)])
def test_how_many_weeks_a_year_has(ditto: Ditto, year: int, number: int) -> None:
    """A leap year that begins on a Sunday has 54: its first and its last day are units of their own."""
    dates = days(f"{year}-01-01", f"{year}-12-31")
    assert len({first_day("week", day) for day in dates}) == number
    assert len({suffix(ditto, "week", day) for day in dates}) == number


@pytest.mark.parametrize("granularity", GRANULARITIES)
def test_names_of_units_sort_by_time(ditto: Ditto, granularity: str) -> None:
    suffixes = [suffix(ditto, granularity, day) for day in days("2023-12-01", "2026-01-31")]
    assert suffixes == sorted(suffixes)


@pytest.mark.parametrize("granularity", GRANULARITIES)
def test_hours_fall_into_the_unit_of_their_day(ditto: Ditto, granularity: str) -> None:
    for day in ("2024-10-06", "2024-10-07", "2024-12-31", "2025-01-01"):
        found = {ditto.unit_of(granularity, f"{day} {hour:02}:30:00.5")["suffix"] for hour in range(24)}
        assert found == {suffix(ditto, granularity, day)}


@pytest.mark.parametrize("granularity", [*GRANULARITIES, "full"])
@pytest.mark.parametrize("day", ["0001-01-01", "0001-12-31", "9998-12-31", "9999-01-01", "9999-12-31"])
def test_the_ends_of_the_calendar(ditto: Ditto, granularity: str, day: str) -> None:
    found = ditto.unit_of(granularity, f"{day} 23:00:00")
    assert found["first"] <= day
    assert "0001-01-01" <= found["first"] < found["until"] <= "9999-12-31 00:00:00"


# --- names ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("alias", ["visits", "Visits", "visits__d20240101", "a__b", "v+1 (x)", "v.*", "v[0-9]"])
@pytest.mark.parametrize("granularity", [*GRANULARITIES, "full"])
def test_a_name_tells_the_unit_again(ditto: Ditto, alias: str, granularity: str) -> None:
    made = ditto.unit_of(granularity, "2024-12-31 05:00:00")
    found = ditto.parse_unit(alias, f"{alias}__{made['suffix']}")
    assert found["kind"] == ditto.granularities()[granularity]
    assert found["first"] == made["first"]


@pytest.mark.parametrize(
    ("suffix", "kind", "first", "stretch"),
    [
        ("frozen_202410", "frozen", "2024-10-01", "202410"),
        ("frozen_2024", "frozen", "2024-01-01", "2024"),
        ("units_2024", "units", "2024-01-01", "2024"),
        ("units_202412", "units", "2024-12-01", "202412"),
    ],
)
def test_merged_units_and_views_over_units(ditto: Ditto, suffix: str, kind: str, first: str, stretch: str) -> None:
    found = ditto.parse_unit("visits", f"visits__{suffix}")
    assert found == {"identifier": f"visits__{suffix}", "kind": kind, "first": first, "stretch": stretch}


def test_names_are_told_in_lower_case(ditto: Ditto) -> None:
    """Of a catalog that keeps upper case the same table would be two."""
    found = ditto.parse_unit("Visits", "VISITS__W20241007")
    assert found == {"identifier": "visits__w20241007", "kind": "w", "first": "2024-10-07"}


@pytest.mark.parametrize(
    "identifier",
    [
        "visits",
        "visits__",
        "visits__w20241007_backup",
        "visits__w2024",
        "visits__w202410071",
        "visits__w20241307",
        "visits__w20241000",
        "visits__d20240132",
        "visits__x20241007",
        "visits__20241007",
        "visits_w20241007",
        "visits___w20241007",
        "visits__full_",
        "visits__fullw20241007",
        "visits__frozen_20241007",
        "visits__frozen_202413",
        "visits__frozen_20241",
        "visits__units",
        "visits__daily__w20241007",
        "my_visits__w20241007",
        "visit__w20241007",
        "visits__w20241007\n",
        "visits__w\uff12\uff10\uff12\uff141007",
    ],
)
def test_look_alikes_are_not_ours(ditto: Ditto, identifier: str) -> None:
    assert ditto.parse_unit("visits", identifier) is None


def test_special_characters_of_an_alias_are_no_pattern(ditto: Ditto) -> None:
    assert ditto.parse_unit("v.*", "vast__w20241007") is None
    assert ditto.parse_unit("v.*", "v.*__w20241007")["first"] == "2024-10-07"


# --- what the view shows --------------------------------------------------------------------------------------------


def shown(ditto: Ditto, *suffixes: str) -> list[str]:
    units = [ditto.parse_unit("visits", f"visits__{suffix}") for suffix in suffixes]
    return [unit["identifier"].removeprefix("visits__") for unit in ditto.shown_units("visits", units)]


@pytest.mark.parametrize(
    ("tables", "expected"),
    [
        ("", ""),
        ("full", "full"),
        ("w20241007 w20241223 w20241014 w20250101", "w20250101 w20241223 w20241014 w20241007"),
        # A week that begins in September is in September's table, with its days of October.
        ("frozen_202409 w20240923 w20240930 w20241007", "w20241007 frozen_202409"),
        ("frozen_2024 w20241223 w20241230 w20250101", "w20250101 frozen_2024"),
        ("frozen_2024 frozen_202401 frozen_202412 w20241230 w20250101", "w20250101 frozen_2024"),
        ("frozen_202401 frozen_202402 w20240129 w20240304", "w20240304 frozen_202402 frozen_202401"),
        ("frozen_202401 frozen_2025 d20240101 d20240201 d20250101", "frozen_2025 d20240201 frozen_202401"),
        ("m20240101 m20240201 frozen_2023", "m20240201 m20240101 frozen_2023"),
        ("units_2024 w20241007", "w20241007"),
    ],
)
def test_each_row_is_shown_once_and_the_newest_first(ditto: Ditto, tables: str, expected: str) -> None:
    assert shown(ditto, *tables.split()) == expected.split()


@pytest.mark.parametrize(
    ("first", "expected"),
    [
        ("2024-09-30", ["visits__frozen_202409", "visits__frozen_2024"]),
        ("2025-01-01", ["visits__frozen_202501", "visits__frozen_2025"]),
    ],
)
def test_the_frozen_tables_that_may_hold_a_unit(ditto: Ditto, first: str, expected: list[str]) -> None:
    assert ditto.frozen_names("Visits", first) == expected


def test_a_frozen_table_that_the_view_does_not_show_yet_holds_nothing(ditto: Ditto) -> None:
    """A freeze died, or was released, before it switched the view; its units may be written to again."""
    tables = [ditto.parse_unit("v", f"v__{name}") for name in ("frozen_202409", "d20240929", "d20241001")]
    shown = {"v__d20240929": "", "v__d20241001": ""}
    assert [table["identifier"] for table in ditto.pending_frozen("v", tables, shown)] == ["v__frozen_202409"]
    assert ditto.pending_frozen("v", tables, shown | {"v__frozen_202409": ""}) == []
    # The view was dropped: nothing is known to be unfinished.
    assert ditto.pending_frozen("v", tables, {}) == []
