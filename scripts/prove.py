"""Try to break every pattern, part by part, and write down what was tried: docs/proof.md.

Parts that need the same Spark share a process of pytest, with their slow tests: those that work in one Spark session,
those that work with one server, and those that start servers of their own. Two run side by side. What passed is noted
in docs/proof; for the files as they are it is not run again, so that a run that was stopped, or that failed somewhere,
goes on where it was. --again forgets that, --only runs one part.
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
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from proof_page import page, summary

ROOT = Path(__file__).resolve().parent.parent
RECORDS = ROOT / "docs" / "proof"
LOGS = Path(os.environ.get("DITTO_HOME", ROOT / ".ditto")) / "proof"
PAGE = ROOT / "docs" / "proof.md"
# What every part depends on; a part's own tests come on top.
COMMON = ("macros/", "tests/dbt/", "profiles.yml", "dbt_project.yml", "requirements.lock", "scripts/lib/jars.py")
VERDICT = re.compile(r"^proof: (\w+) (passed|failed) (\d+ s) \S+?::(.*)$")
TO_RUN = re.compile(r"^proof: (\w+) (\d+) of (\d+) to run$")
CRASHES, SERVERS, OWN_SERVERS, SESSION = "crashes", "servers", "own_servers", "session"
# The longest first. What measures compares things that alternate, so that something beside it is no harm.
LANES = (CRASHES, SERVERS, OWN_SERVERS, SESSION)
# Hundreds of commands in one JVM: room for its classes from the start, for what lives as long as one statement, and for
# compiled code. Without it the collector takes a twelfth of the time, and methods are compiled over and over again,
# because the JVM throws away what does not fit.
LONG_LIFE = "-XX:MetaspaceSize=512m -Xmn800m -XX:ReservedCodeCacheSize=1g -XX:-UseCodeCacheFlushing"
# A server that is killed a few minutes after its start never gets what the second compiler works for.
SHORT_LIFE = "-XX:MetaspaceSize=256m -XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=256m"


@dataclass(frozen=True)
class Part:
    """What is tried, and which tests try it. Parts of one lane run one after the other in one process."""

    title: str
    lane: str
    tests: tuple[str, ...]
    environment: dict[str, str] = field(default_factory=dict)


CHAOS = "tests/chaos"
LOAD = {"MODELS": "300", "EVENTS": "100000", "UNITS": "1000", "VERSIONS": "2000", "ROUNDS": "3"}
PARTS = {
    "crashes": Part(
        "Every command dies before and after each statement that changes something; then the same command again",
        CRASHES,
        (f"{CHAOS}/test_crash.py", f"{CHAOS}/test_crash_files.py"),
        {"DITTO_CRASH_POINTS": "all"},
    ),
    "operations": Part(
        "Operations that died already die again, at each statement of the attempt that takes over",
        SESSION,
        (f"{CHAOS}/test_crash_operations.py",),
        {"DITTO_CRASH_POINTS": "all"},
    ),
    "histories": Part(
        "Random histories of runs, replays, corrections, crashes and operations, against a model of a few lines",
        SESSION,
        (f"{CHAOS}/test_random_histories.py",),
        {"DITTO_HISTORIES": "36"},
    ),
    "bad_input": Part(
        "Wrong configs, columns, values, names, dates, folders and disks", SESSION, ("tests/functional/bad_input",)
    ),
    "connection": Part(
        "The connection is cut in the middle of a statement, and dbt sends it again",
        SERVERS,
        (f"{CHAOS}/test_lost_connection.py",),
    ),
    "concurrency": Part(
        "Two and four processes at once on one thrift server: the same model and others, the same date and others",
        SERVERS,
        (f"{CHAOS}/test_concurrency.py", f"{CHAOS}/test_thrift.py"),
    ),
    "kills": Part(
        "SIGKILL of dbt in the middle of a statement, and the thrift server goes on with it",
        SERVERS,
        (f"{CHAOS}/test_kills.py",),
    ),
    "power_cuts": Part(
        "SIGKILL of dbt and of the server in the middle of a long statement",
        OWN_SERVERS,
        (f"{CHAOS}/test_power_cut.py",),
    ),
    "cluster": Part(
        "Executors and workers of a standalone cluster are killed while they write",
        OWN_SERVERS,
        (f"{CHAOS}/test_cluster.py",),
    ),
    "load": Part(
        "A large project, ledger, history and number of units: what a run then costs",
        SESSION,
        (f"{CHAOS}/test_load.py",),
        {f"DITTO_LOAD_{what}": size for what, size in LOAD.items()},
    ),
}


@dataclass
class Result:
    """What is on record of a part for the files as they are, over all its runs."""

    tests: int
    """How many passed."""
    of: int
    seconds: int
    lines: list[dict[str, Any]]
    """What the tests that passed have noted."""

    @property
    def green(self) -> bool:
        return 0 < self.of <= self.tests


def tracked() -> list[str]:
    """Every file that git knows or would know."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    return sorted(name for name in listed.split("\n") if (ROOT / name).is_file())


