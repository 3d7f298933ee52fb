"""Much of everything: models, events in the ledger, units, versions. What a run does about them should stay the same.

Nothing here depends on a clock: the runs have to be right and to send as many statements as with little of everything.
What they take is printed, as the ratio of the medians of runs that alternate in one warm session. The sizes of the
issue: DITTO_LOAD_MODELS=300 DITTO_LOAD_EVENTS=100000 DITTO_LOAD_UNITS=1000 DITTO_LOAD_VERSIONS=2000.
"""

from __future__ import annotations

import datetime as dt
import json
import os
import shutil
import statistics
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from scripts.bench_statements import timed_statements
from tests.functional.stateful_merge.feed import folder
from tests.support import FOR_TINY_TABLES, Project, make_project, note, statements

MODELS = int(os.environ.get("DITTO_LOAD_MODELS", "40"))
EVENTS = int(os.environ.get("DITTO_LOAD_EVENTS", "20000"))
UNITS = int(os.environ.get("DITTO_LOAD_UNITS", "100"))
VERSIONS = int(os.environ.get("DITTO_LOAD_VERSIONS", "300"))
ROUNDS = int(os.environ.get("DITTO_LOAD_ROUNDS", "5"))
FEW = 10
MONDAY = dt.date(2001, 1, 1)
ROWS = "select cast(id as int) as id, date'{{ ditto.execution_date() }}' as day from range(3)"
AS_USERS_HAVE_IT = {
    "spark.sql.codegen.wholeStage": "true",
    "spark.sql.codegen.factoryMode": "FALLBACK",
    "spark.sql.adaptive.enabled": "true",
}
CONFIGS: dict[str, dict[str, Any]] = {
    "insert_overwrite": {"partition_by": "day"},
    "merger": {"unique_key": "id"},
    "stateful_merge": {"unique_key": "id"},
}
Make = Callable[..., Project]


@pytest.fixture
def make(spark: Any, tmp_path_factory: pytest.TempPathFactory) -> Make:
    """Projects that have the settings of the profile, unless those for a handful of rows are asked for."""

    def made(schema: str, settings: dict[str, Any] = AS_USERS_HAVE_IT) -> Project:
        path = tmp_path_factory.mktemp("load")
        return make_project(path, f"{schema}{time.time_ns()}", spark, settings)

    return made


def day(number: int) -> str:
    return str(dt.date(2024, 10, 7) + dt.timedelta(days=number))


def models(project: Project, count: int) -> None:
    for number in range(count):
        materialized = ("insert_overwrite", "merger")[number % 2]
        project.model(f"model_{number}", ROWS, materialized=materialized, **CONFIGS[materialized])


def seconds(project: Project, model: str, moment: str) -> float:
    return project.must_run(moment, model=model).node(model).execution_time


def compare(what: str, small: Callable[[], float], large: Callable[[], float]) -> None:
    """Turn by turn; the first turn only warms up. Where it is not flat, what grew is printed as well."""
    times = [(small(), large()) for _ in range(ROUNDS + 1)][1:]
    one, other = (statistics.median(column) for column in zip(*times, strict=True))
    print(f"\n  {what:<64} {other / one:5.2f}  ({other:.2f} s / {one:.2f} s)", flush=True)
    note("load", what=what, small=round(one, 3), large=round(other, 3), ratio=round(other / one, 2))
    grown: list[dict[str, float]] = []
    for run in (small, large):
        with timed_statements() as spent:
            run()
        grown.append({f"{number:2} {text}": took for number, (text, took) in enumerate(spent)})
    for text in grown[1]:
        if grown[1][text] > grown[0].get(text, 0) + 0.05:
            print(f"      {grown[0].get(text, 0):6.2f} s -> {grown[1][text]:6.2f} s  {text}", flush=True)


def same_statements(small: Callable[[], float], large: Callable[[], float], more: int = 0) -> None:
    counts = []
    for run in (small, large):
        with statements() as sent:
            run()
        counts.append(len(sent))
    assert counts[0] + more == counts[1], counts


