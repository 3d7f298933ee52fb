"""What a file_ingest model may say in its config, and what it is told when that is wrong."""

from __future__ import annotations

from typing import Any

import pytest
from dbt_common.exceptions import CompilationError
from file_ingest_model import DATE, FILES, node, refusal, settings
from macro_harness import INVOCATION_ID, Ditto

EXAMPLE = "files={'path': '/landing/orders', 'format': 'csv'"


def files(**changes: object) -> dict[str, Any]:
    return {"files": {key: value for key, value in (FILES | changes).items() if value is not None}}


def test_defaults(ditto: Ditto) -> None:
    found = settings(ditto)
    assert found["files"] == {
        "path": "/landing",
        "format": "csv",
        "schema": "id int",
        "options": {"header": "true"},
        "pattern": None,
        "recursive": True,
        "corruptible": True,
        "keeps_corrupt": False,
    }
    rules = ("file_path_column", "on_duplicate_content", "on_failed_file", "detect_changes")
    assert [found[name] for name in rules] == ["file_path", "skip", "warn", "metadata"]
    assert [found[name] for name in ("max_retries", "max_files", "hash_in_pieces_above")] == [3, 10000, 256 * 1024**2]
    assert (found["incoming"], found["incoming_identifier"]) == ("`demo`.`orders__incoming`", "orders__incoming")
    assert (found["table"], found["relation"], found["leased"]) == ("`demo`.`orders`", "demo.orders", True)


def test_each_run_has_a_load_of_its_own(ditto: Ditto) -> None:
    assert settings(ditto)["load"] == f"20241007T120000-{INVOCATION_ID}"


def test_options_under_meta_count_like_those_at_the_top(ditto: Ditto) -> None:
    options: dict[str, Any] = {
        "files": {"path": "s3a://bucket/in", "format": "parquet"},
        "file_path_column": "origin",
        "on_duplicate_content": "load",
        "on_failed_file": "error",
        "detect_changes": "content",
        "max_retries": 0,
        "max_files": 1,
        "hash_in_pieces_above": 0,
    }
    below = settings(ditto, files=None, meta=options)
    assert below == settings(ditto, **options)
    assert {name: below[name] for name in options if name != "files"} == {
        name: value for name, value in options.items() if name != "files"
    }


@pytest.mark.parametrize(
    ("given", "read"),
    [
        ({"path": " /landing/in/ "}, {"path": "/landing/in"}),
        ({"path": "/"}, {"path": "/"}),
        ({"format": "CSV"}, {"format": "csv"}),
        ({"schema": " id int, name string; "}, {"schema": "id int, name string"}),
        ({"schema": "id int,"}, {"schema": "id int"}),
        ({"format": "parquet", "schema": None}, {"format": "parquet", "schema": None, "corruptible": False}),
        ({"format": "json"}, {"corruptible": True}),
        ({"pattern": "*.csv", "recursive": False}, {"pattern": "*.csv", "recursive": False}),
        (
            {"options": {"header": True, "multiLine": False, "sep": ";", "maxColumns": 3}},
            {"options": {"header": "true", "multiLine": "false", "sep": ";", "maxColumns": 3}},
        ),
        ({"options": None}, {"options": {}}),
    ],
)
def test_files_are_read_as_they_are_meant(ditto: Ditto, given: dict[str, Any], read: dict[str, Any]) -> None:
    found = settings(ditto, **files(**given))["files"]
    assert {key: found[key] for key in read} == read


@pytest.mark.parametrize("format_", ["csv", "json", "parquet", "orc", "avro"])
def test_formats(ditto: Ditto, format_: str) -> None:
    assert settings(ditto, **files(format=format_))["files"]["format"] == format_


@pytest.mark.parametrize(
    ("config", "found", "expected"),
    [
        ({"files": None}, "files without a path", "the folder in which files arrive"),
        ({"files": "/landing"}, "files: /landing", "a mapping with path, format and schema"),
        ({"files": ["/landing"]}, "files: ['/landing']", "a mapping with path, format and schema"),
        (files(path=None), "files without a path", "the folder in which files arrive"),
        (files(path=" "), "files without a path", "the folder in which files arrive"),
        (files(path=3), "files without a path", "the folder in which files arrive"),
        (files(format=None), "files: format: nothing", "csv, json, parquet, orc or avro"),
        (files(format="xml"), "files: format: xml", "csv, json, parquet, orc or avro"),
        (files(schema=None), "files: schema: None", "the columns of the files with their types"),
        (files(schema=None, format="json"), "files: schema: None", "the columns of the files with their types"),
        (files(schema=" "), "files: schema:  ", "the columns of the files with their types"),
        (files(schema=["id int"]), "files: schema: ['id int']", "the columns of the files with their types"),
        (files(options="header"), "files: options: header", "a mapping of options for the reader of Spark"),
        (files(recursive="no"), "files: recursive: no", "true or false"),
        (files(pattern=3), "files: pattern: 3", "a pattern for the names of the files, such as '*.csv'"),
        (files(pattern="2024/*.csv"), "files: pattern: 2024/*.csv", "a pattern for the names of the files"),
        (files(glob="*.csv", folder="x"), "files: glob, folder", "path, format, schema, options, pattern, recursive"),
    ],
)
def test_mistakes_in_files_are_shown_with_an_example(
    ditto: Ditto, config: dict[str, Any], found: str, expected: str
) -> None:
    text = refusal(lambda: settings(ditto, **config))
    assert f"found:    {found}" in text
    assert f"expected: {expected}" in text
    assert EXAMPLE in text[text.index("fix:") :]


