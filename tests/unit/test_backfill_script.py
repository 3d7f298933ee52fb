"""What scripts/backfill decides without dbt."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import backfill
import pytest

DAYS = ["--from", "2024-10-05", "--to", "2024-10-07"]


def plan(pattern: str = "stateful_merge", **statuses: str | None) -> dict[str, Any]:
    executions = [
        {"execution_time": f"2024-10-{day[1:]} 00:00:00", "status": status} for day, status in statuses.items()
    ]
    return {"pattern": pattern, "executions": executions}


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["devices", "--from", "2024-10-07", "--to", "2024-10-05"], "--from 2024-10-07 lies after --to 2024-10-05"),
        (["devices", "--from", "yesterday", "--to", "2024-10-05"], "yesterday is no date (2024-10-07)"),
        (["devices", "--from", "2024-02-30", "--to", "2024-03-05"], "2024-02-30 is no date"),
        (["devices", "--from", "2024-10-05T00:00:00Z", "--to", "2024-10-05"], "either both have a time zone or none"),
        (["devices", *DAYS, "--interval", "year"], "invalid choice: 'year'"),
        (["devices", *DAYS, "--vars", "[1]"], "--vars is no YAML mapping"),
        (["devices", *DAYS, "--vars", "{"], "--vars is no YAML"),
        (["devices", "--from", "2024-10-05"], "the following arguments are required: --to"),
    ],
)
def test_mistakes_in_the_arguments(arguments: list[str], told: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        backfill.main(arguments)
    assert stopped.value.code == 2
    assert told in capsys.readouterr().err


def test_no_project_and_no_dbt(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    arguments = ["devices", *DAYS, "--project-dir", str(tmp_path)]
    assert backfill.main(arguments) == 1
    assert "has no dbt_project.yml" in capsys.readouterr().out
    monkeypatch.setitem(sys.modules, "dbt.cli.main", None)
    assert backfill.main(arguments) == 1
    assert "has no dbt\n" in capsys.readouterr().out


def test_a_command_to_be_copied() -> None:
    given = backfill.parser().parse_args(["devices", *DAYS, "--vars", "{a: b}", "--downstream", "--resume"])
    assert backfill.command_for(given, first="2024-10-06") == (
        f"{backfill.PROGRAM} devices --from 2024-10-06 --to 2024-10-07 --vars '{{a: b}}' --downstream"
    )


def test_slices_only_is_part_of_the_command_to_be_copied() -> None:
    given = backfill.parser().parse_args(["visits", *DAYS, "--slice-only"])
    assert given.slice_only is True
    assert backfill.command_for(given) == f"{backfill.PROGRAM} visits --from 2024-10-05 --to 2024-10-07 --slice-only"
    whole = backfill.parser().parse_args(["visits", *DAYS])
    assert whole.slice_only is False
    assert "slice-only" not in backfill.command_for(whole)


class Planner:
    """dbt, as far as `gather` asks it: the plan of a model."""

    def __init__(self, **patterns: str) -> None:
        self.patterns, self.asked = patterns, list[tuple[str, bool]]()

    def plan(self, model: str, first: str, given: Any) -> tuple[str, dict[str, Any]]:
        self.asked.append((model, given.slice_only))
        readers = [
            {"name": name, "ditto": True, "reads": ["visits"], "resource_type": "model"}
            for name in self.patterns
            if name != "visits"
        ]
        return model, plan(self.patterns[model], d05="live") | {"downstream": readers if model == "visits" else []}


@pytest.mark.parametrize("pattern", ["insert_overwrite", "merger", "stateful_merge"])
def test_only_units_have_slices(pattern: str) -> None:
    given = backfill.parser().parse_args(["visits", *DAYS, "--slice-only"])
    with pytest.raises(backfill.Stop, match=rf"--slice-only with visits \({pattern}\), which has no units"):
        backfill.gather(Planner(visits=pattern), given, given.first)


def test_every_model_with_units_is_planned_with_slices_only() -> None:
    given = backfill.parser().parse_args(["visits", *DAYS, "--slice-only", "--downstream"])
    planner = Planner(visits="fast_metadata_cleaner", weekly="fast_metadata_cleaner", daily="insert_overwrite")
    work = backfill.gather(planner, given, given.first)
    assert planner.asked == [("visits", True), ("weekly", True), ("daily", True)]
    assert work.every_date == ["visits", "weekly", "daily"]


@pytest.mark.parametrize(("flags", "told"), [(["--slice-only"], True), ([], False)])
def test_every_run_is_told_that_it_is_only_a_slice(
    flags: list[str], told: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The plan takes it as an argument, and the runs as a var."""
    seen: list[dict[str, Any]] = []

    def gather(dbt: Any, given: Any, first: str) -> backfill.Work:
        seen.append(dbt.variables)
        raise backfill.Done("seen")

    (tmp_path / "dbt_project.yml").touch()
    monkeypatch.setattr(backfill, "gather", gather)
    assert backfill.main(["visits", *DAYS, "--project-dir", str(tmp_path), "--vars", "{a: b}", *flags]) == 0
    assert seen == [{"a": "b"} | ({"ditto_slice_only": True} if told else {})]


def test_units_cannot_be_resumed(capsys: pytest.CaptureFixture[str]) -> None:
    given = backfill.parser().parse_args(["visits", *DAYS, "--resume"])
    work = backfill.Work({"visits": plan("fast_metadata_cleaner", d05="live", d06="stale")}, ["visits"])
    with pytest.raises(backfill.Stop, match="what was replayed cannot be told from the ledger"):
        backfill.resume(Planner(visits="fast_metadata_cleaner"), given, work)


@pytest.mark.parametrize(
    ("plans", "skipped"),
    [
        ([plan(d05="live", d06="live", d07="live")], 3),
        ([plan(d05="live", d06="stale", d07="stale")], 1),
        ([plan(d05="live", d06=None, d07="live")], 1),  # a replay of the 6th makes the 7th stale
        ([plan(d05="unfinished", d06="live")], 0),
        ([plan(d05="live", d06="live"), plan(d05="live", d06="released")], 1),
    ],
)
def test_only_live_executions_at_the_beginning_are_skipped(plans: list[dict[str, Any]], skipped: int) -> None:
    work = backfill.Work({str(number): each for number, each in enumerate(plans)}, ["0"])
    assert work.replayed() == skipped


def test_what_a_ditto_model_reads_runs_on_every_date() -> None:
    def model(name: str, ditto: bool, *reads: str) -> dict[str, Any]:
        return {"name": name, "ditto": ditto, "reads": list(reads)}

    models = [model("clean", False, "start"), model("exact", True, "clean", "seed"), model("report", False, "exact")]
    assert backfill.on_the_way(models) == {"clean", "exact"}
