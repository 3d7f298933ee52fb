"""What the merger tests share: models whose increments are written down in the model itself, one list for each day."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

from tests.support import Outcome, Project

Row = tuple[Any, ...]


def literal(value: object) -> str:
    if value is None:
        return "null"
    if isinstance(value, str):
        return "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"
    return str(value).lower()


def increments(columns: dict[str, str], days: dict[str, Sequence[Row]], ending: str = "") -> str:
    """A SELECT that gives the rows of the execution date. A type may be Jinja: it can change from day to day."""
    rows = [f"({', '.join(literal(value) for value in (day, *row))})" for day, given in days.items() for row in given]
    inner = ", ".join(f"c{number}" for number in range(len(columns)))
    casts = ", ".join(
        f"cast(c{number} as {type_}) as `{name.replace('`', '``')}`"
        for number, (name, type_) in enumerate(columns.items())
    )
    return f"""select {casts}
from values {", ".join(rows)} as feed (day, {inner})
where day = '{{{{ ditto.execution_date() }}}}'{ending}"""


def add_model(
    project: Project,
    name: str,
    columns: dict[str, str],
    days: dict[str, Sequence[Row]],
    ending: str = "",
    **config: object,
) -> None:
    project.model(name, increments(columns, days, ending), **({"materialized": "merger"} | config))


def in_order(rows: Iterable[Row]) -> list[Row]:
    return sorted(rows, key=repr)


def message(refused: Outcome, name: str) -> str:
    """The error of a model: in our form, without a stack trace."""
    text = str(refused.node(name).message)
    assert re.search(r"found: .*expected: .*fix: ", text, re.DOTALL), text
    assert "Exception" not in text
    assert "at org.apache" not in text
    return text


def listed(text: str) -> list[str]:
    return re.findall(r"^ +- (.*)$", text, re.MULTILINE)
