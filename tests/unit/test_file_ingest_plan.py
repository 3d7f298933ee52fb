"""From the files that were found to the steps of a file_ingest run."""

from __future__ import annotations

from typing import Any

import pytest
from file_ingest_model import DATE, ROWS, node, refusal, settings
from macro_harness import INVOCATION_ID, Ditto, sql
from merger_model import columns, ledger, ran_before, table

LOAD = f"20241007T120000-{INVOCATION_ID}"
TABLE = table([*ROWS, {"name": "_ditto_load", "type": "string", "comment": ""}])
UNFINISHED = {
    "execution_time": "2024-10-07 00:00:00",
    "mode": "normal",
    "token": 4,
    "base_version": 0,
    "invocation_id": "i",
    "user": "ada",
    "at": "noon",
}


def row(path: str, status: str = "IN_PROGRESS", **columns: object) -> dict[str, Any]:
    return {"file_path": path, "status": status, "attempts": 1, "error_message": None} | columns


def found(**parts: object) -> dict[str, Any]:
    """What `sort_files` gave."""
    nothing = {"rows": [], "load": [], "replaced": [], "failed": [], "lost": [], "refused": []}
    return nothing | {"duplicates": 0, "waiting": 0} | parts


def plan(
    ditto: Ditto,
    files: dict[str, Any],
    flags: dict[str, bool] | None = None,
    config: dict[str, Any] | None = None,
    variables: dict[str, Any] | None = None,
    **facts: Any,
) -> dict[str, Any]:
    read = settings(ditto, **(flags or {}), **(config or {}))
    known = {"ledger": ran_before(), "target": TABLE, "head": 3, "contract": [], "increment": ROWS, "sorted": files}
    here = ditto.with_context(var={"execution_date": DATE} | (variables or {}))
    code = f"select * from {ditto.incoming_sql(read)};"
    return here.file_ingest_plan(node(**(config or {})), read, known | facts, code)


def names(made: dict[str, Any]) -> list[str]:
    return [step["name"] for step in made["steps"]]


def step(made: dict[str, Any], name: str) -> dict[str, Any]:
    return next(step for step in made["steps"] if step["name"] == name)


ONE = found(rows=[row("a")], load=["a"])


def test_nothing_to_do_is_only_recorded(ditto: Ditto) -> None:
    made = plan(ditto, found())
    assert (made["mode"], names(made), made["notes"]) == ("normal", ["outcome"], ["0 files"])
    assert made["details"] == {"files_loaded": 0, "files_failed": 0, "files_skipped": 0}


def test_a_first_run_without_files_makes_the_table(ditto: Ditto) -> None:
    made = plan(ditto, found(), ledger=ledger(), target=table(None))
    assert (made["mode"], names(made)) == ("first", ["create_table", "outcome"])
    create = step(made, "create_table")["sql"]
    assert "`_ditto_load` string" in create
    assert "delta.enableDeletionVectors" in create


def test_a_load_is_announced_tracked_written_and_marked(ditto: Ditto) -> None:
    made = plan(ditto, ONE, ledger=ran_before(token=4))
    assert names(made) == ["intent", "track", "load", "track_loaded", "outcome"]
    assert [one["kind"] for one in made["steps"]] == ["intent", "write", "write", "write", "outcome"]
    fence = "if (select max(`token`) from `demo`.`ditto_ledger` where `relation` = 'demo.orders') = 5 then"
    assert all(f"begin {fence}" in sql(step(made, name)["sql"]) for name in ("track", "load", "track_loaded"))
    assert (made["notes"], made["details"]["files_loaded"]) == (["1 file"], 1)


def test_the_load_is_one_commit_that_replaces_its_own_rows(ditto: Ditto) -> None:
    """Sent twice, it replaces itself. Rows of no other file are touched."""
    load = step(plan(ditto, ONE), "load")
    text = sql(load["sql"])
    assert f"replace where (`_ditto_load` <=> cast('{LOAD}' as string)) with" in text
    assert "`_metadata`.`file_path` in ('a')" in text
    assert f"ditto:1|file_ingest|normal|2024-10-07 00:00:00|{INVOCATION_ID}" in text
    assert load["inserts"] is True
    assert "rows that belong to no file of this load" in load["diagnosis"]["found"]
    assert "not `file_path` in ('a')" in load["diagnosis"]["sql"]


def test_rows_of_changed_files_go_in_the_same_commit(ditto: Ditto) -> None:
    changed = found(rows=[row("it's"), row("b")], load=["it's"], replaced=["it's", "b"])
    text = sql(step(plan(ditto, changed), "load")["sql"])
    assert f"replace where (`_ditto_load` <=> cast('{LOAD}' as string)) or `file_path` in ('it\\'s', 'b') with" in text
    assert "`_metadata`.`file_path` in ('it\\'s'))" in text


