"""What may be true after a step. A crash leaves several possible worlds; what is then seen says which one it was.

Every rule here and in the patterns is taken from docs/, not from the macros.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

Table = Any
"""What is in the table, in a form of the pattern's own, of plain values. Never changed in place."""
Seen = dict[str, list[str]]
"""Relation -> its rows as readers see them, one text each. A relation that is missing has no rows."""


@dataclass(frozen=True)
class Open:
    """An execution that was announced and did not finish."""

    time: str
    anew: bool
    """It was a full refresh, and will be finished as one."""
    before: World
    """Before it began."""


@dataclass(frozen=True)
class World:
    table: Table
    status: dict[str, str] = field(default_factory=dict)
    """As in ditto_state."""
    open: Open | None = None
    unrecorded: tuple[str, ...] = ()
    """Committed by a run that died before it could record it; the next run does."""


@dataclass(frozen=True)
class Possible:
    """One way in which a step may end: ok, refused (with these words in the message), or died."""

    result: str
    world: World
    words: str = ""


def recorded(world: World) -> World:
    return replace(world, status=world.status | dict.fromkeys(world.unrecorded, "live"), unrecorded=())


def given_up(world: World, time: str) -> World:
    return replace(recorded(world), status=world.status | {time: "released"}, open=None)


class Pattern:
    """The oracle of one materialization: a few pure functions. `given` is the increment of the execution."""

    name: str
    columns: str
    """Of the feed, after the time: `key string, value string`."""
    select: str
    shown: tuple[str, ...]
    """The columns that are compared, as SQL."""
    variants: ClassVar[dict[str, dict[str, Any]]]
    empty: ClassVar[Table] = {}

    def __init__(self, variant: str) -> None:
        self.variant = variant
        self.config = self.variants[variant]

    # What a pattern has to say about itself.

    def write(self, table: Table, time: str, given: Any) -> Table:
        """The table after a run."""
        raise NotImplementedError

    def rows(self, table: Table) -> list[str]:
        """What readers see of it."""
        raise NotImplementedError

    def bad(self, time: str, given: Any) -> str | None:
        """The words of the refusal of an increment."""
        return None

    def announces(self) -> bool:
        """Whether a normal run is more than one commit, so that the ledger knows of it while it is at work."""
        return False

    # What differs in some of them.

    def seen(self, world: World) -> Seen:
        return {"model": self.rows(world.table)}

    def agrees(self, world: World, seen: Seen) -> bool:
        return all(seen.get(relation, []) == rows for relation, rows in self.seen(world).items())

    def refusal(self, world: World, time: str, given: Any, anew: bool) -> str | None:
        """Refused for what is known from the ledger and the tables."""
        return None

    def partial(self, table: Table, time: str, given: Any, anew: bool) -> list[Table]:
        """What readers may see between the commits of a run."""
        return [self.empty] if anew else []

    def finished(self, world: World, time: str, given: Any, anew: bool) -> World:
        world = recorded(world)
        table = self.write(self.empty if anew else world.table, time, given)
        return World(table, ({} if anew else world.status) | {time: "live"})

    def almost(self, world: World, done: World) -> list[World]:
        """Further worlds after a crash, such as: the outcome is there, and readers are not there yet."""
        return []

    def release(self, world: World) -> list[Possible]:
        return [Possible("ok", given_up(world, world.open.time))] if world.open else [Possible("ok", world)]

    # The steps.

    def run(self, world: World, time: str, given: Any, anew: bool = False) -> list[Possible]:
        if world.open and world.open.time != time:
            return self.refused(world, time, "did not finish")
        anew = anew or bool(world.open and world.open.anew)
        if words := self.refusal(world, time, given, anew) or self.bad(time, given):
            return self.refused(world, time, words)
        return [Possible("ok", self.finished(world, time, given, anew))]

    def refused(self, world: World, time: str, words: str) -> list[Possible]:
        """Nothing changes; but what was not recorded may be now, and a lease may have been claimed and given back."""
        possible = [world, recorded(world)]
        if (not world.open or world.open.time == time) and world.status.get(time) not in ("live", "stale"):
            possible.append(given_up(world, time))
        return [Possible("refused", after, words) for after in possible]

    def crash(self, world: World, time: str, given: Any, anew: bool = False) -> list[Possible]:
        """The run dies, or gets through because it has fewer statements than that."""
        undisturbed = self.run(world, time, given, anew)
        if undisturbed[0].result == "refused":
            return undisturbed + [replace(possible, result="died", words="") for possible in undisturbed]
        anew = anew or bool(world.open and world.open.anew)
        done = undisturbed[0].world
        worlds = [world, recorded(world), done, *self.almost(world, done)]
        if anew or world.open or self.announces():
            worlds += self.announced(world, done, time, given, anew)
        else:
            worlds.append(replace(world, table=done.table, unrecorded=(*world.unrecorded, time)))
        return [Possible("ok", done), *(Possible("died", after) for after in worlds)]

    def announced(self, world: World, done: World, time: str, given: Any, anew: bool) -> list[World]:
        """It died between its intent and its outcome. A full refresh may have begun its generation, or not."""
        opened = Open(time, anew, world.open.before if world.open else world)
        tables = [world.table, *self.partial(world.table, time, given, anew), done.table]
        known = [recorded(world).status] + ([{}] if anew else [])
        return [World(table, status | {time: "unfinished"}, opened) for table in tables for status in known]

    def nothing(self, world: World) -> list[Possible]:
        """--empty and the like: whether it is allowed or refused, nothing changes."""
        return [Possible("ok", world), Possible("refused", world)]

    def other(self, world: World, step: list[Any]) -> list[Possible]:
        """A step that only this pattern has."""
        raise NotImplementedError(step[0])
