"""The steps of a fast_metadata_cleaner run: what is written, what readers see meanwhile, what the ledger is told."""

from __future__ import annotations

import re
from typing import Any

import pytest
from fast_metadata_cleaner_model import (
    INCREMENT,
    ROWS,
    SLICE_TIME,
    executions,
    facts,
    names,
    no_view,
    node,
    plan,
    refusal,
    settings,
    statement,
    unfinished,
    unit,
    views,
)
from macro_harness import Ditto, sql
from merger_model import columns, table

WIDE = columns(id="int", page="string", browser="string")
FENCE = "if (select max(`token`) from `demo`.`ditto_ledger` where `relation` = 'demo.visits') = 3 then"
TAG = "ditto:1|fast_metadata_cleaner|{mode}|2024-10-{day} 00:00:00|00000000-0000-0000-0000-000000000001"


def ready(
    ditto: Ditto, tables: Any = None, day: str = "10-07", done: Any = None, opened: Any = None, **config: Any
) -> Any:
    """A plan for these facts; `increment`, `contract`, `view` and so on are facts, everything else is of the model."""
    told = ("increment", "contract", "view", "chunks", "known", "target")
    known = {name: config.pop(name) for name in told if name in config}
    return plan(ditto, facts(ditto, settings(ditto, day, **config), tables, done, opened, **known), day, **config)


def altered(made: dict[str, Any]) -> list[str]:
    """What is done to views and tables, in order: `alter view visits`, `reset`, ..."""
    found = []
    for step in made["steps"]:
        match = re.search(
            r"'(create or replace view|alter view|drop view if exists) `demo`.`(\w+)`", step.get("sql") or ""
        )
        found.append(f"{match[1]} {match[2]}" if match else step["name"])
    return found


# --- reset ----------------------------------------------------------------------------------------------------------


def test_the_first_run_of_all(ditto: Ditto) -> None:
    made = ready(ditto)
    assert names(made) == ["intent", "reset", "view", "outcome"]
    assert (made["mode"], made["made_anew"], made["undoes_until"]) == ("reset", False, "2024-10-14 00:00:00")
    assert made["undo"] is False
    assert altered(made)[2] == "create or replace view visits"
    assert "select `id`, `page` from `demo`.`visits__w20241007`" in statement(made, "view")


def test_a_unit_is_replaced_in_one_commit_that_tells_who_made_it(ditto: Ditto) -> None:
    made = ready(ditto, ["w20241007"], partition_by="page", tblproperties={"delta.appendOnly": False})
    assert names(made) == ["intent", "reset", "outcome"]
    written = sql(statement(made, "reset"))
    assert written.startswith(f"begin {FENCE} execute immediate 'create or replace table `demo`.`visits__w20241007`")
    assert "partitioned by (`_ditto_execution_time`, `page`)" in written
    assert "comment 'ditto: week 2024-10-07 of demo.visits'" in written
    assert f"'ditto.written_by' = '{TAG.format(mode='reset', day='07')}'" in written
    assert "'delta.appendOnly' = 'false'" in written
    assert "select *, cast('2024-10-07 00:00:00' as timestamp_ntz) as `_ditto_execution_time`" in written
    assert INCREMENT in written


def test_a_unit_lives_below_the_location_root(ditto: Ditto) -> None:
    written = statement(ready(ditto, location_root="/lake/it's"), "reset")
    assert "location '/lake/it\\'s/visits__w20241007'" in written.replace("\\\\'", "\\'")


def test_quotes_of_the_select_survive(ditto: Ditto) -> None:
    read = settings(ditto)
    made = ditto.fast_metadata_cleaner_plan(node(), read, facts(ditto, read), "select 'it''s' as a, r'\\d' as b")
    assert "select \\'it\\'\\'s\\' as a, r\\'\\\\d\\' as b" in made["steps"][1]["sql"]


