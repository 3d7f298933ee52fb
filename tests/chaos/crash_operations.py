"""The operations that write, for the crash harness."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from tests.chaos.crash_patterns import (
    DAY,
    SELECT,
    Kind,
    Run,
    all_live,
    backfill,
    batch,
    brought,
    day,
    merged,
    normal,
    overwriting,
    publishing,
    replay,
    restored,
    start,
    stateful,
    take,
    units,
)
from tests.chaos.crashes import Rows, Scenario, taken_over
from tests.support import Outcome, Project, statements


def operation(name: str, **arguments: Any) -> Callable[[Project, int], Outcome]:
    given = json.dumps({"model": "target", **arguments})
    return lambda project, attempt: project.dbt("run-operation", name, "--args", given)


def freezing() -> Scenario:
    """Each attempt begins another month, so that the one before it can be frozen."""
    kind = units("", granularity="day")

    def number(month: int, day_of_month: int) -> int:
        return (dt.date(2024 + (month - 1) // 12, (month - 1) % 12 + 1, day_of_month) - DAY).days

    def load(project: Project, month: int) -> None:
        for each in (1, 2):
            project.must_run(day(number(month, each)))

    def prepare(project: Project) -> None:
        start(project, [kind], 0)
        load(project, 1)

    def runs(kind: Kind, attempt: int) -> list[Run]:
        return [(number(month, each), 0) for month in range(1, attempt + 3) for each in (1, 2)]

    def only_tables_that_are_needed(project: Project, attempt: int) -> None:
        names = [row[1] for row in project.sql("show tables in {schema} like 'target__*'")]
        months = [day(number(month, 1))[:7].replace("-", "") for month in range(1, attempt + 3)]
        needed = [f"target__frozen_{month}" for month in months[:-1]]
        assert sorted(names) == sorted([*needed, f"target__d{months[-1]}01", f"target__d{months[-1]}02"])

    [scenario] = batch([kind], "normal", prepare, operation("ditto_freeze"), runs, also=only_tables_that_are_needed)
    return replace(scenario, pattern="ditto_freeze", anew=lambda project, attempt: load(project, attempt + 2))


def evolving() -> Scenario:
    """An old unit gets the column of a newer one."""
    kind = units("", granularity="day")
    more = SELECT.replace("select\n", "select 1 as one,\n", 1)

    def anew(project: Project, attempt: int) -> None:
        project.model("target", SELECT, materialized=kind.pattern, alias=f"target_{attempt}", **kind.config)
        project.must_run(day(0))
        project.model("target", more, materialized=kind.pattern, alias=f"target_{attempt}", **kind.config)
        project.must_run(day(1))

    def in_the_table(project: Project, attempt: int) -> None:
        found = project.sql(f"describe {{schema}}.target_{attempt}__d{day(0).replace('-', '')}")
        assert "one" in [row[0] for row in found]

    rows = [(*row, None) for row in brought((0, 0))] + [(*row, 1) for row in brought((1, 0))]
    return Scenario(
        "ditto_evolve_units", "normal", lambda project: take(project, 0), operation("ditto_evolve_units"),
        "target_{attempt}", lambda attempt: rows,
        lambda attempt: all_live([(0, 0), (1, 0)]), columns="id, value, day, one", anew=anew, also=in_the_table,
    )  # fmt: skip


def pointing(versioning: str) -> Scenario:
    """Readers go back to a version of the day before, by its name: `previous` would mean another one each time."""
    kind = publishing(versioning)
    chosen: list[str] = []
    name = "coalesce(get_json_object(details, '$.version'), concat('v', version))"

    def anew(project: Project, attempt: int) -> None:
        for number in (0, 1):
            project.must_run(day(number))
        written = f"event = 'committed' and execution_time = timestamp_ntz'{day(0)}'"
        query = f"select max_by({name}, seq) from {{schema}}.ditto_ledger where {written}"
        chosen.append(project.sql(query)[0][0])

    def command(project: Project, attempt: int) -> Outcome:
        return operation("ditto_proxy_point_to", version=chosen[-1])(project, attempt)

    return Scenario(
        "ditto_proxy_point_to", "normal", lambda project: start(project, [kind], 0), command, "target",
        lambda attempt: brought((0, 0)), lambda attempt: all_live([(0, 0), (1, 0)]), kind.variant, "id, value, day",
        anew=anew, read=kind.read,
    )  # fmt: skip


def expiring() -> Scenario:
    """Two versions go; the one that readers see stays."""
    kind = Kind("proxy_view", publishing("tables").content, {"keep_for": "1 hour"}, keeps_all=True)
    today = "(at > current_timestamp() - interval 12 hours)"

    def anew(project: Project, attempt: int) -> None:
        for _ in range(2):
            project.must_run(day(0))
        # Nobody waits for an hour: what the ledger knows happened a day earlier, until the versions are gone.
        project.sql("alter table {schema}.ditto_ledger set tblproperties ('delta.appendOnly' = 'false')")
        project.sql(f"update {{schema}}.ditto_ledger set at = at - interval 1 day where {today}")

    def one_is_left(project: Project, attempt: int) -> None:
        assert len(project.sql("show tables in {schema} like 'target__v*'")) == 1
        project.sql(f"update {{schema}}.ditto_ledger set at = at + interval 1 day where not {today}")

    def prepare(project: Project) -> None:
        start(project, [kind], 0)
        project.must_run(day(1))

    return Scenario(
        "ditto_proxy_expire", "normal", prepare, operation("ditto_proxy_expire", dry_run=False), "target",
        lambda attempt: brought((1, 0)), lambda attempt: all_live([(0, 0), (1, 0)]), "", "id, value, day",
        anew=anew, also=one_is_left,
    )  # fmt: skip


def listing() -> Scenario:
    """A run has died before its manifest: the manifest alone is built, and nothing else."""
    [base] = normal(publishing("manifest"))

    def anew(project: Project, attempt: int) -> None:
        with statements(die_before=1, only="generate symlink_format_manifest"):
            assert not base.command(project, attempt).ok

    return replace(
        base, pattern="ditto_proxy_manifest", variant="", command=operation("ditto_proxy_manifest"), anew=anew,
    )  # fmt: skip


def vacuuming() -> Scenario:
    """Files are kept longer each time, so the properties are set each time; the view follows to the newest version."""
    [base] = normal(Kind("stateful_merge", lambda runs: brought((0, 0)), {"unique_key": "id", "readers": "pinned"}))

    def command(project: Project, attempt: int) -> Outcome:
        return operation("ditto_vacuum", dry_run=False, retain=f"{60 + attempt} days")(project, attempt)

    def kept_and_pinned(project: Project, attempt: int) -> None:
        properties = dict(project.sql("show tblproperties {schema}.target__data"))
        assert properties["delta.deletedFileRetentionDuration"] == f"interval {60 + attempt} days"
        text = project.sql("show create table {schema}.target")[0][0]
        assert f"version as of {project.versions('target__data')}" in text.lower()

    return replace(
        base, pattern="ditto_vacuum", command=command, expected=lambda attempt: brought((0, 0)),
        states=lambda attempt: all_live([(0, 0)]), also=kept_and_pinned,
    )  # fmt: skip


def healing(kind: Kind) -> Scenario:
    """Rows 1 and 2 of each day are dead letters; one of them heals, and is tried again."""

    def heal(project: Project, *healed: int) -> None:
        ids = ", ".join(str(number) for number in (-1, *healed))
        project.sql(f"create or replace global temp view healed_{{schema}} as select explode(array({ids})) as id")

    def prepare(project: Project) -> None:
        healed = f"select 1 from global_temp.healed_{project.schema} as healed where healed.id = source.id"
        sick = f"id in (1, 2) and not exists ({healed})"
        kind.model(project, dead_letters=[{"name": "sick", "when": sick}])
        take(project, 0)

    def anew(project: Project, attempt: int) -> None:
        heal(project)
        project.must_run(day(attempt))
        heal(project, 2)

    def command(project: Project, attempt: int) -> Outcome:
        return operation("ditto_retry_dead_letters", execution_date=day(attempt))(project, attempt)

    def tried_once(project: Project, attempt: int) -> None:
        found = project.sql("select record, status, attempts from {schema}.target__dead_letters")
        assert len(found) == attempt + 1
        assert all('"id":1' in row[0] and row[1:] == ("FAILED", 1) for row in found)

    def expected(attempt: int) -> Rows:
        return [row for row in kind.content([(number, 0) for number in range(attempt + 1)]) if row[0] != 1]

    return Scenario(
        "ditto_retry_dead_letters", "normal", prepare, command, "target", expected,
        lambda attempt: all_live([(number, 0) for number in range(attempt + 1)]), f"of {kind.pattern}",
        "id, value, day", anew=anew, also=tried_once, once=True,
    )  # fmt: skip


def releasing(
    given: list[Scenario], died: str, left: Callable[[int], Rows], states: Callable[[int], dict[str, str]]
) -> Scenario:
    """A run has died; it is given up. `left`: the rows afterwards. The run that was recorded was one attempt."""
    [base] = given
    return replace(
        taken_over(given, died)[0], pattern="ditto_release", mode="normal", command=operation("ditto_release"),
        variant=f"of {' '.join(filter(None, [base.pattern, base.variant]))}, {base.mode}, died after its {died}",
        expected=left, states=states, also=None,
    )  # fmt: skip


def releases() -> list[Scenario]:
    """One of each way in which an execution is given up."""
    ended = {day(0): "live", day(1): "released"}
    live = {day(number): "live" for number in range(3)}
    delete_insert = overwriting("delete_insert", mode="delete_insert")
    history = stateful("history", versioning="history")
    months = replay(units("a table for each month", granularity="month"))
    published = publishing("tables")

    def given_up(attempt: int) -> dict[str, str]:
        return {day(number): "live" if number < 2 else "released" for number in range(attempt + 3)}

    return [
        # It goes back to what it was.
        releasing(
            backfill(stateful()), "first write", lambda attempt: merged([(0, 0), (1, 1), (2, 0)]), lambda attempt: live
        ),
        releasing(normal(published), "first write", lambda attempt: brought((1, 0)), given_up),
        # What it did stays, and the ledger says that it is not whole.
        releasing(replay(delete_insert), "first write", lambda attempt: brought((0, 0)), lambda attempt: ended),
        releasing(replay(history), "first write", lambda attempt: restored([(0, 0), (1, 1)]), lambda attempt: ended),
        releasing(months, "last write", lambda attempt: months[0].expected(attempt + 1), lambda attempt: ended),
    ]
