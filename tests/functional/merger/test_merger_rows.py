"""What readers see after each run, one story for each option. All stories run together, in one dbt command a day."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime

import pytest
from pyspark.sql import SparkSession

from tests.functional.merger.feed import Row, add_model, in_order
from tests.support import FOR_TINY_TABLES, Project, make_project, statements

pytestmark = pytest.mark.slow

FIRST, SECOND = "2024-10-01", "2024-10-02"


@dataclass(frozen=True)
class Story:
    """A model, its increments on both days, and the rows after each of them."""

    columns: dict[str, str]
    days: tuple[Sequence[Row], Sequence[Row]]
    seen: tuple[Sequence[Row], Sequence[Row]]
    config: dict[str, object]
    ending: str = ""


def winner(*rows: dict[str, object]) -> Row:
    """Of rows that are equally late the one with the largest hash."""
    return tuple(
        max(rows, key=lambda row: hashlib.sha256(json.dumps(row, separators=(",", ":")).encode()).hexdigest()).values()
    )


BY_DATE = "{{ 'int' if ditto.execution_date() == '" + FIRST + "' else 'string' }}"
TIES = [{"id": 1, "at": 5, "name": "x"}, {"id": 1, "at": 5, "name": "y"}, {"id": 1, "at": 5, "name": "z"}]
LATE = [*(tuple(row.values()) for row in TIES), (1, 4, "older"), (2, None, "unknown"), (2, 1, "known")]
ODD = {
    "a key": "timestamp",
    "it's": "string",
    "back`tick": "string",
    "select": "string",
    "größe": "int",
    'a "b", c;': "int",
}
TEN, ELEVEN = datetime(2024, 10, 1, 10, 0, 0, 1), datetime(2024, 10, 2, 11)

STORIES = {
    # The partition is no part of the key, so a row may move from one to another.
    "plain": Story(
        {"id": "int", "region": "string"},
        ([(1, "eu"), (2, "eu")], [(1, "us"), (3, "eu")]),
        ([(1, "eu"), (2, "eu")], [(1, "us"), (2, "eu"), (3, "eu")]),
        {"unique_key": "id", "partition_by": "region"},
    ),
    # A key is equal to itself where a part of it is null, and where all of it is.
    "null_keys": Story(
        {"type": "string", "version": "int", "name": "string"},
        (
            [("x", 1, "a"), ("x", None, "b"), (None, None, "c")],
            [("x", None, "b2"), (None, None, "c2"), (None, 1, "d")],
        ),
        (
            [("x", 1, "a"), ("x", None, "b"), (None, None, "c")],
            [("x", 1, "a"), ("x", None, "b2"), (None, None, "c2"), (None, 1, "d")],
        ),
        {"unique_key": ["type", "version"], "on_null_key": "allow"},
        ending=";\n",
    ),
    # The second day gives the same rows in another order, and one of them no more.
    "latest": Story(
        {"id": "int", "at": "int", "name": "string"},
        ([*LATE, (3, 1, "gone")], LATE[::-1]),
        ([winner(*TIES), (2, 1, "known"), (3, 1, "gone")], [winner(*TIES), (2, 1, "known")]),
        {"unique_key": "id", "on_duplicate_key": "latest", "order_by": "at", "not_matched_by_source": "delete"},
        ending="\n-- the end",
    ),
    # A deleted row is never inserted; a null flag means not deleted; a key may come back.
    "soft_delete": Story(
        {"id": "int", "name": "string", "is_deleted": "boolean"},
        (
            [(1, "a", False), (2, "b", True), (3, "c", None)],
            [(1, "a", True), (2, "b2", False), (3, "c2", None), (4, "d", True)],
        ),
        ([(1, "a", False), (3, "c", None)], [(2, "b2", False), (3, "c2", None)]),
        {"unique_key": "id", "soft_delete": "is_deleted"},
    ),
    # The price of 4 fell, so it stays; 2 and 3 did not come, and only Europe is complete.
    "meta_options": Story(
        {"id": "int", "region": "string", "first_seen": "string", "price": "int", "active": "boolean"},
        (
            [(1, "eu", "d1", 1, True), (2, "eu", "d1", 1, True), (3, "us", "d1", 1, True), (4, "eu", "d1", 9, True)],
            [(1, "eu", "d2", 2, True), (4, "eu", "d2", 8, True), (5, "eu", "d2", 1, True)],
        ),
        (
            [(1, "eu", "d1", 1, True), (2, "eu", "d1", 1, True), (3, "us", "d1", 1, True), (4, "eu", "d1", 9, True)],
            [
                (1, "eu", "d1", 2, True),
                (2, "eu", "d1", 1, False),
                (3, "us", "d1", 1, True),
                (4, "eu", "d1", 9, True),
                (5, "eu", "d2", 1, True),
            ],
        ),
        {
            "partition_by": "id",
            "meta": {
                "unique_key": "id",
                "merge_exclude_columns": ["first_seen"],
                "merge_condition": "source.price > target.price",
                "not_matched_by_source": {"condition": "target.region = 'eu'", "update": {"active": "false"}},
            },
        },
    ),
    "odd_names": Story(
        ODD,
        (
            [(str(TEN), "a", "b", "c", 1, 1), (str(ELEVEN), "a", "b", "c", 1, 1)],
            [(str(ELEVEN), "a", "b2", "c2", 2, 2), ("2024-10-02 11:00:00.5", "x", "y", "z", 3, 3)],
        ),
        (
            [(TEN, "a", "b", "c", 1, 1), (ELEVEN, "a", "b", "c", 1, 1)],
            [
                (TEN, "a", "b", "c", 1, 1),
                (ELEVEN, "a", "b2", "c2", 2, 2),
                (ELEVEN.replace(microsecond=500000), "x", "y", "z", 3, 3),
            ],
        ),
        {
            "unique_key": ["a key", "it's"],
            "sequence_by": 'a "b", c;',
            "order_by": "größe",
            "cluster_by": ["a key"],
            # Delta itself wants it for names with spaces and the like.
            "tblproperties": {"delta.columnMapping.mode": "name"},
        },
    ),
    # Keys inside and outside of the range of the second day, null ones too.
    "partitioned": Story(
        {"day": "date", "id": "int", "name": "string", "first_seen": "int"},
        (
            [("2024-10-01", 1, "a", 1), ("2024-10-02", 1, "b", 1), ("2024-09-01", 9, "old", 1), (None, 1, "n", 1)],
            [("2024-10-02", 1, "b2", 2), ("2024-10-03", 1, "c", 2), (None, 1, "n2", 2)],
        ),
        (
            [
                (date(2024, 10, 1), 1, "a", 1),
                (date(2024, 10, 2), 1, "b", 1),
                (date(2024, 9, 1), 9, "old", 1),
                (None, 1, "n", 1),
            ],
            [
                (date(2024, 10, 1), 1, "a", 1),
                (date(2024, 10, 2), 1, "b2", 1),
                (date(2024, 10, 3), 1, "c", 2),
                (date(2024, 9, 1), 9, "old", 1),
                (None, 1, "n2", 1),
            ],
        ),
        {"unique_key": ["day", "id"], "partition_by": "day", "update_columns": ["name"]},
    ),
    # Numbers that come as text on the second day: as text '10' is less than '9'.
    "other_type": Story(
        {"id": BY_DATE, "name": "string"},
        ([(9, "a"), (10, "b")], [(9, "a2"), (10, "b2")]),
        ([(9, "a"), (10, "b")], [(9, "a2"), (10, "b2")]),
        {"unique_key": "id", "partition_by": "id"},
    ),
}
REPLAYED = ("null_keys", "soft_delete", "meta_options", "partitioned")


@dataclass(frozen=True)
class Told:
    project: Project
    seen: dict[str, list[list[Row]]]  # by model: after the first day, the second, and for some the second again
    merges: list[str]  # of the second day

    def merge(self, name: str) -> str:
        return next(sql for sql in self.merges if f"`{name}` as target" in sql)


@pytest.fixture(scope="module")
def told(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Told:
    project = make_project(tmp_path_factory.mktemp("stories"), "merger_stories", spark, FOR_TINY_TABLES)
    for name, story in STORIES.items():
        days = dict(zip((FIRST, SECOND), story.days, strict=True))
        add_model(project, name, story.columns, days, story.ending, **story.config)
    project.must_run(FIRST)
    seen = {name: [project.rows(name)] for name in STORIES}
    with statements(only="merge into") as merges:
        project.must_run(SECOND)
    for name in STORIES:
        seen[name].append(project.rows(name))
    project.must_run(SECOND, model=" ".join(REPLAYED))
    for name in REPLAYED:
        seen[name].append(project.rows(name))
    return Told(project, seen, merges)


@pytest.mark.parametrize("name", STORIES)
def test_rows_after_each_day(told: Told, name: str) -> None:
    assert told.seen[name][0] == in_order(STORIES[name].seen[0])
    assert told.seen[name][1] == in_order(STORIES[name].seen[1])


@pytest.mark.parametrize("name", REPLAYED)
def test_the_same_run_twice_is_the_same_table(told: Told, name: str) -> None:
    assert told.seen[name][2] == told.seen[name][1]


def test_the_ledger_counts_what_each_run_did(told: Told) -> None:
    counted = "cast(execution_time as string), mode, rows_inserted, rows_updated, rows_deleted"
    assert told.project.state("soft_delete", counted) == [
        ("2024-10-01 00:00:00", "first", 2, 0, 0),
        ("2024-10-02 00:00:00", "replay", 0, 2, 0),
    ]
    runs = "select rows_inserted, rows_updated, rows_deleted from {schema}.ditto_runs"
    assert told.project.sql(f"{runs} where relation = '{{schema}}.soft_delete' and mode = 'normal'") == [(1, 1, 1)]


def test_the_range_of_the_keys_narrows_the_merge(told: Told) -> None:
    days = "(target.`day` between cast('2024-10-02' as date) and cast('2024-10-03' as date) or target.`day` is null)"
    assert days in told.merge("partitioned")
    assert "(target.`a key` between timestamp_micros(" in told.merge("odd_names")


@pytest.mark.parametrize("name", ["plain", "other_type", "meta_options"])
def test_a_merge_that_cannot_be_narrowed_reads_the_whole_table(told: Told, name: str) -> None:
    assert " between " not in told.merge(name)


def test_each_run_is_one_commit(told: Told) -> None:
    history = told.project.spark.sql(f"describe history {told.project.schema}.soft_delete").collect()
    assert [row["operation"] for row in history] == ["MERGE", "MERGE", "MERGE", "CREATE TABLE"]
