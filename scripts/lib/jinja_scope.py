"""Which names a piece of Jinja takes from outside: a walk over the syntax tree that follows Jinja's scopes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from jinja2 import nodes
from jinja2.visitor import NodeVisitor

_GUARDS = frozenset({"defined", "undefined", "default", "d"})


@dataclass(frozen=True)
class FreeName:
    """A name that is read and was not set before, or only in some branches."""

    name: str
    line: int
    in_some_branches: bool = False


@dataclass(frozen=True)
class FreeAttribute:
    """`base.name` where base comes from outside; with the call, if it is called."""

    base: str
    name: str
    line: int
    call: nodes.Call | None = None
    by_call_block: bool = False


@dataclass
class Scope:
    names: set[str] = field(default_factory=set)
    sometimes: set[str] = field(default_factory=set)

    def child(self, names: Iterable[str] = ()) -> Scope:
        return Scope(self.names | set(names), self.sometimes - set(names))

    def bind(self, name: str) -> None:
        self.names.add(name)
        self.sometimes.discard(name)

    def join(self, branches: list[Scope]) -> None:
        """Go on after an if: what every branch has set is set, what one of them has set may be."""
        some = set().union(*(branch.names | branch.sometimes for branch in branches))
        self.names |= set.intersection(*(branch.names for branch in branches)) if branches else some
        self.sometimes = (self.sometimes | some) - self.names


class Endings:
    """Which statements never reach the next one: `return`, an error of dbt, or a macro that always ends in an error."""

    def __init__(self, package: str, raising: Iterable[str] = ()) -> None:
        self.package = package
        self.raising = frozenset(raising)

    def ends(self, body: Iterable[nodes.Node], by_return: bool = True) -> bool:
        return any(self._ends(statement, by_return) for statement in body)

    def _ends(self, node: nodes.Node, by_return: bool) -> bool:
        if isinstance(node, nodes.Break | nodes.Continue):
            return by_return
        if isinstance(node, nodes.If):
            bodies = [node.body, *(branch.body for branch in node.elif_), node.else_]
            return all(self.ends(body, by_return) for body in bodies)
        if isinstance(node, nodes.ExprStmt):
            return self._call_ends(node.node, by_return)
        if isinstance(node, nodes.Output):
            return any(self._call_ends(part, by_return) for part in node.nodes)
        return False

    def _call_ends(self, node: nodes.Node, by_return: bool) -> bool:
        if not isinstance(node, nodes.Call):
            return False
        called = node.node
        if isinstance(called, nodes.Name):
            return by_return and called.name == "return"
        if not (isinstance(called, nodes.Getattr) and isinstance(called.node, nodes.Name)):
            return False
        if called.node.name == "exceptions":
            return called.attr.startswith("raise_")
        return called.node.name == self.package and called.attr in self.raising


class FreeNames(NodeVisitor):
    """Collects the free names and attributes of a template or a macro."""

    def __init__(self, endings: Endings) -> None:
        self.names: list[FreeName] = []
        self.attributes: list[FreeAttribute] = []
        self._endings = endings
        self._scope = Scope()
        self._call: nodes.Call | None = None
        self._block_call: nodes.Call | None = None

    @contextmanager
    def _inner(self, names: Iterable[str] = ()) -> Iterator[Scope]:
        outer, self._scope = self._scope, self._scope.child(names)
        try:
            yield self._scope
        finally:
            self._scope = outer

    def _visit_all(self, items: Iterable[nodes.Node]) -> None:
        for item in items:
            self.visit(item)

    # names

    def visit_Name(self, node: nodes.Name) -> None:
        if node.ctx != "load":
            self._scope.bind(node.name)
        elif node.name not in self._scope.names:
            self.names.append(FreeName(node.name, node.lineno, node.name in self._scope.sometimes))

    def visit_NSRef(self, node: nodes.NSRef) -> None:
        if node.name not in self._scope.names:
            self.names.append(FreeName(node.name, node.lineno, node.name in self._scope.sometimes))

    def visit_Getattr(self, node: nodes.Getattr) -> None:
        base = node.node
        if isinstance(base, nodes.Name) and base.name not in self._scope.names:
            call = self._call if self._call is not None and self._call.node is node else None
            by_block = call is not None and call is self._block_call
            self.attributes.append(FreeAttribute(base.name, node.attr, node.lineno, call, by_block))
        self.generic_visit(node)

    def visit_Call(self, node: nodes.Call) -> None:
        outer, self._call = self._call, node
        self.visit(node.node)
        self._call = outer
        self._visit_all(child for child in node.iter_child_nodes(exclude=("node",)))

    def visit_Test(self, node: nodes.Test) -> None:
        self._visit_guarded(node)

    def visit_Filter(self, node: nodes.Filter) -> None:
        self._visit_guarded(node)

    def _visit_guarded(self, node: nodes.Test | nodes.Filter) -> None:
        """`x is defined` and `x | default(1)` ask about a name; they do not rely on it."""
        asks = node.name in _GUARDS and isinstance(node.node, nodes.Name)
        self._visit_all(node.iter_child_nodes(exclude=("node",) if asks else ()))

    # statements that set names

    def visit_Assign(self, node: nodes.Assign) -> None:
        self.visit(node.node)
        self.visit(node.target)

    def visit_AssignBlock(self, node: nodes.AssignBlock) -> None:
        with self._inner():
            self._visit_all(node.body)
            if node.filter is not None:
                self.visit(node.filter)
        self.visit(node.target)

    def visit_If(self, node: nodes.If) -> None:
        self.visit(node.test)
        going_on: list[Scope] = []
        for test, body in [(None, node.body), *((e.test, e.body) for e in node.elif_), (None, node.else_)]:
            if test is not None:
                self.visit(test)
            with self._inner() as scope:
                self._visit_all(body)
            if not self._endings.ends(body):
                going_on.append(scope)
        self._scope.join(going_on)

    def visit_For(self, node: nodes.For) -> None:
        self.visit(node.iter)
        with self._inner():
            self.visit(node.target)
            if node.test is not None:
                self.visit(node.test)
            self._scope.bind("loop")
            self._visit_all(node.body)
        with self._inner():
            self._visit_all(node.else_)

    def visit_With(self, node: nodes.With) -> None:
        self._visit_all(node.values)
        with self._inner():
            self._visit_all(node.targets)
            self._visit_all(node.body)

    def visit_FilterBlock(self, node: nodes.FilterBlock) -> None:
        with self._inner():
            self._visit_all(node.body)
            self.visit(node.filter)

    def visit_CallBlock(self, node: nodes.CallBlock) -> None:
        self._block_call = node.call
        self.visit(node.call)
        self._block_call = None
        self._visit_body(node)

    def visit_Macro(self, node: nodes.Macro) -> None:
        self._visit_body(node)

    def _visit_body(self, node: nodes.Macro | nodes.CallBlock) -> None:
        with self._inner(argument.name for argument in node.args):
            self._visit_all(node.defaults)
            self._visit_all(node.body)
