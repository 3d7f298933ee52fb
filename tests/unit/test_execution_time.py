"""The execution date: what is understood, what is refused, and that a refusal shows the right command."""

from __future__ import annotations

import datetime

import pytest
import yaml
from dbt_common.exceptions import CompilationError
from macro_harness import Ditto


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("2024-10-07", "2024-10-07 00:00:00"),
        (" 2024-10-07 ", "2024-10-07 00:00:00"),
        ("2024-10-07T09:00", "2024-10-07 09:00:00"),
        ("2024-10-07T09:00:00", "2024-10-07 09:00:00"),
        ("2024-10-07 09:08:07", "2024-10-07 09:08:07"),
        ("2024-10-07T09:00:00Z", "2024-10-07 09:00:00"),
        ("2024-10-07T09:00Z", "2024-10-07 09:00:00"),
        ("2024-10-07T01:30:00+02:00", "2024-10-06 23:30:00"),
        ("2024-10-07T22:00:00-0530", "2024-10-08 03:30:00"),
        ("2024-10-07T09:00:00+14:00", "2024-10-06 19:00:00"),
        ("2024-10-07T09:00:00.5", "2024-10-07 09:00:00.5"),
        ("2024-10-07T09:00:00.000000", "2024-10-07 09:00:00"),
        ("2024-10-07T09:00:00.120000", "2024-10-07 09:00:00.12"),
        ("2024-10-07T10:00:00.000001Z", "2024-10-07 10:00:00.000001"),
        ("2024-02-29", "2024-02-29 00:00:00"),
        ("2000-02-29", "2000-02-29 00:00:00"),
        ("1969-12-31T23:59:59", "1969-12-31 23:59:59"),
        ("0001-01-01", "0001-01-01 00:00:00"),
        ("9999-12-31T23:59:59.999999", "9999-12-31 23:59:59.999999"),
        (datetime.date(2024, 10, 7), "2024-10-07 00:00:00"),
        (datetime.datetime(2024, 10, 7, 9), "2024-10-07 09:00:00"),
        (datetime.datetime(2024, 10, 7, 9, 0, 0, 250000), "2024-10-07 09:00:00.25"),
        (datetime.datetime(2024, 10, 7, 9, tzinfo=datetime.UTC), "2024-10-07 09:00:00"),
    ],
)
def test_what_is_understood(ditto: Ditto, given: object, expected: str) -> None:
    assert ditto.parse_execution_time(given) == expected
    assert ditto.parse_execution_time(expected) == expected


@pytest.mark.parametrize(
    "written",
    [
        "2024-10-07T09:00:00",
        "2024-10-07 09:00:00",
        "2024-10-07T09:00:00Z",
        "2024-10-07T11:00:00+02:00",
        "'2024-10-07T09:00'",
    ],
)
def test_as_the_command_line_gives_it(ditto: Ditto, written: str) -> None:
    """dbt reads --vars as YAML, which makes dates and timestamps of some of them."""
    variables = yaml.safe_load(f"{{execution_date: {written}}}")
    assert ditto.with_context(var=variables).execution_time() == "2024-10-07 09:00:00"


@pytest.mark.parametrize(
    "given",
    [
        "",
        " ",
        "today",
        "now()",
        20241007,
        "20241007",
        1728259200,
        1.5,
        True,
        [],
        "2024-10",
        "2024-10-7",
        "24-10-07",
        "07-10-2024",
        "2024-13-01",
        "2024-00-10",
        "2024-02-30",
        "2023-02-29",
        "1900-02-29",
        "2024-04-31",
        "2024-10-00",
        "0000-01-01",
        "2024-10-07T24:00:00",
        "2024-10-07T09:60:00",
        "2024-10-07T09:00:60",
        "2024-10-07T09",
        "2024-10-07T",
        "2024-10-07T09:00.5",
        "2024-10-07T09:00:00.1234567",
        "2024-10-07T09:00:00+2",
        "2024-10-07T09:00:00+15:00",
        "2024-10-07T09:00:00+02:60",
        "2024-10-07T09:00:00 Europe/Berlin",
        "2024-10-07+02:00",
        "2024-10-07'; drop table x",
        "2024-10-07'",
        "2024-10-07;",
        "2024-10-07 -- ",
        "2024-10-07\n; drop table x",
        "2024-10-07\n2024-10-08",
        "`2024-10-07`",
        "{{ run_started_at }}",
        "\u0662\u0660\u0662\u0664-\u0661\u0660-\u0660\u0667",
    ],
)
def test_what_is_refused(ditto: Ditto, given: object) -> None:
    with pytest.raises(CompilationError) as caught:
        ditto.parse_execution_time(given)
    message = str(caught.value)
    assert f"found:    execution_date: {given}".partition("\n")[0] in message
    assert "dbt run --vars '{execution_date: 2024-10-07}'" in message


