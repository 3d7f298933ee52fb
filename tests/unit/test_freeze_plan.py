"""Which units ditto_freeze merges into which immutable table, its statements, and what it refuses."""

from __future__ import annotations

import datetime
from types import SimpleNamespace
from typing import Any

import pytest
from fast_metadata_cleaner_model import ROWS, SLICE_TIME, facts, moment, node, refusal, settings, unit, views
from macro_harness import Ditto, sql
from merger_model import columns, ledger, table

FREEZE = "ditto: ditto_freeze of visits"


def groups(
    ditto: Ditto, names: str, newest: str, into: str = "month", before: str | None = None, **config: Any
) -> dict[str, str]:
    """`{frozen table: units}`, by the suffixes of their names."""
    read = settings(ditto, **config)
    units = [unit(ditto, name) for name in names.split()]
    found = ditto.freeze_groups(read, units, moment(newest), into, before)
    assert [group["stretch"] for group in found] == sorted(group["stretch"] for group in found)
    return {
        group["identifier"].removeprefix("visits__"): " ".join(
            each["identifier"].removeprefix("visits__") for each in group["units"]
        )
        for group in found
    }


# --- what is closed -------------------------------------------------------------------------------------------------


def test_days_into_months(ditto: Ditto) -> None:
    names = "d20241001 d20240930 d20240831 d20240901"
    assert groups(ditto, names, "10-01", granularity="day") == {
        "frozen_202408": "d20240831",
        "frozen_202409": "d20240901 d20240930",
    }


def test_a_week_belongs_to_the_month_of_its_first_day(ditto: Ditto) -> None:
    names = "w20240923 w20240930 w20241007"
    assert groups(ditto, names, "11-04") == {"frozen_202409": "w20240923 w20240930", "frozen_202410": "w20241007"}
    assert groups(ditto, "w20241230 w20250101", "2025-02-03") == {
        "frozen_202412": "w20241230",
        "frozen_202501": "w20250101",
    }


@pytest.mark.parametrize(
    ("newest", "closed"),
    [("09-29", False), ("09-30", False), ("10-01", False), ("10-06T23", False), ("10-07", True)],
)
def test_a_month_is_closed_once_an_execution_is_in_a_unit_of_a_later_one(
    ditto: Ditto, newest: str, closed: bool
) -> None:
    """2024-10-01 to 10-06 are in the week of 09-30, which is one of September."""
    assert groups(ditto, "w20240923 w20240930", newest) == ({"frozen_202409": "w20240923 w20240930"} if closed else {})


@pytest.mark.parametrize("granularity", ["day", "week", "month"])
def test_years(ditto: Ditto, granularity: str) -> None:
    names = {"day": "d20231231 d20240101", "week": "w20231225 w20240101", "month": "m20231201 m20240101"}[granularity]
    old, new = names.split()
    assert groups(ditto, names, "12-31", "year", granularity=granularity) == {"frozen_2023": old}
    assert groups(ditto, names, "2025-01-01", "year", granularity=granularity) == {
        "frozen_2023": old,
        "frozen_2024": new,
    }


@pytest.mark.parametrize(
    ("before", "into", "expected"),
    [
        ("2024-09-01", "month", ["frozen_202408"]),
        ("2024-09-30", "month", ["frozen_202408"]),
        ("2024-10-01", "month", ["frozen_202408", "frozen_202409"]),
        ("2030-01-01", "month", ["frozen_202408", "frozen_202409"]),  # what is open stays open
        ("2024-12-31", "year", []),
        ("2025-01-01", "year", []),  # the newest execution is in 2024
    ],
)
def test_before(ditto: Ditto, before: str, into: str, expected: list[str]) -> None:
    names = "d20240831 d20240930 d20241001"
    assert list(groups(ditto, names, "10-01", into, before, granularity="day")) == expected


def test_every_closed_unit_is_in_exactly_one_group(ditto: Ditto) -> None:
    start = datetime.date(2023, 12, 1)
    days = [start + datetime.timedelta(days=number) for number in range(430)]
    for granularity, letter in (("day", "d"), ("week", "w")):
        names = sorted({ditto.unit_of(granularity, f"{day} 00:00:00")["suffix"] for day in days})
        assert names[0].startswith(letter)
        for into in ("month", "year"):
            found = groups(ditto, " ".join(names), str(days[-1]), into, granularity=granularity)
            merged = " ".join(found.values()).split()
            assert len(merged) == len(set(merged))
            left = [name for name in names if name not in merged]
            length = {"month": 7, "year": 5}[into]
            assert {name[:length] for name in left} == {names[-1][:length]}


# --- what is frozen already, and what a run that died left ----------------------------------------------------------


