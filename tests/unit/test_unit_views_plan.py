"""The view over the units: its text, the views below it when that gets long, and the statements for it."""

from __future__ import annotations

import re
from typing import Any

import pytest
from fast_metadata_cleaner_model import ROWS, SLICE_TIME, Columns, after, facts, no_view, settings, unit, views
from macro_harness import Ditto
from merger_model import columns, table

WIDE = columns(id="int", page="string", browser="string")


def texts_of(
    ditto: Ditto,
    read: dict[str, Any],
    known: dict[str, Any],
    tables: dict[str, Columns] | None = None,
    limit: int = 30000,
) -> dict[str, str]:
    """The texts for the units that are there and these tables, which were described."""
    found = {each["identifier"] for each in known["units"]}
    new = [unit(ditto, name) for name in tables or {} if f"visits__{name}" not in found]
    described = {f"visits__{name}": each for name, each in (tables or {}).items()}
    return ditto.view_texts(
        read, known, ditto.shown_units("visits", known["units"] + new), known["known"] | described, limit
    )


def branch(ditto: Ditto, read: dict[str, Any], name: str, lacks: list[str], shown: Columns = WIDE) -> str:
    return ditto.unit_branch_sql(read, unit(ditto, name), shown, lacks)


# --- one table ------------------------------------------------------------------------------------------------------


def test_columns_are_named_and_what_a_unit_lacks_is_null_of_the_right_type(ditto: Ditto) -> None:
    assert branch(ditto, settings(ditto), "w20241007", ["browser"]) == (
        "select `id`, `page`, cast(null as string) as `browser` from `demo`.`visits__w20241007`"
    )


def test_technical_columns_are_hidden_unless_asked_for(ditto: Ditto) -> None:
    read = settings(ditto, execution_time_column="loaded for", unit_column="week")
    assert branch(ditto, read, "w20241007", [], ROWS) == (
        "select `id`, `page`, `_ditto_execution_time` as `loaded for`, date'2024-10-07' as `week` "
        "from `demo`.`visits__w20241007`"
    )


@pytest.mark.parametrize(
    ("granularity", "expected"),
    [
        ("day", "cast(date_trunc('day', `_ditto_execution_time`) as date)"),
        ("month", "cast(date_trunc('month', `_ditto_execution_time`) as date)"),
        (
            "week",
            "greatest(cast(date_trunc('week', `_ditto_execution_time`) as date),"
            " make_date(year(`_ditto_execution_time`), 1, 1))",
        ),
    ],
)
def test_a_frozen_table_has_several_units(ditto: Ditto, granularity: str, expected: str) -> None:
    read = settings(ditto, granularity=granularity, unit_column="unit")
    assert branch(ditto, read, "frozen_2024", [], ROWS) == (
        f"select `id`, `page`, {expected} as `unit` from `demo`.`visits__frozen_2024`"
    )


# --- reading a view again -------------------------------------------------------------------------------------------


def test_what_a_view_shows_is_read_from_its_text(ditto: Ditto) -> None:
    read = settings(ditto)
    text = f"{branch(ditto, read, 'w20241014', [])}\nunion all\n{branch(ditto, read, 'w20241007', ['page'])}"
    assert ditto.parse_branches(["", text]) == {
        "visits__w20241014": "`id`, `page`, `browser`",
        "visits__w20241007": "`id`, cast(null as string) as `page`, `browser`",
    }


@pytest.mark.parametrize("text", ["", "select 1", "with a as (select 1)\nselect\n  *\nfrom a"])
def test_a_view_of_somebody_else_shows_nothing_of_ours(ditto: Ditto, text: str) -> None:
    assert ditto.parse_branches([text]) == {}


ODD = [
    "x",
    "a b",
    "a`b",
    ") as `x",
    ") as x",
    "x) as `y`",
    "a, `x`, b",
    "from",
    "x from y",
    "select ",
    "union all",
    "Ünï",
    "X Y",
    "null as",
]


