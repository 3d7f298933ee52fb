"""Replay a range of executions of a ditto model, date by date in order, in one process and one Spark session.

In a project that has ditto installed: python dbt_packages/ditto/scripts/backfill.py MODEL --from D --to D
"""

from __future__ import annotations

import argparse
import contextlib
import datetime
import io
import json
import os
import re
import shlex
import sys
import textwrap
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

PROGRAM = os.environ.get("DITTO_COMMAND", f"python {sys.argv[0]}")
# A replay undoes all later executions, and the ledger knows it: so it can be told how far a replay has come. Of units
# only the rest of the same unit is undone, and of the other patterns every execution stays live.
CHAINED = {"stateful_merge"}
UNITS = "fast_metadata_cleaner"
EXAMPLES = """
examples:
  {program} devices --from 2024-10-05 --to 2024-10-08 --dry-run
  {program} devices --from 2024-10-05 --to 2024-10-08 --downstream
  {program} devices --from 2024-10-07T08:00:00 --to 2024-10-07T12:00:00 --interval hour

exit code: 0 when every date ran, 1 when the plan or a date was refused or failed, 2 for a mistake in the arguments
"""

Plan = dict[str, Any]


class Stop(Exception):
    """Something that a person has to decide; the message says what."""


@dataclass
class Dbt:
    """dbt in this process: all commands share its Spark session."""

    project_dir: Path
    options: list[str]
    variables: dict[str, Any]
    printed: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)

    def invoke(self, *arguments: str, execution_date: str) -> Any:
        from dbt.cli.main import dbtRunner

        def listen(event: Any) -> None:
            if event.info.name == "PrintEvent":
                self.printed.append(event.data.msg)
            elif event.info.level == "error":
                self.errors.append(event.info.msg)

        self.printed.clear()
        self.errors.clear()
        variables = json.dumps({**self.variables, "execution_date": execution_date})
        command = ["--quiet", "--log-level", "none", *arguments, *self.options, "--vars", variables]
        # What dbt itself would print is said here in fewer words.
        with contextlib.redirect_stdout(io.StringIO()):
            return dbtRunner(callbacks=[listen]).invoke(command)

    def plan(self, model: str, first: str, given: argparse.Namespace, own: str | None = None) -> tuple[str, Plan]:
        """The plan of the range from `first` on, from the macro that plans every run: as text, and as data.

        `own` is the interval of a model for which it is not that of the range: its ends need not be executions of it.
        """
        arguments = {"model": model, "from": given.first, "to": given.last, "start": first, "format": "both"}
        arguments |= {"interval": own or given.interval, "within": own is not None, "slice_only": given.slice_only}
        result = self.invoke("run-operation", "ditto_plan", "--args", json.dumps(arguments), execution_date=first)
        if not result.success or len(self.printed) < 2:
            raise Stop(self.failure(result))
        return self.printed[-2], json.loads(self.printed[-1])

    def failure(self, result: Any) -> str:
        """What dbt says about a command that failed, without the trace through its macros."""
        if isinstance(result.exception, KeyboardInterrupt):
            return "interrupted"
        nodes = getattr(result.result, "results", None) or []
        texts = [str(node.message) for node in nodes if node.message and str(node.status) in ("error", "fail")]
        # The errors of an operation are only among the events.
        texts = texts or ([str(result.exception)] if result.exception else self.errors)
        trace = re.compile(r"\s*> (in|called by) (macro|model) ")
        text = "\n".join(line for line in "\n".join(texts).splitlines() if not trace.match(line)).strip()
        if "could not find a macro with the name" in text:
            return "error: ditto is not installed in this project\n  fix: add it to packages.yml, then run dbt deps"
        # An error of ditto is complete; what dbt puts around it is not needed.
        if "ditto: " in text:
            head, _, body = text[text.index("ditto: ") :].partition("\n")
            return f"{head}\n{textwrap.indent(textwrap.dedent(body), '  ')}"
        return text or "dbt failed and did not say why"


def say(text: str = "") -> None:
    print(text, flush=True)


def short(moment: str) -> str:
    """As a person writes it: a day as a day."""
    return moment[:10] if moment[11:] == "00:00:00" else moment.replace(" ", "T")


# --- arguments --------------------------------------------------------------------------------------------------------