def test_a_month_that_is_frozen_is_not_frozen_again(ditto: Ditto) -> None:
    assert groups(ditto, "frozen_202408 frozen_202409 d20241001", "10-01", granularity="day") == {}
    assert groups(ditto, "frozen_2023 m20240101", "12-01", "year", granularity="month") == {}


def test_a_year_takes_the_frozen_months_along(ditto: Ditto) -> None:
    names = "frozen_202411 d20241201 d20250101"
    assert groups(ditto, names, "2025-01-01", "year", granularity="day") == {"frozen_2024": "frozen_202411 d20241201"}


def test_units_that_a_dead_run_did_not_drop_are_dropped_with_their_table(ditto: Ditto) -> None:
    names = "frozen_202409 d20240929 d20240930 d20241001"
    assert groups(ditto, names, "10-01", granularity="day") == {"frozen_202409": "d20240929 d20240930"}
    # Of a year they are no source, since their rows are in the frozen month.
    left = "frozen_202409 d20240930 frozen_2024"
    assert groups(ditto, left, "2025-01-01", "year", granularity="day") == {"frozen_2024": "frozen_202409 d20240930"}
    shown = ditto.shown_units("visits", [unit(ditto, name) for name in ("frozen_202409", "d20240930")])
    assert [each["identifier"] for each in shown] == ["visits__frozen_202409"]


def test_what_a_frozen_year_holds_is_no_month_of_its_own(ditto: Ditto) -> None:
    """A run into years died, and the next one is into months: the rows are in the year's table already."""
    names = "frozen_2024 d20240930 d20241001 d20250101 d20250201"
    assert groups(ditto, names, "2025-02-01", granularity="day") == {"frozen_202501": "d20250101"}


def test_names_are_in_lower_case(ditto: Ditto) -> None:
    read = settings(ditto, granularity="day", alias="Visits")
    units = [ditto.parse_unit("Visits", name) for name in ("VISITS__D20240930", "visits__frozen_202408")]
    (group,) = ditto.freeze_groups(read, units, moment("10-01"), "month")
    assert group["identifier"] == "visits__frozen_202409"
    assert [each["identifier"] for each in group["units"]] == ["visits__d20240930"]


# --- statements -----------------------------------------------------------------------------------------------------


def create(ditto: Ditto, names: str, lacks: dict[str, list[str]] | None = None, **config: Any) -> str:
    read = settings(ditto, **config)
    units = [unit(ditto, name) for name in names.split()]
    group = {"identifier": "visits__frozen_202409", "units": units}
    nothing = {each["identifier"]: [] for each in units}
    return sql(ditto.freeze_create_sql(read, group, columns(id="int", page="string"), nothing | (lacks or {})))


def test_one_commit_with_the_rows_of_all(ditto: Ditto) -> None:
    made = create(ditto, "w20240923 w20240930", {"visits__w20240923": ["page"]}, unit_column="week")
    assert made == (
        "create or replace table `demo`.`visits__frozen_202409` using delta "
        "partitioned by (`_ditto_execution_time`) "
        "comment 'ditto: frozen units visits__w20240923, visits__w20240930 of demo.visits' as "
        "select `id`, cast(null as string) as `page`, `_ditto_execution_time` as `_ditto_execution_time` "
        "from `demo`.`visits__w20240923` union all "
        "select `id`, `page`, `_ditto_execution_time` as `_ditto_execution_time` from `demo`.`visits__w20240930`"
    )


def test_it_is_not_immutable_before_it_was_compared(ditto: Ditto) -> None:
    assert "appendOnly" not in create(ditto, "w20240923")


def test_partitions_of_the_units_are_kept(ditto: Ditto) -> None:
    assert "partitioned by (`_ditto_execution_time`, `PAGE`)" in create(ditto, "w20240923", partition_by="PAGE")
    # One that the config has got since then is no column of these units.
    made = create(ditto, "w20240923", partition_by=["country", "page"])
    assert "partitioned by (`_ditto_execution_time`, `page`)" in made


def test_rows_are_counted_on_both_sides(ditto: Ditto) -> None:
    group = {"identifier": "visits__frozen_202409", "units": [unit(ditto, "d20240929"), unit(ditto, "d20240930")]}
    assert sql(ditto.freeze_count_sql(settings(ditto, granularity="day"), group)) == (
        "select (select count(*) from `demo`.`visits__frozen_202409`) as `frozen`, (select sum(`rows`) from ("
        "select count(*) as `rows` from `demo`.`visits__d20240929` union all "
        "select count(*) as `rows` from `demo`.`visits__d20240930`)) as `units`"
    )


