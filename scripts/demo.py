"""Run the demo pipeline day by day, one day twice, then a backfill, and show that rows and duplicates are right.

What is right is computed here from the seed files alone, in plain Python, so that the tables have something to be
compared with.
"""

from __future__ import annotations

import csv
import datetime as dt
import json
import os
import shutil
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from dbt.cli.main import dbtRunner

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SEEDS = Path("seeds/demo")
LANDING = Path(os.environ.get("DITTO_HOME", ".ditto")).resolve() / "landing"
DAYS = ["2024-10-05", "2024-10-06", "2024-10-07", "2024-10-08"]
STEPS = [
    *((day, "a new day") for day in DAYS),
    ("2024-10-07", "the same day again"),
    ("2024-10-06", "backfill"),
    ("2024-10-07", "backfill"),
    ("2024-10-08", "backfill"),
]
RUNS = {"a new day": "", "the same day again": " again", "backfill": " back"}
SCHEMA = os.environ.get("DITTO_SCHEMA", "ditto")

Key = tuple[str, ...]


# The tables of the demo: what to read of each, and which pattern made it.
MODELS = {
    "visits": ("insert_overwrite", "visit_id, page, visit_date"),
    "visits_weekly": ("fast_metadata_cleaner", "visit_id, page, to_date(visit_time)"),
    "devices": ("merger", "type, version, full_name"),
    "devices_exact": ("stateful_merge", "type, version, full_name"),
    "device_catalog": ("transactional_writer", "type, version, full_name"),
    "devices_published": ("proxy_view", "type, version, full_name"),
    "visits_log": ("dedup_insert", "visit_id, page, to_date(visit_time)"),
    "visit_sessions": ("keyed_idempotency", "user_id, session_started_at, pages"),
    "device_orders": ("file_ingest", "order_id, device, quantity"),
}


@dataclass
class Expected:
    """The tables as they should be, and how many rows a pipeline that only appends would have."""

    tables: dict[str, dict[Key, Key]] = field(default_factory=lambda: {name: {} for name in MODELS})
    days: set[str] = field(default_factory=set)
    written: dict[Key, str] = field(default_factory=dict)
    appended: int = 0

    def run(self, day: str) -> None:
        self.days.add(day)
        changes = [row for row in read("raw_device_changes") if row["ingested_on"] == day]
        apply(changes, self.tables["devices"])
        self.catalog(day, changes)
        # As if nothing had ever happened after this day; and what is published is of the newest day.
        self.tables["devices_exact"] = until(day)
        self.tables["devices_published"] = until(max(self.days))
        self.sessions(day)
        self.orders()
        self.appended += len(changes) + self.visits(day)

    def orders(self) -> None:
        """Every file that can be read, each content once; an order of nothing is a dead letter."""
        contents: dict[str, str] = {}
        for path in sorted(LANDING.glob("*.json"), key=lambda path: path.stat().st_mtime):
            contents.setdefault(path.read_text(), path.name)
        for text, name in contents.items():
            try:
                rows = [json.loads(line) for line in text.splitlines()]
            except ValueError:
                continue
            for row in (row for row in rows if row["quantity"] > 0):
                order = str(row["order_id"])
                self.tables["device_orders"][name, order] = (order, row["device"], str(row["quantity"]))

    def catalog(self, day: str, changes: list[dict[str, str]]) -> None:
        """Corrections after the changes of their day, in one commit; what a later day wrote stays."""
        table = self.tables["device_catalog"]
        corrections = [row for row in read("raw_device_corrections") if row["ingested_on"] == day]
        for row in changes + corrections:
            key = (row["type"], row["version"])
            if self.written.get(key, day) <= day:
                apply([row], table)
                self.written[key] = day
            if key not in table:
                self.written.pop(key, None)

    def sessions(self, day: str) -> None:
        """Visits of a user that were appended at most half an hour apart; written on the day of the last of them."""
        visits = [row for row in read("raw_visits") if row["ingested_on"] <= day]
        open_since: dict[str, list[dict[str, str]]] = {}
        for row in sorted(visits, key=lambda row: (row["appended_at"], row["visit_time"])):
            session = open_since.get(row["user_id"], [])
            apart = moment(row) - moment(session[-1]) if session else dt.timedelta(0)
            session = [*session, row] if apart <= dt.timedelta(minutes=30) else [row]
            open_since[row["user_id"]] = session
            if row["appended_at"][:10] == day:
                key = (row["user_id"], session[0]["appended_at"])
                self.tables["visit_sessions"][key] = (*key, str([visit["page"] for visit in session]))

    def visits(self, day: str) -> int:
        visits = [row for row in read("raw_visits") if row["visit_time"][:10] == day and row["state"] == "valid"]
        rows = {(row["visit_id"],): (row["visit_id"], row["page"], day) for row in visits}
        others = {key: row for key, row in self.tables["visits"].items() if row[-1] != day}
        self.tables["visits"] = others | rows
        # A Monday prepares its week anew; any other day replaces its own rows.
        monday = dt.date.fromisoformat(day).weekday() == 0
        weekly = self.tables["visits_weekly"].items()
        kept = {key: row for key, row in weekly if row[-1] < day or (row[-1] > day and not monday)}
        self.tables["visits_weekly"] = kept | rows
        # Collected today or yesterday, and not there yet.
        day_before = str(dt.date.fromisoformat(day) - dt.timedelta(days=1))
        for row in read("raw_visits"):
            if row["ingested_on"] in (day_before, day):
                entry = (row["visit_id"], row["page"], row["visit_time"][:10])
                self.tables["visits_log"].setdefault((row["visit_id"],), entry)
        return len(visits)


