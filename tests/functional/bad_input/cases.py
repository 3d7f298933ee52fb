"""Bad input, as data: what is wrong, what ditto says or does, what to do. docs/errors.md is written from this table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

ROWS = "select 1 as id, 'a' as name, date'{{ ditto.execution_date() }}' as day"
FILES: dict[str, Any] = {"path": "/landing", "format": "csv", "schema": "id int"}


@dataclass(frozen=True)
class Case:
    """One mistake. Of a refusal `found` and `fix` are parts of the message; without them it works, and `does` says how."""

    name: str
    group: str
    wrong: str
    found: str = ""
    fix: str = ""
    does: str = ""
    pattern: str = ""
    config: Mapping[str, Any] = field(default_factory=dict)
    sql: str = ROWS


def config(name: str, pattern: str, wrong: str, found: str, fix: str, sql: str = ROWS, **options: Any) -> Case:
    """A config that is refused before any SQL is sent."""
    return Case(name, f"Config of {pattern}", wrong, found, fix, pattern=pattern, config=options, sql=sql)


KEY = {"unique_key": "id"}
OPTIONS = [
    config("no_key", "merger", "no `unique_key`", "no unique_key", "add unique_key='id'"),
    config("empty_key", "merger", "a `unique_key` without a name", "unique_key: ", "unique_key=['id']", unique_key=" "),
    config("number_key", "merger", "a number for columns", "order_by: 5", "order_by=['id']", **KEY, order_by=5),
    config(
        "mapping_key", "merger", "a mapping for columns", "update_columns: {'id': 1}", "update_columns=['id']",
        **KEY, update_columns={"id": 1},
    ),
    config(
        "both_column_lists", "merger", "`update_columns` and `exclude_columns` at once",
        "update_columns and exclude_columns", "remove update_columns or exclude_columns",
        **KEY, update_columns="name", exclude_columns="day",
    ),
    config(
        "unknown_choice", "merger", "a value that the option does not know", "on_duplicate_key: newest",
        "on_duplicate_key='error'", **KEY, on_duplicate_key="newest",
    ),
    config(
        "choice_list", "merger", "a list where one word is expected", "on_null_key: ['error']", "on_null_key='error'",
        **KEY, on_null_key=["error"],
    ),
    config(
        "latest_without_order", "merger", "`on_duplicate_key: latest` without `order_by`",
        "on_duplicate_key: latest without order_by", "add order_by='updated_at'", **KEY, on_duplicate_key="latest",
    ),
    config(
        "empty_update", "merger", "`not_matched_by_source` with an empty `update`, which would delete",
        "not_matched_by_source: {'condition': 'true', 'update': {}}", "for example not_matched_by_source=",
        **KEY, not_matched_by_source={"condition": "true", "update": {}},
    ),
    config(
        "two_ways_to_delete", "merger", "`not_matched_by_source` with `sequence_by` and `soft_delete`",
        "not_matched_by_source together with sequence_by and soft_delete", "remove not_matched_by_source or sequence_by",
        **KEY, sequence_by="day", soft_delete="gone", not_matched_by_source="delete",
    ),
    config(
        "soft_delete_list", "merger", "a list where one column is expected", "soft_delete: ['gone']",
        "soft_delete='", **KEY, soft_delete=["gone"],
    ),
    config(
        "sequence_list", "merger", "several columns in `sequence_by`", "sequence_by: ['day', 'id']", "sequence_by='",
        **KEY, sequence_by=["day", "id"],
    ),
    config(
        "empty_condition", "merger", "a `merge_condition` that is no text", "merge_condition: 5", "merge_condition=",
        **KEY, merge_condition=5,
    ),
    config(
        "merge_files", "merger", "a file format without versions", "file_format: parquet", "file_format='delta'",
        **KEY, file_format="parquet",
    ),
    config(
        "two_layouts", "merger", "`cluster_by` and `partition_by` at once", "cluster_by: id with partition_by",
        "remove cluster_by or partition_by", **KEY, cluster_by="id", partition_by="day",
    ),
    config(
        "schema_change", "merger", "an `on_schema_change` that dbt does not know", "on_schema_change: evolve",
        "on_schema_change='ignore'", **KEY, on_schema_change="evolve",
    ),
    config(
        "properties_text", "merger", "`tblproperties` that are no mapping", "tblproperties: delta.appendOnly=true",
        "tblproperties={", **KEY, tblproperties="delta.appendOnly=true",
    ),
    config(
        "spaced_name", "merger", "a table name with a space, a quote or a letter beyond ASCII", "alias: it's a café",
        "alias='", **KEY, alias="it's a café",
    ),
    config(
        "unknown_mode", "insert_overwrite", "a mode that does not exist", "mode: upsert", "mode='predicate'",
        mode="upsert",
    ),
    config(
        "no_predicate", "insert_overwrite", "neither `predicate` nor `partition_by`",
        "mode: predicate without predicate or partition_by", 'add predicate="day =',
    ),
    config(
        "no_partitions", "insert_overwrite", "`mode: partitions` without `partition_by`",
        "mode: partitions without partition_by", "add partition_by='day'", mode="partitions",
    ),
    config(
        "table_predicate", "insert_overwrite", "`mode: table` with a predicate", "mode: table with a predicate",
        "remove the predicate", mode="table", predicate="id = 1",
    ),
    config(
        "or_predicate", "insert_overwrite", "a predicate with OR, which Spark hands over only in part",
        "predicate: id = 1 or id = 2", "write it with IN or BETWEEN", predicate="id = 1 or id = 2",
    ),
    config(
        "unknown_brace", "insert_overwrite", "a name in braces that does not exist",
        "predicate: day = '{execution_day}'", 'add predicate="day =', predicate="day = '{execution_day}'",
    ),
    config(
        "predicate_number", "insert_overwrite", "a predicate that is no text", "predicate: 5", 'add predicate="day =',
        predicate=5,
    ),
    config(
        "many_partitions", "insert_overwrite", "`max_partitions` below 1", "max_partitions: 0", "max_partitions=1000",
        mode="partitions", partition_by="day", max_partitions=0,
    ),
    config(
        "partitions_true", "insert_overwrite", "a number that is no number", "max_partitions: True",
        "max_partitions=1000", mode="partitions", partition_by="day", max_partitions=True,
    ),
    config(
        "predicate_files", "insert_overwrite", "`mode: predicate` on files without versions", "mode: predicate",
        "mode='partitions'", file_format="parquet", mode="predicate", partition_by="day",
    ),
    config(
        "unknown_interval", "stateful_merge", "an interval that does not exist", "interval: quarter", "interval=",
        **KEY, interval="quarter",
    ),
    config(
        "short_window", "stateful_merge", "a `backfill_window` that is no longer than the interval",
        "backfill_window: 1 week, interval: week", "backfill_window='30 days'",
        **KEY, interval="week", backfill_window="1 week",
    ),
    config(
        "window_in_months", "stateful_merge", "a `backfill_window` in months", "backfill_window: 2 months",
        "backfill_window='30 days'", **KEY, backfill_window="2 months",
    ),
    config(
        "history_sequence", "stateful_merge", "`versioning: history` with options that keep parts of rows",
        "sequence_by with versioning: history", "remove sequence_by", **KEY, versioning="history", sequence_by="day",
    ),
    config(
        "history_pinned", "stateful_merge", "`readers: pinned` without versions",
        "readers: pinned with versioning: history", "use readers='table'", **KEY, versioning="history",
        readers="pinned",
    ),
    config(
        "files_to_clean", "fast_metadata_cleaner", "files without a metadata layer", "file_format: parquet",
        "materialized='insert_overwrite'", file_format="parquet",
    ),
    config(
        "hourly_units", "fast_metadata_cleaner", "a granularity that does not exist", "granularity: hour",
        "granularity='week'", granularity="hour",
    ),
    config(
        "clustered_units", "fast_metadata_cleaner", "`cluster_by`, which slices do not allow", "cluster_by: id",
        "remove cluster_by", cluster_by="id",
    ),
    config("no_units", "fast_metadata_cleaner", "`max_units` below 1", "max_units: 0", "max_units=1000", max_units=0),
    config(
        "same_column_twice", "fast_metadata_cleaner", "one name for two columns of the view",
        "unit_column and execution_time_column: part", "change one of them",
        unit_column="part", execution_time_column="Part",
    ),
    config(
        "unit_column_number", "fast_metadata_cleaner", "a `unit_column` that is no name", "unit_column: 5",
        "unit_column='loaded_for'", unit_column=5, execution_time_column="part",
    ),
    config(
        "unknown_versioning", "proxy_view", "a `versioning` that does not exist", "versioning: git",
        "versioning='tables'", versioning="git",
    ),
    config(
        "keep_for_ever", "proxy_view", "a `keep_for` that is no duration", "keep_for: forever", "keep_for='3650 days'",
        keep_for="forever",
    ),
    config(
        "hold_number", "proxy_view", "a `legal_hold` that names nothing", "legal_hold: 5",
        "legal_hold=['v20241007_090000']", legal_hold=5,
    ),
    config(
        "verify_less_than_none", "proxy_view", "a negative `verify_versions`", "verify_versions: -1",
        "verify_versions=5", verify_versions=-1,
    ),
    config(
        "unknown_write", "transactional_writer", "a `write` that does not exist", "write: upsert", "write='merge'",
        write="upsert",
    ),
    config(
        "writer_sequence", "transactional_writer", "`sequence_by`, which this pattern does not follow",
        "sequence_by: day", "materialized='merger'", **KEY, sequence_by="day",
    ),
    config(
        "append_deletes", "transactional_writer", "`soft_delete` with `write: append`",
        "soft_delete with write: append", "write='merge'", write="append", soft_delete="gone",
    ),
    config(
        "audit_elsewhere", "transactional_writer", "an audit query that does not read the candidate",
        "audits: {'name': 'a', 'query': 'select 1'}", "audits=", **KEY,
        audits=[{"name": "a", "query": "select 1"}],
    ),
    config(
        "audit_number", "transactional_writer", "an audit that is no condition", "audits: 5", "audits=", **KEY, audits=5,
    ),
    config(
        "dedup_updates", "dedup_insert", "an option that changes rows", "merge_condition: true",
        "materialized='merger'", **KEY, merge_condition="true",
    ),
    config(
        "dedup_choice", "dedup_insert", "a value that the option does not know", "on_duplicate_key: last",
        "on_duplicate_key='error'", **KEY, on_duplicate_key="last",
    ),
    config("unkeyed", "keyed_idempotency", "no `unique_key`", "no unique_key", "add unique_key='id'"),
]

INCOMING = "select * from {{ ditto.incoming() }}"


def files(name: str, wrong: str, found: str, fix: str = "for example files=", sql: str = INCOMING, **changed: Any) -> Case:
    given = {key: value for key, value in {**FILES, **changed}.items() if value is not None}
    return config(name, "file_ingest", wrong, found, fix, sql, files=given)


def rules(name: str, wrong: str, found: str, given: Any) -> Case:
    case = config(name, "merger", wrong, f"dead_letters: {found}", "for example dead_letters=[", **KEY)
    return Case(name, "Rules of dead_letters", wrong, case.found, case.fix, pattern="merger",
                config={**KEY, "dead_letters": given})


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
    config("files_text", "file_ingest", "a text for the files", "files: /landing", "for example files=", INCOMING,
           files="/landing"),
    config("no_files", "file_ingest", "`max_files` below 1", "max_files: 0", "max_files=10000", INCOMING, files=FILES,
           max_files=0),
    config("own_name", "file_ingest", "a `file_path_column` that ditto keeps for itself", "file_path_column: _ditto_path",
           "file_path_column='file_path'", INCOMING, files=FILES, file_path_column="_ditto_path"),
    files("no_incoming", "a SELECT that does not read the files", "incoming", "ditto.incoming()", "select 1 as id"),
    rules("rule_number", "no rule at all", "5", 5),
    rules("rule_text", "a rule without a name", "amount < 0", ["amount < 0"]),
    rules("rule_name", "a name with a space", "{'name': 'too low'", [{"name": "too low", "when": "id < 0"}]),
    rules("rule_twice", "two rules of one name", "{'name': 'LOW'", [{"name": "low", "when": "id < 0"},
                                                                    {"name": "LOW", "when": "id < 1"}]),
    rules("rule_bracket", "a bracket too many", "{'name': 'low'", [{"name": "low", "when": "id < 0) or (true"}]),
    rules("rule_two_statements", "a semicolon in the condition", "{'name': 'low'",
          [{"name": "low", "when": "id < 0; drop table x"}]),
    rules("rule_empty", "a comment alone", "{'name': 'low'", [{"name": "low", "when": "/* later */"}]),
    config("retries", "merger", "a negative `max_retries`", "max_retries: -1", "max_retries=3", **KEY, max_retries=-1),
]
