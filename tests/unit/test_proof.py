"""docs/proof.md is written from what the tests of ./scripts/prove have noted, and only from that."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import prove
from proof_page import page

CRASH = {"kind": "crash", "pattern": "merger", "mode": "normal", "variant": "", "point": "before"}


def written(*lines: dict[str, Any], minutes: int | None = None) -> str:
    result = SimpleNamespace(tests=len(lines), seconds=120, lines=list(lines))
    return page({"crashes": "Every command dies", "load": "Much of it"}, {"crashes": result}, minutes)


def test_each_crash_is_a_line_of_the_table() -> None:
    text = written({**CRASH, "statement": "merge into `merged`"}, {**CRASH, "statement": "a | b"})
    assert "| merger | normal | before | `merge into merged` | same |" in text
    assert "| merger | normal | before | `a / b` | same |" in text
    assert "**2 crashes; 2 tests, 2 minutes, all parts added up" in text


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


def test_a_part_depends_on_the_package_and_on_its_own_tests() -> None:
    names = prove.tracked()
    before = {name: prove.fingerprint(part, names) for name, part in prove.PARTS.items()}

    def without(*left_out: str) -> list[str]:
        rest = [name for name in names if name not in left_out]
        return [name for name, part in prove.PARTS.items() if prove.fingerprint(part, rest) != before[name]]

    assert without("macros/shared/runner.sql") == list(prove.PARTS)
    assert without("tests/chaos/test_cluster.py") == ["cluster"]
    assert without("tests/chaos/crew.py") == ["concurrency"]
    assert without("tests/functional/bad_input/cases.py") == ["bad_input"]
    # Imported by what its tests import.
    assert "connection" in without("tests/functional/file_ingest/landing.py")
    assert without("README.md") == []


def test_every_test_of_trouble_belongs_to_a_part() -> None:
    chaos = {name for name in prove.tracked() if name.startswith("tests/chaos/test_")}
    assert chaos == {test for part in prove.PARTS.values() for test in part.tests if test.startswith("tests/chaos/")}


def test_a_test_that_passed_is_not_run_again(tmp_path: Path) -> None:
    """The first run fails in one of two tests; the second has only that one to run, and then the part is green."""
    record, tests = tmp_path / "record.jsonl", tmp_path / "test_two.py"
    text = (
        "import os, json\n"
        "def note(n):\n"
        "    test = os.environ['PYTEST_CURRENT_TEST'].rsplit(' ', 1)[0]\n"
        "    line = json.dumps({'kind': 'crash', 'test': test, 'n': n})\n"
        "    open(os.environ['DITTO_PROOF'], 'a').write(line + '\\n')\n"
        "def test_one(): note(1)\n"
        "def test_two(): note(2); assert os.path.exists('mended')\n"
    )
    tests.write_text(text)
    environment = {**os.environ, "DITTO_PROOF": str(record), "PYTHONPATH": str(prove.ROOT / "scripts" / "lib")}
    command = [sys.executable, "-m", "pytest", "-p", "proof_record", "-v", tests.name]

    def run() -> tuple[int, str]:
        prove.forget_what_failed(record)
        done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
        return done.returncode, done.stdout

    assert run()[0] == 1
    (tmp_path / "mended").touch()
    for code, to_run in ((0, 1), (0, 0)):
        result, output = run()
        assert (result, f"proof: {to_run} to run, {2 - to_run} passed before" in output) == (code, True), output
    assert [line["n"] for line in prove.result_of(record).lines] == [1, 2]
    assert prove.result_of(record).tests == 2


def test_a_record_is_green_when_a_run_ended_well(tmp_path: Path) -> None:
    record = tmp_path / "record.jsonl"
    ran = [{"kind": "ran", "seconds": 5, "green": False}, {"kind": "ran", "seconds": 7, "green": True}]
    record.write_text("".join(json.dumps(line) + "\n" for line in ran[:1]))
    assert not prove.result_of(record).green
    record.write_text("".join(json.dumps(line) + "\n" for line in ran))
    assert prove.result_of(record).green and prove.result_of(record).seconds == 12
