"""What is in the table after each run, one story for each option. All stories run in one dbt command a day."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date

import pytest
from pyspark.sql import SparkSession

from tests.functional.merger.feed import Row, add_model, in_order
from tests.support import FOR_TINY_TABLES, Outcome, Project, make_project, statements

pytestmark = pytest.mark.slow

FIRST, SECOND, THIRD = "2024-10-01", "2024-10-02", "2024-10-03"
COLUMNS = {"id": "int", "name": "string"}


@dataclass(frozen=True)
class Story:
    """A model, its increments on both days, and the rows after each of them."""

    columns: dict[str, str]
    days: tuple[Sequence[Row], Sequence[Row]]
    seen: tuple[Sequence[Row], Sequence[Row]]
    config: dict[str, object]


BY_TIME = [(1, 5, "five"), (1, 3, "three"), (1, None, "unknown"), (2, 4, "x"), (2, 4, "x"), (2, 9, "y")]
BY_TIME_COLUMNS = {"id": "int", "at": "int", "name": "string"}

STORIES = {
    # Copies of one row count once; a key that is there keeps its row.
    "plain": Story(
        COLUMNS,
        ([(1, "a"), (2, "b"), (2, "b")], [(2, "changed"), (3, "c"), (3, "c"), (3, "c")]),
        ([(1, "a"), (2, "b")], [(1, "a"), (2, "b"), (3, "c")]),
        {"unique_key": "id"},
    ),
    # A key is equal to itself where a part of it is null, and where all of it is.
    "null_keys": Story(
        {"type": "string", "version": "int", "name": "string"},
        (
            [("x", 1, "a"), ("x", None, "b"), (None, None, "c"), (None, None, "c")],
            [("x", None, "b2"), (None, None, "c2"), (None, 1, "d")],
        ),
        (
            [("x", 1, "a"), ("x", None, "b"), (None, None, "c")],
            [("x", 1, "a"), ("x", None, "b"), (None, None, "c"), (None, 1, "d")],
        ),
        {"unique_key": ["type", "version"], "on_null_key": "allow"},
    ),
    "first": Story(
        BY_TIME_COLUMNS,
        (BY_TIME, BY_TIME[::-1]),
        ([(1, 3, "three"), (2, 4, "x")], [(1, 3, "three"), (2, 4, "x")]),
        {"unique_key": "id", "on_duplicate_key": "first", "order_by": "at"},
    ),
    "latest": Story(
        BY_TIME_COLUMNS,
        (BY_TIME[::-1], [(3, 1, "old"), (3, 2, "new"), *BY_TIME]),
        ([(1, 5, "five"), (2, 9, "y")], [(1, 5, "five"), (2, 9, "y"), (3, 2, "new")]),
        {"unique_key": "id", "on_duplicate_key": "latest", "order_by": ["at"]},
    ),
    # Keys inside and outside of the range of the second day, null ones too.
    "partitioned": Story(
        {"day": "date", "id": "int", "name": "string"},
        (
            [("2024-10-01", 1, "a"), ("2024-10-02", 1, "b"), ("2024-09-01", 9, "old"), (None, 1, "n")],
            [("2024-10-02", 1, "b2"), ("2024-10-03", 1, "c"), (None, 1, "n2"), (None, 2, "m")],
        ),
        (
            [(date(2024, 10, 1), 1, "a"), (date(2024, 10, 2), 1, "b"), (date(2024, 9, 1), 9, "old"), (None, 1, "n")],
            [
                (date(2024, 10, 1), 1, "a"),
                (date(2024, 10, 2), 1, "b"),
                (date(2024, 10, 3), 1, "c"),
                (date(2024, 9, 1), 9, "old"),
                (None, 1, "n"),
                (None, 2, "m"),
            ],
        ),
        {"unique_key": ["day", "id"], "partition_by": "day"},
    ),
}
# Two maps with the same entries are one value, in whatever order they were written; a microsecond makes two.
MAPS = """
    select id, cast(at as timestamp) as at, tags from values
        (1, '2024-10-01 10:00:00.000001', map('x', 1, 'y', 2)), (1, '2024-10-01 10:00:00.000001', map('y', 2, 'x', 1)),
        (2, '2024-10-01 10:00:00.000001', map('x', 1))
        {{ ", (2, '2024-10-01 10:00:00.000002', map('x', 1))" if ditto.execution_date() == '2024-10-03' }}
        as feed (id, at, tags)
