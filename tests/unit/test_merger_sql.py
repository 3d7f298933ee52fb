"""The SQL that merger sends, clause by clause."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

import pytest
from macro_harness import Ditto, sql
from merger_model import INCREMENT, TAG, given, settings

DAYS = {"name": "day", "type": "date", "low": "2024-10-01", "high": "2024-10-07", "nulls": False}


def merge(
    ditto: Ditto, *names: str, missing: str | None = None, key_range: Iterable[dict[str, Any]] = (), **config: object
) -> str:
    read = settings(ditto, **config)
    return sql(ditto.merger_merge_sql(read, given(*names, missing=missing), INCREMENT, TAG, list(key_range)))


def clauses(text: str) -> list[str]:
    """What follows `on`, one entry for each WHEN."""
    return ["when " + part.strip() for part in re.split(r"\bwhen (?=matched|not matched)", text)[1:]]


def on(text: str) -> str:
    condition = text[text.index(") as source on ") + len(") as source on ") :]
    return re.split(r" when (?:not )?matched", condition)[0]


def test_the_whole_statement(ditto: Ditto) -> None:
    assert merge(ditto, "id", "name") == sql(f"""
        merge into `demo`.`devices` as target
        using (
            select `id`, `name`, '{TAG}' as `_ditto_run`
            from (
                select `id`, `name`, case
                    when count(*) over (partition by `id`) > 1 then raise_error('ditto: several rows with one key')
                    when coalesce(cast(`id` as string)) is null then raise_error('ditto: a row without a key')
                end as `_ditto_guard`
                from (
                    {INCREMENT}
                )
                where true
            )
            where `_ditto_guard` is null
        ) as source
        on source.`_ditto_run` = '{TAG}' and target.`id` <=> source.`id`
        when matched then update set `name` = source.`name`
        when not matched then insert (`id`, `name`) values (source.`id`, source.`name`)
    """)


# --- keys -----------------------------------------------------------------------------------------------------------


def test_every_key_column_is_compared_null_safe(ditto: Ditto) -> None:
    text = merge(ditto, "type", "version", unique_key=["type", "version"])
    assert "target.`type` <=> source.`type` and target.`version` <=> source.`version`" in on(text)
    assert "coalesce(cast(`type` as string), cast(`version` as string)) is null" in text


def test_null_keys_can_be_allowed(ditto: Ditto) -> None:
    text = merge(ditto, "id", on_null_key="allow", update_columns="name")
    assert "without a key" not in text
    assert "several rows with one key" in text


def test_without_anything_to_guard_there_is_no_guard(ditto: Ditto) -> None:
    text = merge(ditto, "id", "name", on_null_key="allow", on_duplicate_key="latest", order_by="name")
    assert "null as `_ditto_guard`" in text
    assert "raise_error" not in text


def test_the_latest_row_has_a_deterministic_order(ditto: Ditto) -> None:
    text = merge(ditto, "id", "at", on_duplicate_key="latest", order_by=["at", "place"])
    assert (
        sql(f"""
        select *, row_number() over (
            partition by `id` order by `at` desc nulls last, `place` desc nulls last,
                sha2(to_json(struct(*), {ditto.json_options()}), 256) desc
        ) as `_ditto_rank`
    """)
        in text
    )
    assert "where `_ditto_rank` = 1" in text


def test_of_two_latest_rows_a_deletion_wins(ditto: Ditto) -> None:
    text = merge(ditto, "id", "at", "gone", on_duplicate_key="latest", order_by="at", soft_delete="gone")
    assert "order by `at` desc nulls last, coalesce(cast(`gone` as boolean), false) desc, sha2(" in text


def test_the_diagnosis_asks_for_what_the_guard_refuses(ditto: Ditto) -> None:
    def condition(**config: object) -> str:
        text = sql(ditto.merger_bad_keys_sql(settings(ditto, **config), INCREMENT))
        return text[text.rindex("where ") : text.rindex(" order by")]

    without_key = "coalesce(cast(`id` as string)) is null"
    assert condition() == f"where `_ditto_rows` > 1 or {without_key}"
    assert condition(on_null_key="allow") == "where `_ditto_rows` > 1"
    assert condition(on_duplicate_key="latest", order_by="at") == f"where false or {without_key}"


# --- what happens to matched rows -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("config", "assigned"),
    [
        ({}, ["name", "price", "note"]),
        ({"update_columns": ["Price"]}, ["price"]),
        ({"exclude_columns": ["NOTE"]}, ["name", "price"]),
        # The next comparison needs these, whatever the config says.
        ({"update_columns": "price", "sequence_by": "note"}, ["price", "note"]),
        ({"exclude_columns": "note", "soft_delete": "note"}, ["name", "price", "note"]),
    ],
)
def test_columns_that_are_updated(ditto: Ditto, config: dict[str, Any], assigned: list[str]) -> None:
    text = merge(ditto, "id", "name", "price", "note", **config)
    expected = ", ".join(f"`{name}` = source.`{name}`" for name in assigned)
    assert f"then update set {expected}" in clauses(text)[-2]


def test_a_table_of_keys_is_only_inserted_into(ditto: Ditto) -> None:
    text = merge(ditto, "id")
    assert clauses(text) == ["when not matched then insert (`id`) values (source.`id`)"]


def test_a_column_that_the_increment_lacks_is_left_alone_or_null(ditto: Ditto) -> None:
    update, insert = clauses(merge(ditto, "id", "name", missing="colour"))
    assert "colour" not in update
    assert insert.endswith("(`id`, `name`, `colour`) values (source.`id`, source.`name`, cast(null as string))")


def test_a_condition_is_kept_together(ditto: Ditto) -> None:
    text = merge(ditto, "id", "gone", soft_delete="gone", merge_condition="source.a or source.b")
    delete, update, insert = clauses(text)
    assert delete.endswith("and (source.a or source.b) then delete")
    assert update.startswith("when matched and (source.a or source.b) then update")
    assert "source.a" not in insert


def test_deleted_rows_are_deleted_and_never_inserted(ditto: Ditto) -> None:
    flag = "coalesce(cast(source.`gone` as boolean), false)"
    delete, update, insert = clauses(merge(ditto, "id", "gone", soft_delete="gone"))
    assert delete == f"when matched and {flag} then delete"
    assert update.startswith("when matched then update")
    assert insert.startswith(f"when not matched and not {flag} then insert")


def test_an_older_change_never_updates(ditto: Ditto) -> None:
    update, insert = clauses(merge(ditto, "id", "seq", sequence_by="seq"))
    assert update.startswith("when matched and (target.`seq` is null or source.`seq` >= target.`seq`) then update")
    assert insert.startswith("when not matched then insert")


def test_with_a_sequence_a_deletion_is_an_update_that_wins_ties(ditto: Ditto) -> None:
    new, old = "coalesce(cast(source.`gone` as boolean), false)", "coalesce(cast(target.`gone` as boolean), false)"
    text = merge(ditto, "id", "seq", "gone", sequence_by="seq", soft_delete="gone")
    update, insert = clauses(text)
    assert update.startswith(
        "when matched and ((target.`seq` is null or source.`seq` >= target.`seq`)"
        f" and (not source.`seq` <=> target.`seq` or {new} or not {old})) then update set"
    )
    assert insert.startswith("when not matched then insert")
    assert text.startswith("merge into `demo`.`devices__data` as target")


def test_the_view_shows_what_is_not_deleted(ditto: Ditto) -> None:
    read = settings(ditto, soft_delete="gone", sequence_by="seq")
    assert sql(ditto.merger_view_sql(read, given("id", "gone"), comment="It's all")) == sql("""
        create or replace view `demo`.`devices` comment 'It\\'s all' as
        select `id`, `gone` from `demo`.`devices__data` as target
        where not coalesce(cast(target.`gone` as boolean), false)
    """)


def test_a_view_that_is_there_is_altered_so_that_readers_always_find_it(ditto: Ditto) -> None:
    view = {"exists": True, "comment": "All"}
    assert sql(ditto.view_sql("`a`.`v`", "select 1", view)) == "alter view `a`.`v` as select 1"
    assert sql(ditto.view_sql("`a`.`v`", "select 1", view, "All")) == "alter view `a`.`v` as select 1"
    made = "create or replace view `a`.`v` comment 'New' as select 1"
    assert sql(ditto.view_sql("`a`.`v`", "select 1", view, "New")) == made
    assert sql(ditto.view_sql("`a`.`v`", "select 1", {"exists": False}, "New")) == made


@pytest.mark.parametrize(
    ("rule", "clause"),
    [
        ("delete", "when not matched by source then delete"),
        ({"condition": "target.a or target.b"}, "when not matched by source and (target.a or target.b) then delete"),
        (
            {"condition": "true", "update": {"gone": "true", "odd `name": "target.x + 1"}},
            "when not matched by source and (true) then update set `gone` = true, `odd ``name` = target.x + 1",
        ),
    ],
)
def test_rows_that_the_increment_lacks(ditto: Ditto, rule: object, clause: str) -> None:
    assert clauses(merge(ditto, "id", "name", not_matched_by_source=rule))[-1] == clause


# --- pruning --------------------------------------------------------------------------------------------------------


def test_the_range_of_the_keys_narrows_the_target_and_is_guarded(ditto: Ditto) -> None:
    text = merge(ditto, "day", "name", unique_key="day", key_range=[DAYS])
    bounds = "between cast('2024-10-01' as date) and cast('2024-10-07' as date)"
    assert on(text).endswith(f"and (target.`day` {bounds})")
    assert f"when not (`day` {bounds}) then raise_error('ditto: the increment changed while it was read" in text


def test_a_range_with_null_keys_keeps_them(ditto: Ditto) -> None:
    text = merge(ditto, "day", "name", unique_key="day", key_range=[DAYS | {"nulls": True}])
    bounds = "between cast('2024-10-01' as date) and cast('2024-10-07' as date)"
    assert on(text).endswith(f"and (target.`day` {bounds} or target.`day` is null)")


def test_timestamps_are_compared_as_moments_not_as_local_text(ditto: Ditto) -> None:
    bounds = ditto.merger_key_range_sql([{"name": "at", "type": "timestamp"}], INCREMENT)
    assert "cast(unix_micros(min(`at`)) as string) as `low`" in sql(bounds)
    moments = {"name": "at", "type": "timestamp", "low": "1", "high": "2", "nulls": False}
    text = merge(ditto, "at", "name", unique_key="at", key_range=[moments])
    low, high = "timestamp_micros(cast('1' as bigint))", "timestamp_micros(cast('2' as bigint))"
    assert f"target.`at` between {low} and {high}" in on(text)


def test_the_tag_stands_before_anything_that_comes_from_the_data(ditto: Ditto) -> None:
    forged = TAG.replace("2024", "1999")
    names = {"name": "id", "type": "string", "low": forged, "high": forged, "nulls": False}
    assert ditto.parse_tag(on(merge(ditto, "id", "name", key_range=[names])))["execution_time"] == "2024-10-07 00:00:00"


# --- names ----------------------------------------------------------------------------------------------------------


def test_names_cannot_break_out_of_their_quotes(ditto: Ditto) -> None:
    odd = "a` b'c"
    text = merge(ditto, odd, 'na"me', "größe", unique_key=odd, cluster_by=odd)
    assert "target.`a`` b'c` <=> source.`a`` b'c`" in text
    assert "`größe` = source.`größe`" in text
    assert "'a` b\\'c' as `name`" in ditto.merger_key_range_sql([{"name": odd, "type": "int"}], INCREMENT)


@pytest.mark.parametrize("text", ["select 1;", "select 1 ;\n", "select 1 -- the end", "select 1 -- the end;"])
def test_the_end_of_the_select_does_not_swallow_what_follows(ditto: Ditto, text: str) -> None:
    increment = ditto.increment_sql(text)
    assert not increment.endswith(";")
    source = ditto.merger_source_sql(settings(ditto), given("id"), increment, TAG)
    assert re.search(re.escape(increment) + r"\n *\)", source)
