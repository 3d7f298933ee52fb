"""Try to break every pattern, part by part, and write down what was tried: docs/proof.md.

Each part is a run of pytest with its slow tests. A part that was green for the files as they are is not run again, so
that a run that was stopped goes on where it was; --again forgets that, --only runs one part.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import subprocess
import sys
import time
import xml.etree.ElementTree as ElementTree
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
RECORDS = Path(os.environ.get("DITTO_HOME", ROOT / ".ditto")) / "proof"
PAGE = ROOT / "docs" / "proof.md"


@dataclass(frozen=True)
class Part:
    """What is tried, which tests try it, and the environment that makes them try harder."""

    title: str
    tests: tuple[str, ...]
    environment: dict[str, str] = field(default_factory=dict)


PARTS = {
    "crashes": Part(
        "Every command dies before each statement that changes something; then the same command again",
        ("tests/chaos/test_crash.py", "tests/chaos/test_crash_files.py"),
    ),
    "kills": Part(
        "SIGKILL of dbt in the middle of a statement, and the thrift server goes on with it",
        ("tests/chaos/test_thrift.py", "-k", "killed"),
    ),
    "concurrency": Part(
        "Several processes on one thrift server, on the same model and on others",
        ("tests/chaos/test_thrift.py", "-k", "not killed"),
    ),
    "cluster": Part("Executors of a standalone cluster are killed while they write", ("tests/chaos/test_cluster.py",)),
    "histories": Part(
        "Random histories of runs, replays, crashes and releases against a model of a few lines",
        ("tests/chaos/test_random_histories.py",),
        {"DITTO_HISTORIES": "25", "DITTO_STEPS": "6"},
    ),
    "bad_input": Part(
        "Wrong configs, columns, values, names, dates, folders and disks", ("tests/functional/bad_input",)
    ),
    "patterns": Part(
        "All tests of the patterns and of the kernel on the engine",
        ("tests/functional", "--ignore=tests/functional/bad_input"),
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


def fingerprint() -> str:
    """Of every file that git knows or would know, except the page that is written from the result."""
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout.split("\n")
    digest = hashlib.sha256()
    for name in sorted(name for name in listed if name and not name.startswith("docs/")):
        path = ROOT / name
        if path.is_file():
            digest.update(name.encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()


def run(name: str, state: str) -> Result:
    part = PARTS[name]
    RECORDS.mkdir(parents=True, exist_ok=True)
    lines, report = RECORDS / f"{name}.jsonl", RECORDS / f"{name}.xml"
    lines.unlink(missing_ok=True)
    started = time.monotonic()
    subprocess.run(
        [sys.executable, "-m", "pytest", *part.tests, "-m", "", "-v", f"--junitxml={report}"],
        cwd=ROOT,
        env={**os.environ, **part.environment, "DITTO_PROOF": str(lines)},
        check=False,
    )
    suites = list(ElementTree.parse(report).getroot().iter("testsuite")) if report.exists() else []
    tests = sum(int(suite.get("tests", 0)) for suite in suites)
    failed = sum(int(suite.get(kind, 0)) for suite in suites for kind in ("failures", "errors")) if suites else 1
    recorded = [json.loads(line) for line in lines.read_text().splitlines()] if lines.exists() else []
    return Result(state, tests, failed, int(time.monotonic() - started), recorded)


def known(name: str) -> Result | None:
    path = RECORDS / f"{name}.json"
    return Result(**json.loads(path.read_text())) if path.exists() else None


def page(results: dict[str, Result]) -> str:
    """docs/proof.md."""
    total = sum(result.seconds for result in results.values())
    points = [line for result in results.values() for line in result.lines if line["kind"] == "crash"]
    text = [
        "# Proof",
        "",
        "Written by `./scripts/prove`, which anybody can run. Each line was tried on real Spark and Delta, and",
        "compared with what an undisturbed run gives: rows, ledger, no unfinished execution, no object left behind.",
        "",
        f"{sum(result.tests for result in results.values())} tests, {len(points)} crashes, {total // 60} minutes on "
        f"{os.cpu_count()} cores.",
        "",
        "| part | what is tried | tests | minutes |",
        "|---|---|---|---|",
        *(
            f"| {name} | {PARTS[name].title} | {result.tests} | {max(1, round(result.seconds / 60))} |"
            for name, result in results.items()
        ),
        "",
        "## Crashes",
        "",
        "The statements are discovered by recording an undisturbed run, so that a new one is covered by itself. The",
        "run dies before the statement; the same command runs again.",
        "",
        "| command | dies before | result |",
        "|---|---|---|",
        *(f"| {line['scenario']} | `{line['statement'].replace('|', '/')}` | same |" for line in points),
        "",
    ]
    return "\n".join(text)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", choices=list(PARTS), help="one part")
    parser.add_argument("--again", action="store_true", help="also parts that were green for these files")
    options = parser.parse_args()
    state = fingerprint()
    chosen = [options.only] if options.only else list(PARTS)
    for number, name in enumerate(chosen, start=1):
        before = known(name)
        if before and before.state == state and not before.failed and not options.again:
            print(f"── {number} of {len(chosen)}: {name}: green for these files, not run again", flush=True)
            continue
        print(f"\n── {number} of {len(chosen)}: {name}: {PARTS[name].title}", flush=True)
        result = run(name, state)
        (RECORDS / f"{name}.json").write_text(json.dumps(asdict(result)))
        took = f"{result.seconds // 60} min {result.seconds % 60} s"
        print(f"── {name}: {result.tests} tests, {result.failed} failed, {took}", flush=True)
        if result.failed:
            sys.exit(f"{name} failed: ./scripts/prove --only {name} runs it alone")
    results = {
        name: result for name in PARTS if (result := known(name)) and result.state == state and not result.failed
    }
    if len(results) == len(PARTS):
        PAGE.write_text(page(results))
        print(f"\nEverything is green; {PAGE.relative_to(ROOT)} says what was tried.")


if __name__ == "__main__":
    main()
