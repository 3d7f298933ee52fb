"""ditto_plan, ditto_freeze, ditto_evolve_units and the backfill of units."""

from __future__ import annotations

import json

import pytest

from scripts import backfill
from tests.functional.fast_metadata_cleaner.feed import SELECT, clicks, days, head, rows, units
from tests.support import Project, environment

WEEK = days("2024-10-07", 4)


def replay(project: Project, capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str]:
    capsys.readouterr()
    folder = str(project.path)
    with environment(DITTO_SCHEMA=project.schema):
        code = backfill.main(["clicks", *arguments, "--project-dir", folder, "--profiles-dir", folder])
    return code, capsys.readouterr().out


@pytest.mark.slow
def test_a_backfill_from_a_wednesday_replays_the_week(project: Project, capsys: pytest.CaptureFixture[str]) -> None:
    clicks(project)
    loaded = [*WEEK, "2024-10-14"]
    for day in loaded:
        project.must_run(day)
    wednesday = ["--from", "2024-10-09", "--to", "2024-10-09"]
    code, told = replay(project, capsys, *wednesday, "--dry-run")
    assert code == 0
    assert "all that is known of week 2024-10-07 is replayed" in told
    assert "2024-10-07          reset      prepare week 2024-10-07 anew (clicks__w20241007): the first exec" in told
    before = head(project, "w20241007")

    code, told = replay(project, capsys, *wednesday)
    assert code == 0, told
    assert "4 of 4  2024-10-10  slice" in told
    assert "clicks: no execution is stale" in told
    assert head(project, "w20241007") == before + 4
    assert project.rows("clicks") == rows(*loaded)

    # Only the slice; of a Monday too, which would otherwise prepare the week anew.
    code, told = replay(project, capsys, "--from", "2024-10-07", "--to", "2024-10-07", "--slice-only")
    assert code == 0, told
    assert "1 of 1  2024-10-07  slice" in told
    assert head(project, "w20241007") == before + 5
    assert project.rows("clicks") == rows(*loaded)
    assert set(project.states("clicks").values()) == {"live"}

    code, told = replay(project, capsys, *wednesday, "--resume")
    assert code == 1
    assert "cannot be told from the ledger" in told


def freeze_september(project: Project, *loaded: str) -> None:
    clicks(project, granularity="day", unit_column="unit", execution_time_column="loaded_for")
    for day in loaded:
        project.must_run(day)
    before = project.rows("clicks")
    assert sorted({str(row[4]) for row in before}) == list(loaded)

    # October goes on, so only September is closed.
    frozen = project.dbt("run-operation", "ditto_freeze", "--args", "{model: clicks}")
    assert frozen.ok, frozen.text
    assert units(project) == [*(f"d{day.replace('-', '')}" for day in loaded if day > "2024-10"), "frozen_202409"]
    assert project.rows("clicks") == before


@pytest.mark.slow
def test_frozen_months_are_immutable(project: Project) -> None:
    freeze_september(project, "2024-09-30", "2024-10-01")
    with pytest.raises(Exception, match="DELTA_CANNOT_MODIFY_APPEND_ONLY"):
        project.sql("delete from {schema}.clicks__frozen_202409")
    refused = project.run("2024-09-30")
    assert not refused.ok
    assert "day 2024-09-30 is frozen: its rows are in clicks__frozen_202409" in refused.text


@pytest.mark.slow
def test_frozen_months_become_years(project: Project, capsys: pytest.CaptureFixture[str]) -> None:
    loaded = ["2024-09-29", "2024-09-30", "2024-10-01", "2024-10-02"]
    freeze_september(project, *loaded)
    assert "frozen units: clicks__frozen_202409" in project.run("2024-10-02", "--full-refresh").text
    capsys.readouterr()
    assert project.dbt("run-operation", "ditto_freeze", "--args", "{model: clicks}").ok
    assert "clicks has no closed month to freeze" in capsys.readouterr().out

    # A year takes the frozen months along.
    project.must_run("2025-01-01")
    before = project.rows("clicks")
    assert project.dbt("run-operation", "ditto_freeze", "--args", "{model: clicks, into: year}").ok
    assert units(project) == ["d20250101", "frozen_2024"]
    assert project.rows("clicks") == before
    assert sorted({str(row[4]) for row in before}) == [*loaded, "2025-01-01"]
    assert set(project.states("clicks").values()) == {"live"}
    assert project.dbt("run-operation", "ditto_verify").ok
    assert project.dbt("run-operation", "ditto_vacuum", "--args", "{model: clicks}").ok


