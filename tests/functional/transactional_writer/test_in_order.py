"""Several datasets of one execution: later ones win, deletions included, and columns find each other by name."""

from __future__ import annotations

import pytest

from tests.functional.merger.feed import listed, message
from tests.support import Project

FIRST, SECOND = "2024-10-01", "2024-10-02"
DATASETS = """[target.schema ~ '.raw_changes', '(select * from ' ~ target.schema ~ '.raw_corrections)']"""
WHERE = """where="day = '" ~ ditto.execution_date() ~ "'" """
ORDERS = f"select id, name, note, gone from ({{{{ ditto.in_order({DATASETS}, {WHERE}) }}}})"
LOG = f"{{{{ ditto.in_order({DATASETS}, columns=['id', 'name'], {WHERE}) }}}}"


@pytest.mark.slow
def test_datasets_are_applied_in_their_order(project: Project) -> None:
    kind = {"materialized": "transactional_writer"}
    project.model("orders", ORDERS, unique_key="id", soft_delete="gone", on_null_key="allow", **kind)
    project.model("log", LOG, write="append", **kind)
    changes = [(FIRST, 1, "a", False), (FIRST, 2, "b", False), (FIRST, 3, "c", False), (FIRST, None, "x", False)]
    project.source("raw_changes", "day string, id int, name string, gone boolean", [*changes, (SECOND, 3, "c2", False)])
    # Other columns, in another order.
    corrections = [(FIRST, False, "n", "b2", 2), (FIRST, True, None, None, 3), (FIRST, False, "n", "x2", None)]
    twice = [(SECOND, True, None, None, 1), (SECOND, False, None, "a2", 1)]
    fields = "day string, gone boolean, note string, name string, id int"
    project.source("raw_corrections", fields, [*corrections, *twice])
    project.must_run(FIRST)
    assert project.rows("orders", "id, name, note") == [(1, "a", None), (2, "b2", "n"), (None, "x2", "n")]
    assert len(project.rows("log")) == 7

    # Inside of one dataset there is no order.
    refused = project.run(SECOND)
    assert listed(message(refused, "orders")) == ['{"id":1}: 2 rows']

    project.source("raw_corrections", fields, [*corrections, twice[0]])
    project.must_run(SECOND)
    assert project.rows("orders", "id, name, note") == [(2, "b2", "n"), (3, "c2", None), (None, "x2", "n")]
