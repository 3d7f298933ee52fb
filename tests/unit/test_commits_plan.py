"""What the commits of a table tell: which changed rows, where the table stands, and which nobody of ditto made."""

from __future__ import annotations

from typing import Any

import pytest
from macro_harness import Ditto
from stateful_merge_model import refusal

TAG = {"pattern": "stateful_merge", "mode": "normal", "execution_time": "2024-10-07 00:00:00", "invocation_id": "me"}


def commit(version: int, operation: str = "MERGE", tag: dict[str, str] | None = None, **other: Any) -> dict[str, Any]:
    known = {"version": version, "operation": operation, "tag": tag, "restored": None, "user": "ada", "at": "noon"}
    return known | other


def merge(version: int, **identity: str) -> dict[str, Any]:
    """A merge that a run of ditto made."""
    return commit(version, tag=TAG | identity)


def restore(version: int, to: int) -> dict[str, Any]:
    return commit(version, "RESTORE", restored=to)


def started(token: int, version: int | None) -> dict[str, Any]:
    return {"event": "started", "token": token, "version": version}


def ended(token: int, version: int | None, event: str = "committed") -> dict[str, Any]:
    return {"event": event, "token": token, "version": version}


# --- changes_rows ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "operation",
    [
        "OPTIMIZE",
        "VACUUM START",
        "VACUUM END",
        "SET TBLPROPERTIES",
        "UNSET TBLPROPERTIES",
        "ADD COLUMNS",
        "ADD CONSTRAINT",
        "CHANGE COLUMN",
        "DROP COLUMNS",
        "DROP CONSTRAINT",
        "RENAME COLUMN",
        "UPGRADE PROTOCOL",
        "UPDATE SCHEMA",
        "UPDATE COLUMN METADATA",
        "REORG",
        "CLUSTER BY",
        "COMPUTE STATS",
        "CREATE TABLE",
    ],
)
def test_commits_that_leave_the_rows_as_they_are(ditto: Ditto, operation: str) -> None:
    assert ditto.changes_rows(commit(1, operation)) is False


@pytest.mark.parametrize(
    "operation",
    [
        "MERGE",
        "WRITE",
        "UPDATE",
        "DELETE",
        "TRUNCATE",
        "RESTORE",
        "STREAMING UPDATE",
        "CREATE TABLE AS SELECT",
        "CREATE OR REPLACE TABLE",
        "REPLACE TABLE",
        "CLONE",
        "CONVERT",
        "SOMETHING NEW",
    ],
)
def test_everything_else_counts_as_a_change(ditto: Ditto, operation: str) -> None:
    assert ditto.changes_rows(commit(1, operation)) is True


# --- stands_at ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("commits", "version", "stands"),
    [
        ([], 4, True),
        ([merge(4), merge(3)], 4, True),
        ([merge(4), merge(3)], 3, False),
        # Compactions and properties after it do not count.
        ([commit(7, "OPTIMIZE"), commit(6, "SET TBLPROPERTIES"), commit(5, "OPTIMIZE"), merge(4)], 4, True),
        # It was restored: by a run that died before its merge, for example.
        ([restore(5, 2), merge(4), merge(3)], 2, True),
        ([commit(6, "SET TBLPROPERTIES"), restore(5, 2), merge(4), merge(3)], 2, True),
        ([restore(5, 2), merge(4), merge(3)], 3, False),
        ([restore(5, 2), merge(4), merge(3)], 4, False),
        # And changed again since.
        ([merge(6), restore(5, 2), merge(4), merge(3)], 2, False),
        ([commit(6, "DELETE"), restore(5, 2), merge(4), merge(3)], 2, False),
    ],
)
def test_where_the_table_stands(ditto: Ditto, commits: list[dict[str, Any]], version: int, stands: bool) -> None:
    assert ditto.stands_at(commits, version) is stands


# --- foreign_commits ------------------------------------------------------------------------------------------------


def foreign(ditto: Ditto, commits: list[dict[str, Any]], version: int, *leases: dict[str, Any]) -> list[int]:
    return [item["version"] for item in ditto.foreign_commits(commits, version, list(leases))]


def test_commits_of_ditto_and_upkeep_are_not_foreign(ditto: Ditto) -> None:
    commits = [merge(6), commit(5, "OPTIMIZE"), commit(4, "ADD COLUMNS"), merge(3), commit(2, "VACUUM END")]
    assert foreign(ditto, commits, 1) == []


def test_an_update_by_hand_is_foreign_from_the_version_on(ditto: Ditto) -> None:
    commits = [merge(6), commit(5, "UPDATE"), merge(4), commit(3, "WRITE"), merge(2)]
    assert foreign(ditto, commits, 1) == [5, 3]
    assert foreign(ditto, commits, 3) == [5]
    assert foreign(ditto, commits, 5) == []


@pytest.mark.parametrize("operation", ["RESTORE", "TRUNCATE"])
def test_going_back_under_a_lease_is_our_own(ditto: Ditto, operation: str) -> None:
    commits = [merge(6), commit(5, operation), merge(4)]
    lease = (started(1, 4), ended(1, 6))
    assert foreign(ditto, commits, 2, *lease) == []
    assert foreign(ditto, commits, 2) == [5]