def add_events(project: Project, source: str, count: int, **changed: str) -> None:
    """`count` events like the last outcome of a model; `changed` says which columns are others, by the number `n`."""
    names = project.spark.table(f"{project.schema}.ditto_ledger").columns
    columns = ", ".join(changed.get(name, f"`{name}`") for name in names)
    outcome = f"where relation = '{{schema}}.{source}' and event = 'committed' limit 1"
    project.sql(
        f"insert into {{schema}}.ditto_ledger select {columns} from (select * from {{schema}}.ditto_ledger {outcome}) "
        f"lateral view explode(sequence(1, {count})) as n"
    )


@pytest.mark.slow
@pytest.mark.parametrize("materialized", ["insert_overwrite", "stateful_merge"])
def test_a_ledger_with_many_events(make: Make, materialized: str) -> None:
    """The events of 300 other models, in no order: a run reads its own among them."""
    projects = [make("few"), make("many")]
    for project in projects:
        project.model("mine", ROWS, materialized=materialized, **CONFIGS[materialized])
        project.must_run(day(0))
    add_events(
        projects[1], "mine", EVENTS,
        event_id="sha1(string(n))",
        relation="concat(substring_index(relation, '.', 1), '.model_', n % 300)",
        execution_time="execution_time + make_dt_interval(n div 600)",
        event="if((n div 300) % 2 = 0, 'started', 'committed')",
        seq="n div 300 + 1",
        token="n div 600 + 1",
        version="n div 600",
        base_version="n div 600 - 1",
        invocation_id="sha1(string(n div 600))",
        hash="sha2(string(n), 256)",
    )  # fmt: skip
    (events,) = projects[1].sql("select count(*) from {schema}.ditto_ledger")[0]
    assert events > EVENTS
    small, large = (lambda each=each: seconds(each, "mine", day(1)) for each in projects)
    compare(f"{materialized}: a ledger of {EVENTS:,} events / a new one", small, large)
    same_statements(small, large)
    assert projects[0].rows("mine") == projects[1].rows("mine")
    assert projects[1].states("mine") == {f"{day(number)} 00:00:00": "live" for number in (0, 1)}


@pytest.mark.slow
def test_many_models_in_one_project(make: Make) -> None:
    """All of them run on four threads, and all are live in the ledger; what one takes does not depend on the others."""

    def run(count: int) -> float:
        project = make(f"m{count}_", FOR_TINY_TABLES)
        models(project, count)
        outcome = project.must_run(day(0), "--threads", "4")
        assert len(outcome.nodes) == count
        states = project.sql("select status, count(distinct relation) from {schema}.ditto_state group by status")
        assert states == [("live", count)]
        for number in (0, count - 1):
            assert len(project.rows(f"model_{number}")) == 3
        assert project.dbt("run-operation", "ditto_verify").ok
        return outcome.result.result.elapsed_time / count

    run(FEW)
    many = run(MODELS)
    few = run(20)
    what = f"each of {MODELS} models in one run, four threads / each of 20"
    print(f"\n  {what:<64} {many / few:5.2f}  ({many:.2f} s / {few:.2f} s)", flush=True)
    note("load", what=what, small=round(few, 3), large=round(many, 3), ratio=round(many / few, 2))


def copy_units(project: Project, weeks: list[dt.date]) -> None:
    """Units like the first one, as ditto makes them. Their files are copied: quicker than a thousand writes."""
    first = f"units__w{weeks[0]:%Y%m%d}"
    source = folder(project, first)

    def copy(week: dt.date) -> None:
        name = f"units__w{week:%Y%m%d}"
        target = source.with_name(name)
        shutil.copytree(source, target)
        for commit in (target / "_delta_log").glob("*.json"):
            commit.write_text(commit.read_text().replace(f"{weeks[0]} 00:00:00", f"{week} 00:00:00"))
            commit.with_name(f".{commit.name}.crc").unlink(missing_ok=True)
        for checksum in (target / "_delta_log").glob("*.crc"):
            checksum.unlink()
        project.spark.sql(f"create table {project.schema}.{name} using delta location '{target}'")

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(copy, weeks[1:]))
    add_events(
        project, "units", len(weeks) - 1,
        event_id="sha1(string(n))",
        execution_time="execution_time + make_dt_interval(7 * n)",
        seq="seq + 2 * n",
        token="token + n",
        unit=f"replace(unit, '{weeks[0]:%Y%m%d}', date_format(execution_time + make_dt_interval(7 * n), 'yyyyMMdd'))",
        undoes_until="undoes_until + make_dt_interval(7 * n)",
    )  # fmt: skip


