"""proxy_view: every run is a table that is written once, and one name shows the newest."""

from __future__ import annotations

import datetime as dt
import re
from pathlib import Path
from typing import Any
from urllib.parse import urlparse

import pytest
from dbt.tracking import User

from tests.functional.proxy_view.feed import full_dataset, operation, recorded, refusal, shown, tables, verify
from tests.support import Project, statements


def test_versions_are_tables(project: Project, capsys: pytest.CaptureFixture[str]) -> None:
    """The seed: each load goes to a table of its own, named by the start of the run, and the view is switched to it."""
    full_dataset(project, ("07", "AB"), ("08", "ABC"), ("09", "C"))
    project.must_run("2024-10-07")
    assert shown(project) == "AB"
    project.must_run("2024-10-08")
    first, second = tables(project)
    assert re.fullmatch(r"published__v\d{8}_\d{6}(_\d+)?", first) and first < second
    assert shown(project) == "ABC"
    assert project.versions(first) == project.versions(second) == 0, "one commit each"
    assert project.rows(first, "type") == [("A",), ("B",)]
    for statement in ("update {} set type = 'Z'", "delete from {}", "insert overwrite {} select 'Z', 'z'"):
        with pytest.raises(Exception, match="DELTA_CANNOT_MODIFY_APPEND_ONLY"):
            project.sql(statement.format(f"{{schema}}.{first}"))

    # A middle date again: its version is written, and readers stay on the newest execution.
    project.must_run("2024-10-07")
    assert len(tables(project)) == 3 and shown(project) == "ABC"
    assert project.states("published") == {"2024-10-07 00:00:00": "live", "2024-10-08 00:00:00": "live"}
    assert [f"published__{name}" for name in recorded(project)] == tables(project)
    assert operation(project, "ditto_proxy_point_to", version=recorded(project)[0]).ok
    assert shown(project) == "AB"
    assert verify(project, capsys) == ""


@pytest.mark.slow
def test_readers_move_between_versions(project: Project, capsys: pytest.CaptureFixture[str]) -> None:
    full_dataset(project, ("07", "AB"), ("08", "ABC"), ("09", "C"))
    for day in ("07", "08"):
        project.must_run(f"2024-10-{day}")
    # A full refresh, which is the same run twice: a new table, nothing dropped, the same rows for readers.
    project.must_run("2024-10-08", "--full-refresh")
    assert len(tables(project)) == 3 and shown(project) == "ABC"
    capsys.readouterr()
    assert operation(project, "ditto_proxy_versions").ok
    listed = capsys.readouterr().out
    assert listed.count("2024-10-08") >= 2 and listed.count("\n* v") == 1
    assert operation(project, "ditto_plan", execution_date="2024-10-07").ok
    assert "write a version, and leave readers on the newest execution" in capsys.readouterr().out
    assert operation(project, "ditto_plan", execution_date="2024-10-09").ok
    assert "write a version, then show it" in capsys.readouterr().out

    assert operation(project, "ditto_proxy_point_to", version=recorded(project)[0]).ok
    assert shown(project) == "AB"
    assert operation(project, "ditto_proxy_point_to", version="latest").ok
    assert operation(project, "ditto_proxy_point_to", version="previous").ok
    unknown = refusal(project, capsys, "ditto_proxy_point_to", version="v1")
    assert "one of them, latest or previous" in unknown
    project.must_run("2024-10-09")
    assert shown(project) == "C", "the newest execution moves readers on"
    # Somebody drops the view: an earlier execution does not take its place.
    project.sql("drop view {schema}.published")
    assert "no view" in project.run("2024-10-07").text
    assert operation(project, "ditto_proxy_point_to", version="latest").ok and shown(project) == "C"
    assert verify(project, capsys) == ""