# --- what is refused ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("into", "before", "config", "found", "fix"),
    [
        ("month", None, {"materialized": "merger"}, "found:    a merger model", "name another model"),
        ("year", None, {"granularity": "year"}, "model with granularity: year", "name another model"),
        ("year", None, {"granularity": "full"}, "model with granularity: full", "name another model"),
        ("month", None, {"granularity": "month"}, "found:    into: month", "{model: visits, into: year}"),
        ("week", None, {}, "found:    into: week", "into: year"),
        ("month", "soon", {}, "found:    before: soon", "before: 2024-10-01"),
        ("month", "2024-10", {}, "found:    before: 2024-10", "units that begin in its month or later"),
    ],
)
def test_what_cannot_be_frozen(
    ditto: Ditto, into: str, before: str | None, config: dict[str, str], found: str, fix: str
) -> None:
    text = refusal(lambda: ditto.check_freeze(node(**config), into, before), FREEZE)
    assert found in text
    assert fix in text


@pytest.mark.parametrize("before", [None, "2024-10-01", datetime.date(2024, 10, 1)])
@pytest.mark.parametrize(
    ("granularity", "into"),
    [("day", "month"), ("day", "year"), ("week", "month"), ("week", "year"), ("month", "year")],
)
def test_what_can_be_frozen(ditto: Ditto, granularity: str, into: str, before: object) -> None:
    assert ditto.check_freeze(node(meta={"granularity": granularity}), into, before).strip() == ""


def refuse_stale(ditto: Ditto, names: str, **statuses: str) -> None:
    read = settings(ditto)
    found = [{"units": [unit(ditto, name) for name in names.split()]}]
    known = {moment(day): status for status, days in statuses.items() for day in days.split()}
    ditto.refuse_freezing_stale(read, found, known)


@pytest.mark.parametrize("status", ["stale", "released"])
def test_an_execution_that_has_to_be_replayed_is_not_frozen(ditto: Ditto, status: str) -> None:
    text = refusal(
        lambda: refuse_stale(ditto, "w20240923 w20240930", **{status: "10-06 09-23 10-07", "live": "09-24"}), FREEZE
    )
    assert "executions that have to be replayed: 2024-09-23, 2024-10-06\n" in text
    assert "dbt run --select visits --vars '{execution_date: 2024-10-06}'" in text


def test_stale_executions_of_other_units_are_not_in_the_way(ditto: Ditto) -> None:
    refuse_stale(ditto, "w20240923", stale="09-22 09-30", released="10-07", live="09-24", unfinished="09-25")


@pytest.mark.parametrize("other", ["full", "d20240930", "m20240901"])
def test_units_of_another_granularity_are_not_merged(ditto: Ditto, other: str) -> None:
    """The config was changed, and no run has refused it yet: `visits__full` would be frozen as the year 1."""
    units = [unit(ditto, name) for name in ("w20240923", "frozen_202408", other)]
    text = refusal(lambda: ditto.refuse_freezing_others(settings(ditto), units), FREEZE)
    assert f"units of another one: visits__{other}\n" in text
    ditto.refuse_freezing_others(settings(ditto), units[:2])


# --- the operation, killed before any statement ---------------------------------------------------------------------


class Killed(Exception):
    pass


