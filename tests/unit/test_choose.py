"""Which pattern? Every leaf of the decision tree, the next question, and answers that do not fit together."""

from __future__ import annotations

import itertools
import re
from pathlib import Path
from typing import Any

import pytest
from dbt_common.exceptions import CompilationError
from macro_harness import Ditto

ROOT = Path(__file__).resolve().parents[2]
OTHERS: list[tuple[str, dict[str, bool]]] = [
    ("transactional_writer", {"all_or_nothing": True}),
    ("proxy_view", {"all_or_nothing": False, "full_dataset": True, "keep_all_versions": True}),
    (
        "fast_metadata_cleaner",
        {"all_or_nothing": False, "full_dataset": True, "keep_all_versions": False, "cleaning_gets_slow": True},
    ),
    (
        "insert_overwrite",
        {"all_or_nothing": False, "full_dataset": True, "keep_all_versions": False, "cleaning_gets_slow": False},
    ),
    ("keyed_idempotency", {"all_or_nothing": False, "full_dataset": False, "generated_keys": True}),
    (
        "stateful_merge",
        {
            "all_or_nothing": False,
            "full_dataset": False,
            "generated_keys": False,
            "updates": True,
            "exact_backfill": True,
        },
    ),
    (
        "merger",
        {
            "all_or_nothing": False,
            "full_dataset": False,
            "generated_keys": False,
            "updates": True,
            "exact_backfill": False,
        },
    ),
    ("dedup_insert", {"all_or_nothing": False, "full_dataset": False, "generated_keys": False, "updates": False}),
]
LEAVES = [("file_ingest", {"from_files": True}), *((name, {"from_files": False} | yes) for name, yes in OTHERS)]
EVERY = [*LEAVES[6][1], "keep_all_versions", "cleaning_gets_slow"]

NEITHER = {"from_files": False, "all_or_nothing": False}


def chosen(ditto: Ditto, **answers: Any) -> str | None:
    """The pattern, or the argument of the next question in brackets."""
    choice = ditto.choose(answers)
    return choice["pattern"] or f"({choice['question']['argument']})"


@pytest.mark.parametrize(("pattern", "answers"), LEAVES)
def test_every_pattern_is_reached(ditto: Ditto, pattern: str, answers: dict[str, bool]) -> None:
    assert chosen(ditto, **answers) == pattern
    ditto.ditto_choose(**answers)
    assert ditto.logs[0].startswith(f"ditto: {pattern}\n")
    assert f"{{{{ config(materialized='{pattern}'" in ditto.logs[0]
    assert f"docs/{pattern}.md" in ditto.logs[0]


def test_nothing_else_is_reached(ditto: Ditto) -> None:
    """All combinations of answers lead to a known pattern, to a question that is open, or are refused."""
    patterns = set(ditto.patterns())
    seen = set()
    for values in itertools.product([None, True, False], repeat=len(EVERY)):
        answers = {name: value for name, value in zip(EVERY, values, strict=True) if value is not None}
        try:
            choice = ditto.choose(answers)
        except CompilationError:
            continue
        if choice["pattern"]:
            seen.add(choice["pattern"])
        else:
            assert choice["question"]["argument"] not in answers
        deciding = {"from_files", "all_or_nothing", "keep_all_versions", "cleaning_gets_slow", "generated_keys"}
        deciding |= {"exact_backfill"}
        assert len([name for name in deciding if answers.get(name)]) <= 1, "each of them leads to another pattern"
    assert seen == patterns == {pattern for pattern, _ in LEAVES} == set(ditto.choose_reasons())


@pytest.mark.parametrize(
    ("answers", "result"),
    [
        ({"full_dataset": True, "keep_all_versions": True}, "proxy_view"),
        ({"exact_backfill": True}, "stateful_merge"),
        ({"generated_keys": True, "updates": True}, "keyed_idempotency"),
        ({"all_or_nothing": True, "full_dataset": True}, "transactional_writer"),
        ({"all_or_nothing": True, "updates": True}, "transactional_writer"),
        ({"from_files": True, "full_dataset": True}, "file_ingest"),
        ({"full_dataset": True}, "(from_files)"),
        ({"all_or_nothing": False}, "(from_files)"),
        ({"from_files": False, "full_dataset": True}, "(all_or_nothing)"),
        (NEITHER, "(full_dataset)"),
        (NEITHER | {"updates": True}, "(generated_keys)"),
        (NEITHER | {"full_dataset": True}, "(keep_all_versions)"),
        (NEITHER | {"full_dataset": True, "keep_all_versions": False}, "(cleaning_gets_slow)"),
        (NEITHER | {"full_dataset": False, "exact_backfill": False}, "(generated_keys)"),
    ],
)
def test_some_answers(ditto: Ditto, answers: dict[str, bool], result: str) -> None:
    assert chosen(ditto, **answers) == result


def test_the_next_question_has_its_argument(ditto: Ditto) -> None:
    ditto.ditto_choose(**NEITHER)
    text = ditto.logs[0]
    assert text.startswith("ditto: one more answer is needed\n")
    assert "visible together or not at all? no\n  Is each run the full dataset" in text
    assert "add to --args: full_dataset: true, or full_dataset: false" in text


@pytest.mark.parametrize(
    ("answers", "found"),
    [
        ({"size": True}, "size: True"),
        ({"size": None}, "size: None"),
        ({"full_dataset": "maybe"}, "full_dataset: maybe"),
        ({"full_dataset": False, "keep_all_versions": True}, "full_dataset: false and keep_all_versions: true"),
        ({"full_dataset": True, "updates": True}, "full_dataset: true and updates: true"),
        ({"updates": False, "exact_backfill": True}, "updates: false and exact_backfill: true"),
        ({"from_files": True, "exact_backfill": True}, "from_files: true and exact_backfill: true"),
        ({"all_or_nothing": True, "generated_keys": True}, "all_or_nothing: true and generated_keys: true"),
        ({"generated_keys": True, "keep_all_versions": True}, "keep_all_versions: true and generated_keys: true"),
        (
            {"keep_all_versions": True, "cleaning_gets_slow": True},
            "keep_all_versions: true and cleaning_gets_slow: true",
        ),
    ],
)
def test_answers_that_are_refused(ditto: Ditto, answers: dict[str, Any], found: str) -> None:
    with pytest.raises(CompilationError) as error:
        ditto.ditto_choose(**answers)
    assert "ditto: ditto_choose" in str(error.value)
    assert f"found:    {found}\n" in str(error.value)
    assert ditto.logs == []


def test_without_answers_the_tree_is_shown(ditto: Ditto) -> None:
    ditto.ditto_choose()
    text = ditto.logs[0]
    leaves = re.findall(r"(?:yes|no): +(\w+)$", text, re.MULTILINE)
    assert sorted(leaves) == sorted(ditto.patterns())
    assert sorted(re.findall(r"\? \((\w+)\)$", text, re.MULTILINE)) == sorted(EVERY)


def test_the_readme_has_the_same_tree(ditto: Ditto) -> None:
    """Its list leads to the same patterns in the same order, each with its page."""
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    part = readme[readme.index("### Which one?") : readme.index("## Backfill")]
    linked = re.findall(r"\[`(\w+)`\]\(docs/(\w+)\.md\)", part)
    leaves = re.findall(r": +(\w+)$", "\n".join(ditto.choose_tree_lines(ditto.choose_tree())), re.MULTILINE)
    assert linked == [(leaf, leaf) for leaf in leaves]
