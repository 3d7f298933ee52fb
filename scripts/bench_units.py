"""fast_metadata_cleaner: what cleaning takes when there is more to clean, and what a view over many units takes."""

from __future__ import annotations

import datetime as dt
import statistics
import time
from collections import defaultdict

from scripts.bench_statements import timed_statements
from tests.support import Project

MONDAY = dt.date(2024, 10, 7)
MORE = 50


def seconds(project: Project, sql: str) -> float:
    started = time.perf_counter()
    project.sql(sql)
    return time.perf_counter() - started


def run(project: Project, day: dt.date, model: str) -> float:
    outcome = project.run(str(day), model=model)
    if not outcome.ok:
        raise SystemExit(outcome.text)
    return outcome.node(model).execution_time


def cleaning(project: Project, size: int, rounds: int) -> None:
    """Ten rows replace a unit of `size` rows and one of a fiftieth; in one large table DELETE and INSERT do so."""
    few = max(1, size // MORE)
    print(f"\nA unit of {few:,} and of {size:,} rows is replaced by ten ...", flush=True)
    config = {"materialized": "fast_metadata_cleaner", "granularity": "week", "on_stale": "warn"}
    project.model("cleaned", "select id, date'{{ ditto.execution_date() }}' as day from range(10)", **config)
    run(project, MONDAY, "cleaned")
    times: dict[tuple[str, int], list[float]] = defaultdict(list)
    for number in range(rounds + 1):
        for rows in (few, size):
            project.sql(
                "insert into {schema}.cleaned__w20241007 select id, date'2024-10-08' as day, "
                f"timestamp_ntz'2024-10-08 00:00:00' as `_ditto_execution_time` from range({rows})"
            )
            with timed_statements() as spent:
                run(project, MONDAY, "cleaned")
            (reset,) = [each for name, each in spent if "create or replace table" in name]
            # One table for all weeks: half of its rows are this week's.
            project.sql(
                "create or replace table {schema}.whole using delta as "
                f"select id, if(id % 2 = 0, date'2024-10-08', date'2024-10-01') as day from range({2 * rows})"
            )
            deleted = seconds(project, "delete from {schema}.whole where day >= date'2024-10-07'")
            deleted += seconds(project, "insert into {schema}.whole select id, date'2024-10-07' from range(10)")
            if number > 0:
                times["reset", rows].append(reset)
                times["delete", rows].append(deleted)
        print(f"  round {number} of {rounds}{' (warm-up)' if number == 0 else ''}", flush=True)
    print(f"\n{MORE} times more rows to clean, ratio of medians:\n")
    for name, title in {"reset": "fast_metadata_cleaner, reset and load", "delete": "DELETE + INSERT"}.items():
        small, large = (statistics.median(times[name, rows]) for rows in (few, size))
        print(f"  {title:<40} {large / small:5.2f}  ({large:.2f} s / {small:.2f} s)")


def many_units(project: Project, count: int, rounds: int) -> None:
    """A run and a question about one week, with a tenth of the units and with all of them."""
    sql = "select id, date'{{ ditto.execution_date() }}' as day from range(10)"
    project.model("seen", sql, materialized="fast_metadata_cleaner", unit_column="week")
    weeks = mondays(count)
    asked = weeks[count // 20]
    filters = {
        "filter on unit_column": f"week = date'{asked}'",
        "filter on a date of its own": f"day >= date'{asked}' and day < date'{asked}' + interval 7 days",
    }
    times: dict[tuple[str, int], list[float]] = defaultdict(list)
    made = 0
    for size in (count // 10, count):
        print(f"\nMaking {size - made} units ...", flush=True)
        run(project, weeks[0], "seen")
        for week in weeks[made + (1 if made == 0 else 0) : size]:
            project.sql(
                f"create or replace table {{schema}}.seen__w{week:%Y%m%d} using delta partitioned by "
                f"(`_ditto_execution_time`) as select id, date'{week}' as day, "
                f"timestamp_ntz'{week} 00:00:00' as `_ditto_execution_time` from range(10)"
            )
        made = size
        started = time.perf_counter()
        run(project, weeks[0], "seen")
        print(f"  the run that finds them all new: {time.perf_counter() - started:.1f} s", flush=True)
        for number in range(rounds + 1):
            times["a run of one day", size].append(run(project, weeks[0] + dt.timedelta(days=1), "seen"))
            for name, condition in filters.items():
                times[name, size].append(seconds(project, f"select count(*) from {{schema}}.seen where {condition}"))
            print(f"  round {number} of {rounds}{' (warm-up)' if number == 0 else ''}", flush=True)
    print(f"\n{count} units / {count // 10}, ratio of medians:\n")
    for name in ("a run of one day", *filters):
        small, large = (statistics.median(times[name, size][1:]) for size in (count // 10, count))
        print(f"  {name:<40} {large / small:5.2f}  ({large:.2f} s / {small:.2f} s)")


def mondays(count: int) -> list[dt.date]:
    """First days of units: Mondays and the first of January."""
    days = (dt.date(2016, 1, 1) + dt.timedelta(days=number) for number in range(count * 7))
    return [day for day in days if day.weekday() == 0 or (day.month, day.day) == (1, 1)][:count]
