"""The statements of file_ingest, as text."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from file_ingest_model import settings
from macro_harness import INVOCATION_ID, Ditto, sql

LOAD = f"20241007T120000-{INVOCATION_ID}"
ODD = ["/landing/it's.csv", "/landing/back\\slash.csv", "/landing/a\nb `c`.csv"]
ODD_LITERALS = "'/landing/it\\'s.csv', '/landing/back\\\\slash.csv', '/landing/a\nb `c`.csv'"


def string_literal(text: str) -> str:
    """What Spark reads from the first string literal of a text."""
    found = re.search(r"'((?:[^'\\]|\\.)*)'", text, re.DOTALL)
    assert found
    return re.sub(r"\\(.)", r"\1", found[1], flags=re.DOTALL)


def with_columns(ditto: Ditto, files: dict[str, Any] | None = None, **types: str) -> dict[str, Any]:
    read = settings(ditto, **({"files": files} if files else {}))
    read["files"]["columns"] = [{"name": name, "type": type_} for name, type_ in types.items()]
    return read


READING = "'recursiveFileLookup' = 'true', 'ignoreCorruptFiles' = 'false', 'ignoreMissingFiles' = 'false'"


# --- the folder -----------------------------------------------------------------------------------------------------


def test_the_folder_is_listed_without_a_look_into_its_files(ditto: Ditto) -> None:
    text = ditto.listing_sql(settings(ditto))
    assert sql(text) == sql(f"""
        select `_metadata`.`file_path` as `file_path`, `length` as `size`, unix_micros(`modificationTime`) as `modified`
        from binaryFile.`/landing` with ({READING})
    """)


def test_a_folder_and_a_pattern_with_odd_names_are_quoted(ditto: Ditto) -> None:
    odd = {"path": "/land`ing's", "format": "csv", "schema": "id int", "pattern": "*'.csv", "recursive": False}
    text = ditto.folder_sql(settings(ditto, files=odd), "text", "`value`", ODD)
    assert text == (
        "select `value` from text.`/land``ing's` with ('recursiveFileLookup' = 'false', "
        "'ignoreCorruptFiles' = 'false', 'ignoreMissingFiles' = 'false', 'pathGlobFilter' = '*\\'.csv')"
        f" where `_metadata`.`file_path` in ({ODD_LITERALS})"
    )


def test_the_files_are_a_table_without_rows_of_its_own(ditto: Ditto) -> None:
    odd = {"path": "/land'ing", "format": "csv", "schema": "id int", "options": {"header": True, "sep": "'"}}
    assert sql(ditto.create_incoming_sql(settings(ditto, files=odd), "id int")) == sql(f"""
        create table if not exists `demo`.`orders__incoming` (id int, `_corrupt_record` string)
        using csv
        options ('enforceSchema' = 'false', 'mode' = 'PERMISSIVE', 'columnNameOfCorruptRecord' = '_corrupt_record',
            'header' = 'true', 'sep' = '\\'', {READING})
        location '/land\\'ing'
    """)
    parquet = settings(ditto, files={"path": "/in", "format": "parquet"})
    assert sql(ditto.create_incoming_sql(parquet, "`id` int")) == sql(f"""
        create table if not exists `demo`.`orders__incoming` (`id` int)
        using parquet options ({READING}) location '/in'
    """)


def test_a_header_is_checked_unless_the_config_says_otherwise(ditto: Ditto) -> None:
    loose = {"path": "/in", "format": "csv", "schema": "id int", "options": {"enforceSchema": True}}
    text = ditto.create_incoming_sql(settings(ditto, files=loose), "id int")
    assert "'enforceSchema' = 'true'" in text
    assert "'enforceSchema' = 'false'" not in text


@pytest.mark.parametrize(
    ("paths", "where"), [(None, ""), ([], " where false"), (ODD, f" where `_metadata`.`file_path` in ({ODD_LITERALS})")]
)
def test_a_load_reads_only_its_own_files(ditto: Ditto, paths: list[str] | None, where: str) -> None:
    read = settings(ditto, file_path_column="from `where`")
    assert ditto.incoming_sql(read, paths) == (
        "(select * except (`_corrupt_record`), `_metadata`.`file_path` as `from ``where```"
        f" from `demo`.`orders__incoming`{where})"
    )


def test_the_select_of_the_model_is_put_over_some_of_the_files(ditto: Ditto) -> None:
    read = settings(ditto)
    code = f"select * from {ditto.incoming_sql(read)} as x where id > 0;\n"
    assert ditto.ingest_sql(read, code, ["a"]) == f"select * from {ditto.incoming_sql(read, ['a'])} as x where id > 0"


# --- what is in the files -------------------------------------------------------------------------------------------


def test_a_file_is_known_by_its_content_and_by_who_has_it(ditto: Ditto) -> None:
    text = sql(ditto.hash_sql(settings(ditto), ODD))
    assert "sha2(`content`, 256) as `file_hash`" in text
    assert "as `head`" in text and "as `is_parquet`" not in text
    assert f"where `_metadata`.`file_path` in ({ODD_LITERALS})" in text
    assert text.endswith(
        sql("""
            left join (
                select `loaded_hash`, collect_list(`file_path`) as `owners` from `demo`.`ditto_files`
                where `relation` = 'demo.orders' and `loaded_hash` is not null group by `loaded_hash`
            ) as `owner` on `owner`.`loaded_hash` = `hashed`.`file_hash`
        """)
    )
    parquet = ditto.hash_sql(settings(ditto, files={"path": "/in", "format": "parquet"}), ["a"])
    assert "as `is_parquet`" in parquet and "as `head`" not in parquet


def test_a_large_file_is_hashed_line_by_line(ditto: Ditto) -> None:
    text = ditto.hash_in_pieces_sql(settings(ditto), ["big"])
    assert "from text.`/landing`" in text
    assert "'lines:' || sha2(" in text
    assert "`content`" not in text


def test_every_column_is_read(ditto: Ditto) -> None:
    """A column that nobody asks for is not parsed. A map has no hash."""
    read = with_columns(
        ditto,
        id="int",
        tags="map<string,string>",
        deep="struct<a:array<map<string,int>>>",
        v="variant",
        _corrupt_record="string",
    )
    text = sql(ditto.inspect_sql(read, ODD))
    assert (
        "xxhash64(`id`, to_json(struct(`tags`)), to_json(struct(`deep`)), to_json(struct(`v`))) as `_ditto_row`" in text
    )
    assert "max(`_ditto_row`)" in text
    assert "`_corrupt_record` as `_ditto_corrupt`" in text
    assert f"where `_metadata`.`file_path` in ({ODD_LITERALS})" in text
    parquet = with_columns(ditto, {"path": "/in", "format": "parquet"}, id="int")
    assert "cast(null as string) as `_ditto_corrupt`" in sql(ditto.inspect_sql(parquet, ["a"]))


def problem(ditto: Ditto, head: str | None, name: str = "a.csv", **options: object) -> str | None:
    files = {"path": "/in", "format": "csv", "schema": "x", "options": {"header": True} | options}
    read = with_columns(ditto, files, id="int", name="string", _corrupt_record="string")
    return ditto.problem_at_sight(read, {"file_path": name, "head": head})


@pytest.mark.parametrize("head", ["id,name", "ID,Name\r", '\ufeff"id","name"', " id , name ", None, ""])
def test_a_header_with_the_right_names_is_no_problem(ditto: Ditto, head: str | None) -> None:
    assert problem(ditto, head) is None


@pytest.mark.parametrize("head", ["name,id", "id", "id,name,more", "1,one"])
def test_another_header_is_named(ditto: Ditto, head: str) -> None:
    found = ", ".join(head.split(","))
    assert problem(ditto, head) == f"line 1 has the header {found}, expected is id, name"


@pytest.mark.parametrize(
    ("options", "name"),
    [
        ({"header": False}, "a.csv"),
        ({"enforceSchema": True}, "a.csv"),
        ({"multiLine": True}, "a.csv"),
        ({"encoding": "UTF-16"}, "a.csv"),
        ({}, "a.csv.gz"),
    ],
)
def test_where_the_first_line_tells_nothing_spark_is_asked(ditto: Ditto, options: dict[str, Any], name: str) -> None:
    assert problem(ditto, "something else", name, **options) is None


def test_the_separator_is_that_of_the_reader(ditto: Ditto) -> None:
    assert problem(ditto, "id;name", sep=";") is None
    assert problem(ditto, "id\tname", delimiter="\t") is None


def test_a_parquet_file_begins_and_ends_with_its_mark(ditto: Ditto) -> None:
    read = with_columns(ditto, {"path": "/in", "format": "parquet"}, id="int")
    assert "PAR1" in ditto.problem_at_sight(read, {"file_path": "a", "is_parquet": False})
    assert ditto.problem_at_sight(read, {"file_path": "a", "is_parquet": True}) is None
    assert ditto.problem_at_sight(read, {"file_path": "large, hashed line by line"}) is None


# --- the tracker ----------------------------------------------------------------------------------------------------


def row(path: str, **columns: object) -> dict[str, Any]:
    return {"file_path": path, "file_hash": "h", "size": 3, "modified": 5, "hashed": 7, "status": "FAILED"} | columns


def test_the_tracker_gets_rows_as_they_are(ditto: Ditto) -> None:
    """Quotes, backslashes and line breaks come through two languages: JSON inside of a string of SQL."""
    rows = [row(path, error_message="line 2: 'x\\n\"\ty'", loaded_hash=None) for path in ODD]
    text = ditto.track_sql(settings(ditto), rows)
    assert json.loads(string_literal(text[text.index("from_json(") :])) == rows
    assert sql(text).startswith("merge into `demo`.`ditto_files` as `target` using (select `file_path`, `file_hash`")
    assert "on `target`.`relation` = 'demo.orders' and `target`.`file_path` = `source`.`file_path`" in sql(text)
    assert "by source" not in text


def test_every_column_of_the_tracker_is_written(ditto: Ditto) -> None:
    text = sql(ditto.track_sql(settings(ditto), [row("a")]))
    for column in ditto.tracker_columns():
        name = column["name"]
        assert f"`{name}`" in text[text.index("then insert (") : text.index("values (")], name
        assert f"`{name}` = `source`.`{name}`" in text or name in ("relation", "file_path")


def test_a_full_refresh_forgets_the_files_of_this_model_only(ditto: Ditto) -> None:
    text = sql(ditto.track_sql(settings(ditto), [], anew=True))
    assert text.endswith("when not matched by source and `target`.`relation` = 'demo.orders' then delete")


def test_a_load_is_marked_by_what_the_table_has(ditto: Ditto) -> None:
    text = sql(ditto.track_loaded_sql(settings(ditto, file_path_column="origin")))
    assert f"`load` = '{LOAD}' and `status` = 'IN_PROGRESS'" in text
    assert (
        "select `origin` as `file_path`, count(*) as `records` from `demo`.`orders` "
        f"where `_ditto_load` = '{LOAD}' group by 1" in text
    )
    changed = "`listed`.`size` <> `mine`.`size` or `listed`.`modified` <> unix_micros(`mine`.`modified_at`)"
    assert f"when {changed} then 'PENDING'" in text
    assert "`loaded_hash` = case `source`.`status` when 'PENDING' then 'changed' when 'SUCCESS'" in text


def test_only_what_may_have_news_is_looked_at(ditto: Ditto) -> None:
    text = sql(ditto.candidates_sql(settings(ditto, max_files=7), False))
    assert "when `listed`.`file_path` is null then `tracked`.`status` <> 'SUCCESS' else `tracked`" in text
    assert "`listed`.`size` <> `tracked`.`size` or `listed`.`modified` <> unix_micros(`tracked`.`modified_at`)" in text
    assert "unix_micros(`tracked`.`hashed_at`) - unix_micros(`tracked`.`modified_at`) < 2000000" in text
    assert "unix_micros(`tracked`.`hashed_at`) as `hashed`" in text
    assert text.endswith("limit 7")
    assert "else true end" in sql(ditto.candidates_sql(settings(ditto, detect_changes="content"), False))
    anew = sql(ditto.candidates_sql(settings(ditto), True))
    assert "<> 'SUCCESS' or `tracked`.`loaded_hash` is not null else true end" in anew


def test_files_of_a_dead_run_are_found_by_their_load_and_by_their_path(ditto: Ditto) -> None:
    assert sql(ditto.loaded_counts_sql(settings(ditto), ["l'1"], ODD)) == sql(f"""
        select to_json(struct(`_ditto_load` as `load`, `file_path` as `file_path`, count(*) as `records`)) as `loaded`
        from `demo`.`orders`
        where `_ditto_load` in ('l\\'1') or `file_path` in ({ODD_LITERALS})
        group by `_ditto_load`, `file_path`
    """)


def test_copies_are_found_by_their_content(ditto: Ditto) -> None:
    text = sql(ditto.orphans_sql(settings(ditto), ["h1", "h2"], ODD))
    assert "`duplicate_of` is not null and `tracked`.`file_hash` in ('h1', 'h2')" in text
    assert f"and not `tracked`.`file_path` in ({ODD_LITERALS}) and `tracked`.`file_hash` not in (" in text
    assert text.endswith(f"and `loaded_hash` is not null and not `file_path` in ({ODD_LITERALS}))")


# --- the rows -------------------------------------------------------------------------------------------------------


def test_a_row_of_no_file_stops_the_load(ditto: Ditto) -> None:
    assert sql(ditto.ingest_rows_sql(settings(ditto), "select 1")) == sql(f"""
        select * from (
            select `rows`.*, '{LOAD}' as `_ditto_load`,
                case when `mine`.`_ditto_path` is null then raise_error('ditto: a row of no file') end as `_ditto_guard`
            from (select 1) as `rows`
            left join (
                select `file_path` as `_ditto_path` from `demo`.`ditto_files`
                where `relation` = 'demo.orders' and `load` = '{LOAD}' and `status` = 'IN_PROGRESS'
            ) as `mine` on `mine`.`_ditto_path` = `rows`.`file_path`
        )
        where `_ditto_guard` is null
    """)
    shown = sql(ditto.rows_of_no_file_sql(settings(ditto), "select 1", ODD))
    assert shown.endswith(f"where `file_path` is null or not `file_path` in ({ODD_LITERALS}) limit 5")
    assert sql(ditto.rows_of_no_file_sql(settings(ditto), "select 1", [])).endswith("where `file_path` is null limit 5")


# --- ditto_retry_files ----------------------------------------------------------------------------------------------


def test_failed_files_wait_for_the_next_run(ditto: Ditto) -> None:
    assert sql(ditto.retry_files_sql("demo.o'rders")) == sql("""
        update `demo`.`ditto_files` set `status` = 'PENDING', `attempts` = 0
        where `relation` = 'demo.o\\'rders' and `status` in ('FAILED', 'DEAD')
    """)
    assert "where `relation` = 'demo.orders' and `status` in ('FAILED', 'DEAD')" in ditto.failed_files_sql(
        "demo.orders"
    )
