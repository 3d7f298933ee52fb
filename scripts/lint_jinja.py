#!/usr/bin/env python3
"""Lint the project's Jinja: what dbt would accept silently, or report only in a consumer's project.

    python scripts/lint_jinja.py [PROJECT]

Findings are printed as `path:line: message`, and the exit code is 1 if there are any. Neither Spark nor a dbt project
is loaded: the files are parsed with dbt's own Jinja environment.
"""

from __future__ import annotations

import argparse
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import yaml
from jinja2 import nodes
from lib.dbt_names import INSIDE_MACROS, context_names, dbt_macros
from lib.jinja_scope import Endings, FreeAttribute, FreeName, FreeNames
from lib.jinja_source import Finding, JinjaFile, Macro, read_files

FOLDERS = ("macros", "models", "tests/dbt", "snapshots")
DOCUMENTED_FOLDERS = ("macros", "tests/dbt")
MAX_LINES = 140

# What a builder or a plan may not touch, since it would depend on more than its arguments.
IMPURE_NAMES = frozenset({"run_query", "statement", "load_result", "config", "submit_python_job"})
PURE_ADAPTER_METHODS = frozenset({"quote", "dispatch"})


@dataclass(frozen=True)
class Unit:
    """A macro, or the text of a model or a test, with the names it takes from outside."""

    file: JinjaFile
    macro: Macro | None
    names: list[FreeName]
    attributes: list[FreeAttribute]


@dataclass(frozen=True)
class Documented:
    name: str
    path: Path
    line: int
    described: bool
    arguments: list[str]


class Project:
    """Everything the rules look at."""

    def __init__(self, root: Path) -> None:
        self.package = _package_name(root)
        self.files, self.syntax_errors = read_files(root, FOLDERS)
        self.documented = list(read_documented(root))
        self.definitions: dict[str, list[Macro]] = defaultdict(list)
        for macro in (macro for file in self.files for macro in file.macros):
            self.definitions[macro.name].append(macro)
        self.macros = {name: macros[0] for name, macros in self.definitions.items()}
        self.dbt_macros = dbt_macros()
        self.known = context_names() | self.dbt_macros | {self.package}
        endings = Endings(self.package, raising_macros(self.package, self.macros.values()))
        self.units = [unit for file in self.files for unit in read_units(file, endings)]


def _package_name(root: Path) -> str:
    return str(yaml.safe_load((root / "dbt_project.yml").read_text(encoding="utf-8"))["name"])


def raising_macros(package: str, macros: Iterable[Macro]) -> set[str]:
    """Macros that never come back, such as the one that raises every error; and those that always call one of them."""
    bodies = {macro.name: macro.node.body for macro in macros}
    raising: set[str] = set()
    while True:
        endings = Endings(package, raising)
        found = {name for name, body in bodies.items() if endings.ends(body, by_return=False)}
        if found == raising:
            return raising
        raising = found


def read_units(file: JinjaFile, endings: Endings) -> Iterator[Unit]:
    for macro in file.macros:
        yield _unit(file, macro, [macro.node], endings)
    if file.rest:
        yield _unit(file, None, file.rest, endings)


def _unit(file: JinjaFile, macro: Macro | None, body: list[nodes.Node], endings: Endings) -> Unit:
    visitor = FreeNames(endings)
    for node in body:
        visitor.visit(node)
    return Unit(file, macro, visitor.names, visitor.attributes)


def read_documented(root: Path) -> Iterator[Documented]:
    for path in sorted(path for folder in DOCUMENTED_FOLDERS for path in (root / folder).rglob("*.y*ml")):
        tree = yaml.compose(path.read_text(encoding="utf-8"), Loader=yaml.SafeLoader)
        for entry in _items(_mapping(tree).get("macros")):
            fields = _mapping(entry)
            arguments = [_text(_mapping(argument).get("name")) for argument in _items(fields.get("arguments"))]
            line = entry.start_mark.line + 1
            described = bool(_text(fields.get("description")).strip())
            yield Documented(_text(fields.get("name")), path.relative_to(root), line, described, arguments)


