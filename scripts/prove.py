"""Try to break every pattern, part by part, and write down what was tried: docs/proof.md.

Each part is a run of pytest with its slow tests, in a process of its own; two parts run side by side where there are
two cores (--jobs). A test that passed for the files as they are is not run again, so that a run that was stopped, or
that failed somewhere, goes on where it was; --again forgets that, --only runs one part.
"""

from __future__ import annotations

import argparse
import ast
import hashlib
import json
import os
import re
import subprocess
import sys
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from proof_page import page

ROOT = Path(__file__).resolve().parent.parent
RECORDS = Path(os.environ.get("DITTO_HOME", ROOT / ".ditto")) / "proof"
PAGE = ROOT / "docs" / "proof.md"
# What every part depends on; a part's own tests come on top.
COMMON = ("macros/", "tests/dbt/", "profiles.yml", "dbt_project.yml", "requirements.lock", "scripts/thrift_server.py")
# Side by side, the compiler that takes its time would take half of both cores.
QUICK_JAVA = {"JDK_JAVA_OPTIONS": "-XX:+UseSerialGC -XX:TieredStopAtLevel=1"}
VERDICT = re.compile(r"^proof: (passed|failed) (\S+?)::(.*)$")
TO_RUN = re.compile(r"proof: (\d+) to run, (\d+) passed before$")


@dataclass(frozen=True)
class Part:
    """What is tried, which tests try it, and the environment that makes them try harder."""

    title: str
    tests: tuple[str, ...]
    environment: dict[str, str] = field(default_factory=dict)
    alone: bool = False
    """It measures: nothing else runs beside it."""
    but: str = "nothing"
    """A folder among its tests that is another part."""


CHAOS = "tests/chaos"
LOAD = {"MODELS": "300", "EVENTS": "100000", "UNITS": "1000", "VERSIONS": "2000"}
# The longest first: the others run beside it.
PARTS = {
    "crashes": Part(
        "Every command dies before and after each statement that changes something; then the same command again",
        (f"{CHAOS}/test_crash.py", f"{CHAOS}/test_crash_files.py"),
    ),
    "concurrency": Part(
        "Two and four processes at once on one thrift server: the same model and others, the same date and others",
        (f"{CHAOS}/test_concurrency.py", f"{CHAOS}/test_thrift.py"),
    ),
    "kills": Part(
        "SIGKILL of dbt in the middle of a statement, and the thrift server goes on with it",
        (f"{CHAOS}/test_kills.py",),
    ),
    "power_cuts": Part(
        "SIGKILL of dbt and of the server in the middle of a long statement", (f"{CHAOS}/test_power_cut.py",)
    ),
    "cluster": Part(
        "Executors and workers of a standalone cluster are killed while they write", (f"{CHAOS}/test_cluster.py",)
    ),
    "connection": Part(
        "The connection is cut in the middle of a statement, and dbt sends it again",
        (f"{CHAOS}/test_lost_connection.py",),
    ),
    "bad_input": Part(
        "Wrong configs, columns, values, names, dates, folders and disks", ("tests/functional/bad_input",)
    ),
    "patterns": Part(
        "Every variant of every pattern and operation on the engine",
        ("tests/functional",),
        but="tests/functional/bad_input",
    ),
    "histories": Part(
        "Random histories of runs, replays, corrections, crashes and operations, against a model of a few lines",
        (f"{CHAOS}/test_random_histories.py",),
        {"DITTO_HISTORIES": "60"},
    ),
    "load": Part(
        "A large project, ledger, history and number of units: what a run then costs",
        (f"{CHAOS}/test_load.py",),
        {f"DITTO_LOAD_{what}": size for what, size in LOAD.items()},
        alone=True,
    ),
}


@dataclass
class Result:
    """What is on record of a part, over all its runs for the files as they are."""

    tests: int = 0
    seconds: int = 0
    green: bool = False
    """All of it held."""
    lines: list[dict[str, Any]] = field(default_factory=list)
    """What the tests that passed have noted."""


def tracked() -> list[str]:
    """Every file that git knows or would know."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    return sorted(name for name in listed.split("\n") if (ROOT / name).is_file())


def imports(name: str) -> set[str]:
    """The files of this project that a file of Python imports."""
    modules: set[str] = set()
    for node in ast.walk(ast.parse((ROOT / name).read_text())):
        if isinstance(node, ast.ImportFrom) and node.module:
            modules |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    return {f"{module.replace('.', '/')}.py" for module in modules if module.startswith(("tests.", "scripts."))}


def needs(part: Part, names: list[str]) -> set[str]:
    """The package, its profile, the part's own tests with their fixtures, and all that these import."""
    found = {name for name in names if name.startswith((*COMMON, *part.tests)) and not name.startswith(part.but)}
    found |= {f"{folder}/conftest.py" for test in part.tests for folder in (test, *Path(test).parents)}
    found &= set(names)
    while more := {name for file in found if file.endswith(".py") for name in imports(file) if name in names} - found:
        found |= more
    return found


def fingerprint(part: Part, names: list[str]) -> str:
    digest = hashlib.sha256(json.dumps([part.tests, part.environment]).encode())
    for name in sorted(needs(part, names)):
        digest.update(name.encode() + b"\0" + (ROOT / name).read_bytes() + b"\0")
    return digest.hexdigest()[:16]


