"""A pytest plugin for ./scripts/prove: notes what passed, leaves out what passed before, and says each test's verdict.

DITTO_PROOF_PARTS says which tests belong to which part, and where the record of a part is: resuming depends on it. What
the tests note themselves (`tests.support.note`) stands there too, with the name of the test.
"""

from __future__ import annotations

import json
import os
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import pytest

PARTS: dict[str, dict[str, Any]] = json.loads(os.environ["DITTO_PROOF_PARTS"])
terminal: list[pytest.TerminalReporter] = []
seconds: Counter[str] = Counter()
failed: set[str] = set()


def part_of(test: str) -> str:
    """The part that names its file or folder most exactly."""
    named = [(len(path), name) for name, part in PARTS.items() for path in part["tests"] if test.startswith(path)]
    return max(named)[1]


def record_of(test: str) -> Path:
    return Path(PARTS[part_of(test)]["record"])


def write(record: Path, **line: Any) -> None:
    with record.open("a") as lines:
        lines.write(json.dumps(line) + "\n")


def passed_before(record: Path) -> set[str]:
    lines = (json.loads(line) for line in record.read_text().splitlines()) if record.exists() else ()
    return {line["test"] for line in lines if line["kind"] == "passed"}


def pytest_sessionstart(session: pytest.Session) -> None:
    terminal.append(session.config.pluginmanager.getplugin("terminalreporter"))


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    parts: dict[str, list[pytest.Item]] = defaultdict(list)
    for item in items:
        name = part_of(item.nodeid)
        if PARTS[name]["chosen"]:
            parts[name].append(item)
    left: set[pytest.Item] = set()
    for name, own in parts.items():
        record = Path(PARTS[name]["record"])
        done = passed_before(record)
        to_run = [item for item in own if item.nodeid not in done]
        left |= set(to_run)
        write(record, kind="collected", tests=len(own))
        terminal[0].write_line(f"\nproof: {name} {len(to_run)} of {len(own)} to run")
    config.hook.pytest_deselected(items=[item for item in items if item not in left])
    items[:] = [item for item in items if item in left]


def pytest_runtest_setup(item: pytest.Item) -> None:
    os.environ["DITTO_PROOF"] = str(record_of(item.nodeid))


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    test = report.nodeid
    seconds[test] += report.duration
    if not report.passed:
        failed.add(test)
        terminal[0].write_line(f"\n{report.longreprtext}")  # now, and not when all the others are done
    if report.when != "teardown":
        return
    verdict = "failed" if test in failed else "passed"
    if verdict == "passed":
        write(record_of(test), kind="passed", test=test, seconds=round(seconds[test], 1))
    terminal[0].write_line(f"\nproof: {part_of(test)} {verdict} {round(seconds[test])} s {test}")


def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    """Nothing left to run is no failure."""
    if exitstatus == pytest.ExitCode.NO_TESTS_COLLECTED:
        session.exitstatus = pytest.ExitCode.OK
