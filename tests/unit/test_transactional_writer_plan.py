"""From a config and the facts to the steps of a transactional_writer run, and the SQL of these steps."""

from __future__ import annotations

from typing import Any

import pytest
from macro_harness import Ditto, sql
from merger_model import columns, ledger, ran_before, table, view
from transactional_writer_model import NOW, ROWS, STAMPED, facts, plan, refusal, settings

FENCE = "(select max(`token`) from `demo`.`ditto_ledger` where `relation` = 'demo.orders') = "
AUDITED = {"audits": ["id > 0"]}


def names(made: dict[str, Any]) -> list[str]:
    return [step["name"] for step in made["steps"]]


def step(made: dict[str, Any], name: str) -> dict[str, Any]:
    return next(step for step in made["steps"] if step["name"] == name)


def text(made: dict[str, Any], name: str) -> str:
    return sql(step(made, name)["sql"])


def later(**known: Any) -> dict[str, Any]:
    return facts(target=STAMPED, ledger=ran_before(), **known)


# --- one commit -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("write", ["merge", "append", "overwrite"])
def test_one_commit_needs_no_intent(ditto: Ditto, write: str) -> None:
    first = plan(ditto, facts(), write=write)
    assert (first["mode"], names(first)) == ("first", ["create_table", write, "outcome"])
    assert ("`_ditto_execution_time` timestamp_ntz" in step(first, "create_table")["sql"]) is (write != "overwrite")
    normal = plan(ditto, facts(target=ROWS if write == "overwrite" else STAMPED, ledger=ran_before()), write=write)
    assert (normal["mode"], names(normal)) == ("normal", [write, "outcome"])
    assert "ditto:1|transactional_writer|normal|2024-10-07 00:00:00|" in text(normal, write)


def test_a_merge_knows_whose_rows_are_whose(ditto: Ditto) -> None:
    merge = text(plan(ditto, later()), "merge")
    assert f"{NOW} as `_ditto_execution_time` from (select * from feed)" in merge
    not_later = f"target.`_ditto_execution_time` is null or target.`_ditto_execution_time` <= {NOW}"
    assert f"when matched and (({not_later})) then update set" in merge
    assert "`_ditto_execution_time` = source.`_ditto_execution_time`" in merge
    assert "not matched by source" not in merge


def test_a_replay_takes_its_old_rows_away(ditto: Ditto) -> None:
    clause = f"when not matched by source and (target.`_ditto_execution_time` <=> {NOW}) then delete"
    assert clause in text(plan(ditto, later(own_rows=True)), "merge")
    # Also where another run of this execution may have committed in between.
    assert clause in sql(step(plan(ditto, later()), "merge")["again"])
    opened = {"execution_time": "2024-10-07 00:00:00", "mode": "normal", "token": 1, "base_version": 0}
    known = later() | {"ledger": ledger(unfinished=[opened | {"invocation_id": "i", "user": "ada", "at": "noon"}])}
    taken_over = plan(ditto, known)
    assert names(taken_over) == ["intent", "merge", "outcome"]
    assert clause in text(taken_over, "merge")


def test_the_options_of_a_merge(ditto: Ditto) -> None:
    gone = columns(id="int", name="string", gone="boolean", at="timestamp")
    config = {"soft_delete": "gone", "merge_condition": "source.at > target.at", "update_columns": ["name"]}
    stamped = gone + STAMPED[2:]
    merge = text(plan(ditto, facts(gone, stamped, ledger=ran_before()), **config), "merge")
    assert f"<= {NOW}) and (source.at > target.at)) then delete" in merge
    updated = "`name` = source.`name`, `gone` = source.`gone`, `_ditto_execution_time` = source.`_ditto_execution_time`"
    assert f"update set {updated} when" in merge


def test_an_append_replaces_its_own_rows(ditto: Ditto) -> None:
    made = text(plan(ditto, later(), write="append", unique_key=None), "append")
    assert f"replace where (`_ditto_execution_time` <=> {NOW}) with " in made
    assert "_ditto_guard" not in made
    assert "_ditto_guard" in text(plan(ditto, later(), write="append"), "append")


def test_an_overwrite_replaces_every_row_and_keeps_an_execution_time_that_is_there(ditto: Ditto) -> None:
    gone = columns(id="int", name="string", gone="boolean")
    known = facts(gone, gone, ledger=ran_before())
    made = text(plan(ditto, known, write="overwrite", soft_delete="gone"), "overwrite")
    assert "replace where true with " in made and " select `id`, `name`, `gone` from" in made
    assert "where not coalesce(cast(`gone` as boolean), false)" in made
    assert f"{NOW} as `_ditto_execution_time`" in text(plan(ditto, later(), write="overwrite"), "overwrite")