def parser() -> argparse.ArgumentParser:
    described = __doc__.splitlines()[0] if __doc__ else ""
    it = argparse.ArgumentParser(
        prog=PROGRAM,
        description=described,
        epilog=EXAMPLES.format(program=PROGRAM),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    it.add_argument("model", metavar="MODEL", help="the name of a ditto model")
    it.add_argument("--from", dest="first", required=True, metavar="D", help="the first execution date or timestamp")
    it.add_argument("--to", dest="last", required=True, metavar="D", help="the last one, included")
    it.add_argument(
        "--interval",
        choices=["hour", "day", "week", "month"],
        help="how far apart the executions are; default: interval of the model's config, for dates day."
        " Executions that the ledger has between them are replayed too. Downstream models keep the interval of their"
        " own config",
    )
    it.add_argument(
        "--downstream",
        action="store_true",
        help="each date also runs the ditto models that read the model and have an execution then, and what lies"
        " between; other models that read it run once, at the end",
    )
    it.add_argument(
        "--slice-only",
        action="store_true",
        help="fast_metadata_cleaner: replay only the executions of the range, each of which replaces its slice; without"
        " it the first and the last unit are replayed as a whole",
    )
    it.add_argument("--dry-run", action="store_true", help="show the plan and stop; nothing is touched")
    it.add_argument(
        "--resume",
        action="store_true",
        help="after a failure: skip the executions that were replayed already, which are those at the beginning of the"
        " range that are live (stateful_merge only); with downstream models, the latest of them is replayed once more."
        " Refused where all are live: then nobody knows what was replayed",
    )
    for name, what in {
        "project-dir": "the folder of dbt_project.yml, as for dbt",
        "profiles-dir": "the folder of profiles.yml, as for dbt",
        "target": "the target of the profile, as for dbt",
        "vars": "vars for dbt, as YAML; execution_date is set for each run",
    }.items():
        it.add_argument(f"--{name}", metavar=name.upper().replace("-", "_"), help=what)
    return it


def moment(text: str) -> datetime.datetime:
    try:
        return datetime.datetime.fromisoformat(text)
    except ValueError as error:
        raise ValueError(f"{text} is no date (2024-10-07) and no ISO timestamp (2024-10-07T09:00:00)") from error


def check_range(given: argparse.Namespace) -> None:
    first, last = moment(given.first), moment(given.last)
    if (first.tzinfo is None) != (last.tzinfo is None):
        raise ValueError("--from and --to: either both have a time zone or none has")
    if first > last:
        raise ValueError(f"--from {given.first} lies after --to {given.last}: dates are replayed in order")


def read_variables(text: str | None) -> dict[str, Any]:
    import yaml

    try:
        variables = yaml.safe_load(text) if text else {}
    except yaml.YAMLError as error:
        raise ValueError(f"--vars is no YAML: {text}") from error
    if not isinstance(variables, dict):
        raise ValueError(f"--vars is no YAML mapping: {text}")
    return variables


def command_for(given: argparse.Namespace, **changes: Any) -> str:
    """This command with other arguments, to be copied."""
    wanted = {**vars(given), "resume": False, **changes}
    words = [wanted["model"], "--from", wanted["first"], "--to", wanted["last"]]
    for name in ("interval", "project_dir", "profiles_dir", "target", "vars"):
        words += [f"--{name.replace('_', '-')}", wanted[name]] if wanted[name] else []
    words += [f"--{name.replace('_', '-')}" for name in ("downstream", "slice_only", "resume") if wanted[name]]
    return f"{PROGRAM} {shlex.join(words)}"


# --- what to run ------------------------------------------------------------------------------------------------------


@dataclass
class Work:
    """Models for the dates, in dbt's own order; models for the end; the plans of the former that ditto manages."""

    plans: dict[str, Plan]
    every_date: list[str]
    at_the_end: list[str] = field(default_factory=list)
    others: list[str] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)

    @property
    def chained(self) -> bool:
        return all(plan["pattern"] in CHAINED for plan in self.plans.values())

    def dates(self) -> list[str]:
        """Every execution of the range that one of the models has or should have."""
        return sorted({each["execution_time"] for plan in self.plans.values() for each in plan["executions"]})

    def models(self, date: str) -> list[str]:
        """A ditto model runs on its own dates only; what lies between has to be right on all of them."""
        absent = {
            name
            for name, plan in self.plans.items()
            if date not in {each["execution_time"] for each in plan["executions"]}
        }
        return [name for name in self.every_date if name not in absent]

    def replayed(self) -> int:
        """How many dates at the beginning can be skipped: those before the first that is not live.

        With several models the date before that one is replayed too: one model may have run on it and another not,
        whose executions are then still live from before.
        """
        back = 1 if len(self.plans) > 1 else 0
        starts: list[str] = []
        for plan in self.plans.values():
            statuses = [each["status"] for each in plan["executions"]]
            first = next((number for number, status in enumerate(statuses) if status != "live"), None)
            if first is not None:
                starts.append(plan["executions"][max(first - back, 0)]["execution_time"])
        dates = self.dates()
        return dates.index(min(starts)) if starts else len(dates)


