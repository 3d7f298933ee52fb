"""What going back would destroy or cannot reach: commits by others, vacuumed versions, properties, unfinished runs."""

from __future__ import annotations

import json

import pytest
from dbt.adapters.spark.session import Cursor

from tests.functional.stateful_merge.feed import DAYS, age, expected, letters, operations, seen, versions
from tests.support import Project, statements

MATCHES = """
models:
  - name: letters
    data_tests: [ditto.ditto_ledger_matches_history, ditto.ditto_no_stale]
"""


def run_days(project: Project, *days: str) -> None:
    for day in days:
        project.must_run(f"2024-10-{day}")


def plan(project: Project, capsys: pytest.CaptureFixture[str], **arguments: str) -> dict[str, object]:
    capsys.readouterr()
    given = json.dumps({"model": "letters", "format": "json"} | arguments)
    outcome = project.dbt("run-operation", "ditto_plan", "--args", given)
    assert outcome.ok, outcome.text
    lines = [line for line in capsys.readouterr().out.splitlines() if line.startswith("{")]
    return json.loads(lines[-1])


@pytest.mark.slow
def test_commits_by_others_are_not_undone_silently(project: Project) -> None:
    letters(project)
    run_days(project, "05", "06")
    project.spark.sql(f"update {project.schema}.letters set value = 'by hand' where letter = 'A'")
    project.spark.sql(f"optimize {project.schema}.letters")
    before = project.versions("letters")
    refused = project.run("2024-10-06")
    assert "commits by others that going back to version 1 would undo" in refused.text
    assert "version 3: UPDATE by" in refused.text
    assert "OPTIMIZE" not in refused.text
    assert project.versions("letters") == before
    # Forward runs go on with what is there.
    run_days(project, "07")
    assert "by hand" in seen(project)
    letters(project, on_foreign_commits="warn")
    run_days(project, "06", "07")
    assert seen(project) == expected(DAYS, *list(DAYS)[:3])


@pytest.mark.slow
def test_a_vacuumed_version_is_refused_before_anything_changes(
    project: Project, capsys: pytest.CaptureFixture[str]
) -> None:
    # Without deletion vectors each change rewrites its files, so that a vacuum really removes something.
    letters(project, tblproperties={"delta.enableDeletionVectors": "false"})
    run_days(project, "05", "06")
    project.spark.conf.set("spark.databricks.delta.retentionDurationCheck.enabled", "false")
    project.spark.sql(f"vacuum {project.schema}.letters retain 0 hours")
    project.spark.conf.unset("spark.databricks.delta.retentionDurationCheck.enabled")
    run_days(project, "07")
    before = operations(project)
    refused = project.run("2024-10-06")
    assert "version 1 of" in refused.text
    assert "a backfill from 2024-10-07 on, the earliest that is possible" in " ".join(refused.text.split())
    assert operations(project) == before
    assert set(project.states("letters").values()) == {"live"}
    announced = plan(project, capsys, execution_date="2024-10-06")
    assert announced["earliest_backfill"] == "2024-10-07 00:00:00"
    assert [execution["allowed"] for execution in announced["executions"]] == [False]
    assert operations(project) == before
    # The date it names works, and so does the first.
    run_days(project, "07")
    assert seen(project) == expected(DAYS, *list(DAYS)[:3])
    run_days(project, "05")
    assert seen(project) == "A,B"


@pytest.mark.slow
def test_retention_is_set_at_creation_and_after_a_restore(project: Project) -> None:
    def retention() -> dict[str, str]:
        rows = project.sql("show tblproperties {schema}.letters")
        return {key: value for key, value in rows if key.endswith("RetentionDuration")}

    letters(project)
    run_days(project, "05", "06")
    assert set(retention().values()) == {"interval 30 days"}
    letters(project, backfill_window="2 weeks")
    run_days(project, "07")
    assert set(retention().values()) == {"interval 2 weeks"}
    # Version 1 had the older window.
    run_days(project, "06")
    assert set(retention().values()) == {"interval 2 weeks"}
    assert seen(project) == expected(DAYS, "2024-10-05", "2024-10-06")


