"""docs/proof.md, from what the tests of ./scripts/prove have noted."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Protocol

Line = dict[str, Any]


class Result(Protocol):
    tests: int
    of: int
    seconds: int
    lines: list[Line]


def table(head: list[str], rows: Iterable[list[Any]]) -> list[str]:
    """A table of Markdown. A stroke in a cell would end it."""
    cells = [head, ["---"] * len(head), *rows]
    return ["| " + " | ".join(str(cell).replace("|", "/") for cell in row) + " |" for row in cells]


def counted(lines: list[Line], *keys: str) -> list[list[Any]]:
    """How often each combination of these facts was noted, in the order of their first time."""
    found = Counter(tuple(str(line.get(key, "")) for key in keys) for line in lines)
    return [[*combination, number] for combination, number in found.items()]


def code(text: str) -> str:
    return f"`{text.replace('`', '')}`"


def crashes(lines: list[Line]) -> Iterator[str]:
    yield from (
        "The statements are discovered by recording an undisturbed run, so that a new one is covered by itself. The",
        "run dies before each one that changes something, and after the last one, and the same command runs again.",
        "To die after one of the others, or before one that only reads, leaves the same tables as to die before the",
        "next one. What is compared: rows, `ditto_state`, unfinished executions, objects that are left behind, views",
        "that lead nowhere, and the chain of the ledger.",
        "",
    )
    cases = (
        [
            line["pattern"],
            ", ".join(filter(None, (line["mode"], line["variant"]))),
            line["point"],
            code(line["statement"]),
        ]
        for line in lines
    )
    yield from table(
        ["pattern or operation", "mode", "dies", "statement", "result"], ([*case, "same"] for case in cases)
    )


def summary(lines: list[Line]) -> Iterator[str]:
    """For the screen: how many points of each pattern and mode held."""
    found = [line for line in lines if line["kind"] == "crash"]
    modes = list(dict.fromkeys(line["mode"] for line in found))
    points = Counter((line["pattern"], line["mode"]) for line in found)
    if found:
        yield f"{'crashes that held':<24}" + "".join(f"{mode:>14}" for mode in modes)
    for pattern in dict.fromkeys(line["pattern"] for line in found):
        yield f"  {pattern:<22}" + "".join(f"{points[pattern, mode] or '':>14}" for mode in modes)


def kills(lines: list[Line]) -> Iterator[str]:
    yield from (
        "*dbt*: the client is killed, the server goes on, and the same command runs at once beside what the server",
        "still does. *asleep*: the client is stopped, another one takes over, and then the first one wakes up.",
        "*everything*: the server is killed too, started again, and the same command runs.",
        "",
    )
    keys = ("depth", "pattern", "mode", "statement", "fell")
    cases = [[*row[:3], code(row[3]), *row[4:]] for row in counted(lines, *keys)]
    yield from table(["killed", "pattern or operation", "mode", "in the middle of", "when it fell", "times"], cases)


def rounds(lines: list[Line]) -> Iterator[str]:
    yield from (
        "A round is one command in each process, started together. Who is refused is told who holds the model, and",
        "runs again afterwards; then the tables are what one after the other would have given.",
        "",
    )
    found: dict[tuple[str, int], Counter[str]] = {}
    for line in lines:
        totals = found.setdefault((line["round"], line["processes"]), Counter())
        totals.update(rounds=1, succeeded=line["succeeded"], refused=sum(line["refused"].values()))
    rows = ([*key, totals["rounds"], totals["succeeded"], totals["refused"]] for key, totals in found.items())
    yield from table(["round", "processes", "rounds", "runs that went through", "refused by name"], rows)


def plain(*keys: str) -> Any:
    def write(lines: list[Line]) -> Iterator[str]:
        yield from table([*keys, "times"], counted(lines, *keys))

    return write


def histories(lines: list[Line]) -> Iterator[str]:
    yield from (
        "Each one is drawn from a seed, run on the engine and in plain Python, and compared after every step.",
        "",
    )
    patterns = dict.fromkeys(line["pattern"] for line in lines)
    rows = []
    for pattern in patterns:
        own = [line for line in lines if line["pattern"] == pattern]
        rows.append([pattern, len(own), sum(len(line["steps"]) for line in own), 0])
    yield from table(["pattern", "histories", "steps", "differences"], rows)


def load(lines: list[Line]) -> Iterator[str]:
    rows = ([line["what"], line["small"], line["large"], line["ratio"]] for line in lines)
    yield from table(["what", "small", "large", "time of large / small"], rows)


SECTIONS = {
    "crash": ("Crashes", crashes),
    "kill": ("Kills", kills),
    "round": ("Several at once", rounds),
    "cut": ("Lost connections", plain("pattern", "statement", "when", "outcome")),
    "lost": ("Lost executors and workers", plain("what", "pattern", "mode", "outcome")),
    "history": ("Random histories", histories),
    "bad input": ("Bad input", plain("group")),
    "load": ("Load", load),
}
NAMES = {
    "crash": "crashes",
    "kill": "kills",
    "asleep": "clients put to sleep",
    "round": "rounds of several processes",
    "cut": "cut connections",
    "lost": "lost executors and workers",
    "history": "random histories",
    "bad input": "cases of bad input",
}


def page(titles: dict[str, str], results: Mapping[str, Result], minutes: int, commit: str) -> str:
    """`results` has what held for the files as they are; what did not run, or not to its end, is called so."""
    lines = [line for result in results.values() for line in result.lines]
    numbers = Counter("asleep" if line.get("depth") == "asleep" else line["kind"] for line in lines)
    tests = sum(result.tests for result in results.values())
    text = [
        "# Proof",
        "",
        "Written by `./scripts/prove`, which anybody can run. Everything was tried on real Spark and Delta, and",
        "compared with what an undisturbed run gives. All that is listed here held.",
        "",
        f"It is about commit {code(commit)}. `./scripts/prove` finds out what has changed since, and runs that again.",
        "",
        "**" + ", ".join(f"{numbers[kind]:,} {name}" for kind, name in NAMES.items() if numbers[kind])
        + f"; {tests} tests, {minutes} minutes by the clock, on {os.cpu_count()} cores.**",
        "",
        *table(
            ["part", "what is tried", "tests", "minutes"],
            (
                [f"`--only {name}`", title, *outcome(results[name])]
                for name, title in titles.items()
            ),
        ),
    ]  # fmt: skip
    for kind, (title, write) in SECTIONS.items():
        own = [line for line in lines if line["kind"] == kind]
        if own:
            text += ["", f"## {title}", "", *write(own)]
    return "\n".join([*text, ""])


def outcome(result: Result) -> list[Any]:
    if not result.tests:
        return ["not run for this state", ""]
    tests = str(result.tests) if result.tests >= result.of else f"{result.tests} of {result.of} so far"
    return [tests, max(1, round(result.seconds / 60))]
