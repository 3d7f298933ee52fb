"""What the stateful_merge tests share: letters that change, from increments written down in the model itself."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tests.support import Project, literal

Letters = Mapping[str, Sequence[str]]
"""Execution time -> changes: `A` is a new value, `A-U` another one, `A-D` a deletion."""

DAYS: Letters = {
    "2024-10-05": ["A", "B"],
    "2024-10-06": ["A-U", "C"],
    "2024-10-07": ["B-D", "D"],
    "2024-10-08": ["C-U", "E"],
    "2024-10-09": ["D-D", "A-V"],
}


def text_of(moment: str) -> str:
    return moment.replace("T", " ") if "T" in moment else f"{moment} 00:00:00"


def letters(project: Project, feed: Letters = DAYS, name: str = "letters", extra: str = "", **config: Any) -> None:
    """A model that gets the changes of its execution time. `extra`: further columns of the SELECT."""
    rows = [
        f"({literal(text_of(moment))}, {literal(change[0])}, {literal(change)}, {literal(change.endswith('-D'))})"
        for moment, changes in feed.items()
        for change in changes
    ]
    values = ", ".join(rows) or "(null, null, null, null)"
    project.model(
        name,
        f"""select letter, value, is_deleted{extra}
        from values {values} as feed (ingested, letter, value, is_deleted)
        where ingested = '{{{{ ditto.execution_time() }}}}'""",
        **{"materialized": "stateful_merge", "unique_key": "letter", "soft_delete": "is_deleted"} | config,
    )


def seen(project: Project, name: str = "letters") -> str:
    """What readers see: `A-U,C`."""
    return ",".join(row[0] for row in project.rows(name, "value"))


def expected(feed: Letters, *moments: str) -> str:
    """The same from the increments of these executions, applied in this order."""
    table: dict[str, str] = {}
    for moment in moments:
        for change in feed[moment]:
            table.pop(change[0], None)
            if not change.endswith("-D"):
                table[change[0]] = change
    return ",".join(sorted(table.values()))


def versions(project: Project, name: str = "letters") -> dict[str, tuple[int, bool]]:
    """The seeds' state table: execution -> version, live."""
    rows = project.state(name, "cast(execution_time as string), delta_table_version, live")
    return {moment.removesuffix(" 00:00:00"): (version, live) for moment, version, live in rows}


def operations(project: Project, table: str = "letters") -> list[tuple[int, str]]:
    """The table's history, oldest first."""
    history = project.spark.sql(f"describe history {project.schema}.{table}").select("version", "operation").collect()
    return sorted((row[0], row[1]) for row in history)


def folder(project: Project, table: str) -> Path:
    location = project.spark.sql(f"describe detail {project.schema}.{table}").collect()[0]["location"]
    return Path(location.removeprefix("file:"))


def age(project: Project, table: str, days: int) -> None:
    """Let the table's commits, and what they added and removed, be that old."""
    data = folder(project, table)
    moment = time.time() - days * 86_400
    for commit in (data / "_delta_log").glob("0*.json"):
        text = re.sub(
            r'"(deletionTimestamp|modificationTime)":(\d+)',
            lambda found: f'"{found[1]}":{int(found[2]) - days * 86_400_000}',
            commit.read_text(),
        )
        commit.write_text(text)
        commit.with_name(f".{commit.name}.crc").unlink(missing_ok=True)
    for path in [*data.glob("*.*"), *(data / "_delta_log").glob("0*.json")]:
        os.utime(path, (moment, moment))
    project.spark._jvm.org.apache.spark.sql.delta.DeltaLog.clearCache()
