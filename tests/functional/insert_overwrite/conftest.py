"""These tests share one schema and one ledger: making a ledger for each would cost more than what they test."""

from __future__ import annotations

import shutil
from typing import Any

import pytest

from tests.support import FOR_TINY_TABLES, Project, make_project


@pytest.fixture(scope="session")
def shared_project(spark: Any, tmp_path_factory: pytest.TempPathFactory) -> Project:
    return make_project(tmp_path_factory.mktemp("insert_overwrite"), "insert_overwrite", spark, FOR_TINY_TABLES)


@pytest.fixture
def project(shared_project: Project) -> Project:
    """The shared project without the models of the test before. Tests give their tables names of their own."""
    shutil.rmtree(shared_project.path / "models", ignore_errors=True)
    shared_project.spark.sql(f"create schema if not exists {shared_project.schema}")
    return shared_project