def view_texts(project: Project) -> list[dict[str, str]]:
    """Of the model's view and of those below it: to ask the view itself would open all units."""
    names = [row[1] for row in project.sql("show views in {schema} like 'units*'")]
    described = (project.sql(f"describe extended {{schema}}.{name}") for name in names)
    return [{row[0]: row[1] for row in rows} for rows in described]


@pytest.mark.slow
def test_many_units(make: Make) -> None:
    """A slice of the newest week, where the view has many units and where it has ten."""
    runs = []
    for count in (FEW, UNITS):
        project = make(f"u{count}_")
        project.model("units", ROWS, materialized="fast_metadata_cleaner", granularity="week", max_units=4000)
        weeks = [MONDAY + dt.timedelta(days=7 * number) for number in range(count)]
        project.must_run(str(weeks[0]))
        copy_units(project, weeks)
        newest = weeks[-1] + dt.timedelta(days=1)
        project.must_run(str(newest))
        shown = "\n".join(row["View Text"] for row in view_texts(project))
        assert shown.count("__w") == count
        assert project.sql(f"select count(*) from {{schema}}.units__w{weeks[-1]:%Y%m%d}") == [(6,)]
        assert {state for _, state in project.states("units").items()} == {"live"}
        runs.append(lambda project=project, moment=str(newest): seconds(project, "units", moment))
    compare(f"fast_metadata_cleaner: a slice with {UNITS} units / with {FEW}", *runs)
    # The views below that of the model, however many, are read in one statement.
    same_statements(*runs, more=int(len(view_texts(project)) > 1))


def add_versions(project: Project, name: str, versions: int) -> None:
    """Commits that change a property, as ALTER TABLE writes them, and an execution in the ledger for each."""
    project.sql(f"alter table {{schema}}.{name} set tblproperties ('round' = '1')")
    head = project.versions(name)
    log = folder(project, name) / "_delta_log"
    lines = [json.loads(line) for line in commit_of(log, head).read_text().splitlines()]
    for version in range(head + 1, versions):
        for line in lines:
            if "commitInfo" in line:
                line["commitInfo"]["readVersion"] = version - 1
                line["commitInfo"]["timestamp"] += 1
        commit_of(log, version).write_text("".join(json.dumps(line) + "\n" for line in lines))
    project.spark._jvm.org.apache.spark.sql.delta.DeltaLog.clearCache()
    add_events(
        project, name, versions - 2 - head,
        event_id="sha1(string(n))",
        execution_time="execution_time + make_dt_interval(n)",
        seq="seq + 2 * n",
        token="token + n",
        version=f"{head} + n",
        # As if each had changed nothing: who made its version is not asked then.
        base_version=f"{head} + n",
        invocation_id="sha1(string(n))",
    )  # fmt: skip
    assert project.versions(name) == versions - 1


def commit_of(log: Path, version: int) -> Path:
    return log / f"{version:020}.json"


@pytest.mark.slow
@pytest.mark.parametrize("materialized", ["merger", "stateful_merge"])
def test_a_table_of_many_versions(make: Make, materialized: str) -> None:
    """As many executions as versions: a run, and a backfill of the last one, find what they need at the end of both."""
    runs = []
    for count in (FEW, VERSIONS):
        project = make(f"v{count}_")
        project.model("versions", ROWS, materialized=materialized, **CONFIGS[materialized])
        project.must_run(day(0))
        add_versions(project, "versions", count)
        moment = day(count)
        project.must_run(moment)
        assert [row[1] for row in project.rows("versions", "id, cast(day as string)")] == [moment] * 3
        runs.append(lambda project=project, moment=moment: seconds(project, "versions", moment))
    what = "a replay" if materialized == "merger" else "a backfill"
    compare(f"{materialized}: {what}, {VERSIONS:,} versions and executions / {FEW}", *runs)
    same_statements(*runs)
