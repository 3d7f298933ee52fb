"""Keys and sessions as Spark computes them. Every expected key is made in Python: it can never change unnoticed."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import pytest
from pyspark.sql import SparkSession

from tests.support import ROOT, literal
from tests.unit.macro_harness import Ditto, library

DITTO = Ditto(library(ROOT / "macros"))


def key(*values: Any) -> str:
    given = {str(number): value for number, value in enumerate(values, start=1)}
    text = json.dumps(given, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()


# SQL of the values, and how they stand in the JSON.
KEYS: list[tuple[list[str], list[Any]]] = [
    (["'a'", "'bc'"], ["a", "bc"]),
    (["'ab'", "'c'"], ["ab", "c"]),
    (["cast(null as string)"], [None]),
    (["'null'"], ["null"]),
    (["''"], [""]),
    (["'größe \"x\"'", "7"], ['größe "x"', 7]),
    (["(true)", "2.5d", "cast(10 as bigint)"], [True, 2.5, 10]),
    (["timestamp_micros(1728295200000001)"], ["2024-10-07T10:00:00.000001Z"]),
    (["timestamp_ntz'2024-10-07 10:00:00'"], ["2024-10-07T10:00:00.000000"]),
    (["date'2024-10-07'"], ["2024-10-07"]),
    (["array(1, null)", "named_struct('x', null)"], [[1, None], {"x": None}]),
]


def test_keys_are_known_in_every_time_zone(spark: SparkSession) -> None:
    expressions = ", ".join(DITTO.idempotent_key(values) for values, _ in KEYS)
    expected = [key(*values) for _, values in KEYS]
    for zone in ("UTC", "America/New_York"):
        session = spark.newSession()
        session.conf.set("spark.sql.session.timeZone", zone)
        found = list(session.sql(f"select {expressions}").collect()[0])
        assert found == expected
    assert len(set(expected)) == len(KEYS)
    assert expected[0] == "147891106a3264b493bb78418383625031f12dcfe41dcc073d4e466319444c94"


VISITS = [
    # user, page, visit, append
    ("u", "index", "10:00", "10:00"),
    ("u", "about", "10:05", "10:05"),
    ("u", "orders", "10:09", "10:09"),
    ("u", "late", "09:55", "10:12"),
    # Exactly half an hour later is the same session, a second more is another one.
    ("u", "again", "10:42", "10:42"),
    ("u", "new", "11:12", "11:12:01"),
    # Somebody else, at the same times; and nobody.
    ("w", "index", "10:00", "10:00"),
    (None, "index", "10:00", "10:00"),
]


def sessions(spark: SparkSession, visits: list[tuple[Any, ...]], **arguments: Any) -> dict[str, list[str]]:
    """Pages by session, in the order in which they were appended."""
    values = ", ".join(
        f"({literal(user)}, {page!r}, timestamp'2024-10-07 {visit}', timestamp'2024-10-07 {append}')"
        for user, page, visit, append in visits
    )
    relation = f"(select * from values {values} as visits (user_id, page, visit_time, appended_at))"
    given = {"user": "user_id", "append_time": "appended_at", "visit_time": "visit_time"} | arguments
    text = DITTO.sessionize(relation, **given)
    grouped = f"""
        select session_id, transform(array_sort(collect_list(struct(appended_at, visit_time, page))), v -> v.page)
        from ({text}) group by session_id
    """
    return {row[0]: row[1] for row in spark.sql(grouped).collect()}


def at(time: str) -> str:
    return f"2024-10-07T{time}:00.000000Z"


def test_sessions_of_users(spark: SparkSession) -> None:
    assert sessions(spark, VISITS) == {
        key("u", at("10:00")): ["index", "about", "orders", "late", "again"],
        key("u", "2024-10-07T11:12:01.000000Z"): ["new"],
        key("w", at("10:00")): ["index"],
        key(None, at("10:00")): ["index"],
    }
    assert sorted(sessions(spark, VISITS[:3], gap="4 minutes").values()) == [["about", "orders"], ["index"]]


@pytest.mark.parametrize(
    ("append_time", "before", "after"),
    [("appended_at", "10:00", "10:00"), ("visit_time", "10:00", "09:55")],
)
def test_a_late_visit_changes_only_a_key_of_event_time(
    spark: SparkSession, append_time: str, before: str, after: str
) -> None:
    """The seeds' example. By append time the key stays; by event time it is another one: the trap."""
    assert list(sessions(spark, VISITS[:3], append_time=append_time)) == [key("u", at(before))]
    assert list(sessions(spark, VISITS[:4], append_time=append_time)) == [key("u", at(after))]


def test_a_source_that_lost_its_first_event_gives_another_key(spark: SparkSession) -> None:
    """Compaction removed it: the data has changed, and so has the session."""
    assert list(sessions(spark, VISITS[1:4])) == [key("u", at("10:05"))]
