"""Upserts by key: sessions that grow, the trap of event time, and keys that are refused."""

from __future__ import annotations

import re

import pytest
from pyspark.sql import SparkSession

from tests.support import FOR_TINY_TABLES, Outcome, Project, make_project

DAY = "2024-10-07"
VISITS = [("u", "index", "10:00", "10:00"), ("u", "about", "10:05", "10:05"), ("u", "orders", "10:09", "10:09")]
LATE = ("u", "late", "09:55", "10:12")
SESSIONS = """
    select
        session_id,
        user_id,
        session_started_at,
        array_join(transform(array_sort(collect_list(struct(appended_at, page))), v -> v.page), ' ') as pages,
        current_timestamp() as loaded_at
    from ({{ ditto.sessionize(target.schema ~ '.visits', 'user_id', '{append}', 'visit_time') }})
    where to_date(appended_at) = date'{{ ditto.execution_date() }}'
    group by session_id, user_id, session_started_at
"""
PAGES = "date_format(session_started_at, 'HH:mm'), pages"


def feed(project: Project, *visits: tuple[str, str, str, str]) -> None:
    rows = [(user, page, f"{DAY} {visit}:00", f"{DAY} {append}:00") for user, page, visit, append in visits]
    project.source("visits", "user_id string, page string, visit_time timestamp, appended_at timestamp", rows)


@pytest.mark.slow
def test_a_session_grows_under_its_key(project: Project) -> None:
    """A run, a restart after a late visit, and one after compaction. By event time the first two leave two rows."""
    feed(project, *VISITS)
    for name, append in (("by_append", "appended_at"), ("by_event", "visit_time")):
        sql = SESSIONS.replace("{append}", append)
        project.model(name, sql, materialized="keyed_idempotency", unique_key=["session_id", "user_id"])
    project.must_run(DAY)
    for name in ("by_append", "by_event"):
        assert project.rows(name, PAGES) == [("10:00", "index about orders")]

    feed(project, *VISITS, LATE)
    project.must_run(DAY)
    assert project.rows("by_append", PAGES) == [("10:00", "index about orders late")]
    assert project.rows("by_event", PAGES) == [("09:55", "index about orders late"), ("10:00", "index about orders")]

    # The same run once more overwrites; when the first event is gone from the source, the session is another one.
    project.must_run(DAY, model="by_append")
    assert project.rows("by_append", PAGES) == [("10:00", "index about orders late")]
    feed(project, *VISITS[1:], LATE)
    project.must_run(DAY, model="by_append")
    assert project.rows("by_append", PAGES) == [("10:00", "index about orders late"), ("10:05", "about orders late")]
    assert project.state("by_append", "mode, rows_inserted, rows_updated, pattern") == [
        ("replay", 1, 0, "keyed_idempotency")
    ]


REFUSED = {
    "random": ("select uuid() as id, name from {{ target.schema }}.feed", "uuid()"),
    "random_view": ("select * from {{ target.schema }}.feed_view", "uuid()"),
    "clock": ("select concat(id, '-', current_date()) as id, name from {{ target.schema }}.feed", "current_date()"),
    "clock_view": ("select seen_at as id from {{ target.schema }}.feed_view", "current_timestamp()"),
    "clock_rows": ("select id from {{ target.schema }}.feed where at < now()", "now()"),
    "invocation": ("select concat(id, '{{ invocation_id }}') as id from {{ target.schema }}.feed", "the invocation_id"),
}
ALLOWED = {
    "loaded_at": "select id, uuid() as load_id, now() as at, current_date() as loaded_on from {{ target.schema }}.feed",
    "of_view": "select n as id, seen_at from {{ target.schema }}.feed_view",
    "quoted": "select {{ ditto.idempotent_key(['id', 'name']) }} as id, 'now()' as how from {{ target.schema }}.feed",
}


@pytest.fixture(scope="module")
def project_of_keys(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Project:
    project = make_project(tmp_path_factory.mktemp("keys"), "keyed_keys", spark, FOR_TINY_TABLES)
    project.source("feed", "id int, name string, at timestamp", [(1, "a", "2024-10-01 00:00:00"), (2, "b", None)])
    view = "select uuid() as id, id as n, current_timestamp() as seen_at from {schema}.feed"
    project.sql(f"create or replace view {{schema}}.feed_view as {view}")
    for name, (sql, _) in REFUSED.items():
        project.model(name, sql, materialized="keyed_idempotency", unique_key="id")
    for name, sql in ALLOWED.items():
        project.model(name, sql, materialized="keyed_idempotency", unique_key="id")
    return project


@pytest.fixture(scope="module")
def outcome(project_of_keys: Project) -> Outcome:
    return project_of_keys.run(DAY)


@pytest.mark.slow
@pytest.mark.parametrize("name", REFUSED)
def test_keys_that_differ_from_run_to_run_are_refused(project_of_keys: Project, outcome: Outcome, name: str) -> None:
    text = str(outcome.node(name).message)
    assert re.search(rf"found: .*{re.escape(REFUSED[name][1])}.*expected: .*fix: ", text, re.DOTALL), text
    assert project_of_keys.sql(f"show tables in {{schema}} like '{name}'") == []


@pytest.mark.slow
@pytest.mark.parametrize("name", ALLOWED)
def test_the_clock_and_chance_outside_of_the_key_do_no_harm(
    project_of_keys: Project, outcome: Outcome, name: str
) -> None:
    assert outcome.node(name).status == "success", outcome.node(name).message
    assert len(project_of_keys.rows(name)) == 2


@pytest.mark.slow
def test_a_container_for_each_execution(project: Project) -> None:
    """However often an execution runs, there is one table of it."""
    config = "{{ config(materialized='table', file_format='delta', alias=ditto.container_name('visits_')) }}\n"
    project.write({"models/daily.sql": config + "select '{{ ditto.execution_date() }}' as day\n"})
    for day in ("2024-11-20", "2024-11-21", "2024-11-20"):
        project.must_run(day)
    tables = sorted(row[1] for row in project.sql("show tables in {schema}"))
    assert tables == ["visits_20_11_2024", "visits_21_11_2024"]
    assert "add it: format='%d_%m_%Y_%H'" in project.run("2024-11-20T09:00:00").text
