"""What happens around the rows: the ledger, a run that died, a full refresh, changed columns."""

from __future__ import annotations

import pytest

from tests.functional.merger.feed import add_model, increments
from tests.support import ROOT, Project, statements
from tests.unit.macro_harness import Ditto, library

FIRST, SECOND, THIRD, FOURTH = "2024-10-01", "2024-10-02", "2024-10-03", "2024-10-04"
COLUMNS = {"id": "int", "name": "string"}

WITH_TEST = """
    models:
      - name: gadgets
        data_tests:
          - ditto.ditto_ledger_matches_history
"""


def tags(project: Project, table: str) -> list[tuple[str, str]]:
    """Execution and mode of each commit that says whose it is, the newest first."""
    ditto = Ditto(library(ROOT / "macros"))
    history = project.spark.sql(f"describe history {project.schema}.{table}").collect()
    found = [ditto.parse_tag(str(row["operationParameters"])) for row in history]
    return [(tag["execution_time"], tag["mode"]) for tag in found if tag]


@pytest.mark.slow
def test_what_the_ledger_knows_of_a_death_an_empty_increment_and_a_full_refresh(project: Project) -> None:
    days = {FIRST: [(1, "a")], SECOND: [(1, "a2"), (2, "b")], FOURTH: [(4, "d")]}
    add_model(project, "gadgets", COLUMNS, days, unique_key="id")
    project.write({"models/gadgets.yml": WITH_TEST})
    project.must_run(FIRST)

    # Dies between the MERGE and the outcome: the rows are there, the ledger does not know why.
    with statements(die_before=1, only=f"insert into `{project.schema}`.`ditto_ledger`"):
        assert not project.run(SECOND).ok
    assert project.rows("gadgets") == [(1, "a2"), (2, "b")]
    assert project.states("gadgets") == {"2024-10-01 00:00:00": "live"}

    # The next execution has nothing to merge, makes no commit, and records both.
    project.must_run(THIRD)
    assert project.versions("gadgets") == 2
    assert project.state(
        "gadgets", "cast(execution_time as string), mode, delta_table_version, base_version, live"
    ) == [
        ("2024-10-01 00:00:00", "first", 1, 0, True),
        ("2024-10-02 00:00:00", "normal", 2, 1, True),
        ("2024-10-03 00:00:00", "normal", 2, 2, True),
    ]
    assert tags(project, "gadgets") == [("2024-10-02 00:00:00", "normal"), ("2024-10-01 00:00:00", "first")]
    assert project.dbt("test", execution_date=THIRD).ok

    project.must_run(FOURTH, "--full-refresh")
    assert project.rows("gadgets") == [(4, "d")]
    assert project.state("gadgets", "cast(execution_time as string), mode, generation, delta_table_version") == [
        ("2024-10-04 00:00:00", "full_refresh", 2, 4)
    ]
    assert project.sql("select * from {schema}.gadgets version as of 2 order by id") == [(1, "a2"), (2, "b")]
    generations = project.sql("select generation, count(*) from {schema}.ditto_runs group by all order by all")
    assert generations == [(1, 4), (2, 1)]


@pytest.mark.slow
def test_changed_columns(project: Project) -> None:
    narrow = increments({"id": "int", "name": "string", "old": "string"}, {FIRST: [(1, "a", "o"), (2, "b", "o")]})
    wide = increments({"id": "int", "name": "string", "new": "int"}, {SECOND: [(2, "b2", 7), (3, "c", 8)]})
    sql = f"{{% if ditto.execution_date() == '{FIRST}' %}}{narrow}{{% else %}}{wide}{{% endif %}}"
    for option in ("ignore", "fail", "append_new_columns"):
        project.model(option, sql, materialized="merger", unique_key="id", on_schema_change=option)
    hidden = sql.replace("select ", "select false as is_deleted, 1 as seq, ")
    hiding = {"soft_delete": "is_deleted", "sequence_by": "seq", "on_schema_change": "sync_all_columns"}
    project.model("sync_all_columns", hidden, materialized="merger", unique_key="id", **hiding)
    project.must_run(FIRST)
    outcome = project.run(SECOND)

    assert [node.node.name for node in outcome.nodes if node.status != "success"] == ["fail"]
    text = str(outcome.node("fail").message)
    assert "new: new; gone: old; other types: none" in text
    assert "--full-refresh" in text
    assert project.rows("fail") == [(1, "a", "o"), (2, "b", "o")]
    assert project.versions("fail") == 1
    # What the increment lacks is kept where a row is updated and null where one is inserted.
    assert project.rows("ignore") == [(1, "a", "o"), (2, "b2", "o"), (3, "c", None)]
    assert project.rows("append_new_columns", "id, name, old, new") == [
        (1, "a", "o", None),
        (2, "b2", "o", 7),
        (3, "c", None, 8),
    ]
    # The view in front of hidden rows follows the table.
    assert project.rows("sync_all_columns") == [(False, 1, 1, "a", None), (False, 1, 2, "b2", 7), (False, 1, 3, "c", 8)]
