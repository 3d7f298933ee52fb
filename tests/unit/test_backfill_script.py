"""What scripts/backfill decides without dbt."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from types import SimpleNamespace
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

    def plan(self, model: str, first: str, given: Any, own: str | None = None) -> tuple[str, dict[str, Any]]:
        self.asked.append((model, given.slice_only))
        known = plan(self.patterns[model], d05="live") | {"interval": "day", "downstream": []}
        return model, known | ({"downstream": readers(*self.patterns)} if model == "visits" else {})


def readers(*names: str, **intervals: str) -> list[dict[str, Any]]:
    found = dict.fromkeys(names) | intervals
    return [
        {"name": name, "ditto": True, "reads": ["visits"], "resource_type": "model", "interval": interval}
        for name, interval in found.items()
        if name != "visits"
    ]


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
        raise backfill.Stop("seen")

    (tmp_path / "dbt_project.yml").touch()
    monkeypatch.setattr(backfill, "gather", gather)
    assert backfill.main(["visits", *DAYS, "--project-dir", str(tmp_path), "--vars", "{a: b}", *flags]) == 1
    assert seen == [{"a": "b"} | ({"ditto_slice_only": True} if told else {})]


def test_units_cannot_be_resumed(capsys: pytest.CaptureFixture[str]) -> None:
    given = backfill.parser().parse_args(["visits", *DAYS, "--resume"])
    work = backfill.Work({"visits": plan("fast_metadata_cleaner", d05="live", d06="stale")}, ["visits"])
    with pytest.raises(backfill.Stop, match="what was replayed cannot be told from the ledger"):
        backfill.resume(Planner(visits="fast_metadata_cleaner"), given, work)


class Hours:
    """dbt with `visits` by the hour, which others read: each by its own interval."""

    def __init__(self, times: dict[str, list[str]], **intervals: str) -> None:
        self.times, self.intervals = times, intervals
        self.asked = dict[str, str | None]()
        self.ran = list[tuple[str, list[str]]]()

    def plan(self, model: str, first: str, given: Any, own: str | None = None) -> tuple[str, dict[str, Any]]:
        self.asked[model] = own
        executions = [{"execution_time": time, "status": None, "problems": []} for time in self.times[model]]
        found = readers(*self.times, **self.intervals) if model == "visits" else []
        return model, {"pattern": "merger", "executions": executions, "interval": "hour", "downstream": found}

    def run(self, dbt: Any, models: list[str], date: str, label: str) -> None:
        self.ran.append((date[8:13], models))


def test_each_date_runs_the_models_that_have_it(monkeypatch: pytest.MonkeyPatch) -> None:
    given = backfill.parser().parse_args(
        ["visits", "--from", "2024-10-07T22:00:00", "--to", "2024-10-08T01:00:00", "--downstream", "--interval", "hour"]
    )
    hours = [f"2024-10-0{day} {hour}:00:00" for day, hour in ((7, 22), (7, 23), (8, "00"), (8, "01"))]
    times = {"visits": hours, "copies": hours, "daily": ["2024-10-08 00:00:00"], "monthly": []}
    dbt = Hours(times, copies="hour", daily="day", monthly="month")
    work = backfill.gather(dbt, given, given.first)
    # A model keeps its own interval, and is not made one of hours because --interval says so for `visits`.
    assert dbt.asked == {"visits": None, "copies": None, "daily": "day", "monthly": "month"}
    monkeypatch.setattr(backfill, "run", dbt.run)
    backfill.replay(dbt, given, work, 0)
    assert dbt.ran == [
        ("07 22", ["visits", "copies"]),
        ("07 23", ["visits", "copies"]),
        ("08 00", ["visits", "copies", "daily"]),
        ("08 01", ["visits", "copies"]),
    ]
    assert work.others == ["monthly"]
    assert work.texts[-1] == "monthly: the range has no execution of it (interval: month)"


def test_what_lies_between_runs_on_every_date() -> None:
    plans = {"visits": plan(d05=None, d06=None), "weekly": plan(d05=None)}
    work = backfill.Work(plans, ["visits", "clean", "weekly"])
    assert work.models("2024-10-05 00:00:00") == ["visits", "clean", "weekly"]
    assert work.models("2024-10-06 00:00:00") == ["visits", "clean"]


def test_where_all_is_live_nobody_knows_what_was_replayed() -> None:
    """Killed before the first intent, the ledger is as it is after the last commit."""
    given = backfill.parser().parse_args(["devices", *DAYS, "--resume"])
    work = backfill.Work({"devices": plan(d05="live", d06="live", d07="live")}, ["devices"])
    with pytest.raises(backfill.Stop) as stopped:
        backfill.resume(Planner(devices="stateful_merge"), given, work)
    told = str(stopped.value)
    assert "all 3 executions of the range are live" in told
    assert "either the backfill was complete, or nothing was replayed yet" in told
    assert told.endswith(f"{backfill.PROGRAM} devices --from 2024-10-05 --to 2024-10-07")


def test_the_rest_is_planned_as_part_of_the_whole_range(monkeypatch: pytest.MonkeyPatch) -> None:
    """The row of executions begins with the range, not with the one at which it goes on."""
    given = backfill.parser().parse_args(["devices", *DAYS, "--resume"])
    dbt = backfill.Dbt(Path(), [], {})
    asked: list[dict[str, Any]] = []

    def invoke(*arguments: str, execution_date: str) -> SimpleNamespace:
        asked.append(json.loads(arguments[-1]))
        dbt.printed[:] = ["text", json.dumps(plan(d06="stale", d07="stale") | {"downstream": []})]
        return SimpleNamespace(success=True)

    monkeypatch.setattr(dbt, "invoke", invoke)
    work = backfill.Work({"devices": plan(d05="live", d06="stale", d07="stale")}, ["devices"])
    _, skipped = backfill.resume(dbt, given, work)
    assert skipped == 1
    assert [(each["from"], each["start"], each["to"]) for each in asked] == [("2024-10-05", "2024-10-06", "2024-10-07")]


@pytest.mark.parametrize(
    ("plans", "skipped"),
    [
        ([plan(d05="live", d06="live", d07="live")], 3),
        ([plan(d05="live", d06="stale", d07="stale")], 1),
        ([plan(d05="live", d06=None, d07="live")], 1),  # a replay of the 6th makes the 7th stale
        ([plan(d05="unfinished", d06="live")], 0),
        # With several models, the latest that one of them has replayed may be missing in another.
        ([plan(d05="live", d06="stale", d07="stale"), plan(d05="live", d06="live", d07="live")], 0),
        ([plan(d05="live", d06="live", d07="stale"), plan(d05="live", d06="stale", d07="stale")], 0),
        ([plan(d05="live", d06="live", d07="live"), plan(d05="live", d06="live", d07="stale")], 1),
        ([plan(d05="live", d06="live", d07="released"), plan(d05="live", d06="live", d07="live")], 1),
        ([plan(d05="stale", d06="stale"), plan(d05="live", d06="live")], 0),
        # Dates of one model alone do not count as the step back of another.
        ([plan(d04="live", d07="stale"), plan(d05="live", d06="live")], 0),
        ([plan(d05="live", d06="live"), plan(d05="live", d06="live")], 2),
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


def test_what_fails_at_the_end_is_all_that_is_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All dates are live then, so the whole backfill would be asked for again, or nothing."""

    def run(dbt: backfill.Dbt, models: list[str], date: str, label: str) -> None:
        if models == ["report"]:
            raise backfill.Stop("no such column")

    monkeypatch.setattr(backfill, "run", run)
    monkeypatch.setattr(backfill, "refuse", lambda work, date: None)
    dbt = backfill.Dbt(tmp_path, ["--target", "thrift"], {"a": "b"})
    given = backfill.parser().parse_args(["devices", *DAYS, "--downstream"])
    work = backfill.Work({"devices": plan(d05="live", d06="live")}, ["devices"], at_the_end=["report"])
    with pytest.raises(backfill.Stop) as stopped:
        backfill.replay(dbt, given, work, 0)
    text = str(stopped.value)
    assert text.startswith("no such column\n\nall dates are done")
    assert 'dbt run --select report --target thrift --vars \'{"a": "b", "execution_date": "2024-10-06"}\'' in text