def on_the_way(downstream: list[dict[str, Any]]) -> set[str]:
    """Downstream models that a ditto model reads, directly or not: they have to be right on every date."""
    reads = {model["name"]: model["reads"] for model in downstream}
    wanted = [model["name"] for model in downstream if model["ditto"]]
    found: set[str] = set()
    while wanted:
        name = wanted.pop()
        if name not in found:
            found.add(name)
            wanted += [other for other in reads[name] if other in reads]
    return found


def gather(dbt: Dbt, given: argparse.Namespace, first: str) -> Work:
    text, plan = dbt.plan(given.model, first, given)
    if given.slice_only and plan["pattern"] != UNITS:
        pattern = plan["pattern"]
        raise Stop(f"error: --slice-only with {given.model} ({pattern}), which has no units\n  fix: leave it out")
    models = [model for model in plan["downstream"] if model["resource_type"] == "model"]
    work = Work({given.model: plan}, [given.model], texts=[text])
    work.others = [model["name"] for model in plan["downstream"] if model not in models or not given.downstream]
    if given.downstream:
        always = on_the_way(models)
        work.every_date += [model["name"] for model in models if model["name"] in always]
        work.at_the_end = [model["name"] for model in models if model["name"] not in always]
        for name, interval in [(model["name"], model["interval"]) for model in models if model["ditto"]]:
            text, read = dbt.plan(name, first, given, None if interval == plan["interval"] else interval)
            if read["executions"]:
                work.plans[name] = read
            else:
                text = f"{name}: the range has no execution of it (interval: {interval})"
                work.every_date.remove(name)
                work.others.append(name)
            work.texts.append(text)
    return work


def refuse(work: Work, date: str) -> None:
    """The plan may say that the first of the runs cannot be done; then none is tried."""
    for model, plan in work.plans.items():
        for execution in plan["executions"]:
            problems = [each for each in execution["problems"] if each["rule"] == "error"]
            if execution["execution_time"] == date and problems:
                told = [f"  {word + ':':<9} {each[word]}" for each in problems for word in ("found", "expected", "fix")]
                raise Stop("\n".join([f"ditto: the plan refuses execution {short(date)} of {model}", *told]))


# --- running it -------------------------------------------------------------------------------------------------------


def run(dbt: Dbt, models: list[str], date: str, label: str) -> None:
    started = time.monotonic()
    result = dbt.invoke("run", "--select", *models, execution_date=short(date))
    nodes = list(getattr(result.result, "results", None) or [])
    told = [(node.node.name, str(node.message).removeprefix("OK ")) for node in nodes]
    done = "; ".join(text if len(models) == 1 else f"{name} {text}" for name, text in told)
    say(f"{label}  {done if result.success else 'FAILED'}  {time.monotonic() - started:.1f} s")
    missing = sorted(set(models) - {name for name, _ in told})
    if not result.success or missing:
        raise Stop(f"dbt did not run {', '.join(missing)}" if result.success else dbt.failure(result))


