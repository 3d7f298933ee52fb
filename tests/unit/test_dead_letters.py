"""Rules for rows that may not reach the table: their config, the split of the SELECT, the steps of a run."""

from __future__ import annotations

import re
from typing import Any

import pytest
from macro_harness import INVOCATION_ID, Ditto, sql
from merger_model import DATE, INCREMENT, columns, facts, node, ran_before, refusal, settings, table

ROWS = columns(id="int", amount="int")
NEGATIVE = {"name": "negative", "when": "amount < 0"}
EXISTING = table(ROWS, comment="ditto: dead letters of demo.devices")


def read(ditto: Ditto, *rules: object, **config: object) -> dict[str, Any]:
    return settings(ditto, dead_letters=list(rules), **config)["dead_letters"]


def made(ditto: Ditto, known: dict[str, Any], full_refresh: bool = False, dry: bool = False, **config: object) -> Any:
    given = {"dead_letters": [NEGATIVE]} | config
    found = settings(ditto, full_refresh, dry, **given)
    text = ditto.increment_sql(INCREMENT + ";", found)
    return ditto.with_context(var={"execution_date": DATE}).merger_plan(node(**given), found, known, text)


def names(plan: dict[str, Any]) -> list[str]:
    return [step["name"] for step in plan["steps"]]


def text_of(plan: dict[str, Any], name: str) -> str:
    return sql(next(step["sql"] for step in plan["steps"] if step["name"] == name))


# --- config ---------------------------------------------------------------------------------------------------------


def test_a_model_without_rules_has_no_dead_letters(ditto: Ditto) -> None:
    assert settings(ditto)["dead_letters"] is None
    assert read(ditto) is None
    assert ditto.increment_sql(INCREMENT, settings(ditto)) == INCREMENT


def test_rules_and_the_word_for_unreadable_records(ditto: Ditto) -> None:
    dead = read(ditto, NEGATIVE, "corrupt_records", max_retries=0)
    assert [rule["name"] for rule in dead["rules"]] == ["negative", "corrupt_record"]
    assert (dead["corrupt"], dead["max_retries"]) == (True, 0)
    assert dead["table"] == "`demo`.`devices__dead_letters`"
    assert settings(ditto, dead_letters=NEGATIVE)["dead_letters"]["rules"] == [NEGATIVE]
    alone = settings(ditto, dead_letters="corrupt_records")["dead_letters"]
    assert (alone["corrupt"], alone["max_retries"]) == (True, 3)


@pytest.mark.parametrize(
    "rules",
    [
        ["broken"],
        [{"name": "a"}],
        [{"name": "a", "when": "true", "then": "stop"}],
        [{"name": "a", "when": 1}],
        [{"name": "a b", "when": "true"}],
        [{"name": "", "when": "true"}],
        [{"name": "a", "when": " "}],
        [{"name": "a", "when": "-- nothing"}],
        [{"name": "a", "when": "true; drop table t"}],
        [{"name": "a", "when": "true) or (false"}],
        [{"name": "a", "when": "(true"}],
        [NEGATIVE, {"name": "Negative", "when": "true"}],
        [{"name": "corrupt_record", "when": "true"}, "corrupt_records"],
        7,
    ],
)
def test_rules_that_are_refused(ditto: Ditto, rules: object) -> None:
    assert "dead_letters: " in refusal(lambda: settings(ditto, dead_letters=rules))


@pytest.mark.parametrize("number", [-1, "3", True, 1.5])
def test_max_retries_that_are_refused(ditto: Ditto, number: object) -> None:
    assert f"max_retries: {number}" in refusal(lambda: settings(ditto, max_retries=number))


def test_what_stands_in_quotes_is_no_bracket_and_no_semicolon(ditto: Ditto) -> None:
    rule = {"name": "smile", "when": "text like '%;)%' or `a;)` = 1"}
    assert read(ditto, rule)["rules"] == [rule]


# --- the split ------------------------------------------------------------------------------------------------------


def test_the_living_rows(ditto: Ditto) -> None:
    dead = read(ditto, NEGATIVE, "corrupt_records")
    assert sql(ditto.living_rows_sql(dead, "select 1")) == sql(
        """
        select * except (`_corrupt_record`, `_ditto_reasons`)
        from (
            select *, concat_ws(',',
                if(coalesce((amount < 0), false), 'negative', null),
                if(coalesce((`_corrupt_record` is not null), false), 'corrupt_record', null)) as `_ditto_reasons`
            from (select 1) as source
        )
        where `_ditto_reasons` = ''
        """
    )


