"""Plays a history on the engine and in the oracle at once, and compares after each step."""

from __future__ import annotations

import io
import os
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from pathlib import Path
from typing import Any

from dbt.adapters.spark.session import Cursor

from tests.chaos.crashes import changes
from tests.chaos.histories.history import History, Rows, Step
from tests.chaos.histories.patterns import PATTERNS
from tests.chaos.histories.worlds import Pattern, Possible, Seen, World
from tests.support import Killed, Outcome, Project, literal

MODEL = "model"


class Difference(Exception):
    """The engine did what the oracle does not know, in the last of so many steps."""

    def __init__(self, report: str, steps: int) -> None:
        super().__init__(report)
        self.steps = steps


class Inputs:
    """What the model reads: a view with the increment of each execution, or a folder of files."""

    def __init__(self, project: Project, pattern: Pattern, feed: dict[str, Rows]) -> None:
        self.project, self.pattern, self.feed = project, pattern, dict(feed)
        self.folder: dict[str, list[Any]] = {}
        self.clock = 1_700_000_000
        self.landing = project.path / "landing"
        self.landing.mkdir()
        project.sql("create schema if not exists {schema}")
        if pattern.columns:
            self.save()

    def given(self, time: str) -> Any:
        return self.feed.get(time, []) if self.pattern.columns else dict(self.folder)

    def save(self) -> None:
        fields = [column.split() for column in f"at string, {self.pattern.columns}".split(",")]
        rows = [[time.replace("T", " "), *row] for time, given in self.feed.items() for row in given]
        columns = ", ".join(f"cast({name} as {kind}) as {name}" for name, kind in fields)
        values = ", ".join(f"({', '.join(map(literal, row))})" for row in rows or [[None] * len(fields)])
        names = ", ".join(name for name, _ in fields)
        query = f"select {columns} from values {values} as given ({names}) where at is not null"
        self.project.sql(f"create or replace view {{schema}}.feed as {query}")

    def change(self, step: Step) -> None:
        """What happens to the input. A file that is not there is left alone."""
        word, name, *rest = step
        if word == "correct":
            self.feed[name] = rest[0]
            self.save()
        elif word == "put":
            self.put(name, rest[0])
        elif name in self.folder:
            content, _ = self.folder[name]
            if word in ("rename", "remove"):
                (self.landing / name).unlink()
                del self.folder[name]
            if word in ("rename", "copy"):
                self.put(rest[0], content)

    def put(self, name: str, content: list[int] | None) -> None:
        """None is a file that nobody can read."""
        path: Path = self.landing / name
        path.write_text("id\n" + "".join(f"{line}\n" for line in content or ["broken"]))
        self.clock += 60
        os.utime(path, (self.clock, self.clock))
        self.folder[name] = [content, self.clock]


@contextmanager
def dying(point: int) -> Iterator[list[str]]:
    """Die before the n-th statement that changes something. Gives the statement, once it is dead."""
    execute = Cursor.execute
    killed: list[str] = []
    count = 0

    def watched(cursor: Cursor, sql: str, *parameters: Any) -> None:
        nonlocal count
        count += len(changes([sql]))
        if killed or count == point:
            killed.append(sql)
            raise Killed(f"killed before change {point}")
        execute(cursor, sql, *parameters)

    Cursor.execute = watched  # type: ignore[method-assign]
    try:
        yield killed
    finally:
        Cursor.execute = execute  # type: ignore[method-assign]


