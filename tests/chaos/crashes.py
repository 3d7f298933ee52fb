"""The crash harness: kill a command at any statement that changes something, run it again, compare.

The statements are discovered by recording an undisturbed run, so a new one is covered by itself. Every command dies
before each of them. To die right after one leaves the same tables as to die before the next one; so the only point
"after" that is new is that of the last one, where all is done and nobody was told. A point at a statement that only
reads is left out: the tables are the same as at the point before it.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from dataclasses import dataclass, replace

from tests.support import Outcome, Project, note, statements

COMMENT = r"^\s*(/\*.*?\*/\s*)?"
READS = re.compile(COMMENT + r"(select|with|show|describe|desc|refresh|explain)\b", re.IGNORECASE | re.DOTALL)
SCRIPT = re.compile(COMMENT + r"begin\b", re.IGNORECASE | re.DOTALL)
WRITES = re.compile(r"\b(insert|merge|update|delete|create|drop|alter|restore|truncate|execute)\b", re.IGNORECASE)
NAMED = re.compile(
    r"\b(insert into|insert overwrite|merge into|create (?:or replace )?(?:table|view|schema)(?: if not exists)?"
    r"|drop (?:table|view)(?: if exists)?|alter (?:table|view)|delete from|truncate table|restore table|update|vacuum"
    r"|generate symlink_format_manifest for table) +((?:`[^`]+`|\w+)(?:\.(?:`[^`]+`|\w+))?)",
    re.IGNORECASE,
)
LEDGER = re.compile(r"insert into `\w+`\.`ditto_ledger`")
DIGITS = r"\d+(_\d+)*"
EVENT = re.compile(r"'(started|committed|released)'")

# To give an execution up may be one statement, the one that tells the ledger.
AT_LEAST = {"first": 4, "full refresh": 4, "ditto_release": 2}

Rows = list[tuple[object, ...]]


@dataclass(frozen=True)
class Point:
    """Where a command dies: at a statement, counted from 1."""

    number: int
    side: str
    statement: str

    def dies(self) -> dict[str, int]:
        return {f"die_{self.side}": self.number}


@dataclass(frozen=True)
class Scenario:
    """One command that is killed. Whatever gets a number gets that of the attempt; 0 is the undisturbed one."""

    pattern: str
    """A materialization, or the name of an operation."""
    mode: str
    prepare: Callable[[Project], None]
    command: Callable[[Project, int], Outcome]
    table: str
    """What is compared; it may contain {attempt}."""
    expected: Callable[[int], Rows]
    states: Callable[[int], dict[str, str]]
    """What `ditto_state` says: the status of each day."""
    variant: str = ""
    columns: str = "*"
    read: Callable[[Project, str], Rows] | None = None
    """The rows, where they are not simply those of the table."""
    anew: Callable[[Project, int], None] | None = None
    """Called before each attempt, for a command that must find a world of its own."""
    also: Callable[[Project, int], None] | None = None
    """What else has to hold afterwards."""
    once: bool = False
    """To run it again after its end would ask for more: there, what it left is compared as it is."""

    @property
    def name(self) -> str:
        return ", ".join(part for part in (self.pattern, self.mode, self.variant) if part)


def changes(recorded: list[str]) -> list[int]:
    """Numbers (from 1) of the statements that change something."""

    def only_reads(sql: str) -> bool:
        return bool(READS.match(sql)) or bool(SCRIPT.match(sql) and not WRITES.search(sql))

    return [number for number, sql in enumerate(recorded, start=1) if not only_reads(sql)]


def points_of(recorded: list[str]) -> list[Point]:
    points = [Point(number, "before", named(recorded[number - 1])) for number in changes(recorded)]
    return points + [replace(point, side="after") for point in points[-1:]]


def crash_everywhere(scenario: Scenario, project: Project) -> list[str]:
    """Kill at each point, run again, compare. Gives a line of the table of results for each point."""
    scenario.prepare(project)
    begin(scenario, project, 0)
    with statements() as recorded:
        undisturbed = scenario.command(project, 0)
    assert undisturbed.ok, undisturbed.text
    check(scenario, project, 0, "undisturbed")
    objects = shapes(project)
    points = points_of(recorded)
    # Every command changes something and says so in the ledger. Fewer: the harness no longer sees the statements.
    assert len(points) >= AT_LEAST.get(scenario.pattern, AT_LEAST.get(scenario.mode, 3)), points
    lines = []
    for attempt, point in enumerate(worth_trying(points, scenario.mode), start=1):
        where = f"{scenario.name}: died {point.side} statement {point.number} of {len(recorded)}: {point.statement}"
        begin(scenario, project, attempt)
        with statements(**point.dies()) as sent:
            killed = scenario.command(project, attempt)
        assert not killed.ok, f"{where}: the run should have died"
        assert len(sent) == point.number - (point.side == "before"), f"{where}: the run took another way"
        if not (scenario.once and point.side == "after"):
            again = scenario.command(project, attempt)
            assert again.ok, f"{where}\n{again.text}"
        check(scenario, project, attempt, where)
        assert shapes(project) == objects, where
        facts = {"pattern": scenario.pattern, "mode": scenario.mode, "variant": scenario.variant}
        note("crash", **facts, statement=point.statement, point=point.side)
        lines.append(" | ".join([*facts.values(), f"{point.side} {point.statement}", "same"]))
    return lines


def worth_trying(points: list[Point], mode: str) -> list[Point]:
    """Without the points that say nothing new; `DITTO_CRASH_POINTS=all` tries them too, a number only the last ones.

    Before its first change a run has done nothing, and the undisturbed one began there: tried for one mode of each
    pattern, the normal one. After its last one it is complete; where every attempt repeats one and the same execution,
    as in a replay, a backfill and a full refresh, each of them begins there.
    """
    setting = os.environ.get("DITTO_CRASH_POINTS", "")
    if setting.isdigit():
        return points[-int(setting) :]
    if setting == "all" or mode == "normal":
        return points
    return points[1:-1] if mode in ("replay", "backfill", "full refresh") else points[1:]


def begin(scenario: Scenario, project: Project, attempt: int) -> None:
    if scenario.anew:
        scenario.anew(project, attempt)


def check(scenario: Scenario, project: Project, attempt: int, where: str) -> None:
    table = scenario.table.format(attempt=attempt)
    rows = scenario.read(project, table) if scenario.read else project.rows(table, scenario.columns)
    assert sorted(rows, key=repr) == sorted(scenario.expected(attempt), key=repr), where
    assert project.states(table) == {f"{day} 00:00:00": state for day, state in scenario.states(attempt).items()}, where
    # Operations have no day, and so no line in ditto_state. Sorted here: a few rows are not worth a job of Spark's.
    events = sorted(project.sql("select seq, relation, event from {schema}.ditto_ledger"))
    last = {relation: event for _, relation, event in events}
    assert "started" not in last.values(), where
    for _, view, *_ in project.sql("show views in {schema}"):
        # Spark reads a view's tables and columns before it knows that no row is asked for.
        assert project.sql(f"select * from {{schema}}.{view} limit 0") == [], where
    if scenario.also:
        scenario.also(project, attempt)


def shapes(project: Project) -> set[str]:
    """The kinds of objects in the schema: what a killed run left behind would be one more."""
    found = project.sql("show tables in {schema}")
    leftover = [name for _, name, temporary in found if temporary or re.search("tmp|temp|candidate", name)]
    assert leftover == []
    return {re.sub(DIGITS, "#", name) for _, name, _ in found}


def taken_over(base: Scenario, died: str) -> Scenario:
    """A run has died before its `outcome`, or after its `intent` or its first `write`; who takes over is killed too."""
    found: list[int] = []

    def prepare(project: Project) -> None:
        base.prepare(project)
        begin(base, project, 0)
        with statements() as recorded:
            undisturbed = base.command(project, 0)
        assert undisturbed.ok, undisturbed.text
        found.append(half_way(recorded, died))

    def anew(project: Project, attempt: int) -> None:
        begin(base, project, attempt + 1)
        with statements(die_before=found[0]):
            assert not base.command(project, attempt + 1).ok

    return replace(
        base, mode="takeover", variant=", ".join(filter(None, (base.mode, base.variant, f"died after its {died}"))),
        prepare=prepare, anew=anew, command=lambda project, attempt: base.command(project, attempt + 1),
        expected=lambda attempt: base.expected(attempt + 1), states=lambda attempt: base.states(attempt + 1),
        also=(lambda project, attempt: base.also(project, attempt + 1)) if base.also else None,
    )  # fmt: skip


def half_way(recorded: list[str], died: str) -> int:
    """The number of the statement before which a run dies: what it had `died` after was done."""
    changing = changes(recorded)
    ledger = [place for place, number in enumerate(changing) if LEDGER.search(recorded[number - 1])]
    if died == "last write":
        return changing[ledger[-1]]
    assert len(ledger) > 1, "a run without an intent"
    return changing[ledger[0] + {"intent": 1, "first write": 2}[died]]


def named(sql: str) -> str:
    """A statement in a few words: what it does, and to what."""
    text = " ".join(re.sub(r"/\*.*?\*/", "", sql, flags=re.DOTALL).split())
    found = NAMED.search(text)
    if not found:
        return text[:60]
    words = f"{found[1].lower()} {re.sub(DIGITS, '#', found[2].split('.')[-1].strip('`'))}"
    event = EVENT.search(text) if LEDGER.search(text) else None
    return words + (f" ({event[1]})" if event else "")
