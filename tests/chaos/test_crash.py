"""Kill every pattern between any two statements; the retry gives what an undisturbed run gives."""

from __future__ import annotations

import datetime as dt

import pytest

from tests.chaos.crashes import Scenario, crash_everywhere
from tests.support import Outcome, Project

DAY = dt.date(2024, 10, 1)
SOURCE = """
    select cast(id as int) as id, concat('row ', id, ' of ', '{{ ditto.execution_date() }}') as value, {day} as day
    from range(0, 4)
"""
OVERWRITE = SOURCE.replace("{day}", "date'{{ ditto.execution_date() }}'")
MERGE = SOURCE.replace("{day}", "'x'")


def day(number: int) -> str:
    return str(DAY + dt.timedelta(days=number))


def slice_of(number: int) -> list[tuple[object, ...]]:
    return [(i, f"row {i} of {day(number)}", DAY + dt.timedelta(days=number)) for i in range(4)]


def all_slices(attempt: int) -> list[tuple[object, ...]]:
    return [row for number in range(attempt + 2) for row in slice_of(number)]


def merged(attempt: int) -> list[tuple[object, ...]]:
    return [(i, f"row {i} of {day(attempt + 1)}", "x") for i in range(4)]


def normal_run(project: Project, attempt: int) -> Outcome:
    """Each attempt is the next day, so that one table serves them all."""
    return project.run(day(attempt + 1))


def full_refresh(project: Project, attempt: int) -> Outcome:
    return project.run(day(1), "--full-refresh")


def first_run(project: Project, attempt: int) -> Outcome:
    return project.run(day(1))


def overwriting(**config: object) -> Scenario:
    def prepare(project: Project) -> None:
        project.model("slices", OVERWRITE, materialized="insert_overwrite", partition_by="day", **config)
        project.must_run(day(0))

    return Scenario("insert_overwrite " + str(config), prepare, normal_run, "slices", all_slices)


def merging() -> Scenario:
    def prepare(project: Project) -> None:
        project.model("merged", MERGE, materialized="merger", unique_key="id")
        project.must_run(day(0))

    return Scenario("merger", prepare, normal_run, "merged", merged)


def keyed() -> Scenario:
    def prepare(project: Project) -> None:
        text = "select {{ ditto.idempotent_key(['id']) }} as key, * from (" + MERGE + ")"
        project.model("merged", text, materialized="keyed_idempotency", unique_key="key")
        project.must_run(day(0))

    return Scenario("keyed_idempotency", prepare, normal_run, "merged", merged, columns="id, value, day")


def inserting() -> Scenario:
    """Rows 0 to 3 and one of each day; every day brings them all."""

    def prepare(project: Project) -> None:
        text = "select id, value from ({}) union all select {{{{ ditto.execution_date()[-2:] | int + 10 }}}}, 'new'"
        project.model("merged", text.format(MERGE), materialized="dedup_insert", unique_key="id")
        project.must_run(day(0))

    def expected(attempt: int) -> list[tuple[object, ...]]:
        return [row[:2] for row in merged(-1)] + [(11 + number, "new") for number in range(attempt + 2)]

    return Scenario("dedup_insert", prepare, normal_run, "merged", expected)


def backfilling(replayed: int, **config: object) -> Scenario:
    """Three days are there; an earlier one is killed while it is replayed. The later ones are stale from then on."""

    def prepare(project: Project) -> None:
        project.model("merged", MERGE, materialized="stateful_merge", unique_key="id", **config)
        for number in range(3):
            project.must_run(day(number))

    def command(project: Project, attempt: int) -> Outcome:
        return project.run(day(replayed))

    rows = [(i, f"row {i} of {day(replayed)}", "x") for i in range(4)]
    stale = [day(number) for number in range(replayed + 1, 3)]
    return Scenario(f"stateful_merge {config}", prepare, command, "merged", lambda attempt: rows, stale=stale)


def stateful(**config: object) -> Scenario:
    def prepare(project: Project) -> None:
        project.model("merged", MERGE, materialized="stateful_merge", unique_key="id", **config)
        project.must_run(day(0))

    return Scenario(f"stateful_merge {config}", prepare, normal_run, "merged", merged)


def units(project: Project) -> list[str]:
    names = [row[1] for row in project.sql("show tables in {schema} like 'slices__*'")]
    return sorted(name.removeprefix("slices__") for name in names)


def new_unit(**config: object) -> Scenario:
    """Each attempt is the next day, and each day has a table of its own."""

    def prepare(project: Project) -> None:
        project.model("slices", OVERWRITE, materialized="fast_metadata_cleaner", granularity="day", **config)
        project.must_run(day(0))

    return Scenario("fast_metadata_cleaner, new unit", prepare, normal_run, "slices", all_slices)


