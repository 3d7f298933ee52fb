"""From a config and the facts to the steps of an insert_overwrite run."""

from __future__ import annotations

from typing import Any

import pytest
from insert_overwrite_model import DAILY, HOUR, TAG, facts, names, partition, plan, refusal, step
from macro_harness import Ditto, sql
from merger_model import columns, ledger, ran_before, table

MINE = "(select max(`token`) from `demo`.`ditto_ledger` where `relation` = 'demo.visits') = 1"
PARQUET = table(DAILY, provider="parquet", partition_by=["day"])
OWN = "(`day` <=> cast('2024-10-07' as date))"
OPEN = {
    "execution_time": "2024-10-06 00:00:00",
    "mode": "normal",
    "token": 1,
    "base_version": 4,
    "invocation_id": "dead",
    "user": "ana",
    "at": "2024-10-06 01:02:03",
}


def unfinished(mode: str, execution_time: str = "2024-10-07 00:00:00") -> dict[str, Any]:
    return ran_before(unfinished=[OPEN | {"mode": mode, "execution_time": execution_time}], token=1)


# --- steps ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("config", "steps"),
    [
        ({}, ["replace"]),
        ({"mode": "partitions"}, ["replace"]),
        ({"mode": "table"}, ["replace"]),
        ({"mode": "delete_insert"}, ["check", "intent", "delete", "insert"]),
    ],
)
def test_the_steps_of_each_mode(ditto: Ditto, config: dict[str, Any], steps: list[str]) -> None:
    known = facts(DAILY, table(DAILY), ledger=ran_before())
    made = plan(ditto, known, partition_by="day", **config)
    assert (made["mode"], names(made)) == ("normal", [*steps, "outcome"])


def test_a_first_run_makes_the_table(ditto: Ditto) -> None:
    assert names(plan(ditto, facts(DAILY), partition_by="day")) == ["create_table", "replace", "outcome"]
    made = plan(ditto, facts(DAILY), partition_by="day", mode="delete_insert")
    assert names(made) == ["check", "intent", "create_table", "delete", "insert", "outcome"]


def test_a_dry_run_makes_the_table_and_writes_nothing(ditto: Ditto) -> None:
    assert names(plan(ditto, facts(DAILY), dry=True, partition_by="day")) == ["create_table"]
    assert names(plan(ditto, facts(DAILY, table(DAILY)), dry=True, partition_by="day")) == []


def test_one_commit_is_not_fenced_and_carries_the_run(ditto: Ditto) -> None:
    made = plan(ditto, facts(DAILY, table(DAILY), ledger=ran_before()), partition_by="day")
    text = sql(step(made, "replace")["sql"])
    assert text.startswith(f"insert into `demo`.`visits` with ('userMetadata' = '{TAG}') replace where {OWN} with ")


def test_both_statements_of_delete_insert_are_fenced(ditto: Ditto) -> None:
    made = plan(ditto, facts(DAILY, table(DAILY), ledger=ran_before()), partition_by="day", mode="delete_insert")
    assert made["undo"] and made["must_commit"]  # refused after its DELETE, or skipped by Delta: not done
    delete, insert = sql(step(made, "delete")["sql"]), sql(step(made, "insert")["sql"])
    assert delete == f"begin if {MINE} then delete from `demo`.`visits` where {OWN}; end if; end"
    assert insert.startswith(f"begin if {MINE} then insert into `demo`.`visits` with (")
    assert step(made, "check")["diagnosis"] == step(made, "insert")["diagnosis"]


# --- partitions -----------------------------------------------------------------------------------------------------

COUNTRIES = columns(id="int", country="string")


def test_the_partitions_of_delta_are_one_statement(ditto: Ditto) -> None:
    found = [partition(country=("string", "de")), partition(country=("string", None))]
    known = facts(COUNTRIES, table(COUNTRIES), partitions=found)
    text = step(plan(ditto, known, mode="partitions", partition_by="country"), "replace")["sql"]
    assert "replace where ((`country` <=> cast('de' as string)) or ((`country` is null or `country` = '')))\n" in text


def test_the_partitions_of_files_are_a_statement_each_under_one_intent(ditto: Ditto) -> None:
    late = partition(day=("date", "2024-10-06"))
    made = plan(ditto, facts(DAILY, PARQUET, partitions=[late]), file_format="parquet", partition_by="day")
    assert made["undo"]  # refused half way: nobody knows which files are gone by then
    assert names(made) == ["intent", "overwrite_1", "overwrite_2", "outcome"]
    for number, day in enumerate(["2024-10-07", "2024-10-06"], start=1):
        text = step(made, f"overwrite_{number}")["sql"]
        assert f"if {MINE} then" in text
        assert f"partition (`day` = '{day}')" in text


def test_too_many_partitions(ditto: Ditto) -> None:
    found = [partition(country=("string", name)) for name in ("a", "b", "c")]
    known = facts(COUNTRIES, partitions=found)
    text = refusal(lambda: plan(ditto, known, mode="partitions", partition_by="country", max_partitions=2))
    assert "found:    more than 2 partitions to replace" in text
    assert names(plan(ditto, known, mode="partitions", partition_by="country", max_partitions=3))[-2:] == [
        "replace",
        "outcome",
    ]


@pytest.mark.parametrize("file_format", ["delta", "parquet"])
def test_an_empty_increment_must_know_its_partition(ditto: Ditto, file_format: str) -> None:
    config = {"mode": "partitions", "partition_by": "country", "file_format": file_format}
    text = refusal(lambda: plan(ditto, facts(COUNTRIES), **config))
    assert "an empty increment, and partition_by: country does not tell which partition it empties" in text
    assert 'add predicate="' in text
    # With a predicate that selects no partition of the table there is nothing to replace.
    made = plan(ditto, facts(COUNTRIES), **config, predicate="country = 'de'")
    assert [name for name in names(made) if name != "intent"] == ["create_table", "outcome"]