@cache
def imports(name: str) -> set[str]:
    """The files of this project that a file of Python imports."""
    modules: set[str] = set()
    for node in ast.walk(ast.parse((ROOT / name).read_text())):
        if isinstance(node, ast.ImportFrom) and node.module:
            modules |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    return {f"{module.replace('.', '/')}.py" for module in modules if module.startswith(("tests.", "scripts."))}


def needs(part: Part, names: list[str]) -> set[str]:
    """The package, its profile, the server, the part's own tests with their fixtures, and all that these import."""
    server = ("scripts/thrift_server.py",) if part.lane in (SERVERS, OWN_SERVERS) else ()
    found = {name for name in names if name.startswith((*COMMON, *server, *part.tests))}
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


def recorded(record: Path, state: str) -> list[dict[str, Any]]:
    """Its lines, if they are of this state, without what a test noted that did not pass in the end."""
    lines = [json.loads(line) for line in record.read_text().splitlines()] if record.exists() else []
    if {"kind": "state", "state": state} not in lines:
        return []
    passed = {line["test"] for line in lines if line["kind"] == "passed"}
    return [line for line in lines if line.get("test") in {None, *passed}]


def result_of(lines: list[dict[str, Any]]) -> Result:
    passed = [line for line in lines if line["kind"] == "passed"]
    collected = [line["tests"] for line in lines if line["kind"] == "collected"]
    notes = [line for line in lines if line["kind"] not in ("state", "collected", "passed")]
    return Result(len(passed), collected[-1] if collected else 0, round(sum(line["seconds"] for line in passed)), notes)


def commit() -> str:
    """What the page is about. The records are part of the project too, and change with every run."""

    def git(*words: str) -> str:
        return subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=True).stdout.strip()

    changed = git("status", "--porcelain", "--", ".", ":!docs")
    return git("rev-parse", "--short", "HEAD") + (", with changes" if changed else "")


class Progress:
    """One line for each test of each part, whoever runs beside it."""

    def __init__(self, tick: Callable[[], object] = lambda: None) -> None:
        self.lock, self.tick = threading.Lock(), tick
        self.count: Counter[str] = Counter()
        self.all: dict[str, str] = {}

    def say(self, part: str, text: str) -> None:
        with self.lock:
            self.tick()
            print(f"{time.strftime('%H:%M:%S')}  {part:<12} {text}", flush=True)

    def read(self, line: str) -> None:
        """What the plugin of pytest says."""
        if begun := TO_RUN.match(line):
            name, left, everything = begun.groups()
            self.all[name], self.count[name] = everything, int(everything) - int(left)
            self.say(name, f"{left} of {everything} tests to run: {PARTS[name].title}")
        if verdict := VERDICT.match(line):
            name, result, took, test = verdict.groups()
            self.count[name] += 1
            self.say(name, f"{self.count[name]:>3} of {self.all[name]}  {result}  {test} ({took})")


