"""Keys, sessions and names of containers: what models call."""

from __future__ import annotations

from typing import Any

import pytest
from macro_harness import Ditto, sql
from stateful_merge_model import refusal

# --- idempotent_key -------------------------------------------------------------------------------------------------


def test_the_text_of_a_key_never_changes(ditto: Ditto) -> None:
    """Keys are stored: another text would make new rows of old ones."""
    options = (
        r"map('ignoreNullFields', 'false', 'timeZone', 'UTC', 'timestampFormat', 'yyyy-MM-dd\'T\'HH:mm:ss.SSSSSSX',"
        r" 'timestampNTZFormat', 'yyyy-MM-dd\'T\'HH:mm:ss.SSSSSS')"
    )
    expected = f"sha2(to_json(struct(`user_id` as `1`, lower(page) as `2`), {options}), 256)"
    assert ditto.idempotent_key(["user_id", "lower(page)"]) == expected


def test_names_are_quoted_and_expressions_are_not(ditto: Ditto) -> None:
    assert "struct(`order` as `1`)" in ditto.idempotent_key("order")
    assert "struct(v.user_id as `1`, `odd name` as `2`)" in ditto.idempotent_key(["v.user_id", "`odd name`"])
    assert "struct(`rand` as `1`, 'now()' as `2`)" in ditto.idempotent_key(["rand", "'now()'"])


@pytest.mark.parametrize("columns", [[], None, "", ["a", " "], ["a", 3]])
def test_a_key_of_nothing_is_refused(ditto: Ditto, columns: Any) -> None:
    text = refusal(lambda: ditto.idempotent_key(columns), "ditto: ditto.idempotent_key")
    assert "ditto.idempotent_key(['user_id', 'appended_at'])" in text


@pytest.mark.parametrize(
    ("expression", "name"),
    [
        ("rand()", "rand()"),
        ("RANDN( 3 )", "randn()"),
        ("concat(id, uuid())", "uuid()"),
        ("monotonically_increasing_id()", "monotonically_increasing_id()"),
        ("shuffle(tags)", "shuffle()"),
        ("input_file_name()", "input_file_name()"),
        ("spark_partition_id()", "spark_partition_id()"),
    ],
)
def test_chance_is_no_key(ditto: Ditto, expression: str, name: str) -> None:
    text = refusal(lambda: ditto.idempotent_key(["id", expression]), "ditto: ditto.idempotent_key")
    assert f"found:    {name} in {expression}" in text
    assert "execution_time" not in text


@pytest.mark.parametrize(
    "expression",
    [
        "current_timestamp()",
        "current_timestamp",
        "current_date",
        "to_date(now())",
        "curdate()",
        "getdate()",
        "localtimestamp()",
        "unix_timestamp()",
        "current_time()",
        "current_user()",
    ],
)
def test_the_clock_is_no_key(ditto: Ditto, expression: str) -> None:
    text = refusal(lambda: ditto.idempotent_key([expression]), "ditto: ditto.idempotent_key")
    assert "ditto.execution_time()" in text[text.index("fix:") :]


@pytest.mark.parametrize("expression", ["unix_timestamp(at)", "brand(x)", "t.rand", "known(x)", "user_id", "users()"])
def test_names_that_only_look_like_it_are_allowed(ditto: Ditto, expression: str) -> None:
    assert expression in ditto.idempotent_key([expression])


# --- sessionize -----------------------------------------------------------------------------------------------------


def test_sessions_are_ordered_by_append_time_then_visit_time(ditto: Ditto) -> None:
    text = sql(ditto.sessionize("visits", "user_id", "appended_at", "visit_time", "1 hour", ["page"]))
    order = "partition by `user_id` order by `appended_at`, `visit_time`"
    assert f"if(`appended_at` > lag(`appended_at`) over ({order}) + interval 1 hour, 1, 0)" in text
    assert f"{ditto.idempotent_key(['user_id', 'session_started_at'])} as `session_id`" in text
    assert text.startswith("select `page`, sha2(")
    everything = ditto.sessionize("visits", "user_id", "appended_at", "visit_time")
    assert "* except (`_ditto_begins`, `_ditto_session`, `session_started_at`)" in everything
    assert "interval 30 minute" in everything


@pytest.mark.parametrize("gap", ["", "half an hour", "0 minutes", "30", "1 minute; drop table x", None])
def test_what_is_no_gap_is_refused(ditto: Ditto, gap: Any) -> None:
    text = refusal(lambda: ditto.sessionize("v", "u", "a", "t", gap), "ditto: ditto.sessionize")
    assert f"found:    gap: {gap}" in text


# --- container_name -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("at", "arguments", "name"),
    [
        ("2024-11-20", {}, "20_11_2024"),
        ("2024-11-21", {"prefix": "visits_"}, "visits_21_11_2024"),
        ("2024-11-20T09:00:00", {"format": "%Y%m%d_%H"}, "20241120_09"),
        ("2024-11-20T00:00:00", {"format": "y%Y_%j"}, "y2024_325"),
        ("2024-11-01", {"format": "%Y_%m"}, "2024_11"),
        ("2024-01-01", {"format": "%Y"}, "2024"),
        ("2024-11-20T09:05:07.5", {"format": "%Y%m%d%H%M%S%f"}, "20241120090507500000"),
    ],
)
def test_a_container_is_named_by_the_execution_time(
    ditto: Ditto, at: str, arguments: dict[str, str], name: str
) -> None:
    assert ditto.with_context(var={"execution_date": at}).container_name(**arguments) == name


@pytest.mark.parametrize(
    ("at", "format_", "fix"),
    [
        ("2024-11-20T09:00:00", "%d_%m_%Y", "format='%d_%m_%Y_%H'"),
        ("2024-11-20T09:30:00", "%d_%m_%Y_%H", "format='%d_%m_%Y_%H_%M'"),
        ("2024-11-20", "%Y_%m", "format='%Y_%m_%d'"),
        ("2024-11-20", "%d_%m", "format='%d_%m_%Y'"),
    ],
)
def test_executions_do_not_share_a_container(ditto: Ditto, at: str, format_: str, fix: str) -> None:
    package = ditto.with_context(var={"execution_date": at})
    text = refusal(lambda: package.container_name(format=format_), "ditto: ditto.container_name")
    assert f"format: {format_}, which does not tell {at.replace('T', ' ')[:10]}" in text
    assert fix in text


@pytest.mark.parametrize("arguments", [{"format": "%d/%m/%Y"}, {"format": "%d_%m_%Y_%Z"}, {"prefix": "a b"}])
def test_names_are_safe_for_tables(ditto: Ditto, arguments: dict[str, str]) -> None:
    package = ditto.with_context(var={"execution_date": "2024-11-20"})
    text = refusal(lambda: package.container_name(**arguments), "ditto: ditto.container_name")
    assert "letters, digits and underscores" in text
