"""keyed_idempotency: a merge whose keys are the same in every run, or nothing."""

from __future__ import annotations

from typing import Any

import pytest
from macro_harness import INVOCATION_ID, Ditto, sql
from merger_model import DATE, columns, facts, ran_before, table
from merger_model import node as merger_node
from stateful_merge_model import refusal as refused

ROWS = columns(id="int", name="string")
STEADY = {"analyzed": "", "optimized": "Project [id]"}


def node(**config: object) -> dict[str, Any]:
    return merger_node(**({"materialized": "keyed_idempotency"} | config))


def settings(ditto: Ditto, **config: object) -> dict[str, Any]:
    read = ditto.with_context(var={"execution_date": DATE}).keyed_idempotency_settings(node(**config))
    return read | {"ledger_table": "`demo`.`ditto_ledger`"}


def plan(ditto: Ditto, text: str = "select * from feed", *plans: dict[str, str], **config: object) -> dict[str, Any]:
    plain, *twins = plans or (STEADY,)
    known = facts(ROWS, table(ROWS), ledger=ran_before(), key_plans={"plain": plain, "twins": twins})
    return ditto.keyed_idempotency_plan(node(**config), settings(ditto, **config), known, text)


def refusal(call: Any) -> str:
    return refused(call, "ditto: keyed_idempotency model devices")


def test_it_is_a_merge_under_its_own_name(ditto: Ditto) -> None:
    made = plan(ditto)
    assert (made["pattern"], made["mode"]) == ("keyed_idempotency", "normal")
    assert [step["name"] for step in made["steps"]] == ["merge", "outcome"]
    assert "ditto:1|keyed_idempotency|normal|2024-10-07 00:00:00|" in made["steps"][0]["sql"]


@pytest.mark.parametrize(
    ("config", "found"),
    [
        ({"unique_key": None}, "no unique_key"),
        ({"file_format": "parquet"}, "file_format: parquet"),
        ({"on_duplicate_key": "latest"}, "on_duplicate_key: latest without order_by"),
    ],
)
def test_mistakes_of_the_config(ditto: Ditto, config: dict[str, Any], found: str) -> None:
    assert f"found:    {found}" in refusal(lambda: settings(ditto, **config))


def test_a_key_that_the_select_lacks_has_no_plan(ditto: Ditto) -> None:
    known = facts(ROWS, table(ROWS), key_plans={"plain": None, "twins": []})
    config = {"unique_key": "nope"}
    text = refusal(lambda: ditto.keyed_idempotency_plan(node(**config), settings(ditto, **config), known, "select 1"))
    assert "unique_key: nope, which the SELECT does not give" in text


# --- what Spark says about the keys ---------------------------------------------------------------------------------

EXPLAINED = """== Parsed Logical Plan ==
'Project ['k]
== Analyzed Logical Plan ==
k: string
Project [k#12]
+- Project [cast(id#3L as string) AS k#12, current_timestamp() AS loaded_at#13]
== Optimized Logical Plan ==
Project [cast(id#3L as string) AS k#12]
== Physical Plan ==
uuid(Some(3))"""


def test_the_parts_of_a_plan(ditto: Ditto) -> None:
    parsed = ditto.parse_key_plan({"plan": EXPLAINED})
    assert parsed["optimized"].strip() == "Project [cast(id as string) AS k]"
    assert "current_timestamp() AS loaded_at" in parsed["analyzed"]
    assert "uuid" not in parsed["analyzed"]


def test_only_the_keys_are_asked_about(ditto: Ditto) -> None:
    text = ditto.key_plan_sql(settings(ditto, unique_key=["id", "odd `name"]), "select * from feed")
    assert sql(text) == "explain extended select `id`, `odd ``name` from (select * from feed)"


@pytest.mark.parametrize(
    ("optimized", "name"),
    [
        ("Project [uuid(Some(7)) AS k]", "uuid()"),
        ("Filter (rand(-3) < 0.5)", "rand()"),
        ("Project [SPARK_PARTITION_ID() AS k]", "spark_partition_id()"),
        ("Project [concat(a, randstr(3, 5, true)) AS k]", "randstr()"),
    ],
)
def test_chance_in_what_the_keys_need_is_refused(ditto: Ditto, optimized: str, name: str) -> None:
    text = refusal(lambda: plan(ditto, "select 1", {"analyzed": "", "optimized": optimized}))
    assert f"found:    {name} in what makes the keys id" in text
    assert "ditto.idempotent_key(" in text[text.index("fix:") :]


def test_columns_of_such_names_are_allowed(ditto: Ditto) -> None:
    plan(ditto, "select 1", {"analyzed": "", "optimized": "Project [rand, uuid AS k, t.shuffle, brand(x)]"})


def test_twins_that_differ_are_refused_and_the_clock_is_named(ditto: Ditto) -> None:
    text = f"select now() as id, '{INVOCATION_ID}' as name, '2024-10-07T12:00:00' as at"
    one, two = ({"analyzed": "", "optimized": f"Project [{year}]"} for year in (2001, 2012))
    told = refusal(lambda: plan(ditto, text, STEADY, one, two))
    assert "differ from run to run, by now(), the invocation_id, run_started_at" in told
    assert "ditto.execution_time()" in told[told.index("fix:") :]
    plan(ditto, text, STEADY, one, one)


@pytest.mark.parametrize(
    ("text", "analyzed", "found"),
    [
        ("select id from feed -- not now()", "", []),
        ("select 'current_date' as a, `now()`, unix_timestamp(at), t.current_user_id from feed", "", []),
        ("select current_date from feed", "", ["current_date()"]),
        ("select unix_timestamp( ) from feed", "", ["unix_timestamp()"]),
        ("select * from a_view", "Project [current_date(Some(UTC)) AS d]", ["current_date()"]),
    ],
)
def test_the_clock_is_looked_for_in_the_text_and_in_views(
    ditto: Ditto, text: str, analyzed: str, found: list[str]
) -> None:
    assert ditto.clocks_in(settings(ditto), text, {"analyzed": analyzed, "optimized": ""}) == found


def test_a_twin_has_another_moment_in_the_place_of_the_clock(ditto: Ditto) -> None:
    one, two = ditto.twin_moments()
    text = (
        "select current_timestamp(), NOW( ), current_date, current_date as current_date, t.current_date, curdate(), "
        "localtimestamp(), current_time(3), unix_timestamp(), unix_timestamp(at), current_user, user(), user, "
        f"'now()', `now()`, '{INVOCATION_ID}', '2024-10-07 12:00:00', '2024-10-07T12:00:00' -- now()\n"
    )
    assert ditto.twin_sql(settings(ditto), text, one) == (
        "select timestamp'2001-02-03 04:05:06.000007', timestamp'2001-02-03 04:05:06.000007', date'2001-02-03', "
        "date'2001-02-03' as current_date, t.current_date, date'2001-02-03', "
        "timestamp_ntz'2001-02-03 04:05:06.000007', time'04:05:06.000007', cast('981173106' as bigint), "
        "unix_timestamp(at), 'ditto', 'ditto', user, "
        "'now()', `now()`, '00000000-0000-0000-0000-00000000000a', '2001-02-03 04:05:06', '2001-02-03T04:05:06'"
        " -- now()\n"
    )
    assert "2012-11-20" in ditto.twin_sql(settings(ditto), text, two)
    assert "2001" not in ditto.twin_sql(settings(ditto), text, two)
