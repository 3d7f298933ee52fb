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
from tests.chaos.kills import CASES, Case, check, commits, hit, kill, one_more
from tests.chaos.server import Server, started, wait_for
from tests.support import Project, make_project, note

pytestmark = pytest.mark.slow

NAMES = {
    "merger first",
    "stateful_merge backfill, in its MERGE",
    "stateful_merge backfill, in its RESTORE",
    "fast_metadata_cleaner reset",
    "insert_overwrite predicate, normal",
    "proxy_view tables",
    "ditto_freeze month",
}


@pytest.fixture(scope="module")
def mortal(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A thrift server of its own, since it is killed."""
    with started(tmp_path_factory.mktemp("mortal_home")) as server:
        yield server


@pytest.fixture
def remote(tmp_path: Path) -> Project:
    return make_project(tmp_path, f"r{time.time_ns()}", spark=None)


@pytest.mark.parametrize("case", [case for case in CASES if case.name in NAMES], ids=lambda case: case.name)
def test_power_cut(mortal: Server, remote: Project, case: Case) -> None:
    def cut(process: subprocess.Popen[str]) -> None:
        kill(process)  # first: without its server it would end by itself
        os.killpg(mortal.pid, signal.SIGKILL)
        wait_for(lambda: not answers(mortal.port))  # a large process takes a moment to die

    mortal.start()  # unless it runs: the test before this one may have failed half way
    case.make(mortal, remote)
    victim = hit(mortal, remote, case, cut)
    mortal.start()
    left = commits(mortal, remote)
    mortal.inside(remote, *case.arguments())
    assert commits(mortal, remote) - left or victim.fell == "after commit"
    check(mortal, remote, case)
    note(
        "kill", depth="everything", pattern=case.pattern, mode=case.mode, statement=case.statement, fell=victim.fell,
        landed=victim.landed(mortal, remote),
    )  # fmt: skip
    one_more(mortal, remote, case)
