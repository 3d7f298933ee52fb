"""A file_ingest model for unit tests: its node and settings, and a world of files in which whole histories are played.

`World` answers the few queries of `look_at_files` in Python and does what a plan's statements do. What is decided in
between is decided by the macros. `World.expected` is the oracle: it knows the folder and the table, and no tracker.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest
from dbt_common.exceptions import CompilationError
from macro_harness import Ditto, default_model, relation

DATE = "2024-10-07"
FILES: dict[str, Any] = {"path": "/landing", "format": "csv", "schema": "id int", "options": {"header": True}}
ROWS = [{"name": "id", "type": "int", "comment": ""}, {"name": "file_path", "type": "string", "comment": ""}]


def node(**config: object) -> dict[str, Any]:
    """`orders`, a file_ingest model with this config, as dbt describes it to a materialization."""
    base = default_model(relation("orders"))
    given = {"materialized": "file_ingest", "meta": {}, "files": FILES} | config
    return base | {"description": "", "constraints": [], "config": given}


def settings(ditto: Ditto, full_refresh: bool = False, dry: bool = False, **config: object) -> dict[str, Any]:
    read = ditto.with_context(var={"execution_date": DATE}).file_ingest_settings(node(**config), full_refresh, dry)
    return read | {"ledger_table": "`demo`.`ditto_ledger`", "tracker": "`demo`.`ditto_files`"}


def refusal(call: Callable[[], object]) -> str:
    """The error that a call ends with; it has to say what was found, what is expected and what fixes it."""
    with pytest.raises(CompilationError) as error:
        call()
    text = str(error.value)
    parts = [text.index(part) for part in ("ditto: file_ingest model orders", "found:", "expected:", "fix:")]
    assert parts == sorted(parts)
    return text


# --- a world of files -----------------------------------------------------------------------------------------------


SECOND = 1_000_000


def is_broken(content: str) -> bool:
    return content.startswith("!")


def row_count(content: str) -> int:
    """Of the content itself; one that begins with a minus is a header without rows."""
    return 0 if content.startswith("-") else len(content)


@dataclass
class File:
    content: str
    modified: int


@dataclass
class World:
    """A folder, a table (path -> content and load) and the tracker (path -> row)."""

    ditto: Ditto
    settings: dict[str, Any]
    folder: dict[str, File] = field(default_factory=dict)
    table: dict[str, tuple[str, str]] = field(default_factory=dict)
    tracker: dict[str, dict[str, Any]] = field(default_factory=dict)
    uncertain: set[str] = field(default_factory=set)  # changed while they were loaded
    clock: int = 1_000 * SECOND
    runs: int = 0

    def __post_init__(self) -> None:
        answers = {"candidates": self._candidates, "hash": self._hashes, "orphans": self._orphans}
        answers["loaded"] = self._loaded
        self.ditto = self.ditto.with_context(
            macros={
                "candidates_sql": lambda settings, anew: ("candidates", anew),
                "list_folder": lambda settings, columns, rest, sql: answers[sql[0]](*sql[1:]),
                "fetch": lambda sql: answers[sql[0]](*sql[1:]),
                "caught_sql": lambda sql, word, state=None: sql,
                "send": lambda name, sql: None,
                "hash_sql": lambda settings, paths: ("hash", paths),
                "hash_in_pieces_sql": lambda settings, paths: ("hash", paths),
                "orphans_sql": lambda settings, hashes, known: ("orphans", hashes, known),
                "loaded_counts_sql": lambda settings, loads, paths: ("loaded", loads, paths),
                "_inspect_files": self._inspect,
            }
        )

    # What happens in the folder. Time goes on by a minute each time, so that no change is hidden from a listing.

    def put(self, path: str, content: str) -> None:
        self.folder[path] = File(content, self._tick())

    def touch(self, path: str) -> None:
        self.folder[path].modified = self._tick()

    def rename(self, path: str, other: str) -> None:
        self.folder[other] = self.folder.pop(path)
        self._tick()

    def copy(self, path: str, other: str) -> None:
        self.folder[other] = File(self.folder[path].content, self._tick())

    def _tick(self) -> int:
        self.clock += 60 * SECOND
        return self.clock

    # A run, whole or up to a crash.

    def run(
        self, crash: str | None = None, anew: bool = False, meanwhile: Callable[[], None] | None = None
    ) -> dict[str, Any]:
        """`crash`: track or load, the last statement that comes through. `meanwhile`: between look and load."""
        self.runs += 1
        self._tick()
        mine = self.settings | {"load": f"load {self.runs}"}
        target = {"exists": True, "columns": [{"name": "_ditto_load"}]}
        files = self.ditto.look_at_files(mine, target, anew)
        found = self.ditto.sort_files(mine, files, anew)
        if meanwhile:
            meanwhile()
        self._track(found["rows"], anew)
        died = crash == "track" or not set(found["load"]) <= self.folder.keys()  # Spark fails where a file went away
        if not died:
            self._load(found, mine["load"], anew)
        if not died and crash is None:
            self._track_loaded(mine["load"])
        return found

    def _track(self, rows: list[dict[str, Any]], anew: bool) -> None:
        if anew:
            self.tracker = {}
        for row in rows:
            assert row["status"] in ("PENDING", "IN_PROGRESS", "SUCCESS", "FAILED", "DEAD", "GONE")
            if row["status"] == "GONE":
                del self.tracker[row["file_path"]]
            else:
                self.tracker[row["file_path"]] = dict(row)

    def _load(self, found: dict[str, Any], load: str, anew: bool) -> None:
        if anew:
            self.table, self.uncertain = {}, set()
        seen = {row["file_path"]: row["modified"] for row in found["rows"]}
        for path in found["replaced"]:
            self.table.pop(path, None)
            self.uncertain.discard(path)
        for path in found["load"]:
            assert path not in self.table, f"{path} is loaded twice"
            self.table[path] = (self.folder[path].content, load)
            self.uncertain |= {path} if self.folder[path].modified != seen[path] else set()

    def _track_loaded(self, load: str) -> None:
        for path, row in self.tracker.items():
            if row["load"] == load and row["status"] == "IN_PROGRESS":
                listed = self.folder.get(path)
                same = listed is None or listed.modified == row["modified"]
                loaded = None if row["duplicate_of"] else row["file_hash"]
                row |= {"status": "SUCCESS" if same else "PENDING", "loaded_hash": loaded if same else "changed"}
                row |= {"record_count": self.rows_of(path)}

    def content(self, path: str) -> str | None:
        return self.folder[path].content if path in self.folder else None

    def loaded(self) -> dict[str, str]:
        return {path: content for path, (content, _) in self.table.items()}

    def rows_of(self, path: str) -> int:
        return row_count(self.table[path][0]) if path in self.table else 0

    # What the engine answers.

    def _candidates(self, anew: bool) -> list[dict[str, str]]:
        found = [path for path in {**self.folder, **self.tracker} if self._is_candidate(path, anew)]
        found.sort(key=self._order)
        rows = []
        for path in found[: self.settings["max_files"]]:
            row = self.tracker.get(path)
            file = self._listed(path) | {"known_files": len(self.tracker), "found_files": len(found)}
            rows.append(self._as_json(file | ({"tracked": row} if row else {})))
        return rows

    def _is_candidate(self, path: str, anew: bool) -> bool:
        file, row = self.folder.get(path), self.tracker.get(path)
        if file is None:
            return row["status"] != "SUCCESS" or (anew and row["loaded_hash"] is not None)
        if anew or row is None or self.settings["detect_changes"] == "content":
            return True
        unfinished = row["status"] not in ("SUCCESS", "DEAD")
        racy = row["hashed"] is not None and row["hashed"] - row["modified"] < 2 * SECOND
        return unfinished or file.modified != row["modified"] or len(file.content) != row["size"] or racy

    def _order(self, path: str) -> tuple[bool, bool, int, int, str]:
        row, file = self.tracker.get(path), self.folder.get(path)
        unfinished = bool(row) and row["status"] == "IN_PROGRESS"
        return (file is not None, not unfinished, row["attempts"] if row else -1, file.modified if file else -1, path)

    def _listed(self, path: str) -> dict[str, Any]:
        file = self.folder.get(path)
        known = {"size": len(file.content), "modified": file.modified} if file else {}
        return {"file_path": path, "listed": file is not None} | known

    def _hashes(self, paths: list[str]) -> list[dict[str, str]]:
        rows = []
        for path in paths:
            content = self.folder[path].content
            owners = [other for other, row in self.tracker.items() if row["loaded_hash"] == content]
            rows.append(
                self._as_json(self._listed(path) | {"hashed": self.clock, "file_hash": content, "owners": owners})
            )
        return rows

    def _orphans(self, hashes: list[str], known: list[str]) -> list[dict[str, str]]:
        kept = {row["loaded_hash"] for path, row in self.tracker.items() if path not in known}
        return [
            self._as_json(self._listed(path) | {"file_hash": row["file_hash"], "hashed": row["hashed"], "tracked": row})
            for path, row in self.tracker.items()
            if path in self.folder
            and path not in known
            and row["duplicate_of"]
            and row["file_hash"] in hashes
            and row["file_hash"] not in kept
        ]

    def _loaded(self, loads: list[str], paths: list[str]) -> list[dict[str, str]]:
        return [
            {"loaded": json.dumps({"load": load, "file_path": path, "records": row_count(content)})}
            for path, (content, load) in self.table.items()
            if (load in loads or path in paths) and row_count(content)
        ]

    def _inspect(self, settings: dict[str, Any], files: list[dict[str, Any]]) -> None:
        for file in files:
            if is_broken(file["file_hash"]):
                file["problem"] = "line 2 cannot be read"

    @staticmethod
    def _as_json(file: dict[str, Any]) -> dict[str, str]:
        """As to_json of Spark writes it: nulls, and lists of nothing that a join found, are left out."""
        kept = {key: value for key, value in file.items() if value is not None and value != []}
        if "tracked" in kept:
            kept["tracked"] = {key: value for key, value in kept["tracked"].items() if value is not None}
        return {"file": json.dumps(kept)}

    # The oracle.

    def expected(self, anew: bool = False) -> dict[str, str]:
        """The content of each path in the table after a run: what is there and stays, then what is new, by age."""
        before = {} if anew else self.loaded()
        good = {path: file for path, file in self.folder.items() if not is_broken(file.content)}
        certain = before.keys() - self.uncertain
        after = {
            path: was
            for path, was in before.items()
            if path not in good or (path in certain and good[path].content == was)
        }
        kept = {was for path, was in after.items() if path in certain}
        for path, file in sorted(good.items(), key=lambda item: (item[1].modified, item[0])):
            if path not in after and (self.settings["on_duplicate_content"] == "load" or file.content not in kept):
                after[path] = file.content
                kept.add(file.content)
        return after
