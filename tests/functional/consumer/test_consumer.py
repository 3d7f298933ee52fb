"""A project that is not ours installs the package as anybody would, and gets the patterns and nothing else."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from tests.support import ROOT, Outcome, Project

OWN_NODES = {
    "shop.raw_orders",
    "shop.orders",
    "shop.customers",
    "shop.devices",
    "shop.ditto_ditto_unique_orders_order_id",
    "shop.ditto_ditto_no_gaps_orders_day",
    "shop.ditto_ditto_ledger_matches_history_orders_",
    "shop.ditto_ditto_unique_customers_customer",
    "shop.ditto_ditto_ledger_matches_history_customers_",
}
FIRST_DAY = [(1, "ada", 10), (2, "bob", 20)]
BOTH_DAYS = [*FIRST_DAY, (3, "ada", 30), (4, "cyd", 40)]


@pytest.fixture
def shop(spark: SparkSession, tmp_path: Path) -> Project:
    """tests/consumer in a folder of its own; only the way to the package is another one from there."""
    path = tmp_path / "shop"
    made_by_dbt = shutil.ignore_patterns("dbt_packages", "package-lock.yml", "target", "logs")
    shutil.copytree(ROOT / "tests" / "consumer", path, ignore=made_by_dbt)
    packages = (path / "packages.yml").read_text()
    assert "- local: ../..\n" in packages
    (path / "packages.yml").write_text(packages.replace("../..", str(ROOT)))
    return Project(path=path, schema="shop", spark=spark)


def must(outcome: Outcome) -> Outcome:
    assert outcome.ok, outcome.text
    return outcome


def orders(shop: Project) -> list[tuple[Any, ...]]:
    return shop.rows("orders", "order_id, customer, amount")


def test_a_project_that_installs_the_package_gets_the_patterns_and_nothing_else(shop: Project) -> None:
    must(shop.dbt("deps"))
    package = shop.path / "dbt_packages" / "ditto"
    assert package.is_symlink(), "the whole folder, environment and warehouse included, was copied"
    assert package.resolve() == ROOT

    listed = must(shop.dbt("ls")).result.result
    assert sorted(listed) == sorted(OWN_NODES)

    must(shop.dbt("build", execution_date="2024-10-07"))
    assert orders(shop) == FIRST_DAY
    assert shop.rows("customers") == [("ada", 1), ("bob", 2)]

    must(shop.dbt("run", execution_date="2024-10-08"))
    assert orders(shop) == BOTH_DAYS
    assert shop.rows("customers") == [("ada", 3), ("bob", 2), ("cyd", 4)]
    live = {"2024-10-07 00:00:00": "live", "2024-10-08 00:00:00": "live"}
    assert shop.states("orders") == live
    assert shop.states("customers") == live

    # The manifest also knows what is never listed: hooks that run before and after a command.
    manifest = json.loads((shop.path / "target" / "manifest.json").read_text())
    assert {node["package_name"] for node in manifest["nodes"].values()} == {"shop"}
    others = ("sources", "exposures", "metrics", "semantic_models", "saved_queries", "unit_tests", "functions")
    assert [kind for kind in others if manifest.get(kind)] == []
    assert manifest["disabled"] == {}, "the demo is not even read"
    tables = {row[1] for row in shop.sql("show tables in {schema}")}
    assert tables == {"raw_orders", "orders", "customers", "devices", "ditto_ledger", "ditto_state", "ditto_runs"}
