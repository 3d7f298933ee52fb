"""The mode partitions with rows of several partitions, whatever their values are."""

from __future__ import annotations

import pytest

from tests.functional.insert_overwrite.feed import contents, each, overwrite, refused
from tests.support import Project

ALL = "select * from {{ target.schema }}.people"
TABLES = ["people_delta", "people_files"]
ODD = ["O'Neil", "a=b/c d%", "\\", None]


@pytest.mark.slow
def test_partitions_present_in_the_increment_are_replaced(project: Project) -> None:
    # None of these predicates is one that Delta could evaluate: they select partitions of the table by a query.
    selected = "upper(country) = 'FR' or country is null"
    overwrite(project, "people_delta", ALL, mode="partitions", partition_by="country", predicate=selected)
    overwrite(project, "people_files", ALL, file_format="parquet", partition_by="country", predicate=selected)
    overwrite(project, "limited", ALL, mode="partitions", partition_by="country", max_partitions=5)

    kept = [(1, country) for country in [*ODD[:3], "it"]]
    rows = [*kept, (2, None), (3, ""), (4, "de"), (5, "fr")]
    project.source("people", "id int, country string", rows)
    outcome = project.run("2024-10-07")
    assert "more than 5 partitions to replace" in refused(outcome, "limited")
    # As a partition the empty string is null, here as everywhere in Spark.
    landed = sorted([*kept, (2, None), (3, None), (4, "de"), (5, "fr")], key=repr)
    assert contents(project, *TABLES) == each(TABLES, landed)

    # de changes, fr and null are the run's own and have no rows any more, the others have none either and stay.
    project.source("people", "id int, country string", [(6, "de"), (7, "O'Neil")])
    project.must_run("2024-10-07", "--exclude", "limited")
    stayed = [row for row in kept if row[1] != "O'Neil"]
    expected = sorted([*stayed, (6, "de"), (7, "O'Neil")], key=repr)
    assert contents(project, *TABLES) == each(TABLES, expected)
    assert project.versions("people_delta") == 2
