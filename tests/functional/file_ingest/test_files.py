"""file_ingest on real files: each content once, each file's rows replaced by its own, and broken files on their own."""

from __future__ import annotations

import gzip
import os
import shutil
from pathlib import Path

import pytest
from dbt.adapters.spark.session import Cursor

from tests.functional.file_ingest.landing import Landing, ingest, names, tracked
from tests.functional.insert_overwrite.feed import session_setting
from tests.support import Project, statements


@pytest.fixture
def landing(project: Project) -> Landing:
    return Landing(project.path / "landing")


def test_each_content_comes_in_once(project: Project, landing: Landing) -> None:
    ingest(project, landing)
    landing.put("a.csv", "1,one", "2,two")
    landing.put("sub dir/b ü+%,{1}'.csv", "3,three")
    landing.put("none.csv")
    landing.put_bytes("not yet.csv", b"")
    outcome = project.must_run("2026-01-01")
    assert "3 files, 3 inserted" in outcome.text
    first = [(1, "one", "a.csv"), (2, "two", "a.csv"), (3, "three", "b%20ü+%25,%7B1%7D'.csv")]
    assert names(project) == first
    assert tracked(project) == {
        "a.csv": ("SUCCESS", 1, 2),
        "b%20ü+%25,%7B1%7D'.csv": ("SUCCESS", 1, 1),
        "none.csv": ("SUCCESS", 1, 0),
    }
    before = project.versions("orders")

    # A second run opens no file and writes nothing but its outcome.
    with statements() as sent:
        assert "0 files" in project.must_run("2026-01-02").text
    assert not [sql for sql in sent if "sha2(`content`" in sql or "merge into" in sql or "replace where" in sql]
    assert project.versions("orders") == before

    # Overwritten in place, renamed, copied, touched, and a new one.
    landing.put("a.csv", "1,uno")
    (landing.folder / "sub dir" / "b ü+%,{1}'.csv").rename(landing.folder / "c.csv")
    shutil.copy2(landing.folder / "c.csv", landing.folder / "d.csv")
    os.utime(landing.folder / "none.csv", (1_800_000_000, 1_800_000_000))
    landing.put("e.csv", "5,five")
    text = project.must_run("2026-01-03").text
    assert "2 files, 2 skipped, 2 inserted, 2 deleted" in text
    assert names(project) == [(1, "uno", "a.csv"), first[2], (5, "five", "e.csv")]
    state = tracked(project, "status, record_count, element_at(split(duplicate_of, '/'), -1)")
    assert state["c.csv"] == ("SUCCESS", 0, "b%20ü+%25,%7B1%7D'.csv") and state["d.csv"] == state["c.csv"]


@pytest.mark.slow
def test_copies_take_the_place_of_what_they_were_copied_from(project: Project, landing: Landing) -> None:
    ingest(project, landing)
    landing.put("a.csv", "1,uno")
    landing.put("sub dir/b ü+%,{1}'.csv", "3,three")
    landing.put("e.csv", "5,five")
    project.must_run("2026-01-03")
    shutil.copy2(landing.folder / "sub dir" / "b ü+%,{1}'.csv", landing.folder / "c.csv")
    assert "0 files, 1 skipped" in project.must_run("2026-01-04").text
    odd = "b%20ü+%25,%7B1%7D'.csv"

    # The path whose content the copy has gets another one: the copy takes its place.
    landing.put("sub dir/b ü+%,{1}'.csv", "33,other")
    project.must_run("2026-01-05")
    assert names(project) == [
        (1, "uno", "a.csv"),
        (3, "three", "c.csv"),
        (33, "other", odd),
        (5, "five", "e.csv"),
    ]

    # A loaded file becomes a copy of another one: its rows leave with it.
    landing.put("a.csv", "5,five")
    project.must_run("2026-01-06")
    assert names(project) == [(3, "three", "c.csv"), (33, "other", odd), (5, "five", "e.csv")]
    assert all(row[0] == "SUCCESS" for row in tracked(project).values())