def test_the_dead_rows_keep_the_record_and_its_types(ditto: Ditto) -> None:
    found = settings(ditto, dead_letters=[NEGATIVE, "corrupt_records"])
    odd = columns(**{"o`dd": "map<string,int>"})
    text = sql(ditto.dead_rows_sql(found, odd, "select 1", {"load": "'x'"}))
    assert "'`o``dd` map<string,int>' as `record_type`" in text
    found["dead_letters"]["raw_columns"] = columns(_corrupt_record="string") + odd
    raw = sql(ditto.dead_rows_sql(found, odd, "select 1"))
    assert "'`_corrupt_record` string, `o``dd` map<string,int>' as `record_type`" in raw
    assert "to_json(struct(`_corrupt_record`, `o``dd`)" in raw, "in the same order"
    assert "'x' as `load`" in text and "cast(null as string) as `file_path`" in text
    assert text.endswith("where `_ditto_reasons` <> ''")
    # The record is made before the rules are asked, so that it holds the row and nothing else.
    assert text.index("`_ditto_reasons` from (") < text.index("to_json(struct(`o``dd`)")
    never = settings(ditto, dead_letters=[NEGATIVE], max_retries=0)
    assert "'DEAD' as `status`" in sql(ditto.dead_rows_sql(never, [], "select 1"))


# --- the steps ------------------------------------------------------------------------------------------------------


def test_dead_letters_are_written_before_the_rows(ditto: Ditto) -> None:
    plan = made(ditto, facts(ROWS))
    assert names(plan) == [
        "dead_letters_table", "dead_letters", "create_table", "merge", "forget_dead_letters", "count_dead_letters",
        "outcome",
    ]  # fmt: skip
    text = text_of(plan, "dead_letters")
    assert "replace where (`execution_time` <=> cast('2024-10-07 00:00:00' as timestamp_ntz))" in text
    assert "ditto:1|merger|first|2024-10-07 00:00:00|" in text
    assert "`_ditto_reasons` = ''" in text_of(plan, "merge")
    assert INCREMENT + ";" not in text_of(plan, "merge")


def test_a_table_that_is_there_is_not_made(ditto: Ditto) -> None:
    plan = made(ditto, facts(ROWS, table(ROWS), ledger=ran_before(), dead_letters=EXISTING))
    assert names(plan) == ["dead_letters", "merge", "forget_dead_letters", "count_dead_letters", "outcome"]
    assert all("if (select" not in text_of(plan, name) for name in ("dead_letters", "forget_dead_letters"))


OWN = "(`execution_time` <=> cast('2024-10-07 00:00:00' as timestamp_ntz))"


def test_what_was_there_before_stays_until_the_rows_are_written(ditto: Ditto) -> None:
    """A replay that dies before its rows are written, or whose rows are refused, has lost nothing."""
    plan = made(ditto, facts(ROWS, table(ROWS), ledger=ran_before(), dead_letters=EXISTING))
    text = text_of(plan, "dead_letters")
    # Those of this run are new with each sending; all others come along, with a mark.
    kept = "`retry_id`, `invocation_id`, `at`, '{0}' as `replaced_by` from `demo`.`devices__dead_letters`"
    assert kept.format(INVOCATION_ID) in text
    assert text.endswith(f"where ({OWN}) and not `invocation_id` <=> '{INVOCATION_ID}')")
    assert "0 as `attempts`" in text and "cast(null as string) as `replaced_by`" in text
    # Only what was there when they were marked: letters of a run at the same time are not ours to remove.
    gone = f"delete from `demo`.`devices__dead_letters` where {OWN} and `replaced_by` = '{INVOCATION_ID}'"
    assert text_of(plan, "forget_dead_letters") == gone


def test_new_and_kept_letters_have_one_order_of_columns(ditto: Ditto) -> None:
    """UNION ALL goes by position."""
    found = settings(ditto, dead_letters=[NEGATIVE])
    columns_of = [column["name"] for column in ditto.dead_letters_columns()]
    new = sql(ditto.letter_sql(found, "'r'", "'{}'", "`id` int"))
    kept = sql(ditto.kept_letters_sql(found, "true"))
    assert [name for _, name in re.findall(r"( as )`(\w+)`", new)] == columns_of
    assert re.findall(r"`(\w+)`(?:,| from)", kept) == columns_of


