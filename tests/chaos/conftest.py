"""One thrift server for all the tests that only need one that works."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.chaos.server import Server, started
from tests.support import Project, make_project


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with started(tmp_path_factory.mktemp("thrift_home")) as server:
        yield server


@pytest.fixture
def remote(server: Server, tmp_path: Path) -> Project:
    return make_project(tmp_path, f"r{time.time_ns()}", spark=None)


@pytest.fixture
def show(request: pytest.FixtureRequest) -> Callable[[list[str]], None]:
    """Lines for whoever watches the run: what a test prints is shown only if it fails."""
    capture = request.config.pluginmanager.getplugin("capturemanager")

    def write(lines: list[str]) -> None:
        with capture.global_and_fixture_disabled():
            print("\n" + "\n".join(f"    {line}" for line in lines), flush=True)

    return write
