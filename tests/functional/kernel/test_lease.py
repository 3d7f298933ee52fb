"""The lease of a write with several commits: one winner, the others know who it is, and a zombie writes nothing."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from dbt.adapters.factory import FACTORY
from dbt.adapters.spark.session import Cursor
from dbt_common.exceptions import CompilationError

from tests.support import ROOT, Project
from tests.unit.macro_harness import Ditto, library

NOW = "2024-10-07 00:00:00"


def macros(project: Project, invocation_id: str = "me") -> Ditto:
    """The package's own macros, on the real engine, as one run of dbt."""

    def fetch(sql: str) -> list[dict[str, Any]]:
        return [row.asDict() for row in project.spark.sql(sql).collect()]

    package = Ditto(library(ROOT / "macros", ROOT / "tests" / "dbt" / "generic"))
    return package.with_context(
        target={"schema": project.schema},
        invocation_id=invocation_id,
        macros={"fetch": fetch, "send": lambda name, sql: project.spark.sql(sql) and None},
    )


def identity(project: Project, invocation_id: str) -> dict[str, Any]:
    return {
        "subject": "merger model visits",
        "model": "visits",
        "relation": f"{project.schema}.visits",
        "pattern": "merger",
        "mode": "normal",
        "execution_time": NOW,
        "invocation_id": invocation_id,
        "base_version": 0,
        "head": 0,
        "undoes_until": None,
    }


def claim_at_once(project: Project, ledger: dict[str, Any], names: list[str]) -> dict[str, Any]:
    """What each claimant got: its lease, or the error that it was shown."""
    start = threading.Barrier(len(names))
    results: dict[str, Any] = {}

    def claim(name: str) -> None:
        package = macros(project, name)
        start.wait()
        try:
            results[name] = package.claim(identity(project, name) | {"ledger": ledger})
        except Exception as error:
            results[name] = error

    threads = [threading.Thread(target=claim, args=[name]) for name in names]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return results


@pytest.mark.parametrize("rounds", [3, pytest.param(12, marks=pytest.mark.slow)])
def test_of_three_claimants_one_wins_and_a_zombie_writes_nothing(project: Project, rounds: int) -> None:
    package = macros(project)
    project.source("visits", "id bigint, run string", [(1, "before")])
    project.spark.sql(package.ledger_create_sql(package.ledger_table()))
    relation = f"{project.schema}.visits"
    winners: list[str] = []
    ledger: dict[str, Any] = {"generation": 0, "token": 0, "seq": 0, "hash": None, "unfinished": []}
    for number in range(1, rounds + 1):
        names = [f"run-{number}-{letter}" for letter in "abc"]
        results = claim_at_once(project, ledger, names)
        (winner,) = [name for name, result in results.items() if not isinstance(result, Exception)]
        assert results[winner]["token"] == number
        for loser in set(names) - {winner}:
            assert isinstance(results[loser], CompilationError), results[loser]
            assert f"another run claimed the model first: invocation {winner} of" in str(results[loser])
        winners.append(winner)
        facts = package.ledger_facts(relation, NOW)
        ledger = {key: facts[key] for key in ledger}
        assert (ledger["token"], ledger["seq"]) == (number, number)

    events = project.sql("select token, event, invocation_id from {schema}.ditto_ledger order by seq")
    assert events == [(number, "started", winner) for number, winner in enumerate(winners, start=1)]
    assert project.sql(package.ledger_broken_sql(package.ledger_table())) == []

    assert [open_intent["invocation_id"] for open_intent in facts["unfinished"]] == [winners[-1]]

    # A claimant that read the ledger long ago asks for a token that is taken.
    long_ago = {"token": 2, "generation": 0, "seq": 2, "hash": None, "unfinished": [{"token": 2}]}
    late = claim_at_once(project, long_ago, ["late"])["late"]
    assert f"invocation {winners[-1]} of" in str(late)

    zombie_writes_nothing(project, package, relation, newest=rounds)