def _mapping(node: yaml.Node | None) -> dict[str, yaml.Node]:
    return {key.value: value for key, value in node.value} if isinstance(node, yaml.MappingNode) else {}


def _items(node: yaml.Node | None) -> list[yaml.Node]:
    return node.value if isinstance(node, yaml.SequenceNode) else []


def _text(node: yaml.Node | None) -> str:
    return str(node.value) if isinstance(node, yaml.ScalarNode) else ""


# --- names ----------------------------------------------------------------------------------------------------------


def undefined_names(project: Project) -> Iterator[Finding]:
    for unit in project.units:
        known = project.known | (INSIDE_MACROS if unit.macro else frozenset())
        for use in unit.names:
            if use.name in known or use.name in project.macros:
                continue
            problem = "is set only in some branches before this line" if use.in_some_branches else "is not defined"
            yield Finding(unit.file.path, use.line, f"{use.name!r} {problem}: dbt would take it as false")


def missing_prefix(project: Project) -> Iterator[Finding]:
    for unit in project.units:
        for use in unit.names:
            if use.name in project.macros:
                own = f"{project.package}.{use.name}"
                yield Finding(
                    unit.file.path, use.line, f"call {own}: {use.name!r} alone is unknown to a consumer's project"
                )


# --- calls ----------------------------------------------------------------------------------------------------------


def wrong_calls(project: Project) -> Iterator[Finding]:
    for unit in project.units:
        for use in unit.attributes:
            for problem in _call_problems(project, use):
                yield Finding(unit.file.path, use.line, f"{use.base}.{use.name}: {problem}")


def _call_problems(project: Project, use: FreeAttribute) -> Iterator[str]:
    if use.base == "dbt" and use.name not in project.dbt_macros:
        yield "dbt has no such macro"
    if use.base == project.package:
        macro = project.macros.get(use.name)
        if macro is None:
            yield "there is no such macro"
        elif use.call is not None:
            yield from _argument_problems(macro, use.call, use.by_call_block)


def _argument_problems(macro: Macro, call: nodes.Call, by_call_block: bool) -> Iterator[str]:
    keywords = [keyword.key for keyword in call.kwargs] + (["caller"] if by_call_block else [])
    positional = macro.arguments[: len(call.args)]
    surplus = len(call.args) - len(macro.arguments)
    if surplus > 0 and not macro.uses("varargs"):
        yield f"takes at most {len(macro.arguments)} arguments, {len(call.args)} are given"
    for keyword in keywords:
        if keyword in positional:
            yield f"argument {keyword!r} is given twice"
        elif keyword not in macro.arguments and not _accepts(macro, keyword):
            yield f"has no argument {keyword!r}"
    if call.dyn_args is None and call.dyn_kwargs is None:
        for name in macro.required:
            if name not in positional and name not in keywords:
                yield f"argument {name!r} is missing"


def _accepts(macro: Macro, keyword: str) -> bool:
    return macro.uses("caller") if keyword == "caller" else macro.uses("kwargs")


# --- definitions ----------------------------------------------------------------------------------------------------


def defined_twice(project: Project) -> Iterator[Finding]:
    for name, (first, *others) in project.definitions.items():
        for other in others:
            yield Finding(other.path, other.line, f"macro {name!r} is already defined at {first.path}:{first.line}")


def unreachable_names(project: Project) -> Iterator[Finding]:
    """A package is a dict in Jinja, so that `ditto.items` is the method of the dict and never the macro."""
    for macro in project.macros.values():
        if hasattr(dict, macro.name):
            yield Finding(
                macro.path, macro.line, f"macro {macro.name!r} cannot be called: a dict has a method of that name"
            )


def long_files(project: Project) -> Iterator[Finding]:
    for file in project.files:
        if file.path.parts[0] == "macros" and file.lines > MAX_LINES:
            yield Finding(file.path, MAX_LINES + 1, f"{file.lines} lines, at most {MAX_LINES}: a name is missing")


