"""Commands that are hit by a signal while the server is in one of their statements, and what has to hold afterwards."""

from __future__ import annotations

import datetime as dt
import json
import os
import random
import re
import signal
import subprocess
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.chaos.server import Server, days_of, wait_for
from tests.functional.file_ingest.landing import Landing, ingest
from tests.support import Project

SEED = os.environ.get("DITTO_SEED", "1")
WORK = int(os.environ.get("DITTO_KILL_WORK", "15000"))
"""How long a statement takes that is to be hit. The same command without it is quick, and gives the same rows."""
BUSY = "length(aggregate(sequence(1, {{ var('work', 1) }}), '', (text, n) -> sha2(concat(text, id, n), 256))) as busy"
HEAD = "select cast(id as int) as id, date'{{ ditto.execution_date() }}' as day, "
LARGE = HEAD + "sha2(cast(id as string), 512) as busy from range(0, "


def day(number: int) -> str:
    """Of October 2024, and on: 7 is a Monday, 32 is in November."""
    return str(dt.date(2024, 9, 30) + dt.timedelta(days=number))


@dataclass
class Case:
    """A command that is hit while the server is in `statement`."""

    pattern: str
    mode: str
    statement: str
    """What is in the log of dbt once it has been sent."""
    config: dict[str, Any] = field(default_factory=dict)
    before: Sequence[int] = (7,)
    """The days that are there already."""
    killed: int = 8
    sees: Sequence[int] | None = None
    """The days that readers see after it: unless it is said, what was there and its own."""
    stale: Sequence[int] = ()
    then: int = 9
    """An execution that works afterwards."""
    rows: int = 20
    tasks: int = 2
    prepare: Callable[[Server, Project], None] | None = None
    operation: str | None = None
    delay: float = 1.5
    """The signal comes at most so many seconds after the statement was sent."""
    leased: bool = True
    """A run that was taken over is fenced off. One that writes a single commit may do it again."""

    @property
    def name(self) -> str:
        return f"{self.pattern} {self.mode}"

    def arguments(self, work: int | None = None) -> list[str]:
        if self.operation:
            return ["run-operation", self.operation, "--args", "{model: slow}"]
        given = {"execution_date": day(self.killed), **({"work": work} if work else {})}
        return ["run", "--vars", json.dumps(given)]

    @property
    def days(self) -> list[int]:
        return sorted({*self.before, self.killed} if self.sees is None else self.sees)

    def make(self, server: Server, project: Project) -> None:
        if self.prepare:
            self.prepare(server, project)
            return
        project.model(
            "slow",
            f"{HEAD}{BUSY} from range(0, {self.rows}, 1, {self.tasks})",
            materialized=self.pattern,
            **self.config,
        )
        for number in self.before:
            server.inside(project, "run", day=day(number))


def large_units(server: Server, project: Project) -> None:
    """Two days of October and one of November, with enough rows to take a while."""
    project.model("slow", f"{LARGE}600000)", materialized="fast_metadata_cleaner", granularity="day")
    for number in (7, 8, 32):
        server.inside(project, "run", day=day(number))


def many_letters(server: Server, project: Project) -> None:
    """All rows of a day are dead letters, until they heal."""
    server.sql(f"create schema if not exists {project.schema}")
    server.sql(f"create table {project.schema}.sick using delta as select 1 as sick")
    rule = {"name": "sick", "when": f"exists (select 1 from {project.schema}.sick)"}
    config = {"materialized": "insert_overwrite", "partition_by": "day", "dead_letters": [rule]}
    project.model("slow", f"{LARGE}60000)", **config)
    server.inside(project, "run", day=day(7))
    server.sql(f"delete from {project.schema}.sick")


def files(server: Server, project: Project) -> None:
    """A file of one day is loaded, two of the next one have still to be."""
    landing = Landing(project.path / "landing")
    select = f"select *, {BUSY} from {{{{ ditto.incoming() }}}}"
    ingest(project, landing, sql=select, files={"schema": "id int, day date"})
    (project.path / "models" / "orders.sql").rename(project.path / "models" / "slow.sql")
    landing.put("7.csv", *(f"{number},{day(7)}" for number in range(20)), header="id,day")
    server.inside(project, "run", day=day(7))
    for part in range(2):
        rows = (f"{number},{day(8)}" for number in range(part, 20, 2))
        landing.put(f"8_{part}.csv", *rows, header="id,day")


KEY = {"unique_key": ["id", "day"]}
BACKFILL: dict[str, Any] = {"before": (7, 8, 9), "sees": (7, 8), "stale": (9,)}

