"""The demo's snapshot, in a project of somebody else: what its clock, the execution time, can do and what it cannot."""

from __future__ import annotations

import csv
from typing import Any

import pytest

from tests.support import ROOT, Project, literal, statements

TABLE = "raw_device_changes"
COLUMNS = "type string, version int, full_name string, is_deleted boolean, changed_at timestamp, ingested_on date"
VALID = "date_format(dbt_valid_from, 'yyyy-MM-dd'), date_format(dbt_valid_to, 'yyyy-MM-dd')"

AFTER_05 = [
    ("phone", 1, "2024-10-05", None, "Galaxy One", False),
    ("phone", 2, "2024-10-05", None, "Galaxy Two", False),
    ("tablet", 1, "2024-10-05", None, "Tab One", False),
]
AFTER_07 = [
    ("laptop", 1, "2024-10-06", None, "Book One", False),
    ("laptop", 2, "2024-10-07", None, "Book Two", False),
    ("phone", 1, "2024-10-05", "2024-10-06", "Galaxy One", False),
    ("phone", 1, "2024-10-06", None, "Galaxy One Updated", False),
    ("phone", 2, "2024-10-05", None, "Galaxy Two", False),
    ("tablet", 1, "2024-10-05", "2024-10-07", "Tab One", False),
    ("tablet", 1, "2024-10-07", None, "Tab One", True),
    ("watch", 1, "2024-10-07", None, "Watch One", True),
]


def feed(project: Project) -> None:
    """The demo's snapshot over a table with the demo's rows."""
    with (ROOT / "seeds" / "demo" / f"{TABLE}.csv").open(newline="") as file:
        rows = [tuple(row) for row in list(csv.reader(file))[1:]]
    project.source(TABLE, COLUMNS, rows)
    text = (ROOT / "snapshots" / "demo" / "devices_history.sql").read_text()
    assert f"{{{{ ref('{TABLE}') }}}}" in text
    own = text.replace(f"{{{{ ref('{TABLE}') }}}}", f"{{{{ target.schema }}}}.{TABLE}")
    project.write({"snapshots/devices_history.sql": own})


def change(project: Project, day: str, *rows: tuple[Any, ...]) -> None:
    values = ", ".join(f"({', '.join(literal(value) for value in (*row, False, day, day))})" for row in rows)
    names = "type, version, full_name, is_deleted, changed_at, ingested_on"
    columns = ", ".join(f"cast({part.split()[0]} as {part.split()[1]})" for part in COLUMNS.split(", "))
    project.sql(f"insert into {{schema}}.{TABLE} select {columns} from values {values} as given ({names})")


def snapshot(project: Project, day: str) -> list[tuple[Any, ...]]:
    outcome = project.dbt("snapshot", execution_date=day)
    assert outcome.ok, outcome.text
    return project.rows("devices_history", f"type, version, {VALID}, full_name, is_deleted")


@pytest.mark.slow
def test_a_replayed_execution_adds_no_version(project: Project) -> None:
    feed(project)
    assert snapshot(project, "2024-10-05") == AFTER_05
    snapshot(project, "2024-10-06")
    assert snapshot(project, "2024-10-07") == AFTER_07
    assert snapshot(project, "2024-10-07") == AFTER_07, "the same day again"
    assert snapshot(project, "2024-10-06") == AFTER_07, "a day in the middle again"

    change(project, "2024-10-09", ("phone", 2, "Galaxy Two Updated"))
    after_09 = snapshot(project, "2024-10-09")
    assert len(after_09) == len(AFTER_07) + 1
    assert [row for row in after_09 if row[:2] == ("phone", 2)] == [
        ("phone", 2, "2024-10-05", "2024-10-09", "Galaxy Two", False),
        ("phone", 2, "2024-10-09", None, "Galaxy Two Updated", False),
    ]

    what_snapshots_cannot_do(project, after_09)


def what_snapshots_cannot_do(project: Project, before: list[tuple[Any, ...]]) -> None:
    """The limits that docs/snapshots.md tells of, as they are."""
    # A day that comes late: keys that changed since keep the history they have; only unknown ones are taken.
    change(project, "2024-10-08", ("phone", 2, "Galaxy Two Late"), ("watch", 2, "Watch Two"), ("watch", 2, "Watch 2"))
    with statements(only="merge into") as merges:
        after = snapshot(project, "2024-10-08")
    assert [row for row in after if row[:2] == ("phone", 2)] == [row for row in before if row[:2] == ("phone", 2)]
    assert ("phone", 3, "2024-10-08", None, "Galaxy Three", False) in after
    # Two rows with one key are not refused: both are current.
    assert [row[4] for row in after if row[:2] == ("watch", 2) and row[3] is None] == ["Watch 2", "Watch Two"]

    # A corrected day: a changed row is not seen, and a row that is gone stays.
    project.sql(f"update {{schema}}.{TABLE} set full_name = 'Book 1' where type = 'laptop' and version = 1")
    project.sql(f"delete from {{schema}}.{TABLE} where type = 'phone' and ingested_on = '2024-10-06'")
    with statements(only="merge into") as others:
        assert snapshot(project, "2024-10-06") == after

    # No ledger knows of it, and every run reads its rows from a view of the same name: two at once mix them up.
    tables = {row[1] for row in project.sql("show tables in {schema}")}
    assert tables == {TABLE, "devices_history"}
    assert [f"using {project.schema}.devices_history__dbt_tmp " in text for text in (*merges, *others)] == [True, True]
