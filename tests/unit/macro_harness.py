"""Call the package's macros from Python: dbt's own Jinja, no dbt project, no Spark.

Each macro is compiled on its own, from its own block, exactly as dbt does it: a macro sees its arguments and the
context, nothing else of its file. Where dbt is silent about a mistake, the harness is not: see `StrictName` and
`StrictAttribute`.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NoReturn

import jinja2
from dbt.adapters.spark.column import SparkColumn
from dbt.adapters.spark.relation import SparkRelation
from dbt.context.base import BaseContext, Var, get_context_modules
from dbt.context.exceptions_jinja import wrapped_exports
from dbt_common.clients.jinja import BlockTag, extract_toplevel_blocks, get_environment
from dbt_common.exceptions.macros import MacroReturn
from dbt_common.utils.jinja import get_dbt_macro_name
from jinja2.runtime import StrictUndefined, Undefined
from jinja2.utils import missing

PACKAGE = "ditto"
INVOCATION_ID = "00000000-0000-0000-0000-000000000001"
STARTED_AT = datetime.datetime(2024, 10, 7, 12, 0, 0, tzinfo=datetime.UTC)

_BLOCK_NAMES = {"macro": "{}", "test": "test_{}", "materialization": "materialization_{}_{}"}
_ADAPTER = re.compile(r"adapter\s*=\s*['\"](\w+)['\"]")
_QUOTED = re.compile(r"""('(?:[^'\\]|\\.|'')*'|"(?:[^"\\]|\\.)*"|`[^`]*`)""", re.DOTALL)
_LINE_COMMENT = re.compile(r"--[^\n]*")
_BLOCK_COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)


def sql(text: str) -> str:
    """Normalise SQL for a comparison: white space and comments do not count, quoted text is kept as it is."""
    parts = _QUOTED.split(_without_comments(text))
    parts[::2] = [re.sub(r"\s+", " ", part) for part in parts[::2]]
    joined = "".join(parts).strip()
    parts = _QUOTED.split(joined)
    parts[::2] = [re.sub(r"(?<=\() | (?=[),;])", "", part) for part in parts[::2]]
    return "".join(parts).removesuffix(";").strip()


def _without_comments(text: str) -> str:
    token = re.compile(f"{_QUOTED.pattern}|({_LINE_COMMENT.pattern}|{_BLOCK_COMMENT.pattern})", re.DOTALL)
    return token.sub(lambda match: match[1] if match[1] is not None else " ", text)


# --- undefined names ------------------------------------------------------------------------------------------------


class StrictAttribute(StrictUndefined):
    """A key or attribute that is not there: it may be tested and compared, as in dbt, but never becomes text."""

    __slots__ = ()

    def __bool__(self) -> bool:
        return False

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other)

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return id(type(self))


class StrictName(Undefined):
    """A name that nothing defines: any use of it raises, except `is defined` and `default`."""

    __slots__ = ()

    def __new__(
        cls,
        hint: str | None = None,
        obj: object = missing,
        name: str | None = None,
        exc: type[jinja2.TemplateRuntimeError] = jinja2.UndefinedError,
    ) -> Undefined:
        kind = StrictUndefined if obj is missing else StrictAttribute
        return kind(hint, obj, name, exc)


# --- macro files ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class MacroSource:
    name: str
    path: Path
    text: str  # padded with newlines, so that line numbers are those of the file


def read_macros(path: Path) -> Iterator[MacroSource]:
    """The macros, tests and materializations of one file, under the names that dbt gives them."""
    text = path.read_text(encoding="utf-8")
    position = 0
    for block in extract_toplevel_blocks(text, allowed_blocks=set(_BLOCK_NAMES), collect_raw_data=False):
        position = text.index(block.full_block, position)
        padding = "\n" * text.count("\n", 0, position)
        yield MacroSource(_macro_name(block), path, padding + block.full_block)
        position += len(block.full_block)


def _macro_name(block: BlockTag) -> str:
    head = block.full_block[: block.full_block.index("%}")]
    adapter = _ADAPTER.search(head)
    return _BLOCK_NAMES[block.block_type_name].format(block.block_name, adapter[1] if adapter else "default")


