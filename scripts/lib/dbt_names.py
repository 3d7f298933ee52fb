"""The names that dbt itself puts into Jinja, read from the installed dbt without importing the slow part of it."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from dbt_common.clients.jinja import get_environment

# What dbt adds to the context without a decorator, and what Jinja binds inside every macro.
UNDECORATED = frozenset({"context", "builtins", "dbt"})
INSIDE_MACROS = frozenset({"caller", "varargs", "kwargs"})

_DECORATORS = frozenset({"contextmember", "contextproperty"})
_MACRO = re.compile(r"{%-?\s*macro\s+(\w+)")
_PROJECTS = ("global_project", "spark")


@cache
def dbt_macros() -> frozenset[str]:
    """Macros of dbt's global project and of dbt-spark."""
    folders = [_package_folder("dbt.include") / project / "macros" for project in _PROJECTS]
    files = [path for folder in folders for path in folder.rglob("*.sql")]
    return frozenset(name for path in files for name in _MACRO.findall(path.read_text(encoding="utf-8")))


@cache
def context_names() -> frozenset[str]:
    """Variables and functions, such as `ref`, `config` and `return`, and Jinja's own globals, such as `range`."""
    files = [path for path in _package_folder("dbt.context").glob("*.py") if path.stem != "docs"]
    members = {name for path in files for name in _context_members(path)}
    return frozenset(members | UNDECORATED | get_environment().globals.keys())


def _context_members(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.FunctionDef):
            for decorator in node.decorator_list:
                if isinstance(decorator, ast.Call) and getattr(decorator.func, "id", None) in _DECORATORS:
                    yield str(ast.literal_eval(decorator.args[0])) if decorator.args else node.name


def _package_folder(name: str) -> Path:
    spec = find_spec(name)
    if spec is None or not spec.submodule_search_locations:
        raise ModuleNotFoundError(f"{name} is not installed: run this inside the project's environment")
    return Path(next(iter(spec.submodule_search_locations)))
