"""Writes of several statements: killed in the middle, they stop other executions and are finished by their own."""

from __future__ import annotations

import pytest

from tests.functional.insert_overwrite.feed import OWN_DAY, day, events, feed, make_table, overwrite, refused, visits
from tests.support import Project, held_up, statements


def stopped_by(project: Project, model: str, unfinished: str, date: str) -> None:
    """A run for `date` is refused, and told which execution is unfinished and what to do about it."""
    message = refused(project.run(date), model)
    assert f"execution {unfinished} 00:00:00 did not finish" in message
    assert f"dbt run --select {model} --vars '{{execution_date: {unfinished}}}'" in message
    assert f"dbt run-operation ditto_release --args '{{model: {model}}}'" in message


def kill(project: Project, date: str, *flags: str, before: str, number: int = 1) -> None:
    with statements(die_before=number, only=before.replace("{schema}", project.schema)) as sent:
        assert not project.run(date, *flags).ok
    assert len(sent) == number - 1


@pytest.mark.slow
def test_delete_insert(project: Project) -> None:
    overwrite(project, "removing", mode="delete_insert", partition_by="day")
    insert = "insert into `{schema}`.`removing`"
    feed(project, *visits(7, 1), *visits(8, 2))
    with statements(only=insert.replace("{schema}", project.schema)) as sent:
        project.must_run("2024-10-07")
    assert len(sent) == 1
    assert events(project, "removing") == [("07", "started", "first"), ("07", "committed", "first")]
    location = project.spark.sql(f"describe detail {project.schema}.removing").collect()[0]["location"]
    log = project.spark.read.json(f"{location}/_delta_log/*.json")
    ids = [row[0] for row in log.where("txn is not null").select("txn.appId").collect()]
    assert len(ids) == 1
    assert ids[0].startswith("ditto:write:")

    # Killed when its rows are deleted and the new ones are not there yet.
    feed(project, *visits(7, 1, 3), *visits(8, 2))
    kill(project, "2024-10-07", before=insert)
    assert project.rows("removing") == []
    assert project.states("removing") == {"2024-10-07 00:00:00": "unfinished"}
    stopped_by(project, "removing", "2024-10-07", date="2024-10-08")

    project.must_run("2024-10-07")
    assert project.rows("removing") == visits(7, 1, 3)
    assert events(project, "removing")[2:] == [
        ("07", "started", "replay"),
        ("07", "started", "takeover"),
        ("07", "committed", "takeover"),
    ]
    assert project.states("removing") == {"2024-10-07 00:00:00": "live"}


@pytest.mark.slow
def test_an_insert_that_lands_after_another_run_took_over(project: Project) -> None:
    """Delta compares no rows of an INSERT with what others wrote meanwhile; by its transaction id it is skipped."""
    overwrite(project, "removing", mode="delete_insert", partition_by="day")
    feed(project, *visits(7, 1, 3))
    with held_up(f"insert into `{project.schema}`.`removing`") as late:
        assert not project.run("2024-10-07").ok
    project.must_run("2024-10-07")
    assert project.rows("removing") == visits(7, 1, 3)
    project.spark.sql(late[0]).collect()
    assert project.rows("removing") == visits(7, 1, 3)
    project.must_run("2024-10-07")
    assert project.rows("removing") == visits(7, 1, 3)


@pytest.mark.slow
def test_given_up_and_a_full_refresh(project: Project) -> None:
    overwrite(project, "leaving", mode="delete_insert", partition_by="day")
    insert = "insert into `{schema}`.`leaving`"
    feed(project, *visits(7, 1, 3), *visits(8, 2))
    project.must_run("2024-10-07")

    # Killed, and given up: the next execution is let in. It is a full refresh, killed when the table is empty.
    kill(project, "2024-10-07", before=insert)
    released = project.dbt("run-operation", "ditto_release", "--args", "{model: leaving}")
    assert released.ok, released.text
    assert project.states("leaving") == {"2024-10-07 00:00:00": "released"}
    kill(project, "2024-10-08", "--full-refresh", before=insert)
    assert project.rows("leaving") == []
    stopped_by(project, "leaving", "2024-10-08", date="2024-10-07")
    project.must_run("2024-10-08")
    assert project.rows("leaving") == visits(8, 2)
    assert events(project, "leaving", "event, mode, generation")[-4:] == [
        ("07", "released", "replay", 1),
        ("08", "started", "full_refresh", 1),
        ("08", "started", "full_refresh", 1),
        ("08", "committed", "full_refresh", 2),
    ]
    assert project.states("leaving") == {"2024-10-08 00:00:00": "live"}


@pytest.mark.slow
def test_partitions_of_files(project: Project) -> None:
    until_today = OWN_DAY.replace("day =", "day <=")
    overwrite(project, "loaded_files", until_today, file_format="parquet", partition_by="day")
    make_table(project, "loaded_files", *visits(6, 1), *visits(7, 2), using="parquet")

    # Killed when one of two partitions is new.
    feed(project, *visits(6, 3), *visits(7, 4))
    kill(project, "2024-10-07", before="insert overwrite `{schema}`.`loaded_files`", number=2)
    assert {row[1] for row in project.rows("loaded_files") if row[0] > 2} in ({day(6)}, {day(7)})
    stopped_by(project, "loaded_files", "2024-10-07", date="2024-10-08")
    project.must_run("2024-10-07")
    assert project.rows("loaded_files") == visits(6, 3) + visits(7, 4)
    assert project.states("loaded_files") == {"2024-10-07 00:00:00": "live"}

    # A full refresh, killed when the table is gone.
    kill(project, "2024-10-07", "--full-refresh", before="create table if not exists `{schema}`.`loaded_files`")
    assert project.sql("show tables in {schema} like 'loaded_files'") == []
    stopped_by(project, "loaded_files", "2024-10-07", date="2024-10-08")
    project.must_run("2024-10-07")
    assert project.rows("loaded_files") == visits(6, 3) + visits(7, 4)
    assert events(project, "loaded_files", "event, mode, generation") == [
        ("07", "started", "first", 0),
        ("07", "started", "takeover", 0),
        ("07", "committed", "takeover", 1),
        ("07", "started", "full_refresh", 1),
        ("07", "started", "full_refresh", 1),
        ("07", "committed", "full_refresh", 2),
    ]