def record_of(name: str, state: str) -> Path:
    return RECORDS / f"{name}-{state}.jsonl"


def result_of(record: Path) -> Result:
    lines = [json.loads(line) for line in record.read_text().splitlines()] if record.exists() else []
    passed = {line["test"] for line in lines if line["kind"] == "passed"}
    return Result(
        tests=len(passed),
        seconds=sum(line["seconds"] for line in lines if line["kind"] == "ran"),
        green=any(line["kind"] == "ran" and line["green"] for line in lines),
        lines=[line for line in lines if line["kind"] not in ("passed", "ran") and line["test"] in passed],
    )


def forget_what_failed(record: Path) -> None:
    """What a test noted before it failed would be noted twice."""
    lines = record.read_text().splitlines() if record.exists() else []
    passed = {line["test"] for line in map(json.loads, lines) if line["kind"] == "passed"}
    kept = [line for line in lines if json.loads(line).get("test") in {None, *passed}]
    record.write_text("".join(f"{line}\n" for line in kept))


class Progress:
    """One line for each test of each part, whoever runs beside it."""

    def __init__(self) -> None:
        self.lock = threading.Lock()

    def say(self, part: str, text: str) -> None:
        with self.lock:
            print(f"{time.strftime('%H:%M:%S')}  {part:<12} {text}", flush=True)


def run(name: str, state: str, progress: Progress) -> Result:
    part = PARTS[name]
    own = part.environment | ({} if part.alone else QUICK_JAVA)
    RECORDS.mkdir(parents=True, exist_ok=True)
    record, log = record_of(name, state), RECORDS / f"{name}.log"
    forget_what_failed(record)
    progress.say(name, f"begins: {part.title}")
    started = time.monotonic()
    process = subprocess.Popen(
        [sys.executable, "-m", "pytest", "-p", "proof_record", *part.tests, f"--ignore={part.but}", "-m", "", "-v"],
        cwd=ROOT,
        env={**os.environ, **own, "DITTO_PROOF": str(record), "PYTHONPATH": f"{ROOT}:{ROOT}/scripts/lib"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    count, failed = Counter(), []
    with log.open("w") as written:
        for line in process.stdout or ():
            written.write(line)
            written.flush()
            if begun := TO_RUN.search(line):
                count.update(all=int(begun[1]) + int(begun[2]), done=int(begun[2]))
                progress.say(name, f"{begun[1]} tests to run" + (f", {begun[2]} passed before" * (begun[2] != "0")))
            if verdict := VERDICT.match(line):
                count.update(done=1)
                failed += [verdict[3]] if verdict[1] == "failed" else []
                progress.say(name, f"{count['done']:>3} of {count['all']}  {verdict[1]}  {verdict[3]}")
    code = process.wait()
    seconds = int(time.monotonic() - started)
    with record.open("a") as written:
        written.write(json.dumps({"kind": "ran", "seconds": seconds, "green": code == 0}) + "\n")
    result = result_of(record)
    ended = f"{len(failed)} failed" if failed else "green" if result.green else f"pytest ended with {code}"
    where = "" if code == 0 else f"; see {log}"
    progress.say(name, f"ends: {result.tests} tests passed, {ended}, {seconds // 60} min {seconds % 60} s{where}")
    return result


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", choices=list(PARTS), action="append", help="one part; may be given several times")
    parser.add_argument("--again", action="store_true", help="also tests that passed for these files")
    parser.add_argument("--jobs", type=int, default=min(2, os.cpu_count() or 1), help="how many parts side by side")
    options = parser.parse_args()
    names, progress, started = tracked(), Progress(), time.monotonic()
    states = {name: fingerprint(part, names) for name, part in PARTS.items()}
    chosen = [name for name in PARTS if name in (options.only or PARTS)]
    if options.again:
        for name in chosen:
            record_of(name, states[name]).unlink(missing_ok=True)
    at_once = len(chosen) == len(PARTS) and not any(record_of(name, states[name]).exists() for name in PARTS)
    for name in [name for name in chosen if result_of(record_of(name, states[name])).green]:
        progress.say(name, "green for these files, not run again (--again does)")
        chosen.remove(name)
    with ThreadPoolExecutor(options.jobs) as jobs:
        together = [name for name in chosen if not PARTS[name].alone]
        results = dict(zip(together, jobs.map(lambda name: run(name, states[name], progress), together), strict=True))
    results |= {name: run(name, states[name], progress) for name in chosen if PARTS[name].alone}
    known = {name: result_of(record_of(name, states[name])) for name in PARTS}
    proven = {name: result for name, result in known.items() if result.green}
    clock = RECORDS / "clock.json"
    if at_once:
        clock.write_text(json.dumps({"states": states, "minutes": round((time.monotonic() - started) / 60)}))
    whole = json.loads(clock.read_text()) if clock.exists() else {}
    minutes = whole["minutes"] if whole.get("states") == states else None
    if proven:
        titles = {name: part.title for name, part in PARTS.items()}
        PAGE.write_text(page(titles, proven, minutes))
        print(f"\n{len(proven)} of {len(PARTS)} parts are green; {PAGE.relative_to(ROOT)} says what was tried.")
    if failed := [name for name, result in results.items() if not result.green]:
        sys.exit("\n".join(f"{name} failed: ./scripts/prove --only {name} goes on with it alone" for name in failed))


if __name__ == "__main__":
    main()
