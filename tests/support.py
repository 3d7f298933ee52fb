"""What functional and chaos tests share: dbt projects made on the fly, run in this process on one Spark session."""

from __future__ import annotations

import json
import os
import re
import shutil
import textwrap
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml
from dbt.adapters.spark.session import Cursor
from dbt.cli.main import dbtRunner, dbtRunnerResult
from dbt.contracts.graph.manifest import Manifest
from dbt.contracts.results import RunResult

ROOT = Path(__file__).resolve().parent.parent


class Killed(Exception):
    """Stands for the death of the dbt process: from then on no statement reaches Spark."""


@dataclass
class Outcome:
    """One dbt command."""

    result: dbtRunnerResult

    @property
    def ok(self) -> bool:
        return self.result.success

    @property
    def nodes(self) -> list[RunResult]:
        return list(getattr(self.result.result, "results", []) or [])

    @property
    def text(self) -> str:
        """Every message that dbt showed for its nodes, and the exception that ended it, if any."""
        messages = [str(node.message) for node in self.nodes]
        return "\n".join([*messages, str(self.result.exception or "")])

    def node(self, name: str) -> RunResult:
        return next(node for node in self.nodes if node.node.name == name)


@dataclass
class Project:
    """A dbt project of somebody else that has ditto installed, with a schema of its own."""

    path: Path
    schema: str
    spark: Any
    env: dict[str, str] = field(default_factory=dict)
    known: tuple[Any, Manifest | None] = (None, None)

    def write(self, files: dict[str, str]) -> None:
        for name, text in files.items():
            target = self.path / name
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(textwrap.dedent(text).lstrip("\n"))

    def model(self, name: str, sql: str, **config: Any) -> None:
        """A model with this config; `sql` may use {{ ditto.execution_date() }} and so on."""
        head = f"{{{{ config({', '.join(f'{key}={value!r}' for key, value in config.items())}) }}}}\n"
        self.write({f"models/{name}.sql": head + textwrap.dedent(sql).strip() + "\n"})

    def dbt(self, *args: str, execution_date: str | None = None, variables: dict[str, Any] | None = None) -> Outcome:
        given = dict(variables or {})
        if execution_date is not None:
            given["execution_date"] = execution_date
        command = [*args, "--project-dir", str(self.path), "--profiles-dir", str(self.path), "--quiet"]
        if args[0] in ("run", "run-operation", "test"):
            command.append("--no-write-json")  # nobody reads it, and it takes a tenth of a second
        if given:
            command += ["--vars", json.dumps(given)]
        with environment(DITTO_SCHEMA=self.schema, **self.env):
            cached = args[0] in ("run", "run-operation", "snapshot", "test")
            parsed = self.parsed(command, variables) if cached else None
            return Outcome(dbtRunner(manifest=parsed).invoke(command))

    def parsed(self, command: list[str], variables: dict[str, Any] | None) -> Manifest | None:
        """The project as dbt reads it, kept as long as its files stay the same: it takes a second for each command.

        What is read may depend on the vars where a config does; then, and where reading fails, dbt does it itself.
        """
        folders = [self.path / name for name in ("models", "seeds", "snapshots", "tests", "macros")]
        files = [path for folder in folders for path in sorted(folder.rglob("*.*"))] + [self.path / "dbt_project.yml"]
        texts = [(str(path), path.read_text()) for path in files]
        if any(re.search(r"config\([^}]*(ditto\.|var\()", text) for _, text in texts):
            return None
        key = (self.schema, json.dumps(variables or {}, sort_keys=True), tuple(sorted(self.env.items())), tuple(texts))
        if key != self.known[0]:
            options = command[command.index("--project-dir") :]
            result = dbtRunner().invoke(["parse", *options])
            self.known = (key, result.result if result.success else None)
        return self.known[1]

    def run(self, execution_date: str | None = None, *args: str, model: str | None = None) -> Outcome:
        select = ["--select", model] if model else []
        return self.dbt("run", *select, *args, execution_date=execution_date)

    def must_run(self, execution_date: str, *args: str, model: str | None = None) -> Outcome:
        outcome = self.run(execution_date, *args, model=model)
        assert outcome.ok, outcome.text
        return outcome

    def sql(self, query: str) -> list[tuple[Any, ...]]:
        """Rows of a query; `{schema}` is this project's."""
        return [tuple(row) for row in self.spark.sql(query.replace("{schema}", self.schema)).collect()]

    def rows(self, table: str, columns: str = "*") -> list[tuple[Any, ...]]:
        return sorted(self.sql(f"select {columns} from {{schema}}.{table}"), key=repr)

    def source(self, name: str, schema: str, rows: list[tuple[Any, ...]]) -> None:
        """A Delta table with these rows, made anew, that models read as `{{ target.schema }}.name`."""
        fields = [field.split(maxsplit=1) for field in schema.split(",")]
        columns = ", ".join(f"cast({name} as {kind}) as {name}" for name, kind in fields)
        values = ", ".join(f"({', '.join(literal(value) for value in row)})" for row in rows)
        names = ", ".join(name for name, _ in fields)
        given = f"select {columns} from values {values} as given ({names})" if rows else None
        empty = f"select {', '.join(f'cast(null as {kind}) as {name}' for name, kind in fields)} limit 0"
        self.spark.sql(f"create schema if not exists {self.schema}")
        self.spark.sql(f"create or replace table {self.schema}.{name} using delta as {given or empty}")

    def state(self, relation: str, columns: str = "execution_time, delta_table_version, live") -> list[tuple[Any, ...]]:
        where = f"where relation = '{{schema}}.{relation}' order by execution_time"
        return self.sql(f"select {columns} from {{schema}}.ditto_state {where}")

    def states(self, relation: str) -> dict[str, str]:
        return dict(self.state(relation, "cast(execution_time as string), status"))

    def versions(self, table: str) -> int:
        """The head version of a Delta table."""
        return self.spark.sql(f"describe history {self.schema}.{table} limit 1").collect()[0]["version"]


