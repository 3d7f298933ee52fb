"""How long ditto_vacuum keeps files, and the statements it sends."""

from __future__ import annotations

from typing import Any

import pytest
from macro_harness import Ditto

WINDOW = {"hours": 720, "name": "backfill_window of the model"}
LEAST = {"hours": 168, "name": "least that ditto keeps"}
MONTH = "[delta.deletedFileRetentionDuration=interval 30 days,delta.logRetentionDuration=interval 30 days]"


@pytest.mark.parametrize(
    ("text", "hours"),
    [
        ("7 days", 168),
        ("interval 1 week", 168),
        ("interval 1 week 2 hours", 170),
        ("90 minutes", 2),
        ("1 hour", 1),
        ("soon", None),
        ("7", None),
        ("-1 days", None),
        ("1 month", None),
    ],
)
def test_durations(ditto: Ditto, text: str, hours: int | None) -> None:
    assert ditto.duration_hours(text) == hours


@pytest.mark.parametrize(
    ("properties", "window", "retain", "hours", "changed"),
    [
        (MONTH, WINDOW, None, 720, {}),
        (MONTH, WINDOW, 24, 720, {}),
        (MONTH, LEAST, None, 720, {}),  # the table's own
        ("[]", LEAST, None, 168, {}),  # Delta's default
        ("[]", WINDOW, None, 720, {"delta.deletedFileRetentionDuration": "interval 30 days"}),
        (
            "[x.delta.deletedFileRetentionDuration=interval 90 days]",
            LEAST,
            1440,
            1440,
            {
                "delta.deletedFileRetentionDuration": "interval 60 days",
                "delta.logRetentionDuration": "interval 60 days",
            },
        ),
    ],
)
def test_the_longest_retention_wins(
    ditto: Ditto, properties: str, window: dict[str, Any], retain: int | None, hours: int, changed: dict[str, str]
) -> None:
    found = ditto.vacuum_retention(properties, window, retain)
    assert (found["hours"], found["properties"]) == (hours, changed)


def test_what_was_raised_is_said(ditto: Ditto) -> None:
    notes = ditto.vacuum_retention(MONTH, WINDOW, 168)["notes"]
    assert notes == ["retain: 7 days was raised to 30 days, the backfill_window of the model"]
    notes = ditto.vacuum_retention(MONTH, LEAST, 36)["notes"]
    assert notes == ["retain: 36 hours was raised to 30 days, the delta.deletedFileRetentionDuration of the table"]
    notes = ditto.vacuum_retention("[]", WINDOW)["notes"]
    assert notes == ["the table itself keeps only 7 days: its properties are set first"]


def test_an_unreadable_property_is_no_retention(ditto: Ditto) -> None:
    assert ditto.vacuum_retention("[delta.deletedFileRetentionDuration=P7D]", LEAST) is None


def test_a_dry_run_changes_no_property(ditto: Ditto) -> None:
    retention = ditto.vacuum_retention("[]", WINDOW)
    assert ditto.vacuum_statements("`a`.`b`", retention, True) == ["vacuum `a`.`b` retain 720 hours dry run"]
    alter = "alter table `a`.`b` set tblproperties ('delta.deletedFileRetentionDuration' = 'interval 30 days')"
    assert ditto.vacuum_statements("`a`.`b`", retention, False) == [alter, "vacuum `a`.`b` retain 720 hours"]
    assert "at most 4 files would go; kept for 30 days" in ditto.vacuum_text("t", retention, True, 4)


def test_what_is_said(ditto: Ditto) -> None:
    retention = ditto.vacuum_retention(MONTH, WINDOW)
    assert ditto.vacuum_text("t", retention, True, 1) == "  t: 1 file would go; kept for 30 days"
    assert "  t: 1000 or more files would go" in ditto.vacuum_text("t", retention, True, 1000)
    assert "  t: 1200 files (10 bytes) removed" in ditto.vacuum_text("t", retention, False, 1200, 10)
    assert "an unknown number of files removed" in ditto.vacuum_text("t", retention, False, None)
    assert ditto.vacuum_text("t", retention, True, 0, None, "as before").endswith("\n    as before")


def test_rows_of_any_type_are_compared_as_text(ditto: Ditto) -> None:
    columns = [{"name": "Id", "type": "int"}, {"name": "tags", "type": "map<string,int>"}]
    columns += [{"name": "deep", "type": "map<string,map<string,int>>"}]
    assert ditto.comparable_columns(["id", "tags", "deep"], columns) == (
        "to_json(struct(`id` as `id`, array_sort(map_entries(`tags`)) as `tags`, `deep` as `deep`),"
        f" {ditto.json_options()})"
    )
    assert ditto.json_options() == (
        r"map('ignoreNullFields', 'false', 'timeZone', 'UTC', 'timestampFormat', 'yyyy-MM-dd\'T\'HH:mm:ss.SSSSSSX',"
        r" 'timestampNTZFormat', 'yyyy-MM-dd\'T\'HH:mm:ss.SSSSSS')"
    )
