"""The crash harness: kill a command at any statement that changes something, run it again, compare.

The statements are discovered by recording an undisturbed run, so a new one is covered by itself. Every command dies
before each of them. To die right after one leaves the same tables as to die before the next one, which is tried; so
the only point "after" is that of the last one, where all is done and nobody was told. A point at a statement that only
reads is left out: the tables are the same as at the point before it.

Several models can be killed by one command, each at a statement of its own: they share what dbt, the ledger and the
comparison cost, and both cores have work.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

from dbt.adapters.spark.session import Cursor

from tests.support import Killed, Outcome, Project, note

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
    """Where a command dies: at the n-th of the statements that are called the same in a few words."""

    statement: str
    nth: int = 1
    side: str = "before"


@dataclass
class Fleet(Project):
    """A project with the models of a batch, of which those run that still have a statement to die at."""

    at_work: list[str] = field(default_factory=list)
    alone: bool = True

    def run(self, execution_date: str | None = None, *args: str, model: str | None = None) -> Outcome:
        chosen = model or (None if self.alone else " ".join(self.at_work))
        return super().run(execution_date, *args, model=chosen)


@dataclass(frozen=True)
class Scenario:
    """One command that is killed. Whatever gets a number gets that of the attempt; 0 is the undisturbed one.

    Scenarios that differ only in the model and in what is expected of it make a batch: they have the same `prepare`,
    `anew` and `command`, which work on every model that takes part.
    """

    pattern: str
    """A materialization, or the name of an operation."""
    mode: str
    prepare: Callable[[Fleet], None]
    command: Callable[[Fleet, int], Outcome]
    table: str
    """What is compared; it may contain {attempt}."""
    expected: Callable[[int], Rows]
    states: Callable[[int], dict[str, str]]
    """What `ditto_state` says: the status of each day."""
    variant: str = ""
    model: str = "target"
    columns: str = "*"
    read: Callable[[Project, str], Rows] | None = None
    """The rows, where they are not simply those of the table."""
    anew: Callable[[Fleet, int], None] | None = None
    """Called before each attempt, for a command that must find a world of its own."""
    also: Callable[[Fleet, int], None] | None = None
    """What else has to hold afterwards."""
    once: bool = False
    """To run it again after its end would ask for more: there, what it left is compared as it is."""

    @property
    def name(self) -> str:
        return ", ".join(part for part in (self.pattern, self.mode, self.variant) if part)


@dataclass
class Watch:
    sent: dict[str, list[str]]
    dead: set[str] = field(default_factory=set)


@contextmanager
def watched(models: list[str], deaths: dict[str, Point] | None = None) -> Iterator[Watch]:
    """Record what each model sends to Spark; one that has a point dies there, and nothing more of it reaches Spark.

    A single model stands for its whole process. Of several, the comment that dbt puts into a statement tells which one
    sent it; each dies for itself, and the others go on.
    """
    watch = Watch({model: [] for model in models})
    execute = Cursor.execute

    def sender(sql: str) -> str | None:
        return models[0] if len(models) == 1 else next((name for name in models if f'"model.app.{name}"' in sql), None)

    def die(model: str, point: Point) -> None:
        watch.dead.add(model)
        raise Killed(f"killed {point.side} {point.statement}")

    def passed_on(cursor: Cursor, sql: str, *parameters: Any) -> None:
        model = sender(sql)
        if model is None:
            return execute(cursor, sql, *parameters)
        if model in watch.dead:
            raise Killed("the process is dead")
        point = (deaths or {}).get(model)
        here = point is not None and point == replace(place([*watch.sent[model], sql]), side=point.side)
        if point and here and point.side == "before":
            die(model, point)
        watch.sent[model].append(sql)
        execute(cursor, sql, *parameters)
        if point and here:
            die(model, point)
        return None

    Cursor.execute = passed_on  # type: ignore[method-assign]
    try:
        yield watch
    finally:
        Cursor.execute = execute  # type: ignore[method-assign]


def place(sent: list[str]) -> Point:
    """The last of these statements among those that change something; one that only reads has no place."""
    name = named(sent[-1])
    nth = sum(named(sent[number - 1]) == name for number in changes(sent))
    return Point(name, nth if changes(sent[-1:]) else 0)


def changes(recorded: list[str]) -> list[int]:
    """Numbers (from 1) of the statements that change something."""

    def only_reads(sql: str) -> bool:
        return bool(READS.match(sql)) or bool(SCRIPT.match(sql) and not WRITES.search(sql))

    return [number for number, sql in enumerate(recorded, start=1) if not only_reads(sql)]


def points_of(sent: list[str]) -> list[Point]:
    points = [place(sent[:number]) for number in changes(sent)]
    return points + [replace(point, side="after") for point in points[-1:]]


def crash_everywhere(batch: list[Scenario], project: Project) -> list[str]:
    """Kill at each point, run again, compare; in the end, verify the ledger. Gives a line for each point."""
    fleet = Fleet(**vars(project), at_work=[scenario.model for scenario in batch], alone=len(batch) == 1)
    batch[0].prepare(fleet)
    begin(batch, fleet, 0)
    with watched(fleet.at_work) as seen:
        undisturbed = batch[0].command(fleet, 0)
    assert undisturbed.ok, undisturbed.text
    check(batch, fleet, 0, "undisturbed")
    objects = shapes(fleet)
    points = {scenario.model: points_to_try(scenario, seen.sent[scenario.model]) for scenario in batch}
    lines = []
    for attempt in range(1, max(map(len, points.values())) + 1):
        deaths = {model: own[attempt - 1] for model, own in points.items() if len(own) >= attempt}
        tried = [scenario for scenario in batch if scenario.model in deaths]
        fleet.at_work = list(deaths)
        where = "\n".join(f"{each.name}: died at {deaths[each.model]}" for each in tried)
        begin(batch, fleet, attempt)
        with watched(fleet.at_work, deaths) as seen:
            killed = batch[0].command(fleet, attempt)
        assert seen.dead == set(deaths), f"some took another way, only {seen.dead} died\n{where}\n{killed.text}"
        assert not killed.ok, where
        if not (batch[0].once and deaths[batch[0].model].side == "after"):
            again = batch[0].command(fleet, attempt)
            assert again.ok, f"{where}\n{again.text}"
        check(tried, fleet, attempt, where)
        assert shapes(fleet) == objects, where
        for scenario in tried:
            point = deaths[scenario.model]
            facts = {"pattern": scenario.pattern, "mode": scenario.mode, "variant": scenario.variant}
            note("crash", **facts, statement=point.statement, point=point.side)
            lines.append(" | ".join([*facts.values(), f"{point.side} {point.statement}", "same"]))
    verified = fleet.dbt("run-operation", "ditto_verify")
    assert verified.ok, verified.text
    return lines


def points_to_try(scenario: Scenario, sent: list[str]) -> list[Point]:
    points = points_of(sent)
    # Every command changes something and says so in the ledger. Fewer: the harness no longer sees the statements.
    assert len(points) >= AT_LEAST.get(scenario.pattern, AT_LEAST.get(scenario.mode, 3)), (scenario.name, points)
    return worth_trying(points, scenario.mode)


def worth_trying(points: list[Point], mode: str) -> list[Point]:
    """Without the points that say little new; `DITTO_CRASH_POINTS=all` tries them too, as ./scripts/prove does.
    A number: only so many, the last ones.

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


