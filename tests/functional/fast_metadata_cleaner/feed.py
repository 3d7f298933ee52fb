"""Units of clicks: each execution brings two rows that name it, so that every table and view can be told by heart."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tests.support import Project

SELECT = """
    select cast(id as int) as id, '{{ ditto.execution_time() }}' as loaded, date'{{ ditto.execution_date() }}' as day
    from range(0, 2)
"""


def clicks(project: Project, sql: str = SELECT, **config: Any) -> None:
    project.model("clicks", sql, materialized="fast_metadata_cleaner", **config)


def rows(*times: str) -> list[tuple[Any, ...]]:
    """What these executions bring; `2024-10-07` or `2024-10-07 09:00:00`."""
    made = []
    for time in times:
        moment = time if len(time) > 10 else f"{time} 00:00:00"
        made += [(number, moment, dt.date.fromisoformat(time[:10])) for number in range(2)]
    return sorted(made, key=repr)


def units(project: Project) -> list[str]:
    """The tables behind the view, by their suffix."""
    names = [row[1] for row in project.sql("show tables in {schema} like 'clicks__*'")]
    return sorted(name.removeprefix("clicks__") for name in names)


def head(project: Project, unit: str) -> int:
    return project.versions(f"clicks__{unit}")


def days(first: str, count: int) -> list[str]:
    return [str(dt.date.fromisoformat(first) + dt.timedelta(days=number)) for number in range(count)]


@contextmanager
def files_read(project: Project, table: str) -> Iterator[list[int]]:
    """How many data files of a table are read meanwhile, from Spark's own metrics of each scan."""
    store = project.spark._jsparkSession.sharedState().statusStore()
    name = f"Scan parquet spark_catalog.{project.schema}.{table}"

    def executions() -> set[int]:
        project.spark.sparkContext._jsc.sc().listenerBus().waitUntilEmpty()
        return {execution.executionId() for execution in each(store.executionsList())}

    before = executions()
    count: list[int] = []
    yield count
    for execution in executions() - before:
        values = store.executionMetrics(execution)
        for node in each(store.planGraph(execution).allNodes()):
            for metric in each(node.metrics()):
                if node.name() == name and metric.name() == "number of files read":
                    value = values.get(metric.accumulatorId())
                    count.append(int(value.get().replace(",", "")) if value.isDefined() else 0)


def each(sequence: Any) -> Iterator[Any]:
    """The items of a sequence of Scala's."""
    return (sequence.apply(index) for index in range(sequence.size()))
