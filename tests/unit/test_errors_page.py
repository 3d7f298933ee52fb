"""docs/errors.md is what the table of bad input says."""

from __future__ import annotations

from pathlib import Path

from tests.functional.bad_input.cases import document

PAGE = Path(__file__).resolve().parents[2] / "docs" / "errors.md"


def test_the_page_is_written_from_the_table() -> None:
    assert PAGE.read_text(encoding="utf-8") == document(), "python -m tests.functional.bad_input.cases"