@pytest.mark.parametrize("path", ["/landing/*", "/landing/2024-??", "/landing/{a,b}", "/landing/[ab]"])
def test_a_path_is_one_folder(ditto: Ditto, path: str) -> None:
    text = refusal(lambda: settings(ditto, **files(path=path)))
    assert f"found:    files: path: {path}" in text
    assert "which of its files is said by pattern, and recursive reads the folders in it" in text


@pytest.mark.parametrize(
    "name",
    [
        "mode",
        "Path",
        "columnNameOfCorruptRecord",
        "recursiveFileLookup",
        "pathGlobFilter",
        "ignoreCorruptFiles",
        "IGNOREMISSINGFILES",
    ],
)
def test_options_that_would_hide_what_ditto_looks_for_are_refused(ditto: Ditto, name: str) -> None:
    text = refusal(lambda: settings(ditto, **files(options={"header": True, name: "x"})))
    assert f"found:    files: options: {name}\n" in text
    assert "(pattern and recursive are keys of files)" in text


@pytest.mark.parametrize(
    ("config", "found", "fix"),
    [
        ({"file_path_column": " "}, "file_path_column:  ", "file_path_column='file_path'"),
        ({"file_path_column": ["a"]}, "file_path_column: ['a']", "file_path_column='file_path'"),
        ({"file_path_column": "_ditto_path"}, "file_path_column: _ditto_path", "file_path_column='file_path'"),
        ({"on_duplicate_content": "ignore"}, "on_duplicate_content: ignore", "on_duplicate_content='skip'"),
        ({"on_failed_file": "skip"}, "on_failed_file: skip", "on_failed_file='warn'"),
        ({"detect_changes": "hash"}, "detect_changes: hash", "detect_changes='metadata'"),
        ({"max_retries": -1}, "max_retries: -1", "max_retries=3"),
        ({"max_retries": "3"}, "max_retries: 3", "max_retries=3"),
        ({"max_retries": True}, "max_retries: True", "max_retries=3"),
        ({"max_files": 0}, "max_files: 0", "max_files=10000"),
        ({"max_files": 1.5}, "max_files: 1.5", "max_files=10000"),
        ({"hash_in_pieces_above": "1 GB"}, "hash_in_pieces_above: 1 GB", "hash_in_pieces_above=268435456"),
        ({"file_format": "parquet"}, "file_format: parquet", "set file_format='delta'"),
        ({"on_schema_change": "grow"}, "on_schema_change: grow", "on_schema_change='ignore'"),
    ],
)
def test_mistakes_are_named_with_their_remedy(ditto: Ditto, config: dict[str, Any], found: str, fix: str) -> None:
    text = refusal(lambda: settings(ditto, **config))
    assert f"found:    {found}" in text
    assert fix in text[text.index("fix:") :]


# --- ditto.incoming() -----------------------------------------------------------------------------------------------


def test_a_model_reads_its_files_by_name(ditto: Ditto) -> None:
    here = ditto.with_context(var={"execution_date": DATE}, model=node())
    assert here.incoming() == (
        "(select * except (`_corrupt_record`), `_metadata`.`file_path` as `file_path` from `demo`.`orders__incoming`)"
    )
    assert here.with_context(execute=False).incoming() == "(select 1)"


def test_another_pattern_has_no_files(ditto: Ditto) -> None:
    here = ditto.with_context(var={"execution_date": DATE}, model=node(materialized="merger"))
    with pytest.raises(CompilationError, match=r"found:    ditto.incoming\(\) with materialized='merger'"):
        here.incoming()


def test_a_select_without_its_files_is_refused(ditto: Ditto) -> None:
    text = refusal(lambda: ditto.require_incoming(settings(ditto), "select 1 as id"))
    assert "select * from {{ ditto.incoming() }}" in text[text.index("fix:") :]
