"""The generic tests that come with the package: they pass on sound models and find what is wrong."""

from __future__ import annotations

from typing import Any

import pytest

from tests.functional.stateful_merge.feed import letters
from tests.support import Outcome, Project

YML = """
models:
  - name: daily
    columns:
      - name: id
        data_tests: [ditto.ditto_unique: {name: unique_id}]
    data_tests:
      - ditto.ditto_unique: {name: unique_pair, arguments: {keys: [id, day]}}
      - ditto.ditto_ledger_matches_history: {name: daily_history}
  - name: hourly
    data_tests:
      - ditto.ditto_no_gaps: {name: days}
      - ditto.ditto_no_gaps: {name: hours, arguments: {interval: hour}}
      - ditto.ditto_ledger_matches_history: {name: hourly_history}
"""


def findings(project: Project, outcome: Outcome) -> dict[str, list[tuple[Any, ...]]]:
    """The rows that made tests fail."""
    failed = [node for node in outcome.nodes if node.status.value == "fail"]
    return {node.node.name: project.sql(node.node.compiled_code) for node in failed}


@pytest.mark.slow
def test_generic_tests_pass_and_find_what_is_wrong(project: Project) -> None:
    rows = """
        select id, '{{ ditto.execution_date() }}' as day from range(2)
        where '{{ ditto.execution_time() }}' not like '%01:00:00'
    """
    project.model("daily", rows, materialized="merger", unique_key="id", full_refresh=True)
    rows = "select 1 as id, timestamp'{{ ditto.execution_time() }}' as at"
    project.model("hourly", rows, materialized="insert_overwrite", mode="delete_insert", partition_by="at")
    project.write({"models/models.yml": YML})
    project.must_run("2024-10-07")
    project.must_run("2024-10-07T01:00:00")  # daily is refreshed by an empty increment, which makes no commit
    sound = project.dbt("test")
    assert sound.ok, (sound.text, findings(project, sound))
    assert len(sound.nodes) == 6

    project.must_run("2024-10-09")
    project.sql(
        """
        insert into {schema}.daily with ('userMetadata' = 'ditto:1|merger|normal|2024-10-08 00:00:00|forged')
        values (1, '2024-10-09')
        """
    )
    project.sql("alter table {schema}.ditto_ledger set tblproperties ('delta.appendOnly' = 'false')")
    project.sql("delete from {schema}.ditto_ledger where relation like '%.daily' and execution_time = '2024-10-09'")
    found = findings(project, project.dbt("test"))
    assert sorted(found) == ["daily_history", "days", "hours", "unique_id", "unique_pair"]
    assert found["unique_id"] == [(1, 2)]
    assert found["unique_pair"] == [(1, "2024-10-09", 2)]
    assert [str(missing) for (missing,) in found["days"]] == ["2024-10-08 00:00:00"]
    hours = sorted(str(missing) for (missing,) in found["hours"])
    assert (len(hours), hours[0], hours[-1]) == (46, "2024-10-07 02:00:00", "2024-10-08 23:00:00")
    differences = sorted((difference, str(when)) for difference, when, _, _ in found["daily_history"])
    assert differences == [
        ("in the history of the table, not in the ledger", "2024-10-08 00:00:00"),
        ("in the history of the table, not in the ledger", "2024-10-09 00:00:00"),
    ]
    assert "forged" in str(found["daily_history"])


REPLAYS = """
models:
  - name: letters
    data_tests:
      - ditto.ditto_no_stale: {name: no_stale}
      - ditto.ditto_replay_equals: {name: letters_equal, arguments: {expected: ref('truth'), columns: [letter, value]}}
  - name: typed
    data_tests:
      - ditto.ditto_replay_equals: {name: typed_equal, arguments: {expected: ref('typed_truth')}}
"""


@pytest.mark.slow
def test_generic_tests_of_replays(project: Project) -> None:
    letters(project)
    rows = "select * from values {} as t (tags, place, n)"
    one = "(map('a', 1, 'b', 2), named_struct('x', 1, 'y', null), 1)"
    other = "(map('b', 2, 'a', 1), named_struct('x', 1, 'y', null), 1)"
    project.model("typed", rows.format(f"{one}, {other}"), materialized="view")
    project.model("typed_truth", rows.format(f"{other}, {one}"), materialized="view")
    truth = "select * from values ('A', 'A-U'), ('B', 'B'), ('C', 'C') as t (letter, value)"
    project.model("truth", truth, materialized="view")
    project.write({"models/models.yml": REPLAYS})
    project.must_run("2024-10-05")
    project.must_run("2024-10-06", model="letters")
    sound = project.dbt("test")
    assert sound.ok, (sound.text, findings(project, sound))
    assert len(sound.nodes) == 3

    project.model("typed", rows.format(one), materialized="view")
    project.must_run("2024-10-05", model="letters typed")
    found = findings(project, project.dbt("test"))
    assert [(str(moment), version) for moment, version in found["no_stale"]] == [("2024-10-06 00:00:00", 2)]
    assert sorted(found["letters_equal"]) == [
        ('{"letter":"A","value":"A"}', 1, 0),
        ('{"letter":"A","value":"A-U"}', 0, 1),
        ('{"letter":"C","value":"C"}', 0, 1),
    ]
    assert [counts for _, *counts in found["typed_equal"]] == [[1, 2]]