EVOLVE = ["run-operation", "ditto_evolve_units", "--args", "{model: clicks}"]


@pytest.mark.slow
def test_a_new_column_reaches_old_units(project: Project) -> None:
    clicks(project, granularity="day")
    project.must_run("2024-10-07")
    clicks(project, SELECT.replace("as id,", "as id, cast(1.5 as decimal(3,1)) as price,"), granularity="day")
    project.must_run("2024-10-08")
    shown = project.sql("describe {schema}.clicks")
    assert [row[:2] for row in shown] == [
        ("id", "int"), ("loaded", "string"), ("day", "date"), ("price", "decimal(3,1)")
    ]  # fmt: skip
    assert [row[3] is None for row in project.rows("clicks")] == [True, False, True, False]
    before = project.rows("clicks")

    assert project.dbt(*EVOLVE).ok
    assert "price" in [row[0] for row in project.sql("describe {schema}.clicks__d20241007")]
    assert project.rows("clicks") == before


@pytest.mark.slow
def test_columns_that_units_do_not_share(project: Project, capsys: pytest.CaptureFixture[str]) -> None:
    clicks(project, granularity="day")
    project.must_run("2024-10-07")
    capsys.readouterr()
    assert project.dbt(*EVOLVE).ok
    assert "every unit of clicks has every column" in capsys.readouterr().out

    # A type that cannot stand beside the other units' is refused before anything is made.
    clicks(project, SELECT.replace("as id,", "as id, cast(1.5 as decimal(3,1)) as price,"), granularity="day")
    project.must_run("2024-10-08")
    clicks(project, SELECT.replace("'{{ ditto.execution_time() }}' as loaded", "1 as loaded"), granularity="day")
    refused = project.run("2024-10-09")
    assert "loaded (string -> int)" in refused.text
    assert units(project) == ["d20241007", "d20241008"]
    # A unit without a column that others have: null.
    clicks(project, granularity="day", max_units=3)
    project.must_run("2024-10-09")
    assert [row[3] for row in project.rows("clicks") if row[1].startswith("2024-10-09")] == [None, None]
    assert "4 units with this one, max_units: 3" in project.run("2024-10-10").text


def test_the_plan_as_json(project: Project, capsys: pytest.CaptureFixture[str]) -> None:
    clicks(project)
    arguments = json.dumps({"model": "clicks", "from": "2024-12-29", "to": "2025-01-07", "format": "json"})
    capsys.readouterr()
    assert project.dbt("run-operation", "ditto_plan", "--args", arguments).ok
    plan = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert [(each["execution_time"][:10], each["mode"], each["unit"]) for each in plan["executions"]] == [
        ("2024-12-29", "reset", "clicks__w20241223"),
        ("2024-12-30", "reset", "clicks__w20241230"),
        ("2024-12-31", "slice", "clicks__w20241230"),
        ("2025-01-01", "reset", "clicks__w20250101"),
        ("2025-01-02", "slice", "clicks__w20250101"),
        ("2025-01-03", "slice", "clicks__w20250101"),
        ("2025-01-04", "slice", "clicks__w20250101"),
        ("2025-01-05", "slice", "clicks__w20250101"),
        ("2025-01-06", "reset", "clicks__w20250106"),
        ("2025-01-07", "slice", "clicks__w20250106"),
    ]
    assert project.sql("show schemas like '{schema}'") == []
