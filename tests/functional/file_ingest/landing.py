"""What the tests of file_ingest share: a landing folder, a model over it, and what the tracker has."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from tests.support import Project

SCHEMA = "id int, name string"


class Landing:
    """A folder in which files arrive. Times of change are set by hand, a minute apart, so that no clock is asked."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.clock = 1_700_000_000
        folder.mkdir(parents=True, exist_ok=True)

    def put(self, name: str, *lines: str, header: str = "id,name") -> None:
        self.put_bytes(name, ("\n".join([*([header] if header else []), *lines]) + "\n").encode())

    def put_bytes(self, name: str, content: bytes) -> None:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
        self.clock += 60
        os.utime(path, (self.clock, self.clock))

    def remove(self, name: str) -> None:
        (self.folder / name).unlink()


def ingest(
    project: Project,
    landing: Landing,
    *,
    sql: str = "select * from {{ ditto.incoming() }}",
    files: dict[str, Any] | None = None,
    **config: object,
) -> None:
    """The model `orders`, which reads csv files with a header unless `files` says otherwise."""
    given = {
        "path": str(landing.folder),
        "format": "csv",
        "schema": SCHEMA,
        "options": {"header": True},
        **(files or {}),
    }
    project.model("orders", sql, materialized="file_ingest", files=given, **config)


def names(project: Project, table: str = "orders") -> list[tuple[object, ...]]:
    """Rows with the name of their file."""
    return project.rows(table, "id, name, element_at(split(file_path, '/'), -1)")


def tracked(project: Project, columns: str = "status, attempts, record_count") -> dict[str, tuple[object, ...]]:
    """What `ditto_files` has of `orders`, by the names of the files."""
    name = "element_at(split(file_path, '/'), -1)"
    rows = project.sql(f"select {name}, {columns} from {{schema}}.ditto_files where relation = '{{schema}}.orders'")
    return {row[0]: row[1:] for row in rows}
