"""Keys that are not keys: the run is refused in words, and nothing is written."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

from tests.functional.merger.feed import Row, add_model, listed, message
from tests.support import FOR_TINY_TABLES, Outcome, Project, make_project

FIRST, SECOND = "2024-10-01", "2024-10-02"
COLUMNS = {"id": "int", "name": "string"}
SEVEN_TWICE: list[Row] = [(key, letter) for key in range(10, 17) for letter in ("x", "y")]

BAD: dict[str, list[Row]] = {
    "new_key_twice": [*SEVEN_TWICE, (16, "z"), (1, "a2")],
    "matched_key_twice": [(1, "x"), (1, "y"), (2, "b")],
    "no_key": [(None, "x"), (2, "b")],
}
ONLY_KEYS: dict[str, object] = {"unique_key": ["id", "name"]}


@pytest.fixture(scope="module")
def project(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Project:
    project = make_project(tmp_path_factory.mktemp("keys"), "merger_keys", spark, FOR_TINY_TABLES)
    for name, rows in BAD.items():
        add_model(project, name, COLUMNS, {FIRST: [(1, "a")], SECOND: rows}, unique_key="id")
    project.must_run(FIRST)
    # On their first run, where the table is empty and no key of the increment can match.
    add_model(project, "first_run", COLUMNS, {SECOND: [(1, "x"), (1, "y")]}, unique_key="id")
    add_model(project, "only_keys", COLUMNS, {SECOND: [(1, "x"), (1, "x"), (None, None)]}, **ONLY_KEYS)
    return project


@pytest.fixture(scope="module")
def refused(project: Project) -> Outcome:
    return project.run(SECOND)


def test_new_keys_that_come_twice_are_counted_and_five_are_shown(refused: Outcome) -> None:
    text = message(refused, "new_key_twice")
    assert listed(text) == ['{"id":16}: 3 rows', *(f'{{"id":{key}}}: 2 rows' for key in range(10, 14))]
    assert "on_duplicate_key='latest'" in text


@pytest.mark.parametrize(
    ("name", "keys"),
    [
        ("matched_key_twice", ['{"id":1}: 2 rows']),
        ("no_key", ['{"id":null}: 1 row without a key']),
        ("first_run", ['{"id":1}: 2 rows']),
        ("only_keys", ['{"id":1,"name":"x"}: 2 rows', '{"id":null,"name":null}: 1 row without a key']),
    ],
)
def test_bad_keys_are_named(refused: Outcome, name: str, keys: list[str]) -> None:
    assert listed(message(refused, name)) == keys


@pytest.mark.parametrize("name", BAD)
def test_a_refused_run_leaves_the_table_and_the_ledger_as_they_were(
    project: Project, refused: Outcome, name: str
) -> None:
    assert not refused.ok
    assert project.rows(name) == [(1, "a")]
    assert project.versions(name) == 1
    assert project.states(name) == {"2024-10-01 00:00:00": "live"}


def test_a_refused_full_refresh_does_not_empty_the_table(project: Project, refused: Outcome) -> None:
    assert not refused.ok
    again = project.run(SECOND, "--full-refresh", model="matched_key_twice")
    assert '{"id":1}: 2 rows' in again.text
    assert (project.rows("matched_key_twice"), project.versions("matched_key_twice")) == ([(1, "a")], 1)
    assert project.states("matched_key_twice") == {"2024-10-01 00:00:00": "live"}


@pytest.mark.parametrize("name", ["first_run", "only_keys"])
def test_a_refused_first_run_leaves_an_empty_table(project: Project, refused: Outcome, name: str) -> None:
    assert not refused.ok
    assert (project.rows(name), project.versions(name), project.states(name)) == ([], 0, {})


def test_the_corrected_increment_goes_through(project: Project, refused: Outcome) -> None:
    assert not refused.ok
    add_model(project, "only_keys", COLUMNS, {SECOND: [(1, "x"), (1, "y")]}, **ONLY_KEYS)
    project.must_run(SECOND, model="only_keys")
    assert project.rows("only_keys") == [(1, "x"), (1, "y")]
