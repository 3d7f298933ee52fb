"""Audits look at the candidate before it is published: what fails reaches nobody, and stays to be looked at."""

from __future__ import annotations

import pytest

from tests.functional.merger.feed import listed, message
from tests.support import Project, statements

FIRST, SECOND, THIRD = "2024-10-01", "2024-10-02", "2024-10-03"
ORDERS = "day string, id int, amount int"
TODAY = "select id, amount from {{ target.schema }}.feed where day = '{{ ditto.execution_date() }}'"
AUDITS = [
    "amount > 0",
    {"name": "enough", "table": "count(*) >= 2"},
    {
        "name": "never less",
        "query": "select c.* from {candidate} as c join {target} as t using (id) where c.amount < t.amount",
    },
]
GOOD = [(FIRST, 1, 10), (FIRST, 2, 20)]


@pytest.mark.slow
def test_only_what_passes_every_audit_is_published(project: Project) -> None:
    project.model("orders", TODAY, materialized="transactional_writer", unique_key="id", audits=AUDITS)
    project.source("feed", ORDERS, [*GOOD, (SECOND, 1, 5), (THIRD, 3, 30), (THIRD, 4, 40)])
    with statements() as sent:
        project.must_run(FIRST)
    assert len([sql for sql in sent if "merge into" in sql]) == 1
    assert project.rows("orders", "id, amount") == [(1, 10), (2, 20)]
    assert project.sql("show tables in {schema} like '*candidate*'") == []

    refused = project.run(SECOND)
    assert not refused.ok
    text = message(refused, "orders")
    row = '{"id":1,"amount":5}'
    assert listed(text) == ["enough: not true of the table: count(*) >= 2", f"never less: {row}"]
    assert f"select * from `{project.schema}`.`orders__candidate`" in text
    assert project.rows("orders", "id, amount") == [(1, 10), (2, 20)]
    assert project.versions("orders") == 1
    assert project.rows("orders__candidate") == [(1, 5)]
    assert project.states("orders") == {f"{FIRST} 00:00:00": "live", f"{SECOND} 00:00:00": "released"}

    # Up to five rows of an audit; nothing is as bad as an unknown amount.
    project.source("feed", ORDERS, [*GOOD, *((SECOND, number, None) for number in range(11, 18))])
    unknown = listed(message(project.run(SECOND), "orders"))
    every = {f'amount > 0: {{"id":{number},"amount":null}}' for number in range(11, 18)}
    assert (len(set(unknown)), set(unknown) <= every) == (5, True)

    # Another execution is not stopped by it, and the corrected one goes through.
    project.source("feed", ORDERS, [*GOOD, (SECOND, 1, 15), (SECOND, 5, 50), (THIRD, 3, 30), (THIRD, 4, 40)])
    project.must_run(THIRD)
    project.must_run(SECOND)
    assert project.rows("orders", "id, amount") == [(1, 15), (2, 20), (3, 30), (4, 40), (5, 50)]
    assert project.versions("orders") == 3
    assert project.sql("show tables in {schema} like '*candidate*'") == []
    assert set(project.states("orders").values()) == {"live"}

    # A replay that fails leaves what the execution had published before.
    project.source("feed", ORDERS, [(THIRD, 3, -1), (THIRD, 4, 40)])
    assert listed(message(project.run(THIRD), "orders"))[0] == 'amount > 0: {"id":3,"amount":-1}'
    assert project.states("orders")[f"{THIRD} 00:00:00"] == "live"
    assert project.versions("orders") == 3

    # A table of somebody else is not taken for a candidate.
    project.sql("create or replace table {schema}.orders__candidate using delta as select 'mine' as whose")
    assert "which ditto did not make" in message(project.run(THIRD), "orders")
    assert project.rows("orders__candidate") == [("mine",)]
    assert project.dbt("run-operation", "ditto_verify").ok
