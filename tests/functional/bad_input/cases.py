"""Bad input, as data: what is wrong, what ditto says or does, what to do. docs/errors.md is written from this table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROWS = "select 1 as id, 'a' as name, date'{{ ditto.execution_date() }}' as day"
FILES: dict[str, Any] = {"path": "/landing", "format": "csv", "schema": "id int"}


@dataclass(frozen=True)
class Case:
    """One mistake, of a model, a command or the world around it.

    `found` and `fix` are parts of what ditto says. With `engine` Spark itself speaks, in these words; `fix` is advice.
    With `does` it works, and says how; then `rows` are what the table has afterwards.
    """

    name: str
    group: str
    wrong: str
    found: str = ""
    fix: str = ""
    engine: str = ""
    does: str = ""
    rows: tuple[tuple[Any, ...], ...] | None = None
    pattern: str = ""
    config: Mapping[str, Any] = field(default_factory=dict)
    bad: Mapping[str, Any] = field(default_factory=dict)
    sql: str = ROWS
    good: str = ROWS
    world: str = ""
    operation: str = ""
    given: Any = None


def config(name: str, pattern: str, wrong: str, found: str, fix: str, sql: str = ROWS, **options: Any) -> Case:
    """A config that is refused before any SQL is sent."""
    return Case(name, f"Config of {pattern}", wrong, found, fix, pattern=pattern, bad=options, sql=sql)


KEY = {"unique_key": "id"}
OPTIONS = [
    config("no_key", "merger", "no `unique_key`", "no unique_key", "add unique_key='id'"),
    config("empty_key", "merger", "a `unique_key` without a name", "unique_key: ", "unique_key=['id']", unique_key=" "),
    config("number_key", "merger", "a number for columns", "order_by: 5", "order_by=['id']", **KEY, order_by=5),
    config(
        "mapping_key",
        "merger",
        "a mapping for columns",
        "update_columns: {'id': 1}",
        "update_columns=['id']",
        **KEY,
        update_columns={"id": 1},
    ),
    config(
        "both_column_lists",
        "merger",
        "`update_columns` and `exclude_columns` at once",
        "update_columns and exclude_columns",
        "remove update_columns or exclude_columns",
        **KEY,
        update_columns="name",
        exclude_columns="day",
    ),
    config(
        "unknown_choice",
        "merger",
        "a value that the option does not know",
        "on_duplicate_key: newest",
        "on_duplicate_key='error'",
        **KEY,
        on_duplicate_key="newest",
    ),
    config(
        "choice_list",
        "merger",
        "a list where one word is expected",
        "on_null_key: ['error']",
        "on_null_key='error'",
        **KEY,
        on_null_key=["error"],
    ),
    config(
        "latest_without_order",
        "merger",
        "`on_duplicate_key: latest` without `order_by`",
        "on_duplicate_key: latest without order_by",
        "add order_by='updated_at'",
        **KEY,
        on_duplicate_key="latest",
    ),
    config(
        "empty_update",
        "merger",
        "`not_matched_by_source` with an empty `update`, which would delete",
        "not_matched_by_source: {'condition': 'true', 'update': {}}",
        "for example not_matched_by_source={'condition': \"target.region = 'eu'\"}",
        **KEY,
        not_matched_by_source={"condition": "true", "update": {}},
    ),
    config(
        "two_ways_to_delete",
        "merger",
        "`not_matched_by_source` with `sequence_by` and `soft_delete`",
        "not_matched_by_source together with sequence_by and soft_delete",
        "remove not_matched_by_source or sequence_by",
        **KEY,
        sequence_by="day",
        soft_delete="gone",
        not_matched_by_source="delete",
    ),
    config(
        "soft_delete_list",
        "merger",
        "a list where one column is expected",
        "soft_delete: ['gone']",
        'soft_delete="is_deleted"',
        **KEY,
        soft_delete=["gone"],
    ),
    config(
        "sequence_list",
        "merger",
        "several columns in `sequence_by`",
        "sequence_by: ['day', 'id']",
        'sequence_by="changed_at"',
        **KEY,
        sequence_by=["day", "id"],
    ),
    config(
        "empty_condition",
        "merger",
        "a `merge_condition` that is no text",
        "merge_condition: 5",
        'merge_condition="target.region = source.region"',
        **KEY,
        merge_condition=5,
    ),
    config(
        "merge_files",
        "merger",
        "a file format without versions",
        "file_format: parquet",
        "file_format='delta'",
        **KEY,
        file_format="parquet",
    ),
    config(
        "two_layouts",
        "merger",
        "`cluster_by` and `partition_by` at once",
        "cluster_by: id with partition_by",
        "remove cluster_by or partition_by",
        **KEY,
        cluster_by="id",
        partition_by="day",
    ),
    config(
        "schema_change",
        "merger",
        "an `on_schema_change` that dbt does not know",
        "on_schema_change: evolve",
        "on_schema_change='ignore'",
        **KEY,
        on_schema_change="evolve",
    ),
    config(
        "properties_text",
        "merger",
        "`tblproperties` that are no mapping",
        "tblproperties: delta.appendOnly=true",
        "tblproperties={'delta.appendOnly': 'true'}",
        **KEY,
        tblproperties="delta.appendOnly=true",
    ),
    config(
        "spaced_name",
        "merger",
        "a table name with a space, a quote or a letter beyond ASCII",
        "alias: it's a café",
        "alias='it_s_a_caf'",
        **KEY,
        alias="it's a café",
    ),
    config(
        "unknown_mode",
        "insert_overwrite",
        "a mode that does not exist",
        "mode: upsert",
        "mode='predicate'",
        mode="upsert",
    ),
    config(
        "no_predicate",
        "insert_overwrite",
        "neither `predicate` nor `partition_by`",
        "mode: predicate without predicate or partition_by",
        "add predicate=\"day = date'{execution_date}'\"",
    ),
    config(
        "no_partitions",
        "insert_overwrite",
        "`mode: partitions` without `partition_by`",
        "mode: partitions without partition_by",
        "add partition_by='day'",
        mode="partitions",
    ),
    config(
        "table_predicate",
        "insert_overwrite",
        "`mode: table` with a predicate",
        "mode: table with a predicate",
        "remove the predicate",
        mode="table",
        predicate="id = 1",
    ),
    config(
        "or_predicate",
        "insert_overwrite",
        "a predicate with OR, which Spark hands over only in part",
        "predicate: id = 1 or id = 2",
        "write it with IN or BETWEEN",
        predicate="id = 1 or id = 2",
    ),
    config(
        "unknown_brace",
        "insert_overwrite",
        "a name in braces that does not exist",
        "predicate: day = '{execution_day}'",
        "add predicate=\"day = date'{execution_date}'\"",
        predicate="day = '{execution_day}'",
    ),
    config(
        "predicate_number",
        "insert_overwrite",
        "a predicate that is no text",
        "predicate: 5",
        "add predicate=\"day = date'{execution_date}'\"",
        predicate=5,
    ),
    config(
        "many_partitions",
        "insert_overwrite",
        "`max_partitions` below 1",
        "max_partitions: 0",
        "max_partitions=1000",
        mode="partitions",
        partition_by="day",
        max_partitions=0,
    ),
    config(
        "partitions_true",
        "insert_overwrite",
        "a number that is no number",
        "max_partitions: True",
        "max_partitions=1000",
        mode="partitions",
        partition_by="day",
        max_partitions=True,
    ),
    config(
        "predicate_files",
        "insert_overwrite",
        "`mode: predicate` on files without versions",
        "mode: predicate",
        "mode='partitions'",
        file_format="parquet",
        mode="predicate",
        partition_by="day",
    ),
    config(
        "unknown_interval",
        "stateful_merge",
        "an interval that does not exist",
        "interval: quarter",
        "interval='hour'",
        **KEY,
        interval="quarter",
    ),
    config(
        "short_window",
        "stateful_merge",
        "a `backfill_window` that is no longer than the interval",
        "backfill_window: 1 week, interval: week",
        "backfill_window='30 days'",
        **KEY,
        interval="week",
        backfill_window="1 week",
    ),
    config(
        "window_in_months",
        "stateful_merge",
        "a `backfill_window` in months",
        "backfill_window: 2 months",
        "backfill_window='30 days'",
        **KEY,
        backfill_window="2 months",
    ),
    config(
        "history_sequence",
        "stateful_merge",
        "`versioning: history` with options that keep parts of rows",
        "sequence_by with versioning: history",
        "remove sequence_by",
        **KEY,
        versioning="history",
        sequence_by="day",
    ),
    config(
        "history_pinned",
        "stateful_merge",
        "`readers: pinned` without versions",
        "readers: pinned with versioning: history",
        "use readers='table'",
        **KEY,
        versioning="history",
        readers="pinned",
    ),
    config(
        "files_to_clean",
        "fast_metadata_cleaner",
        "files without a metadata layer",
        "file_format: parquet",
        "materialized='insert_overwrite'",
        file_format="parquet",
    ),
    config(
        "hourly_units",
        "fast_metadata_cleaner",
        "a granularity that does not exist",
        "granularity: hour",
        "granularity='week'",
        granularity="hour",
    ),
    config(
        "clustered_units",
        "fast_metadata_cleaner",
        "`cluster_by`, which slices do not allow",
        "cluster_by: id",
        "remove cluster_by",
        cluster_by="id",
    ),
    config("no_units", "fast_metadata_cleaner", "`max_units` below 1", "max_units: 0", "max_units=1000", max_units=0),
    config(
        "same_column_twice",
        "fast_metadata_cleaner",
        "one name for two columns of the view",
        "unit_column and execution_time_column: part",
        "change one of them",
        unit_column="part",
        execution_time_column="Part",
    ),
    config(
        "unit_column_number",
        "fast_metadata_cleaner",
        "a `unit_column` that is no name",
        "unit_column: 5",
        "unit_column='loaded_for'",
        unit_column=5,
        execution_time_column="part",
    ),
    config(
        "unknown_versioning",
        "proxy_view",
        "a `versioning` that does not exist",
        "versioning: git",
        "versioning='tables'",
        versioning="git",
    ),
    config(
        "keep_for_ever",
        "proxy_view",
        "a `keep_for` that is no duration",
        "keep_for: forever",
        "keep_for='3650 days'",
        keep_for="forever",
    ),
    config(
        "hold_number",
        "proxy_view",
        "a `legal_hold` that names nothing",
        "legal_hold: 5",
        "legal_hold=['v20241007_090000']",
        legal_hold=5,
    ),
    config(
        "verify_less_than_none",
        "proxy_view",
        "a negative `verify_versions`",
        "verify_versions: -1",
        "verify_versions=5",
        verify_versions=-1,
    ),
    config(
        "unknown_write",
        "transactional_writer",
        "a `write` that does not exist",
        "write: upsert",
        "write='merge'",
        write="upsert",
    ),
    config(
        "writer_sequence",
        "transactional_writer",
        "`sequence_by`, which this pattern does not follow",
        "sequence_by: day",
        "materialized='merger'",
        **KEY,
        sequence_by="day",
    ),
    config(
        "append_deletes",
        "transactional_writer",
        "`soft_delete` with `write: append`",
        "soft_delete with write: append",
        "write='merge'",
        write="append",
        soft_delete="gone",
    ),
    config(
        "audit_elsewhere",
        "transactional_writer",
        "an audit query that does not read the candidate",
        "audits: {'name': 'a', 'query': 'select 1'}",
        "for example audits=['amount >= 0'",
        **KEY,
        audits=[{"name": "a", "query": "select 1"}],
    ),
    config(
        "audit_number",
        "transactional_writer",
        "an audit that is no condition",
        "audits: 5",
        "for example audits=['amount >= 0'",
        **KEY,
        audits=5,
    ),
    config(
        "dedup_updates",
        "dedup_insert",
        "an option that changes rows",
        "merge_condition: true",
        "materialized='merger'",
        **KEY,
        merge_condition="true",
    ),
    config(
        "dedup_choice",
        "dedup_insert",
        "a value that the option does not know",
        "on_duplicate_key: last",
        "on_duplicate_key='error'",
        **KEY,
        on_duplicate_key="last",
    ),
    config("unkeyed", "keyed_idempotency", "no `unique_key`", "no unique_key", "add unique_key='id'"),
]

INCOMING = "select * from {{ ditto.incoming() }}"


def files(
    name: str,
    wrong: str,
    found: str,
    fix: str = "for example files={'path': '/landing/orders', 'format': 'csv'",
    sql: str = INCOMING,
    **changed: Any,
) -> Case:
    given = {key: value for key, value in {**FILES, **changed}.items() if value is not None}
    return config(name, "file_ingest", wrong, found, fix, sql, files=given)


def rules(name: str, wrong: str, found: str, given: Any) -> Case:
    bad = {**KEY, "dead_letters": given}
    fix = "for example dead_letters=[{'name': 'negative_amount', 'when': 'amount < 0'}"
    return Case(name, "Rules of dead_letters", wrong, f"dead_letters: {found}", fix, pattern="merger", bad=bad)


OPTIONS += [
    files("no_path", "no folder", "files without a path", path=None),
    files("relative_path", "a relative path", "files: path: landing", path="landing"),
    files("many_folders", "a pattern as the path", "files: path: /landing/*", path="/landing/*"),
    files("unknown_format", "a format that does not exist", "files: format: xml", format="xml"),
    files("no_columns", "csv or json without a schema", "files: schema: None", schema=None),
    files("unknown_word", "a key that does not exist", "files: delimiter", delimiter=";"),
    files("own_option", "an option that ditto sets itself", "files: options: mode", options={"mode": "FAILFAST"}),
    files("recursive_text", "a text for true or false", "files: recursive: yes", recursive="yes"),
    files("pattern_path", "a folder in the pattern", "files: pattern: a/*.csv", pattern="a/*.csv"),
    config(
        "files_text",
        "file_ingest",
        "a text for the files",
        "files: /landing",
        "for example files={'path': '/landing/orders', 'format': 'csv'",
        INCOMING,
        files="/landing",
    ),
    config(
        "no_files",
        "file_ingest",
        "`max_files` below 1",
        "max_files: 0",
        "max_files=10000",
        INCOMING,
        files=FILES,
        max_files=0,
    ),
    config(
        "own_name",
        "file_ingest",
        "a `file_path_column` that ditto keeps for itself",
        "file_path_column: _ditto_path",
        "file_path_column='file_path'",
        INCOMING,
        files=FILES,
        file_path_column="_ditto_path",
    ),
    files("no_incoming", "a SELECT that does not read the files", "incoming", "ditto.incoming()", "select 1 as id"),
    rules("rule_number", "no rule at all", "5", 5),
    rules("rule_text", "a rule without a name", "amount < 0", ["amount < 0"]),
    rules("rule_name", "a name with a space", "{'name': 'too low'", [{"name": "too low", "when": "id < 0"}]),
    rules(
        "rule_twice",
        "two rules of one name",
        "{'name': 'LOW'",
        [{"name": "low", "when": "id < 0"}, {"name": "LOW", "when": "id < 1"}],
    ),
    rules("rule_bracket", "a bracket too many", "{'name': 'low'", [{"name": "low", "when": "id < 0) or (true"}]),
    rules(
        "rule_two_statements",
        "a semicolon in the condition",
        "{'name': 'low'",
        [{"name": "low", "when": "id < 0; drop table x"}],
    ),
    rules("rule_empty", "a comment alone", "{'name': 'low'", [{"name": "low", "when": "/* later */"}]),
    config("retries", "merger", "a negative `max_retries`", "max_retries: -1", "max_retries=3", **KEY, max_retries=-1),
]


def rows(name: str, wrong: str, sql: str, found: str = "", fix: str = "", pattern: str = "merger", **more: Any) -> Case:
    """Rows or columns of an increment, after a day on which all was well."""
    keyed = pattern not in ("insert_overwrite", "fast_metadata_cleaner", "proxy_view")
    base = {**(KEY if keyed else {}), **({"partition_by": "day"} if pattern == "insert_overwrite" else {})}
    base |= more.pop("config", {})
    return Case(
        name, more.pop("group", "Rows and columns"), wrong, found, fix, pattern=pattern, sql=sql, config=base, **more
    )


def term(name: str, pattern: str, wrong: str, found: str, fix: str, **bad: Any) -> Case:
    """A condition of the config that Spark does not understand."""
    return rows(name, wrong, ROWS, found, fix, pattern, group="Conditions in the config", bad=bad)


NOT_UNDERSTOOD = ", which Spark does not understand"
INCREMENTS = [
    rows(
        "spaced_column",
        "a column with a space",
        "select 1 as id, 2 as `a b`",
        "column `a b` in the SELECT",
        "rename the column in the model",
    ),
    rows(
        "unnamed_column",
        "an expression without a name",
        "select 1 as id, max(2)",
        "column `max(2)` in the SELECT",
        "rename the column in the model",
        "proxy_view",
    ),
    rows(
        "column_twice",
        "a column twice",
        "select 1 as id, 2 as ID",
        "column id twice in the SELECT",
        "rename the column in the model",
    ),
    rows(
        "own_column",
        "a column of ditto's own",
        "select 1 as id, 2 as _ditto_x",
        "column _ditto_x in the SELECT",
        "rename the column in the model",
        "fast_metadata_cleaner",
    ),
    rows(
        "nothing_but_null",
        "nothing but null",
        "select null as id",
        "nothing but null in the SELECT",
        "cast it in the model",
        "proxy_view",
    ),
    rows(
        "key_missing",
        "a SELECT without the key",
        "select 'a' as name",
        "unique_key: id, which the SELECT does not give",
        "add the column to the SELECT",
    ),
    rows(
        "key_twice",
        "two rows with one key",
        "select id, 'a' as name from values (1), (1) as t (id)",
        '{"id":1}: 2 rows',
        "on_duplicate_key='latest'",
    ),
    rows(
        "key_twice_backfill",
        "the same where a backfill is exact",
        "select id, 'a' as name from values (1), (1) as t (id)",
        '{"id":1}: 2 rows',
        "on_duplicate_key='latest'",
        "stateful_merge",
    ),
    rows(
        "key_twice_insert",
        "different rows with one key",
        "select id, name from values (1, 'b'), (1, 'c') as t (id, name)",
        '{"id":1}: 2 rows',
        "on_duplicate_key='latest'",
        "dedup_insert",
    ),
    rows(
        "key_null",
        "a row without a key",
        "select cast(null as int) as id, 'a' as name",
        '{"id":null}: 1 row without a key',
        "on_null_key='allow'",
    ),
    rows(
        "key_map",
        "a key that cannot be compared",
        "select map('a', 1) as m, 1 as id, 'a' as name",
        "unique_key: m, a map<string,int>",
        "choose another key",
        good="select map('a', 1) as m, 1 as id, 'a' as name",
        bad={"unique_key": "m"},
    ),
    rows(
        "key_of_chance",
        "a key of chance",
        "select uuid() as id, 'a' as name",
        "uuid() in what makes the keys id",
        "ditto.idempotent_key(",
        "keyed_idempotency",
        good="select 'x' as id, 'a' as name",
    ),
    rows(
        "no_number", "a text in a column of numbers", "select 'x' as id, 'a' as name", "id: x", "cast it in the SELECT"
    ),
    rows(
        "large_number",
        "a number that is too large",
        "select 99999999999 as id, 'a' as name, date'{{ ditto.execution_date() }}' as day",
        "id: 99999999999",
        "cast it in the SELECT",
        "insert_overwrite",
    ),
    rows(
        "no_list",
        "a list in a column of numbers",
        "select array(1) as id, 'a' as name",
        "column id, a array<int>",
        "cast it in the SELECT",
        "stateful_merge",
    ),
    rows(
        "text_deletes",
        "a text that tells what is deleted",
        "select 1 as id, 'D' as gone",
        "soft_delete: gone, a string",
        "say in the SELECT when a row is deleted",
        good="select 1 as id, false as gone",
        config={"soft_delete": "gone"},
    ),
    rows(
        "other_columns",
        "other columns with `on_schema_change: fail`",
        "select 1 as id, 5 as extra",
        "new: extra; gone: name, day",
        "set on_schema_change to ignore",
        config={"on_schema_change": "fail"},
    ),
    rows(
        "other_day",
        "rows of another day",
        "select 1 as id, 'a' as name, date'2020-01-01' as day",
        '{"id":1,"name":"a","day":"2020-01-01"}',
        "filter the SELECT",
        "insert_overwrite",
    ),
    rows(
        "no_partition",
        "a SELECT without the partition",
        "select 1 as id, 'a' as name",
        "partition_by: day, which the SELECT does not give",
        "add the column to the SELECT",
        "insert_overwrite",
    ),
    rows(
        "audit_failed",
        "rows that fail an audit",
        "select -1 as id, 'a' as name",
        'id > 0: {"id":-1',
        "look at the rows: select * from",
        "transactional_writer",
        config={"audits": ["id > 0"]},
    ),
    rows(
        "no_such_table",
        "a SELECT from a table that is not there",
        "select * from nosuch.table_x",
        "",
        "make the table, or correct the SELECT",
        engine="[TABLE_OR_VIEW_NOT_FOUND]",
    ),
    rows("no_sql", "a SELECT that is none", "selec 1 as id", "", "correct the SELECT", engine="[PARSE_SYNTAX_ERROR]"),
    rows(
        "model_raises",
        "a SELECT that raises an error itself",
        "select 1 as id, raise_error('boom') as name",
        "",
        "correct the data or the SELECT",
        "stateful_merge",
        engine="[USER_RAISED_EXCEPTION] boom",
    ),
    term(
        "merge_term",
        "merger",
        "a column that is not there, in `merge_condition`",
        "merge_condition: target.nope = 1" + NOT_UNDERSTOOD,
        "correct merge_condition",
        merge_condition="target.nope = 1",
    ),
    term(
        "source_term",
        "merger",
        "an unknown column to update, in `not_matched_by_source`",
        "not_matched_by_source: nope: 1" + NOT_UNDERSTOOD,
        "correct not_matched_by_source",
        not_matched_by_source={"condition": "true", "update": {"nope": "1"}},
    ),
    term(
        "predicate_term",
        "insert_overwrite",
        "a column that is not there, in `predicate`",
        "predicate: nope = 1" + NOT_UNDERSTOOD,
        "correct predicate",
        predicate="nope = 1",
        mode="delete_insert",
    ),
    term(
        "audit_term",
        "transactional_writer",
        "a column that is not there, in `audits`",
        "audits: nope > 5" + NOT_UNDERSTOOD,
        "correct audits",
        audits=["nope > 5"],
    ),
    Case(
        "rule_term",
        "Conditions in the config",
        "a column that is not there, in a rule of `dead_letters`",
        engine="name `nope` cannot be resolved",
        fix="correct the rule",
        pattern="merger",
        config=KEY,
        bad={"dead_letters": [{"name": "low", "when": "nope < 0"}]},
    ),
    rows(
        "empty_merge",
        "an increment without rows",
        "select 1 as id, 'a' as name, current_date() as day where false",
        does="nothing changes",
        rows=((1, "a"),),
    ),
    rows(
        "empty_overwrite",
        "an increment without rows",
        "select 1 as id, 'a' as name, current_date() as day where false",
        pattern="insert_overwrite",
        does="the part of that execution is empty, the others stay",
        rows=((1, "a"),),
    ),
    rows(
        "untyped_null",
        "a column of nothing but null",
        "select 1 as id, null as name",
        does="the column is null",
        rows=((1, None),),
    ),
    rows(
        "odd_values",
        "quotes, backslashes, line breaks, braces and emoji in values",
        r"""select 1 as id, 'it\'s \\ "x" \n ✂️ {{ '{{ x }}' }} `' as name""",
        pattern="stateful_merge",
        does="they are kept as they are",
        rows=((1, 'it\'s \\ "x" \n ✂️ {{ x }} `'),),
    ),
    rows(
        "many_rows",
        "a large increment",
        "select id, 'a' as name from range(1, 300001) as t (id)",
        pattern="dedup_insert",
        does="it is written in one commit",
        config={"prune": True},
    ),
    rows(
        "order",
        "a model with the name of a reserved word",
        "select 1 as id, 'a' as name",
        does="it works; names are quoted",
        rows=((1, "a"),),
    ),
]

QUOTED = "select 1 as id, 'a' as name, 2 as `select`, 3 as `Größe`, 4 as `it's`, 5 as `a``b`"
INCREMENTS += [
    rows(
        f"odd_columns_{pattern}",
        f"columns called `select`, `Größe`, `it's` and with a backtick ({pattern})",
        QUOTED,
        pattern=pattern,
        good=QUOTED,
        does="it works; they are quoted",
        rows=((1, "a"),),
    )
    for pattern in ("merger", "stateful_merge", "fast_metadata_cleaner", "proxy_view", "dedup_insert")
]


def world(name: str, wrong: str, found: str = "", fix: str = "", pattern: str = "merger", **more: Any) -> Case:
    return rows(
        name, wrong, ROWS, found, fix, pattern, group="The world around a model", world=more.pop("world", name), **more
    )


WORLDS = [
    world("foreign_view", "a view with the name of the table", "a view under the name", "rename or drop it"),
    world(
        "foreign_files",
        "a parquet table with the name of the model",
        "a parquet table under the name",
        "rename or drop it",
        "stateful_merge",
    ),
    world(
        "foreign_table",
        "a table with the name of the view",
        "a table under the name",
        "keep it under another name",
        "fast_metadata_cleaner",
    ),
    world(
        "foreign_table_versions",
        "the same with versions",
        "a table under the name",
        "keep it under another name",
        "proxy_view",
        world="foreign_table",
    ),
    world(
        "broken_log",
        "a broken file in the Delta log",
        engine="FAILED_READ_FILE",
        fix="bring the named file back from a backup; or drop the table and replay its executions",
    ),
    world(
        "lost_log",
        "a table without its Delta log",
        engine="DELTA_PATH_DOES_NOT_EXIST",
        fix="bring `_delta_log` back from a backup; or drop the table and replay its executions",
    ),
    world(
        "lost_file",
        "a data file that somebody removed",
        engine="FAILED_READ_FILE.FILE_NOT_EXIST",
        fix="bring the named file back; or drop the table and replay its executions",
    ),
    world(
        "append_only",
        "a table that somebody made append-only",
        engine="DELTA_CANNOT_MODIFY_APPEND_ONLY",
        fix="`alter table ... set tblproperties (delta.appendOnly=false)`",
    ),
]

GROUP_DATES = "The execution date"
NO_DATE = "dbt run --vars '{execution_date: 2024-10-07}'"


def date(name: str, wrong: str, given: Any, **more: Any) -> Case:
    found = "" if more else f"execution_date: {given}" if given is not None else "no execution_date"
    return Case(name, GROUP_DATES, wrong, found, "" if more else NO_DATE, given=given, **more)


DATES = [
    date("date_missing", "none", None),
    date("date_word", "a word", "today"),
    date("date_not_in_calendar", "a day that does not exist", "2024-02-30"),
    date("date_hour", "an hour that does not exist", "2024-10-07T25:00:00"),
    date("date_national", "another way to write a date", "07.10.2024"),
    date("date_number", "a number", 20241007),
    date("date_offset", "an offset that no place on earth has", "2024-10-07T00:00:00+15:00"),
    date("date_year_zero", "a year before the first", "0000-01-01"),
    date("date_old", "a day before 1970", "1969-12-31", does="it works", rows=(("1969-12-31 00:00:00",),)),
    date(
        "date_first", "the first day of the calendar", "0001-01-01", does="it works", rows=(("0001-01-01 00:00:00",),)
    ),
    date("date_last", "the last day of the calendar", "9999-12-31", does="it works", rows=(("9999-12-31 00:00:00",),)),
    date("date_leap", "29 February", "2024-02-29", does="it works", rows=(("2024-02-29 00:00:00",),)),
    date(
        "date_gap",
        "an hour that the session's time zone leaves out",
        "2024-03-31T02:30:00",
        does="it works: an execution time has no zone",
        rows=(("2024-03-31 02:30:00",),),
    ),
    date(
        "date_summer",
        "an hour that comes twice, the first time",
        "2024-10-27T02:30:00+02:00",
        does="the offset tells them apart: it becomes UTC",
        rows=(("2024-10-27 00:30:00",),),
    ),
    date(
        "date_winter",
        "an hour that comes twice, the second time",
        "2024-10-27T02:30:00+01:00",
        does="the offset tells them apart: it becomes UTC",
        rows=(("2024-10-27 01:30:00",),),
    ),
    date(
        "date_micros",
        "a fraction of a second",
        "2024-10-07T09:00:00.120",
        does="it works",
        rows=(("2024-10-07 09:00:00.12",),),
    ),
]


def command(name: str, operation: str, wrong: str, found: str, fix: str, **arguments: Any) -> Case:
    return Case(name, "Operations", f"`{operation}`: {wrong}", found, fix, operation=operation, given=arguments)


DAY = {"execution_date": "2024-10-07"}
NO_MODEL = "no ditto model of this name"
OPERATIONS = [
    command("plan_nothing", "ditto_plan", "no model", "no name of a model", "give its name"),
    command(
        "plan_unknown", "ditto_plan", "a model that does not exist", NO_MODEL, "give its name", model="nope", **DAY
    ),
    command(
        "plan_word",
        "ditto_plan",
        "a date that is none",
        "execution_date: yesterday",
        NO_DATE,
        model="merged",
        execution_date="yesterday",
    ),
    command(
        "plan_no_date",
        "ditto_plan",
        "neither a date nor a range",
        "from: None, to: None, execution_date: None",
        "--args '{model: merged, execution_date: 2024-10-07}'",
        model="merged",
    ),
    command(
        "plan_backwards",
        "ditto_plan",
        "a range that ends before it begins",
        "from: 2024-10-09, to: 2024-10-07",
        "--args '{model: merged, from:",
        model="merged",
        **{"from": "2024-10-09", "to": "2024-10-07"},
    ),
    command(
        "plan_interval",
        "ditto_plan",
        "an unknown interval",
        "interval: quarter",
        "interval: hour}'",
        model="merged",
        **{"from": "2024-10-07", "to": "2024-10-09", "interval": "quarter"},
    ),
    command(
        "plan_format",
        "ditto_plan",
        "an unknown format",
        "format: xml",
        "format: json}'",
        model="merged",
        format="xml",
        **DAY,
    ),
    command("release_view", "ditto_release", "a model of another kind", NO_MODEL, "give its name", model="plain"),
    command(
        "freeze_merger", "ditto_freeze", "a model without units", "a merger model", "name another model", model="merged"
    ),
    command(
        "freeze_week",
        "ditto_freeze",
        "units that are not smaller",
        "into: week",
        "into: year}'",
        model="cleaned",
        into="week",
    ),
    command(
        "freeze_soon",
        "ditto_freeze",
        "a date that is none",
        "before: soon",
        "before: 2024-10-01}'",
        model="cleaned",
        before="soon",
    ),
    command(
        "freeze_calendar",
        "ditto_freeze",
        "a day that does not exist",
        "2024-13-45",
        "2024-10-07",
        model="cleaned",
        before="2024-13-45",
    ),
    command(
        "freeze_perhaps",
        "ditto_freeze",
        "neither true nor false",
        "dry_run: no",
        "dry_run: true}'",
        model="cleaned",
        dry_run="no",
    ),
    command(
        "vacuum_no", "ditto_vacuum", "neither true nor false", "dry_run: no", "--args '{dry_run: true", dry_run="no"
    ),
    command(
        "vacuum_long", "ditto_vacuum", "a duration that is none", "retain: long", "retain: 7 days}'", retain="long"
    ),
    command(
        "vacuum_nothing",
        "ditto_vacuum",
        "a duration of zero",
        "retain: 0 days",
        "retain: 7 days}'",
        model="merged",
        retain="0 days",
    ),
    command(
        "choose_maybe",
        "ditto_choose",
        "neither true nor false",
        "updates: maybe",
        "dbt run-operation ditto_choose",
        updates="maybe",
    ),
    command(
        "choose_colour",
        "ditto_choose",
        "a question that does not exist",
        "colour: True",
        "dbt run-operation ditto_choose",
        colour=True,
    ),
    command(
        "choose_both",
        "ditto_choose",
        "answers that contradict each other",
        "full_dataset: true and updates: true",
        "keep the answer that matters more",
        full_dataset=True,
        updates=True,
    ),
    command(
        "retry_files_merger",
        "ditto_retry_files",
        "a model without files",
        "materialized='merger'",
        "give the name of one",
        model="merged",
    ),
    command(
        "retry_yes",
        "ditto_retry_dead_letters",
        "neither true nor false",
        "include_dead: yes",
        "include_dead: true}'",
        model="merged",
        include_dead="yes",
    ),
    command(
        "retry_calendar",
        "ditto_retry_dead_letters",
        "a day that does not exist",
        "execution_date: 2024-02-30",
        NO_DATE,
        model="merged",
        execution_date="2024-02-30",
    ),
    command(
        "evolve_merger",
        "ditto_evolve_units",
        "a model without units",
        "a merger model",
        "name another model",
        model="merged",
    ),
    command(
        "versions_merger",
        "ditto_proxy_versions",
        "a model without versions",
        "materialized: merger",
        "choose another model",
        model="merged",
    ),
    command(
        "versions_format",
        "ditto_proxy_versions",
        "an unknown format",
        "format: xml",
        "format: json}'",
        model="shown",
        format="xml",
    ),
    command(
        "point_to_nothing",
        "ditto_proxy_point_to",
        "a version that does not exist",
        "versions v",
        "list them:",
        model="shown",
        version="v1",
    ),
    command(
        "expire_no_rule",
        "ditto_proxy_expire",
        "no `keep_for`",
        "no keep_for",
        "add keep_for='3650 days'",
        model="shown",
    ),
    command(
        "expire_no",
        "ditto_proxy_expire",
        "neither true nor false",
        "dry_run: no",
        "dry_run: true",
        model="shown",
        dry_run="no",
    ),
    command(
        "manifest_of_tables",
        "ditto_proxy_manifest",
        "a model without a manifest",
        "versioning: tables",
        "set versioning='manifest'",
        model="shown",
    ),
]
# The same operations before the first run of anything.
EARLY = [
    command("freeze_early", "ditto_freeze", "no run yet", "no ledger", "dbt run --select cleaned", model="cleaned"),
    command(
        "evolve_early", "ditto_evolve_units", "no run yet", "no ledger", "dbt run --select cleaned", model="cleaned"
    ),
    command(
        "retry_early", "ditto_retry_dead_letters", "no run yet", "no ledger", "dbt run --select merged", model="merged"
    ),
    command(
        "point_early",
        "ditto_proxy_point_to",
        "no run yet",
        "no ledger",
        "dbt run --select shown",
        model="shown",
        version="latest",
    ),
    command("vacuum_early", "ditto_vacuum", "no table yet", "no Delta table", "run the model first", model="merged"),
]

PLACES = "The ledger, files and disks"
SURROUNDINGS = [
    Case(
        "ledger_dropped",
        PLACES,
        "the ledger was dropped",
        "but no ledger: somebody dropped it",
        "bring it back from a backup",
    ),
    Case(
        "ledger_foreign", PLACES, "another table is called `ditto_ledger`", "something else of this name", "rename it"
    ),
    Case("no_landing", PLACES, "the folder of `file_ingest` is not there", "no folder", "make the folder"),
    Case(
        "not_writable",
        PLACES,
        "a warehouse that cannot be written",
        engine="DELTA_CANNOT_CREATE_LOG_PATH",
        fix="give Spark the right to write there, or correct `location_root`; then run again",
    ),
    Case(
        "full_disk",
        PLACES,
        "a full disk",
        engine="No space left on device",
        fix="make room, then run the same execution again: nothing of it is in the table",
    ),
]

CASES = [*DATES, *OPTIONS, *INCREMENTS, *WORLDS, *EARLY, *OPERATIONS, *SURROUNDINGS]


def document() -> str:
    """The text of docs/errors.md."""
    lines = [
        "# Errors",
        "",
        f"{len(CASES)} mistakes, what ditto says or does, and what to do. This page is written from the table that the",
        "tests run (`tests/functional/bad_input/cases.py`): a case that is refused leaves the table as it was and no",
        "execution unfinished, and the next correct run works. To write it again:",
        "`python -m tests.functional.bad_input.cases`.",
        "",
        "An error of ditto says what was found, what is expected and what fixes it. Where Spark itself fails, its own",
        "words come first; the next run of the model says whether something has to be finished.",
    ]
    for group in dict.fromkeys(case.group for case in CASES):
        lines += ["", f"## {group}", "", "| what is wrong | what ditto says or does | what to do |", "|---|---|---|"]
        lines += [row(case) for case in CASES if case.group == group]
    return "\n".join(lines) + "\n"


def row(case: Case) -> str:
    says = case.does or (f"Spark says: `{case.engine}`" if case.engine else f"`{case.found}`")
    fix = case.fix if case.engine else f"`{case.fix}`"
    cells = (case.wrong, says, "nothing" if case.does else fix)
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


if __name__ == "__main__":
    (Path(__file__).resolve().parents[3] / "docs" / "errors.md").write_text(document(), encoding="utf-8")