@pytest.mark.parametrize("lacking", range(len(ODD)))
def test_odd_names_are_not_mistaken_for_each_other(ditto: Ditto, lacking: int) -> None:
    """Each of them is missing once, with a type that looks like the end of a branch; the others are there."""
    types = dict.fromkeys(ODD, "struct<`a b`:int,`) as `:decimal(10,2)>")
    shown = columns(**types)
    text = branch(ditto, settings(ditto, unit_column="unit"), "w20241007", [ODD[lacking].lower()], shown)
    (table_name,), (read,) = zip(*ditto.parse_branches([text]).items(), strict=True)
    assert table_name == "visits__w20241007"
    assert [name for name in ODD if ditto.branch_lacks(read, name)] == [ODD[lacking]]


def test_the_case_of_a_name_does_not_count(ditto: Ditto) -> None:
    text = "`Id`, cast(null as string) as `Page`"
    assert [ditto.branch_lacks(text, name) for name in ("id", "ID", "page", "PAGE")] == [False, False, True, True]


# --- columns of the view --------------------------------------------------------------------------------------------


def test_a_new_column_comes_last_and_is_null_in_the_older_units(ditto: Ditto) -> None:
    read = settings(ditto)
    known = facts(ditto, read, ["w20240930", "w20241007"])
    texts = texts_of(ditto, read, known, {"w20241014": columns(browser="string", id="int", page="string")})
    assert texts == {
        "visits": "select `id`, `page`, `browser` from `demo`.`visits__w20241014`\n"
        "union all\n"
        "select `id`, `page`, cast(null as string) as `browser` from `demo`.`visits__w20241007`\n"
        "union all\n"
        "select `id`, `page`, cast(null as string) as `browser` from `demo`.`visits__w20240930`"
    }


def test_the_next_run_reads_from_the_view_which_units_lack_it(ditto: Ditto) -> None:
    read = settings(ditto)
    known = facts(ditto, read, {"w20240930": ROWS, "w20241007": ROWS, "w20241014": WIDE})
    assert texts_of(ditto, read, known)["visits"] == known["view"]["text"]
    longer = texts_of(ditto, read, known, {"w20241021": WIDE})["visits"]
    assert longer.endswith(known["view"]["text"])
    evolved = texts_of(ditto, read, known, {"w20240930": WIDE})["visits"]
    assert "`browser` from `demo`.`visits__w20240930`" in evolved
    assert "cast(null as string) as `browser` from `demo`.`visits__w20241007`" in evolved


def test_a_column_that_a_newer_unit_lacks_stays_as_long_as_one_has_it(ditto: Ditto) -> None:
    read = settings(ditto)
    known = facts(ditto, read, {"w20240930": WIDE, "w20241007": WIDE})
    once = texts_of(ditto, read, known, {"w20241007": ROWS})["visits"]
    assert "cast(null as string) as `browser` from `demo`.`visits__w20241007`" in once
    assert "`browser` from `demo`.`visits__w20240930`" in once
    twice = texts_of(ditto, read, known, {"w20240930": ROWS, "w20241007": ROWS})["visits"]
    assert "browser" not in twice


def test_the_types_of_nulls_are_those_of_the_newest_description(ditto: Ditto) -> None:
    read = settings(ditto)
    known = facts(ditto, read, {"w20240930": ROWS, "w20241007": columns(id="int", page="string", clicks="int")})
    made = texts_of(ditto, read, known, {"w20241014": columns(id="int", page="string", clicks="bigint")})
    assert "cast(null as bigint) as `clicks` from `demo`.`visits__w20240930`" in made["visits"]


def test_the_slices_column_is_never_one_of_the_views(ditto: Ditto) -> None:
    read = settings(ditto, execution_time_column="loaded_for")
    known = facts(ditto, read, {"w20241007": [*ROWS, SLICE_TIME]})
    made = ditto.view_columns(read, known, known["units"], {"visits__w20241007": [*ROWS, SLICE_TIME]})
    assert [column["name"] for column in made["columns"]] == ["id", "page"]


