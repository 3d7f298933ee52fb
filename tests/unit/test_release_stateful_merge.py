"""Giving up an unfinished execution of stateful_merge: the table goes back to where it was before."""

from __future__ import annotations

from typing import Any

import pytest
from macro_harness import Ditto
from stateful_merge_model import applied, facts, node, refusal, unfinished


def commit(version: int, operation: str = "MERGE", tagged: bool = True, restored: int | None = None) -> dict[str, Any]:
    tag = {"pattern": "stateful_merge", "invocation_id": "dead"} if tagged else None
    return {"version": version, "operation": operation, "tag": tag, "restored": restored, "user": "ada", "at": "noon"}


def release(
    ditto: Ditto,
    opened: dict[str, Any],
    history: list[dict[str, Any]],
    readable: bool = True,
    meanwhile: list[dict[str, Any]] | None = None,
    **config: Any,
) -> tuple[list[Any], list[str]]:
    """What is sent, and the event that ends the lease; what is told.

    `meanwhile`: commits of the run until it is stopped.
    """
    seen: list[Any] = []
    landed: list[str] = []
    commits = list(history)

    def send(name: str, statement: str) -> None:
        if name == "stop":
            assert "= 4 then" in statement and "ditto.released_by" in statement
            commits[:0] = meanwhile or []
        else:
            seen.append(statement)
        operation = "SET TBLPROPERTIES" if name == "stop" else "RESTORE"
        commits.insert(0, commit(commits[0]["version"] + 1, operation, tagged=False))

    def give_up(plan: dict[str, Any], lease: dict[str, Any], undoes_until: str | None = None) -> str:
        seen.append((plan["execution_time"], plan["head"], undoes_until))
        return "ditto:give_up:e"

    def require_landed(plan: dict[str, Any], token: int, marker: str, what: str) -> None:
        assert (token, marker) == (4, "ditto:give_up:e")
        landed.append(what)

    package = ditto.with_context(
        macros={
            "table_facts": lambda *args: facts(applied("10-05"), exists=bool(history))["target"],
            "commits": lambda table, limit: commits[:limit],
            "fetch": lambda statement: [{"event": "started", "token": 3, "version": opened["version"]}],
            "claim": lambda plan: {"token": 4, "hash": "h"},
            "is_readable": lambda table, version: readable,
            "give_up": give_up,
            "require_landed": require_landed,
            "send": send,
        }
    )
    ledger = facts(applied("10-05", "10-06", "10-07", "10-08"))["ledger"]
    told = package.release_stateful_merge(node(**config), ledger, opened)
    assert landed == ["took over this execution"]
    return seen, told


@pytest.mark.parametrize(
    "history",
    [
        [commit(5, "RESTORE", tagged=False, restored=2), commit(4)],
        [commit(6), commit(5, "RESTORE", tagged=False, restored=2), commit(4)],
        [commit(5, "TRUNCATE", tagged=False), commit(4)],
    ],
)
def test_the_table_goes_back_to_the_version_from_before(ditto: Ditto, history: list[dict[str, Any]]) -> None:
    seen, told = release(ditto, unfinished("10-07", base_version=2, version=4), history)
    assert "restore table `demo`.`devices` to version as of 4" in seen[0]
    assert "= 4 then" in seen[0]  # fenced by the token of the release
    assert seen[1:] == [("2024-10-07 00:00:00", history[0]["version"] + 2, None)]
    assert "the table is as it was before" in told[0]


def test_what_a_run_that_is_still_alive_commits_until_it_is_stopped_is_undone_too(ditto: Ditto) -> None:
    seen, _ = release(ditto, unfinished("10-07", base_version=4, version=4), [commit(4)], meanwhile=[commit(5)])
    assert "restore table `demo`.`devices` to version as of 4" in seen[0]
    assert seen[1:] == [("2024-10-07 00:00:00", 7, None)]


@pytest.mark.parametrize(
    "history",
    [
        [commit(4)],
        [commit(5, "OPTIMIZE", tagged=False), commit(4)],
        [commit(5, "SET TBLPROPERTIES", tagged=False), commit(4)],
    ],
)
def test_a_run_that_died_before_it_wrote_leaves_nothing_to_undo(ditto: Ditto, history: list[dict[str, Any]]) -> None:
    seen, _ = release(ditto, unfinished("10-07", base_version=2, version=4), history)
    assert seen == [("2024-10-07 00:00:00", history[0]["version"] + 1, None)]


def test_a_first_run_is_undone_by_emptying_the_table(ditto: Ditto) -> None:
    opened = unfinished("10-05", base_version=None, version=None, mode="first")
    seen, _ = release(ditto, opened, [commit(1), commit(0, "CREATE TABLE", tagged=False)])
    assert "truncate table `demo`.`devices`" in seen[0]
    seen, _ = release(ditto, opened, [commit(0, "CREATE TABLE", tagged=False)])
    assert seen == [("2024-10-05 00:00:00", 1, None)]
    seen, _ = release(ditto, opened, [])
    assert seen == [("2024-10-05 00:00:00", None, None)]


def test_what_others_wrote_since_is_not_undone(ditto: Ditto) -> None:
    history = [commit(6, "UPDATE", tagged=False), commit(5), commit(4)]
    text = refusal(lambda: release(ditto, unfinished("10-07", base_version=2, version=4), history))
    assert "commits by others since execution 2024-10-07 00:00:00 began: - version 6: UPDATE by ada" in " ".join(
        text.split()
    )
    assert "finish it instead: dbt run --select devices" in text


def test_without_versions_everything_from_it_on_is_stale(ditto: Ditto) -> None:
    opened = unfinished("10-07", base_version=None, version=None)
    seen, told = release(ditto, opened, [commit(4)], versioning="history")
    assert seen == [("2024-10-07 00:00:00", None, "9999-12-31 00:00:00")]
    assert "it and all later executions have to be replayed" in told[0]


def test_a_version_that_cannot_be_read_is_not_tried(ditto: Ditto) -> None:
    opened = unfinished("10-07", base_version=4, version=4)
    text = refusal(lambda: release(ditto, opened, [commit(5), commit(4)], readable=False))
    assert "version 4 of `demo`.`devices`, from before execution 2024-10-07 00:00:00, cannot be read any more" in text