class Player:
    def __init__(self, project: Project, history: History) -> None:
        self.project, self.history = project, history
        self.pattern = PATTERNS[history.pattern](history.variant)
        self.inputs = Inputs(project, self.pattern, history.feed)
        self.worlds = [World(self.pattern.empty)]
        self.status: dict[str, str] = {}
        self.said = self.told = ""
        self.begun = 0
        self.log: list[str] = []
        config = {"materialized": self.pattern.name, **self.pattern.config}
        if not self.pattern.columns:
            path = str(self.inputs.landing)
            config["files"] = {"path": path, "format": "csv", "schema": "id int", "options": {"header": True}}
        project.model(MODEL, self.pattern.select, **config)

    def play(self) -> None:
        for step in self.history.steps:
            self.begun += 1
            if step[0] == "backfill":
                for time in sorted(time for time in self.status if time >= step[1]):
                    self.step(["run", time])
            else:
                self.step(step)
        self.compare(["verify"], self.result(self.operation("ditto_verify")), [Possible("ok", w) for w in self.worlds])

    def step(self, step: Step) -> None:
        word = step[0]
        if word in ("correct", "put", "copy", "rename", "remove"):
            self.log.append(" ".join(map(str, step)))
            self.inputs.change(step)
            return
        result = self.act(step)
        possible = [outcome for world in self.worlds for outcome in self.expected(world, step)]
        self.compare(step, result, possible)

    def act(self, step: Step) -> str:
        """On the engine: how it ended."""
        word, *arguments = step
        flags = {"full_refresh": ["--full-refresh"], "crash_refresh": ["--full-refresh"], "empty": ["--empty"]}
        if word in ("run", "full_refresh", "empty"):
            return self.result(self.project.run(arguments[0], *flags.get(word, [])))
        if word in ("crash", "crash_refresh"):
            with dying(arguments[1]) as killed:
                outcome = self.project.run(arguments[0], *flags.get(word, []))
            return "died" if killed else self.result(outcome)
        if word == "release":
            return self.result(self.operation("ditto_release", f"{{model: {MODEL}}}"))
        if word == "point":
            return self.result(self.operation("ditto_proxy_point_to", f"{{model: {MODEL}, version: {arguments[0]}}}"))
        assert word == "optimize", word
        self.optimize()
        return "ok"

    def expected(self, world: World, step: Step) -> list[Possible]:
        """In the oracle: how it may end."""
        word, *arguments = step
        if word in ("run", "full_refresh", "crash", "crash_refresh"):
            time, anew = arguments[0], word in ("full_refresh", "crash_refresh")
            act = self.pattern.crash if word.startswith("crash") else self.pattern.run
            return act(world, time, self.inputs.given(time), anew)
        if word == "release":
            return self.pattern.release(world)
        if word == "empty":
            return self.pattern.nothing(world)
        return [Possible("ok", world)] if word == "optimize" else self.pattern.other(world, step)

    def compare(self, step: Step, result: str, possible: list[Possible]) -> None:
        seen = self.look()
        self.log.append(f"{' '.join(map(str, step))}: {result}, {seen}, {self.status}")
        fitting = [
            outcome.world
            for outcome in possible
            if outcome.result == result
            and outcome.words in self.said
            and outcome.world.status == self.status
            and self.pattern.agrees(outcome.world, seen)
        ]
        if not fitting:
            raise Difference(self.report(step, possible), self.begun)
        self.worlds = list({repr(world): world for world in fitting}.values())

    def report(self, step: Step, possible: list[Possible]) -> str:
        allowed = {
            f"  {outcome.result} {outcome.words!r}, {self.pattern.seen(outcome.world)}, {outcome.world.status}"
            for outcome in possible
        }
        lines = [
            "what happened",
            *(f"  {line}" for line in self.log),
            f"what step {step} may end with",
            *sorted(allowed),
        ]
        return "\n".join([*lines, "what dbt said", self.said])

    # The engine's side.

    def operation(self, name: str, arguments: str | None = None) -> Outcome:
        with redirect_stdout(io.StringIO()) as told:
            outcome = self.project.dbt("run-operation", name, *(["--args", arguments] if arguments else []))
        self.told = told.getvalue()  # dbt does not give what an operation was refused with
        return outcome

    def result(self, outcome: Outcome) -> str:
        self.said, self.told = "" if outcome.ok else f"{outcome.text}\n{self.told}", ""
        return "ok" if outcome.ok else "refused"

    def optimize(self) -> None:
        views = {row[1] for row in self.project.sql("show views in {schema}")}
        for name in sorted(self.tables() - views) if "parquet" not in str(self.pattern.config) else []:
            if name == MODEL or name.startswith(f"{MODEL}__"):
                self.project.sql(f"optimize {{schema}}.{name}")

    def tables(self) -> set[str]:
        return {row[1] for row in self.project.sql("show tables in {schema}")}

    def look(self) -> Seen:
        """Readers and the ledger, in one query. Rows are texts."""
        there = self.tables()
        file = ["element_at(split(file_path, '/'), -1)", "if(status in ('FAILED', 'DEAD'), 'BROKEN', status)"]
        columns = {
            MODEL: self.pattern.shown,
            f"{MODEL}__data": self.pattern.shown,
            "ditto_files": file,
            "ditto_state": ["execution_time", "status"],
        }
        union = [
            f"select '{name}', concat_ws('|', {', '.join(text_of(each) for each in shown)}) from {{schema}}.{name}"
            for name, shown in columns.items()
            if name in there
        ]
        rows = self.project.sql(" union all ".join(union)) if union else []
        seen: Seen = {relation: sorted(text for name, text in rows if name == relation) for relation in columns}
        self.status = {time.replace(" ", "T"): state for time, state in (t.split("|") for t in seen.pop("ditto_state"))}
        return seen


def text_of(column: str) -> str:
    return f"coalesce(cast({column} as string), 'null')"


def play(project: Project, history: History) -> None:
    """Raises what differs."""
    Player(project, history).play()
