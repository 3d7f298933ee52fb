"""The oracles of the nine materializations: what docs/ says of each, in plain Python, and a model of each."""

from __future__ import annotations

import datetime as dt
from dataclasses import replace
from typing import Any, ClassVar

from tests.chaos.histories.worlds import Open, Pattern, Possible, Seen, Table, World, given_up, recorded

FEED = "from {{ target.schema }}.feed where at = '{{ ditto.execution_time() }}'"
SHARED_KEY = "share a key"


def texts(rows: Any) -> list[str]:
    return sorted("|".join("null" if value is None else str(value) for value in row) for row in rows)


def twice(keys: list[Any]) -> bool:
    return len(set(keys)) < len(keys)


class InsertOverwrite(Pattern):
    """Each execution owns a day. The table is {day: ids}."""

    name = "insert_overwrite"
    columns = "id int, day date"
    select = f"select id, day {FEED}"
    shown = ("id", "day")
    variants: ClassVar = {
        "predicate": {"partition_by": "day"},
        "partitions": {"partition_by": "day", "mode": "partitions"},
        "delete_insert": {"partition_by": "day", "mode": "delete_insert"},
        "parquet": {"partition_by": "day", "file_format": "parquet"},
        "table": {"mode": "table"},
    }

    def own(self, time: str, given: list[list[Any]]) -> set[str]:
        others = {day for _, day in given} if self.variant in ("partitions", "parquet") else set()
        return {time[:10]} | others

    def bad(self, time: str, given: list[list[Any]]) -> str | None:
        outside = self.variant != "table" and {day for _, day in given} - self.own(time, given)
        return "rows in the increment that this execution does not own" if outside else None

    def announces(self) -> bool:
        return self.variant in ("delete_insert", "parquet")

    def write(self, table: Table, time: str, given: list[list[Any]]) -> Table:
        kept = {} if self.variant == "table" else {d: ids for d, ids in table.items() if d not in self.own(time, given)}
        return kept | {day: sorted(i for i, d in given if d == day) for day in {d for _, d in given}}

    def partial(self, table: Table, time: str, given: list[list[Any]], anew: bool) -> list[Table]:
        """delete_insert has deleted; parquet has written some of the partitions, and may be at work on one."""
        tables: list[Table] = [{}] if anew else [table]
        done = self.write({}, time, given)
        for day in sorted(self.own(time, given)) if self.announces() else []:
            tables += [without(each, day) for each in tables] + [
                without(each, day) | ({day: done[day]} if day in done else {}) for each in tables
            ]
        return tables

    def rows(self, table: Table) -> list[str]:
        return texts((number, day) for day, ids in table.items() for number in ids)


class Merger(Pattern):
    """Changes by key. The table is {key: [value, sequence, deleted]}; with a sequence it remembers deletions."""

    name = "merger"
    columns = "key string, value string, seq int, gone boolean"
    select = f"select key, value, seq, gone {FEED}"
    shown = ("key", "value")
    variants: ClassVar = {
        "soft_delete": {"unique_key": "key", "soft_delete": "gone"},
        "sequence": {"unique_key": "key", "soft_delete": "gone", "sequence_by": "seq"},
    }

    def bad(self, time: str, given: list[list[Any]]) -> str | None:
        return SHARED_KEY if twice([row[0] for row in given]) else None

    def write(self, table: Table, time: str, given: list[list[Any]]) -> Table:
        table = dict(table)
        for key, value, seq, gone in given:
            if self.variant != "soft_delete" and key in table and not newer((seq, gone), table[key][1:]):
                continue
            table.pop(key, None)
            if not gone or self.variant == "sequence":
                table[key] = [value, seq, gone]
        return table

    def rows(self, table: Table) -> list[str]:
        return texts((key, value) for key, (value, _, gone) in table.items() if not gone)


def newer(new: Any, old: Any) -> bool:
    """At least as high a sequence; a null is older than every one; a deletion wins a tie."""
    (seq, gone), (its, was_gone) = new, old
    order = (seq is not None, seq or 0), (its is not None, its or 0)
    return order[0] > order[1] or (order[0] == order[1] and (gone or not was_gone))