CASES = [
    Case("insert_overwrite", "predicate, normal", "replace where", {"partition_by": "day"}, leased=False),
    Case("insert_overwrite", "delete_insert, replay", "ditto:write:", {"partition_by": "day", "mode": "delete_insert"},
         before=(7, 8)),
    Case("merger", "first", "merge into", KEY, before=(), killed=7, then=8, leased=False),
    Case("stateful_merge", "normal", "merge into", KEY),
    Case("stateful_merge", "backfill, in its MERGE", "merge into", KEY, **BACKFILL),
    Case("stateful_merge", "backfill, in its RESTORE", "restore table", KEY, **BACKFILL, delay=0.3),
    Case("fast_metadata_cleaner", "slice", "replace where"),
    Case("fast_metadata_cleaner", "reset", "create or replace table", before=(7, 8), killed=7, sees=(7,), stale=(8,),
         then=8),
    Case("proxy_view", "tables", r"create table .*slow__v", sees=(8,)),
    Case("proxy_view", "native", "replace", {"versioning": "native"}, sees=(8,)),
    Case("transactional_writer", "merge, replay", "merge into", KEY, before=(7, 8), killed=7, leased=False),
    Case("transactional_writer", "audits", "create or replace table .*candidate", {**KEY, "audits": ["id >= 0"]}),
    Case("keyed_idempotency", "normal", "merge into", KEY, leased=False),
    Case("dedup_insert", "normal", r"insert into \S*slow", KEY, leased=False),
    Case("file_ingest", "load", "replace where", prepare=files),
    Case("ditto_freeze", "month", "create or replace table .*frozen", before=(7, 8, 32), prepare=large_units,
         operation="ditto_freeze", rows=600_000),
    Case("ditto_retry_dead_letters", "insert", "ditto:retry", killed=7, prepare=many_letters,
         operation="ditto_retry_dead_letters", rows=60_000),
]  # fmt: skip


def commits(server: Server, project: Project) -> set[Path]:
    """The commits on disk, of all tables but the ledger and candidates, which nobody reads."""
    folder = Path(server.env["DITTO_HOME"]) / "warehouse" / f"{project.schema}.db"
    found = folder.glob("*/_delta_log/*.json")
    return {path for path in found if not re.search("ditto_ledger|__candidate", str(path))}


@dataclass
class Victim:
    """A dbt process that got a signal while the server was in a statement of it."""

    process: subprocess.Popen[str]
    invocation: str
    fell: str

    def landed(self, server: Server, project: Project) -> bool:
        """Whether a commit of it is there, from before the signal or from after it."""
        return self.commits(server, project) > 0

    def commits(self, server: Server, project: Project) -> int:
        return sum(self.invocation in path.read_text() for path in commits(server, project))


def hit(
    server: Server, project: Project, case: Case, strike: Callable[[subprocess.Popen[str]], None], work: int = WORK
) -> Victim:
    """Start the command, wait for the statement and a moment that depends on the seed, strike."""
    log = project.path / f"logs_{time.time_ns()}" / "dbt.log"
    process = server.dbt(project, *case.arguments(work), "--log-path", str(log.parent))

    def sent() -> bool:
        return log.exists() and re.search(case.statement, log.read_text(), re.DOTALL) is not None

    wait_for(sent, process)
    before = commits(server, project)
    time.sleep(random.Random(f"{SEED} {case.name}").uniform(0, case.delay))
    strike(process)
    fell = "after commit" if commits(server, project) - before else "before commit"
    invocation = re.search(r"\| ([0-9a-f-]{36}) =", log.read_text())
    assert invocation
    return Victim(process, invocation[1], fell)


def kill(process: subprocess.Popen[str]) -> None:
    process.kill()
    assert process.wait() == -signal.SIGKILL


def check(server: Server, project: Project, case: Case, after: int | None = None) -> None:
    """Rows and states after the command; or after the execution that came next."""
    days, stale = (case.days, case.stale) if after is None else (sorted({*case.days, after}), ())
    if after is not None and case.pattern == "proxy_view":
        days = [after]
    assert days_of(server, f"{project.schema}.slow") == [(day(number), case.rows, case.rows) for number in days]
    states = server.sql(f"select cast(execution_time as string), status from {project.schema}.ditto_state order by 1")
    assert [row for row in states if row[1] != "live"] == [(f"{day(number)} 00:00:00", "stale") for number in stale]
    assert {row[0][:10] for row in states} >= {day(number) for number in (*case.before, case.killed)}


def one_more(server: Server, project: Project, case: Case) -> None:
    """An execution as if nothing had been; what was stale is live after it."""
    if case.prepare is None:
        server.inside(project, "run", day=day(case.then))
        check(server, project, case, after=case.then)
        assert server.sql(f"show tables in {project.schema} like '*candidate*'") == []
    server.inside(project, "run-operation", "ditto_verify")