def run(lane: str, chosen: list[str], states: dict[str, str], progress: Progress) -> None:
    """The chosen parts of this lane, in one process."""
    own = [name for name in chosen if PARTS[name].lane == lane]
    if not own:
        return
    LOGS.mkdir(parents=True, exist_ok=True)
    RECORDS.mkdir(parents=True, exist_ok=True)
    for name in own:
        record = RECORDS / f"{name}.jsonl"
        lines = recorded(record, states[name]) or [{"kind": "state", "state": states[name]}]
        record.write_text("".join(json.dumps(line) + "\n" for line in lines))
    told = {
        name: {"tests": part.tests, "record": str(RECORDS / f"{name}.jsonl"), "chosen": name in own}
        for name, part in PARTS.items()
    }
    environment = {key: value for name in own for key, value in PARTS[name].environment.items()}
    # What the shell says about sizes and seeds would be a smaller proof under the same name.
    inherited = {key: value for key, value in os.environ.items() if key == "DITTO_HOME" or not key.startswith("DITTO_")}
    environment |= {"DITTO_PROOF_PARTS": json.dumps(told), "PYTHONPATH": f"{ROOT}:{ROOT}/scripts/lib"}
    # The one variable that wins over the command line, so over the profile.
    environment |= {"_JAVA_OPTIONS": SHORT_LIFE if lane == OWN_SERVERS else LONG_LIFE}
    tests = [test for name in own for test in PARTS[name].tests]
    process = subprocess.Popen(
        [sys.executable, "-m", "pytest", "-p", "proof_record", *tests, "-m", "", "-v"],
        cwd=ROOT,
        env={**inherited, **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    log = LOGS / f"{lane}.log"
    with log.open("w") as written:
        for line in process.stdout or ():
            written.write(line)
            written.flush()
            progress.read(line)
    if process.wait():
        progress.say(lane, f"pytest ended with {process.returncode}: see {log}")


def runs_on_record() -> list[dict[str, Any]]:
    clock = RECORDS / "clock.json"
    return json.loads(clock.read_text()) if clock.exists() else []


def record_runs(runs: list[dict[str, Any]]) -> None:
    RECORDS.mkdir(parents=True, exist_ok=True)
    written = RECORDS / "clock.json.new"
    written.write_text(json.dumps(runs) + "\n")
    written.replace(RECORDS / "clock.json")


def by_the_clock(began: str, tried: dict[str, str], states: dict[str, str], seconds: float) -> int:
    """The minutes of all runs that tried something for the files as they are. This one is noted over and over again,
    so that it counts even if it is killed."""
    runs = [run for run in runs_on_record() if run["tried"].items() & states.items() and run.get("began") != began]
    runs += [{"began": began, "tried": tried, "seconds": round(seconds)}] if tried else []
    record_runs(runs)
    return round(sum(run["seconds"] for run in runs) / 60)


def forget(parts: list[str]) -> None:
    """Their records, and the time that they took."""
    for name in parts:
        (RECORDS / f"{name}.jsonl").unlink(missing_ok=True)
    runs = runs_on_record()
    for run in runs:
        run["tried"] = {name: state for name, state in run["tried"].items() if name not in parts}
    record_runs([run for run in runs if run["tried"]])


def forget_changed(chosen: list[str], states: dict[str, str]) -> list[str]:
    """What ran while its files were changed says nothing about either state."""
    names = tracked()
    imports.cache_clear()
    changed = [name for name in chosen if fingerprint(PARTS[name], names) != states[name]]
    if changed:
        forget(changed)
    return changed


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", choices=list(PARTS), action="append", help="one part; may be given several times")
    parser.add_argument("--again", action="store_true", help="also what passed for these files")
    parser.add_argument("--jobs", type=int, default=2, help="1: nothing runs side by side")
    options = parser.parse_args()
    names, began, started = tracked(), time.strftime("%Y-%m-%d %H:%M:%S"), time.monotonic()
    states = {name: fingerprint(part, names) for name, part in PARTS.items()}

    def known() -> dict[str, Result]:
        return {name: result_of(recorded(RECORDS / f"{name}.jsonl", states[name])) for name in PARTS}

    chosen = [name for name in PARTS if name in (options.only or PARTS)]

    def minutes() -> int:
        tried = {name: states[name] for name in chosen}
        return by_the_clock(began, tried, states, time.monotonic() - started)

    progress = Progress(minutes)
    if options.again:
        forget(chosen)
    before = known()
    for name in [name for name in chosen if before[name].green]:
        progress.say(name, "green for these files, not run again (--again does)")
        chosen.remove(name)
    try:
        with ThreadPoolExecutor(options.jobs) as jobs:
            list(jobs.map(lambda lane: run(lane, chosen, states, progress), LANES))
    finally:
        for name in forget_changed(chosen, states):
            progress.say(name, "files that it depends on were changed meanwhile: not on record")
        results = known()
        PAGE.write_text(page({name: part.title for name, part in PARTS.items()}, results, minutes(), commit()))
    print("\n".join(["", *summary([line for result in results.values() for line in result.lines])]))
    green = [name for name, result in results.items() if result.green]
    print(f"\n{len(green)} of {len(PARTS)} parts are green; {PAGE.relative_to(ROOT)} says what was tried.")
    if left := [name for name in chosen if name not in green]:
        sys.exit("\n".join(f"{name}: ./scripts/prove --only {name} goes on with what is left" for name in left))


if __name__ == "__main__":
    main()
