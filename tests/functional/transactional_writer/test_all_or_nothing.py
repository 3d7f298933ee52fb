"""Several datasets in one commit: if one row of one of them cannot be written, nothing of any is."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.functional.merger.feed import add_model, listed, message
from tests.support import Project

FIRST, SECOND, THIRD = "2024-10-01", "2024-10-02", "2024-10-03"
DEVICES = """
    models:
      - name: all_devices
        config: {contract: {enforced: true}}
        columns:
          - {name: type, data_type: varchar(10)}
          - {name: version, data_type: int}
          - {name: full_name, data_type: string}
"""
DATASET = "type string, version int, full_name string"
APPLIED = "{{ ditto.in_order([target.schema ~ '.dataset_1', target.schema ~ '.dataset_2']) }}"
COLUMNS = "type, version, full_name"


def test_the_example_of_two_datasets_one_with_a_type_that_is_too_long(project: Project) -> None:
    before = [("phone", 1, "Galaxy One"), ("tablet", 1, "Tab One")]
    project.source("dataset_1", DATASET, before)
    project.source("dataset_2", DATASET, [])
    project.model("all_devices", APPLIED, materialized="transactional_writer", unique_key=["type", "version"])
    project.write({"models/all_devices.yml": DEVICES})
    project.must_run(FIRST)
    assert project.rows("all_devices", COLUMNS) == before

    # The first dataset is in order, the second one is not.
    project.source("dataset_1", DATASET, [("phone", 1, "Galaxy One Updated"), ("phone", 2, "Galaxy Two")])
    project.source("dataset_2", DATASET, [("watch", 1, "Watch"), ("a type that is too long", 1, "Long")])
    refused = project.run(SECOND)
    assert not refused.ok
    text = message(refused, "all_devices")
    assert "rows in the increment that break a constraint of" in text
    broken = '`type` is null or length(`type`) <= 10: {"type":"a type that is too long","version":1,"full_name":"Long"'
    assert [line.startswith(broken) for line in listed(text)] == [True]
    assert project.rows("all_devices", COLUMNS) == before
    assert (project.versions("all_devices"), project.states("all_devices")) == (1, {f"{FIRST} 00:00:00": "live"})

    # Corrected, both are there, in one commit.
    project.source("dataset_2", DATASET, [("watch", 1, "Watch"), ("phone", 2, "Galaxy Two Corrected")])
    project.must_run(SECOND)
    assert project.rows("all_devices", COLUMNS) == [
        ("phone", 1, "Galaxy One Updated"),
        ("phone", 2, "Galaxy Two Corrected"),
        ("tablet", 1, "Tab One"),
        ("watch", 1, "Watch"),
    ]
    assert project.versions("all_devices") == 2

    # A full refresh is one commit as well, and the table that it makes is as strict.
    project.source("dataset_2", DATASET, [("a type that is too long", 1, "Long")])
    assert len(listed(message(project.run(THIRD, "--full-refresh"), "all_devices"))) == 1
    assert project.versions("all_devices") == 2
    project.source("dataset_2", DATASET, [])
    project.must_run(THIRD, "--full-refresh")
    assert project.rows("all_devices", COLUMNS) == [("phone", 1, "Galaxy One Updated"), ("phone", 2, "Galaxy Two")]
    assert project.versions("all_devices") == 3
    project.source("dataset_2", DATASET, [("a type that is too long", 1, "Long")])
    assert len(listed(message(project.run(THIRD), "all_devices"))) == 1
    assert project.versions("all_devices") == 3


STRICT = """
  - name: {name}
    config: {{contract: {{enforced: true}}}}
    columns:
      - {{name: id, data_type: int, constraints: [{{type: check, name: positive, expression: id > 0}}]}}
      - {{name: name, data_type: varchar(3), constraints: [{{type: not_null}}]}}
"""
ROWS = {"id": "int", "name": "string"}
BAD = [(-1, "b"), (3, None), (4, "long"), (5, "ok")]
WRITES = ("merge", "append", "overwrite")


def strict(project: Project, days: dict[str, list[tuple[object, ...]]], yml: Callable[[str], str]) -> None:
    for write in WRITES:
        add_model(project, write, ROWS, days, materialized="transactional_writer", write=write, unique_key="id")
    project.write({"models/strict.yml": "models:\n" + "".join(yml(write) for write in WRITES)})


@pytest.mark.slow
def test_every_constraint_is_told_with_its_rows_whatever_is_written(project: Project) -> None:
    strict(project, {FIRST: [(1, "a")], SECOND: BAD}, lambda name: STRICT.format(name=name))
    project.must_run(FIRST)
    refused = project.run(SECOND)
    for write in WRITES:
        broken = [line[: line.index(": {")] for line in listed(message(refused, write))]
        assert broken == ["id > 0", "`name` is not null", "`name` is null or length(`name`) <= 3"]
        assert project.rows(write, "id, name") == [(1, "a")]
        assert project.versions(write) == 1

    # The table keeps its constraints when the model no longer describes them.
    strict(project, {SECOND: [(-1, "b")], THIRD: [(2, "b")]}, lambda name: f"  - {{name: {name}}}\n")
    refused = project.run(SECOND)
    for write in WRITES:
        assert listed(message(refused, write))[0].startswith("id > 0: ")
        assert project.versions(write) == 1
    project.must_run(THIRD)
    assert project.rows("append", "id, name") == [(1, "a"), (2, "b")]
    assert project.rows("overwrite", "id, name") == [(2, "b")]


@pytest.mark.slow
@pytest.mark.parametrize("audits", [[], ["id > 0 or id is null"]])
def test_bad_keys_are_told_whatever_is_written(project: Project, audits: list[str]) -> None:
    days = {FIRST: [(1, "a")], SECOND: [(1, "x"), (1, "y"), (None, "z")]}
    kind = {"materialized": "transactional_writer", "unique_key": "id", "audits": audits}
    for write in WRITES:
        add_model(project, write, ROWS, days, write=write, **kind)
    latest = {"on_duplicate_key": "latest", "order_by": "name", "on_null_key": "allow"}
    add_model(project, "latest", ROWS, days, write="append", **kind, **latest)
    project.must_run(FIRST)
    refused = project.run(SECOND)
    assert refused.node("latest").status.value == "success"
    assert project.rows("latest", "id, name") == [(1, "a"), (1, "y"), (None, "z")]
    for write in WRITES:
        assert listed(message(refused, write)) == ['{"id":1}: 2 rows', '{"id":null}: 1 row without a key']
        assert project.rows(write, "id, name") == [(1, "a")]
        assert project.versions(write) == 1
        # Nobody else is stopped by it.
        assert "unfinished" not in project.states(write).values()
