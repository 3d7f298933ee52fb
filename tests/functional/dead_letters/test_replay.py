"""A replay that heals a dead letter: until its row is in the table, the letter stays."""

from __future__ import annotations

import pytest

from tests.functional.dead_letters.feed import DAY, NEXT, add_models, feed, ids, letters, people, retry
from tests.support import Project, statements


@pytest.mark.slow
def test_a_replay_that_dies_and_is_given_up(project: Project, capsys: pytest.CaptureFixture[str]) -> None:
    """The table goes back to where the row was not in it: so its letter has to be there."""
    people(project, "a")
    feed(project, (DAY, 1, "a", 1), (DAY, 2, "z", 2), (DAY, 3, "a", -3))
    add_models(project, "stateful")
    project.must_run(DAY)
    old = [(2, "unknown", "FAILED", 0), (3, "negative", "FAILED", 0)]
    assert (ids(project, "stateful"), letters(project, "stateful")) == ([1], old)

    people(project, "a", "z")
    with statements(die_before=1, only=f"merge into `{project.schema}`.`stateful`"):
        assert not project.run(DAY).ok
    released = project.dbt("run-operation", "ditto_release", "--args", "{model: stateful}")
    assert released.ok, released.text
    assert project.states("stateful") == {f"{DAY} 00:00:00": "live"}
    # Those of the run that was given up are beside the old ones; none of them is tried again.
    assert (ids(project, "stateful"), letters(project, "stateful")) == ([1], [*old, (3, "negative", "FAILED", 0)])
    capsys.readouterr()
    assert retry(project, "stateful").ok
    told = capsys.readouterr().out
    assert "2 of execution 2024-10-07 left alone, a run that replaces them did not finish" in told
    assert "1 of execution 2024-10-07 left alone, another run of the execution wrote what is in the table" in told

    project.must_run(DAY)
    assert (ids(project, "stateful"), letters(project, "stateful")) == ([1, 2], [(3, "negative", "FAILED", 0)])


@pytest.mark.slow
def test_a_replay_that_is_refused_and_one_that_dies_at_the_end(project: Project) -> None:
    people(project, "a")
    feed(project, (DAY, 1, "a", 1), (DAY, 2, "z", 2), (DAY, 3, "a", -3), (NEXT, 5, "a", 5))
    add_models(project, "merged")
    project.must_run(DAY)
    old = [(2, "unknown", "FAILED", 0), (3, "negative", "FAILED", 0)]

    people(project, "a", "z")
    feed(project, (DAY, 1, "a", 1), (DAY, 1, "a", 7), (DAY, 2, "z", 2), (DAY, 4, "a", -4))
    refused = project.run(DAY)
    assert not refused.ok and "nothing was written" in refused.text
    assert (ids(project, "merged"), letters(project, "merged")) == ([1], [*old, (4, "negative", "FAILED", 0)])

    feed(project, (DAY, 1, "a", 1), (DAY, 2, "z", 2), (DAY, 4, "a", -4), (NEXT, 5, "a", 5))
    with statements(die_before=1, only=f"delete from `{project.schema}`.`merged__dead_letters`"):
        assert not project.run(DAY).ok
    # In both tables, for as long as it takes.
    assert ids(project, "merged") == [1, 2] and [row[0] for row in letters(project, "merged")] == [2, 3, 4, 4]
    outcome = project.must_run(DAY)
    assert ", 1 dead letter" in str(outcome.node("merged").message)
    assert (ids(project, "merged"), letters(project, "merged")) == ([1, 2], [(4, "negative", "FAILED", 0)])
    assert project.sql("select distinct replaced_by from {schema}.merged__dead_letters") == [(None,)]

    # Where there are no letters, neither before nor now, none of this is a commit.
    before = project.versions("merged__dead_letters")
    project.must_run(NEXT)
    assert project.versions("merged__dead_letters") == before