def resetting(**config: object) -> Scenario:
    """The first day of a week is killed while it prepares its unit anew; the day after it is stale from then on."""

    def prepare(project: Project) -> None:
        project.model("slices", OVERWRITE, materialized="fast_metadata_cleaner", **config)
        for number in (6, 7, 13):
            project.must_run(day(number))

    def command(project: Project, attempt: int) -> Outcome:
        return project.run(day(6))

    rows = [*slice_of(6), *slice_of(13)]
    return Scenario(
        f"fast_metadata_cleaner reset {config}", prepare, command, "slices", lambda attempt: rows, stale=[day(7)]
    )


def freezing() -> Scenario:
    """Each attempt begins another month, so that the one before it can be frozen."""

    def load(project: Project, month: int) -> None:
        for number in (1, 2):
            project.must_run(f"2024-{month:02}-{number:02}")

    def prepare(project: Project) -> None:
        project.model("slices", OVERWRITE, materialized="fast_metadata_cleaner", granularity="day")
        load(project, 1)

    def command(project: Project, attempt: int) -> Outcome:
        return project.dbt("run-operation", "ditto_freeze", "--args", "{model: slices}")

    def expected(attempt: int) -> list[tuple[object, ...]]:
        days = [dt.date(2024, month, number) for month in range(1, attempt + 3) for number in (1, 2)]
        return [(i, f"row {i} of {loaded}", loaded) for loaded in days for i in range(4)]

    def only_tables_that_are_needed(project: Project, attempt: int) -> None:
        frozen = [f"frozen_2024{month:02}" for month in range(1, attempt + 2)]
        assert units(project) == [f"d2024{attempt + 2:02}01", f"d2024{attempt + 2:02}02", *frozen]

    return Scenario(
        "ditto_freeze", prepare, command, "slices", expected,
        anew=lambda project, attempt: load(project, attempt + 2), also=only_tables_that_are_needed,
    )  # fmt: skip


def evolving() -> Scenario:
    """An old unit gets the column of a newer one."""

    def anew(project: Project, attempt: int) -> None:
        project.spark.sql(f"drop schema if exists {project.schema} cascade")
        project.schema = f"{project.schema.split('_')[0]}_{attempt}"
        project.model("slices", OVERWRITE, materialized="fast_metadata_cleaner", granularity="day")
        project.must_run(day(0))
        more = OVERWRITE.replace("select ", "select 1 as one, ", 1)
        project.model("slices", more, materialized="fast_metadata_cleaner", granularity="day")
        project.must_run(day(1))

    def command(project: Project, attempt: int) -> Outcome:
        return project.dbt("run-operation", "ditto_evolve_units", "--args", "{model: slices}")

    def in_the_table(project: Project, attempt: int) -> None:
        assert "one" in [row[0] for row in project.sql(f"describe {{schema}}.slices__d{day(0).replace('-', '')}")]

    rows = [(*row, None) for row in slice_of(0)] + [(*row, 1) for row in slice_of(1)]
    return Scenario(
        "ditto_evolve_units", lambda project: None, command, "slices", lambda attempt: rows,
        anew=anew, also=in_the_table,
    )  # fmt: skip


def publishing(versioning: str) -> Scenario:
    """A full dataset each day. Readers see the newest whole version; no table is written twice, and none is lost."""

    def prepare(project: Project) -> None:
        project.model("published", OVERWRITE, materialized="proxy_view", versioning=versioning)
        project.must_run(day(0))

    def every_version_is_listed_and_whole(project: Project, attempt: int) -> None:
        for _, name, _ in project.sql("show tables in {schema} like 'published__v*'"):
            assert len(project.rows(name)) == 4 and project.versions(name) == 0

    return Scenario(
        f"proxy_view {versioning}", prepare, normal_run, "published", lambda attempt: slice_of(attempt + 1),
        also=every_version_is_listed_and_whole,
    )  # fmt: skip


def pointing() -> Scenario:
    """Readers go back to the version before; killed and run again, they are there."""

    def prepare(project: Project) -> None:
        project.model("published", OVERWRITE, materialized="proxy_view")
        for number in (0, 1):
            project.must_run(day(number))

    def command(project: Project, attempt: int) -> Outcome:
        first = min(row[1] for row in project.sql("show tables in {schema} like 'published__v*'"))
        arguments = f"{{model: published, version: {first}}}"
        return project.dbt("run-operation", "ditto_proxy_point_to", "--args", arguments)

    return Scenario(
        "ditto_proxy_point_to", prepare, command, "published", lambda attempt: slice_of(0),
        anew=lambda project, attempt: project.must_run(day(1)),
    )  # fmt: skip