def test_truncate(ditto: Ditto) -> None:
    made = ready(ditto, ["w20241007"], reset="truncate")
    assert names(made) == ["intent", "truncate", "slice", "outcome"]
    assert "truncate table `demo`.`visits__w20241007`" in statement(made, "truncate")
    assert FENCE in statement(made, "truncate")
    assert (made["undo"], made["undoes_until"]) == (True, "2024-10-14 00:00:00")


def test_drop(ditto: Ditto) -> None:
    """Readers do without the unit before it is gone, and have it again once it is there."""
    made = ready(ditto, ["w20240930", "w20241007"], reset="drop")
    assert names(made) == ["intent", "view", "drop", "reset", "view", "outcome"]
    assert "visits__w20241007" not in statement(made, "view")
    assert "drop table if exists `demo`.`visits__w20241007`" in statement(made, "drop")
    assert "visits__w20241007" in statement(made, "view", 1)
    assert all("alter view" in statement(made, "view", place) for place in (0, 1))
    assert made["undo"] is True


def test_the_only_unit_is_dropped(ditto: Ditto) -> None:
    made = ready(ditto, ["w20241007"], reset="drop")
    assert names(made) == ["intent", "view", "drop", "reset", "view", "outcome"]
    assert statement(made, "view").count("where false") == 1
    assert made["made_anew"] is False


def test_a_dead_run_that_dropped_the_only_unit_begins_no_new_generation(ditto: Ditto) -> None:
    """In a new one the executions that it made stale would be forgotten."""
    done = executions(live="10-08", unfinished="10-07")
    made = ready(ditto, [], done=done, opened=unfinished("10-07", "10-14"), reset="drop")
    assert (made["mode"], made["made_anew"], made["undoes_until"]) == ("takeover", False, "2024-10-14 00:00:00")
    assert names(made) == ["intent", "reset", "view", "outcome"]
    assert "2024-10-08" in ditto.warnings[0]


def test_a_model_whose_units_are_all_gone_begins_a_new_generation(ditto: Ditto) -> None:
    assert ready(ditto, [], done=executions(live="10-07"))["made_anew"] is True


@pytest.mark.parametrize("reset", ["truncate", "drop"])
def test_a_unit_that_is_not_there_is_not_cleaned(ditto: Ditto, reset: str) -> None:
    made = ready(ditto, ["w20240930"], reset=reset)
    assert names(made) == ["intent", "reset", "view", "outcome"]
    assert made["undo"] is False


def test_the_parts_of_a_long_view_are_as_the_first_change_left_them(ditto: Ditto) -> None:
    """The only unit of 2025 is dropped, and its part with it: it can only be created again."""
    wide = columns(**{f"a_long_name_for_a_column_{number:04}": "string" for number in range(500)})
    tables = {"w20241223": wide, "w20250101": wide}
    made = ready(ditto, tables, "2025-01-01", reset="drop", increment=wide)
    assert altered(made) == [
        "intent",
        "alter view visits",
        "drop view if exists visits__units_2025",
        "drop view if exists visits__units_2024",
        "drop",
        "reset",
        "create or replace view visits__units_2025",
        "create or replace view visits__units_2024",
        "alter view visits",
        "outcome",
    ]


def test_later_executions_are_announced_as_stale(ditto: Ditto) -> None:
    made = ready(ditto, ["w20241007"], done=executions(live="10-07 10-08 10-09"))
    assert made["become_stale"] == ["2024-10-08 00:00:00", "2024-10-09 00:00:00"]
    (warning,) = ditto.warnings
    assert "prepares week 2024-10-07 anew" in warning
    assert "dbt run --select visits --vars '{execution_date: 2024-10-08}'" in warning


def test_what_the_config_only_warns_about(ditto: Ditto) -> None:
    made = ready(ditto, ["w20241007"], "10-10", executions(stale="10-08"), on_stale="warn")
    assert made["mode"] == "slice"
    assert "stale executions before this one: 2024-10-08" in ditto.warnings[0]


# --- slice ----------------------------------------------------------------------------------------------------------