def test_a_file_that_became_a_copy_is_emptied_by_a_load_of_nothing(ditto: Ditto) -> None:
    made = plan(ditto, found(rows=[row("a")], replaced=["a"], duplicates=1))
    assert names(made) == ["intent", "track", "load", "track_loaded", "outcome"]
    assert "from `demo`.`orders__incoming` where false)" in step(made, "load")["sql"]
    assert made["notes"] == ["0 files", "1 skipped"]


def test_files_that_failed_are_tracked_and_the_table_is_left_alone(ditto: Ditto) -> None:
    bad = row("a", "FAILED", error_message="line 2")
    made = plan(ditto, found(rows=[bad], failed=[bad], waiting=3))
    assert names(made) == ["intent", "track", "outcome"]
    assert (made["notes"], made["details"]["files_failed"]) == (["0 files", "1 failed", "3 waiting"], 1)


def test_a_dead_run_is_taken_over_even_if_nothing_is_left_to_do(ditto: Ditto) -> None:
    """Only an intent of its own keeps the dead one from waking up."""
    known = ran_before(unfinished=[UNFINISHED], token=4)
    made = plan(ditto, found(), ledger=known)
    assert (made["mode"], names(made)) == ("takeover", ["intent", "outcome"])
    assert names(plan(ditto, ONE, ledger=known)) == ["intent", "track", "load", "track_loaded", "outcome"]


def test_a_full_refresh_forgets_what_it_knew(ditto: Ditto) -> None:
    made = plan(ditto, ONE, flags={"full_refresh": True}, ledger=ran_before(token=4))
    assert (made["mode"], made["made_anew"]) == ("full_refresh", True)
    assert names(made) == ["check", "intent", "track", "replace_table", "load", "track_loaded", "outcome"]
    assert "then delete" in step(made, "track")["sql"]
    assert ") = 5 then" in sql(step(made, "replace_table")["sql"])
    made = plan(ditto, found(), flags={"full_refresh": True})
    assert names(made) == ["intent", "track", "replace_table", "outcome"], "also with an empty folder"


def test_a_full_refresh_that_died_is_done_again(ditto: Ditto) -> None:
    made = plan(ditto, ONE, ledger=ran_before(unfinished=[UNFINISHED | {"mode": "full_refresh"}]))
    assert (made["mode"], names(made)[1:4]) == ("full_refresh", ["intent", "track", "replace_table"])


def test_a_full_refresh_does_not_lose_rows_silently(ditto: Ditto) -> None:
    lost = found(lost=[f"gone{number}" for number in range(12)])
    text = refusal(lambda: plan(ditto, lost, flags={"full_refresh": True}))
    assert "found:    --full-refresh, and 12 loaded files that are not in /landing any more" in text
    assert "gone9" in text and "gone10" not in text
    assert (
        "dbt run --select orders --full-refresh --vars '{execution_date: 2024-10-07, ditto_forget_files: true}'" in text
    )
    made = plan(ditto, lost, flags={"full_refresh": True}, variables={"ditto_forget_files": True})
    assert "replace_table" in names(made)


def test_a_dropped_table_gets_all_files_again(ditto: Ditto) -> None:
    """The tracker forgets before the table is made: a crash in between may not leave an empty table of known files."""
    made = plan(ditto, ONE, target=table(None))
    assert (made["mode"], names(made)[:4]) == ("first", ["intent", "track", "create_table", "load"])
    assert "then delete" in step(made, "track")["sql"]
    text = refusal(lambda: plan(ditto, found(lost=["gone"]), target=table(None)))
    assert "found:    no table `demo`.`orders`, and 1 loaded files that are not in /landing any more" in text
    forgotten = plan(ditto, found(lost=["gone"]), variables={"ditto_forget_files": True}, target=table(None))
    assert names(forgotten) == ["intent", "track", "create_table", "outcome"]


def test_a_dry_run_writes_nothing(ditto: Ditto) -> None:
    assert names(plan(ditto, found(), flags={"dry": True})) == []
    assert names(plan(ditto, found(), flags={"dry": True}, ledger=ledger(), target=table(None))) == ["create_table"]


def test_copies_that_are_refused_are_named(ditto: Ditto) -> None:
    copies = found(refused=[f"copy{number} has the content of a" for number in range(12)], rows=[row("a")], load=["a"])
    text = refusal(lambda: plan(ditto, copies))
    assert "    - copy0 has the content of a\n" in text
    assert "    - and 2 more\n" in text
    assert "expected: each content once; nothing was loaded" in text
    assert "on_duplicate_content='skip' or 'load'" in text[text.index("fix:") :]


# --- columns --------------------------------------------------------------------------------------------------------


def test_the_select_has_to_pass_the_path_on(ditto: Ditto) -> None:
    text = refusal(lambda: plan(ditto, ONE, increment=columns(id="int")))
    assert "found:    file_path_column: file_path, which the SELECT does not give" in text