@pytest.mark.parametrize(
    ("before", "now", "expected"),
    [
        ({"execution_time_column": "loaded_for"}, {}, "select `id`, `page` from"),
        ({"unit_column": "week"}, {}, "select `id`, `page` from"),
        (
            {"execution_time_column": "loaded_for"},
            {"execution_time_column": "slice"},
            "select `id`, `page`, `_ditto_execution_time` as `slice` from",
        ),
        (
            {"execution_time_column": "a", "unit_column": "b"},
            {"execution_time_column": "b", "unit_column": "a"},
            "select `id`, `page`, `_ditto_execution_time` as `b`, date'2024-10-07' as `a` from",
        ),
    ],
)
def test_a_technical_column_with_another_name_is_no_column_of_the_units(
    ditto: Ditto, before: dict[str, str], now: dict[str, str], expected: str
) -> None:
    """The view has it, and the units do not: selecting it from them would fail."""
    shown = {"w20240930": ROWS, "w20241007": ROWS}
    known = facts(ditto, settings(ditto, **before), shown)
    text = texts_of(ditto, settings(ditto, **now), known, {"w20241007": ROWS})["visits"]
    assert text.startswith(expected)
    assert text == views(ditto, settings(ditto, **now), shown)["view"]["text"]


def test_a_view_without_a_unit_has_the_columns_and_no_row(ditto: Ditto) -> None:
    read = settings(ditto, execution_time_column="loaded_for", unit_column="week")
    nothing = {"view": no_view(), "chunks": []}
    assert ditto.view_texts(read, nothing, [], {"increment": ROWS}) == {
        "visits": "select cast(null as int) as `id`, cast(null as string) as `page`, "
        "cast(null as timestamp_ntz) as `loaded_for`, cast(null as date) as `week` where false"
    }


# --- a view over views ----------------------------------------------------------------------------------------------


def weeks(ditto: Ditto, year: int) -> list[str]:
    days = [f"{year}-{month:02}-{day:02}" for month in range(1, 13) for day in range(1, 29)]
    return sorted({ditto.unit_of("week", f"{day} 00:00:00")["suffix"] for day in days})


def test_the_text_of_a_year_of_weeks_is_one_view(ditto: Ditto) -> None:
    assert list(views(ditto, settings(ditto), dict.fromkeys(weeks(ditto, 2024), ROWS))["chunks"]) == []


def test_a_text_over_the_limit_becomes_a_view_for_each_year(ditto: Ditto) -> None:
    read = settings(ditto, unit_column="week", execution_time_column="loaded_for")
    tables = {name: ROWS for year in (2023, 2024) for name in weeks(ditto, year)} | {"w20250101": WIDE}
    known = facts(ditto, read, tables)
    flat = texts_of(ditto, read, known, limit=10**6)["visits"]
    made = texts_of(ditto, read, known, limit=len(flat) - 1)
    assert list(made) == ["visits__units_2025", "visits__units_2024", "visits__units_2023", "visits"]
    assert made["visits"].split("\nunion all\n")[0] == (
        "select `id`, `page`, `browser`, `loaded_for`, `week` from `demo`.`visits__units_2025`"
    )
    parts = [made[name] for name in made if name != "visits"]
    assert "\nunion all\n".join(parts) == flat


def test_a_year_over_the_limit_becomes_a_view_for_each_month(ditto: Ditto) -> None:
    read = settings(ditto)
    known = facts(ditto, read, dict.fromkeys([*weeks(ditto, 2024), "frozen_2023"], ROWS))
    made = texts_of(ditto, read, known, limit=1500)
    assert [name.removeprefix("visits__units_") for name in made] == [
        *(f"2024{month:02}" for month in range(12, 0, -1)),
        "202301",
        "visits",
    ]
    assert max(len(text) for text in made.values()) <= 1500
    assert made["visits__units_202301"] == "select `id`, `page` from `demo`.`visits__frozen_2023`"


