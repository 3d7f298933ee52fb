"""docs/proof.md is written from what the tests of ./scripts/prove have noted, and only from that."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import prove
import pytest
from proof_page import page, summary

CRASH = {"kind": "crash", "pattern": "merger", "mode": "normal", "variant": "", "point": "before"}


def written(*lines: dict[str, Any], minutes: int = 3, of: int = 0) -> str:
    results = {
        "crashes": SimpleNamespace(tests=len(lines), of=of, seconds=120, lines=list(lines)),
        "load": SimpleNamespace(tests=0, of=0, seconds=0, lines=[]),
    }
    return page({"crashes": "Every command dies", "load": "Much of it"}, results, minutes, "1234567")


def test_each_crash_is_a_line_of_the_table() -> None:
    text = written({**CRASH, "statement": "merge into `merged`"}, {**CRASH, "statement": "a | b"})
    assert "| merger | normal | before | `merge into merged` | same |" in text
    assert "| merger | normal | before | `a / b` | same |" in text
    assert "**2 crashes; 2 tests, 3 minutes by the clock" in text
    assert "It is about commit `1234567`." in text


def test_rounds_are_added_up() -> None:
    line = {"kind": "round", "round": "same date", "processes": 4, "succeeded": 3, "refused": {"lease": 1}}
    assert "| same date | 4 | 2 | 6 | 2 |" in written(line, line)


def test_times_are_counted() -> None:
    lost = {"kind": "lost", "what": "worker", "pattern": "merger", "mode": "first", "outcome": "finished"}
    assert "| worker | merger | first | finished | 2 |" in written(lost, lost)


def test_a_kind_of_which_nothing_was_noted_has_no_section() -> None:
    text = written({"kind": "history", "pattern": "merger", "steps": ["run", "crash"]}, minutes=7)
    assert "| merger | 1 | 2 | 0 |" in text and "7 minutes by the clock" in text
    assert "## Crashes" not in text


def test_a_part_that_did_not_run_is_called_so() -> None:
    assert "| `--only load` | Much of it | not run for this state |  |" in written()
    crash = {**CRASH, "statement": "merge"}
    assert "| `--only crashes` | Every command dies | 1 of 7 so far | 2 |" in written(crash, of=7)
    assert "| `--only crashes` | Every command dies | 1 | 2 |" in written(crash, of=1)


def test_a_part_depends_on_the_package_and_on_its_own_tests() -> None:
    names = prove.tracked()
    before = {name: prove.fingerprint(part, names) for name, part in prove.PARTS.items()}

    def without(*left_out: str) -> list[str]:
        rest = [name for name in names if name not in left_out]
        return [name for name, part in prove.PARTS.items() if prove.fingerprint(part, rest) != before[name]]

    assert without("macros/shared/runner.sql") == list(prove.PARTS)
    assert without("scripts/lib/jars.py") == list(prove.PARTS), "which Delta it is"
    servers = ["connection", "concurrency", "kills", "power_cuts", "cluster"]
    assert without("scripts/thrift_server.py") == servers, "how the server is set up"
    assert without("tests/chaos/test_cluster.py") == ["cluster"]
    assert without("tests/chaos/crew.py") == ["concurrency"]
    assert without("tests/functional/bad_input/cases.py") == ["bad_input"]
    # Imported by what its tests import.
    assert "connection" in without("tests/functional/file_ingest/landing.py")
    assert without("README.md") == []


def test_what_ran_while_its_files_were_changed_is_not_on_record(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(prove, "RECORDS", tmp_path)
    names = prove.tracked()
    states = {name: prove.fingerprint(part, names) for name, part in prove.PARTS.items()}
    for name in ("load", "kills"):
        (tmp_path / f"{name}.jsonl").write_text("{}")
    runs = [{"tried": {"load": "x"}, "seconds": 1}, {"tried": {"load": "x", "kills": "y"}, "seconds": 2}]
    (tmp_path / "clock.json").write_text(json.dumps(runs))
    assert prove.forget_changed(["load", "kills"], {**states, "load": "another"}) == ["load"]
    assert not (tmp_path / "load.jsonl").exists() and (tmp_path / "kills.jsonl").exists()
    assert json.loads((tmp_path / "clock.json").read_text()) == [{"tried": {"kills": "y"}, "seconds": 2}]


def test_the_matrix_on_the_screen() -> None:
    lines = [CRASH, CRASH, {**CRASH, "mode": "replay"}, {**CRASH, "pattern": "ditto_freeze"}, {"kind": "load"}]
    assert [line.split() for line in summary(lines)] == [
        ["crashes", "that", "held", "normal", "replay"],
        ["merger", "2", "1"],
        ["ditto_freeze", "1"],
    ]
    assert list(summary([])) == []


def test_every_test_of_trouble_belongs_to_a_part() -> None:
    chaos = {name for name in prove.tracked() if name.startswith("tests/chaos/test_")}
    assert chaos == {test for part in prove.PARTS.values() for test in part.tests if test.startswith("tests/chaos/")}


TWO = """
import json, os, pathlib, pytest