class KeyedIdempotency(Merger):
    """The same, by a key that is made of columns."""

    name = "keyed_idempotency"
    select = f"select {{{{ ditto.idempotent_key(['key']) }}}} as id, key, value, seq {FEED}"
    variants: ClassVar = {"sequence_by": {"unique_key": "id", "sequence_by": "seq"}}

    def write(self, table: Table, time: str, given: list[list[Any]]) -> Table:
        return super().write(table, time, [[*row[:3], False] for row in given])


class DedupInsert(Pattern):
    """The first row of a key stays. The table is {key: value}."""

    name = "dedup_insert"
    columns = "key string, value string, seq int, gone boolean"
    select = f"select key, value, seq {FEED}"
    shown = ("key", "value")
    variants: ClassVar = {
        "error": {"unique_key": "key"},
        "latest": {"unique_key": "key", "on_duplicate_key": "latest", "order_by": "seq"},
    }

    def bad(self, time: str, given: list[list[Any]]) -> str | None:
        different = {tuple(row[:3]) for row in given}
        return SHARED_KEY if self.variant == "error" and twice([row[0] for row in different]) else None

    def write(self, table: Table, time: str, given: list[list[Any]]) -> Table:
        latest = sorted(given, key=lambda row: (row[2] is not None, row[2] or 0))
        return {row[0]: row[1] for row in latest} | table

    def rows(self, table: Table) -> list[str]:
        return texts(table.items())


class TransactionalWriter(Pattern):
    """An execution replaces its own rows. merge: {key: [value, execution]}; append and overwrite: {execution: rows}."""

    name = "transactional_writer"
    columns = "key string, value string, seq int, gone boolean"
    select = f"select key, value, gone {FEED}"
    shown = ("key", "value")
    variants: ClassVar = {
        "merge": {"unique_key": "key", "soft_delete": "gone"},
        "audited": {"unique_key": "key", "soft_delete": "gone", "audits": ["value <> 'bad'"]},
        "append": {"write": "append"},
        "overwrite": {"write": "overwrite"},
    }

    @property
    def by_key(self) -> bool:
        return "unique_key" in self.config

    def announces(self) -> bool:
        return self.variant == "audited"

    def bad(self, time: str, given: list[list[Any]]) -> str | None:
        if self.variant == "audited" and "bad" in {row[1] for row in given}:
            return "audits that failed"
        return SHARED_KEY if self.by_key and twice([row[0] for row in given]) else None

    def write(self, table: Table, time: str, given: list[list[Any]]) -> Table:
        if not self.by_key:
            return (table if self.variant == "append" else {}) | {time: [row[:2] for row in given]}
        after = {key: row for key, row in table.items() if row[1] != time}
        for key, value, _, gone in given:
            if key not in after or after[key][1] < time:
                after.pop(key, None)
                after |= {} if gone else {key: [value, time]}
        return after

    def partial(self, table: Table, time: str, given: list[list[Any]], anew: bool) -> list[Table]:
        """Unlike in other patterns a full refresh is one commit too."""
        return []

    def rows(self, table: Table) -> list[str]:
        rows = (
            [(key, row[0]) for key, row in table.items()]
            if self.by_key
            else [row for rows in table.values() for row in rows]
        )
        return texts(rows)


