"""Every pattern keeps its dead letters, replaces them in a replay, and takes in what has healed."""

from __future__ import annotations

import json

import pytest

from tests.functional.dead_letters.feed import DAY, PATTERNS, add_models, feed, ids, letters, people, retry
from tests.support import Project

REPLAYED = ["published", "stateful"]
FOUND = [(2, "negative", "FAILED", 0), (3, "unknown", "FAILED", 0), (4, "negative,unknown", "FAILED", 0)]


@pytest.mark.slow
def test_every_pattern(project: Project, capsys: pytest.CaptureFixture[str]) -> None:
    names = list(PATTERNS)
    people(project, "a", "b")
    feed(project, (DAY, 1, "a", 10), (DAY, 2, "b", -1), (DAY, 3, "z", 5), (DAY, 4, "z", -5), (DAY, 5, None, None))
    add_models(project, *names)
    outcome = project.must_run(DAY)
    for name in names:
        assert ids(project, name) == [1, 5], name
        assert letters(project, name) == FOUND, name
        assert ", 3 dead letters" in str(outcome.node(name).message), name
        details = project.sql(
            f"select details from {{schema}}.ditto_ledger where relation = '{{schema}}.{name}' and event = 'committed'"
        )
        assert [json.loads(row[0])["dead_letters"] for row in details] == [3], name

    # Somebody is known now: the row goes where the others of its day are. Where that needs a replay, it stays.
    people(project, "a", "b", "z")
    capsys.readouterr()
    for name in names:
        retried = retry(project, name)
        assert retried.ok, (name, retried.text)
        said = capsys.readouterr().out
        again = [(2, "negative", "FAILED", 1), (4, "negative", "FAILED", 1)]
        if name in REPLAYED:
            assert f"{name}: 3 tried again: 1 passes now, 2 failed again (attempt 1 of 3), 0 dead" in said, said
            assert f"dbt run --select {name} --vars '{{execution_date: {DAY}}}'" in said
            assert letters(project, name) == sorted([*again, (3, "unknown", "FAILED", 0)]), name
        else:
            assert f"{name}: 3 tried again: 1 is in the table, 2 failed again (attempt 1 of 3), 0 dead" in said, said
            assert letters(project, name) == again, name
        assert ids(project, name) == ([1, 5] if name in REPLAYED else [1, 3, 5]), name
    stamps = "select distinct cast(_ditto_execution_time as string) from {schema}."
    tables = {"cleaned": "cleaned__w20241007", "written": "written", "appended": "appended"}
    for name in names:
        assert name not in tables or project.sql(stamps + tables[name]) == [(f"{DAY} 00:00:00",)], name

    # A replay begins anew: its rows and its dead letters, no matter what the retry did.
    feed(project, (DAY, 1, "a", 10), (DAY, 2, "b", 7), (DAY, 3, "z", 5), (DAY, 4, "z", -5))
    project.must_run(DAY)
    for name in names:
        kept = [5] if name in ("deduplicated", "keyed", "merged") else []
        assert ids(project, name) == [1, 2, 3, *kept], name
        assert letters(project, name) == [(4, "negative", "FAILED", 0)], name
