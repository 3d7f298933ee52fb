"""The seeds' tables 4-1 and 4-2: four hours, then a replay from 08:00 with its flaw."""

from __future__ import annotations

from tests.support import Project

HOURS = {
    "2024-10-07T07:00:00": ["A"],
    "2024-10-07T08:00:00": ["A-U", "B"],
    "2024-10-07T09:00:00": ["B-D", "C"],
    "2024-10-07T10:00:00": ["M", "N", "O"],
}


def visible(project: Project) -> str:
    return ",".join(row[0] for row in project.rows("letters", "value"))


def test_normal_runs_and_the_flaw_of_a_replay(project: Project) -> None:
    rows = [
        (hour.replace("T", " "), change[0], change, change.endswith("-D"))
        for hour, changes in HOURS.items()
        for change in changes
    ]
    project.source("changes", "ingested string, letter string, value string, is_deleted boolean", rows)
    project.model(
        "letters",
        """
        select letter, value, is_deleted
        from {{ target.schema }}.changes
        where ingested = '{{ ditto.execution_time() }}'
        """,
        materialized="merger",
        unique_key="letter",
        soft_delete="is_deleted",
    )
    seen = []
    for hour in HOURS:
        project.must_run(hour)
        seen.append(visible(project))
    assert seen == ["A", "A-U,B", "A-U,C", "A-U,C,M,N,O"]

    replayed = []
    for hour in list(HOURS)[1:]:
        project.must_run(hour)
        replayed.append(visible(project))
    assert replayed == ["A-U,B,C,M,N,O", "A-U,C,M,N,O", "A-U,C,M,N,O"]
