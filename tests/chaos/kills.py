"""Commands that are hit by a signal while the server is in one of their statements, and what has to hold afterwards.

One signal hits all the models of a command: a crew of patterns dies with one process, each in a statement of its own.
"""

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
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from tests.chaos.server import Server, wait_for
from tests.functional.file_ingest.landing import Landing, ingest
from tests.support import Project

SEED = os.environ.get("DITTO_SEED", "1")
WORK = int(os.environ.get("DITTO_KILL_WORK", "1500"))
"""How many milliseconds a row takes in a statement that is to be hit. It waits, so that the machine can do other things
meanwhile, and takes as long on a slow one. The same command without it is quick, and gives the same rows."""
BUSY = "length(java_method('java.lang.Thread', 'sleep', cast({{ var('work', 1) }} as bigint))) as busy"
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
    model: str = "slow"

    @property
    def name(self) -> str:
        return f"{self.pattern} {self.mode}"

    @property
    def days(self) -> list[int]:
        return sorted({*self.before, self.killed} if self.sees is None else self.sees)

    def days_after(self) -> list[int]:
        """What readers see after the execution that comes next."""
        return [self.then] if self.pattern == "proxy_view" else sorted({*self.days, self.then})

    def is_sent(self, log: str) -> bool:
        """Each statement in the log of dbt begins with a comment that says whose it is."""
        own = f'"node_id": "model.app.{self.model}"'
        sent = log.split('/* {"app"')[1:]
        return any((self.operation or own in text) and re.search(self.statement, text, re.DOTALL) for text in sent)


Crew = list[Case]
"""Models of one project with the same executions, or a single one."""


def arguments(crew: Crew, work: int | None = None) -> list[str]:
    if crew[0].operation:
        return ["run-operation", crew[0].operation, "--args", "{model: slow}"]
    given = {"execution_date": day(crew[0].killed), **({"work": work} if work else {})}
    return ["run", "--threads", str(len(crew)), "--vars", json.dumps(given)]


def make(server: Server, project: Project, crew: Crew) -> None:
    for case in crew:
        if case.prepare:
            case.prepare(server, project)
            return
        sql = f"{HEAD}{BUSY} from range(0, {case.rows}, 1, {case.tasks})"
        project.model(case.model, sql, materialized=case.pattern, **case.config)
    for number in sorted({number for case in crew for number in case.before}):
        at_work = [case.model for case in crew if number in case.before]
        server.inside(project, "run", "--select", *at_work, day=day(number))


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
         before=(7, 8), killed=7, then=8),
    Case("merger", "first", "merge into", KEY, before=(), leased=False),
    Case("stateful_merge", "normal", "merge into", KEY),
    Case("stateful_merge", "backfill, in its MERGE", "merge into", KEY, **BACKFILL),
    Case("stateful_merge", "backfill, in its RESTORE", "restore table", KEY, **BACKFILL, delay=0.3),
    Case("fast_metadata_cleaner", "slice", "replace where"),
    Case("fast_metadata_cleaner", "reset", "create or replace table", before=(7, 8), killed=7, sees=(7,), stale=(8,),
         then=8),
    Case("proxy_view", "tables", r"create table .*slow\w*__v", sees=(8,)),
    Case("proxy_view", "native", "replace", {"versioning": "native"}, sees=(8,)),
    Case("transactional_writer", "merge, replay", "merge into", KEY, before=(7, 8), killed=7, then=8, leased=False),
    Case("transactional_writer", "audits", "create or replace table .*candidate", {**KEY, "audits": ["id >= 0"]}),
    Case("keyed_idempotency", "normal", "merge into", KEY, leased=False),
    Case("dedup_insert", "normal", r"insert into \S*slow", KEY, leased=False),
    Case("file_ingest", "load", "replace where", prepare=files),
    Case("ditto_freeze", "month", "create or replace table .*frozen", before=(7, 8, 32), prepare=large_units,
         operation="ditto_freeze", rows=600_000),
    Case("ditto_retry_dead_letters", "insert", "ditto:retry", killed=7, prepare=many_letters,
         operation="ditto_retry_dead_letters", rows=60_000),
]  # fmt: skip


def crews(cases: Sequence[Case]) -> dict[str, Crew]:
    """Those that are killed at the same execution share a process, where the moment is not a matter of a blink."""
    shared: dict[str, Crew] = {}
    for case in cases:
        alone = case.prepare or (case.pattern == "stateful_merge" and "backfill" in case.mode)
        name = case.name if alone else f"execution of {day(case.killed)}, then {day(case.then)}"
        shared.setdefault(name, []).append(case)
    for crew in shared.values():
        crew[:] = [replace(case, model=f"slow_{number}") for number, case in enumerate(crew)] if crew[1:] else crew
    return shared