@pytest.mark.slow
def test_an_unfinished_backfill_stops_others_and_can_be_released(project: Project) -> None:
    letters(project)
    run_days(project, "05", "06", "07")
    with statements(die_before=1, only="merge into"):
        assert not project.run("2024-10-06").ok
    # The table went back; readers see that, and the ledger says why.
    assert seen(project) == "A,B"
    assert project.states("letters")["2024-10-06 00:00:00"] == "unfinished"
    refused = project.run("2024-10-08")
    assert "execution 2024-10-06 00:00:00 did not finish (backfill)" in refused.text

    assert project.dbt("run-operation", "ditto_release", "--args", "{model: letters}").ok
    three = list(DAYS)[:3]
    assert seen(project) == expected(DAYS, *three)
    assert set(project.states("letters").values()) == {"live"}
    # What the released run and its release left in the history is not somebody else's.
    run_days(project, "07")
    assert seen(project) == expected(DAYS, *three)
    # Killed between the merge and its outcome: what it committed is undone, and no difference to the ledger.
    with statements(die_before=1, only="describe history `" + project.schema + "`.`letters` limit 20"):
        assert not project.run("2024-10-08").ok
    run_days(project, "08")
    assert seen(project) == expected(DAYS, *list(DAYS)[:4])
    assert all(live for _, live in versions(project).values())
    project.write({"models/_letters.yml": MATCHES})
    assert project.dbt("test").ok


@pytest.mark.slow
def test_a_table_that_nobody_wrote_to_for_long(project: Project) -> None:
    """Delta does not go back to a version whose commit is too old, also if it was the newest one a moment ago."""
    letters(project, readers="pinned", interval="day")
    run_days(project, "05")
    age(project, "letters__data", 40)
    before = project.versions("letters__data")
    assert "missing executions before this one" in project.run("2024-10-08").text
    assert project.versions("letters__data") == before, "what is refused changes nothing"
    with statements(die_before=1, only="describe history `" + project.schema + "`.`letters__data` limit 20"):
        assert not project.run("2024-10-06").ok
    assert seen(project) == "A,B", "pinned readers can read what they are pinned to"
    assert project.dbt("run-operation", "ditto_release", "--args", "{model: letters}").ok
    assert seen(project, "letters__data") == "A,B"
    run_days(project, "06", "06")
    assert seen(project) == expected(DAYS, "2024-10-05", "2024-10-06")


@pytest.mark.slow
def test_interference_during_a_run_is_found(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """Somebody writes between the look at the table and the merge; the run says so, and so does the next attempt."""
    letters(project)
    run_days(project, "05")
    execute = Cursor.execute

    def disturbed(cursor: Cursor, sql: str, *parameters: object) -> None:
        if "merge into" in sql:
            project.spark.sql(f"delete from {project.schema}.letters where letter = 'B'")
        execute(cursor, sql, *parameters)

    monkeypatch.setattr(Cursor, "execute", disturbed)
    refused = project.run("2024-10-06")
    assert "commits by others to" in refused.text
    assert "version 2: DELETE by" in refused.text
    monkeypatch.undo()
    assert project.states("letters")["2024-10-06 00:00:00"] == "unfinished"
    refused = project.run("2024-10-06")
    assert "commits by others that going back to version 1 would undo" in refused.text
    letters(project, on_foreign_commits="warn")
    run_days(project, "06")
    assert seen(project) == expected(DAYS, "2024-10-05", "2024-10-06")


@pytest.mark.slow
def test_the_plan_of_a_range_is_what_happens(project: Project, capsys: pytest.CaptureFixture[str]) -> None:
    letters(project)
    project.model("report", "select count(*) as n from {{ ref('letters') }}", materialized="view")
    first = plan(project, capsys, execution_date="2024-10-05")
    assert [execution["mode"] for execution in first["executions"]] == ["first"]
    assert not project.spark.catalog.databaseExists(project.schema), "a plan touches nothing"
    for day in ("05", "06", "07", "08"):
        project.must_run(f"2024-10-{day}", model="letters")
    announced = plan(project, capsys, **{"from": "2024-10-06", "to": "2024-10-07"})
    executions = announced["executions"]
    assert [(row["execution_time"][:10], row["mode"], row["restore_version"]) for row in executions] == [
        ("2024-10-06", "backfill", 1),
        ("2024-10-07", "normal", None),
    ]
    assert executions[0]["becomes_stale"] == ["2024-10-07 00:00:00", "2024-10-08 00:00:00"]
    assert announced["stale_afterwards"] == ["2024-10-08 00:00:00"]
    assert [model["name"] for model in announced["downstream"]] == ["report"]
    assert [command[-12:-2] for command in announced["commands"]] == ["2024-10-06", "2024-10-07", "2024-10-08"]
    modes = [project.must_run(f"2024-10-{day}", model="letters").text for day in ("06", "07", "08")]
    assert [mode.split(":")[0] for mode in modes] == ["OK backfill", "OK normal", "OK normal"]
