"""dbt dies by SIGKILL, or sleeps, while the server is in a statement of it; the same command runs again at once.

A server that loses its client notices after its poll (up to five seconds) and cancels the statement, which may have
committed by then. One whose client only sleeps finishes it; the client wakes up later, when it has been taken over.
"""

from __future__ import annotations

import signal

import pytest

from tests.chaos.kills import CASES, WORK, Case, Victim, check, commits, hit, kill, one_more
from tests.chaos.server import Server, finish, wait_for
from tests.support import Project, note

pytestmark = pytest.mark.slow


def take_over(server: Server, project: Project, case: Case) -> bool:
    """Run it again, and wait for what the server still does: nothing of it may come on top. Did the two overlap?

    If the other one commits in the middle of it, it is told so and fails; then once more.
    """
    try:
        server.inside(project, *case.arguments())
    except AssertionError as refused:
        if "commits by others" not in str(refused):
            raise
        server.inside(project, *case.arguments())
    overlapped = server.busy()
    written = commits(server, project)
    check(server, project, case)
    wait_for(lambda: not server.busy())
    assert commits(server, project) == written
    check(server, project, case)
    return overlapped


def record(server: Server, project: Project, case: Case, victim: Victim, depth: str, overlapped: bool) -> None:
    note(
        "kill", depth=depth, pattern=case.pattern, mode=case.mode, statement=case.statement, fell=victim.fell,
        landed=victim.landed(server, project), overlapped=overlapped,
    )  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_killed_while_spark_works(server: Server, remote: Project, case: Case) -> None:
    case.make(server, remote)
    victim = hit(server, remote, case, kill)
    overlapped = take_over(server, remote, case)
    record(server, remote, case, victim, "dbt", overlapped)
    one_more(server, remote, case)


FENCED = [case for case in CASES if case.leased and "RESTORE" not in case.mode]


@pytest.mark.parametrize("case", FENCED, ids=lambda case: case.name)
def test_asleep_while_another_run_takes_over(server: Server, remote: Project, case: Case) -> None:
    """Its statement ends after the other run has done the work; then it wakes up, changes nothing and is told so."""
    case.make(server, remote)
    victim = hit(server, remote, case, lambda process: process.send_signal(signal.SIGSTOP), work=4 * WORK)
    try:
        overlapped = take_over(server, remote, case)
        written = commits(server, remote)
        victim.process.send_signal(signal.SIGCONT)
        code, output = finish(victim.process)
    finally:
        victim.process.kill()
    assert code != 0 and "another run" in output, output
    assert commits(server, remote) == written
    check(server, remote, case)
    record(server, remote, case, victim, "asleep", overlapped)
    one_more(server, remote, case)
