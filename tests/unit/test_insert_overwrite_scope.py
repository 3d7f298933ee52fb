"""Which rows of the table an execution owns."""

from __future__ import annotations

import pytest
from insert_overwrite_model import DAILY, DATE, HOUR, HOURLY, facts, partition, refusal, settings
from macro_harness import Ditto
from merger_model import columns


@pytest.mark.parametrize(
    ("at", "names", "types", "predicate"),
    [
        (DATE, ["day"], {"day": "date"}, "(`day` <=> cast('2024-10-07' as date))"),
        (DATE, ["Day"], {"day": "date"}, "(`Day` <=> cast('2024-10-07' as date))"),
        (HOUR, ["at"], {"at": "timestamp"}, "(`at` <=> cast('2024-10-07 09:00:00' as timestamp))"),
        (DATE, ["at"], {"at": "timestamp_ntz"}, "(`at` <=> cast('2024-10-07 00:00:00' as timestamp_ntz))"),
        (
            HOUR,
            ["day", "hour"],
            {"day": "date", "hour": "int"},
            "(`day` <=> cast('2024-10-07' as date) and `hour` <=> cast('9' as int))",
        ),
        (
            "2024-10-07T00:00:00",
            ["d", "visit_hr"],
            {"d": "date", "visit_hr": "bigint"},
            "(`d` <=> cast('2024-10-07' as date) and `visit_hr` <=> cast('0' as bigint))",
        ),
    ],
)
def test_the_predicate_comes_from_the_partition(
    ditto: Ditto, at: str, names: list[str], types: dict[str, str], predicate: str
) -> None:
    assert ditto.own_predicate(settings(ditto, at, partition_by=names), columns(**types)) == predicate


@pytest.mark.parametrize(
    ("at", "types"),
    [
        (HOUR, {"day": "date"}),
        (DATE, {"day": "string"}),
        (DATE, {"month": "int"}),
        (DATE, {"day": "date", "country": "string"}),
        # Country 0 is not the hour 0: an empty increment would empty it and keep all others.
        (DATE, {"day": "date", "country_id": "int"}),
        ("2024-10-07T09:30:00", {"day": "date", "hour": "int"}),
        (DATE, {"hour": "int", "day": "date"}),
        (DATE, {"at": "timestamp", "hour": "int"}),
        (DATE, {"year": "int", "month": "int", "day": "int"}),
    ],
)
def test_an_ambiguous_partition_is_an_error_that_says_how_to_give_the_predicate(
    ditto: Ditto, at: str, types: dict[str, str]
) -> None:
    read = settings(ditto, at, partition_by=list(types))
    text = refusal(lambda: ditto.own_predicate(read, columns(**types)))
    assert f"partition_by: {', '.join(types)}, which does not tell which rows execution" in text
    assert "add predicate=\"day = date'{execution_date}'\" (or {execution_time})" in text


def test_a_given_predicate_comes_before_the_partition(ditto: Ditto) -> None:
    read = settings(ditto, partition_by="day", predicate="day >= date'{execution_date}' - 1")
    assert ditto.own_predicate(read, DAILY) == "(day >= date'2024-10-07' - 1)"


def test_the_own_partition_is_replaced_once_and_even_if_no_row_has_it(ditto: Ditto) -> None:
    read = settings(ditto, HOUR, mode="partitions", partition_by=["day", "hour"])
    own = partition(day=("date", "2024-10-07"), hour=("int", 9))
    read_from_rows = partition(day=("date", "2024-10-07"), hour=("int", "9"))
    late = partition(day=("date", "2024-10-06"), hour=("int", "23"))
    assert ditto.partitions_to_replace(read, facts(HOURLY)) == [own]
    assert ditto.partitions_to_replace(read, facts(HOURLY, partitions=[late, read_from_rows])) == [own, late]


def test_with_a_predicate_the_facts_name_all_partitions(ditto: Ditto) -> None:
    read = settings(ditto, mode="partitions", partition_by="day", predicate="day = date'2024-01-01'")
    selected = partition(day=("date", "2024-01-01"))
    assert ditto.partitions_to_replace(read, facts(DAILY, partitions=[selected])) == [selected]


def test_a_partition_value_is_escaped_and_null_is_a_value(ditto: Ditto) -> None:
    assert ditto.partition_predicate(partition(name=("string", "O'Neil"))) == "(`name` <=> cast('O\\'Neil' as string))"
    assert ditto.partition_predicate(partition(day=("date", None))) == "(`day` <=> cast(null as date))"


def test_the_partition_of_no_text_holds_null_and_the_empty_string(ditto: Ditto) -> None:
    assert ditto.partition_predicate(partition(name=("string", None))) == "((`name` is null or `name` = ''))"


@pytest.mark.parametrize(
    ("types", "partition_by", "predicate"),
    [
        ({"id": "int", "day": "date"}, [], "true"),
        (
            {"id": "int", "day": "date"},
            ["Day"],
            "(`day` is null or `day` > cast('1970-01-01' as date) or `day` < cast('1980-01-01' as date))",
        ),
        (
            {"price": "decimal(10,2)"},
            ["price"],
            "(`price` is null or `price` > cast('0' as decimal(10,2)) or `price` < cast('1' as decimal(10,2)))",
        ),
        # A boolean has too few values for two ranges, so another column serves.
        (
            {"name": "string", "valid": "boolean"},
            ["valid"],
            "(`name` is null or `name` > cast('' as string) or `name` < cast('a' as string))",
        ),
    ],
)
def test_every_row_is_a_condition_that_spark_cannot_fold(
    ditto: Ditto, types: dict[str, str], partition_by: list[str], predicate: str
) -> None:
    read = settings(ditto, mode="table", partition_by=partition_by)
    assert ditto.every_row(read, columns(**types), partition_by) == predicate


def test_every_row_needs_a_column_with_an_order(ditto: Ditto) -> None:
    read = settings(ditto, mode="table", partition_by="valid")
    text = refusal(lambda: ditto.every_row(read, columns(valid="boolean", tags="array<string>"), ["valid"]))
    assert "mode: table, and partitions without a column that has an order" in text
