"""Eight models in four threads on one Spark session, which all threads share, and no ledger to begin with."""

from __future__ import annotations

from tests.support import Project

DAY = "date'{{ ditto.execution_date() }}'"


def settings(project: Project) -> dict[str, str]:
    """What the session is set to, but for the number that Delta itself keeps there."""
    return {key: value for key, value in project.sql("set") if not key.endswith("lastCommitVersionInSession")}


def test_threads_do_not_disturb_each_other(project: Project) -> None:
    expected = {}
    for number in range(1, 5):
        rows = f"select id, {DAY} as day, 'm{number}' as model from range({number}, {number * 3})"
        # Half of them hold a lease: what they append to the ledger at last collides with what others append.
        project.model(f"m{number}", rows, materialized="stateful_merge" if number < 3 else "merger", unique_key="id")
        expected[f"m{number}"] = [(id, f"m{number}") for id in range(number, number * 3)]
    for number, mode in enumerate(["predicate", "partitions", "table", "delete_insert"], start=1):
        rows = f"select id, {DAY} as day, '{mode}' as model from range({number}, {number * 3})"
        project.model(f"o{number}", rows, materialized="insert_overwrite", mode=mode, partition_by="day")
        expected[f"o{number}"] = [(id, mode) for id in range(number, number * 3)]

    before = settings(project)
    outcome = project.must_run("2024-10-07", "--threads", "4")
    assert len(outcome.nodes) == 8
    assert settings(project) == before

    found = {model: sorted(project.sql(f"select id, model from {{schema}}.{model}")) for model in expected}
    assert found == expected
    events = project.sql("select relation, event from {schema}.ditto_ledger order by relation, seq")
    committed = [relation for relation, event in events if event == "committed"]
    assert committed == [f"{project.schema}.{model}" for model in sorted(expected)]
    started = [relation for relation, event in events if event == "started"]
    assert started == [f"{project.schema}.{model}" for model in ("m1", "m2", "o4")]
    assert all(project.states(model) == {"2024-10-07 00:00:00": "live"} for model in expected)
    verified = project.dbt("run-operation", "ditto_verify")
    assert verified.ok, verified.text
