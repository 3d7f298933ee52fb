"""Which columns ditto_evolve_units adds to which units."""

from __future__ import annotations

from typing import Any

import pytest
from fast_metadata_cleaner_model import ROWS, SLICE_TIME, facts, node, settings, unit
from macro_harness import Ditto
from merger_model import columns

WIDE = columns(id="int", page="string", browser="string")
NOT_NULL = {"constraints": [{"type": "not_null"}]}


def missing(ditto: Ditto, known: dict[str, Any], name: str, *more: dict[str, Any]) -> list[str]:
    texts = [known["view"]["text"], *(chunk["text"] for chunk in known["chunks"])]
    wanted = [*known["view"]["columns"], *more]
    found = ditto.missing_columns(wanted, known, ditto.parse_branches(texts), unit(ditto, name))
    return [column["name"] for column in found]


def test_the_view_tells_what_a_unit_lacks(ditto: Ditto) -> None:
    known = facts(ditto, settings(ditto), {"w20240930": ROWS, "w20241007": WIDE})
    assert missing(ditto, known, "w20240930") == ["browser"]
    assert missing(ditto, known, "w20241007") == []


def test_what_was_described_is_truer_than_the_view(ditto: Ditto) -> None:
    known = facts(ditto, settings(ditto), {"w20240930": ROWS, "w20241007": WIDE})
    known["known"] = {"visits__w20240930": [*WIDE, SLICE_TIME], "visits__w20241007": [*ROWS, SLICE_TIME]}
    assert missing(ditto, known, "w20240930") == []
    assert missing(ditto, known, "w20241007") == ["browser"]


def test_a_column_that_the_view_does_not_have_yet_is_lacking_everywhere(ditto: Ditto) -> None:
    known = facts(ditto, settings(ditto), {"w20240930": ROWS, "w20241007": WIDE})
    new = {"name": "Referrer", "type": "string"}
    assert missing(ditto, known, "w20240930", new) == ["browser", "Referrer"]
    assert missing(ditto, known, "w20241007", new) == ["Referrer"]


def test_names_in_another_case_are_the_same_columns(ditto: Ditto) -> None:
    known = facts(ditto, settings(ditto), {"w20240930": ROWS, "w20241007": WIDE})
    again = {"name": "BROWSER", "type": "string"}
    assert missing(ditto, known, "w20241007", again) == []
    known["known"] = {"visits__w20241007": columns(ID="int", PAGE="string", Browser="string")}
    assert missing(ditto, known, "w20241007", again) == []


# --- columns of the yml ---------------------------------------------------------------------------------------------


def declared(ditto: Ditto, yml: dict[str, dict[str, Any]], **config: Any) -> list[str]:
    found = ditto.declared_columns(node(columns=yml, **config), ROWS)
    return [f"{column['name']} {column['type']}" for column in found]


def test_new_columns_of_the_yml_that_have_a_type(ditto: Ditto) -> None:
    yml: dict[str, dict[str, Any]] = {
        "ID": {"data_type": "int"},
        "browser": {"data_type": "decimal(3,1)"},
        "referrer": {"data_type": None},
        "country": {},
    }
    assert declared(ditto, yml) == ["browser decimal(3,1)"]
    assert declared(ditto, {}) == []
    assert ditto.declared_columns(node(columns=None), ROWS) == []


def test_what_the_view_makes_itself_is_no_column_of_a_unit(ditto: Ditto) -> None:
    """Documented, and the view has not been made anew since the config got them."""
    yml = {"Loaded_For": {"data_type": "timestamp_ntz"}, "week": {"data_type": "date"}}
    assert declared(ditto, yml, execution_time_column="loaded_for", meta={"unit_column": "WEEK"}) == []
    assert declared(ditto, yml) == ["Loaded_For timestamp_ntz", "week date"]


@pytest.mark.parametrize(("enforced", "expected"), [(True, ["id", "page"]), (False, ["id", "page", "browser"])])
def test_a_column_that_may_not_be_null_is_not_added_as_null(ditto: Ditto, enforced: bool, expected: list[str]) -> None:
    """The unit has to be replayed; had it the column, ditto_plan would not say so any more."""
    model = node(columns={"BROWSER": NOT_NULL, "page": {"constraints": []}}, contract={"enforced": enforced})
    assert [column["name"] for column in ditto.optional_columns(model, WIDE)] == expected
    assert ditto.optional_columns(node(), WIDE) == WIDE