# --- documentation --------------------------------------------------------------------------------------------------


def undocumented(project: Project) -> Iterator[Finding]:
    documented = {entry.name for entry in project.documented}
    for macro in project.macros.values():
        if macro.is_public and macro.name not in documented:
            yield Finding(macro.path, macro.line, f"macro {macro.name!r} is documented in no yml file")


def wrong_documentation(project: Project) -> Iterator[Finding]:
    seen: set[str] = set()
    for entry in project.documented:
        for problem in _documentation_problems(entry, project.macros.get(entry.name), entry.name in seen):
            yield Finding(entry.path, entry.line, f"macro {entry.name!r} {problem}")
        seen.add(entry.name)


def _documentation_problems(entry: Documented, macro: Macro | None, again: bool) -> Iterator[str]:
    if again:
        yield "is documented twice"
    if not entry.described:
        yield "has no description"
    if macro is None:
        yield "does not exist"
    elif entry.arguments != macro.arguments:
        yield f"is documented with arguments ({_joined(entry.arguments)}) but has ({_joined(macro.arguments)})"


def _joined(names: list[str]) -> str:
    return ", ".join(names)


# --- purity ---------------------------------------------------------------------------------------------------------


def impure_builders(project: Project) -> Iterator[Finding]:
    tainted = _tainted_macros(project)
    for unit in project.units:
        if unit.file.is_builder:
            for line, what in _impure_uses(unit):
                yield Finding(unit.file.path, line, f"{what}: builders and plans are pure")
            for use in unit.attributes:
                if use.base == project.package and use.name in tainted:
                    text = f"{use.base}.{use.name} is not pure (it uses {tainted[use.name]}): builders and plans are"
                    yield Finding(unit.file.path, use.line, text)


def _impure_uses(unit: Unit) -> Iterator[tuple[int, str]]:
    for name in unit.names:
        if name.name in IMPURE_NAMES:
            yield name.line, name.name
    for use in unit.attributes:
        if use.base == "adapter" and use.name not in PURE_ADAPTER_METHODS:
            yield use.line, f"adapter.{use.name}"
        elif use.base in ("dbt", "context", "builtins") and use.name in IMPURE_NAMES:
            yield use.line, f"{use.base}.{use.name}"


def _tainted_macros(project: Project) -> dict[str, str]:
    """Own macros outside of the builders' files that are impure themselves or call one that is, and by what."""
    outside = [unit for unit in project.units if unit.macro and not unit.file.is_builder]
    tainted = {unit.macro.name: what for unit in outside for _, what in _impure_uses(unit) if unit.macro}
    while True:
        more = {
            unit.macro.name: tainted[use.name]
            for unit in outside
            for use in unit.attributes
            if unit.macro and unit.macro.name not in tainted and use.base == project.package and use.name in tainted
        }
        if not more:
            return tainted
        tainted |= more


# --- command --------------------------------------------------------------------------------------------------------

RULES = (
    undefined_names,
    missing_prefix,
    wrong_calls,
    defined_twice,
    unreachable_names,
    long_files,
    undocumented,
    wrong_documentation,
    impure_builders,
)


def lint(root: Path) -> tuple[list[Finding], Project]:
    project = Project(root)
    findings = {finding for rule in RULES for finding in rule(project)} | set(project.syntax_errors)
    return sorted(findings, key=lambda finding: (str(finding.path), finding.line, finding.message)), project


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Lint the Jinja of a dbt package.")
    parser.add_argument("project", nargs="?", type=Path, default=Path(__file__).resolve().parents[1])
    findings, project = lint(parser.parse_args(arguments).project)
    for finding in findings:
        print(finding)
    if findings:
        print(f"{len(findings)} findings", file=sys.stderr)
        return 1
    print(f"Jinja: {len(project.macros)} macros in {len(project.files)} files, no findings")
    return 0


if __name__ == "__main__":
    sys.exit(main())
