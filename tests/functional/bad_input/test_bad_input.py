"""Bad input: every case of the table is refused in words or works; no table is changed, nothing is left unfinished."""

from __future__ import annotations

import io
import json
import os
import re
import shutil
import subprocess
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stdout
from pathlib import Path

import pytest

from tests.functional.bad_input.cases import CASES, DATES, EARLY, INCREMENTS, OPERATIONS, OPTIONS, ROWS, WORLDS, Case
from tests.support import Outcome, Project, note, statements

FIRST, SECOND, THIRD = "2024-10-07", "2024-10-08", "2024-10-09"


def problems(case: Case, text: str) -> list[tuple[str, str]]:
    """Is this what the table promises? If not, the case and what was said."""
    head, _, fix = text.partition("fix: ")
    if case.engine:
        good = case.engine in text
    else:
        form = re.search(r"found: .*expected: ", head, re.DOTALL) and "\tat " not in text
        good = form and case.found in head and case.fix in fix
    return [] if good else [(case.name, text)]


def check(case: Case, text: str) -> None:
    assert problems(case, text) == []


def held(*cases: Case) -> None:
    """For ./scripts/prove."""
    for case in cases:
        note("bad input", group=case.group, case=case.name)


def write(project: Project, case: Case, bad: bool) -> None:
    given = {**case.config, **(case.bad if bad else {})}
    project.model(case.name, case.sql if bad else case.good, materialized=case.pattern, **given)


def tables(project: Project) -> list[str]:
    return sorted(row[1] for row in project.sql("show tables in {schema}") if not row[2])


def commits(project: Project) -> dict[str, list[str]]:
    """The versions of every table of the schema, from the disk: also of one that Spark cannot read."""
    home = Path(os.environ["DITTO_HOME"]) / "warehouse" / f"{project.schema}.db"
    kept = [path for path in home.glob("*") if not path.name.startswith("ditto_") and "__candidate" not in path.name]
    return {path.name: sorted(file.name for file in path.glob("_delta_log/*.json")) for path in kept}


def unfinished(project: Project) -> list[str]:
    rows = project.sql("select relation from {schema}.ditto_state where status = 'unfinished'")
    return sorted(row[0].split(".")[1] for row in rows)


def test_the_table() -> None:
    assert len(CASES) >= 60
    assert [name for name, count in Counter(case.name for case in CASES).items() if count > 1] == []
    assert [case.name for case in CASES if not case.does and not (case.fix and (case.found or case.engine))] == []


def test_a_config_is_refused_before_any_sql(project: Project) -> None:
    for case in OPTIONS:
        write(project, case, bad=True)
    with statements() as sent:
        outcome = project.run(FIRST)
    assert [problem for case in OPTIONS for problem in problems(case, message(outcome, case.name))] == []
    # What is sent belongs to no model: dbt looks for the schema and makes it.
    assert [sql for sql in sent if '"node_id"' in sql] == []
    assert tables(project) == []
    held(*OPTIONS)


@pytest.mark.slow
def test_increments_and_the_world_around(project: Project) -> None:
    """One day on which all is well, one with every mistake, and one on which all is well again."""
    cases = [*INCREMENTS, *WORLDS]
    refused = [case for case in cases if not case.does]
    for case in [*refused, of("empty_merge"), of("empty_overwrite")]:
        write(project, case, bad=False)
    first = project.run(FIRST)
    assert first.ok, first.text
    for case in cases:
        write(project, case, bad=True)
    repairs = [ARRANGED[case.world](project, case.name) for case in WORLDS]
    clear(project)
    before, there = commits(project), tables(project)

    outcome = project.run(SECOND)
    after = commits(project)
    wrong: list[object] = []
    for case in cases:
        told = message(outcome, case.name)
        if case.does:
            good = told.startswith("OK ") and (case.rows is None or project.rows(case.name, "id, name") == [*case.rows])
            wrong += [] if good else [(case.name, told)]
        else:
            wrong += problems(case, told)
            wrong += [(case.name, table) for table in before if belongs(table, case) and after[table] != before[table]]
    assert wrong == []
    assert project.sql("select count(*), count(distinct id) from {schema}.many_rows") == [(300_000, 300_000)]
    works = [case for case in cases if case.does]
    assert [
        name for name in tables(project) if name not in there and not any(belongs(name, case) for case in works)
    ] == [f"{case.name}__candidate" for case in cases if case.name == "audit_failed"]
    assert unfinished(project) == []

    for repair in repairs:
        repair()
    clear(project)
    for case in refused:
        write(project, case, bad=False)
    last = project.run(THIRD, "--select", *(case.name for case in refused))
    assert [(node.node.name, node.message) for node in last.nodes if node.status != "success"] == []
    held(*cases)


