"""The materializations in each of their modes, for the crash harness.

Every execution brings rows 0 to 3 and one with a key of its own. A replay brings another `take` of them: other values,
no row 3, another key of its own. So a pattern that overwrites, merges, restores or inserts differs in what is left.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from tests.chaos.crashes import Fleet, Rows, Scenario, half_way
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
    keys = {0: 0, 1: 1, 2: 2, **({3: 3} if taken == 0 else {}), 4: 10 + number + 100 * taken}
    return [(key, f"row {row} of {date}, take {taken}", date) for row, key in keys.items()]


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
    also: Callable[[Project, str], None] | None = None
    """What else holds for its table."""
    keeps_all: bool = False
    """A full refresh drops nothing."""
    name: str = "target"

    def model(self, project: Project, **config: Any) -> None:
        project.model(self.name, self.sql, materialized=self.pattern, **self.config, **config)

    def lost(self, runs: list[Run]) -> list[int]:
        """The days that are stale after these."""
        return [number for number in range(3) if self.states(runs).get(day(number)) == "stale"]


Runs = Callable[[Kind, int], list[Run]]
"""What a kind has run up to an attempt."""


def named(kinds: tuple[Kind, ...]) -> list[Kind]:
    """Each gets a model of its own."""
    if len(kinds) == 1:
        return list(kinds)
    return [replace(kind, name=f"{kind.pattern}_{number}") for number, kind in enumerate(kinds, start=1)]


def start(project: Project, kinds: list[Kind], days: int) -> None:
    for kind in kinds:
        kind.model(project)
    take(project, 0)
    for number in range(days):
        project.must_run(day(number))


def batch(
    kinds: list[Kind], mode: str, prepare: Callable[[Fleet], None], command: Callable[[Fleet, int], Outcome],
    runs: Runs, variant: str = "", table: str = "", **more: Any,
) -> list[Scenario]:  # fmt: skip
    def one(kind: Kind) -> Scenario:
        name = kind.name + table

        def also(project: Project, attempt: int) -> None:
            if kind.also:
                kind.also(project, name.format(attempt=attempt))

        given = {"model": kind.name, "columns": "id, value, day", "read": kind.read, "also": also, **more}
        return Scenario(
            kind.pattern, mode, prepare, command, name, lambda attempt: kind.content(runs(kind, attempt)),
            lambda attempt: kind.states(runs(kind, attempt)), " ".join(filter(None, [kind.variant, variant])), **given,
        )  # fmt: skip

    return [one(kind) for kind in kinds]


def first(*given: Kind) -> list[Scenario]:
    """The ledger is there, of the models nothing is. Each attempt is a table of its own."""
    kinds = named(given)

    def anew(project: Project, attempt: int) -> None:
        for kind in kinds:
            kind.model(project, alias=f"{kind.name}_{attempt}")

    return batch(
        kinds, "first", lambda project: start(project, kinds, 1), lambda project, _: project.run(day(0)),
        lambda kind, attempt: [(0, 0)], anew=anew, table="_{attempt}",
    )  # fmt: skip


def first_of_all(kind: Kind) -> list[Scenario]:
    """Nothing is there: neither the schema, nor the ledger, nor the table."""

    def anew(project: Project, attempt: int) -> None:
        project.spark.sql(f"drop schema if exists {project.schema} cascade")
        project.schema = f"{project.schema.split('_')[0]}_{attempt}"
        take(project, 0)

    return batch(
        [kind], "first", kind.model, lambda project, _: project.run(day(0)), lambda kind, attempt: [(0, 0)],
        "without a schema and a ledger", anew=anew,
    )  # fmt: skip


def normal(*given: Kind) -> list[Scenario]:
    """Each attempt is the next day, so that one table serves them all."""
    kinds = named(given)

    def command(project: Project, attempt: int) -> Outcome:
        return project.run(day(attempt + 1))

    def runs(kind: Kind, attempt: int) -> list[Run]:
        return [(number, 0) for number in range(attempt + 2)]

    return batch(kinds, "normal", lambda project: start(project, kinds, 1), command, runs)


def replay(*given: Kind) -> list[Scenario]:
    """The newest execution again, each time with another take."""
    kinds = named(given)

    def runs(kind: Kind, attempt: int) -> list[Run]:
        return [(0, 0), *((1, number) for number in range(attempt + 2))]

    return batch(
        kinds, "replay", lambda project: start(project, kinds, 2), lambda project, _: project.run(day(1)), runs,
        anew=lambda project, attempt: take(project, attempt + 1),
    )  # fmt: skip


def backfill(*given: Kind, number: int = 1) -> list[Scenario]:
    """An earlier execution, each time with another take. Where that makes later ones stale, they are replayed first."""
    kinds = named(given)

    def runs(kind: Kind, attempt: int) -> list[Run]:
        done: list[Run] = [(0, 0), (1, 0), (2, 0)]
        for each in range(attempt + 1):
            done += [*((lost, 0) for lost in kind.lost(done)), (number, each + 1)]
        return done

    def anew(project: Fleet, attempt: int) -> None:
        take(project, 0)
        for each in range(3):
            losers = [kind.name for kind in kinds if each in kind.lost(runs(kind, attempt - 1))]
            if names := [name for name in losers if name in project.at_work]:
                project.must_run(day(each), model=" ".join(names))
        take(project, attempt + 1)

    return batch(
        kinds, "backfill", lambda project: start(project, kinds, 3), lambda project, _: project.run(day(number)), runs,
        "" if number else "of the first execution", anew=anew,
    )  # fmt: skip


def reconciled(kind: Kind) -> list[Scenario]:
    """The day before has died after its write. The run of the next day finds its commit and tells the ledger."""
    found: list[int] = []

    def prepare(project: Project) -> None:
        start(project, [kind], 1)
        with statements() as recorded:
            project.must_run(day(1))
        found.append(half_way(recorded, "last write"))

    def anew(project: Project, attempt: int) -> None:
        with statements(die_before=found[0]):
            assert not project.run(day(2 * attempt + 2)).ok

    return batch(
        [kind], "takeover", prepare, lambda project, attempt: project.run(day(2 * attempt + 3)),
        lambda kind, attempt: [(number, 0) for number in range(2 * attempt + 4)], "of another execution", anew=anew,
    )  # fmt: skip


def full_refresh(*given: Kind) -> list[Scenario]:
    kinds = named(given)

    def runs(kind: Kind, attempt: int) -> list[Run]:
        return [*([(0, 0)] if kind.keeps_all else []), (1, attempt + 1)]

    return batch(
        kinds, "full refresh", lambda project: start(project, kinds, 2),
        lambda project, _: project.run(day(1), "--full-refresh"), runs,
        anew=lambda project, attempt: take(project, attempt + 1),
    )  # fmt: skip


def resetting(*given: Kind) -> list[Scenario]:
    """The first day of a week is killed while it prepares its unit anew; the day after it is stale then."""
    states = {day(6): "live", day(7): "stale", day(13): "live"}
    kinds = [replace(kind, states=lambda runs: states) for kind in named(given)]

    def prepare(project: Project) -> None:
        start(project, kinds, 0)
        for number in (6, 7, 13):
            project.must_run(day(number))

    def anew(project: Project, attempt: int) -> None:
        if attempt:
            take(project, 0)
            project.must_run(day(7))
        take(project, attempt + 1)

    return batch(
        kinds, "backfill", prepare, lambda project, _: project.run(day(6)),
        lambda kind, attempt: [(6, attempt + 1), (13, 0)], anew=anew,
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


def publishing(versioning: str) -> Kind:
    """Readers see the newest execution; no table is written twice, and none is lost."""

    def written_once(project: Project, table: str) -> None:
        for _, name, _ in project.sql(f"show tables in {{schema}} like '{table}__v*'"):
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

    def one_letter_for_each_day(project: Project, table: str) -> None:
        found = project.sql(
            f"select cast(execution_time as string), record, attempts from {{schema}}.{table}__dead_letters"
        )
        assert sorted(row[0] for row in found) == sorted(project.states(table))
        assert all('"id":1' in row[1] and row[2] == 0 for row in found)

    return Kind(
        kind.pattern, content, {**kind.config, "dead_letters": rules}, f"{kind.variant} dead letters".strip(),
        kind.states, kind.sql, also=one_letter_for_each_day,
    )  # fmt: skip