def test_a_slice_is_replaced_in_one_commit(ditto: Ditto) -> None:
    made = ready(ditto, ["w20241007"], "10-08")
    assert names(made) == ["intent", "slice", "outcome"]
    assert (made["undoes_until"], made["undo"], made["made_anew"]) == (None, False, False)
    written = sql(statement(made, "slice"))
    assert written.startswith(f"begin {FENCE} insert into `demo`.`visits__w20241007`")
    assert f"'userMetadata' = '{TAG.format(mode='slice', day='08')}'" in written
    assert "replace where (`_ditto_execution_time` <=> cast('2024-10-08 00:00:00' as timestamp_ntz))" in written
    assert "select `id`, `page`, `_ditto_execution_time` from" in written
    assert made["base_version"] == 3


def test_a_column_that_the_select_lacks_is_null(ditto: Ditto) -> None:
    made = ready(ditto, {"w20241007": WIDE}, "10-08")
    assert "cast(null as string) as `browser`" in statement(made, "slice")
    assert names(made) == ["intent", "slice", "outcome"]


def test_a_new_column_is_added_and_shown(ditto: Ditto) -> None:
    made = ready(ditto, ["w20240930", "w20241007"], "10-08", increment=WIDE, on_schema_change="append_new_columns")
    assert names(made) == ["intent", "add_columns", "slice", "view", "outcome"]
    shown = statement(made, "view")
    assert "select `id`, `page`, `browser` from `demo`.`visits__w20241007`" in shown
    assert "cast(null as string) as `browser` from `demo`.`visits__w20240930`" in shown


def test_a_new_column_is_ignored_by_default(ditto: Ditto) -> None:
    made = ready(ditto, ["w20241007"], "10-08", increment=WIDE)
    assert names(made) == ["intent", "slice", "outcome"]
    assert "browser" not in statement(made, "slice")


def test_a_column_is_dropped_once_the_view_does_without_it(ditto: Ditto) -> None:
    """As long as the view selects it from the unit, readers would fail."""
    made = ready(ditto, {"w20240930": WIDE, "w20241007": WIDE}, "10-08", on_schema_change="sync_all_columns")
    assert names(made) == ["intent", "slice", "view", "map_columns", "drop_columns", "outcome"]
    assert "cast(null as string) as `browser`" in statement(made, "slice")
    assert "cast(null as string) as `browser` from `demo`.`visits__w20241007`" in statement(made, "view")
    assert "drop columns (`browser`)" in statement(made, "drop_columns")


def test_one_column_goes_and_another_one_comes(ditto: Ditto) -> None:
    increment = columns(id="int", referrer="string")
    made = ready(ditto, ["w20241007"], "10-08", increment=increment, on_schema_change="sync_all_columns")
    assert names(made) == ["intent", "add_columns", "slice", "view", "map_columns", "drop_columns", "outcome"]
    assert "select `id`, `referrer` from `demo`.`visits__w20241007`" in statement(made, "view")


def test_the_view_is_mended_by_any_run(ditto: Ditto) -> None:
    """A unit that a dead run made, and that the view does not show."""
    read = settings(ditto, "10-08")
    known = facts(ditto, read, ["w20241007"])
    known["units"].append(unit(ditto, "w20240930"))
    made = plan(ditto, known | {"known": {"visits__w20240930": [*WIDE, SLICE_TIME]}}, "10-08")
    assert names(made) == ["intent", "slice", "view", "outcome"]
    assert "`browser` from `demo`.`visits__w20240930`" in statement(made, "view")
    assert "cast(null as string) as `browser` from `demo`.`visits__w20241007`" in statement(made, "view")


def test_a_unit_name_in_upper_case_is_the_same_unit(ditto: Ditto) -> None:
    read = settings(ditto, "10-08", alias="Visits")
    known = facts(ditto, read) | {"target": table([*ROWS, SLICE_TIME]), "head": 3}
    known["units"] = [ditto.parse_unit("Visits", "VISITS__W20241007")]
    known |= {"view": views(ditto, settings(ditto), {"w20241007": ROWS})["view"]}
    assert names(plan(ditto, known, "10-08", alias="Visits")) == ["intent", "slice", "outcome"]
    anew = plan(ditto, known, "10-08", alias="Visits", full_refresh=True)
    assert names(anew) == ["intent", "reset", "view", "outcome"]