def moment(visit: dict[str, str]) -> dt.datetime:
    return dt.datetime.fromisoformat(visit["appended_at"])


def until(day: str) -> dict[Key, Key]:
    """The devices as they were known on this day."""
    devices: dict[Key, Key] = {}
    apply([row for row in read("raw_device_changes") if row["ingested_on"] <= day], devices)
    return devices


def apply(changes: list[dict[str, str]], table: dict[Key, Key]) -> None:
    for row in changes:
        key = (row["type"], row["version"])
        if row["is_deleted"] == "true":
            table.pop(key, None)
        else:
            table[key] = (*key, row["full_name"])


def arrive(day: str) -> None:
    """The files of a day, into the folder that device_orders reads: new ones, copies, corrections, a broken one."""
    for path in sorted((SEEDS / "landing" / day).glob("*.json")):
        shutil.copy(path, LANDING / path.name)


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


def spark() -> SparkSession:
    """The session that dbt has started."""
    from pyspark.sql import SparkSession

    return SparkSession.builder.getOrCreate()


def hurry() -> None:
    """A handful of rows: to compile a query takes longer than to interpret it."""
    for name, value in {"wholeStage": "false", "factoryMode": "NO_CODEGEN"}.items():
        spark().conf.set(f"spark.sql.codegen.{name}", value)
    spark().conf.set("spark.sql.adaptive.enabled", "false")


def query(sql: str) -> list[Key]:
    rows = spark().sql(sql.replace("{schema}", SCHEMA)).collect()
    return [tuple("" if value is None else str(value) for value in row) for row in rows]


def is_there(table: str) -> bool:
    return any(name == table for _, name, _ in query("show tables in {schema}"))


@dataclass
class Comparison:
    rows: int
    duplicates: int
    right: bool


def compare(name: str, expected: Expected) -> Comparison:
    found = sorted(query(f"select {MODELS[name][1]} from {{schema}}.{name}"))
    return Comparison(len(found), len(found) - len(set(found)), found == sorted(expected.tables[name].values()))


def published() -> set[str]:
    """The days of devices_published that an earlier demo has left."""
    relation = "relation = lower('{schema}.devices_published')"
    query_days = f"select cast(to_date(execution_time) as string) from {{schema}}.ditto_state where {relation}"
    return {day for (day,) in query(query_days)} if is_there("ditto_state") else set()


def executions() -> dict[str, str]:
    """How each execution of devices_exact stands: `version 3, live`."""
    columns = "cast(to_date(execution_time) as string), delta_table_version, status"
    rows = query(f"select {columns} from {{schema}}.ditto_state where relation = lower('{{schema}}.devices_exact')")
    return {day: f"version {version}, {status}" for day, version, status in rows}