def transacting(**config: object) -> Scenario:
    """Each attempt is the next day; nothing of a candidate is left behind."""

    def prepare(project: Project) -> None:
        project.model("written", MERGE, materialized="transactional_writer", unique_key="id", **config)
        project.must_run(day(0))

    def no_candidate(project: Project, attempt: int) -> None:
        assert project.sql("show tables in {schema} like '*candidate*'") == []

    def all_days(attempt: int) -> list[tuple[object, ...]]:
        return [(i, f"row {i} of {day(number)}", "x") for number in range(attempt + 2) for i in range(4)]

    expected = all_days if config.get("write") == "append" else merged
    return Scenario(
        f"transactional_writer {config}", prepare, normal_run, "written", expected,
        columns="id, value, day", also=no_candidate,
    )  # fmt: skip


def correcting() -> Scenario:
    """A replay that has less rows than before is killed: what it has no more goes, and nothing else."""

    def prepare(project: Project) -> None:
        less = MERGE + " where id < {{ var('rows', 4) }}"
        project.model("written", less, materialized="transactional_writer", unique_key="id")

    def anew(project: Project, attempt: int) -> None:
        assert project.dbt("run", execution_date=day(0)).ok

    def command(project: Project, attempt: int) -> Outcome:
        return project.dbt("run", execution_date=day(0), variables={"rows": 2})

    rows = [(i, f"row {i} of {day(0)}", "x") for i in range(2)]
    return Scenario(
        "transactional_writer, corrected", prepare, command, "written", lambda attempt: rows,
        columns="id, value, day", anew=anew,
    )  # fmt: skip


def refreshing(base: Scenario, expected: list[tuple[object, ...]]) -> Scenario:
    return Scenario(
        base.name + " --full-refresh", base.prepare, full_refresh, base.table, lambda attempt: expected, base.columns
    )


def first_of_all() -> Scenario:
    """Nothing is there: neither the schema, nor the ledger, nor the table."""

    def prepare(project: Project) -> None:
        project.model("merged", MERGE, materialized="merger", unique_key="id", soft_delete="gone", sequence_by="id")
        text = (project.path / "models" / "merged.sql").read_text()
        (project.path / "models" / "merged.sql").write_text(text.replace("as day", "as day, id = 3 as gone"))

    def anew(project: Project, attempt: int) -> None:
        project.spark.sql(f"drop schema if exists {project.schema} cascade")
        project.schema = f"{project.schema.split('_')[0]}_{attempt}"

    rows = [(*row, False) for row in merged(0) if row[0] != 3]
    return Scenario("merger, first of all", prepare, first_run, "merged", lambda attempt: rows, anew=anew)


def stopping(materialized: str, **config: object) -> Scenario:
    """Each attempt is the next day; row 3 of each day is a dead letter."""

    def prepare(project: Project) -> None:
        rules = [{"name": "third", "when": "id = 3"}]
        project.model("slices", OVERWRITE, materialized=materialized, dead_letters=rules, **config)
        project.must_run(day(0))

    def expected(attempt: int) -> list[tuple[object, ...]]:
        rows = slice_of(attempt + 1) if config.get("unique_key") else all_slices(attempt)
        return [row for row in rows if row[0] != 3]

    def one_letter_a_day(project: Project, attempt: int) -> None:
        columns = "cast(execution_time as string), record, attempts"
        found = project.sql(f"select {columns} from {{schema}}.slices__dead_letters")
        assert sorted(row[0][:10] for row in found) == [day(number) for number in range(attempt + 2)]
        assert all('"id":3' in row[1] and row[2] == 0 for row in found)

    return Scenario(f"dead letters of {materialized}", prepare, normal_run, "slices", expected, also=one_letter_a_day)


