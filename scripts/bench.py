"""Ratios of what ditto takes to what the bare statement, or dbt-spark's own materialization, takes for the same rows.

Times on a shared machine mean little, ratios of two things that alternate in one warm session mean something: every
number below is the ratio of two medians over the same rounds. A model's time is the one that dbt reports for the node.
"""

from __future__ import annotations

import argparse
import datetime as dt
import os
import statistics
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Callable
from pathlib import Path

from scripts.bench_cold import cold
from scripts.bench_files import broken_files, files
from scripts.bench_statements import label, timed_statements
from scripts.bench_units import cleaning, many_units
from tests.support import ROOT, Project, make_project, new_world, statements

DAY = "2024-10-07"
PAYLOAD = "id % 1000 as user_id, concat('page ', id % 77) as page, cast(id % 997 as double) / 7 as score"

# goal, contender, reference
PAIRS = {
    "insert_overwrite / bare REPLACE WHERE": (1.25, "ditto_overwrite", "bare_overwrite"),
    "insert_overwrite / dbt-spark insert_overwrite": (1.0, "ditto_overwrite", "dbt_overwrite"),
    "merger / bare MERGE": (1.1, "ditto_merge", "bare_merge"),
    "merger / dbt-spark merge": (1.0, "ditto_merge", "dbt_merge"),
}
STATEFUL_PAIRS = {
    "stateful_merge, normal / bare MERGE": (1.15, "stateful_normal", "bare_normal"),
    "stateful_merge, backfill / bare RESTORE + MERGE": (1.2, "stateful_backfill", "bare_backfill"),
}