def summary(results: dict[str, list[Comparison]]) -> list[Key]:
    """One line for each table, one column for each run."""
    table: list[Key] = [("table", "pattern", *(f"{day[5:]}{RUNS[what]}" for day, what in STEPS), "duplicates", "")]
    for name, runs in results.items():
        cells = [f"{run.rows}{'' if run.right else ' !'}" for run in runs]
        verdict = "right" if all(run.right for run in runs) else "WRONG"
        table.append((name, MODELS[name][0], *cells, str(max(run.duplicates for run in runs)), verdict))
    return table


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
    hurry()
    # What was published stays published, also when the demo runs again.
    expected = Expected(days=published())
    results: dict[str, list[Comparison]] = {name: [] for name in MODELS}
    backfill: list[tuple[str, dict[str, str]]] = []
    shutil.rmtree(LANDING, ignore_errors=True)
    LANDING.mkdir(parents=True)
    for number, (day, what) in enumerate(STEPS):
        if what == "a new day":
            arrive(day)
        again = ["--full-refresh"] if number == 0 and is_there("devices") else []
        # A full refresh loads the files that are there; of those that an earlier demo had loaded, some are not.
        given = {"execution_date": day, "ditto_forget_files": bool(again)}
        seconds = dbt("run", "--vars", json.dumps(given), *again)
        print(f"  {seconds:5.1f} s  dbt run --vars '{{execution_date: {day}}}'{' --full-refresh' if again else ''}")
        expected.run(day)
        for name in MODELS:
            results[name].append(compare(name, expected))
        if what == "backfill" or STEPS[number + 1][1] == "backfill":
            backfill.append((f"after the backfill of {day}" if what == "backfill" else "before", executions()))
    print(f"  {dbt('test'):5.1f} s  dbt test")

    show("Rows after each run, compared with what the source files say:", summary(results))
    print(
        "\n  10-07 is a Monday: it begins its week of visits_weekly anew."
        "\n  devices_published shows the newest day, also while earlier ones are replayed."
        "\n  device_orders: a file came twice, one was corrected, one was broken on 10-07 and repaired on 10-08;"
        "\n  an order of nothing is in device_orders__dead_letters."
    )
    total = len(expected.tables["visits"]) + len(expected.tables["devices"])
    print(f"\n  A pipeline that appends would now have {expected.appended} rows instead of {total}.")
    states = [(day, *(state[day] for _, state in backfill)) for day in DAYS]
    points: Key = ("execution date", *(when for when, _ in backfill))
    show("The backfill of devices_exact, in the ledger:", [points, *states])
    print("\n  Each day is applied to the table as it was before it; the days after it are stale until they follow.")
    state = query(
        "select relation, execution_time, mode, delta_table_version, live, rows_inserted, rows_updated, rows_deleted"
        " from {schema}.ditto_state order by relation, execution_time"
    )
    columns: Key = ("relation", "execution_time", "mode", "version", "live", "inserted", "updated", "deleted")
    show(f"What the ledger says ({SCHEMA}.ditto_state):", [columns, *state])
    if not all(run.right for runs in results.values() for run in runs):
        sys.exit("\nThe tables are not what they should be. Please report this.")
    print(
        """
Try next:

  source .venv/bin/activate
  dbt run --vars '{execution_date: 2024-10-08}'     run the last day again: same rows
  dbt run --vars '{execution_date: 2024-10-09}'     a day without data: an empty slice, and the ledger knows it
  dbt run                                           what an error looks like: no date, no run
  dbt run-operation ditto_choose                    which pattern for which data?
  dbt run-operation ditto_proxy_versions --args '{model: devices_published}'
                                                    every dataset that was ever published
  dbt show --inline 'select * from ditto.ditto_files'
                                                    what became of each file
  dbt test                                          duplicates, gaps, and the ledger against the tables' history
  dbt run-operation ditto_verify                    was the ledger tampered with, or a published version?
  dbt run-operation ditto_plan --args '{model: devices_exact, execution_date: 2024-10-06}'
                                                    what would a replay do, and what would be stale after it?
  ./scripts/backfill devices_exact --from 2024-10-06 --to 2024-10-08
                                                    do it, all dates in order
  less docs/stateful_merge.md models/demo/stateful_merge/devices_exact.sql
"""
    )


if __name__ == "__main__":
    main()