def test_a_restore_before_or_after_a_lease_is_foreign(ditto: Ditto) -> None:
    commits = [restore(8, 2), merge(7), restore(6, 3), restore(5, 2), merge(4)]
    assert foreign(ditto, commits, 2, started(1, 5), ended(1, 7)) == [8, 5]


def test_an_unfinished_lease_covers_all_that_came_after_it_began(ditto: Ditto) -> None:
    commits = [restore(6, 2), restore(5, 2), merge(4)]
    assert foreign(ditto, commits, 2, started(2, 5)) == [5]


def test_a_takeover_prolongs_the_lease_of_the_run_that_died(ditto: Ditto) -> None:
    commits = [merge(8), restore(7, 2), merge(6), restore(5, 2), merge(4)]
    assert foreign(ditto, commits, 2, started(1, 4), started(2, 4), ended(2, 8)) == []


def test_a_release_ends_a_lease(ditto: Ditto) -> None:
    commits = [restore(7, 2), restore(6, 4), restore(5, 2), merge(4)]
    assert foreign(ditto, commits, 2, started(1, 4), started(2, 4), ended(2, 6, "released")) == [7]


def test_leases_on_a_table_that_did_not_exist_yet(ditto: Ditto) -> None:
    commits = [commit(2, "TRUNCATE"), merge(1), commit(0, "CREATE TABLE")]
    assert foreign(ditto, commits, -1, started(1, None), started(2, None), ended(2, 2, "released")) == []


@pytest.mark.parametrize("operation", ["UPDATE", "WRITE", "MERGE", "DELETE"])
def test_other_writes_without_a_name_are_foreign_even_under_a_lease(ditto: Ditto, operation: str) -> None:
    commits = [merge(6), commit(5, operation), merge(4)]
    assert foreign(ditto, commits, 2, started(1, 4), ended(1, 6)) == [5]


# --- in words -------------------------------------------------------------------------------------------------------


def test_commits_are_described_with_version_operation_user_and_time(ditto: Ditto) -> None:
    text = ditto.describe_commits([commit(5, "UPDATE"), commit(3, "DELETE", user=None)])
    assert text == "version 5: UPDATE by ada at noon\n    - version 3: DELETE by somebody at noon"


def test_of_many_commits_ten_are_described(ditto: Ditto) -> None:
    text = ditto.describe_commits([commit(version, "UPDATE") for version in range(20, 8, -1)])
    assert len(text.splitlines()) == 11
    assert text.endswith("- and 2 more")


# --- interference ---------------------------------------------------------------------------------------------------


def running(**changes: Any) -> dict[str, Any]:
    """A backfill that saw version 4 and goes back to 2."""
    known = {
        "subject": "stateful_merge model devices",
        "model": "devices",
        "table": "`demo`.`devices`",
        "execution_time": "2024-10-07 00:00:00",
        "invocation_id": "me",
        "undoes_until": "9999-12-31 00:00:00",
        "made_anew": False,
        "seen": 4,
        "restore": 2,
    }
    return known | changes


@pytest.mark.parametrize(
    "commits",
    [
        [merge(6), restore(5, 2), merge(4, invocation_id="old")],
        [merge(7), commit(6, "SET TBLPROPERTIES"), restore(5, 2)],
        [merge(6), commit(5, "TRUNCATE")],
        [commit(7, "UPDATE"), merge(6), restore(5, 2)],  # after our write: nothing that it was applied to
        [merge(6), restore(5, 2), commit(4, "UPDATE")],  # known when the plan was made
        [restore(5, 2), merge(4, invocation_id="old")],  # an empty increment makes no commit
        [merge(7), restore(6, 2), merge(5, invocation_id="old")],  # of a run that was taken over, and undone
    ],
)
def test_a_run_that_was_alone(ditto: Ditto, commits: list[dict[str, Any]]) -> None:
    assert ditto.interference(running(), commits) == []


@pytest.mark.parametrize(
    "commits",
    [
        [merge(7), restore(6, 2), commit(5, "UPDATE")],
        [merge(7), commit(6, "WRITE"), restore(5, 2)],
        [merge(6), restore(5, 3)],
        [commit(6, "DELETE"), restore(5, 2)],
        [merge(7), merge(6, invocation_id="old"), restore(5, 2)],  # of a run that was taken over while it wrote
        [merge(6), merge(5, invocation_id="old")],
    ],
)
def test_a_write_by_others_during_the_run_is_refused(ditto: Ditto, commits: list[dict[str, Any]]) -> None:
    assert ditto.interference(running(), commits)
    asked: list[int] = []
    ditto = ditto.with_context(macros={"require_lease": lambda plan, token, what: asked.append(token)})
    text = refusal(lambda: ditto.refuse_interference(running(), commits, {"token": 7}))
    assert asked == [7]  # first: is it a run that took over this one?
    assert "commits by others to `demo`.`devices` during this run" in text
    if commits[1].get("tag"):  # of a run that was taken over while it was alive: it is named
        assert "MERGE by invocation old for execution 2024-10-07 00:00:00 at" in text
    assert "its execution counts as unfinished" in text
    assert "dbt run --select devices --vars '{execution_date: 2024-10-07}'" in text


@pytest.mark.parametrize("changes", [{"undoes_until": None}, {"made_anew": True}, {"seen": None}])
def test_runs_that_undo_nothing_are_not_asked(ditto: Ditto, changes: dict[str, Any]) -> None:
    assert ditto.interference(running(**changes), [merge(7), commit(6, "WRITE")]) == []
