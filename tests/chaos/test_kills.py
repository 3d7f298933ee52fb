"""dbt dies by SIGKILL, or sleeps, while the server is in a statement of it; the same command runs again at once.

A server that loses its client notices after its poll (up to five seconds) and cancels the statement, which may have
committed by then. One whose client only sleeps finishes it; the client wakes up later, when it has been taken over.
"""

from __future__ import annotations

import signal

import pytest

from tests.chaos.kills import (
    CASES,
    WORK,
    Crew,
    Victim,
    arguments,
    check,
    crews,
    hit,
    kept_commits,
    kill,
    make,
    one_more,
)
from tests.chaos.server import Server, finish, wait_for
from tests.support import Project, note

pytestmark = pytest.mark.slow

KILLED = crews(CASES)
FENCED = crews([case for case in CASES if case.leased and "RESTORE" not in case.mode])


def take_over(server: Server, project: Project, crew: Crew) -> bool:
    """Run it again, and wait for what the server still does: nothing of it may come on top. Did the two overlap?

    If the other one commits in the middle of it, it is told so and fails; then once more.
    """
    try:
        server.inside(project, *arguments(crew))
    except AssertionError as refused:
        if "commits by others" not in str(refused):
            raise
        server.inside(project, *arguments(crew))
    overlapped = server.busy()
    written = kept_commits(server, project)
    check(server, project, crew)
    wait_for(lambda: not server.busy())
    assert kept_commits(server, project) == written
    check(server, project, crew)
    return overlapped


def record(server: Server, project: Project, crew: Crew, victim: Victim, depth: str, overlapped: bool) -> None:
    for case in crew:
        note("kill", depth=depth, overlapped=overlapped, **victim.facts(server, project, case))


@pytest.mark.parametrize("crew", KILLED.values(), ids=KILLED)
def test_killed_while_spark_works(server: Server, remote: Project, crew: Crew) -> None:
    make(server, remote, crew)
    victim = hit(server, remote, crew, kill)
    overlapped = take_over(server, remote, crew)
    record(server, remote, crew, victim, "dbt", overlapped)
    one_more(server, remote, crew)


@pytest.mark.parametrize("crew", FENCED.values(), ids=FENCED)
def test_asleep_while_another_run_takes_over(server: Server, remote: Project, crew: Crew) -> None:
    """Its statement ends after the other run has done the work; then it wakes up, changes nothing and is told so."""
    make(server, remote, crew)
    victim = hit(server, remote, crew, lambda process: process.send_signal(signal.SIGSTOP), work=2 * WORK)
    try:
        overlapped = take_over(server, remote, crew)
        written = kept_commits(server, remote)
        victim.process.send_signal(signal.SIGCONT)
        code, output = finish(victim.process)
    finally:
        victim.process.kill()
    assert code != 0
    assert output.count("another run") >= len(crew), output
    assert kept_commits(server, remote) == written
    check(server, remote, crew)
    record(server, remote, crew, victim, "asleep", overlapped)
    one_more(server, remote, crew)