class Bench:
    """One project, one Spark session, tables of `size` rows."""

    def __init__(self, project: Project, size: int, changed: float) -> None:
        self.project = project
        self.size = size
        self.changes = max(1, int(size * changed))
        self.times: dict[str, list[float]] = defaultdict(list)

    def prepare(self) -> None:
        """Sources, the six tables with the same rows, and the models."""
        sql = self.project.spark.sql
        schema = self.project.schema
        sql(f"create schema if not exists {schema}")
        rows = f"select id, {PAYLOAD}, date'{DAY}' as day from range({self.size})"
        sql(f"create table {schema}.visits using delta as {rows}")
        step = max(1, self.size // self.changes)
        sql(
            f"create table {schema}.changes using delta as "
            f"select id * {step} as id, 'new' as page, cast(0.5 as double) as score from range({self.changes})"
        )
        overwrite = "select * from {{ target.schema }}.visits where day = date'{{ ditto.execution_date() }}'"
        merge = "select * from {{ target.schema }}.changes"
        project = self.project
        project.model("ditto_overwrite", overwrite, materialized="insert_overwrite", partition_by="day")
        project.model("ditto_merge", merge, materialized="merger", unique_key="id")
        incremental = {"materialized": "incremental", "file_format": "delta"}
        project.model(
            "dbt_overwrite", overwrite, **incremental, incremental_strategy="insert_overwrite", partition_by="day"
        )
        project.model("dbt_merge", merge, **incremental, incremental_strategy="merge", unique_key="id")
        whole = f"select id, cast(id as string) as page, cast(id as double) as score from range({self.size})"
        for name in ("ditto_merge", "bare_merge", "dbt_merge"):
            vectors = "tblproperties ('delta.enableDeletionVectors' = 'true')" if name != "dbt_merge" else ""
            sql(f"create table {schema}.{name} using delta {vectors} as {whole}")
        sql(f"create table {schema}.bare_overwrite using delta partitioned by (day) as select * from {schema}.visits")
        for name in ("ditto_overwrite", "dbt_overwrite", "ditto_merge", "dbt_merge"):
            self.model(name)

    def model(self, name: str, day: str = DAY) -> float:
        outcome = self.project.run(day, model=name)
        if not outcome.ok:
            raise SystemExit(outcome.text)
        return outcome.node(name).execution_time

    def bare(self, sql: str) -> float:
        started = time.perf_counter()
        self.project.sql(sql)
        return time.perf_counter() - started

    def contenders(self) -> dict[str, Callable[[], float]]:
        slice_of_day = f"replace where day = date'{DAY}' select * from {{schema}}.visits"
        replace = f"insert into {{schema}}.bare_overwrite {slice_of_day}"
        merge = (
            "merge into {schema}.bare_merge as target using {schema}.changes as source on target.id <=> source.id "
            "when matched then update set page = source.page, score = source.score when not matched then insert *"
        )
        return {
            "bare_overwrite": lambda: self.bare(replace),
            "ditto_overwrite": lambda: self.model("ditto_overwrite"),
            "dbt_overwrite": lambda: self.model("dbt_overwrite"),
            "bare_merge": lambda: self.bare(merge),
            "ditto_merge": lambda: self.model("ditto_merge"),
            "dbt_merge": lambda: self.model("dbt_merge"),
        }

    def prepare_stateful(self) -> None:
        """The same rows for stateful_merge, which starts from them, and for the bare statements."""
        schema, project = self.project.schema, self.project
        project.model(
            "stateful",
            "select * from {{ target.schema }}.changes",
            materialized="stateful_merge",
            unique_key="id",
            existing_rows="keep",
        )
        project.sql(f"create schema if not exists {schema}")
        step = max(1, self.size // self.changes)
        project.sql(
            f"create or replace table {schema}.changes using delta as "
            f"select id * {step} as id, 'new' as page, cast(0.5 as double) as score from range({self.changes})"
        )
        whole = f"select id, cast(id as string) as page, cast(id as double) as score from range({self.size})"
        for name in ("stateful", "bare_stateful"):
            vectors = "tblproperties ('delta.enableDeletionVectors' = 'true')"
            project.sql(f"create table {schema}.{name} using delta {vectors} as {whole}")
        self.day = dt.date(2024, 1, 1)

    def stateful_contenders(self) -> dict[str, Callable[[], float]]:
        """A backfill replays the day that the normal run before it added."""

        def run(days: int) -> float:
            self.day += dt.timedelta(days=days)
            outcome = self.project.run(str(self.day), model="stateful")
            if not outcome.ok:
                raise SystemExit(outcome.text)
            return outcome.node("stateful").execution_time

        table = f"{self.project.schema}.bare_stateful"
        merge = (
            f"merge into {table} as target using {{schema}}.changes as source on target.id <=> source.id "
            "when matched then update set page = source.page, score = source.score when not matched then insert *"
        )
        return {
            "bare_normal": lambda: self.bare(merge),
            "stateful_normal": lambda: run(1),
            "bare_backfill": lambda: (
                self.bare(f"restore table {table} to version as of {self.project.versions('bare_stateful') - 1}")
                + self.bare(merge)
            ),
            "stateful_backfill": lambda: run(0),
        }

    def measure(self, rounds: int, contenders: dict[str, Callable[[], float]]) -> None:
        """Round after round, each contender once; the first round only warms up."""
        for number in range(rounds + 1):
            for name, run in contenders.items():
                seconds = run()
                if number > 0:
                    self.times[name].append(seconds)
            print(f"  round {number} of {rounds}{' (warm-up)' if number == 0 else ''}", flush=True)

    def report(self, pairs: dict[str, tuple[float, str, str]]) -> None:
        print(f"\nAt {self.size:,} rows, {self.changes:,} changed by the merges. Medians; ratio of medians:\n")
        for title, (goal, contender, reference) in pairs.items():
            mine, other = statistics.median(self.times[contender]), statistics.median(self.times[reference])
            verdict = "reached" if mine / other <= goal else "missed"
            print(f"  {title:<48} {mine / other:5.2f}  goal {goal:.2f} {verdict:<8} ({mine:.2f} s / {other:.2f} s)")

    def least(self, rounds: int, reference: str, appends: int) -> None:
        """What a ledger in Delta costs however it is written: bare statements on a table of a few rows."""
        table = f"{self.project.schema}.bare_ledger"
        self.bare(f"create or replace table {table} using delta as select 1 as id")
        statements = {
            "append": f"insert into {table} values (1)",
            "read": f"select max(id) from {table}",
            "history": f"describe history {table} limit 1",
        }
        took: dict[str, list[float]] = defaultdict(list)
        for _ in range(rounds + 1):
            for name, sql in statements.items():
                took[name].append(self.bare(sql))
        median = {name: statistics.median(times[1:]) for name, times in took.items()}
        # Read what was done, append what is done, look what the table's history makes of it.
        least = median["read"] + appends * (median["append"] + median["history"])
        other = statistics.median(self.times[reference])
        each = ", ".join(f"{name} {seconds:.2f} s" for name, seconds in median.items())
        print(f"\nBare statements on a table of a few rows, of which the ledger's are made: {each}.")
        print(f"One read and {appends} of the others: {least:.2f} s, alone a ratio of {1 + least / other:.2f}.")

    def where_time_goes(self, name: str, day: str = DAY) -> None:
        with timed_statements() as spent:
            total = self.model(name, day)
        print(f"\nWhat one run of {name} spends ({total:.2f} s):\n")
        for what, seconds in [*spent, ("dbt and Jinja", total - sum(seconds for _, seconds in spent))]:
            print(f"  {seconds:6.2f} s  {what}")


def planning_over_time(project: Project) -> None:
    """What a plan takes with 10 and with 400 executions in the ledger, and as many versions of the table."""
    counts = {"short": 10, "long": 400}
    first = dt.date(2024, 1, 1)
    print(f"\nMaking {counts['long']} executions and versions ...", flush=True)
    for name, count in counts.items():
        project.model(name, "select id, 'x' as v from range(3)", materialized="stateful_merge", unique_key="id")
        if not project.run(str(first), model=name).ok:
            raise SystemExit(f"the first run of {name} failed")
        grow(project, name, count)
    times: dict[str, list[float]] = defaultdict(list)
    for number in range(8):
        for name, count in counts.items():
            # A run of the next execution, then one of the same again: a normal one and a backfill.
            for mode in ("normal", "backfill"):
                times[f"{mode} {name}"].append(planned(project, name, str(first + dt.timedelta(days=count + number))))
    print("\nPlanning a run: all that it asks before its first write.\n")
    for mode in ("normal", "backfill"):
        short, long = (statistics.median(times[f"{mode} {name}"][1:]) for name in counts)
        ratio = f"{long / short:5.2f}  ({long:.2f} s / {short:.2f} s)"
        print(f"  {mode + ', 400 executions / 10':<48} {ratio}")


def planned(project: Project, name: str, day: str) -> float:
    """The seconds of a run that went into statements before the one that claims the lease."""
    with timed_statements() as spent:
        outcome = project.run(day, model=name)
    if not outcome.ok:
        raise SystemExit(outcome.text)
    claim = next(number for number, (text, _) in enumerate(spent) if text.startswith("script: insert into"))
    return sum(seconds for _, seconds in spent[:claim])


def grow(project: Project, name: str, executions: int) -> None:
    """Executions 2 to n after the model of the first one: real runs of 400 would take longer than the benchmark."""
    for number in range(1, executions):
        project.sql(f"alter table {{schema}}.{name} set tblproperties ('round' = '{number}')")
    changed = {
        "event_id": "concat(event_id, n)",
        "execution_time": "execution_time + make_dt_interval(n)",
        "seq": "seq + 2 * n",
        "token": "token + n",
        "version": "version + n",
        # As if each had changed nothing: who made its version is not asked then.
        "base_version": "version + n",
    }
    names = project.spark.table(f"{project.schema}.ditto_ledger").columns
    project.sql(
        f"insert into {{schema}}.ditto_ledger select {', '.join(changed.get(name, f'`{name}`') for name in names)} "
        f"from {{schema}}.ditto_ledger lateral view explode(sequence(1, {executions - 1})) as n "
        f"where relation = '{{schema}}.{name}' and event = 'committed'"
    )


def count_statements(project: Project) -> None:
    """How many statements each model sends, by mode, on a handful of rows; dbt's own listings left out."""
    project.model(
        "slices",
        "select id, date'{{ ditto.execution_date() }}' as day from range(3)",
        materialized="insert_overwrite",
        partition_by="day",
        **{"mode": "predicate"},
    )
    sql = (project.path / "models" / "slices.sql").read_text()
    variants = {
        "insert_overwrite predicate": sql,
        "insert_overwrite partitions": sql.replace("'predicate'", "'partitions'"),
        "insert_overwrite table": sql.replace("'predicate'", "'table'"),
        "insert_overwrite delete_insert": sql.replace("'predicate'", "'delete_insert'"),
        "insert_overwrite parquet": sql.replace("mode='predicate'", "file_format='parquet'"),
        "merger": "{{ config(materialized='merger', unique_key='id') }} select id, 'x' as v from range(3)",
        "merger sequence_by, soft_delete": "{{ config(materialized='merger', unique_key='id', soft_delete='gone', "
        "sequence_by='id') }} select id, false as gone from range(3)",
        "stateful_merge": "{{ config(materialized='stateful_merge', unique_key='id') }} "
        "select id, 'x' as v from range(3)",
        "stateful_merge, readers: pinned": "{{ config(materialized='stateful_merge', unique_key='id', "
        "readers='pinned') }} select id, 'x' as v from range(3)",
        "stateful_merge, versioning: history": "{{ config(materialized='stateful_merge', unique_key='id', "
        "versioning='history') }} select id, 'x' as v from range(3)",
        "fast_metadata_cleaner": "{{ config(materialized='fast_metadata_cleaner') }} select id, 'x' as v from range(3)",
        "dbt-spark insert_overwrite": "{{ config(materialized='incremental', incremental_strategy='insert_overwrite', "
        "file_format='delta', partition_by='day') }} select id, date'2024-10-07' as day from range(3)",
        "dbt-spark merge": "{{ config(materialized='incremental', incremental_strategy='merge', file_format='delta', "
        "unique_key='id') }} select id, 'x' as v from range(3)",
    }
    print(f"\n{'Statements that a model sends':<38} {'first':>6} {'normal':>7} {'replay':>7} {'full refresh':>13}\n")
    for number, (title, text) in enumerate(variants.items()):
        project.write({"models/slices.sql": text.replace("config(", f"config(alias='slices_{number}', ")})
        counts = []
        days = ("2024-10-07", "2024-10-08", "2024-10-08", "2024-10-08")
        for day, flags in zip(days, ((), (), (), ("--full-refresh",)), strict=True):
            with statements() as sent:
                outcome = project.run(day, *flags, model="slices")
            if not outcome.ok:
                raise SystemExit(outcome.text)
            counts.append(len(sent) - own_statements(sent))
        print(f"  {title:<36} {counts[0]:>6} {counts[1]:>7} {counts[2]:>7} {counts[3]:>13}", flush=True)


def own_statements(sent: list[str]) -> int:
    """dbt lists databases and relations, and makes the schema, before the first model runs."""
    kinds = Counter(label(sql)[:20] for sql in sent)
    return kinds["show databases"] + kinds["show table extended "] + kinds["create schema if not"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", type=int, default=1_000_000, help="rows of each table (default: a million)")
    parser.add_argument("--changed", type=float, default=0.01, help="share that a merge changes (default: 0.01)")
    parser.add_argument("--rounds", type=int, default=7, help="measured rounds (default: 7)")
    parser.add_argument("--stateful-size", type=int, default=5_000_000, help="rows for stateful_merge (5 million)")
    parser.add_argument("--unit-size", type=int, default=10_000_000, help="rows of the larger unit (10 million)")
    parser.add_argument("--units", type=int, default=400, help="units of one view (default: 400)")
    parser.add_argument("--files", type=int, default=5_000, help="small files for file_ingest (default: 5,000)")
    parser.add_argument("--large-file", type=int, default=200, help="megabytes of its large file (default: 200)")
    parts = ["cold", "kernel", "stateful", "units", "files", "plan", "statements"]
    parser.add_argument("--only", choices=parts, help="one part of it")
    options = parser.parse_args()

    with tempfile.TemporaryDirectory(prefix="ditto-bench-", ignore_cleanup_errors=True) as folder:
        os.environ["DITTO_HOME"] = str(new_world(Path(folder) / "home"))
        os.chdir(ROOT)
        if options.only in (None, "cold"):
            # Before this process has a Spark of its own.
            cold(Path(folder) / "cold", min(options.rounds, 3))
        if options.only == "cold":
            return
        (Path(folder) / "project").mkdir()
        project = make_project(Path(folder) / "project", "bench", spark=None)
        if not project.dbt("debug", "--connection").ok:
            raise SystemExit("Spark did not start; dbt debug says why.")
        from pyspark.sql import SparkSession

        project.spark = SparkSession.builder.getOrCreate()
        if options.only in (None, "kernel"):
            bench = Bench(project, options.size, options.changed)
            print(f"Making the tables ({options.size:,} rows each) ...", flush=True)
            bench.prepare()
            bench.measure(options.rounds, bench.contenders())
            bench.report(PAIRS)
            bench.least(options.rounds, "bare_merge", appends=1)
            bench.where_time_goes("ditto_overwrite")
            bench.where_time_goes("ditto_merge")
        if options.only in (None, "stateful"):
            bench = Bench(project, options.stateful_size, options.changed)
            print(f"\nMaking the tables ({options.stateful_size:,} rows each) ...", flush=True)
            bench.prepare_stateful()
            bench.measure(options.rounds, bench.stateful_contenders())
            bench.report(STATEFUL_PAIRS)
            bench.least(options.rounds, "bare_normal", appends=2)
            bench.where_time_goes("stateful", str(bench.day))
        if options.only in (None, "units"):
            cleaning(project, options.unit_size, options.rounds)
            many_units(project, options.units, options.rounds)
        if options.only in (None, "files"):
            files(project, options.files, options.large_file)
            broken_files(project, options.files // 5)
        if options.only in (None, "plan"):
            planning_over_time(project)
        if options.only in (None, "statements"):
            count_statements(project)


if __name__ == "__main__":
    main()
