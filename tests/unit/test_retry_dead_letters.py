"""How dead letters are tried again: which ones, how they get into the table, what is said about it."""

from __future__ import annotations

from typing import Any

import pytest
from macro_harness import Ditto, sql
from merger_model import columns, settings, table

DEAD = {
    "table": "`demo`.`devices__dead_letters`", "rules": [{"name": "negative", "when": "amount < 0"}], "corrupt": False,
    "max_retries": 3,
}  # fmt: skip
FENCE = "the_fence"


def step(ditto: Ditto, known: dict[str, Any], **facts: Any) -> str:
    target = table(columns(id="int", amount="int", extra="string", **facts))
    found = ditto.retry_write_step(known, target, columns(id="int", amount="int"), "select stored", "i:1", FENCE)
    assert (found["kind"], found["inserts"]) == ("write", True)
    return sql(found["sql"])


def common(pattern: str, **more: Any) -> dict[str, Any]:
    base = {"pattern": pattern, "file_format": "delta", "table": "t", "model": "devices"}
    return base | {"execution_time": "2024-10-07 00:00:00"} | more


@pytest.mark.parametrize(
    ("known", "kind"),
    [
        (common("merger"), "merge"),
        (common("keyed_idempotency"), "merge"),
        (common("dedup_insert"), "merge"),
        (common("transactional_writer", write="merge", audits=[]), "merge"),
        (common("transactional_writer", write="append", audits=[]), "insert"),
        (common("transactional_writer", write="append", audits=["x"]), "replay"),
        (common("transactional_writer", write="overwrite", unique_key=["id"]), "replay"),
        (common("transactional_writer", write="overwrite", unique_key=[]), "insert"),
        (common("insert_overwrite", overwrite="predicate", predicate=None), "insert"),
        (common("insert_overwrite", overwrite="predicate", predicate="day > 1"), "replay"),
        (common("insert_overwrite", overwrite="partitions", predicate=None), "replay"),
        (common("insert_overwrite", overwrite="table", predicate=None, file_format="parquet"), "replay"),
        (common("fast_metadata_cleaner"), "insert"),
        (common("proxy_view"), "replay"),
        (common("stateful_merge"), "replay"),
    ],
)
def test_how_rows_get_into_the_table(ditto: Ditto, known: dict[str, Any], kind: str) -> None:
    assert ditto.retry_kind(known) == kind


@pytest.mark.parametrize(
    ("known", "exists", "status", "same_run", "obstacle"),
    [
        (common("merger"), True, "live", True, None),
        (common("merger"), True, None, True, "the execution is not recorded"),
        (common("merger"), True, "stale", True, "the execution is stale"),
        (common("merger"), True, "live", False, "another run of the execution wrote what is in the table"),
        (common("merger"), False, "live", True, "there is no table t"),
        (common("proxy_view"), False, "live", True, None),
        (common("x", overwrite="table"), True, "live", True, "the table holds execution 2024-10-08 only"),
    ],
)
def test_which_letters_have_to_wait(
    ditto: Ditto, known: dict[str, Any], exists: bool, status: str | None, same_run: bool, obstacle: str | None
) -> None:
    target = table(columns(id="int") if exists else None)
    assert ditto.retry_obstacle(known, target, status, same_run, "2024-10-08 00:00:00") == obstacle
    # What a run was about to replace may be in the table by now: only the next run of the execution knows.
    marked = ditto.retry_obstacle(known, target, status, same_run, "2024-10-08 00:00:00", True)
    assert marked == "a run that replaces them did not finish"


def test_a_merge_takes_nothing_away(ditto: Ditto) -> None:
    text = step(ditto, settings(ditto, not_matched_by_source="delete"))
    assert text.startswith("begin if the_fence then merge into `demo`.`devices` as target")
    assert "not matched by source" not in text
    assert "ditto:retry|i:1" in text and "ditto:1|" not in text


def test_an_insert_counts_once_and_has_the_execution_of_its_rows(ditto: Ditto) -> None:
    known = common("fast_metadata_cleaner", units=True, execution_time_column=None)
    text = step(ditto, known, _ditto_execution_time="timestamp_ntz")
    assert "'txnAppId' = 'ditto:retry:i:1', 'txnVersion' = '1'" in text
    assert "select `id`, `amount`, cast(null as string) as `extra`, `_ditto_execution_time` from" in text
    assert "cast('2024-10-07 00:00:00' as timestamp_ntz) as `_ditto_execution_time` from (select stored)" in text


