"""file_ingest: many small files and a large one are loaded, and then found as they were."""

from __future__ import annotations

import gzip
import os
import time
from pathlib import Path

from scripts.bench_units import run
from tests.support import Project, statements

DAYS = ("2024-10-07", "2024-10-08", "2024-10-09")
LINES = 20


def arrive(folder: Path, small: int, megabytes: int) -> int:
    """Csv files with a header: `small` of some lines each, and one of so many megabytes. Gives their lines."""
    folder.mkdir(parents=True)
    for number in range(small):
        lines = "".join(f"{number * LINES + line},small {number}\n" for line in range(LINES))
        (folder / f"small_{number:05}.csv").write_text("id,name\n" + lines)
    text = "a line of the large file that has some more text than the others have"
    block = "".join(f"{line},{text} {line}\n" for line in range(10_000))
    blocks = max(1, megabytes * 1_000_000 // len(block))
    with (folder / "large.csv").open("w") as large:
        large.write("id,name\n")
        for _ in range(blocks):
            large.write(block)
    return small * LINES + blocks * 10_000


def files(project: Project, small: int, megabytes: int) -> None:
    """The times of the second run and of one more file, as ratios to the first run."""
    folder = project.path / "landing"
    print(f"\n{small:,} small files and one of {megabytes} MB ...", flush=True)
    lines = arrive(folder, small, megabytes)
    time.sleep(2)  # A file that was changed in the very moment of the first look would be looked at again.
    given = {"path": str(folder), "format": "csv", "schema": "id bigint, name string", "options": {"header": True}}
    project.model("arrived", "select * from {{ ditto.incoming() }}", materialized="file_ingest", files=given)
    first = run(project, DAYS[0], "arrived")
    loaded = project.sql("select count(*), count(distinct file_path) from {schema}.arrived")[0]
    if loaded != (lines, small + 1):
        raise SystemExit(f"{loaded} rows and files in the table, not {(lines, small + 1)}")
    wrong = project.sql("select count(*) from {schema}.ditto_files where status <> 'SUCCESS'")[0][0]
    with statements() as sent:
        second = run(project, DAYS[1], "arrived")
    opened = [sql for sql in sent if "`content`" in sql or "replace where" in sql]
    (folder / "one_more.csv").write_text("id,name\n1,one more\n")
    third = run(project, DAYS[2], "arrived")
    print(f"  loaded {loaded[0]:,} rows of {loaded[1]:,} files, {wrong} not SUCCESS, in {first:.0f} s")
    print(f"  second run, nothing new / first run: {second / first:.3f}")
    print(f"  statements of the second run: {len(sent)}, of them {len(opened)} that open a file")
    print(f"  one more file / first run: {third / first:.3f}")


def broken_files(project: Project, small: int) -> None:
    """Of `small` files every hundredth cannot be read: half of them have a broken line, half were cut off."""
    times: dict[bool, float] = {}
    for broken in (False, True):
        name = "with_broken" if broken else "without_broken"
        folder = project.path / name
        arrive(folder, small, 1)
        for number in range(0, small if broken else 0, 100):
            if number % 200:
                (folder / f"small_{number:05}.csv").write_text("id,name\n1,fine\nnot a number,bad\n")
            else:
                (folder / f"small_{number:05}.csv").unlink()
                packed = gzip.compress(b"id,name\n" + os.urandom(20_000).hex().encode())
                (folder / f"small_{number:05}.csv.gz").write_bytes(packed[: len(packed) // 2])
        given = {"path": str(folder), "format": "csv", "schema": "id bigint, name string", "options": {"header": True}}
        project.model(name, "select * from {{ ditto.incoming() }}", materialized="file_ingest", files=given)
        times[broken] = run(project, DAYS[0], name)
        status = f"select status, count(*) from {{schema}}.ditto_files where relation like '%.{name}' group by status"
        counts = dict(project.sql(status))
        wrong = len(range(0, small, 100)) if broken else 0
        expected = {"SUCCESS": small + 1 - wrong} | ({"FAILED": wrong} if wrong else {})
        if counts != expected:
            raise SystemExit(f"{counts} files, not {expected}")
    print(f"  {small:,} files, 1 % of them broken / none of them: {times[True] / times[False]:.2f}")