# --- the column of the execution ------------------------------------------------------------------------------------


@pytest.mark.parametrize("rule", ["ignore", "fail", "append_new_columns", "sync_all_columns"])
def test_a_table_without_the_column_gets_it_and_never_loses_it(ditto: Ditto, rule: str) -> None:
    changed = plan(ditto, facts(target=ROWS, ledger=ran_before()), on_schema_change=rule)
    assert names(changed) == ["allow_timestamp_ntz", "add_columns", "merge", "outcome"]
    assert "add columns (`_ditto_execution_time` timestamp_ntz)" in text(changed, "add_columns")
    assert names(plan(ditto, later(), on_schema_change=rule)) == ["merge", "outcome"]


def test_the_column_may_have_another_name(ditto: Ditto) -> None:
    made = plan(ditto, facts(), execution_time_column="Loaded_By")
    assert "`Loaded_By` timestamp_ntz" in text(made, "create_table")
    assert "target.`Loaded_By` <= " in text(made, "merge")


def test_a_column_that_is_something_else_is_refused(ditto: Ditto) -> None:
    taken = refusal(lambda: plan(ditto, facts(columns(id="int", at="date")), execution_time_column="AT"))
    assert "found:    column at in the SELECT, which is the execution_time_column" in taken
    target = columns(id="int", name="string", at="date")
    other = refusal(lambda: plan(ditto, facts(target=target, ledger=ran_before()), execution_time_column="at"))
    assert "found:    execution_time_column: at, in `demo`.`orders` a date" in other


def test_the_contract_is_the_users_and_becomes_checks(ditto: Ditto) -> None:
    contract = [{"name": "id", "type": "int", "declared": "int"}, {"name": "name", "type": "string"}]
    contract[1]["declared"] = "varchar(3)"
    config = {"columns": {"id": {"name": "id", "constraints": [{"type": "not_null"}]}, "name": {"name": "name"}}}
    made = plan(ditto, facts(contract=contract), **config)
    created = text(made, "create_table")
    for part in ("`name` varchar(3)", "`id` int not null", "`id` is not null", "length(`name`) <= 3"):
        assert part in created
    known = [item["value"] for item in step(made, "merge")["constraints"]["known"]]
    assert "`id` is not null" in known


# --- made anew ------------------------------------------------------------------------------------------------------


def test_a_full_refresh_is_one_commit_behind_the_fence(ditto: Ditto) -> None:
    known = later(head=7) | {"ledger": ran_before(token=4)}
    made = plan(ditto, known, full_refresh=True, cluster_by="id")
    assert (made["mode"], made["base_version"], names(made)) == (
        "full_refresh", 7, ["intent", "replace_table", "outcome"],
    )  # fmt: skip
    created = step(made, "replace_table")["sql"]
    assert f"if {FENCE}5 then" in created
    assert "create or replace table `demo`.`orders` using delta\ncluster by (`id`)" in created
    assert "ditto:1|transactional_writer|full_refresh|" in created
    assert made["undo"] is False
    assert step(made, "replace_table")["constraints"]["exists"] is False


def test_a_full_refresh_leaves_deleted_rows_out_and_drops_what_is_no_table(ditto: Ditto) -> None:
    gone = columns(id="int", gone="boolean")
    made = plan(ditto, facts(gone, view(gone)), full_refresh=True, soft_delete="gone")
    assert names(made) == ["intent", "drop_view", "replace_table", "outcome"]
    assert made["undo"] is True
    assert "where not coalesce(cast(`gone` as boolean), false)" in step(made, "replace_table")["sql"]


def test_comments_come_after_the_rows(ditto: Ditto) -> None:
    described = {"columns": {"id": {"name": "id", "description": "Its number."}}, "persist_docs": {"columns": True}}
    made = plan(ditto, later(), full_refresh=True, **described)
    assert names(made) == ["intent", "replace_table", "column_comment", "outcome"]


def test_a_dry_run_writes_nothing(ditto: Ditto) -> None:
    assert names(plan(ditto, facts(), dry=True, **AUDITED)) == ["create_table"]
    assert names(plan(ditto, facts(target=ROWS), dry=True)) == []


# --- audits ---------------------------------------------------------------------------------------------------------


