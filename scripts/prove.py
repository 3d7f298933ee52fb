"""Try to break every pattern, part by part, and write down what was tried: docs/proof.md.

Each part is a run of pytest with its slow tests, in a process of its own; two parts run side by side where there are
two cores (--jobs). A part that was green for the files as they are is not run again, so that a run that was stopped
goes on where it was; --again forgets that, --only runs one part.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import re
import subprocess
import sys
import threading
import time
import xml.etree.ElementTree as ElementTree
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from proof_page import page

ROOT = Path(__file__).resolve().parent.parent
RECORDS = Path(os.environ.get("DITTO_HOME", ROOT / ".ditto")) / "proof"
PAGE = ROOT / "docs" / "proof.md"
# What every part depends on; a part's own tests come on top.
COMMON = ("macros/", "profiles.yml", "dbt_project.yml", "requirements.lock", "scripts/thrift", "scripts/lib/")
COMMON += ("tests/conftest.py", "tests/support.py", "tests/functional/", "tests/dbt/")
VERDICT = re.compile(r"(\S+::.*?) (PASSED|FAILED|ERROR)\s+\[\s*(\d+)%\]")


@dataclass(frozen=True)
class Part:
    """What is tried, which tests try it, and the environment that makes them try harder."""

    title: str
    tests: tuple[str, ...]
    environment: dict[str, str] = field(default_factory=dict)
    alone: bool = False
    """It measures: nothing else runs beside it."""


CHAOS = "tests/chaos"
LOAD = {"MODELS": "300", "EVENTS": "100000", "UNITS": "1000", "VERSIONS": "2000"}
# The longest first, so that two of them side by side end together.
PARTS = {
    "crashes": Part(
        "Every command dies before and after each statement that changes something; then the same command again",
        (f"{CHAOS}/test_crash.py", f"{CHAOS}/test_crash_files.py"),
    ),
    "histories": Part(
        "Random histories of runs, replays, corrections, crashes and operations, against a model of a few lines",
        (f"{CHAOS}/test_random_histories.py",),
        {"DITTO_HISTORIES": "60"},
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
        ("tests/functional", "--ignore=tests/functional/bad_input"),
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
    """A part that has run."""

    state: str
    tests: int
    failed: int
    seconds: int
    lines: list[dict[str, Any]]


def tracked() -> list[str]:
    """Every file that git knows or would know."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    return sorted(name for name in listed.split("\n") if (ROOT / name).is_file())


def fingerprint(part: Part, names: list[str]) -> str:
    """Of what the part depends on: the package, its profile, what tests share, and its own tests."""
    digest = hashlib.sha256(json.dumps([part.tests, part.environment]).encode())
    helpers = tuple(
        name
        for name in names
        if name.startswith(f"{CHAOS}/") and not Path(name).name.startswith("test_") and CHAOS in part.tests[0]
    )
    for name in names:
        if name.startswith((*COMMON, *part.tests, *helpers)):
            digest.update(name.encode() + b"\0" + (ROOT / name).read_bytes() + b"\0")
    return digest.hexdigest()


class Progress:
    """One line for each test of each part, whoever runs beside it."""

    def __init__(self) -> None:
        self.lock = threading.Lock()

    def say(self, part: str, text: str) -> None:
        with self.lock:
            print(f"{time.strftime('%H:%M:%S')}  {part:<12} {text}", flush=True)


def run(name: str, state: str, progress: Progress) -> Result:
    part = PARTS[name]
    RECORDS.mkdir(parents=True, exist_ok=True)
    lines, report, log = (RECORDS / f"{name}.{kind}" for kind in ("jsonl", "xml", "log"))
    lines.unlink(missing_ok=True)
    report.unlink(missing_ok=True)
    progress.say(name, f"begins: {part.title}")
    started = time.monotonic()
    process = subprocess.Popen(
        [sys.executable, "-m", "pytest", *part.tests, "-m", "", "-v", f"--junitxml={report}"],
        cwd=ROOT,
        env={**os.environ, **part.environment, "DITTO_PROOF": str(lines), "COLUMNS": "200"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    with log.open("w") as written:
        for line in process.stdout or ():
            written.write(line)
            written.flush()
            if verdict := VERDICT.search(line):
                progress.say(name, f"{verdict[3]:>3} %  {verdict[2].lower():<6}  {verdict[1].split('::', 1)[1]}")
    process.wait()
    suites = list(ElementTree.parse(report).getroot().iter("testsuite")) if report.exists() else []
    tests = sum(int(suite.get("tests", 0)) for suite in suites)
    failed = sum(int(suite.get(kind, 0)) for suite in suites for kind in ("failures", "errors"))
    recorded = [json.loads(line) for line in lines.read_text().splitlines()] if lines.exists() else []
    result = Result(state, tests, failed or int(process.returncode != 0), int(time.monotonic() - started), recorded)
    (RECORDS / f"{name}.json").write_text(json.dumps(asdict(result)))
    took = f"{result.seconds // 60} min {result.seconds % 60} s"
    progress.say(name, f"ends: {tests} tests, {result.failed} failed, {took}" + (f"; see {log}" if failed else ""))
    return result


def known(name: str) -> Result | None:
    path = RECORDS / f"{name}.json"
    return Result(**json.loads(path.read_text())) if path.exists() else None


def green(name: str, states: dict[str, str]) -> Result | None:
    """Its result for the files as they are, if all of it held."""
    result = known(name)
    return result if result and result.state == states[name] and not result.failed else None


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", choices=list(PARTS), help="one part")
    parser.add_argument("--again", action="store_true", help="also parts that were green for these files")
    parser.add_argument("--jobs", type=int, default=min(2, os.cpu_count() or 1), help="how many parts side by side")
    options = parser.parse_args()
    names, progress, started = tracked(), Progress(), time.monotonic()
    states = {name: fingerprint(part, names) for name, part in PARTS.items()}
    chosen = [options.only] if options.only else list(PARTS)
    for name in [name for name in chosen if green(name, states) and not options.again]:
        progress.say(name, "green for these files, not run again (--again does)")
        chosen.remove(name)
    with ThreadPoolExecutor(options.jobs) as jobs:
        together = [name for name in chosen if not PARTS[name].alone]
        results = dict(zip(together, jobs.map(lambda name: run(name, states[name], progress), together), strict=True))
    results |= {name: run(name, states[name], progress) for name in chosen if PARTS[name].alone}
    proven = {name: result for name in PARTS if (result := green(name, states))}
    clock = RECORDS / "clock.json"
    if len(results) == len(PARTS):
        clock.write_text(json.dumps({"states": states, "minutes": round((time.monotonic() - started) / 60)}))
    whole = json.loads(clock.read_text()) if clock.exists() else {}
    minutes = whole["minutes"] if whole.get("states") == states else None
    if proven:
        titles = {name: part.title for name, part in PARTS.items()}
        PAGE.write_text(page(titles, proven, minutes))
        print(f"\n{len(proven)} of {len(PARTS)} parts are green; {PAGE.relative_to(ROOT)} says what was tried.")
    if failed := [name for name, result in results.items() if result.failed]:
        sys.exit("\n".join(f"{name} failed: ./scripts/prove --only {name} runs it alone" for name in failed))


if __name__ == "__main__":
    main()
