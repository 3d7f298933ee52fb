"""The project's Jinja files and the macros in them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import jinja2
from dbt_common.clients.jinja import get_environment
from dbt_common.exceptions import CompilationError
from dbt_common.utils.jinja import MACRO_PREFIX
from jinja2 import nodes

# dbt takes snapshot blocks out before Jinja sees the file.
_SNAPSHOT_TAG = re.compile(r"{%-?\s*(?:end)?snapshot\b[^%]*%}")


@dataclass(frozen=True)
class Finding:
    path: Path
    line: int
    message: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.message}"


@dataclass(frozen=True)
class Macro:
    """A macro, a generic test (`test_x`) or a materialization (`materialization_x_spark`)."""

    name: str
    path: Path
    line: int
    node: nodes.Macro

    @property
    def is_plain(self) -> bool:
        return not self.name.startswith(("test_", "materialization_"))

    @property
    def is_public(self) -> bool:
        return self.is_plain and not self.name.startswith("_")

    @property
    def arguments(self) -> list[str]:
        return [] if self.name.startswith("materialization_") else [argument.name for argument in self.node.args]

    @property
    def required(self) -> list[str]:
        return self.arguments[: len(self.arguments) - len(self.node.defaults)]

    def uses(self, name: str) -> bool:
        """Whether the body reads `varargs`, `kwargs` or `caller`, and so accepts it."""
        return any(found.name == name for part in self.node.body for found in _names(part))


@dataclass
class JinjaFile:
    path: Path  # relative to the project
    lines: int
    macros: list[Macro] = field(default_factory=list)
    rest: list[nodes.Node] = field(default_factory=list)  # what stands outside of macros

    @property
    def is_builder(self) -> bool:
        return self.path.name.endswith(("_sql.sql", "_plan.sql"))


def read_files(root: Path, folders: Iterable[str]) -> tuple[list[JinjaFile], list[Finding]]:
    files: list[JinjaFile] = []
    findings: list[Finding] = []
    environment = get_environment()
    for path in sorted(path for folder in folders for path in (root / folder).rglob("*.sql")):
        text = path.read_text(encoding="utf-8")
        try:
            files.append(_read_file(path.relative_to(root), text, environment))
        except jinja2.TemplateSyntaxError as error:
            findings.append(Finding(path.relative_to(root), error.lineno, f"syntax error: {error.message}"))
        except CompilationError as error:
            findings.append(Finding(path.relative_to(root), 1, f"syntax error: {error.msg}"))
    return files, findings


def _read_file(path: Path, text: str, environment: jinja2.Environment) -> JinjaFile:
    template = environment.parse(_SNAPSHOT_TAG.sub(lambda tag: "\n" * tag[0].count("\n"), text))
    file = JinjaFile(path, len(text.splitlines()))
    for node in template.body:
        if isinstance(node, nodes.Macro) and node.name.startswith(MACRO_PREFIX):
            file.macros.append(Macro(node.name.removeprefix(MACRO_PREFIX), path, node.lineno, node))
        elif not isinstance(node, nodes.Macro):  # a docs block is one too
            file.rest.append(node)
    return file


def _names(node: nodes.Node) -> Iterator[nodes.Name]:
    if isinstance(node, nodes.Name):
        yield node
    yield from node.find_all(nodes.Name)