def test_a_table_of_another_pattern_goes_on(ditto: Ditto) -> None:
    """Its rows belong to no file, and stay."""
    made = plan(ditto, ONE, target=table(columns(id="int")))
    assert names(made) == ["intent", "track", "add_columns", "load", "track_loaded", "outcome"]
    assert "add columns (`file_path` string, `_ditto_load` string)" in step(made, "add_columns")["sql"]
    assert "replace where (`_ditto_load` <=>" in sql(step(made, "load")["sql"])


@pytest.mark.parametrize(("rule", "steps"), [("ignore", []), ("append_new_columns", ["add_columns"])])
def test_new_columns_follow_on_schema_change(ditto: Ditto, rule: str, steps: list[str]) -> None:
    wider = [*columns(id="int", name="string"), ROWS[1]]
    made = plan(ditto, ONE, config={"on_schema_change": rule}, increment=wider)
    assert names(made) == ["intent", "track", *steps, "load", "track_loaded", "outcome"]
    assert ("`name`" in step(made, "load")["sql"]) is bool(steps)


@pytest.mark.parametrize("rule", ["fail", "sync_all_columns"])
def test_the_column_of_the_load_is_no_change_of_the_schema(ditto: Ditto, rule: str) -> None:
    made = plan(ditto, ONE, config={"on_schema_change": rule})
    assert names(made) == ["intent", "track", "load", "track_loaded", "outcome"]


# --- what dbt's log says --------------------------------------------------------------------------------------------


def test_files_that_did_not_come_in_are_named_in_the_log(ditto: Ditto) -> None:
    bad = [row(f"f{number}", "FAILED", error_message="line 2") for number in range(12)]
    ditto.warn_of_files(settings(ditto), found(failed=bad))
    (text,) = ditto.warnings
    assert "12 of its files did not come in; the others did:" in text
    assert "- f0 (FAILED, attempt 1): line 2" in text
    assert "and 2 more: select * from `demo`.`ditto_files` where status in ('FAILED', 'DEAD')" in text
    ditto.warn_of_files(settings(ditto), found())
    assert len(ditto.warnings) == 1


def test_files_that_did_not_come_in_are_an_error_where_the_config_says_so(ditto: Ditto) -> None:
    bad = [row("a", "DEAD", attempts=4, error_message="line 2")]
    text = refusal(lambda: ditto.warn_of_files(settings(ditto, on_failed_file="error"), found(failed=bad)))
    assert "- a (DEAD, attempt 4): line 2" in text
    assert "every file to come in (on_failed_file: error); the others did" in text
    assert "dbt run --select orders --vars '{execution_date: 2024-10-07}'" in text


RULES = {"dead_letters": [{"name": "negative", "when": "id < 0"}]}
LETTERS = table(ROWS, comment="ditto: dead letters of demo.orders")


def letters_gone(made: dict[str, Any]) -> list[str]:
    return [sql(one["sql"]) for one in made["steps"] if one["name"] == "forget_dead_letters"]


def test_old_letters_of_a_file_go_once_its_rows_are_there_and_before_the_tracker_says_so(ditto: Ditto) -> None:
    """After that no run would come back to them."""
    made = plan(ditto, found(rows=[row("a")], load=["a"], replaced=["a"]), config=RULES, dead_letters=LETTERS)
    assert names(made) == [
        "intent", "track", "dead_letters", "load", "forget_dead_letters", "track_loaded", "count_dead_letters",
        "outcome",
    ]  # fmt: skip
    [gone] = letters_gone(made)
    assert f"then delete from `demo`.`orders__dead_letters` where `replaced_by` in ('{LOAD}');" in gone
    assert f"'{LOAD}' as `replaced_by`" in sql(step(made, "dead_letters")["sql"])


def test_a_load_that_landed_takes_the_letters_that_it_replaced_with_it(ditto: Ditto) -> None:
    """Its run died after its rows were written. They are not loaded again, and the tracker is told last."""
    settled = found(rows=[row("a", "SUCCESS")], landed=["L1"])
    made = plan(ditto, settled, config=RULES, dead_letters=LETTERS)
    assert names(made) == ["intent", "forget_dead_letters", "track", "outcome"]
    assert "where `replaced_by` in ('L1');" in letters_gone(made)[0]
    for others in ({"config": RULES, "dead_letters": table(None)}, {}):
        assert names(plan(ditto, settled, **others)) == ["intent", "track", "outcome"]


def test_a_full_refresh_forgets_all_letters_but_its_own(ditto: Ditto) -> None:
    made = plan(ditto, ONE, {"full_refresh": True}, RULES, dead_letters=LETTERS)
    assert names(made)[-4:] == ["track_loaded", "count_dead_letters", "forget_dead_letters", "outcome"]
    assert f"where not coalesce((`load` <=> cast('{LOAD}' as string)), false)" in letters_gone(made)[-1]