def belongs(table: str, case: Case) -> bool:
    return table == case.name or table.startswith(f"{case.name}__")


def clear(project: Project) -> None:
    """Delta keeps what it has read of a log, and would not see what happened to it."""
    project.spark._jvm.org.apache.spark.sql.delta.DeltaLog.clearCache()


def folder(project: Project, name: str) -> Path:
    return Path(os.environ["DITTO_HOME"]) / "warehouse" / f"{project.schema}.db" / name


def replaced(kind: str, using: str) -> Callable[[Project, str], Callable[[], object]]:
    """Something else stands under the name of the model."""

    def arrange(project: Project, name: str) -> Callable[[], object]:
        there = "view" if using == "using delta" else "table"
        project.sql(f"drop {there} {{schema}}.{name}")
        project.sql(f"create {kind} {{schema}}.{name} {using} as select 1 as id")
        return lambda: project.sql(f"drop {kind} {{schema}}.{name}")

    return arrange


def without(project: Project, paths: list[Path]) -> Callable[[], object]:
    """Files are put aside, and later back in their place."""
    aside = project.path / "aside"
    aside.mkdir(exist_ok=True)
    moved = [(path, aside / f"{path.parent.name}_{path.name}") for path in paths]
    for path, to in moved:
        shutil.move(path, to)
    return lambda: [shutil.move(to, path) for path, to in moved]


def broken_log(project: Project, name: str) -> Callable[[], object]:
    log = folder(project, name) / "_delta_log"
    newest = max(log.glob("*.json"))
    # Hadoop has a checksum of its own beside it, but not every file system of it.
    repair = without(project, [path for path in (newest, log / f".{newest.name}.crc") if path.exists()])
    newest.write_text("{no json")

    def undo() -> None:
        newest.unlink()
        repair()

    return undo


def append_only(project: Project, name: str) -> Callable[[], object]:
    change = f"alter table {{schema}}.{name} set tblproperties ('delta.appendOnly' = '{{}}')"
    project.sql(change.replace("{}", "true"))
    return lambda: project.sql(change.replace("{}", "false"))


ARRANGED: dict[str, Callable[[Project, str], Callable[[], object]]] = {
    "foreign_view": replaced("view", ""),
    "foreign_files": replaced("table", "using parquet"),
    "foreign_table": replaced("table", "using delta"),
    "broken_log": broken_log,
    "lost_log": lambda project, name: without(project, [folder(project, name) / "_delta_log"]),
    "lost_file": lambda project, name: without(project, sorted(folder(project, name).glob("*.parquet"))),
    "append_only": append_only,
}


@pytest.mark.slow
def test_execution_dates_in_a_zone_that_leaves_out_hours(project: Project) -> None:
    project.model(
        "dated", "select timestamp_ntz'{{ ditto.execution_time() }}' as at", materialized="merger", unique_key="at"
    )
    profile = (project.path / "profiles.yml").read_text()
    (project.path / "profiles.yml").write_text(profile.replace("timeZone: UTC", "timeZone: Europe/Berlin"))
    expected: list[tuple[object, ...]] = []
    for case in DATES:
        given = {} if case.given is None else {"execution_date": case.given}
        outcome = project.dbt("run", variables=given)
        if case.does:
            assert outcome.ok, (case.name, outcome.text)
            expected += case.rows or ()
        else:
            check(case, outcome.text)
        if expected:
            assert project.rows("dated", "cast(at as string)") == sorted(expected), case.name
    assert sorted(project.states("dated")) == sorted(str(row[0]) for row in expected)
    assert project.spark.conf.get("spark.sql.session.timeZone") == "Europe/Berlin"
    project.spark.conf.set("spark.sql.session.timeZone", "UTC")
    held(*DATES)


def operate(project: Project, case: Case) -> str:
    told = io.StringIO()
    with redirect_stdout(told):
        outcome = project.dbt("run-operation", case.operation, "--args", json.dumps(case.given))
    assert not outcome.ok, case.name
    return told.getvalue()