@pytest.mark.parametrize(("limit", "parts"), [(2500, 24), (6000, 2)])
def test_what_nested_views_show_is_read_again(ditto: Ditto, limit: int, parts: int) -> None:
    read = settings(ditto)
    tables = {name: ROWS for year in (2023, 2024) for name in weeks(ditto, year)} | {"w20241007": WIDE}
    known = facts(ditto, read, tables)
    known |= after(ditto, read, texts_of(ditto, read, known, limit=limit), known["view"]["columns"])
    assert len(known["chunks"]) == parts
    again = texts_of(ditto, read, known, limit=limit)
    assert ditto.view_steps(read, known, again) == []
    assert texts_of(ditto, read, known)["visits"] == views(ditto, read, tables)["view"]["text"]


# --- statements -----------------------------------------------------------------------------------------------------


def statements(ditto: Ditto, read: dict[str, Any], known: dict[str, Any], texts: dict[str, str], **how: Any) -> Any:
    """Names and objects of the steps: [('view', 'alter view', 'visits')]"""
    found = []
    for step in ditto.view_steps(read, known, texts, **how):
        match = re.search(r"'(create or replace view|alter view|drop view if exists) `demo`.`(\w+)`", step["sql"])
        assert match is not None
        found.append((step["name"], match[1], match[2]))
    return found


def test_nothing_is_done_when_nothing_changed(ditto: Ditto) -> None:
    read = settings(ditto)
    known = facts(ditto, read, ["w20240930", "w20241007"])
    assert ditto.view_steps(read, known, texts_of(ditto, read, known)) == []
    assert ditto.view_steps(read, known, texts_of(ditto, read, known, {"w20241007": ROWS})) == []


def test_a_view_that_is_there_is_altered_and_another_one_created(ditto: Ditto) -> None:
    read = settings(ditto)
    known = facts(ditto, read, ["w20240930"])
    longer = texts_of(ditto, read, known, {"w20241007": ROWS})
    assert statements(ditto, read, known, longer) == [("view", "alter view", "visits")]
    missing = known | {"view": no_view()}
    assert statements(ditto, read, missing, longer) == [("view", "create or replace view", "visits")]
    same = texts_of(ditto, read, known)
    assert statements(ditto, read, known, same, again=True) == [("view", "alter view", "visits")]


def test_a_comment_cannot_be_altered(ditto: Ditto) -> None:
    read = settings(ditto)
    known = facts(ditto, read, ["w20241007"])
    same = texts_of(ditto, read, known)
    created = [("view", "create or replace view", "visits")]
    assert statements(ditto, read, known, same, comment="all visits") == created
    commented = known | {"view": known["view"] | {"comment": "all visits"}}
    assert statements(ditto, read, commented, same, comment="all visits") == []
    assert statements(ditto, read, commented, same) == []


def test_statements_are_fenced(ditto: Ditto) -> None:
    read = settings(ditto)
    known = facts(ditto, read, ["w20241007"]) | {
        "chunks": [table([], type="view", text="") | {"identifier": "visits__units_2020"}]
    }
    steps = ditto.view_steps(read, known, texts_of(ditto, read, known, {"w20241014": ROWS}), fence="7 = 7")
    assert [step["name"] for step in steps] == ["view", "drop_view"]
    assert all(step["sql"].startswith("begin\nif 7 = 7 then") for step in steps)


def test_parts_are_there_before_the_view_over_them_and_go_after_it(ditto: Ditto) -> None:
    read = settings(ditto)
    known = facts(ditto, read, ["w20231218", "w20231225", "w20241007"])
    limit = len(known["view"]["text"]) - 1
    nested = texts_of(ditto, read, known, limit=limit)
    assert statements(ditto, read, known, nested) == [
        ("view", "create or replace view", "visits__units_2024"),
        ("view", "create or replace view", "visits__units_2023"),
        ("view", "alter view", "visits"),
    ]
    known |= after(ditto, read, nested, known["view"]["columns"])
    assert statements(ditto, read, known, texts_of(ditto, read, known, {"w20241014": ROWS}, limit)) == [
        ("view", "alter view", "visits__units_2024")
    ]
    assert statements(ditto, read, known, texts_of(ditto, read, known)) == [
        ("view", "alter view", "visits"),
        ("drop_view", "drop view if exists", "visits__units_2024"),
        ("drop_view", "drop view if exists", "visits__units_2023"),
    ]
