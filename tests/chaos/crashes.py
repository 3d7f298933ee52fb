"""The crash harness: kill a run before any statement that changes something, run it again, compare.

The statements are discovered by recording an undisturbed run, so a new one is covered by itself. A point right after a
statement that only reads is left out: the tables are the same as at the point before it.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field

from tests.support import Outcome, Project, note, statements

READS = re.compile(r"^\s*(/\*.*?\*/\s*)?(select|with|show|describe|desc|refresh)\b", re.IGNORECASE | re.DOTALL)
SCRIPT = re.compile(r"^\s*(/\*.*?\*/\s*)?begin\b", re.IGNORECASE | re.DOTALL)
WRITES = re.compile(r"\b(insert|merge|update|delete|create|drop|alter|restore|truncate|execute)\b", re.IGNORECASE)


@dataclass
class Scenario:
    """One command that is killed. `command` and `expected` get the number of the attempt; 0 is the undisturbed one."""

    name: str
    prepare: Callable[[Project], None]
    command: Callable[[Project, int], Outcome]
    table: str
    expected: Callable[[int], list[tuple[object, ...]]]
    columns: str = "*"
    anew: Callable[[Project, int], None] | None = None
    """Called before each attempt, for a command that must find a world of its own."""
    stale: list[str] = field(default_factory=list)
    """Days that the command makes stale."""
    also: Callable[[Project, int], None] | None = None
    """What else has to hold afterwards."""


def changes(recorded: list[str]) -> list[int]:
    """Numbers (from 1) of the statements that change something."""

    def only_reads(sql: str) -> bool:
        return bool(READS.match(sql)) or bool(SCRIPT.match(sql) and not WRITES.search(sql))

    return [number for number, sql in enumerate(recorded, start=1) if not only_reads(sql)]


def crash_everywhere(scenario: Scenario, project: Project) -> int:
    """Kill before each changing statement, run again, compare. Returns how many points there were."""
    scenario.prepare(project)
    if scenario.anew:
        scenario.anew(project, 0)
    with statements() as recorded:
        undisturbed = scenario.command(project, 0)
    assert undisturbed.ok, undisturbed.text
    check(scenario, project, 0, "undisturbed")

    points = changes(recorded)
    for attempt, point in enumerate(points, start=1):
        where = f"{scenario.name}: killed before statement {point} of {len(recorded)}: {shorten(recorded[point - 1])}"
        if scenario.anew:
            scenario.anew(project, attempt)
        with statements(die_before=point) as sent:
            killed = scenario.command(project, attempt)
        assert not killed.ok, f"{where}: the run should have died"
        assert len(sent) == point - 1, f"{where}: the run took another way"
        again = scenario.command(project, attempt)
        assert again.ok, f"{where}\n{again.text}"
        check(scenario, project, attempt, where)
        note("crash", scenario=scenario.name, statement=shorten(recorded[point - 1]))
    return len(points)


def check(scenario: Scenario, project: Project, attempt: int, where: str) -> None:
    assert project.rows(scenario.table, scenario.columns) == sorted(scenario.expected(attempt), key=repr), where
    other = "select cast(execution_time as string), status from {schema}.ditto_state where status <> 'live'"
    assert sorted(project.sql(other)) == [(f"{day} 00:00:00", "stale") for day in scenario.stale], where
    leftover = [row for row in project.sql("show tables in {schema}") if row[2] or "tmp" in row[1]]
    assert leftover == [], where
    if scenario.also:
        scenario.also(project, attempt)


def shorten(sql: str) -> str:
    return " ".join(re.sub(r"/\*.*?\*/", "", sql, flags=re.DOTALL).split())[:100]
