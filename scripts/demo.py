"""Run the demo pipeline day by day, one day twice, then a backfill, and show that rows and duplicates are right.

What is right is computed here from the seed files alone, in plain Python, so that the tables have something to be
compared with.
"""

from __future__ import annotations

import csv
import datetime as dt
import itertools
import os
import sys
import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from dbt.cli.main import dbtRunner

SEEDS = Path("seeds/demo")
DAYS = ["2024-10-05", "2024-10-06", "2024-10-07", "2024-10-08"]
STEPS = [
    *((day, "a new day") for day in DAYS),
    ("2024-10-07", "the same day again"),
    ("2024-10-06", "backfill"),
    ("2024-10-07", "backfill"),
    ("2024-10-08", "backfill"),
]
SCHEMA = os.environ.get("DITTO_SCHEMA", "ditto")

Key = tuple[str, ...]


@dataclass
class Expected:
    """The tables as they should be, and how many rows a pipeline that only appends would have."""

    visits: dict[Key, Key] = field(default_factory=dict)
    weekly: dict[Key, Key] = field(default_factory=dict)
    devices: dict[Key, Key] = field(default_factory=dict)
    exact: dict[Key, Key] = field(default_factory=dict)
    appended: int = 0

    def run(self, day: str) -> None:
        visits = [row for row in read("raw_visits") if row["visit_time"][:10] == day and row["state"] == "valid"]
        self.visits = {key: row for key, row in self.visits.items() if row[-1] != day}
        # A Monday prepares its week anew; any other day replaces its own rows.
        monday = dt.date.fromisoformat(day).weekday() == 0
        self.weekly = {key: row for key, row in self.weekly.items() if row[-1] < day or (row[-1] > day and not monday)}
        for row in visits:
            self.visits[(row["visit_id"],)] = (row["visit_id"], row["page"], day)
            self.weekly[(row["visit_id"],)] = (row["visit_id"], row["page"], day)
        changes = [row for row in read("raw_device_changes") if row["ingested_on"] == day]
        apply(changes, self.devices)
        # As if nothing had ever happened after this day.
        self.exact = {}
        apply([row for row in read("raw_device_changes") if row["ingested_on"] <= day], self.exact)
        self.appended += len(visits) + len(changes)


def apply(changes: list[dict[str, str]], table: dict[Key, Key]) -> None:
    for row in changes:
        key = (row["type"], row["version"])
        if row["is_deleted"] == "true":
            table.pop(key, None)
        else:
            table[key] = (*key, row["full_name"])


def read(seed: str) -> list[dict[str, str]]:
    with (SEEDS / f"{seed}.csv").open(newline="") as file:
        return list(csv.DictReader(file))


def dbt(*arguments: str) -> float:
    """One dbt command in this process, so that all of them share one Spark session. Returns the seconds it took."""
    started = time.monotonic()
    result = dbtRunner().invoke(["--quiet", "--log-level", "none", *arguments])
    if not result.success:
        messages = [str(node.message) for node in getattr(result.result, "results", []) or []]
        sys.exit("\n".join(["", *messages, str(result.exception or ""), "The demo stopped: the command above failed."]))
    return time.monotonic() - started


def query(sql: str) -> list[Key]:
    from pyspark.sql import SparkSession

    rows = SparkSession.builder.getOrCreate().sql(sql.replace("{schema}", SCHEMA)).collect()
    return [tuple("" if value is None else str(value) for value in row) for row in rows]


def is_there(table: str) -> bool:
    return any(name == table for _, name, _ in query("show tables in {schema}"))


def compare(rows: Iterable[Key], expected: Iterable[Key]) -> str:
    found = sorted(rows)
    duplicates = len(found) - len(set(found))
    verdict = "right" if found == sorted(expected) else "WRONG"
    return f"{len(found):>3} rows, {duplicates} duplicates: {verdict}"


def executions() -> dict[str, str]:
    """How each execution of devices_exact stands: `version 3, live`."""
    columns = "cast(to_date(execution_time) as string), delta_table_version, status"
    rows = query(f"select {columns} from {{schema}}.ditto_state where relation = lower('{{schema}}.devices_exact')")
    return {day: f"version {version}, {status}" for day, version, status in rows}