def begin(batch: list[Scenario], fleet: Fleet, attempt: int) -> None:
    if batch[0].anew:
        batch[0].anew(fleet, attempt)


def check(batch: list[Scenario], project: Fleet, attempt: int, where: str) -> None:
    tables = {scenario.table.format(attempt=attempt): scenario for scenario in batch}
    found = rows_of({name: scenario.columns for name, scenario in tables.items() if not scenario.read}, project)
    for table, scenario in tables.items():
        rows = scenario.read(project, table) if scenario.read else found[table]
        assert sorted(rows, key=repr) == sorted(scenario.expected(attempt), key=repr), f"{scenario.name}\n{where}"
    states: dict[str, dict[str, str]] = {}
    for relation, time, status in project.sql(
        "select relation, cast(execution_time as string), status from {schema}.ditto_state"
    ):
        states.setdefault(relation, {})[time] = status
    for table, scenario in tables.items():
        expected = {f"{day} 00:00:00": state for day, state in scenario.states(attempt).items()}
        assert states.get(f"{project.schema}.{table}", {}) == expected, f"{scenario.name}\n{where}"
    # Operations have no day, and so no line in ditto_state. Sorted here: a few rows are not worth a job of Spark's.
    events = sorted(project.sql("select seq, relation, event from {schema}.ditto_ledger"))
    last = {relation: event for _, relation, event in events}
    assert "started" not in last.values(), where
    for _, view, *_ in project.sql("show views in {schema}"):
        # Spark reads a view's tables and columns before it knows that no row is asked for.
        assert project.sql(f"select * from {{schema}}.{view} limit 0") == [], where
    for scenario in batch:
        if scenario.also:
            scenario.also(project, attempt)


def rows_of(columns: dict[str, str], project: Project) -> dict[str, Rows]:
    """The rows of each of these tables, with one query: most of what one costs is not the rows."""
    found: dict[str, Rows] = {table: [] for table in columns}
    each = [f"select '{table}', {names} from {{schema}}.{table}" for table, names in columns.items()]
    for table, *row in project.sql(" union all ".join(each)) if each else ():
        found[table].append(tuple(row))
    return found


def shapes(project: Project) -> set[str]:
    """The kinds of objects in the schema: what a killed run left behind would be one more."""
    found = project.sql("show tables in {schema}")
    leftover = [name for _, name, temporary in found if temporary or re.search("tmp|temp|candidate", name)]
    assert leftover == []
    return {re.sub(DIGITS, "#", name) for _, name, _ in found}


def taken_over(batch: list[Scenario], died: str) -> list[Scenario]:
    """A run has died before its `outcome`, or after its `intent` or its first `write`; who takes over is killed too."""
    base = batch[0]
    found: dict[str, Point] = {}

    def prepare(fleet: Fleet) -> None:
        base.prepare(fleet)
        begin(batch, fleet, 0)
        with watched(fleet.at_work) as seen:
            undisturbed = base.command(fleet, 0)
        assert undisturbed.ok, undisturbed.text
        found.update({model: place(sent[: half_way(sent, died)]) for model, sent in seen.sent.items()})

    def anew(fleet: Fleet, attempt: int) -> None:
        begin(batch, fleet, attempt + 1)
        with watched(fleet.at_work, {model: found[model] for model in fleet.at_work}) as seen:
            assert not base.command(fleet, attempt + 1).ok
        assert seen.dead == set(fleet.at_work)

    def over(scenario: Scenario) -> Scenario:
        return replace(
            scenario,
            mode="takeover",
            variant=", ".join(filter(None, (scenario.mode, scenario.variant, f"died after its {died}"))),
            prepare=prepare,
            anew=anew,
            command=lambda project, attempt: base.command(project, attempt + 1),
            expected=lambda attempt: scenario.expected(attempt + 1),
            states=lambda attempt: scenario.states(attempt + 1),
            also=(lambda project, attempt: scenario.also(project, attempt + 1)) if scenario.also else None,
        )

    return [over(scenario) for scenario in batch]


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