class StatefulMerge(Pattern):
    """A replay goes back. The table is {"applied": {execution: changes}, "readers": rows}; pinned readers wait."""

    name = "stateful_merge"
    columns = "key string, value string, seq int, gone boolean"
    select = f"select key, value, gone {FEED}"
    shown = ("key", "value")
    variants: ClassVar = {
        "delta": {"unique_key": "key", "soft_delete": "gone"},
        "pinned": {"unique_key": "key", "soft_delete": "gone", "readers": "pinned"},
        "history": {"unique_key": "key", "soft_delete": "gone", "versioning": "history", "file_format": "parquet"},
    }
    empty: ClassVar = {"applied": {}, "readers": []}

    def announces(self) -> bool:
        return True

    def bad(self, time: str, given: list[list[Any]]) -> str | None:
        return SHARED_KEY if twice([row[0] for row in given]) else None

    def refusal(self, world: World, time: str, given: Any, anew: bool) -> str | None:
        """With `history` an execution that was given up has to be replayed too."""
        gaps = ("stale", "released") if self.variant == "history" else ("stale",)
        stale = not anew and any(other < time for other, status in world.status.items() if status in gaps)
        return "stale executions before this one" if stale else None

    def write(self, table: Table, time: str, given: list[list[Any]]) -> Table:
        return table | {"applied": {t: rows for t, rows in table["applied"].items() if t < time} | {time: given}}

    def finished(self, world: World, time: str, given: Any, anew: bool) -> World:
        base = world.open.before.table["applied"] if world.open else world.table["applied"]
        table = self.write(self.empty if anew else {**world.table, "applied": base}, time, given)
        later = {t: "stale" for t, status in world.status.items() if t > time and status == "live"}
        status = {time: "live"} if anew else world.status | later | {time: "live"}
        if "stale" not in status.values():
            table["readers"] = self.merged(table)
        return World(table, status)

    def partial(self, table: Table, time: str, given: list[list[Any]], anew: bool) -> list[Table]:
        earlier = {t: rows for t, rows in table["applied"].items() if t < time}
        return [table | {"applied": {}}] + ([] if anew else [table | {"applied": earlier}])

    def announced(self, world: World, done: World, time: str, given: Any, anew: bool) -> list[World]:
        """The view moves after the outcome. (A full refresh may have begun a table that is empty.)"""
        worlds = super().announced(world, done, time, given, anew)
        return [replace(each, table=each.table | {"readers": world.table["readers"]}) for each in worlds]

    def almost(self, world: World, done: World) -> list[World]:
        return [replace(done, table=done.table | {"readers": world.table["readers"]})]

    def release(self, world: World) -> list[Possible]:
        """It is undone: the table goes back. One that was not known before counts as released.

        With `history` it cannot go back: it and all later ones have to be replayed.
        """
        if not world.open:
            return super().release(world)
        if self.variant == "history":
            later = {t: "stale" for t, was in world.status.items() if was == "live" and t > world.open.time}
            after = given_up(world, world.open.time)
            return [Possible("ok", replace(after, status=after.status | later))]
        before = recorded(world.open.before)
        known = before.status.get(world.open.time, "released")
        return [Possible("ok", replace(before, status=before.status | {world.open.time: known}))]

    def merged(self, table: Table) -> list[str]:
        merged: dict[str, str] = {}
        for _, changes in sorted(table["applied"].items()):
            for key, value, _, gone in changes:
                merged.pop(key, None)
                merged |= {} if gone else {key: value}
        return texts(merged.items())

    def seen(self, world: World) -> Seen:
        rows = self.merged(world.table)
        return {"model": world.table["readers"], "model__data": rows} if self.variant == "pinned" else {"model": rows}


