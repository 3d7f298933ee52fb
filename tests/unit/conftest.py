"""Unit tests: pure macros and the scripts, without Spark and without a dbt project."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
# The tests are imported by path: their helpers, and the scripts under test, have to be found by name.
sys.path[:0] = [str(Path(__file__).parent), str(ROOT / "scripts")]

from macro_harness import Ditto, library  # noqa: E402


@pytest.fixture
def ditto() -> Ditto:
    """The package's macros, in a fresh context."""
    return Ditto(library(ROOT / "macros", ROOT / "tests" / "dbt" / "generic"))