@pytest.mark.slow
def test_two_runs_within_a_second_get_two_versions(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """The clock stands still: a name is used once."""
    stop_the_clock(monkeypatch)
    full_dataset(project, ("07", "A"), ("08", "AB"))
    for day in ("07", "07", "08"):
        project.must_run(f"2024-10-{day}")
    name = "published__v20241120_080910"
    assert tables(project) == [name, f"{name}_2", f"{name}_3"]
    assert shown(project) == "AB"
    # Nor is one used again that was dropped since.
    project.sql(f"drop table {{schema}}.{name}_2")
    full_dataset(project, ("07", "A"), ("08", "AB"), on_changed_version="warn")
    project.must_run("2024-10-08")
    assert tables(project) == [name, f"{name}_3", f"{name}_4"]


def stop_the_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every dbt command from now on believes that it started at 08:09:10 on 20 November 2024."""
    begin = User.__init__

    def at_that_time(self: User, *arguments: Any, **options: Any) -> None:
        begin(self, *arguments, **options)
        self.run_started_at = dt.datetime(2024, 11, 20, 8, 9, 10, tzinfo=dt.UTC)

    monkeypatch.setattr(User, "__init__", at_that_time)


@pytest.mark.slow
@pytest.mark.parametrize("versioning", ["tables", "native"])
def test_changes_behind_our_back(project: Project, capsys: pytest.CaptureFixture[str], versioning: str) -> None:
    """ditto_verify, the test ditto_immutable and the next run find what was done to a version."""
    full_dataset(project, ("07", "AB"), ("08", "ABC"), ("09", "C"), versioning=versioning)
    project.write({"models/published.yml": TESTED})
    project.must_run("2024-10-07")
    project.must_run("2024-10-08")
    assert verify(project, capsys) == ""
    assert project.dbt("test").ok
    name = tables(project)[0] if versioning == "tables" else "published__data"
    table = f"{{schema}}.{name}"
    project.sql(f"insert into {table} select 'Z', 'by hand'")
    assert "WRITE" in verify(project, capsys)
    assert not project.dbt("test").ok
    refused = project.run("2024-10-09")
    assert not refused.ok and "versions that are not what was written" in refused.text
    assert shown(project) == "ABC", "readers are not touched"
    if versioning == "native":
        return
    project.sql(f"restore table {table} to version as of 0")
    assert verify(project, capsys) == "", "that brings it back"
    project.must_run("2024-10-09")
    project.sql(f"alter table {table} set tblproperties ('delta.appendOnly' = 'false')")
    project.sql(f"update {table} set type = 'Z' where type = 'A'")
    assert "UPDATE" in verify(project, capsys)
    project.sql(f"restore table {table} to version as of 1")
    assert "RESTORE" in verify(project, capsys)
    project.sql(f"alter table {table} set tblproperties ('delta.appendOnly' = 'false')")
    project.sql(f"create or replace table {table} using delta as select 'A' as type, 'a' as full_name")
    assert "CREATE OR REPLACE" in verify(project, capsys)
    project.sql(f"drop table {table}")
    assert "its table was dropped" in verify(project, capsys)
    project.sql(f"create table {table} using delta as select 'A' as type, 'a' as full_name")
    assert "was replaced" in verify(project, capsys)


TESTED = """
    models:
      - name: published
        data_tests:
          - ditto.ditto_immutable
          - ditto.ditto_ledger_matches_history
"""


@pytest.mark.slow
def test_removed_files_are_found(project: Project, capsys: pytest.CaptureFixture[str]) -> None:
    full_dataset(project, ("07", "AB"), ("08", "ABC"))
    project.must_run("2024-10-07")
    project.must_run("2024-10-08")
    (path,) = {row[0] for row in project.sql(f"select _metadata.file_path from {{schema}}.{tables(project)[0]}")}
    Path(urlparse(path).path).unlink()
    found = verify(project, capsys)
    assert "cannot be read any more" in found and recorded(project)[0] in found


@pytest.mark.slow
def test_expire(project: Project, capsys: pytest.CaptureFixture[str]) -> None:
    full_dataset(project, ("07", "AB"), ("08", "ABC"))
    for day in ("07", "07", "07", "08"):
        project.must_run(f"2024-10-{day}")
    assert "no keep_for" in refusal(project, capsys, "ditto_proxy_expire")
    first, second, _third, fourth = recorded(project)
    full_dataset(project, ("07", "AB"), ("08", "ABC"), keep_for="1 hour", legal_hold=[second])
    assert operation(project, "ditto_proxy_expire", dry_run=False).ok
    assert "younger than keep_for" in capsys.readouterr().out
    young = refusal(project, capsys, "ditto_proxy_expire", version=first, dry_run=False)
    assert "younger than keep_for" in young and len(tables(project)) == 4

    age(project)
    assert operation(project, "ditto_proxy_expire").ok
    said = capsys.readouterr().out
    assert f"{first}: would be dropped" in said and f"{second}: kept, it is under legal_hold" in said
    assert f"{fourth}: kept, readers see it" in said and len(tables(project)) == 4
    assert "legal_hold" in refusal(project, capsys, "ditto_proxy_expire", version=second, dry_run=False)
    # Killed after the first of two was dropped: nothing else runs until the same command has finished it.
    with statements(die_before=2, only="drop table"):
        assert not operation(project, "ditto_proxy_expire", dry_run=False).ok
    assert len(tables(project)) == 3
    assert "ditto_proxy_expire did not finish" in project.run("2024-10-08").text
    assert operation(project, "ditto_proxy_expire", dry_run=False).ok
    assert tables(project) == [f"published__{second}", f"published__{fourth}"]
    project.write({"models/published.yml": TESTED})
    assert project.dbt("test").ok, "what was expired is not missed"
    project.must_run("2024-10-08")
    assert shown(project) == "ABC"


def age(project: Project) -> None:
    """Let everything in the ledger have happened a day earlier."""
    project.sql("alter table {schema}.ditto_ledger set tblproperties ('delta.appendOnly' = 'false')")
    project.sql("update {schema}.ditto_ledger set at = at - interval 1 day")


@pytest.mark.slow
def test_manifest(project: Project) -> None:
    """For stores without views: the manifest is built by a step of its own, and again without computing anything."""
    full_dataset(project, ("07", "AB"), ("08", "ABC"), versioning="manifest")

    def listed() -> set[tuple[str, str]]:
        newest = "(select max(sequence) from {schema}.published__manifest)"
        return set(project.sql(f"select version, path from {{schema}}.published__manifest where sequence = {newest}"))

    def files(table: str) -> set[str]:
        return {row[0] for row in project.sql(f"select distinct _metadata.file_path from {{schema}}.{table}")}

    project.must_run("2024-10-07")
    (first,) = tables(project)
    assert listed() == {(first.removeprefix("published__"), path) for path in files(first)}
    assert [row for row in project.sql("show tables in {schema}") if row[1] == "published"] == []

    with statements(die_before=1, only="insert overwrite"):
        assert not project.run("2024-10-08").ok
    second = tables(project)[1]
    assert {version for version, _ in listed()} == {first.removeprefix("published__")}, "readers find the one before"
    assert project.states("published")["2024-10-08 00:00:00"] == "live", "the version is recorded"
    assert operation(project, "ditto_proxy_manifest").ok
    assert listed() == {(second.removeprefix("published__"), path) for path in files(second)}
    assert len(tables(project)) == 2, "nothing was computed again"
    assert operation(project, "ditto_proxy_point_to", version="previous").ok
    assert {version for version, _ in listed()} == {first.removeprefix("published__")}
    location = project.sql(f"describe detail {{schema}}.{second}")[0][4]
    symlinks = project.sql(f"select value from text.`{location}/_symlink_format_manifest/manifest`")
    assert {row[0] for row in symlinks} == files(second)


@pytest.mark.slow
def test_native(project: Project, capsys: pytest.CaptureFixture[str]) -> None:
    full_dataset(project, ("07", "AB"), ("08", "ABC"), versioning="native")
    project.must_run("2024-10-07")
    project.must_run("2024-10-08")
    project.must_run("2024-10-07")
    assert shown(project) == "ABC" and project.versions("published__data") == 2
    assert operation(project, "ditto_proxy_point_to", version=0).ok
    assert shown(project) == "AB"
    assert "go by its retention" in refusal(project, capsys, "ditto_proxy_expire")
    # A change of columns is a version like any other.
    project.model("published", "select 1 as other", materialized="proxy_view", versioning="native")
    project.must_run("2024-10-08")
    assert project.rows("published") == [(1,)]
    assert operation(project, "ditto_proxy_point_to", version="v1").ok
    assert shown(project) == "ABC"


@pytest.mark.slow
def test_empty_writes_no_version(project: Project) -> None:
    full_dataset(project, ("07", "AB"))
    outcome = project.must_run("2024-10-07", "--empty")
    assert "DRY RUN" in outcome.text and tables(project) == [] and project.rows("published") == []
    assert project.rows("ditto_ledger") == []
    project.must_run("2024-10-07")
    assert shown(project) == "AB"


@pytest.mark.slow
def test_a_crash_between_write_and_switch(project: Project, capsys: pytest.CaptureFixture[str]) -> None:
    """Readers stay on the old version; the half-written one is neither lost nor used again."""
    full_dataset(project, ("07", "AB"), ("08", "ABC"))
    project.must_run("2024-10-07")
    with statements(die_before=1, only="alter view"):
        assert not project.run("2024-10-08").ok
    first, half = tables(project)
    assert shown(project) == "AB" and project.states("published")["2024-10-08 00:00:00"] == "unfinished"
    capsys.readouterr()
    assert operation(project, "ditto_proxy_versions").ok
    assert f"{half}: of a run that did not finish; nobody sees it" in capsys.readouterr().out
    refused = project.run("2024-10-09")
    assert not refused.ok and "execution 2024-10-08 00:00:00 did not finish" in refused.text

    # Killed after the switch: the ledger does not know yet what readers see, so it cannot be given up.
    with statements(die_before=2, only="insert into"):
        assert not project.run("2024-10-08").ok
    assert shown(project) == "ABC"
    assert "readers already see what the execution wrote" in refusal(project, capsys, "ditto_release")
    project.must_run("2024-10-08")
    assert shown(project) == "ABC" and len(tables(project)) == 4
    assert [f"published__{name}" for name in recorded(project)] == [first, tables(project)[3]]
    assert project.rows(half, "type") == [("A",), ("B",), ("C",)], "it is still there"
    assert verify(project, capsys) == ""
