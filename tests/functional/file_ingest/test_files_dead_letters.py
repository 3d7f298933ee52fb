"""Dead letters of files: a broken record costs itself and not its file, and leaves with its file."""

from __future__ import annotations

import pytest

from tests.functional.file_ingest.landing import Landing, ingest, names, tracked
from tests.support import Project, statements

NEGATIVE = {"name": "negative", "when": "id < 0"}


def letters(project: Project) -> list[tuple[object, ...]]:
    columns = "element_at(split(file_path, '/'), -1), reason, record, status, attempts"
    return [
        (*row[:2], row[2].split('"file_path"')[0], *row[3:]) for row in project.rows("orders__dead_letters", columns)
    ]


@pytest.mark.slow
def test_a_broken_record_costs_itself(project: Project) -> None:
    landing = Landing(project.path / "landing")
    # A filter of the model would take a record that cannot be read for a row of nulls.
    known = "select * from {{ ditto.incoming() }} where id is not null"
    ingest(project, landing, sql=known, dead_letters=["corrupt_records", NEGATIVE])
    landing.put("a.csv", "1,one", "-2,minus", "x,bad")
    landing.put("b.csv", "-3,minus", "4,four")
    outcome = project.must_run("2026-01-01")
    assert "2 files, 2 inserted, 3 dead letters" in outcome.text
    assert names(project) == [(1, "one", "a.csv"), (4, "four", "b.csv")]
    assert [(row[0], row[1]) for row in letters(project)] == [
        ("a.csv", "corrupt_record"), ("a.csv", "negative"), ("b.csv", "negative")
    ]  # fmt: skip
    assert "_corrupt_record" not in project.spark.table(f"{project.schema}.orders").columns
    assert tracked(project) == {"a.csv": ("SUCCESS", 1, 1), "b.csv": ("SUCCESS", 1, 1)}

    # The dead letters of a file are replaced with its rows; those of others stay, also in a replay.
    landing.put("a.csv", "1,uno", "-20,minus")
    assert "1 file, 1 inserted, 1 deleted, 1 dead letter" in project.must_run("2026-01-01").text
    assert [(row[0], row[1]) for row in letters(project)] == [("a.csv", "negative"), ("b.csv", "negative")]
    assert project.must_run("2026-01-01").ok and len(letters(project)) == 2

    # The rule was too strict: what passes now joins the rows of its file, and goes with them.
    landing.put("c.csv", "6,six", "y,bad")
    project.must_run("2026-01-01")
    ingest(project, landing, sql=known, dead_letters=["corrupt_records", {"name": "negative", "when": "id < -10"}])
    retry = project.dbt("run-operation", "ditto_retry_dead_letters", "--args", "{model: orders}")
    assert retry.ok, retry.text
    six = (6, "six", "c.csv")
    assert names(project) == [(-3, "minus", "b.csv"), (1, "uno", "a.csv"), (4, "four", "b.csv"), six]
    assert [(row[0], *row[3:]) for row in letters(project)] == [("a.csv", "FAILED", 1), ("c.csv", "FAILED", 1)]
    landing.put("b.csv", "5,five")
    project.must_run("2026-01-02")
    assert names(project) == [(1, "uno", "a.csv"), (5, "five", "b.csv"), six]
    again = project.must_run("2026-01-03", "--full-refresh")
    assert "3 files, 3 inserted, 2 dead letters" in again.text
    assert names(project) == [(1, "uno", "a.csv"), (5, "five", "b.csv"), six] and len(letters(project)) == 2


@pytest.mark.slow
def test_a_retry_brings_no_proof_of_a_load_that_died(project: Project) -> None:
    """A letter of a load that never came through is taken in: the load is still to be done."""
    landing = Landing(project.path / "landing")
    ingest(project, landing, dead_letters=[NEGATIVE])
    landing.put("a.csv", "1,one", "-2,minus")
    with statements(die_before=1, only="insert into `" + project.schema + "`.`orders` "):
        assert not project.run("2026-01-01").ok
    for operation in ("ditto_release", "ditto_retry_dead_letters"):
        ingest(project, landing, dead_letters=[{"name": "negative", "when": "id < -10"}])
        assert project.dbt("run-operation", operation, "--args", "{model: orders}").ok
    project.must_run("2026-01-01")
    assert names(project) == [(-2, "minus", "a.csv"), (1, "one", "a.csv")]
    assert letters(project) == []


@pytest.mark.slow
def test_old_letters_stay_until_the_changed_file_is_in_the_table(project: Project) -> None:
    landing = Landing(project.path / "landing")
    ingest(project, landing, dead_letters=[NEGATIVE])
    landing.put("a.csv", "1,one", "-2,minus")
    project.must_run("2026-01-01")
    landing.put("a.csv", "1,one", "2,plus")
    with statements(die_before=1, only="insert into `" + project.schema + "`.`orders` "):
        assert not project.run("2026-01-01").ok
    assert names(project) == [(1, "one", "a.csv")] and len(letters(project)) == 1
    # It came through, but nobody was left to remove the letter: the next run does, without loading the file again.
    with statements(die_before=1, only="delete from `" + project.schema + "`.`orders__dead_letters`"):
        assert not project.run("2026-01-01").ok
    assert names(project) == [(1, "one", "a.csv"), (2, "plus", "a.csv")] and len(letters(project)) == 1
    assert "0 files" in project.must_run("2026-01-01").text
    assert names(project) == [(1, "one", "a.csv"), (2, "plus", "a.csv")] and letters(project) == []