class MacroLibrary:
    """Every macro below some folders, compiled when it is first called."""

    def __init__(self, *folders: Path) -> None:
        self.sources: dict[str, MacroSource] = {}
        self.environment = get_environment()
        self.environment.undefined = StrictName
        self._templates: dict[str, jinja2.Template] = {}
        for path in sorted(path for folder in folders for path in folder.rglob("*.sql")):
            for source in read_macros(path):
                self._add(source)

    def _add(self, source: MacroSource) -> None:
        other = self.sources.get(source.name)
        if other:
            raise ValueError(f"macro {source.name} is defined twice: {other.path} and {source.path}")
        self.sources[source.name] = source

    def template(self, name: str) -> jinja2.Template:
        if name not in self._templates:
            source = self.sources[name]
            code = self.environment.compile(source.text, name, str(source.path))
            self._templates[name] = self.environment.template_class.from_code(
                self.environment, code, self.environment.make_globals(None)
            )
        return self._templates[name]


@cache
def library(*folders: Path) -> MacroLibrary:
    return MacroLibrary(*folders)


# --- what stands in for dbt's context -------------------------------------------------------------------------------


def impure(what: str) -> Callable[..., NoReturn]:
    """A stand-in for something that needs a database: whoever calls it is not pure."""

    def refuse(*args: object, **kwargs: object) -> NoReturn:
        raise AssertionError(f"a pure macro {what}")

    return refuse


class ImpureAdapter:
    """`adapter`: every method refuses; `adapter.dispatch` too, since ditto calls its own macros by name."""

    def __getattr__(self, name: str) -> Callable[..., NoReturn]:
        if name.startswith("_"):
            raise AttributeError(name)
        return impure(f"called adapter.{name}")


class Config(dict[str, Any]):
    """`config`: as a macro sees a model's config."""

    def __call__(self, *args: object, **kwargs: object) -> str:
        return ""

    def require(self, name: str) -> object:
        if name not in self:
            wrapped_exports(None)["raise_compiler_error"](f"the config {name!r} is required")
        return self[name]

    def persist_relation_docs(self) -> bool:
        return bool(self.get("persist_docs", {}).get("relation", False))

    def persist_column_docs(self) -> bool:
        return bool(self.get("persist_docs", {}).get("columns", False))


def relation(identifier: str, schema: str = "demo", kind: str | None = "table") -> SparkRelation:
    """A relation as dbt-spark makes it; it renders as schema.identifier."""
    return SparkRelation.create(schema=schema, identifier=identifier, type=kind)


def default_flags() -> dict[str, Any]:
    return {"EMPTY": False, "SAMPLE": None, "FULL_REFRESH": False, "WHICH": "run"}


def default_model(this: SparkRelation) -> dict[str, Any]:
    return {
        "name": this.identifier,
        "alias": this.identifier,
        "schema": this.schema,
        "unique_id": f"model.{PACKAGE}.{this.identifier}",
        "resource_type": "model",
        "package_name": PACKAGE,
        "original_file_path": f"models/{this.identifier}.sql",
        "columns": {},
        "config": {},
        "depends_on": {"nodes": [], "macros": []},
        "compiled_code": "select 1 as id",
    }


def default_context(logs: list[str], warnings: list[str]) -> dict[str, Any]:
    base = BaseContext({}).generate_builtins()
    this = relation("model")
    exceptions = wrapped_exports(None) | {"warn": _collect(warnings)}
    return base | {
        "modules": get_context_modules(),
        "var": Var({}, {}),
        "log": _collect(logs),
        "print": _collect(logs),
        "exceptions": exceptions,
        "execute": True,
        "flags": SimpleNamespace(**default_flags()),
        "invocation_id": INVOCATION_ID,
        "invocation_args_dict": {},
        "run_started_at": STARTED_AT,
        "target": {"name": "dev", "profile_name": PACKAGE, "type": "spark", "schema": "demo", "threads": 1},
        "this": this,
        "model": default_model(this),
        "graph": {"nodes": {}, "sources": {}, "exposures": {}, "metrics": {}},
        "config": Config(),
        "api": SimpleNamespace(Relation=SparkRelation, Column=SparkColumn),
        "ref": lambda *names, **kwargs: relation(names[-1]),
        "source": lambda source, name: relation(name, schema=source),
        "adapter": ImpureAdapter(),
        "run_query": impure("ran SQL"),
        "statement": impure("ran SQL"),
        "load_result": impure("read a result"),
    }