def note(number):
    test = os.environ["PYTEST_CURRENT_TEST"].rsplit(" ", 1)[0]
    with open(os.environ["DITTO_PROOF"], "a") as record:
        record.write(json.dumps({"kind": "crash", "test": test, "number": number}) + chr(10))

def test_one():
    note(1)

@pytest.mark.slow
def test_two():
    note(2)
    assert pathlib.Path("mended").exists()
"""


def test_a_test_that_passed_is_not_run_again(tmp_path: Path) -> None:
    """The first run fails in one of two tests; the second has only that one to run; the third has none."""
    record = tmp_path / "record.jsonl"
    (tmp_path / "test_two.py").write_text(TWO)
    (tmp_path / "pytest.ini").write_text("[pytest]\nmarkers =\n    slow: slow\n")
    part = {"tests": ["test_two.py"], "record": str(record), "chosen": True}
    environment = {
        **os.environ,
        "DITTO_PROOF_PARTS": json.dumps({"two": part}),
        "PYTHONPATH": str(prove.ROOT / "scripts" / "lib"),
    }
    command = [sys.executable, "-m", "pytest", "-p", "proof_record", "-v", "test_two.py"]
    record.write_text('{"kind": "state", "state": "s"}\n')

    def run() -> tuple[int, str]:
        lines = prove.recorded(record, "s")
        record.write_text("".join(json.dumps(line) + "\n" for line in lines))
        done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
        return done.returncode, done.stdout

    code, output = run()
    assert code == 1 and "proof: two 2 of 2 to run" in output, output
    assert re.search("^proof: two failed 0 s test_two.py::test_two$", output, re.MULTILINE), output
    assert not prove.result_of(prove.recorded(record, "s")).green
    (tmp_path / "mended").touch()
    for left in (1, 0):
        code, output = run()
        assert code == 0 and f"proof: two {left} of 2 to run" in output, output
    result = prove.result_of(prove.recorded(record, "s"))
    assert result.green and result.tests == 2 and [line["number"] for line in result.lines] == [1, 2]
    # Of another state of the files it says nothing.
    assert prove.recorded(record, "t") == [] and not prove.result_of([]).green


def test_every_run_for_these_files_is_on_the_clock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prove, "RECORDS", tmp_path)
    states = {"load": "a", "kills": "a"}
    assert prove.by_the_clock("first", states, states, 300) == 5
    # It is noted with each of its lines, so that it counts even if it is killed.
    assert prove.by_the_clock("first", states, states, 600) == 10
    assert prove.by_the_clock("second", {"load": "a"}, states, 120) == 12
    # Nothing was left to run.
    assert prove.by_the_clock("third", {}, states, 60) == 12
    # The files of one part have changed since: what the first run says of the other one still counts.
    assert prove.by_the_clock("fourth", {"load": "b"}, {**states, "load": "b"}, 60) == 11


def test_what_a_run_says_becomes_progress(capsys: pytest.CaptureFixture[str]) -> None:
    ticks: list[None] = []
    progress = prove.Progress(lambda: ticks.append(None))
    progress.read("proof: kills 2 of 28 to run\n")
    progress.read("proof: kills passed 61 s tests/chaos/test_kills.py::test_x[proxy_view, tables]\n")
    shown = capsys.readouterr().out
    assert "2 of 28 tests to run" in shown and " 27 of 28  passed  test_x[proxy_view, tables] (61 s)" in shown
    assert len(ticks) == 2
