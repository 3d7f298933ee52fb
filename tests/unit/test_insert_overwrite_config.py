"""The config of an insert_overwrite model: what is accepted, and what each mistake is answered with."""

from __future__ import annotations

from typing import Any

import pytest
from insert_overwrite_model import HOUR, refusal, settings
from macro_harness import Ditto


@pytest.mark.parametrize(
    ("config", "mode", "leased"),
    [
        ({}, "predicate", False),
        ({"mode": "partitions"}, "partitions", False),
        ({"mode": "table"}, "table", False),
        ({"mode": "delete_insert"}, "delete_insert", True),
        ({"file_format": "parquet"}, "partitions", True),
        ({"file_format": "parquet", "mode": "table"}, "table", True),
    ],
)
def test_only_one_commit_of_delta_goes_without_an_intent(
    ditto: Ditto, config: dict[str, Any], mode: str, leased: bool
) -> None:
    read = settings(ditto, partition_by="day", **config)
    assert (read["overwrite"], read["leased"]) == (mode, leased)


def test_the_predicate_names_the_execution(ditto: Ditto) -> None:
    predicate = "day = date'{execution_date}' and seen < timestamp'{execution_time}' and day <> '{execution_date}'"
    expected = "day = date'2024-10-07' and seen < timestamp'2024-10-07 09:00:00' and day <> '2024-10-07'"
    assert settings(ditto, HOUR, predicate=predicate)["predicate"] == expected
    assert settings(ditto, HOUR, meta={"predicate": predicate})["predicate"] == expected


@pytest.mark.parametrize(
    ("config", "found", "fix"),
    [
        ({"mode": "overwrite"}, "mode: overwrite", "mode='predicate'"),
        ({"mode": "delete_insert", "file_format": "parquet"}, "mode: delete_insert", "mode='partitions'"),
        ({"file_format": "orc"}, "file_format: orc", "file_format='delta'"),
        ({}, "mode: predicate without predicate or partition_by", "{execution_date}"),
        ({"mode": "delete_insert"}, "mode: delete_insert without predicate or partition_by", "mode='table'"),
        ({"mode": "partitions"}, "mode: partitions without partition_by", "partition_by='day'"),
        ({"file_format": "parquet"}, "mode: partitions without partition_by", "partition_by='day'"),
        ({"mode": "table", "predicate": "true"}, "mode: table with a predicate", "remove the predicate"),
        ({"predicate": ["day = 1"]}, "predicate: ['day = 1']", "{execution_date}"),
        ({"predicate": "  "}, "predicate:   ", "{execution_date}"),
        ({"predicate": "day = '{execution_day}'"}, "predicate: day = '{execution_day}'", "{execution_time}"),
        ({"partition_by": "day", "max_partitions": "many"}, "max_partitions: many", "max_partitions=1000"),
        ({"partition_by": "day", "max_partitions": 0}, "max_partitions: 0", "max_partitions=1000"),
        ({"partition_by": "day", "cluster_by": "id"}, "cluster_by: id with partition_by", "remove cluster_by"),
        ({"partition_by": ["day", 1]}, "partition_by: ['day', 1]", "partition_by=['id']"),
    ],
)
def test_a_mistake_is_reported_before_any_sql(ditto: Ditto, config: dict[str, Any], found: str, fix: str) -> None:
    text = refusal(lambda: settings(ditto, **config))
    assert f"found:    {found}" in text
    assert fix in text[text.index("fix:") :]


@pytest.mark.parametrize(
    "predicate",
    [
        "a = 1 or cast(b as string) = '1'",
        "a = 1 OR b = 1",
        "NOT (a = 1 and b = 1)",
        "!(a = 1 and b = 1)",
        "if(a = 1, true, b = 1)",
        "case when a = 1 then true else b = 1 end",
        "a like any ('x%', '%y%')",
    ],
)
def test_a_predicate_of_which_spark_may_leave_out_a_part_is_refused(ditto: Ditto, predicate: str) -> None:
    text = refusal(lambda: settings(ditto, predicate=predicate))
    assert f"found:    predicate: {predicate}" in text
    assert "mode='delete_insert'" in text
    # A DELETE takes any condition, and in the mode partitions a query finds the partitions.
    assert settings(ditto, mode="delete_insert", predicate=predicate)["predicate"] == predicate
    assert settings(ditto, mode="partitions", partition_by="a", predicate=predicate)["predicate"] == predicate


@pytest.mark.parametrize(
    "predicate",
    [
        "day between date'2024-10-01' and date'2024-10-07'",
        "state in ('a or b', \"not (c)\", 'it\\'s or')",
        "`a or b` = 1 and b is not null and c not in (1, 2) and author = 'x' and d <> 3",
    ],
)
def test_words_in_quotes_and_names_are_no_or(ditto: Ditto, predicate: str) -> None:
    assert settings(ditto, predicate=predicate)["predicate"] == predicate
