"""What the insert_overwrite tests have in common: a table of raw visits and models that read a part of it."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from tests.support import Outcome, Project

OWN_DAY = """
    select id, day from {{ target.schema }}.raw
    where day = date'{{ ditto.execution_date() }}' and state = 'valid'
"""

Visit = tuple[int, dt.date | None]


def day(number: int) -> dt.date:
    return dt.date(2024, 10, number)


def visits(number: int, *ids: int) -> list[Visit]:
    return [(id, day(number)) for id in ids]


def feed(project: Project, *rows: Visit) -> None:
    """The raw visits are these, and an invalid one for each day."""
    raw = [(id, when, "valid") for id, when in rows]
    noise = [(0, when, "invalid") for when in {when for _, when in rows}]
    project.source("raw", "id int, day date, state string", raw + noise)


def overwrite(project: Project, name: str, sql: str = OWN_DAY, **config: Any) -> None:
    project.model(name, sql, materialized="insert_overwrite", **config)


def make_table(
    project: Project, name: str, *rows: Visit, using: str = "delta", partition_by: str = "day", not_null: bool = False
) -> None:
    """What earlier executions left, made by hand because that is quicker."""
    by = f"partitioned by ({partition_by})" if partition_by else ""
    project.sql(
        f"create table {{schema}}.{name} (id int, day date{' not null' if not_null else ''}) using {using} {by}"
    )
    values = ", ".join(f"({id}, date'{when}')" for id, when in rows)
    project.sql(f"insert into {{schema}}.{name} values {values}")


def contents(project: Project, *tables: str) -> dict[str, list[tuple[Any, ...]]]:
    return {table: project.rows(table) for table in tables}


def each(tables: Iterable[str], value: Any) -> dict[str, Any]:
    """All of these tables have this content."""
    return dict.fromkeys(tables, value)


def events(project: Project, table: str, columns: str = "event, mode") -> list[tuple[Any, ...]]:
    return project.sql(
        f"select date_format(execution_time, 'dd'), {columns} from {{schema}}.ditto_ledger"
        f" where relation = '{{schema}}.{table}' order by seq"
    )


def refused(outcome: Outcome, model: str) -> str:
    """The message of a model that ditto refused; it is no stack trace."""
    node = outcome.node(model)
    assert node.status == "error", node.message
    message = str(node.message)
    assert f"ditto: insert_overwrite model {model}" in message, message
    assert "\tat " not in message
    return message


def settings(project: Project) -> list[tuple[Any, ...]]:
    """What is set in the session; Delta itself keeps the version of its last commit there."""
    return [row for row in project.sql("set") if row[0] != "spark.databricks.delta.lastCommitVersionInSession"]


@contextmanager
def session_setting(project: Project, key: str, value: str) -> Iterator[None]:
    """Somebody else has set this in the session that all of dbt's threads share."""
    project.spark.conf.set(key, value)
    try:
        yield
    finally:
        project.spark.conf.unset(key)