"""
BAD: dict[str, list[Row]] = {
    # A copy makes a third row, but not a third one that differs.
    "new_key_differs": [*((key, name) for key in range(10, 17) for name in "xy"), (16, "z"), (15, "y"), (1, "a")],
    "known_key_differs": [(1, "x"), (1, "y"), (2, "b")],
    "no_key": [(None, "x"), (None, "x"), (2, "b")],
}


@dataclass(frozen=True)
class Told:
    project: Project
    seen: dict[str, list[list[Row]]]  # by model: after the first day, the second, and the second again
    inserts: list[str]  # of the second day
    refused: Outcome  # the third day

    def insert(self, name: str) -> str:
        return next(sql for sql in self.inserts if f"insert into `{self.project.schema}`.`{name}` with" in sql)


@pytest.fixture(scope="module")
def told(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Told:
    project = make_project(tmp_path_factory.mktemp("stories"), "dedup_stories", spark, FOR_TINY_TABLES)
    for name, story in STORIES.items():
        days = dict(zip((FIRST, SECOND), story.days, strict=True))
        add_model(project, name, story.columns, days, **({"materialized": "dedup_insert"} | story.config))
    project.model("maps", MAPS, materialized="dedup_insert", unique_key="id")
    for name, rows in BAD.items():
        given = {FIRST: [(1, "a")], THIRD: rows}
        add_model(project, name, COLUMNS, given, materialized="dedup_insert", unique_key="id")
    project.must_run(FIRST)
    seen = {name: [project.rows(name)] for name in STORIES}
    with statements(only="insert into") as inserts:
        project.must_run(SECOND, model=" ".join(STORIES))
    for name in STORIES:
        seen[name].append(project.rows(name))
    project.must_run(SECOND, model=" ".join(STORIES))
    for name in STORIES:
        seen[name].append(project.rows(name))
    refused = project.run(THIRD, model=" ".join([*BAD, "maps"]))
    return Told(project, seen, inserts, refused)


@pytest.mark.parametrize("name", STORIES)
def test_rows_after_each_day_and_after_the_same_day_again(told: Told, name: str) -> None:
    first, second = (in_order(rows) for rows in STORIES[name].seen)
    assert told.seen[name] == [first, second, second]


def test_each_run_is_one_commit_and_the_ledger_counts_it(told: Told) -> None:
    history = told.project.spark.sql(f"describe history {told.project.schema}.plain").collect()
    assert [row["operation"] for row in history] == ["WRITE", "WRITE", "WRITE", "CREATE TABLE"]
    runs = "select mode, rows_inserted, version from {schema}.ditto_runs where relation = '{schema}.plain' order by seq"
    assert told.project.sql(runs) == [("first", 2, 1), ("normal", 1, 2), ("replay", 0, 3)]


def test_a_statement_that_is_sent_twice_counts_once(told: Told) -> None:
    """After a lost connection dbt-spark sends it again, and does not know whether the first one went through."""
    # Without the row, only the transaction id can tell that the statement was there before.
    told.project.sql("delete from {schema}.latest where id = 3")
    before = told.project.versions("latest")
    told.project.spark.sql(told.insert("latest")).collect()
    assert told.project.versions("latest") == before
    assert told.project.rows("latest", "id") == [(1,), (2,)]


def test_the_range_of_the_keys_narrows_what_is_read(told: Told) -> None:
    days = "(`day` between cast('2024-10-02' as date) and cast('2024-10-03' as date) or `day` is null)"
    assert f"where {days}" in told.insert("partitioned")
    assert " between " not in told.insert("plain")


@pytest.mark.parametrize(
    ("name", "keys"),
    [
        ("new_key_differs", ['{"id":16}: 3 rows', *(f'{{"id":{key}}}: 2 rows' for key in range(10, 14))]),
        ("known_key_differs", ['{"id":1}: 2 rows']),
        ("no_key", ['{"id":null}: 1 row without a key']),
        ("maps", ['{"id":2}: 2 rows']),
    ],
)
def test_bad_keys_are_named_and_nothing_is_written(told: Told, name: str, keys: list[str]) -> None:
    text = str(told.refused.node(name).message)
    assert re.search(r"found: .*expected: .*fix: ", text, re.DOTALL), text
    assert "Exception" not in text
    assert re.findall(r"^ +- (.*)$", text, re.MULTILINE) == keys
    assert told.project.rows(name, "id") == ([(1,), (2,)] if name == "maps" else [(1,)])
    assert told.project.versions(name) == 1
    assert told.project.states(name) == {"2024-10-01 00:00:00": "live"}