@pytest.mark.parametrize("given", ["0001-01-01T00:00:00+02:00", "9999-12-31T23:00:00-02:00"])
def test_an_offset_that_leads_out_of_the_calendar_is_refused(ditto: Ditto, given: str) -> None:
    with pytest.raises(CompilationError, match="found:    execution_date"):
        ditto.parse_execution_time(given)


def test_without_the_var_the_error_shows_the_command(ditto: Ditto) -> None:
    with pytest.raises(CompilationError) as caught:
        ditto.execution_time()
    message = str(caught.value)
    assert "found:    no execution_date" in message
    assert "there is no default" in message
    assert "fix:      dbt run --vars '{execution_date: 2024-10-07}'" in message


def test_an_empty_var_is_not_the_same_as_none_at_all(ditto: Ditto) -> None:
    with pytest.raises(CompilationError, match="found:    execution_date: "):
        ditto.with_context(var={"execution_date": ""}).execution_time()


@pytest.mark.parametrize("context", [{"execute": False}, {"flags": {"WHICH": "generate"}}])
def test_parsing_and_docs_need_no_date(ditto: Ditto, context: dict[str, object]) -> None:
    assert ditto.with_context(**context).execution_time() == "1970-01-01 00:00:00"


def test_a_wrong_date_is_refused_while_parsing_too(ditto: Ditto) -> None:
    with pytest.raises(CompilationError, match="execution_date: today"):
        ditto.with_context(execute=False, var={"execution_date": "today"}).execution_time()


def test_the_date_of_an_execution(ditto: Ditto) -> None:
    assert ditto.with_context(var={"execution_date": "2024-10-07T09:00:00"}).execution_date() == "2024-10-07"


@pytest.mark.parametrize(
    ("moment", "shown"),
    [
        ("2024-10-07 00:00:00", "2024-10-07"),
        ("2024-10-07 09:00:00", "2024-10-07T09:00:00"),
        ("2024-10-07 00:00:00.5", "2024-10-07T00:00:00.5"),
    ],
)
def test_the_command_that_runs_an_execution_can_be_pasted(ditto: Ditto, moment: str, shown: str) -> None:
    assert ditto.run_command("visits", moment) == f"dbt run --select visits --vars '{{execution_date: {shown}}}'"
    assert "dbt run --select visits --full-refresh --vars" in ditto.run_command("visits", moment, " --full-refresh")
    assert ditto.parse_execution_time(yaml.safe_load(f"{{d: {shown}}}")["d"]) == moment


@pytest.mark.parametrize(
    "missing",
    [{}, {"execute": True}, {"execute": True, "ledger": True}, {"execute": True, "ledger": True, "table": True}],
)
def test_what_is_parsed_made_anew_or_dropped_has_no_past(ditto: Ditto, missing: dict[str, bool]) -> None:
    """Nothing to ask while parsing; no ledger yet; a table that was dropped; a full refresh of one that is there."""
    context = ditto.with_context(
        execute=missing.get("execute", False),
        var={"execution_date": "2024-10-07"},
        should_full_refresh=lambda: "table" in missing,
        macros={
            "ledger_exists": lambda: missing.get("ledger", False),
            "table_facts": lambda schema, identifier: {"exists": missing.get("table", False)},
        },
    )
    assert context.previous_execution() is None
    assert context.is_replay() is False


def test_a_model_asks_the_ledger_about_its_own_past(ditto: Ditto) -> None:
    asked = []

    def facts(relation: str, execution_time: str) -> dict[str, object]:
        asked.append((relation, execution_time))
        return {"previous": "2024-10-04 00:00:00", "own": True}

    context = ditto.with_context(
        var={"execution_date": "2024-10-07"},
        should_full_refresh=lambda: False,
        macros={
            "ledger_exists": lambda: True,
            "ledger_facts": facts,
            "table_facts": lambda schema, identifier: {"exists": True},
        },
    )
    assert context.previous_execution() == "2024-10-04 00:00:00"
    assert context.is_replay() is True
    assert set(asked) == {("demo.model", "2024-10-07 00:00:00")}