# --- columns of a reset ---------------------------------------------------------------------------------------------


def test_a_column_that_goes_with_a_reset_leaves_the_view_first(ditto: Ditto) -> None:
    """Between the commit and the view, readers would ask the unit for a column that it does not have any more."""
    made = ready(ditto, {"w20240930": WIDE, "w20241007": WIDE})
    assert names(made) == ["intent", "view", "reset", "outcome"]
    assert "cast(null as string) as `browser` from `demo`.`visits__w20241007`" in statement(made, "view")
    assert made["undo"] is True


def test_a_column_that_goes_and_one_that_comes_with_a_reset(ditto: Ditto) -> None:
    made = ready(ditto, {"w20241007": WIDE}, increment=columns(id="int", page="string", referrer="string"))
    assert names(made) == ["intent", "view", "reset", "view", "outcome"]
    assert "select `id`, `page` from" in statement(made, "view")
    assert "select `id`, `page`, `referrer` from" in statement(made, "view", 1)


def test_a_view_cannot_do_without_all_columns(ditto: Ditto) -> None:
    made = ready(ditto, ["w20241007"], increment=columns(other="int"))
    assert names(made) == ["intent", "reset", "view", "outcome"]


def test_a_new_column_of_a_new_unit_is_null_in_the_others(ditto: Ditto) -> None:
    made = ready(ditto, ["w20240930"], increment=WIDE)
    assert names(made) == ["intent", "reset", "view", "outcome"]
    assert "cast(null as string) as `browser` from `demo`.`visits__w20240930`" in statement(made, "view")


@pytest.mark.parametrize("tables", [["w20240930"], ["w20241007"], ["w20240930", "w20241007"]])
def test_a_reset_fails_on_other_columns_where_it_is_told_to(ditto: Ditto, tables: list[str]) -> None:
    text = refusal(lambda: ready(ditto, tables, increment=WIDE, on_schema_change="fail"))
    assert "other columns than in `demo`.`visits` - new: browser; gone: none" in text
    assert names(ready(ditto, tables, on_schema_change="fail"))[1] == "reset"


def test_a_full_dataset_fails_on_other_columns_too(ditto: Ditto) -> None:
    options = {"granularity": "full", "on_schema_change": "fail"}
    assert "new: browser" in refusal(lambda: ready(ditto, ["full"], increment=WIDE, **options))
    assert ready(ditto, ["full"], increment=WIDE, full_refresh=True, **options)["mode"] == "full_refresh"


def test_technical_columns_are_no_change(ditto: Ditto) -> None:
    made = ready(ditto, ["w20240930"], on_schema_change="fail", execution_time_column="at", unit_column="week")
    assert names(made) == ["intent", "reset", "view", "outcome"]


@pytest.mark.parametrize("option", ["execution_time_column", "unit_column"])
def test_a_technical_column_may_not_be_one_of_the_select(ditto: Ditto, option: str) -> None:
    text = refusal(lambda: ready(ditto, **{option: "PAGE"}))
    assert f"{option}: PAGE, which is a column of the SELECT too" in text


def test_the_slices_column_may_not_be_one_of_the_select(ditto: Ditto) -> None:
    assert "_ditto_execution_time" in refusal(lambda: ready(ditto, increment=[*ROWS, SLICE_TIME]))


def test_partitions_are_columns_of_the_select(ditto: Ditto) -> None:
    assert "partition_by: country" in refusal(lambda: ready(ditto, partition_by="country"))


