"""The materializations in each of their modes, for the crash harness.

Every execution brings rows 0 to 3 and one with a key of its own. A replay brings another `take` of them: other values,
no row 3, another key of its own. So a pattern that overwrites, merges, restores or inserts differs in what is left.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from tests.chaos.crashes import Rows, Scenario, half_way
from tests.support import Outcome, Project, statements

DAY = dt.date(2024, 10, 1)
SELECT = """
    select
        cast(if(id < 4, id, 10 + datediff('{{ ditto.execution_date() }}', '2024-10-01') + 100 * take) as int) as id,
        concat('row ', id, ' of {{ ditto.execution_date() }}, take ', take) as value,
        date'{{ ditto.execution_date() }}' as day
    from range(0, 5)
    cross join global_temp.take_{{ target.schema }}
    where id <> 3 or take = 0
"""
KEYED = f"select {{{{ ditto.idempotent_key(['id']) }}}} as key, * from ({SELECT})"

Run = tuple[int, int]
"""The number of a day, and the take."""


def day(number: int) -> str:
    return str(DAY + dt.timedelta(days=number))


def take(project: Project, number: int) -> None:
    """What the model reads from now on. As a view of the session it costs nothing, and no file changes."""
    project.sql(f"create or replace global temp view take_{{schema}} as select {number} as take")


def brought(run: Run) -> Rows:
    number, taken = run
    date = DAY + dt.timedelta(days=number)
    keys = [0, 1, 2, *([3] if taken == 0 else []), 10 + number + 100 * taken]
    return [(key, f"row {min(key, 4)} of {date}, take {taken}", date) for key in keys]


def overwritten(runs: list[Run]) -> Rows:
    """Each day is what its last run brought."""
    return [row for run in dict(runs).items() for row in brought(run)]


def merged(runs: list[Run]) -> Rows:
    return list({row[0]: row for run in runs for row in brought(run)}.values())


def restored(runs: list[Run]) -> Rows:
    """A run undoes those of its own day and of later ones."""
    applied: list[Run] = []
    for run in runs:
        applied = [*(each for each in applied if each[0] < run[0]), run]
    return merged(applied)


def inserted(runs: list[Run]) -> Rows:
    return list({row[0]: row for run in reversed(runs) for row in brought(run)}.values())


def newest(runs: list[Run]) -> Rows:
    return brought(max(dict(runs).items()))


def transacted(runs: list[Run]) -> Rows:
    """A later day is not overwritten by an earlier one, and a replay takes away what it has no more."""
    table: dict[object, tuple[object, ...]] = {}
    for run in runs:
        rows = {row[0]: row for row in brought(run)}
        own = DAY + dt.timedelta(days=run[0])
        table = {key: row for key, row in table.items() if row[2] != own or key in rows}
        table.update({key: row for key, row in rows.items() if key not in table or table[key][2] <= own})
    return list(table.values())


def all_live(runs: list[Run]) -> dict[str, str]:
    return {day(number): "live" for number, _ in runs}


def later_are_stale(runs: list[Run]) -> dict[str, str]:
    states: dict[str, str] = {}
    for number, _ in runs:
        states = {known: "stale" if known > day(number) else state for known, state in states.items()}
        states[day(number)] = "live"
    return states


@dataclass(frozen=True)
class Kind:
    """A materialization with its config, and in a few lines what it makes of runs."""

    pattern: str
    content: Callable[[list[Run]], Rows]
    config: dict[str, Any]
    variant: str = ""
    states: Callable[[list[Run]], dict[str, str]] = all_live
    sql: str = SELECT
    read: Callable[[Project, str], Rows] | None = None
    also: Callable[[Project, int], None] | None = None
    keeps_all: bool = False
    """A full refresh drops nothing."""

    def model(self, project: Project, **config: Any) -> None:
        project.model("target", self.sql, materialized=self.pattern, **self.config, **config)

    def begin(self, project: Project, days: int) -> None:
        self.model(project)
        take(project, 0)
        for number in range(days):
            project.must_run(day(number))

    def scenario(
        self, mode: str, prepare: Callable[[Project], None], command: Callable[[Project, int], Outcome],
        runs: Callable[[int], list[Run]], variant: str = "", **more: Any,
    ) -> Scenario:  # fmt: skip
        given = {"table": "target", "columns": "id, value, day", "read": self.read, "also": self.also, **more}
        return Scenario(
            self.pattern, mode, prepare, command, expected=lambda attempt: self.content(runs(attempt)),
            states=lambda attempt: self.states(runs(attempt)), variant=" ".join(filter(None, [self.variant, variant])),
            **given,
        )  # fmt: skip


def first(kind: Kind) -> Scenario:
    """The ledger is there, of the model nothing is. Each attempt is a model of its own."""

    def anew(project: Project, attempt: int) -> None:
        kind.model(project, alias=f"target_{attempt}")

    def prepare(project: Project) -> None:
        kind.begin(project, 1)

    def runs(attempt: int) -> list[Run]:
        return [(0, 0)]

    return kind.scenario(
        "first", prepare, lambda project, _: project.run(day(0)), runs, anew=anew, table="target_{attempt}"
    )


def first_of_all(kind: Kind) -> Scenario:
    """Nothing is there: neither the schema, nor the ledger, nor the table."""

    def anew(project: Project, attempt: int) -> None:
        project.spark.sql(f"drop schema if exists {project.schema} cascade")
        project.schema = f"{project.schema.split('_')[0]}_{attempt}"
        take(project, 0)

    def runs(attempt: int) -> list[Run]:
        return [(0, 0)]

    return kind.scenario(
        "first", kind.model, lambda project, _: project.run(day(0)), runs, "without a schema and a ledger", anew=anew
    )


def normal(kind: Kind) -> Scenario:
    """Each attempt is the next day, so that one table serves them all."""

    def command(project: Project, attempt: int) -> Outcome:
        return project.run(day(attempt + 1))

    def runs(attempt: int) -> list[Run]:
        return [(number, 0) for number in range(attempt + 2)]

    return kind.scenario("normal", lambda project: kind.begin(project, 1), command, runs)


def replay(kind: Kind) -> Scenario:
    """The newest execution again, each time with another take."""

    def runs(attempt: int) -> list[Run]:
        return [(0, 0), *((1, number) for number in range(attempt + 2))]

    return kind.scenario(
        "replay", lambda project: kind.begin(project, 2), lambda project, _: project.run(day(1)), runs,
        anew=lambda project, attempt: take(project, attempt + 1),
    )  # fmt: skip


def backfill(kind: Kind, number: int = 1) -> Scenario:
    """An earlier execution, each time with another take. Where that makes later ones stale, they are replayed first."""

    def lost(runs: list[Run]) -> list[Run]:
        return [(each, 0) for each in range(3) if kind.states(runs).get(day(each)) == "stale"]

    def runs(attempt: int) -> list[Run]:
        done: list[Run] = [(0, 0), (1, 0), (2, 0)]
        for each in range(attempt + 1):
            done += [*lost(done), (number, each + 1)]
        return done

    def anew(project: Project, attempt: int) -> None:
        take(project, 0)
        for each, _ in lost(runs(attempt - 1)):
            project.must_run(day(each))
        take(project, attempt + 1)

    return kind.scenario(
        "backfill", lambda project: kind.begin(project, 3), lambda project, _: project.run(day(number)), runs,
        "" if number else "of the first execution", anew=anew,
    )  # fmt: skip


def reconciled(kind: Kind) -> Scenario:
    """The day before has died after its write. The run of the next day finds its commit and tells the ledger."""
    found: list[int] = []

    def prepare(project: Project) -> None:
        kind.begin(project, 1)
        with statements() as recorded:
            project.must_run(day(1))
        found.append(half_way(recorded, "last write"))

    def anew(project: Project, attempt: int) -> None:
        with statements(die_before=found[0]):
            assert not project.run(day(2 * attempt + 2)).ok

    return kind.scenario(
        "takeover", prepare, lambda project, attempt: project.run(day(2 * attempt + 3)),
        lambda attempt: [(number, 0) for number in range(2 * attempt + 4)], "of another execution", anew=anew,
    )  # fmt: skip


def full_refresh(kind: Kind) -> Scenario:
    def runs(attempt: int) -> list[Run]:
        return [*([(0, 0)] if kind.keeps_all else []), (1, attempt + 1)]

    return kind.scenario(
        "full refresh", lambda project: kind.begin(project, 2),
        lambda project, _: project.run(day(1), "--full-refresh"), runs,
        anew=lambda project, attempt: take(project, attempt + 1),
    )  # fmt: skip


# Kinds


def overwriting(variant: str = "", **config: Any) -> Kind:
    return Kind("insert_overwrite", overwritten, {"partition_by": "day", **config}, variant)


def merging(variant: str = "", **config: Any) -> Kind:
    return Kind("merger", merged, {"unique_key": "id", **config}, variant)


def hiding() -> Kind:
    """Deleted rows are remembered behind a view: row 0 always is one."""

    def content(runs: list[Run]) -> Rows:
        # In the order of their days: an older change never overwrites a newer row.
        ordered = sorted(runs, key=lambda run: run[0])
        return [row for row in merged(ordered) if row[0] != 0]

    sql = f"select *, id = 0 as gone from ({SELECT})"
    config = {"unique_key": "id", "soft_delete": "gone", "sequence_by": "day"}
    return Kind("merger", content, config, "behind a view", sql=sql)


def keyed() -> Kind:
    return Kind("keyed_idempotency", merged, {"unique_key": "key"}, sql=KEYED)


def inserting() -> Kind:
    return Kind("dedup_insert", inserted, {"unique_key": "id"})


def stateful(variant: str = "", **config: Any) -> Kind:
    return Kind("stateful_merge", restored, {"unique_key": "id", **config}, variant, later_are_stale)


def pinned() -> Kind:
    """Readers stay where they are as long as an execution is stale."""

    def content(runs: list[Run]) -> Rows:
        seen = [length for length in range(1, len(runs) + 1) if "stale" not in later_are_stale(runs[:length]).values()]
        return restored(runs[: seen[-1]])

    config = {"unique_key": "id", "readers": "pinned"}
    return Kind("stateful_merge", content, config, "readers pinned", later_are_stale)


def units(variant: str, **config: Any) -> Kind:
    return Kind("fast_metadata_cleaner", overwritten, config, variant)


def resetting(kind: Kind) -> Scenario:
    """The first day of a week is killed while it prepares its unit anew; the day after it is stale then."""

    def begin(project: Project) -> None:
        kind.begin(project, 0)
        for number in (6, 7, 13):
            project.must_run(day(number))

    def anew(project: Project, attempt: int) -> None:
        if attempt:
            take(project, 0)
            project.must_run(day(7))
        take(project, attempt + 1)

    scenario = kind.scenario(
        "backfill",
        begin,
        lambda project, _: project.run(day(6)),
        lambda attempt: [(6, attempt + 1), (13, 0)],
        anew=anew,
    )
    states = {day(6): "live", day(7): "stale", day(13): "live"}
    return replace(scenario, states=lambda attempt: states)


def publishing(versioning: str) -> Kind:
    """Readers see the newest execution; no table is written twice, and none is lost."""

    def written_once(project: Project, attempt: int) -> None:
        for _, name, _ in project.sql("show tables in {schema} like 'target*__v*'"):
            assert len(project.rows(name)) >= 4 and project.versions(name) == 0

    return Kind(
        "proxy_view", newest, {"versioning": versioning}, "" if versioning == "tables" else versioning,
        also=written_once, read=listed if versioning == "manifest" else None, keeps_all=True,
    )  # fmt: skip


def listed(project: Project, table: str) -> Rows:
    """What a reader finds who goes by the newest manifest."""
    found = project.sql(f"select path, sequence from {{schema}}.{table}__manifest")
    last = max(sequence for _, sequence in found)
    paths = [path for path, sequence in found if sequence == last]
    return [row for path in paths for row in project.sql(f"select id, value, day from parquet.`{path}`")]


def transacting(variant: str = "", **config: Any) -> Kind:
    content = {"append": overwritten, "overwrite": lambda runs: brought(runs[-1])}.get(
        config.get("write", ""), transacted
    )
    return Kind("transactional_writer", content, {"unique_key": "id", **config}, variant)


def stopping(kind: Kind) -> Kind:
    """Row 1 of each execution is a dead letter, once."""
    rules = [{"name": "one", "when": "id = 1"}]

    def content(runs: list[Run]) -> Rows:
        return [row for row in kind.content(runs) if row[0] != 1]

    def one_letter_for_each_day(project: Project, attempt: int) -> None:
        found = project.sql(
            "select cast(execution_time as string), record, attempts from {schema}.target__dead_letters"
        )
        assert sorted(row[0] for row in found) == sorted(project.states("target"))
        assert all('"id":1' in row[1] and row[2] == 0 for row in found)

    return Kind(
        kind.pattern, content, {**kind.config, "dead_letters": rules}, f"{kind.variant} dead letters".strip(),
        kind.states, kind.sql, also=one_letter_for_each_day,
    )  # fmt: skip