def resume(dbt: Dbt, given: argparse.Namespace, work: Work) -> tuple[Work, int]:
    """Skip what was replayed already; the rest is planned from where it is now."""
    loose = [f"{name} ({plan['pattern']})" for name, plan in work.plans.items() if plan["pattern"] not in CHAINED]
    if loose:
        raise Stop(
            f"error: --resume with {', '.join(loose)}: what was replayed cannot be told from the ledger\n"
            f"  fix: start at the one that failed: {command_for(given, first='<date>')}"
        )
    dates = work.dates()
    skipped = work.replayed()
    if skipped == len(dates):
        # A process that was killed before its first intent leaves the ledger as it was.
        raise Stop(
            f"error: --resume, and all {len(dates)} executions of the range are live:"
            " either the backfill was complete, or nothing was replayed yet\n"
            f"  fix: if it was not complete, replay all of it: {command_for(given)}"
        )
    if skipped:
        say(f"{skipped} of {len(dates)} executions are live and skipped, up to {short(dates[skipped - 1])}\n")
        work = gather(dbt, given, short(dates[skipped]))
    return work, skipped


def replay(dbt: Dbt, given: argparse.Namespace, work: Work, skipped: int) -> None:
    dates = work.dates()
    refuse(work, dates[0])
    say()
    width = max(len(short(date)) for date in dates)
    for number, date in enumerate(dates, skipped + 1):
        try:
            run(dbt, work.models(date), date, f"{number} of {skipped + len(dates)}  {short(date):<{width}}")
        except Stop as stop:
            # Without a chain every execution is live, replayed or not; and if none was replayed, all are.
            chained = work.chained and number > 1
            again = command_for(given, resume=True) if chained else command_for(given, first=short(date))
            raise Stop(f"{stop}\n\nto resume, once that is repaired:\n  {again}") from None
    if work.at_the_end:
        try:
            run(dbt, work.at_the_end, dates[-1], f"at the end  {short(dates[-1])}")
        except Stop as stop:
            words = ["dbt", "run", "--select", *work.at_the_end, *dbt.options]
            words += ["--vars", json.dumps({**dbt.variables, "execution_date": short(dates[-1])})]
            raise Stop(
                f"{stop}\n\nall dates are done; once that is repaired, what is left:\n  {shlex.join(words)}"
            ) from None


def conclude(given: argparse.Namespace, work: Work) -> None:
    say()
    for model, plan in work.plans.items():
        stale = plan["stale_afterwards"]
        if stale:
            some = ", ".join(map(short, stale[:10])) + (f" and {len(stale) - 10} more" if stale[10:] else "")
            say(f"{model}: stale now, to be replayed: {some}")
            changes = {"model": model, "first": short(stale[0]), "last": short(stale[-1])}
            say(f"  {command_for(given, **changes)}")
        elif plan["pattern"] in {*CHAINED, UNITS}:
            say(f"{model}: no execution is stale")
    if work.others:
        hint = "" if given.downstream else "; --downstream runs the models among them"
        say(f"not run, but they read it: {', '.join(work.others)}{hint}")


def main(arguments: list[str] | None = None) -> int:
    usage = parser()
    given = usage.parse_args(arguments)
    try:
        check_range(given)
    except ValueError as error:
        usage.error(str(error))
    try:
        import dbt.cli.main  # noqa: F401
    except ImportError:
        say(f"error: {sys.executable} has no dbt\n  fix: activate the environment that has dbt-spark")
        return 1
    try:
        variables = read_variables(given.vars)
    except ValueError as error:
        usage.error(str(error))
    project_dir = Path(given.project_dir or os.environ.get("DBT_PROJECT_DIR", "."))
    if not (project_dir / "dbt_project.yml").exists():
        say(f"error: {project_dir.absolute()} has no dbt_project.yml\n  fix: go to the project, or give --project-dir")
        return 1
    options = []
    for name in ("project_dir", "profiles_dir", "target"):
        options += [f"--{name.replace('_', '-')}", getattr(given, name)] if getattr(given, name) else []
    if given.slice_only:
        variables["ditto_slice_only"] = True
    runner = Dbt(project_dir, options, variables)
    try:
        work, skipped = gather(runner, given, given.first), 0
        if given.resume:
            work, skipped = resume(runner, given, work)
        say("\n\n".join(work.texts))
        if given.dry_run:
            return 0
        replay(runner, given, work, skipped)
    except Stop as stop:
        say(f"\n{stop}")
        return 1
    conclude(given, work)
    return 0


if __name__ == "__main__":
    sys.exit(main())
