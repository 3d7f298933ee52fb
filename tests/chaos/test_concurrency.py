"""Two and four processes at once on one thrift server: whatever the order, the tables are those of a serial one.

Each of them fails only where another one is in its way, and says who that is. What failed runs again, one by one.
DITTO_CONCURRENCY=40 tries more seeds of ten rounds each; DITTO_SEED=100 begins elsewhere.
"""

from __future__ import annotations

import datetime as dt
import os
import random
import re
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.chaos.crew import Answer, Worker, together
from tests.chaos.patterns import FIRST, OWN, PATTERNS, SHARED, by_key, landing_of, possible
from tests.chaos.server import Server
from tests.functional.file_ingest.landing import Landing
from tests.support import Project, note

SEEDS = int(os.environ.get("DITTO_CONCURRENCY", "5"))
FIRST_SEED = int(os.environ.get("DITTO_SEED", "0"))
KINDS = ("same model, same time", "same model, different times", "different models")
HOLDER = r"invocation ([0-9a-f-]{36}) of \S+( for execution [0-9: -]{19})?, started at 20[0-9: .-]+"
REFUSALS = {
    "claimed first": rf"another run claimed the model first: {HOLDER}",
    "taken over": rf"another run took over this execution: {HOLDER}",
    "unfinished": rf"did not finish \([a-z_ ]+\): {HOLDER}",
    "ended": rf"the run it was about to take over has ended: {HOLDER}",
    "conflict": r"during each of 5 attempts, the last of them: invocation ([0-9a-f-]{36}) for execution",
    "alive": r"during this run:\n +- version \d+: [A-Z ]+ by invocation ([0-9a-f-]{36}) for execution",
    # Nobody is in the way: an earlier execution ran after a later one, and the message says which to repeat.
    "stale": r"stale executions before this one",
}


@pytest.fixture(scope="session")
def crew(server: Server, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[int], list[Worker]]]:
    """As many processes as a test asks for; they live as long as the tests."""
    workers: list[Worker] = []

    def first(count: int) -> list[Worker]:
        while len(workers) < count:
            name = f"process {len(workers) + 1}"
            workers.append(Worker(server, tmp_path_factory.mktemp("crew") / "worker", name))
        return workers[:count]

    yield first
    for worker in workers:
        worker.stop()