@pytest.mark.slow
def test_a_broken_file_stops_no_other(project: Project, landing: Landing) -> None:
    ingest(project, landing, max_retries=1)
    for number in range(8):
        landing.put(f"good{number}.csv", f"{number},x")
    landing.put_bytes("packed.csv.gz", gzip.compress(b"id,name\n9,x\n"))
    landing.put("broken.csv", "100,ok", "nope,bad")
    landing.put("swapped.csv", "x,1", header="name,id")
    landing.put_bytes("cut.csv.gz", gzip.compress(b"id,name\n" + os.urandom(9000).hex().encode())[:3000])
    outcome = project.must_run("2026-01-01")
    assert "9 files, 3 failed, 9 inserted" in outcome.text
    state = tracked(project, "status, attempts, error_message")
    assert state["broken.csv"][:2] == ("FAILED", 1) and "line 3 cannot be read: nope,bad" in state["broken.csv"][2]
    assert "line 1 has the header name, id, expected is id, name" in state["swapped.csv"][2]
    assert "Spark cannot read it as csv" in state["cut.csv.gz"][2]
    details = project.sql(
        "select get_json_object(details, '$.files_failed') from {schema}.ditto_ledger where event = 'committed'"
    )
    assert details == [("3",)]

    # Tried once more, then dead and left alone, until the file changes.
    project.must_run("2026-01-02")
    assert {tracked(project)[name][:2] for name in ("broken.csv", "swapped.csv", "cut.csv.gz")} == {("DEAD", 2)}
    assert "0 files, 3" not in project.must_run("2026-01-03").text
    test = project.dbt("run-operation", "ditto_retry_files", "--args", "{model: orders}")
    assert test.ok, test.text
    project.must_run("2026-01-04")
    assert tracked(project)["broken.csv"][:2] == ("FAILED", 1)
    landing.put("broken.csv", "100,ok", "101,fixed")
    landing.put("swapped.csv", "1000,x")
    landing.remove("cut.csv.gz")
    project.must_run("2026-01-05")
    assert tracked(project)["broken.csv"] == ("SUCCESS", 1, 2)
    assert (101, "fixed", "broken.csv") in names(project) and len(names(project)) == 12

    # Overwritten by a broken one: what it had stays, and a reversal is no new load.
    content = (landing.folder / "good1.csv").read_bytes()
    landing.put("good1.csv", "x,y")
    ingest(project, landing, max_retries=1, on_failed_file="error")
    outcome = project.run("2026-01-06")
    assert not outcome.ok and "line 2 cannot be read: x,y" in outcome.text and (1, "x", "good1.csv") in names(project)
    landing.put_bytes("good1.csv", content)
    assert "0 files" in project.must_run("2026-01-07").text
    assert tracked(project)["good1.csv"] == ("SUCCESS", 0 + tracked(project)["good1.csv"][1], 1)


@pytest.mark.slow
@pytest.mark.parametrize("format", ["json", "parquet"])
def test_other_formats(project: Project, landing: Landing, format: str) -> None:
    if format == "json":
        ingest(
            project,
            landing,
            files={"format": "json", "options": {}, "pattern": "*.json"},
            sql="select id, upper(name) as name, file_path from {{ ditto.incoming() }}",
        )
        landing.put("a.json", '{"id": 1, "name": "a"}', header="")
        landing.put("bad.json", '{"id": 2, "name": "b"}', '{"id": "x"}', header="")
        landing.put("other.txt", "nothing")
    else:
        files = {"format": "parquet", "schema": None, "options": {}, "pattern": "*.parquet"}
        ingest(
            project,
            landing,
            files=files,
            sql="select cast(id as int) as id, upper(name) as name, file_path from {{ ditto.incoming() }}",
        )
        for name, rows in (("a", "(1, 'a')"), ("b", "('x', 'b')")):
            folder = str(project.path / f"made_{name}")
            project.spark.sql(f"select * from values {rows} as t (id, name)").coalesce(1).write.parquet(folder)
            landing.put_bytes(f"{name}.parquet", next(Path(folder).glob("*.parquet")).read_bytes())
        landing.put_bytes("bad.parquet", b"PAR1 no")
    outcome = project.must_run("2026-01-01")
    assert "1 file," in outcome.text, outcome.text
    assert names(project) == [(1, "A", f"a.{format}")]
    messages = {name: row[1] for name, row in tracked(project, "status, error_message").items() if row[0] == "FAILED"}
    if format == "json":
        assert list(messages) == ["bad.json"] and 'line 2 cannot be read: {"id": "x"}' in messages["bad.json"]
    else:
        assert (
            "not a parquet file" in messages["bad.parquet"]
            and "Spark cannot read it as parquet" in messages["b.parquet"]
        )


