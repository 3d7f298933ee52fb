"""Everything dies by SIGKILL in the middle of a long statement, the server included; then all of it starts again."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from scripts.thrift_server import answers
from tests.chaos.kills import CASES, Crew, arguments, check, commits, crews, hit, kill, make, one_more
from tests.chaos.server import Server, started, wait_for
from tests.support import Project, make_project, note

pytestmark = pytest.mark.slow

CREWS = crews([case for case in CASES if case.operation != "ditto_retry_dead_letters"])


@pytest.fixture(scope="module")
def mortal(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A thrift server of its own, since it is killed."""
    with started(tmp_path_factory.mktemp("mortal_home")) as server:
        yield server


@pytest.fixture
def remote(tmp_path: Path) -> Project:
    return make_project(tmp_path, f"r{time.time_ns()}", spark=None)


@pytest.mark.parametrize("crew", CREWS.values(), ids=CREWS)
def test_power_cut(mortal: Server, remote: Project, crew: Crew) -> None:
    def cut(process: subprocess.Popen[str]) -> None:
        kill(process)  # first: without its server it would end by itself
        os.killpg(mortal.pid, signal.SIGKILL)
        wait_for(lambda: not answers(mortal.port))  # a large process takes a moment to die

    mortal.start()  # unless it runs: the test before this one may have failed half way
    make(mortal, remote, crew)
    victim = hit(mortal, remote, crew, cut)
    mortal.start()
    left = {case.model: commits(mortal, remote, case.model) for case in crew}
    mortal.inside(remote, *arguments(crew))
    for case in crew:
        written = commits(mortal, remote, case.model) - left[case.model]
        assert written or victim.fell[case.model] == "after commit", case.name
    check(mortal, remote, crew)
    for case in crew:
        note("kill", depth="everything", **victim.facts(mortal, remote, case))
    one_more(mortal, remote, crew)