@pytest.mark.slow
def test_operations(project: Project) -> None:
    project.model("plain", ROWS, materialized="view")
    project.model("merged", ROWS, materialized="merger", unique_key="id")
    project.model("cleaned", ROWS, materialized="fast_metadata_cleaner")
    project.model("shown", ROWS, materialized="proxy_view")
    for case in EARLY:
        check(case, operate(project, case))
    project.must_run(FIRST)
    before = commits(project), project.rows("ditto_ledger", "event_id")
    for case in OPERATIONS:
        check(case, operate(project, case))
    assert (commits(project), project.rows("ditto_ledger", "event_id")) == before
    project.must_run(SECOND)
    held(*EARLY, *OPERATIONS)


def of(name: str) -> Case:
    return next(case for case in CASES if case.name == name)


@pytest.mark.slow
def test_a_ledger_that_is_none(project: Project) -> None:
    project.model("merged", ROWS, materialized="merger", unique_key="id")
    project.spark.sql(f"create schema {project.schema}")
    project.sql("create table {schema}.ditto_ledger using delta as select 1 as id")
    check(of("ledger_foreign"), project.run(FIRST).text)
    assert tables(project) == ["ditto_ledger"]
    project.sql("drop table {schema}.ditto_ledger")
    project.must_run(FIRST)

    project.sql("alter table {schema}.ditto_ledger rename to {schema}.kept")
    before = project.rows("merged"), project.versions("merged")
    check(of("ledger_dropped"), project.run(SECOND).text)
    assert (project.rows("merged"), project.versions("merged")) == before
    assert "ditto_ledger" not in tables(project)
    project.sql("alter table {schema}.kept rename to {schema}.ditto_ledger")
    project.must_run(SECOND)
    assert list(project.states("merged").values()) == ["live", "live"]
    held(of("ledger_foreign"), of("ledger_dropped"))


@pytest.mark.slow
def test_folders_and_disks(project: Project) -> None:
    landing, blocked = project.path / "landing", project.path / "blocked"
    blocked.write_text("a file, where a folder should be")
    files = {"path": str(landing), "format": "csv", "schema": "id int"}
    project.model("no_landing", "select * from {{ ditto.incoming() }}", materialized="file_ingest", files=files)
    write_to(project, "not_writable", blocked)
    outcome = project.run(FIRST)
    for name in ("no_landing", "not_writable"):
        check(of(name), message(outcome, name))
    assert unfinished(project) == []

    landing.mkdir()
    (landing / "a.csv").write_text("1\n")
    blocked.unlink()
    project.must_run(FIRST)
    assert (project.rows("no_landing", "id"), len(project.rows("not_writable"))) == ([(1,)], 1)
    held(of("no_landing"), of("not_writable"))


def message(outcome: Outcome, name: str) -> str:
    return str(outcome.node(name).message)


def write_to(project: Project, name: str, root: Path, rows: int = 1) -> None:
    sql = f"select id, repeat(uuid(), 100) as name from range({rows}) as t (id)"
    project.model(name, sql, materialized="merger", unique_key="id", location_root=str(root))


@contextmanager
def small_disk(path: Path) -> Iterator[None]:
    """A file system of two megabytes, which only root can make."""
    path.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", str(path)], check=True)
    try:
        yield
    finally:
        # Spark may hold the file that it could not write to its end.
        subprocess.run(["umount", "--lazy", str(path)], check=True)


# Only root can mount a disk; for anybody else there is no such test.
if os.geteuid() == 0:

    @pytest.mark.slow
    def test_a_full_disk(project: Project) -> None:
        disk = project.path / "disk"
        with small_disk(disk):
            write_to(project, "full_disk", disk)
            project.must_run(FIRST)
            before = project.rows("full_disk"), project.versions("full_disk")
            write_to(project, "full_disk", disk, rows=20_000)
            check(of("full_disk"), project.run(SECOND).text)
            assert (project.rows("full_disk"), project.versions("full_disk")) == before
            assert unfinished(project) == []
            subprocess.run(["mount", "-o", "remount,size=64m", str(disk)], check=True)
            write_to(project, "full_disk", disk, rows=2)
            project.must_run(SECOND)
            assert len(project.rows("full_disk")) == 2
            held(of("full_disk"))