class FastMetadataCleaner(Pattern):
    """A table for each unit. The table is {"slices": {execution: rows}, "units": first days of those that exist}."""

    name = "fast_metadata_cleaner"
    columns = "key string, value string, seq int, gone boolean"
    select = f"select key, value {FEED}"
    shown = ("key", "value")
    variants: ClassVar = {
        "week": {"granularity": "week"},
        "day": {"granularity": "day"},
        "truncate": {"granularity": "week", "reset": "truncate"},
        "drop": {"granularity": "week", "reset": "drop"},
    }
    empty: ClassVar = {"slices": {}, "units": []}

    def announces(self) -> bool:
        return True

    def unit(self, time: str) -> str:
        """Its first day: a week begins on Monday and on 1 January."""
        day = dt.date.fromisoformat(time[:10])
        if self.config["granularity"] == "day":
            return str(day)
        return str(max(day - dt.timedelta(days=day.weekday()), dt.date(day.year, 1, 1)))

    def resets(self, world: World, time: str) -> bool:
        unit = self.unit(time)
        earlier = [t for t in world.status if t < time and self.unit(t) == unit]
        return unit not in world.table["units"] or (time[:10] == unit and not earlier)

    def refusal(self, world: World, time: str, given: Any, anew: bool) -> str | None:
        stale = any(other < time for other, status in world.status.items() if status == "stale")
        new = world.status.get(time, "released") == "released"
        return "stale executions before this one" if stale and new and not anew else None

    def finished(self, world: World, time: str, given: Any, anew: bool) -> World:
        begun = world.open.before if world.open else world
        reset = self.resets(begun, time) or self.resets(world, time)
        base = self.cleaned(self.empty if anew else world.table, time, reset)
        unit, slices = self.unit(time), base["slices"] | {time: given}
        later = {t: "stale" for t in world.status if t > time and self.unit(t) == unit and world.status[t] == "live"}
        status = {} if anew else world.status | (later if reset else {})
        return World({"slices": slices, "units": sorted({*base["units"], unit})}, status | {time: "live"})

    def cleaned(self, table: Table, time: str, reset: bool) -> Table:
        """Without what is replaced: the unit, or the slice."""
        out = [t for t in table["slices"] if t == time or (reset and self.unit(t) == self.unit(time))]
        return table | {"slices": {t: rows for t, rows in table["slices"].items() if t not in out}}

    def announced(self, world: World, done: World, time: str, given: Any, anew: bool) -> list[World]:
        """The unit is empty or gone, or it is loaded and the other units are not dropped yet."""
        unit = self.unit(time)
        reset = anew or unit in world.table["units"]
        tables = [done.table]
        if reset:
            cleaned = self.cleaned(world.table, time, reset=True)
            missing = cleaned | {"units": [u for u in cleaned["units"] if u != unit]}
            loaded = {"slices": cleaned["slices"] | {time: given}, "units": sorted({*cleaned["units"], unit})}
            tables += [cleaned, missing, loaded]
        opened = Open(time, anew, world.open.before if world.open else world)
        known = [world.status] + ([{}] if anew else [])
        return [
            World(table, status | {time: "unfinished"}, opened) for table in [world.table, *tables] for status in known
        ]

    def release(self, world: World) -> list[Possible]:
        """Given up, a reset has made the later executions of its unit stale, whether it had come to that or not."""
        if not world.open:
            return super().release(world)
        if world.open.anew:
            return [Possible("refused", world, "a full refresh that did not finish")]
        time, after = world.open.time, given_up(world, world.open.time)
        if not self.resets(world.open.before, time):
            return [Possible("ok", after)]
        unit = self.unit(time)
        later = {t: "stale" for t, was in after.status.items() if was == "live" and t > time and self.unit(t) == unit}
        return [Possible("ok", replace(after, status=after.status | later))]

    def rows(self, table: Table) -> list[str]:
        return texts(row[:2] for rows in table["slices"].values() for row in rows)


class ProxyView(Pattern):
    """Each run is a version. The table is {"versions": [[execution, rows]...], "shown": number, "rows": of readers}."""

    name = "proxy_view"
    columns = "key string, value string, seq int, gone boolean"
    select = f"select key, value {FEED}"
    shown = ("key", "value")
    variants: ClassVar = {"tables": {}, "native": {"versioning": "native"}}
    empty: ClassVar = {"versions": [], "shown": None, "rows": []}

    def announces(self) -> bool:
        return True

    def write(self, table: Table, time: str, given: list[list[Any]]) -> Table:
        rows, versions = [row[:2] for row in given], [*table["versions"], [time, [row[:2] for row in given]]]
        newest = all(t <= time for t, _ in table["versions"])
        return {"versions": versions} | (
            {"shown": len(versions) - 1, "rows": rows} if newest else {"shown": table["shown"], "rows": table["rows"]}
        )

    def run(self, world: World, time: str, given: Any, anew: bool = False) -> list[Possible]:
        """Where the newest run died before it made the view, an earlier one is refused: readers saw nothing so far."""
        possible = super().run(world, time, given, anew)
        missing = world.table["shown"] is None and any(t > time for t, _ in world.table["versions"])
        return self.refused(world, time, "view") + possible if missing else possible

    def finished(self, world: World, time: str, given: Any, anew: bool) -> World:
        """A full refresh is a version like every other."""
        return World(self.write(world.table, time, given), world.status | {time: "live"})

    def announced(self, world: World, done: World, time: str, given: Any, anew: bool) -> list[World]:
        """The version of a run without an outcome is nobody's; with `tables` readers may see it already."""
        opened = Open(time, False, world.open.before if world.open else world)
        tables = [world.table]
        if self.variant == "tables" and done.table["shown"] != world.table["shown"]:
            tables.append(world.table | {"shown": None, "rows": done.table["rows"]})
        return [World(table, world.status | {time: "unfinished"}, opened) for table in tables]

    def almost(self, world: World, done: World) -> list[World]:
        """native: the outcome first, then the view."""
        before = {"shown": world.table["shown"], "rows": world.table["rows"]}
        return [replace(done, table=done.table | before)] if self.variant == "native" else []

    def release(self, world: World) -> list[Possible]:
        if not world.open:
            return super().release(world)
        if world.table["shown"] != world.open.before.table["shown"]:
            return [Possible("refused", world, "readers")]
        known = world.open.before.status.get(world.open.time, "released")
        return [Possible("ok", World(world.table, world.status | {world.open.time: known}))]

    def other(self, world: World, step: list[Any]) -> list[Possible]:
        """["point", which]: `previous` was written before the one that is shown, `latest` last."""
        versions, shown = world.table["versions"], world.table["shown"]
        number = len(versions) - 1 if step[1] == "latest" else (shown if shown is not None else 0) - 1
        if world.open:
            return [Possible("refused", world)]
        if number < 0:
            return [Possible("refused", world), Possible("ok", world)]
        table = world.table | {"shown": number, "rows": versions[number][1]}
        return [Possible("ok", replace(world, table=table))]

    def rows(self, table: Table) -> list[str]:
        return texts(table["rows"])