@pytest.mark.parametrize(
    ("before", "now", "fits"),
    [
        ("int", "int", True),
        ("int", "bigint", True),
        ("bigint", "int", True),
        ("tinyint", "smallint", True),
        ("float", "double", True),
        ("int", "double", False),
        ("int", "string", False),
        ("string", "int", False),
        ("decimal(10,2)", "decimal(12,2)", False),
        ("timestamp", "timestamp_ntz", False),
        ("struct<a:int>", "struct<a:bigint>", False),
    ],
)
def test_types_that_can_stand_under_each_other(ditto: Ditto, before: str, now: str, fits: bool) -> None:
    found = ditto.narrowing(columns(ID=now, new="int"), columns(id=before, page="string"))
    assert found == ([] if fits else [f"ID ({before} -> {now})"])


def test_a_unit_with_another_type_than_the_others_is_refused(ditto: Ditto) -> None:
    other = columns(id="string", page="string")
    assert "id (int -> string)" in refusal(lambda: ready(ditto, ["w20240930"], increment=other))
    assert names(ready(ditto, ["w20240930"], increment=other, full_refresh=True))[1] == "reset"


def test_a_column_that_only_this_unit_has_may_change_its_type(ditto: Ditto) -> None:
    """Otherwise a mistake in the newest unit could be mended by a full refresh of all of them only."""
    counted = columns(id="int", page="string", browser="int")
    made = ready(ditto, {"w20240930": ROWS, "w20241007": WIDE}, increment=counted)
    assert altered(made) == ["intent", "reset", "alter view visits", "outcome"]
    assert "cast(null as int) as `browser` from `demo`.`visits__w20240930`" in statement(made, "view")
    both = {"w20240930": WIDE, "w20241007": WIDE}
    assert "browser (string -> int)" in refusal(lambda: ready(ditto, both, increment=counted))


def test_the_only_unit_may_change_its_types_and_the_view_is_told(ditto: Ditto) -> None:
    made = ready(ditto, ["w20241007"], increment=columns(id="string", page="string"))
    assert altered(made) == ["intent", "reset", "alter view visits", "outcome"]


# --- contracts and docs ---------------------------------------------------------------------------------------------


def contracted(**types: str) -> dict[str, Any]:
    constraints: dict[str, Any] = {
        "id": [{"type": "not_null"}, {"type": "check", "expression": "id > 0", "name": "positive"}]
    }
    described = {
        name: {"name": name, "data_type": type_, "constraints": constraints.get(name, [])}
        for name, type_ in types.items()
    }
    return {"columns": described, "contract": {"enforced": True}}


def test_a_contract_becomes_checks(ditto: Ditto) -> None:
    spec = {
        "columns": [
            {"name": "id", "type": "int", "not_null": True},
            {"name": "a`b", "type": " VARCHAR (10) ", "not_null": False},
            {"name": "code", "type": "char(2)", "not_null": True},
            {"name": "page", "type": "string", "not_null": False},
        ]
    }
    found = ditto.unit_constraints(spec)
    assert list(found.values()) == [
        "`id` is not null",
        # To Delta a check that gives null has failed.
        "`a``b` is null or length(`a``b`) <= 10",
        "`code` is not null",
        "`code` is null or length(`code`) <= 2",
    ]
    assert all(re.fullmatch("delta.constraints.ditto_[0-9a-f]{8}", name) for name in found)


def test_the_checks_of_a_contract_are_in_the_unit(ditto: Ditto) -> None:
    read = settings(ditto)
    model = node(**contracted(id="int", page="varchar(5)"))
    contract = [
        {"name": "id", "type": "int", "declared": "int"},
        {"name": "page", "type": "string", "declared": "varchar(5)"},
    ]
    made = ditto.fast_metadata_cleaner_plan(model, read, facts(ditto, read, contract=contract), INCREMENT)
    written = statement(made, "reset")
    assert "= '`id` is not null'" in written
    assert "= '`page` is null or length(`page`) <= 5'" in written
    assert "'delta.constraints.positive' = 'id > 0'" in written


def test_a_select_that_breaks_the_contract(ditto: Ditto) -> None:
    read = settings(ditto)
    known = facts(ditto, read, contract=[{"name": "id", "type": "bigint"}])
    text = refusal(lambda: ditto.fast_metadata_cleaner_plan(node(), read, known, INCREMENT))
    assert "not in the contract: page" in text