def test_only_what_was_audited_is_published(ditto: Ditto) -> None:
    wider = columns(id="int", name="string", colour="string")
    made = plan(ditto, facts(wider, STAMPED, ledger=ran_before()), on_schema_change="append_new_columns", **AUDITED)
    assert names(made) == ["intent", "candidate", "audits", "add_columns", "merge", "outcome", "drop_candidate"]
    assert "create or replace table `demo`.`orders__candidate` using delta" in step(made, "candidate")["sql"]
    for fenced in ("candidate", "merge", "drop_candidate"):
        assert f"if {FENCE}1 then" in step(made, fenced)["sql"]
    assert "from (select * from `demo`.`orders__candidate`)" in text(made, "merge")
    assert "feed" not in text(made, "merge")
    assert step(made, "merge")["again"].startswith("begin\nif ")
    diagnosis = step(made, "audits")["diagnosis"]
    assert diagnosis["sql"].startswith(f"begin\nif {FENCE}1 then")
    assert "select * from `demo`.`orders__candidate`" in diagnosis["fix"]
    assert "dbt run --select orders --vars '{execution_date: 2024-10-07}'" in diagnosis["fix"]


def test_a_missing_table_is_made_before_an_audit_may_ask_for_it(ditto: Ditto) -> None:
    made = plan(ditto, facts(), write="append", **AUDITED)
    assert names(made) == ["intent", "create_table", "candidate", "audits", "append", "outcome", "drop_candidate"]
    made = plan(ditto, later(), full_refresh=True, **AUDITED)
    assert names(made) == ["intent", "candidate", "audits", "replace_table", "outcome", "drop_candidate"]


def test_a_table_of_somebody_else_is_no_candidate(ditto: Ditto) -> None:
    told = refusal(lambda: plan(ditto, facts(candidate=table(ROWS, comment="mine")), **AUDITED))
    assert "found:    a table under the name `demo`.`orders__candidate`, which ditto did not make" in told
    own = table(ROWS, comment="ditto: the candidate of demo.orders")
    made = plan(ditto, facts(candidate=own), **AUDITED)
    # Delta cannot always replace what is left of another run.
    assert names(made)[:4] == ["intent", "create_table", "drop_candidate", "candidate"]
    assert f"if {FENCE}1 then" in step(made, "drop_candidate")["sql"]


def test_all_audits_are_one_query(ditto: Ditto) -> None:
    audits = [
        "id > 0 -- positive",
        {"name": "it's there", "table": "count(*) > 0"},
        {"name": "known", "query": "select a.* from {candidate} as a left anti join {target} as b using (id)"},
    ]
    every_row = """
        select concat('id > 0 -- positive: ', `problem`) as `problem` from (
            select to_json(struct(*), map('ignoreNullFields', 'false')) as `problem` from (
                select * from `demo`.`orders__candidate` where not coalesce((id > 0), false)
            ) limit 5
        )
    """
    table_wide = r"""
        union all select concat('it\'s there: ', `problem`) as `problem` from (
            select 'not true of the table: count(*) > 0' as `problem`
            from (select (count(*) > 0) as `_ditto_holds` from `demo`.`orders__candidate`)
            where not coalesce(`_ditto_holds`, false) limit 5
        )
    """
    query = """
        union all select concat('known: ', `problem`) as `problem` from (
            select to_json(struct(*), map('ignoreNullFields', 'false')) as `problem` from (
                select a.* from `demo`.`orders__candidate` as a left anti join `demo`.`orders` as b using (id)
            ) limit 5
        )
    """
    assert sql(ditto.audits_sql(settings(ditto, audits=audits))) == sql(every_row + table_wide + query)


# --- refused rows ---------------------------------------------------------------------------------------------------


def test_the_rows_that_break_a_constraint_are_asked_for_with_what_the_table_really_has(ditto: Ditto) -> None:
    asked: list[str] = []
    properties = [{"key": "delta.constraints.a", "value": "id > 0"}, {"key": "team", "value": "web"}]
    context = ditto.with_context(macros={"fetch": lambda statement: (asked.append(statement), properties)[1]})
    known = [properties[0], {"key": "delta.constraints.b", "value": "n is not null"}]
    given = {"table": "t", "rows": "select 1 as id", "known": known, "fix": "correct it", "exists": True}
    diagnosis = context.constraint_diagnosis(given)
    assert asked == ["show tblproperties t"]
    conditions = [f"if(coalesce(({text}), false), null, '{text}')" for text in ("id > 0", "n is not null")]
    assert f"array({', '.join(conditions)}, cast(null as string))" in sql(diagnosis["sql"])
    context.constraint_diagnosis(given | {"exists": False})
    assert len(asked) == 1
