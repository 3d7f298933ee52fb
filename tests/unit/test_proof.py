"""docs/proof.md is written from what the tests of ./scripts/prove have noted, and only from that."""

from __future__ import annotations

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
    assert without("README.md") == []


def test_every_test_of_trouble_belongs_to_a_part() -> None:
    chaos = {name for name in prove.tracked() if name.startswith("tests/chaos/test_")}
    assert chaos == {test for part in prove.PARTS.values() for test in part.tests if test.startswith("tests/chaos/")}