def healing(materialized: str, **config: object) -> Scenario:
    """Rows 2 and 3 of each day are dead letters; one of them heals, and is tried again."""

    def heal(project: Project, *healed: int) -> None:
        project.source("healed", "id int", [(number,) for number in healed])

    def prepare(project: Project) -> None:
        heal(project)
        sick = f"id >= 2 and not exists (select 1 from {project.schema}.healed where healed.id = source.id)"
        rules = [{"name": "sick", "when": sick}]
        project.model("slices", OVERWRITE, materialized=materialized, dead_letters=rules, **config)

    def anew(project: Project, attempt: int) -> None:
        heal(project)
        project.must_run(day(attempt))
        heal(project, 2)

    def command(project: Project, attempt: int) -> Outcome:
        arguments = f"{{model: slices, execution_date: {day(attempt)}}}"
        return project.dbt("run-operation", "ditto_retry_dead_letters", "--args", arguments)

    def expected(attempt: int) -> list[tuple[object, ...]]:
        rows = slice_of(attempt) if config.get("unique_key") else all_slices(attempt - 1)
        return [row for row in rows if row[0] != 3]

    def tried_once(project: Project, attempt: int) -> None:
        found = project.sql("select record, status, attempts from {schema}.slices__dead_letters")
        assert len(found) == attempt + 1
        assert all('"id":3' in row[0] and row[1:] == ("FAILED", 1) for row in found)

    return Scenario(
        f"ditto_retry_dead_letters, {materialized}", prepare, command, "slices", expected, anew=anew, also=tried_once
    )


SCENARIOS = {
    "merger, first run with a view": (first_of_all, 7),
    "merger": (merging, 2),
    "merger, full refresh": (lambda: refreshing(merging(), merged(0)), 4),
    "keyed_idempotency": (keyed, 2),
    "keyed_idempotency, full refresh": (lambda: refreshing(keyed(), merged(0)), 4),
    "dedup_insert": (inserting, 2),
    "dedup_insert, full refresh": (lambda: refreshing(inserting(), [*(row[:2] for row in merged(0)), (12, "new")]), 4),
    "stateful_merge, normal": (lambda: stateful(readers="pinned"), 4),
    "stateful_merge, backfill": (lambda: backfilling(1), 4),
    "stateful_merge, backfill of the first": (lambda: backfilling(0), 4),
    "stateful_merge history": (lambda: stateful(versioning="history", file_format="parquet"), 4),
    "stateful_merge history, backfill": (lambda: backfilling(1, versioning="history"), 5),
    "fast_metadata_cleaner, new unit": (new_unit, 4),
    "fast_metadata_cleaner, reset": (resetting, 3),
    "fast_metadata_cleaner, reset by truncate": (lambda: resetting(reset="truncate"), 4),
    "fast_metadata_cleaner, reset by drop": (lambda: resetting(reset="drop"), 6),
    "fast_metadata_cleaner, full refresh": (lambda: refreshing(new_unit(), slice_of(1)), 4),
    "ditto_freeze": (freezing, 7),
    "ditto_evolve_units": (evolving, 4),
    "proxy_view": (lambda: publishing("tables"), 4),
    "proxy_view native": (lambda: publishing("native"), 4),
    "ditto_proxy_point_to": (pointing, 3),
    "transactional_writer": (transacting, 2),
    "transactional_writer, append": (lambda: transacting(write="append"), 2),
    "transactional_writer, audits": (lambda: transacting(audits=["id >= 0"]), 5),
    "transactional_writer, corrected": (correcting, 2),
    "transactional_writer, full refresh": (lambda: refreshing(transacting(audits=["id >= 0"]), merged(0)), 5),
    "insert_overwrite predicate": (overwriting, 2),
    "insert_overwrite delete_insert": (lambda: overwriting(mode="delete_insert"), 4),
    "insert_overwrite parquet": (lambda: overwriting(file_format="parquet"), 3),
    "insert_overwrite, full refresh": (lambda: refreshing(overwriting(), slice_of(1)), 4),
    "dead letters, merger": (lambda: stopping("merger", unique_key="id"), 3),
    "dead letters, fast_metadata_cleaner": (lambda: stopping("fast_metadata_cleaner", granularity="day"), 5),
    "dead letters, retry": (lambda: healing("insert_overwrite", partition_by="day"), 5),
    "dead letters, retry by merge": (lambda: healing("merger", unique_key="id"), 5),
    "insert_overwrite parquet, full refresh": (lambda: refreshing(overwriting(file_format="parquet"), slice_of(1)), 5),
}


# One of each pattern at each run; the others too with ./scripts/test -m ''
QUICK = {
    "merger",
    "dedup_insert",
    "insert_overwrite delete_insert",
    "stateful_merge, backfill",
    "fast_metadata_cleaner, reset",
    "proxy_view",
    "transactional_writer",
}


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=() if name in QUICK else pytest.mark.slow) for name in SCENARIOS]
)
def test_a_crash_between_any_two_statements(project: Project, name: str) -> None:
    make, at_least = SCENARIOS[name]
    points = crash_everywhere(make(), project)
    # Fewer would mean that the harness no longer sees the statements.
    assert points >= at_least
    assert project.dbt("run-operation", "ditto_verify").ok