def literal(value: Any) -> str:
    """A Python value in SQL. Rows as literals need no Python workers, which cost seconds to start."""
    if value is None:
        return "null"
    if isinstance(value, (bool, int, float)):
        return str(value).lower()
    return "'" + str(value).replace("\\", "\\\\").replace("'", "\\'") + "'"


def note(kind: str, **facts: Any) -> None:
    """For ./scripts/prove: what was tried and held."""
    if path := os.environ.get("DITTO_PROOF"):
        test = os.environ["PYTEST_CURRENT_TEST"].rsplit(" ", 1)[0]
        with Path(path).open("a") as record:
            record.write(json.dumps({"kind": kind, "test": test, **facts}) + "\n")


@contextmanager
def environment(**values: str) -> Iterator[None]:
    before = {key: os.environ.get(key) for key in values}
    os.environ.update(values)
    try:
        yield
    finally:
        for key, value in before.items():
            if value is None:
                del os.environ[key]
            else:
                os.environ[key] = value


@contextmanager
def statements(
    die_before: int | None = None, only: str | None = None, die_after: int | None = None
) -> Iterator[list[str]]:
    """Record what is sent to Spark (with `only`: what contains this word); die before or after the n-th of them.

    They are counted from 1. After it: Spark has done what it was told, and the client never learns of it.
    """
    sent: list[str] = []
    dead = False
    execute = Cursor.execute

    def watched(cursor: Cursor, sql: str, *parameters: Any) -> None:
        nonlocal dead
        if dead:
            raise Killed("the process is dead")
        counts = only is None or only in sql
        if counts:
            if die_before is not None and len(sent) + 1 == die_before:
                dead = True
                raise Killed(f"killed before statement {die_before}")
            sent.append(sql)
        execute(cursor, sql, *parameters)
        if counts and len(sent) == die_after:
            dead = True
            raise Killed(f"killed after statement {die_after}")

    Cursor.execute = watched  # type: ignore[method-assign]
    try:
        yield sent
    finally:
        Cursor.execute = execute  # type: ignore[method-assign]


@contextmanager
def held_up(only: str) -> Iterator[list[str]]:
    """The process dies while Spark is in the statement that contains this, and Spark goes on with it.

    The statement is given, to be run later; its fence was true when it began.
    """
    late: list[str] = []
    execute = Cursor.execute

    def watched(cursor: Cursor, sql: str, *parameters: Any) -> None:
        if only in sql and not late:
            held, count = re.subn(r"\(select max\(`token`\) from \S+ where `relation` = '\S+'\) = \d+", "true", sql)
            assert count, "a statement without a fence"
            late.append(held)
        if late:
            raise Killed("in the middle of a statement")
        execute(cursor, sql, *parameters)

    Cursor.execute = watched  # type: ignore[method-assign]
    try:
        yield late
    finally:
        Cursor.execute = execute  # type: ignore[method-assign]


# A handful of rows: to compile and adapt a query costs more than to interpret it. Correctness does not depend on these.
FOR_TINY_TABLES = {
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.shuffle.partitions": "1",
    "spark.sql.ui.explainMode": "simple",
    "spark.sql.lightweightPlanChangeValidation": "false",  # Spark's check of its own rules, after each of them
    # Without checksum files a commit renames half as many files, and for each of them Hadoop starts `readlink` twice.
    "spark.hadoop.fs.file.impl": "org.apache.hadoop.fs.RawLocalFileSystem",
    "spark.hadoop.fs.AbstractFileSystem.file.impl": "org.apache.hadoop.fs.local.RawLocalFs",
}


def make_project(path: Path, schema: str, spark: Any, settings: dict[str, str] | None = None) -> Project:
    """The package is a link, so that its macros are the ones in this tree and nothing has to be installed.

    The profile is the one that users get, with `settings` on top.
    """
    project = Project(path=path, schema=schema, spark=spark)
    profile = yaml.safe_load((ROOT / "profiles.yml").read_text())["ditto"]
    parameters = profile["outputs"]["session"]["server_side_parameters"]
    parameters.update(settings or {})
    if settings:
        # The quick compiler suits a short life; hundreds of commands in one JVM take a fifth less with the full one.
        java = parameters["spark.driver.extraJavaOptions"]
        parameters["spark.driver.extraJavaOptions"] = java.replace("-XX:TieredStopAtLevel=1 ", "")
    project.write(
        {
            "dbt_project.yml": """
                name: app
                version: 1.0.0
                profile: app
                flags:
                  send_anonymous_usage_stats: false
                models:
                  app:
                    +materialized: view
            """,
            "packages.yml": f"packages:\n  - local: {ROOT}\n",
            "profiles.yml": yaml.safe_dump({"app": profile}),
        }
    )
    (path / "dbt_packages").mkdir()
    (path / "dbt_packages" / "ditto").symlink_to(ROOT, target_is_directory=True)
    return project


def new_world(folder: Path) -> Path:
    """An empty DITTO_HOME that shares the jars of the project's own."""
    jars = Path(os.environ.get("DITTO_HOME", ROOT / ".ditto")) / "jars"
    folder.mkdir(parents=True, exist_ok=True)
    if not (folder / "jars").exists():
        shutil.copytree(jars, folder / "jars")
    return folder