def _collect(lines: list[str]) -> Callable[..., str]:
    def collect(message: object, *args: object, **kwargs: object) -> str:
        lines.append(str(message))
        return ""

    return collect


# What a test may write in short, and how it becomes what dbt would give.
_SHORTHANDS: dict[str, Callable[[Mapping[str, Any], Any], Any]] = {
    "var": lambda context, value: Var({}, value),
    "config": lambda context, value: Config(value),
    "flags": lambda context, value: SimpleNamespace(**(vars(context["flags"]) | value)),
    "target": lambda context, value: context["target"] | value,
    "model": lambda context, value: context["model"] | value,
    "graph": lambda context, value: context["graph"] | value,
}


# --- calling macros -------------------------------------------------------------------------------------------------


class Namespace(dict[str, Callable[..., Any]]):
    """The package's macros by name, each made when it is first asked for: a test calls few of them."""

    def __init__(self, macros: MacroLibrary, make: Callable[[str], Callable[..., Any]]) -> None:
        super().__init__()
        self.macros, self.make = macros, make

    def __missing__(self, name: str) -> Callable[..., Any]:
        if name not in self.macros.sources:
            raise KeyError(name)
        self[name] = self.make(name)
        return self[name]


class Ditto:
    """The package, seen from a test: `ditto.quote('a')` is what `{{ ditto.quote('a') }}` is in a macro."""

    def __init__(self, macros: MacroLibrary, overrides: Mapping[str, Any] | None = None) -> None:
        self.logs: list[str] = []
        self.warnings: list[str] = []
        self._macros = macros
        self._overrides = dict(overrides or {})
        self._depth = 0
        self._namespace = Namespace(macros, self._caller)
        self._context = self._build_context()
        self._compiled: dict[str, Callable[..., Any]] = {}

    def with_context(self, **overrides: object) -> Ditto:
        """The same package in another context.

        `var`, `config`, `flags`, `target`, `model` and `graph` take a dict; `macros` takes {name: function} and
        replaces own macros; every other name stands in the context as it is given.
        """
        return Ditto(self._macros, self._overrides | overrides)

    def render(self, text: str, **names: object) -> str:
        """Render a piece of Jinja, such as a model, in this context."""
        template = self._macros.environment.from_string(text)
        return template.render(self._context | names)

    def __getattr__(self, name: str) -> Callable[..., Any]:
        try:
            return self.__dict__["_namespace"][name]
        except KeyError:
            raise AttributeError(f"no macro is named {name}") from None

    def _build_context(self) -> dict[str, Any]:
        context = default_context(self.logs, self.warnings)
        for name, value in self._overrides.items():
            if name == "macros":
                self._namespace.update(value)
            elif name in _SHORTHANDS and isinstance(value, Mapping):
                context[name] = _SHORTHANDS[name](context, value)
            else:
                context[name] = value
        context[PACKAGE] = self._namespace
        context["context"] = context
        return context

    def _caller(self, name: str) -> Callable[..., Any]:
        def call(*args: object, **kwargs: object) -> object:
            self._depth += 1
            try:
                return str(self._macro(name)(*args, **kwargs))
            except MacroReturn as returned:
                return returned.value
            except Exception:
                if self._depth > 1:
                    raise  # whoever called it, at the latest the test's own call, does the rest for all of them
                self._macros.environment.handle_exception()  # raises it again, with the macros' files and lines
            finally:
                self._depth -= 1

        call.__name__ = name
        return call

    def _macro(self, name: str) -> Callable[..., Any]:
        if name not in self._compiled:
            module = self._macros.template(name).make_module(vars=self._context, shared=False)
            self._compiled[name] = vars(module)[get_dbt_macro_name(name)]
        return self._compiled[name]