def test_units_that_lack_a_required_column_oldest_first(ditto: Ditto) -> None:
    read = settings(ditto)
    known = facts(ditto, read, {"frozen_202409": ROWS, "w20241007": ROWS, "w20241014": WIDE})
    required = {"browser": {"constraints": [{"type": "not_null"}]}, "id": {"constraints": [{"type": "not_null"}]}}
    model = node(columns=required, contract={"enforced": True})
    found = ditto.units_without_required(model, read, known)
    assert [(each["unit"], each["column"], each["frozen"]) for each in found] == [
        ("visits__frozen_202409", "browser", True),
        ("visits__w20241007", "browser", False),
    ]
    upper = node(columns={"BROWSER": required["browser"], "ID": required["id"]}, contract={"enforced": True})
    assert [each["unit"] for each in ditto.units_without_required(upper, read, known)] == [
        each["unit"] for each in found
    ]
    assert ditto.units_without_required(node(columns=required), read, known) == []


def test_docs_are_kept_with_the_view_and_the_columns_of_units(ditto: Ditto) -> None:
    docs = {
        "description": "all it's visits",
        "columns": {"id": {"name": "id", "description": "who"}},
        "persist_docs": {"relation": True, "columns": True},
    }
    made = ready(ditto, **docs)
    assert names(made) == ["intent", "reset", "column_comment", "view", "outcome"]
    assert "alter column `id` comment 'who'" in statement(made, "column_comment")
    assert "comment 'ditto: week 2024-10-07 of demo.visits'" in statement(made, "reset")
    assert altered(made)[3] == "create or replace view visits"


def test_docs_that_are_there_are_left_alone(ditto: Ditto) -> None:
    docs = {
        "description": "all visits",
        "columns": {"id": {"name": "id", "description": "who"}},
        "persist_docs": {"relation": True, "columns": True},
    }
    read = settings(ditto, "10-08", **docs)
    known = facts(ditto, read, ["w20241007"])
    said = [column | {"comment": "who" if column["name"] == "id" else ""} for column in ROWS]
    known |= {"target": table([*said, SLICE_TIME]), "view": known["view"] | {"columns": said, "comment": "all visits"}}
    assert names(plan(ditto, known, "10-08", **docs)) == ["intent", "slice", "outcome"]
    unsaid = known | {"view": known["view"] | {"columns": ROWS}}
    assert altered(plan(ditto, unsaid, "10-08", **docs)) == ["intent", "slice", "alter view visits", "outcome"]


# --- full refresh, dry runs, what stands in the way -----------------------------------------------------------------


@pytest.mark.parametrize("reset", ["replace", "truncate", "drop"])
def test_a_full_refresh_leaves_one_unit(ditto: Ditto, reset: str) -> None:
    """The others go once the view does without them."""
    made = ready(ditto, ["w20240930", "w20241007", "w20241014"], full_refresh=True, reset=reset, increment=WIDE)
    assert names(made) == ["intent", "reset", "view", "drop", "drop", "outcome"]
    assert (made["mode"], made["made_anew"]) == ("full_refresh", True)
    assert "as\nselect `id`, `page`, `browser` from `demo`.`visits__w20241007`" in statement(made, "view")
    assert "union all" not in statement(made, "view")
    assert "`demo`.`visits__w20240930`" in statement(made, "drop")
    assert "`demo`.`visits__w20241014`" in statement(made, "drop", 1)
    assert FENCE in statement(made, "drop")


def test_a_full_refresh_with_another_granularity(ditto: Ditto) -> None:
    made = ready(ditto, ["w20240930", "w20241007"], granularity="month", full_refresh=True)
    assert names(made) == ["intent", "reset", "view", "drop", "drop", "outcome"]
    assert "visits__m20241001" in statement(made, "reset")