def test_a_full_refresh_forgets_the_others_once_its_rows_are_written(ditto: Ditto) -> None:
    known = facts(ROWS, table(ROWS), ledger=ran_before(token=4), head=7, dead_letters=EXISTING)
    plan = made(ditto, known, full_refresh=True)
    assert names(plan) == [
        "check_keys", "intent", "dead_letters", "replace_table", "merge", "forget_dead_letters", "count_dead_letters",
        "outcome",
    ]  # fmt: skip
    for name in ("dead_letters", "forget_dead_letters"):
        assert "where `relation` = 'demo.devices') = 5 then" in text_of(plan, name)
    text = text_of(plan, "forget_dead_letters")
    assert f"where not {OWN} or `replaced_by` = '{INVOCATION_ID}'" in text


def test_a_dry_run_writes_no_dead_letters(ditto: Ditto) -> None:
    assert names(made(ditto, facts(ROWS), dry=True)) == ["create_table"]


@pytest.mark.parametrize("other", [{"comment": "mine"}, {"type": "view"}, {"provider": "parquet"}])
def test_a_table_of_somebody_else_is_refused(ditto: Ditto, other: dict[str, str]) -> None:
    known = facts(ROWS, dead_letters=EXISTING | other)
    assert "under the name `demo`.`devices__dead_letters`" in refusal(lambda: made(ditto, known))


def test_a_pattern_may_place_the_steps_itself(ditto: Ditto) -> None:
    found = settings(ditto, dead_letters=[NEGATIVE])
    ditto.increment_sql(INCREMENT, found)
    steps = [{"kind": "intent", "name": "intent"}, {"kind": "outcome", "name": "outcome"}]
    known = facts(ROWS, dead_letters=EXISTING)
    assert len(ditto.with_dead_letters(found, known, {"mode": "normal"}, steps)) == 5
    found["dead_letters"]["own_steps"] = True
    assert ditto.with_dead_letters(found, known, {"mode": "normal"}, steps) == steps
    scope = {"predicate": "`file_path` in ('a')", "file_path": "_file"}
    (step,) = ditto.dead_letters_steps(found, known, "tag", "the_fence", scope)
    assert "replace where `file_path` in ('a')" in sql(step["sql"]) and "if the_fence then" in sql(step["sql"])
    assert "_file as `file_path`" in sql(step["sql"])
    assert "where (`file_path` in ('a')) and not `invocation_id` <=>" in sql(step["sql"])


@pytest.mark.parametrize(
    ("mode", "found", "all_of_it"),
    [
        ("normal", {"pattern": "merger"}, False),
        ("full_refresh", {"pattern": "merger"}, True),
        ("full_refresh", {"pattern": "proxy_view"}, False),
        ("normal", {"pattern": "insert_overwrite", "overwrite": "table"}, True),
        ("normal", {"pattern": "insert_overwrite", "overwrite": "predicate"}, False),
        ("late", {"pattern": "transactional_writer", "write": "overwrite"}, True),
        ("reset", {"pattern": "fast_metadata_cleaner", "granularity": "full"}, True),
    ],
)
def test_whose_dead_letters_a_run_leaves(ditto: Ditto, mode: str, found: dict[str, str], all_of_it: bool) -> None:
    assert ditto.replaces_all(found, mode) is all_of_it


# --- what is told ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("count", "message"), [(0, "9 inserted, "), (1, "9 inserted, 1 dead letter, "), (2, "9 inserted, 2 dead letters, ")]
)
def test_the_log_line_and_the_ledger(ditto: Ditto, count: int, message: str) -> None:
    plan = made(ditto, facts(ROWS, table(ROWS), ledger=ran_before(), dead_letters=EXISTING))
    plan["found"]["dead_letters"] = count
    assert ditto.outcome_message(plan, {"rows_inserted": 9, "version": 3}) == f"OK normal: {message}version 3"
    assert ditto.outcome_events(plan, [])[-1]["details"] == f'{{"dead_letters": {count}}}'
    plan["details"] = {"shown": True}
    both = f'{{"dead_letters": {count}, "shown": true, "files": 0, "bytes": 0}}'
    assert ditto.outcome_events(plan, [])[-1]["details"] == both
