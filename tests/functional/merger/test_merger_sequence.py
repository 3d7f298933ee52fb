"""`sequence_by`: in whatever order the increments come, and however often, the table ends up the same.

Every order is tried at once: each has rows of its own, told apart by the first column of the key.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import permutations, product

import pytest
from pyspark.sql import SparkSession

from tests.functional.merger.feed import Row, add_model
from tests.support import FOR_TINY_TABLES, Project, make_project

pytestmark = pytest.mark.slow

DAYS = ("2024-10-01", "2024-10-02", "2024-10-03", "2024-10-04")
COLUMNS = {"trial": "string", "id": "string", "seq": "int", "value": "string", "is_deleted": "boolean"}

# id, seq, value, is_deleted
INCREMENTS: tuple[Sequence[Row], ...] = (
    [
        ("a", 1, "a1", False),
        ("b", 1, "b1", False),
        ("c", 1, "c1", False),
        ("d", 5, "d5", False),
        ("e", None, "e", False),
    ],
    [("a", 2, "a2", False), ("b", 3, "b3", True), ("c", 2, "c2", True), ("d", 5, "d5", True), ("e", None, "e", True)],
    [("a", 3, "a3", False), ("b", 2, "b2", False), ("c", 3, "c3", False), ("f", 1, "f1", True)],
    [("a", 0, "a0", True), ("b", 1, "b1", False), ("d", 4, "d4", False), ("f", 2, "f2", None)],
)
# b: the newest change deletes it, and older ones that come later do not bring it back. c: deleted, then changed again.
# d, e: of two changes with one sequence the deletion wins. f: deleted before it was known, then there again.
VISIBLE = {"a": "a3", "c": "c3", "f": "f2"}
# The same feed without `soft_delete`: what is newest stands there, deleted or not.
NEWEST = {"a": 3, "b": 3, "c": 3, "d": 5, "e": None, "f": 2}


def orders() -> Iterable[tuple[int, ...]]:
    """Every order of the four increments, and every order of the first three with one of them twice: four runs each."""
    yield from permutations(range(4))
    yield from (order for order in product(range(3), repeat=4) if set(order) == {0, 1, 2})


def trial(order: tuple[int, ...]) -> str:
    return "".join(str(step + 1) for step in order)


ORDERS = {trial(order): order for order in orders()}


def feed() -> dict[str, list[Row]]:
    return {
        day: [(name, *row) for name, order in ORDERS.items() for row in INCREMENTS[order[step]]]
        for step, day in enumerate(DAYS)
    }


@pytest.fixture(scope="module")
def replayed(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Project:
    project = make_project(tmp_path_factory.mktemp("sequence"), "merger_sequence", spark, FOR_TINY_TABLES)
    keys = {"unique_key": ["trial", "id"], "sequence_by": "seq"}
    add_model(project, "kept", COLUMNS, feed(), **keys)
    add_model(project, "hidden", COLUMNS, feed(), soft_delete="is_deleted", **keys)
    for day in DAYS:
        project.must_run(day)
    return project


def by_trial(rows: Iterable[Row]) -> dict[str, dict[str, object]]:
    found: dict[str, dict[str, object]] = {name: {} for name in ORDERS}
    for name, key, value in rows:
        assert key not in found[name]
        found[name][key] = value
    return found


def test_an_older_change_never_overwrites_a_newer_one(replayed: Project) -> None:
    for name, found in by_trial(replayed.rows("kept", "trial, id, seq")).items():
        expected = dict(NEWEST) if "4" in name else NEWEST | {"f": 1}
        assert found == expected, name


def test_deleted_rows_stay_deleted_unless_a_newer_change_comes(replayed: Project) -> None:
    for name, found in by_trial(replayed.rows("hidden", "trial, id, value")).items():
        expected = VISIBLE if "4" in name else {"a": "a3", "c": "c3"}
        assert found == expected, name


def test_deleted_rows_are_remembered_behind_the_view(replayed: Project) -> None:
    remembered = replayed.sql("select trial, id, seq from {schema}.hidden__data where is_deleted")
    for name, found in by_trial(remembered).items():
        expected: dict[str, object] = {"b": 3, "d": 5, "e": None}
        assert found == (expected if "4" in name else expected | {"f": 1}), name
    assert replayed.state("hidden", "delta_table_version, unit")[-1] == (4, "`merger_sequence`.`hidden__data`")