def test_a_full_refresh_forgets_columns_that_only_old_units_had(ditto: Ditto) -> None:
    made = ready(ditto, {"w20240930": WIDE, "w20241007": WIDE}, full_refresh=True)
    assert names(made) == ["intent", "reset", "view", "drop", "outcome"]
    assert "browser" not in statement(made, "view")


def test_a_dry_run_makes_the_view_and_nothing_else(ditto: Ditto) -> None:
    made = ready(ditto, dry=True)
    assert (names(made), made["mode"]) == (["view"], "dry")
    assert "where false" in statement(made, "view")
    assert names(ready(ditto, ["w20240930"], dry=True)) == []


def test_a_table_under_the_name_of_the_view(ditto: Ditto) -> None:
    for options in ({}, {"full_refresh": True}):
        text = refusal(lambda options=options: ready(ditto, view=table(ROWS, text=""), **options))
        assert "a table under the name `demo`.`visits`" in text
        assert "alter table `demo`.`visits` rename to `demo`.`visits_before`" in text


def test_every_statement_after_the_intent_is_fenced(ditto: Ditto) -> None:
    made = [
        ready(ditto),
        ready(ditto, ["w20240930", "w20241007"], reset="drop"),
        ready(ditto, ["w20241007"], reset="truncate"),
        ready(ditto, ["w20241007"], "10-08"),
        ready(ditto, ["w20240930", "w20241007"], full_refresh=True),
        ready(ditto, {"w20240930": WIDE, "w20241007": WIDE}),
    ]
    steps = [step for each in made for step in each["steps"] if step["kind"] not in ("intent", "outcome")]
    assert len(steps) == 14
    assert all(FENCE in step["sql"] for step in steps)


def test_an_existing_view_without_units_is_taken_as_it_is(ditto: Ditto) -> None:
    """A dry run made it, and the SELECT has changed since."""
    empty = table(ROWS, type="view", text="select cast(null as int) as `id` where false", comment="")
    made = ready(ditto, view=empty, increment=columns(other="string"), on_schema_change="fail")
    assert altered(made) == ["intent", "reset", "alter view visits", "outcome"]
    assert "select `other` from" in statement(made, "view")
    assert ready(ditto, view=no_view())["mode"] == "reset"


def test_a_model_that_is_called_like_a_unit_is_not_taken_for_one(ditto: Ditto) -> None:
    units = [ditto.parse_unit("visits", "visits__full")]
    other = {"resource_type": "model", "schema": "Demo", "alias": "Visits__FULL", "name": "all_visits"}
    text = refusal(lambda: ditto.refuse_names_of_models(settings(ditto), units, {"a": other}))
    assert "model all_visits, whose table Visits__FULL is called like a table of this model" in text
    ditto.refuse_names_of_models(settings(ditto), units, {"a": other | {"schema": "elsewhere"}})


def test_a_slice_into_a_unit_without_a_required_column_is_refused(ditto: Ditto) -> None:
    read = settings(ditto)
    known = facts(ditto, read, {"w20241007": ROWS}) | {"target": table(ROWS)}
    spec = {"columns": [{"name": "Browser", "not_null": True}, {"name": "id", "not_null": True}]}
    text = refusal(lambda: ditto._check_unit_columns(read, known, {"reset": False, "mode": "slice"}, spec))
    assert "a required column Browser that `demo`.`visits__w20241007` does not have" in text
    assert "from: 2024-10-07" in text
    # A unit that is prepared anew gets it.
    ditto._check_unit_columns(read, known, {"reset": True, "mode": "reset"}, spec)
    # Not so with TRUNCATE, which keeps the columns.
    emptied = settings(ditto, reset="truncate")
    text = refusal(lambda: ditto._check_unit_columns(emptied, known, {"reset": True, "mode": "reset"}, spec))
    assert "set reset='replace' or on_schema_change='append_new_columns'" in text
    added = settings(ditto, reset="truncate", on_schema_change="append_new_columns")
    ditto._check_unit_columns(added, known, {"reset": True, "mode": "reset"}, spec)