class World:
    """What the statements of ditto_freeze do to a catalog of days, in their order; tests/chaos has the real engine."""

    def __init__(self, ditto: Ditto, days: list[str], deadline: int = 10**6) -> None:
        self.ditto, self.deadline, self.finished = ditto, deadline, 0
        self.read = settings(ditto, granularity="day")
        self.rows = {f"visits__{day}": 1 for day in days}
        self.immutable: set[str] = set()
        self.shown: list[str] = list(self.rows)

    def facts(self, *_: object) -> dict[str, Any]:
        names = [name.removeprefix("visits__") for name in self.rows]
        known = facts(self.ditto, self.read, names)
        shown = {name.removeprefix("visits__"): ROWS for name in self.shown}
        known |= views(self.ditto, self.read, shown)
        pending = self.ditto.pending_frozen("visits", known["units"], dict.fromkeys(self.shown, ""))
        known |= {"pending": pending, "units": [each for each in known["units"] if each not in pending]}
        hidden = [each["identifier"] for each in self.ditto.shown_units("visits", known["units"])]
        return known | {"known": {name: [*ROWS, SLICE_TIME] for name in hidden if name not in self.shown}}

    def table(self, _: str, name: str) -> dict[str, Any]:
        properties = "[delta.appendOnly=true]" if name in self.immutable else "[]"
        return table(ROWS if name in self.rows else None, properties=properties)

    def send(self, _: str, statement: str) -> None:
        self.deadline -= 1
        if self.deadline < 0:
            raise Killed
        text = sql(statement.replace("\\'", "'"))
        assert text.startswith("begin if (select max(`token`) from `demo`.`ditto_ledger`"), "every statement is fenced"
        text = text[text.index("execute immediate '") :].replace("`demo`.", "").replace("`", "")
        words = text.split()
        if " create or replace table " in text.replace("'", " "):
            sources = [word for place, word in enumerate(words) if words[place - 1] == "from"]
            name = words[words.index("table") + 1]
            assert name not in self.immutable
            self.rows[name] = sum(self.rows[source.strip("';")] for source in sources)
        elif "set tblproperties" in text:
            self.immutable.add(words[words.index("table") + 1])
        elif " view " in text:
            self.shown = [word.strip("';") for place, word in enumerate(words) if words[place - 1] == "from"]
            assert all(name in self.rows for name in self.shown)
        else:
            name = text[text.index("if exists") :].split()[2].strip("';")
            assert name not in self.shown, "readers lose a table"
            self.rows.pop(name, None)

    def count(self, statement: str) -> list[dict[str, int]]:
        words = sql(statement).replace("`demo`.", "").replace("`", "").replace(")", " ").split()
        first, *rest = [word for place, word in enumerate(words) if words[place - 1] == "from" and word != "("]
        return [{"frozen": self.rows[first], "units": sum(self.rows[name] for name in rest if name in self.rows)}]

    def freeze(self, into: str, newest: str, **arguments: Any) -> list[str]:
        def finish(*_: object) -> None:
            self.finished += 1

        known = ledger(generation=1, seq=4, token=2, newest=moment(newest), unfinished=[])
        context = self.ditto.with_context(
            graph={"nodes": {"model.ditto.visits": node(granularity="day")}},
            adapter=SimpleNamespace(check_schema_exists=lambda database, schema: True),
            macros={
                "ledger_exists": lambda: True,
                "ledger_facts": lambda *args, **kwargs: known,
                "_statuses": lambda *args: {},
                "unit_facts": self.facts,
                "table_facts": self.table,
                "claim": lambda plan: {"token": 3},
                "guarded_write": lambda plan, step: self.send(step["name"], step["sql"]),
                "send": self.send,
                "fetch": self.count,
                "finish_operation": finish,
            },
        )
        context.ditto_freeze("visits", into=into, **arguments)
        return context.logs

    def visible(self) -> int:
        return sum(self.rows[name] for name in self.shown)


DAYS = ["d20240929", "d20240930", "d20241001", "d20250101"]


@pytest.mark.parametrize("first", ["month", "year"])
@pytest.mark.parametrize("second", ["month", "year"])
def test_killed_before_any_statement_and_run_again(ditto: Ditto, first: str, second: str) -> None:
    """Also with another `into`: no row is lost or doubled, and in the end no unit is left beside its frozen table."""
    # For each frozen table: make it, make it immutable, switch the view; and drop three units.
    statements = {"month": 3 + 3 + 3, "year": 3 + 3}[first]
    for deadline in range(statements + 1):
        world = World(ditto, DAYS, deadline)
        try:
            world.freeze(first, "2025-01-01")
            assert deadline == statements
        except Killed:
            assert deadline < statements
            assert world.visible() == 4
        world.deadline = 10**6
        world.freeze(second, "2025-01-01")
        assert world.visible() == 4
        if first == second == "month":
            assert sorted(world.rows) == ["visits__d20250101", "visits__frozen_202409", "visits__frozen_202410"]
        world.freeze("year", "2025-01-01")
        assert world.rows == {"visits__frozen_2024": 3, "visits__d20250101": 1}
        assert sorted(world.shown) == sorted(world.rows)
        assert "visits__frozen_2024" in world.immutable


def test_a_dry_run_only_tells(ditto: Ditto) -> None:
    world = World(ditto, DAYS, 0)
    told = world.freeze("month", "2025-01-01", dry_run=True)
    assert told == [
        "ditto: would freeze visits__d20240929, visits__d20240930 into visits__frozen_202409",
        "ditto: would freeze visits__d20241001 into visits__frozen_202410",
    ]
    assert (world.finished, world.rows) == (0, dict.fromkeys((f"visits__{day}" for day in DAYS), 1))
    assert world.freeze("year", "12-31") == ["ditto: visits has no closed year to freeze"]


def test_a_frozen_table_that_is_not_immutable_yet_is_made_again(ditto: Ditto) -> None:
    """A run that died left it; it may have been released, and the units written to since."""
    world = World(ditto, DAYS)
    world.rows["visits__frozen_202409"] = 7
    world.freeze("month", "2025-01-01")
    assert world.rows["visits__frozen_202409"] == 2
    assert world.visible() == 4


def test_frozen_rows_that_are_not_those_of_the_units_stop_it(ditto: Ditto) -> None:
    world = World(ditto, DAYS)
    world.count = lambda statement: [{"frozen": 7, "units": 2}]  # type: ignore[method-assign]
    text = refusal(lambda: world.freeze("month", "2025-01-01"), FREEZE)
    assert "`demo`.`visits__frozen_202409` has 7 rows, its units have 2" in text
    assert "visits__d20240929" in world.rows
    assert world.immutable == set()