def commits(server: Server, project: Project, model: str = "slow*") -> set[Path]:
    """The commits on disk of a model's tables, without candidates, which nobody reads."""
    folder = Path(server.env["DITTO_HOME"]) / "warehouse" / f"{project.schema}.db"
    found = [path for name in (model, f"{model}__*") for path in folder.glob(f"{name}/_delta_log/*.json")]
    return {path for path in found if "__candidate" not in str(path)}


def kept_commits(server: Server, project: Project) -> set[Path]:
    """Those that stay when nobody is at work any more. A version that a proxy_view wrote once, but did not record, is
    nobody's: its statement may end after another run has published a version of its own."""
    name = "get_json_object(details, '$.version')"
    recorded = {row[0] for row in server.sql(f"select {name} from {project.schema}.ditto_ledger where {name} > ''")}
    written_once = {path: re.search(r"__(v\d{8}_\d{6}(_\d+)?)$", path.parts[-3]) for path in commits(server, project)}
    return {path for path, version in written_once.items() if not version or version[1] in recorded}


@dataclass
class Victim:
    """A dbt process that got a signal while the server was in a statement of each of its models."""

    process: subprocess.Popen[str]
    invocation: str
    fell: dict[str, str]
    """For each model: before or after its commit."""

    def commits(self, server: Server, project: Project, model: str) -> int:
        """Its own that are there, from before the signal or from after it."""
        return sum(self.invocation in path.read_text() for path in commits(server, project, model))

    def facts(self, server: Server, project: Project, case: Case) -> dict[str, Any]:
        """For the record."""
        landed = self.commits(server, project, case.model) > 0
        return {
            "pattern": case.pattern, "mode": case.mode, "statement": case.statement, "fell": self.fell[case.model],
            "landed": landed,
        }  # fmt: skip


def hit(
    server: Server, project: Project, crew: Crew, strike: Callable[[subprocess.Popen[str]], None], work: int = WORK
) -> Victim:
    """Start the command, wait for each statement and a moment that depends on the seed, strike."""
    log = project.path / f"logs_{time.time_ns()}" / "dbt.log"
    process = server.dbt(project, *arguments(crew, work), "--log-path", str(log.parent))

    there: dict[str, set[Path]] = {}

    def sent() -> bool:
        text = log.read_text() if log.exists() else ""
        for case in crew:
            if case.model not in there and case.is_sent(text):
                there[case.model] = commits(server, project, case.model)
        return len(there) == len(crew)

    wait_for(sent, process)
    time.sleep(random.Random(f"{SEED} {crew[0].name}").uniform(0, min(case.delay for case in crew)))
    strike(process)
    fell = {
        name: "after commit" if commits(server, project, name) - before else "before commit"
        for name, before in there.items()
    }
    invocation = re.search(r"\| ([0-9a-f-]{36}) =", log.read_text())
    assert invocation
    return Victim(process, invocation[1], fell)


def kill(process: subprocess.Popen[str]) -> None:
    process.kill()
    assert process.wait() == -signal.SIGKILL


def check(server: Server, project: Project, crew: Crew, after: bool = False) -> None:
    """Rows and states after the command; or `after` the execution that came next."""
    each = [
        f"select '{case.model}', cast(day as string) as day, count(*), count(distinct id) "
        f"from {project.schema}.{case.model} group by day"
        for case in crew
    ]
    rows = server.sql(" union all ".join(each))
    days = {case.model: case.days_after() if after else case.days for case in crew}
    assert sorted(rows) == sorted(
        (case.model, day(number), case.rows, case.rows) for case in crew for number in days[case.model]
    )
    states = server.sql(
        "select substring_index(relation, '.', -1), cast(to_date(execution_time) as string), status "
        f"from {project.schema}.ditto_state"
    )
    stale = {(case.model, day(number), "stale") for case in crew for number in case.stale if not after}
    assert {row for row in states if row[2] != "live"} == stale
    known = {(case.model, day(number)) for case in crew for number in (*case.before, case.killed)}
    assert {row[:2] for row in states} >= known


def one_more(server: Server, project: Project, crew: Crew) -> None:
    """An execution as if nothing had been; what was stale is live after it."""
    if crew[0].prepare is None:
        server.inside(project, "run", "--threads", "4", day=day(crew[0].then))
        check(server, project, crew, after=True)
        assert server.sql(f"show tables in {project.schema} like '*candidate*'") == []
    server.inside(project, "run-operation", "ditto_verify")
