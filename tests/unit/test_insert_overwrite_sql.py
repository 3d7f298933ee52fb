"""The statements of insert_overwrite, as text."""

from __future__ import annotations

from insert_overwrite_model import DAILY, INCREMENT, TAG, partition, settings
from macro_harness import Ditto, sql
from merger_model import given


def test_replace_where_carries_the_run_and_fills_what_the_increment_lacks(ditto: Ditto) -> None:
    read = settings(ditto, partition_by="day")
    text = ditto.replace_where_sql(read, given("id", missing="old"), INCREMENT, "(p)", TAG)
    assert sql(text) == sql(f"""
        insert into `demo`.`visits` with ('userMetadata' = '{TAG}') replace where (p)
        with `_ditto_target` as (select 1 as `one` from `demo`.`visits` with ('userMetadata' = '{TAG}'))
        select `id`, cast(null as string) as `old` from (select * from feed)
    """)


def test_a_table_of_files_is_overwritten_statically_whatever_the_session_says(ditto: Ditto) -> None:
    read = settings(ditto, file_format="parquet", mode="table")
    assert sql(ditto.static_overwrite_sql(read, given("id"), INCREMENT)) == sql("""
        insert overwrite `demo`.`visits` with ('partitionOverwriteMode' = 'static')
        select `id` from (select * from feed)
    """)


def test_a_partition_of_files_is_named_in_full_and_gets_only_its_rows(ditto: Ditto) -> None:
    read = settings(ditto, file_format="parquet", partition_by=["Day", "name"])
    values = partition(Day=("date", "2024-10-07"), name=("string", None))
    text = ditto.overwrite_partition_sql(read, given("id", "day", "name", missing="old"), INCREMENT, values)
    assert sql(text) == sql("""
        insert overwrite `demo`.`visits` partition (`Day` = '2024-10-07', `name` = null)
        select `id`, cast(null as string) as `old` from (select * from feed)
        where (`Day` <=> cast('2024-10-07' as date) and (`name` is null or `name` = ''))
    """)


def test_the_partitions_of_the_increment(ditto: Ditto) -> None:
    read = settings(ditto, mode="partitions", partition_by="day")
    assert sql(ditto.present_partitions_sql(read, DAILY, INCREMENT, 11)) == sql("""
        select distinct to_json(array(
            struct('day' as `name`, 'date' as `type`, nullif(cast(`day` as string), '') as `value`)
        )) as `partition`
        from (select `day` from (select * from feed)) limit 11
    """)


def test_a_predicate_selects_partitions_of_the_table(ditto: Ditto) -> None:
    read = settings(ditto, mode="partitions", partition_by="day", predicate="year(day) = 2024 or day is null")
    text = sql(ditto.present_partitions_sql(read, DAILY, INCREMENT, 11, "`demo`.`visits`"))
    assert text.endswith(
        sql("""
            from (
                select `day` from (select * from feed)
                union all
                select * from (select distinct `day` from `demo`.`visits`) where (year(day) = 2024 or day is null)
            )
            limit 11
        """)
    )


def test_a_row_for_which_the_predicate_is_unknown_is_outside(ditto: Ditto) -> None:
    assert sql(ditto.rows_outside_sql(INCREMENT, "(p)")) == sql("""
        select to_json(struct(*)) as `problem` from (select * from feed) where not coalesce((p), false) limit 5
    """)


def test_the_insert_after_a_delete_counts_once_and_only_with_its_token(ditto: Ditto) -> None:
    read = settings(ditto, mode="delete_insert", partition_by="day")
    text = ditto.fenced_insert_sql(read, given("id"), INCREMENT, "(p)", TAG, "(mine)", 3)
    # Of the execution, not of the run: Delta skips what has a lower token than a run that took over.
    execution = f"demo.visits:{read['execution_time']}"
    options = f"'userMetadata' = '{TAG}', 'txnAppId' = 'ditto:write:{execution}', 'txnVersion' = '3'"
    assert sql(text) == sql(f"""
        insert into `demo`.`visits` with ({options})
        with `_ditto_target` as (select 1 as `one` from `demo`.`visits` with ({options}))
        select `id` from (select * from feed)
        where (mine) and case when coalesce((p), false) then true
            else raise_error('ditto: a row outside of the predicate') end
    """)