def zombie_writes_nothing(project: Project, package: Ditto, relation: str, newest: int) -> None:
    def fenced(token: int) -> list[str]:
        """Every kind of statement that a holder of the lease sends."""
        fence = package.fence_condition(package.ledger_table(), relation, token)
        settings = {
            "table": package.table_name(project.schema, "visits"),
            "relation": relation,
            "execution_time": NOW,
            "unique_key": ["id"],
            "on_duplicate_key": "error",
            "on_null_key": "error",
            "order_by": [],
            "update_columns": [],
            "exclude_columns": [],
            "invocation_id": f"run-{token}",
        }
        settings |= dict.fromkeys(
            ("soft_delete", "sequence_by", "merge_condition", "not_matched_by_source", "keeps_deleted")
        )
        tag = package.tag(identity(project, f"run-{token}"))
        columns = [{"name": name, "type": kind, "given": True} for name, kind in (("id", "bigint"), ("run", "string"))]
        rows = f"select 1L as id, 'token {token}' as run"
        spec = {"columns": columns, "file_format": "delta", "properties": {}}
        replace = package.create_table_sql(settings["table"], spec, replace=True)
        where = package.replace_where_sql(settings, columns, rows, "id = 1", tag)
        insert = package.fenced_insert_sql(settings, columns, rows, "id = 1", tag, fence, token)
        event = package.event(identity(project, f"run-{token}"), "committed", 1, 99, {"version": 1, "token": token})
        append = package.ledger_append_sql(
            package.ledger_table(), [event], lease=package.lease_id(relation, token, "end")
        )
        return [
            package.guarded_sql(package.merger_merge_sql(settings, columns, rows, tag, [], fence)),
            package.guarded_sql(package.fenced_sql(where, fence)),
            package.guarded_sql(package.fenced_sql(insert, fence)),
            package.guarded_sql(package.fenced_sql(f"delete from {settings['table']}", fence)),
            package.fenced_sql(replace, fence, script=True),
            package.guarded_sql(append),
        ]

    def world() -> tuple[Any, ...]:
        events = project.sql("select count(*) from {schema}.ditto_ledger")[0][0]
        return project.rows("visits"), project.versions("visits"), events

    before = world()
    for statement in fenced(newest - 1):
        project.spark.sql(statement)
    assert world() == before
    # With the newest token each of them does what it says, so it was the fence that held the others back.
    for statement in fenced(newest):
        project.spark.sql(statement)
    operations = project.spark.sql(f"describe history {project.schema}.visits limit 5").collect()
    assert [row["operation"] for row in operations] == ["CREATE OR REPLACE TABLE", "DELETE", "WRITE", "WRITE", "MERGE"]
    assert world() == ([], before[1] + 5, before[2] + 1)


@contextmanager
def before_statement(marker: str, action: Callable[[], None]) -> Iterator[None]:
    """Do something right before the first statement that contains the marker."""
    execute = Cursor.execute
    waiting = [action]

    def watched(cursor: Cursor, sql: str, *parameters: Any) -> None:
        if marker in sql and waiting:
            waiting.pop()()
        execute(cursor, sql, *parameters)

    Cursor.execute = watched  # type: ignore[method-assign]
    try:
        yield
    finally:
        Cursor.execute = execute  # type: ignore[method-assign]


FULL_REFRESH = (["--full-refresh"], "create or replace table")


@pytest.mark.slow
@pytest.mark.parametrize(("flags", "first_write"), [([], "delete from"), FULL_REFRESH])
def test_a_run_that_was_superseded_writes_nothing_and_says_by_whom(
    project: Project, flags: list[str], first_write: str
) -> None:
    """Between its intent and its first write another run of the same execution comes, takes over and finishes."""
    rows = "select 1 as id, date'{{ ditto.execution_date() }}' as day, '{{ invocation_id }}' as run"
    project.model("visits", rows, materialized="insert_overwrite", mode="delete_insert", partition_by="day")
    if flags:
        project.must_run("2024-10-07")

    def supersede() -> None:
        # dbt closes the connections of a command when the next one starts in its process: give this one its own.
        adapters, FACTORY.adapters = FACTORY.adapters, {}
        project.must_run("2024-10-07", *flags)
        FACTORY.adapters = adapters

    with before_statement(first_write, supersede):
        superseded = project.run("2024-10-07", *flags)
    assert not superseded.ok
    ((winner,),) = project.rows("visits", "run")
    assert f"another run took over this execution: invocation {winner} of" in superseded.text
    events = project.sql("select event, invocation_id from {schema}.ditto_ledger order by token desc, seq desc limit 3")
    assert [(event, run == winner) for event, run in events] == [
        ("committed", True),
        ("started", True),
        ("started", False),
    ]
    zombie = events[-1][1]
    assert zombie not in str(project.sql("describe history {schema}.visits"))
    assert project.states("visits") == {"2024-10-07 00:00:00": "live"}