@pytest.mark.parametrize("partition_by", [[], ["country"], ["day", "country"]])
def test_files_that_are_partitioned_otherwise_are_refused(ditto: Ditto, partition_by: list[str]) -> None:
    known = facts(DAILY, table(DAILY, provider="parquet", partition_by=partition_by))
    text = refusal(lambda: plan(ditto, known, file_format="parquet", partition_by="day"))
    assert f"a table partitioned by {', '.join(partition_by) or 'nothing'}" in text
    assert "--full-refresh" in text
    anew = plan(ditto, known, full_refresh=True, file_format="parquet", partition_by="day")
    assert names(anew) == ["intent", "drop_table", "create_table", "overwrite_1", "outcome"]


# --- table ----------------------------------------------------------------------------------------------------------


def test_the_whole_of_a_partitioned_table_is_not_left_to_the_session(ditto: Ditto) -> None:
    def where(target: dict[str, Any], **config: object) -> str:
        made = plan(ditto, facts(DAILY, target), mode="table", **config)
        return sql(step(made, "replace")["sql"]).split(" replace where ")[1].split(" with ")[0]

    every_day = "(`day` is null or `day` > cast('1970-01-01' as date) or `day` < cast('1980-01-01' as date))"
    assert where(table(DAILY), partition_by="day") == every_day
    # The config forgot them, the table has them.
    assert where(table(DAILY, partition_by=["day"])) == every_day
    assert where(table(DAILY)) == "true"


# --- refusals, takeover, full refresh -------------------------------------------------------------------------------


def test_an_ambiguous_execution_is_refused_before_anything_runs(ditto: Ditto) -> None:
    for mode in ("predicate", "delete_insert"):
        text = refusal(lambda mode=mode: plan(ditto, facts(DAILY), at=HOUR, partition_by="day", mode=mode))
        assert "does not tell which rows execution 2024-10-07 09:00:00 replaces" in text


def test_rows_outside_are_explained_in_words(ditto: Ditto) -> None:
    diagnosis = step(plan(ditto, facts(DAILY), partition_by="day"), "replace")["diagnosis"]
    assert f"where not coalesce({OWN}, false)" in diagnosis["sql"]
    assert "nothing was written" in diagnosis["expected"]
    assert "ditto.execution_date()" in diagnosis["fix"]


def test_an_unfinished_execution_of_another_time_stops_the_run(ditto: Ditto) -> None:
    known = facts(DAILY, table(DAILY), ledger=unfinished("normal", "2024-10-06 00:00:00"))
    text = refusal(lambda: plan(ditto, known, partition_by="day", mode="delete_insert"))
    assert "execution 2024-10-06 00:00:00 did not finish (normal): invocation dead of ana" in text
    assert "dbt run --select visits --vars '{execution_date: 2024-10-06}'" in text
    assert "dbt run-operation ditto_release --args '{model: visits}'" in text


def test_the_same_execution_takes_over(ditto: Ditto) -> None:
    known = facts(DAILY, table(DAILY), ledger=unfinished("normal"))
    made = plan(ditto, known, partition_by="day", mode="delete_insert")
    assert (made["mode"], names(made)) == ("takeover", ["check", "intent", "delete", "insert", "outcome"])
    # Also in a mode that needs no intent otherwise: the one that is there has to be closed.
    assert names(plan(ditto, known, partition_by="day")) == ["check", "intent", "replace", "outcome"]


def test_a_full_refresh_looks_at_the_rows_before_it_replaces_the_table(ditto: Ditto) -> None:
    known = facts(DAILY, table(DAILY), ledger=ran_before(), head=4)
    made = plan(ditto, known, full_refresh=True, partition_by="day")
    assert (made["mode"], made["made_anew"]) == ("full_refresh", True)
    assert names(made) == ["check", "intent", "replace_table", "replace", "outcome"]
    replace = sql(step(made, "replace_table")["sql"])
    assert replace.startswith(f"begin if {MINE} then execute immediate 'create or replace table")


def test_an_unfinished_full_refresh_is_finished_without_the_flag(ditto: Ditto) -> None:
    known = facts(DAILY, PARQUET, ledger=unfinished("full_refresh"))
    made = plan(ditto, known, file_format="parquet", partition_by="day")
    assert made["mode"] == "full_refresh"
    assert names(made) == ["intent", "drop_table", "create_table", "overwrite_1", "outcome"]


@pytest.mark.parametrize(
    ("target", "kind"),
    [
        (table(DAILY, type="view", provider=""), "a view"),
        (PARQUET, "a parquet table"),
    ],
)
def test_something_else_under_the_name_is_replaced_only_on_request(
    ditto: Ditto, target: dict[str, Any], kind: str
) -> None:
    text = refusal(lambda: plan(ditto, facts(DAILY, target, ledger=ledger()), partition_by="day"))
    assert f"found:    {kind} under the name `demo`.`visits`" in text
    assert "dbt run --select visits --full-refresh --vars '{execution_date: 2024-10-07}'" in text
    made = plan(ditto, facts(DAILY, target), full_refresh=True, partition_by="day")
    assert names(made) == ["check", "intent", f"drop_{target['type']}", "create_table", "replace", "outcome"]


def test_a_partition_column_that_the_select_lacks(ditto: Ditto) -> None:
    text = refusal(lambda: plan(ditto, facts(DAILY), partition_by="date_of_visit"))
    assert "partition_by: date_of_visit, which the SELECT does not give" in text
    assert "id, day" in text