class FileIngest(Pattern):
    """Each content once. The table is {"rows": {name: content}, "files": {name: loaded or broken}}; `given` is the
    folder: {name: [content, age]}, where a content is a list of numbers, and none is a broken file."""

    name = "file_ingest"
    columns = ""
    select = "select id, file_path from {{ ditto.incoming() }}"
    shown = ("id", "element_at(split(file_path, '/'), -1)")
    variants: ClassVar = {"csv": {}}
    empty: ClassVar = {"rows": {}, "files": {}}

    def announces(self) -> bool:
        return True

    def write(self, table: Table, time: str, given: dict[str, list[Any]]) -> Table:
        good = {name: content for name, (content, _) in sorted(given.items(), key=lambda item: item[1][1]) if content}
        rows = {name: was for name, was in table["rows"].items() if name not in good or good[name] == was}
        for name, content in good.items():
            if content not in rows.values():
                rows[name] = content
        return {"rows": rows, "files": {name: "SUCCESS" if name in good else "BROKEN" for name in given}}

    def refusal(self, world: World, time: str, given: Any, anew: bool) -> str | None:
        return "loaded files that are not in" if anew and world.table["rows"].keys() - given.keys() else None

    def announced(self, world: World, done: World, time: str, given: Any, anew: bool) -> list[World]:
        """What ditto_files says of a load that is under way is not compared."""
        worlds = super().announced(world, done, time, given, anew)
        return [replace(each, table=each.table | {"files": None}) for each in worlds]

    def almost(self, world: World, done: World) -> list[World]:
        return [replace(each, table=each.table | {"files": None}) for each in (world, done)]

    def rows(self, table: Table) -> list[str]:
        return texts((number, name) for name, content in table["rows"].items() for number in content)

    def seen(self, world: World) -> Seen:
        return super().seen(world) | {"ditto_files": texts((world.table["files"] or {}).items())}

    def agrees(self, world: World, seen: Seen) -> bool:
        """Of files that are gone, ditto_files may know or not."""
        return seen["model"] == self.rows(world.table) and set(self.seen(world)["ditto_files"]) <= set(
            seen["ditto_files"]
        )


def without(table: dict[str, Any], key: str) -> dict[str, Any]:
    return {name: value for name, value in table.items() if name != key}


PATTERNS: dict[str, type[Pattern]] = {
    pattern.name: pattern
    for pattern in (
        StatefulMerge,
        InsertOverwrite,
        Merger,
        FastMetadataCleaner,
        ProxyView,
        TransactionalWriter,
        KeyedIdempotency,
        DedupInsert,
        FileIngest,
    )
}
