"""The connection to the thrift server is lost in the middle of each statement that changes something.

dbt-spark's `query_retries` sends it again where it can; otherwise the command fails and is run again. No pattern
doubles or loses a row, and the ledger tells the same as without the cut.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.chaos.crashes import LEDGER, named
from tests.chaos.cuts import Cuts, Gateway, Wire
from tests.chaos.patterns import FIRST, PATTERNS, landing_of, possible
from tests.chaos.server import Server
from tests.functional.file_ingest.landing import Landing
from tests.support import Outcome, Project, environment, note

AGAIN = {"poll_interval": 0, "query_retries": 3, "connect_retries": 3}


@dataclass
class Line:
    """A project whose target `cut` leads over a line that can be cut."""

    server: Server
    project: Project
    cuts: Cuts
    target: dict[str, Any]
    certificate: Path | None = None

    def __post_init__(self) -> None:
        path = self.project.path / "profiles.yml"
        profile = yaml.safe_load(path.read_text())
        schema = "{{ env_var('DITTO_SCHEMA') }}"
        profile["app"]["outputs"]["cut"] = {"type": "spark", "schema": schema, "threads": 1, **AGAIN, **self.target}
        path.write_text(yaml.safe_dump(profile))

    def dbt(self, *arguments: str, day: str | None = None) -> Outcome:
        names = {key: self.server.env[key] for key in ("DITTO_HOME", "DITTO_THRIFT_PORT")}
        trust = {"SSL_CERT_FILE": str(self.certificate), "NO_PROXY": "127.0.0.1"} if self.certificate else {}
        with environment(**names, **trust):
            return self.project.dbt(*arguments, "--target", "cut", execution_date=day)


@pytest.fixture
def gateway(server: Server, remote: Project, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Line]:
    """Lost answers, and dbt-spark asks again."""
    cuts = Cuts()
    gateway = Gateway(server.port, cuts, tmp_path_factory.mktemp("gateway"))
    target = {"method": "http", "host": "127.0.0.1", "port": gateway.port, "token": "x", "cluster": "x"}
    yield Line(server, remote, cuts, target, gateway.certificate)
    gateway.close()


@pytest.fixture
def wire(server: Server, remote: Project) -> Iterator[Line]:
    """A lost connection, with which the session ends."""
    cuts = Cuts()
    wire = Wire(server.port, cuts)
    yield Line(server, remote, cuts, {"method": "thrift", "host": "127.0.0.1", "port": wire.port, "user": "ditto"})
    wire.close()


class Attempts:
    """Runs of one model, each cut at another statement."""

    def __init__(self, line: Line, name: str, replay: bool) -> None:
        self.line, self.pattern, self.replay = line, PATTERNS[name], replay
        self.pattern.write(line.project)
        line.project.write(
            {"models/tests.yml": f"models: [{{name: {name}, data_tests: [ditto.ditto_ledger_matches_history]}}]\n"}
        )
        self.days: list[str] = []
        self.files = 0
        self.landing = Landing(landing_of(line.project))
        for _ in range(3):
            assert (outcome := self.run(self.next())).ok, outcome.text
        self.check("undisturbed")
        self.statements = list(line.cuts.sent)

    def next(self) -> str:
        """A new execution, or the last one again."""
        if not self.replay or not self.days:
            self.days.append(str(FIRST + dt.timedelta(days=len(self.days))))
        self.files += 1
        self.landing.put(f"{self.files}.csv", f"{self.files},a", f"{self.files},b")
        return self.days[-1]

    def run(self, day: str, number: int | None = None, when: str = "") -> Outcome:
        self.line.cuts.arm(number, when)
        return self.line.dbt("run", day=day)

    def cut(self, number: int, when: str) -> None:
        statement = named(self.statements[number - 1])
        where = f"{self.pattern.name}: cut when {when}: {statement}"
        day = self.next()
        outcome = self.run(day, number, when)
        assert self.line.cuts.fired, f"{where}\n{self.line.cuts.sent}\n{outcome.text}"
        again = self.line.cuts.sent.count(self.line.cuts.sent[number - 1]) > 1
        result = "sent again" if outcome.ok and again else "went on" if outcome.ok else "failed, run again"
        if not outcome.ok:
            repeated = self.run(day)
            assert repeated.ok, f"{where}\n{outcome.text}\n{repeated.text}"
        self.check(where)
        note("cut", pattern=self.pattern.materialized, statement=statement, when=when, outcome=result)

    def check(self, where: str) -> None:
        schema, name = self.line.project.schema, self.pattern.name
        state = self.line.server.sql(
            f"select cast(to_date(execution_time) as string), status from {schema}.ditto_state order by 1"
        )
        assert state == [(day, "live") for day in self.days], where
        if self.pattern.keeps == "files":
            rows = sorted(self.line.server.sql(f"select id, name from {schema}.{name}"))
            assert rows == [(number + 1, letter) for number in range(self.files) for letter in "ab"], where
            tracked = self.line.server.sql(
                f"select status, record_count, count(*) from {schema}.ditto_files group by 1, 2"
            )
            assert tracked == [("SUCCESS", 2, self.files)], where
            return
        rows = sorted(self.line.server.sql(f"select id, cast(day as string) from {schema}.{name}"))
        # One after the other, so the last is the latest.
        keeps = "latest" if self.pattern.keeps == "last" else self.pattern.keeps
        assert rows == possible(keeps, self.days)[0], where

    def finish(self) -> None:
        """The chain is whole, and the ledger tells what the tables' histories tell."""
        for arguments in (("run-operation", "ditto_verify"), ("test",)):
            outcome = self.line.dbt(*arguments)
            assert outcome.ok, outcome.text


REPLAYS = ("stateful", "reinserted")


@pytest.mark.slow
@pytest.mark.parametrize("name", PATTERNS)
def test_a_statement_that_is_sent_again(gateway: Line, name: str) -> None:
    """Its answer is lost while it runs; of a run's first one, and of all those of two patterns, also when it is done.

    What is appended to the ledger is built by the same macros for all: cut for a pattern with and one without a lease.
    """
    attempts = Attempts(gateway, name, name in REPLAYS)
    everything = name in ("merged", "stateful")
    numbers = [
        number
        for number, statement in enumerate(attempts.statements, start=1)
        if everything or not LEDGER.search(statement)
    ]
    assert numbers, attempts.statements
    for number in numbers:
        for when in ("sent", "done") if everything or number == numbers[0] else ("sent",):
            attempts.cut(number, when)
    attempts.finish()


@pytest.mark.slow
@pytest.mark.parametrize("name", ["merged", "stateful", "reinserted"])
def test_a_connection_that_is_cut(wire: Line, name: str) -> None:
    """The server loses its client; the command fails and is run again."""
    attempts = Attempts(wire, name, name in REPLAYS)
    for number in range(1, len(attempts.statements) + 1):
        attempts.cut(number, "sent")
    attempts.finish()