def show(title: str, rows: list[Key]) -> None:
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    print(f"\n{title}\n")
    for number, row in enumerate(rows):
        print("  " + "  ".join(value.ljust(width) for value, width in zip(row, widths, strict=True)).rstrip())
        if number == 0:
            print("  " + "  ".join("─" * width for width in widths))


def main() -> None:
    print("ditto: the same pipeline, run on time, twice and late. Spark starts first (about half a minute).\n")
    print(f"  {dbt('seed', '--full-refresh'):5.1f} s  dbt seed")
    expected = Expected()
    table: list[Key] = [("execution date", "what", "visits", "visits_weekly", "devices", "devices_exact")]
    backfill: list[tuple[str, dict[str, str]]] = []
    for number, (day, what) in enumerate(STEPS):
        again = ["--full-refresh"] if number == 0 and is_there("devices") else []
        seconds = dbt("run", "--vars", f"{{execution_date: {day}}}", *again)
        print(f"  {seconds:5.1f} s  dbt run --vars '{{execution_date: {day}}}'{' --full-refresh' if again else ''}")
        expected.run(day)
        visits = compare(query("select visit_id, page, visit_date from {schema}.visits"), expected.visits.values())
        week = "select visit_id, page, to_date(visit_time) from {schema}.visits_weekly"
        weekly = compare(query(week), expected.weekly.values())
        devices = compare(query("select type, version, full_name from {schema}.devices"), expected.devices.values())
        exact = compare(query("select type, version, full_name from {schema}.devices_exact"), expected.exact.values())
        table.append((day, what, visits, weekly, devices, exact))
        if what == "backfill" or STEPS[number + 1][1] == "backfill":
            backfill.append((f"after the backfill of {day}" if what == "backfill" else "before", executions()))
    print(f"  {dbt('test'):5.1f} s  dbt test")

    show("After each run, compared with what the source files say:", table)
    print(
        "\n  visits: insert_overwrite; visits_weekly: fast_metadata_cleaner, where a Monday begins its week anew;"
        "\n  devices: merger; devices_exact: stateful_merge"
    )
    total = len(expected.visits) + len(expected.devices)
    print(f"\n  A pipeline that appends would now have {expected.appended} rows instead of {total}.")
    states = [(day, *(state[day] for _, state in backfill)) for day in DAYS]
    points: Key = ("execution date", *(when for when, _ in backfill))
    show("The backfill of devices_exact, in the ledger:", [points, *states])
    print("\n  Each day is applied to the table as it was before it; the days after it are stale until they follow.")
    state = query(
        "select relation, execution_time, mode, delta_table_version, live, rows_inserted, rows_updated, rows_deleted"
        " from {schema}.ditto_state order by relation, execution_time"
    )
    head: Key = ("relation", "execution_time", "mode", "version", "live", "inserted", "updated", "deleted")
    show(f"What the ledger says ({SCHEMA}.ditto_state):", [head, *state])
    if any("WRONG" in cell for cell in itertools.chain.from_iterable(table)):
        sys.exit("\nThe tables are not what they should be. Please report this.")
    print(
        """
Try next:

  source .venv/bin/activate
  dbt run --vars '{execution_date: 2024-10-08}'     run the last day again: same rows
  dbt run --vars '{execution_date: 2024-10-09}'     a day without data: an empty slice, and the ledger knows it
  dbt run                                           what an error looks like: no date, no run
  dbt test                                          duplicates, gaps, and the ledger against the tables' history
  dbt run-operation ditto_verify                    was the ledger tampered with?
  dbt run-operation ditto_plan --args '{model: devices_exact, execution_date: 2024-10-06}'
                                                    what would a replay do, and what would be stale after it?
  ./scripts/backfill devices_exact --from 2024-10-06 --to 2024-10-08
                                                    do it, all dates in order
  less docs/stateful_merge.md models/demo/stateful_merge/devices_exact.sql
"""
    )


if __name__ == "__main__":
    main()
