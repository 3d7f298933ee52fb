"""The generic tests that come with the package: they pass on sound models and find what is wrong."""

from __future__ import annotations

from typing import Any

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