def test_an_overwritten_table_keeps_the_stamp_that_it_has(ditto: Ditto) -> None:
    known = common("transactional_writer", write="overwrite", execution_time_column="loaded_by", soft_delete="gone")
    assert "loaded_by" not in step(ditto, known)
    text = step(ditto, known, Loaded_by="timestamp_ntz")
    assert "as `loaded_by` from (select * from (select stored) where not coalesce(cast(`gone` as boolean)" in text


def test_what_passes_is_marked_and_what_fails_is_counted_in_one_commit(ditto: Ditto) -> None:
    text = sql(ditto.judge_again_sql(DEAD, "`amount` int", "`status` in ('FAILED')", "i:1"))
    assert "from_json(`_ditto_record`, '`amount` int'" in text and "select distinct `record`" in text
    assert "source.`_ditto_reasons` = '' then update set `status` = 'RETRYING', `retry_id` = 'i:1'" in text
    assert "`status` = if(`attempts` + 1 >= 3, 'DEAD', 'FAILED')" in text
    assert "RETRYING" not in ditto.judge_again_sql(DEAD, "`amount` int", "true", "i:1", moves=False)


def test_a_rule_about_unreadable_records_that_came_later(ditto: Ditto) -> None:
    corrupt = DEAD | {"corrupt": True}
    added = ", cast(null as string) as `_corrupt_record`"
    assert added in ditto.stored_rows_sql(corrupt, "`id` int", "true")
    assert added not in ditto.stored_rows_sql(corrupt, "`id` int, `_corrupt_record` string", "true")


def test_rows_that_know_more_than_their_select(ditto: Ditto) -> None:
    text = sql(ditto.stored_rows_sql(DEAD, "`id` int", "true", more={"_ditto_file": "`file_path`"}))
    assert text.startswith("select `_ditto_row`.*, `_ditto_file` from (select *, from_json(`_ditto_record`, '`id` int'")
    assert "select `record` as `_ditto_record`, `file_path` as `_ditto_file` from" in text


def test_what_a_retry_that_died_has_counted_is_not_counted_again(ditto: Ditto) -> None:
    assert ditto.retry_candidates(["FAILED"]) == "`status` in ('FAILED')"
    tried = ditto.retry_candidates(["FAILED", "DEAD"], ["i", "j"])
    looked_at = "coalesce(substring_index(`retry_id`, ':', 1) in ('i', 'j'), false)"
    assert tried == f"`status` in ('FAILED', 'DEAD') and not {looked_at}"
    text = sql(ditto.retry_groups_sql(DEAD, ["FAILED"], "2024-10-07 00:00:00"))
    assert "where `status` = 'RETRYING' or (`status` in ('FAILED') and `execution_time` = cast('2024-10-07 " in text
    assert "`replaced_by` is not null as `replaced`, count(*)" in text, "marked letters are a group of their own"
    assert ditto.moving_letters("i:1") == "`status` = 'RETRYING' and `retry_id` = 'i:1' and `replaced_by` is null"


def told(
    ditto: Ditto, known: dict[str, Any], waiting: list[Any], replays: list[str], left: int = 0, **counts: int
) -> str:
    result = {"tried": 3, "in_table": 0, "passing": 0, "failed": 0, "dead": 0, "low": 0, "high": 0} | counts
    return ditto.retry_text(known, DEAD, result, waiting, replays, left)


def test_what_is_said(ditto: Ditto) -> None:
    known = common("merger", relation="shop.orders", dead_letters=DEAD)
    assert told(ditto, known, [], [], in_table=2, failed=1, low=2, high=2) == (
        "ditto: dead letters of shop.orders: 3 tried again: 2 are in the table, 1 failed again (attempt 2 of 3), 0 dead"
    )
    text = told(ditto, known, [], [], left=4, in_table=1, failed=2, low=1, high=2)
    assert "1 is in the table, 2 failed again (attempt 1 to 2 of 3), 0 dead\n       4 DEAD left alone" in text
    waiting = [{"time": "2024-10-07 00:00:00", "letters": 2, "reason": "the execution is stale"}]
    text = told(ditto, known, waiting, [], tried=0)
    command = "dbt run --select devices --vars '{execution_date: 2024-10-07}'"
    assert f"2 of execution 2024-10-07 left alone, the execution is stale: {command}" in text
    text = told(ditto, known | {"dead_letters": None}, waiting, [])
    assert "delete from `demo`.`devices__dead_letters` where" in text
    text = told(ditto, common("stateful_merge", relation="shop.orders"), [], ["2024-10-07 00:00:00"], passing=3)
    assert f"3 pass now, 0 failed again, 0 dead\n       only the execution itself can take them in: {command}" in text
    assert "ditto_plan --args '{model: devices, execution_date: 2024-10-07}'" in text
