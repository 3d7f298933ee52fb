"""A pytest plugin for ./scripts/test: the time of the whole run, lint and builds included, above pytest's summary."""

import os
import time

import pytest


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    seconds = int(time.time()) - int(os.environ["DITTO_TEST_STARTED"])
    terminalreporter.write_line(f"./scripts/test took {seconds // 60} min {seconds % 60} s in all")
