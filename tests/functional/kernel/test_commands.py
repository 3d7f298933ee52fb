"""What dbt users expect: --empty, --sample, hooks, build and retry."""

from __future__ import annotations

from typing import Any

from tests.support import Project


def test_empty_and_sample_write_nothing(project: Project) -> None:
    project.model("days", "select date'{{ ditto.execution_date() }}' as day, 1 as id", materialized="view")
    models = {
        "m": {"materialized": "merger", "unique_key": "id"},
        "d": {"materialized": "insert_overwrite", "partition_by": "day", "mode": "delete_insert"},
    }
    for name, config in models.items():
        project.model(name, "select * from {{ ref('days') }}", **config)
    project.must_run("2024-10-07")

    def world() -> dict[str, object]:
        tables = {name: (project.rows(name), project.versions(name)) for name in models}
        return {**tables, "ledger": project.rows("ditto_ledger", "event_id")}

    before = world()
    assert len(before["ledger"]) == 3
    for number, flags in enumerate((["--empty"], ["--sample", "1 day", "--full-refresh"])):
        project.model(f"new_{number}", "select * from {{ ref('days') }}", materialized="merger", unique_key="id")
        outcome = project.must_run("2024-10-08", *flags)
        assert "DRY RUN, nothing written" in outcome.text
        assert world() == before, flags
        # The table is there, so that what reads it can be built.
        assert project.rows(f"new_{number}") == []
        assert project.states(f"new_{number}") == {}


def test_hooks_build_and_a_retry_that_keeps_the_execution_date(project: Project) -> None:
    project.spark.sql(f"create schema if not exists {project.schema}")
    project.sql("create table {schema}.log (entry string) using delta")
    project.model(
        "visits",
        "select id, date'{{ ditto.execution_date() }}' as day from {{ target.schema }}.made",
        materialized="insert_overwrite",
        partition_by="day",
        pre_hook="create table {{ target.schema }}.made using delta as select 1 as id",
        post_hook="insert into {{ target.schema }}.log select concat(count(*), ' on ', max(day)) from {{ this }}",
    )
    project.model(
        "users",
        "select v.id, v.day, u.name from {{ ref('visits') }} as v inner join {{ target.schema }}.names as u using (id)",
        materialized="merger",
        unique_key="id",
    )
    project.write(
        {
            "models/models.yml": """
                models:
                  - name: users
                    columns:
                      - name: id
                        data_tests: [ditto.ditto_unique]
            """
        }
    )
    built = project.dbt("build", execution_date="2024-10-07")
    assert not built.ok
    assert {node.node.name: node.status.value for node in built.nodes if node.node.resource_type == "model"} == {
        "visits": "success",
        "users": "error",
    }
    assert project.rows("log") == [("1 on 2024-10-07",)]

    project.sql("create table {schema}.names using delta as select 1 as id, 'ann' as name")
    retried = project.dbt("retry")
    assert retried.ok, retried.text
    assert [node.node.name for node in retried.nodes if node.node.resource_type == "model"] == ["users"]
    assert len(retried.nodes) == 2
    assert project.rows("users", "id, cast(day as string), name") == [(1, "2024-10-07", "ann")]
    assert project.states("users") == {"2024-10-07 00:00:00": "live"}


def test_hive_functions_can_be_loaded(spark: Any) -> None:
    """What Spark's thrift server does when a connection closes; without it that fails now and then, and with it dbt."""
    registry = "org.apache.hadoop.hive.ql.exec.FunctionRegistry"
    assert spark._jvm.org.apache.spark.util.Utils.classForName(registry, True, False).getName() == registry
