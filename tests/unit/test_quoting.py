"""Identifiers, values and relations become text in one way, whatever they contain."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from macro_harness import Ditto, library

from tests.support import ROOT

PACKAGE = Ditto(library(ROOT / "macros", ROOT / "tests" / "dbt" / "generic"))


@pytest.mark.parametrize(
    ("name", "quoted"),
    [("day", "`day`"), ("a b", "`a b`"), ("a`b", "`a``b`"), ("`", "````"), ("a'b;--", "`a'b;--`"), (7, "`7`")],
)
def test_identifiers_stand_in_backticks(ditto: Ditto, name: object, quoted: str) -> None:
    assert ditto.quote(name) == quoted


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (None, "null"),
        ("", "''"),
        ("it's", r"'it\'s'"),
        ("''", r"'\'\''"),
        ("\\", r"'\\'"),
        ("\\'", r"'\\\''"),
        ("a`b", "'a`b'"),
        ('"', "'\"'"),
        ("x'; drop table y; --", r"'x\'; drop table y; --'"),
        ("line\nbreak", "'line\nbreak'"),
        (7, "'7'"),
        (0, "'0'"),
        (False, "'False'"),
    ],
)
def test_values_are_string_literals(ditto: Ditto, value: object, expected: str) -> None:
    assert ditto.literal(value) == expected


@given(st.text(alphabet="ab'\\`\"\n;-% $"))
def test_no_value_ends_its_literal(value: str) -> None:
    """Read back the way Spark does: a backslash takes the next character, and only the last quote closes."""
    literal = PACKAGE.literal(value)
    assert re.fullmatch(r"'(?:[^'\\]|\\.)*'", literal, re.DOTALL)
    assert re.sub(r"\\(.)", r"\1", literal[1:-1], flags=re.DOTALL) == value


@given(st.text(alphabet="ab'\\`; "))
def test_no_name_ends_its_backticks(name: str) -> None:
    quoted = PACKAGE.quote(name)
    assert re.fullmatch("`(?:[^`]|``)*`", quoted)
    assert quoted[1:-1].replace("``", "`") == name


def test_typed_literals(ditto: Ditto) -> None:
    assert ditto.typed_literal("a'b", "string") == r"cast('a\'b' as string)"
    assert ditto.typed_literal(None, "bigint") == "cast(null as bigint)"
    assert ditto.typed_literal(7, "bigint") == "cast('7' as bigint)"


def test_lists_of_identifiers(ditto: Ditto) -> None:
    assert ditto.quote_all(["a", "b`c"]) == "`a`, `b``c`"
    assert ditto.quote_all(["a", "b"], "target.") == "target.`a`, target.`b`"
    assert ditto.quote_all([]) == ""


def test_relations(ditto: Ditto) -> None:
    assert ditto.table_name("my schema", "it's") == "`my schema`.`it's`"
    assert ditto.relation_key("Demo", "Visits") == "demo.visits"


def test_names_of_columns_ignore_case(ditto: Ditto) -> None:
    assert ditto.lower_names(["A", {"name": "B", "type": "int"}]) == ["a", "b"]
