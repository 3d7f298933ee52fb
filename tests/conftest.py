"""One Spark session for the whole test run: dbtRunner works in this process and keeps it."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import jinja2
import pytest

from tests.support import FOR_TINY_TABLES, ROOT, Project, make_project, new_world

_numbers = itertools.count(1)


def parse_once() -> None:
    """Every dbt command parses all macros again, because the vars changed. Here the same text is parsed once."""
    parse = jinja2.Environment.parse
    parsed: dict[tuple[type, str], jinja2.nodes.Template] = {}

    def cached(self: jinja2.Environment, source: str, *names: str | None) -> jinja2.nodes.Template:
        key = (type(self), source)
        if key not in parsed:
            parsed[key] = parse(self, source, *names)
        return parsed[key]

    jinja2.Environment.parse = cached  # type: ignore[method-assign]


parse_once()


@pytest.fixture(scope="session")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A clean DITTO_HOME. The log settings of the profile are found from the project's root."""
    home = new_world(tmp_path_factory.mktemp("ditto_home"))
    before = dict(os.environ)
    os.environ.update({"DITTO_HOME": str(home), "DITTO_SCHEMA": "ditto"})
    os.chdir(ROOT)
    yield home
    os.environ.clear()
    os.environ.update(before)


@pytest.fixture(scope="session")
def spark(world: Path, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """The session that dbt itself starts, with the profile that users get."""
    from pyspark.sql import SparkSession

    starter = make_project(tmp_path_factory.mktemp("starter"), "starter", None, FOR_TINY_TABLES)
    outcome = starter.dbt("debug", "--connection")
    assert outcome.ok, outcome.text
    return SparkSession.getActiveSession() or SparkSession.builder.getOrCreate()


@pytest.fixture
def project(spark: Any, tmp_path: Path) -> Project:
    """An empty consumer project with a schema of its own."""
    return make_project(tmp_path, f"t{next(_numbers)}", spark, FOR_TINY_TABLES)


@pytest.fixture
def another_project(spark: Any, tmp_path_factory: pytest.TempPathFactory) -> Callable[[], Project]:
    """More empty projects, each in a folder and a schema of its own."""
    return lambda: make_project(tmp_path_factory.mktemp("project"), f"t{next(_numbers)}", spark, FOR_TINY_TABLES)
