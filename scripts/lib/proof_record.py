"""A pytest plugin for ./scripts/prove: notes what passed, leaves out what passed before, and says each test's verdict.

The record (DITTO_PROOF) is what resuming depends on: a test that is in it as passed for the same files is not run
again. What the tests note themselves (`tests.support.note`) stands there too, with the name of the test.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

RECORD = Path(os.environ["DITTO_PROOF"])
SIGN = "proof:"
_plugins: dict[str, pytest.TerminalReporter] = {}


def passed_before() -> set[str]:
    lines = (json.loads(line) for line in RECORD.read_text().splitlines()) if RECORD.exists() else ()
    return {line["test"] for line in lines if line["kind"] == "passed"}


def pytest_sessionstart(session: pytest.Session) -> None:
    _plugins["terminal"] = session.config.pluginmanager.getplugin("terminalreporter")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    done = passed_before()
    known = [item for item in items if item.nodeid in done]
    items[:] = [item for item in items if item.nodeid not in done]
    config.hook.pytest_deselected(items=known)
    _plugins["terminal"].write_line(f"{SIGN} {len(items)} to run, {len(known)} passed before")


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    if report.when == "call" or report.failed:
        _plugins["terminal"].write_line(f"\n{SIGN} {report.outcome} {report.nodeid}")
        if report.passed:
            with RECORD.open("a") as record:
                record.write(json.dumps({"kind": "passed", "test": report.nodeid}) + "\n")


def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    """Nothing left to run is no failure."""
    if exitstatus == pytest.ExitCode.NO_TESTS_COLLECTED and passed_before():
        session.exitstatus = pytest.ExitCode.OK
