"""A full dataset each day, for proxy_view: the devices as the provider knows them that day."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.support import Outcome, Project

SELECT = "select type, full_name from {{ target.schema }}.devices_today where day = '{{ ditto.execution_date() }}'"


def full_dataset(project: Project, *days: tuple[str, str], **config: Any) -> None:
    """A model `published`; `days` are a day of October 2024 and its devices, one letter each."""
    rows = [(f"2024-10-{day}", letter, f"Device {letter}") for day, letters in days for letter in letters]
    project.source("devices_today", "day string, type string, full_name string", rows)
    project.model("published", SELECT, materialized="proxy_view", **config)


def shown(project: Project) -> str:
    return "".join(sorted(row[0] for row in project.sql("select type from {schema}.published")))


def operation(project: Project, name: str, **arguments: Any) -> Outcome:
    return project.dbt("run-operation", name, "--args", json.dumps({"model": "published", **arguments}))


def refusal(project: Project, capsys: pytest.CaptureFixture[str], name: str, **arguments: Any) -> str:
    """What an operation says that has to fail."""
    capsys.readouterr()
    assert not operation(project, name, **arguments).ok
    return capsys.readouterr().out


def verify(project: Project, capsys: pytest.CaptureFixture[str]) -> str:
    """What ditto_verify found wrong; nothing if all is well."""
    capsys.readouterr()
    outcome = project.dbt("run-operation", "ditto_verify")
    said = capsys.readouterr().out
    return "" if outcome.ok else said


def tables(project: Project) -> list[str]:
    """The version tables, oldest first."""
    return sorted(row[1] for row in project.sql("show tables in {schema} like 'published__v*'"))


def recorded(project: Project) -> list[str]:
    """The names of the versions in the ledger, oldest first."""
    query = """
        select get_json_object(details, '$.version') from {schema}.ditto_ledger
        where event = 'committed' and execution_time is not null order by seq
    """
    return [row[0] for row in project.sql(query)]
