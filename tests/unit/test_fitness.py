"""What could only fail in the middle of a write is found before it."""

from __future__ import annotations

from typing import Any

import pytest
from dbt_common.exceptions import CompilationError
from macro_harness import Ditto, sql


def columns(**types: str) -> list[dict[str, str]]:
    return [{"name": name, "type": kind} for name, kind in types.items()]


def settings(**changes: Any) -> dict[str, Any]:
    return {
        "subject": "merger model visits",
        "model": "visits",
        "table": "`demo`.`visits`",
        "execution_time": "2024-10-07 00:00:00",
        "unique_key": ["id"],
        "on_schema_change": "ignore",
        "full_refresh": False,
        "dry": False,
        **changes,
    }


@pytest.mark.parametrize(
    ("given", "wanted", "hopeless"),
    [
        ("string", "int", False),
        ("varchar(3)", "timestamp_ntz", False),
        ("bigint", "int", False),
        ("double", "decimal(10,2)", False),
        ("array<int>", "int", True),
        ("map<string,int>", "array<int>", True),
        ("int", "struct<a:int>", True),
        ("int", "string", None),
        ("date", "timestamp", None),
        ("void", "array<int>", None),
        ("array<int>", "array<bigint>", None),
        ("int", "int", None),
    ],
)
def test_types_that_may_not_fit(ditto: Ditto, given: str, wanted: str, hopeless: bool | None) -> None:
    found = ditto.doubtful_columns(columns(ID=given, other="int"), columns(id=wanted))
    expected = [{"name": "ID", "type": given, "wanted": wanted, "hopeless": hopeless}]
    assert found == (expected if hopeless is not None else [])


def test_values_that_do_not_fit_are_named(ditto: Ditto) -> None:
    doubtful = [{"name": "it`s", "type": "string", "wanted": "int", "hopeless": False}]
    text = sql(ditto.misfits_sql(doubtful, "select 1"))
    assert "if(`it``s` is not null and try_cast(`it``s` as int) is null" in text
    assert text.endswith("limit 5")


class Engine:
    """Gives these rows, one list for each statement, and keeps what was asked."""

    def __init__(self, *answers: list[dict[str, str]]) -> None:
        self.answers = list(answers)
        self.asked: list[str] = []

    def fetch(self, text: str) -> list[dict[str, str]]:
        self.asked.append(text)
        return self.answers.pop(0)


def test_misfits_are_looked_for_only_where_types_differ(ditto: Ditto) -> None:
    engine = Engine([{"problem": "id: x"}])
    context = ditto.with_context(macros={"fetch": engine.fetch})
    table = {"type": "table", "columns": columns(id="int")}
    for given, there, changes in (
        ("int", table, {}),
        ("string", {"type": None, "columns": []}, {}),
        ("string", table, {"dry": True}),
        ("string", table, {"full_refresh": True}),
        ("string", table, {"on_schema_change": "fail"}),
    ):
        context.refuse_misfits(settings(**changes), columns(id=given), there, "select 1")
    assert engine.asked == []
    with pytest.raises(CompilationError, match=r"values that are no int; the first of them:\n +- id: x"):
        context.refuse_misfits(settings(), columns(id="string"), table, "select 1")
    with pytest.raises(CompilationError, match=r"column id, a array<int>"):
        context.refuse_misfits(settings(), columns(id="array<int>"), table, "select 1")
    assert len(engine.asked) == 1


def test_conditions_are_asked_of_no_rows_and_the_wrong_one_is_named(ditto: Ditto) -> None:
    given = settings(
        merge_condition="target.a > 1 -- why",
        not_matched_by_source={"condition": "true", "changes": {"b": "1"}},
        audits=[{"kind": "every_row", "sql": "a > 0"}, {"kind": "table", "sql": "count(*) > 0"}],
    )
    asked = ditto.conditions_of(given, columns(a="int"), columns(a="int", b="int"))
    assert [each["option"] for each in asked] == [
        "merge_condition",
        "not_matched_by_source",
        "audits",
        "not_matched_by_source",
    ]
    assert asked[0]["sql"].endswith(" as source where (target.a > 1 -- why\n)")
    assert "(select cast(null as int) as `a` limit 0) as source" in asked[0]["sql"]

    engine = Engine([{"ditto_verdict": "unclear"}], [], [{"ditto_verdict": "unclear"}])
    context = ditto.with_context(macros={"fetch": engine.fetch})
    table = {"type": "table", "columns": columns(a="int", b="int")}
    with pytest.raises(CompilationError) as caught:
        context.refuse_unclear_conditions(given, columns(a="int"), table)
    assert "found:    not_matched_by_source: true, which Spark does not understand" in str(caught.value)
    assert "expected: SQL on target: a, b" in str(caught.value)

    silent = Engine()
    ditto.with_context(macros={"fetch": silent.fetch}).refuse_unclear_conditions(settings(), columns(a="int"), table)
    assert silent.asked == [], "a model without conditions pays nothing"


@pytest.mark.parametrize(
    "kind", ["map<string,int>", "array<map<int,int>>", "struct<a:map<int,int>>", "variant", "void"]
)
def test_a_key_that_cannot_be_compared(ditto: Ditto, kind: str) -> None:
    with pytest.raises(CompilationError, match="unique_key: ID, a "):
        ditto.require_key_types(settings(), columns(ID=kind))
    ditto.require_key_types(settings(), columns(id="struct<a:int>", other=kind))


def test_a_ledger_of_another_shape(ditto: Ditto) -> None:
    context = ditto.with_context(macros={"ledger_table": lambda name="ditto_ledger": f"`demo`.`{name}`"})
    shape = {"type": "table", "provider": "delta", "columns": ditto.ledger_columns()}
    context._refuse_other_shape(shape)
    for other in ({"columns": columns(id="int")}, {"provider": "parquet"}):
        with pytest.raises(CompilationError, match="something else of this name"):
            context._refuse_other_shape(shape | other)