class Rounds:
    """A project with some of the patterns, and what has been run of each model."""

    def __init__(self, server: Server, project: Project, workers: list[Worker], names: list[str], seed: int) -> None:
        self.server, self.project, self.workers, self.names = server, project, workers, names
        self.random = random.Random(seed)
        self.done: dict[str, set[str]] = {name: set() for name in names}
        self.files: set[str] = set()
        for name in names:
            PATTERNS[name].write(project)
        tests = "".join(f"  - name: {name}\n    data_tests: [ditto.ditto_ledger_matches_history]\n" for name in names)
        project.write({"models/tests.yml": f"models:\n{tests}"})
        self.landing = Landing(landing_of(project))

    def day(self, number: int) -> str:
        return str(FIRST + dt.timedelta(days=number))

    def commands(self, kind: str, models: int) -> list[tuple[list[str], str]]:
        """For each process its models and its execution time, which may be one that was there before."""
        days = [self.day(number) for number in self.random.sample(range(12), len(self.workers))]
        one = self.random.sample(self.names, models)
        if kind == KINDS[0]:
            return [(one, days[0])] * len(self.workers)
        if kind == KINDS[1]:
            return [(one, day) for day in days]
        shares = [self.names[number :: len(self.workers)] for number in range(len(self.workers))]
        return [(share, day) for share, day in zip(shares, days, strict=True) if share]

    def play(self, kind: str, models: int = 1) -> None:
        """With so many models at once, where the processes share them."""
        commands = self.commands(kind, models)
        if any("ingested" in names for names, _ in commands):
            for _ in range(3):
                name = f"{len(self.files)}.csv"
                self.files.add(name)
                self.landing.put(name, f"{len(self.files)},a", f"{len(self.files)},b")
        at_work = self.workers[: len(commands)]
        for worker, (names, day) in zip(at_work, commands, strict=True):
            worker.send(
                self.project, "run", "--select", *names, day=day, delay=self.random.choice([0.0, 0.0, 0.4, 1.2])
            )
        answers = together(at_work)
        reasons = self.judge(commands, answers)
        pairs = list(zip(commands, answers, strict=True))
        again = sorted({(day, name) for (_, day), answer in pairs for name in answer.failed()})
        for names, day in commands:
            for name in names:
                self.done[name].add(day)
        for day, name in again:
            self.again(name, day)
        self.replay_stale()
        self.check({name for names, _ in commands for name in names})
        tried = [PATTERNS[name].materialized for names, _ in commands for name in names]
        note(
            "round", processes=len(at_work), round=kind, patterns=sorted(set(tried)),
            succeeded=len(tried) - sum(reasons.values()), refused=dict(reasons),
        )  # fmt: skip

    def judge(self, commands: list[tuple[list[str], str]], answers: list[Answer]) -> Counter[str]:
        """Every failure is a refusal that names a run which is in the ledger of that model."""
        reasons: Counter[str] = Counter()
        for (names, _), answer in zip(commands, answers, strict=True):
            assert set(answer.nodes) == set(names), answer.text
            for name, text in answer.failed().items():
                found = [(reason, match) for reason, regex in REFUSALS.items() if (match := re.search(regex, text))]
                assert found, text
                reason, match = found[0]
                reasons[reason] += 1
                if match.groups():
                    assert match[1] != answer.invocation, text
                    assert (match[1],) in self.ask(f"select invocation_id from {{ledger}} where {self.of(name)}"), text
        return reasons

    def of(self, name: str) -> str:
        return f"relation = '{self.project.schema}.{name}'"

    def ask(self, sql: str) -> list[tuple[object, ...]]:
        schema = self.project.schema
        names = {"schema": schema, "ledger": f"{schema}.ditto_ledger", "state": f"{schema}.ditto_state"}
        return self.server.sql(sql.format(**names))

    def again(self, name: str, day: str) -> None:
        """One after the other. Where an execution before it is stale, that one comes first."""
        answer = self.workers[0].ask(self.project, "run", "--select", name, day=day)
        if not answer.ok and re.search(REFUSALS["stale"], answer.text):
            self.replay_stale()
            answer = self.workers[0].ask(self.project, "run", "--select", name, day=day)
        assert answer.ok, answer.text

    def replay_stale(self) -> None:
        for _ in range(40):
            stale = self.ask(
                "select relation, cast(to_date(execution_time) as string) from {state} where status = 'stale' "
                "order by execution_time limit 1"
            )
            if not stale:
                return
            relation, day = stale[0]
            answer = self.workers[0].ask(self.project, "run", "--select", str(relation).split(".")[1], day=str(day))
            assert answer.ok, answer.text
        raise AssertionError("there is always another stale execution")

    def check(self, names: set[str]) -> None:
        states: dict[str, list[tuple[object, ...]]] = {name: [] for name in names}
        for relation, *state in self.ask(
            "select relation, cast(to_date(execution_time) as string), status, delta_table_version from {state} "
            "order by 1, 2"
        ):
            states.setdefault(str(relation).split(".")[1], []).append(tuple(state))
        for name in names:
            days = self.done[name]
            assert [row[:2] for row in states[name]] == [(day, "live") for day in sorted(days)], name
            if days:
                self.check_rows(name, days, {str(day): version for day, _, version in states[name]})

    def finish(self) -> None:
        """Also what the last rounds left alone is right; the chain of the ledger is whole, and fits the tables."""
        self.check(set(self.names))
        for arguments in (("run-operation", "ditto_verify"), ("test",)):
            answer = self.workers[0].ask(self.project, *arguments)
            assert answer.ok, answer.text

    def check_rows(self, name: str, days: set[str], versions: dict[str, Any]) -> None:
        pattern = PATTERNS[name]
        if pattern.keeps == "files":
            rows = sorted(self.ask(f"select id, name from {{schema}}.{name}"))
            assert rows == [(number + 1, letter) for number in range(len(self.files)) for letter in "ab"], name
            tracked = self.ask("select status, record_count, count(*) from {schema}.ditto_files group by 1, 2")
            assert tracked == [("SUCCESS", 2, len(self.files))], name
            return
        rows = sorted(self.ask(f"select id, cast(day as string) from {{schema}}.{name}"))
        assert rows in possible(pattern.keeps, days), (name, days, rows)
        if pattern.keeps == "last":
            # By the order of the ledger, too: the commit with the highest version came last.
            last = max(versions, key=lambda day: versions[day])
            assert rows == by_key(days, last), (name, versions)
        if pattern.keeps == "newest":
            # Every version that was recorded is whole, and nobody else's.
            written = self.ask(
                "select rows_inserted, unit, version from {ledger} where event = 'committed' "
                f"and execution_time is not null and {self.of(name)}"
            )
            assert {row[0] for row in written} == {SHARED + OWN}, written
            assert len({row[1:] for row in written}) == len(written), written


@pytest.mark.parametrize(
    ("processes", "seed"),
    [(4 if seed % 2 else 2, seed) for seed in range(FIRST_SEED, FIRST_SEED + SEEDS)],
)
@pytest.mark.slow
def test_ten_rounds_of_processes_at_once(
    server: Server, remote: Project, crew: Callable[[int], list[Worker]], processes: int, seed: int
) -> None:
    """Every kind in an order of its own, so that each is sometimes the one that makes the tables; then seven more."""
    order = list(PATTERNS)
    names = [order[(seed * 4 + number) % len(order)] for number in range(4)]
    rounds = Rounds(server, remote, crew(processes), names, seed)
    for kind in (*rounds.random.sample(KINDS, 3), *rounds.random.choices(KINDS, k=7)):
        rounds.play(kind)
    rounds.finish()


@pytest.mark.slow
def test_two_processes_at_once(server: Server, remote: Project, crew: Callable[[int], list[Worker]]) -> None:
    """One round of a pattern of one commit and one of several, first runs of different times."""
    rounds = Rounds(server, remote, crew(2), ["merged", "stateful"], seed=1)
    rounds.play(KINDS[1], models=2)
    rounds.finish()
    # Also the columns that a client without ditto gets: times without a zone are a special type for some.
    assert len(rounds.ask("select * from {state}")) == 4