@pytest.mark.slow
def test_lost_tables_and_lost_files(project: Project, landing: Landing) -> None:
    """A dropped table or tracker, a full refresh, a folder that is not there, --empty: nothing lost or doubled."""
    ingest(project, landing)
    landing.put("a.csv", "1,one", "2,two")
    landing.put("b.csv", "3,three")
    assert project.run("2026-01-01", "--empty").ok
    assert names(project) == [] and not project.sql("select * from {schema}.ditto_files")
    assert project.sql("select * from {schema}.ditto_ledger") == []
    project.must_run("2026-01-01")
    rows = names(project)
    assert len(rows) == 3

    project.sql("drop table {schema}.orders")
    project.must_run("2026-01-02")
    assert names(project) == rows
    project.sql("drop table {schema}.ditto_files")
    project.must_run("2026-01-03")
    assert names(project) == rows and len(tracked(project)) == 2

    landing.remove("b.csv")
    lost = project.run("2026-01-04", "--full-refresh")
    assert not lost.ok and "b.csv" in lost.text and "ditto_forget_files: true" in lost.text and names(project) == rows
    allowed = project.dbt("run", "--full-refresh", execution_date="2026-01-04", variables={"ditto_forget_files": True})
    assert allowed.ok, allowed.text
    assert names(project) == rows[:2] and list(tracked(project)) == ["a.csv"]

    # A row that does not know its file is refused, and the next run is not stopped by that.
    landing.put("c.csv", "4,four")
    ingest(project, landing, sql="select id, name, upper(file_path) as file_path from {{ ditto.incoming() }}")
    refused = project.run("2026-01-05")
    assert not refused.ok and "rows that belong to no file of this load" in refused.text and names(project) == rows[:2]
    ingest(project, landing, sql="select id, name from {{ ditto.incoming() }}")
    assert "file_path_column: file_path, which the SELECT does not give" in project.run("2026-01-06").text
    ingest(project, landing)
    shown = project.dbt("show", "--select", "orders", "--limit", "5")
    assert shown.ok, shown.text
    project.must_run("2026-01-06")
    assert names(project) == [*rows[:2], (4, "four", "c.csv")]
    shutil.rmtree(landing.folder)
    gone = project.run("2026-01-07")
    assert not gone.ok and "no folder" in gone.text and "make the folder" in gone.text


@pytest.mark.slow
def test_a_folder_that_changes_while_it_is_looked_at(project: Project, landing: Landing) -> None:
    """What is loaded is never older than what was hashed; what is newer is loaded again."""
    ingest(project, landing)
    landing.put("grows.csv", "1,one")
    execute = Cursor.execute

    def arrive(cursor: Cursor, sql: str, *parameters: object) -> None:
        if "`found_files`" in sql and not (landing.folder / "late.csv").exists():
            landing.put("late.csv", "2,two")
            landing.put("grows.csv", "1,one", "3,three")
        execute(cursor, sql, *parameters)

    Cursor.execute = arrive  # type: ignore[method-assign]
    try:
        project.must_run("2026-01-01")
    finally:
        Cursor.execute = execute  # type: ignore[method-assign]
    project.must_run("2026-01-02")
    assert names(project) == [(1, "one", "grows.csv"), (2, "two", "late.csv"), (3, "three", "grows.csv")]


@pytest.mark.slow
def test_what_cannot_be_opened_and_odd_configs(project: Project, landing: Landing) -> None:
    """A large file that was cut off, a full refresh that is refused, another file_path_column, a schema of nonsense."""
    ingest(project, landing, hash_in_pieces_above=2000, files={"options": {"header": True, "sep": "\\t"}})
    landing.put("a.csv", "1\tone", header="id\tname")
    landing.put_bytes("cut.csv.gz", gzip.compress(b"id\tname\n" + os.urandom(9000).hex().encode())[:3000])
    landing.put("large.csv", *(f"{number}\tmany" for number in range(400)), header="id\tname")
    with session_setting(project, "spark.sql.files.ignoreCorruptFiles", "true"):
        project.must_run("2026-01-01")
    assert len(names(project)) == 401
    assert tracked(project, "status, substr(file_hash, 1, 6)") == {
        "a.csv": ("SUCCESS", tracked(project, "substr(file_hash, 1, 6)")["a.csv"][0]),
        "cut.csv.gz": ("FAILED", "unread"),
        "large.csv": ("SUCCESS", "lines:"),
    }
    files = {"options": {"header": True, "sep": "\\t"}}
    changed = "select id, name, concat(file_path, '?') as file_path from {{ ditto.incoming() }}"
    ingest(project, landing, hash_in_pieces_above=2000, files=files, sql=changed)
    refused = project.run("2026-01-02", "--full-refresh")
    assert not refused.ok and "rows that belong to no file" in refused.text and len(names(project)) == 401
    ingest(project, landing, files=files, file_path_column="origin")
    assert "file_path_column: origin, which" in project.run("2026-01-02").text
    ingest(project, landing, files={**files, "schema": "id intt"})
    assert "which Spark does not understand" in project.run("2026-01-02").text
    # A removed file is no failed one any more.
    landing.remove("cut.csv.gz")
    ingest(project, landing, files=files)
    project.must_run("2026-01-02")
    assert "cut.csv.gz" not in tracked(project)
