"""What a proxy_view model may say in its config, and what it is told when that is wrong."""

from __future__ import annotations

import datetime
from typing import Any

import pytest
from macro_harness import Ditto
from proxy_view_model import NAME, TABLE, node, refusal, settings


def test_defaults(ditto: Ditto) -> None:
    found = settings(ditto)
    assert (found["versioning"], found["keep_for"], found["legal_hold"]) == ("tables", None, False)
    assert (found["verify_versions"], found["on_changed_version"]) == (5, "error")
    assert (found["relation"], found["view"]) == ("demo.devices", "`demo`.`devices`")
    assert found["view_identifier"] == "devices"
    assert (found["leased"], found["many_tables"]) == (True, True)
    assert found["manifest"] == "`demo`.`devices__manifest`"


def test_a_version_is_named_by_the_start_of_the_run(ditto: Ditto) -> None:
    found = settings(ditto)
    assert (found["version_name"], found["identifier"], found["table"]) == (NAME, f"devices__{NAME}", TABLE)
    later = datetime.datetime(2024, 12, 31, 23, 59, 8, tzinfo=datetime.UTC)
    assert settings(ditto.with_context(run_started_at=later))["version_name"] == "v20241231_235908"


def test_with_one_table_all_versions_are_in_it(ditto: Ditto) -> None:
    found = settings(ditto, versioning="native")
    assert (found["identifier"], found["table"]) == ("devices__data", "`demo`.`devices__data`")
    assert settings(ditto, versioning="manifest")["table"] == TABLE


def test_a_name_is_quoted_and_kept_as_it_is(ditto: Ditto) -> None:
    found = settings(ditto, alias="De_vices")
    assert (found["view"], found["table"]) == ("`demo`.`De_vices`", f"`demo`.`De_vices__{NAME}`")
    assert found["relation"] == "demo.de_vices"


def test_options_under_meta_count_like_those_at_the_top(ditto: Ditto) -> None:
    options: dict[str, Any] = {
        "versioning": "manifest",
        "keep_for": "10 days",
        "legal_hold": ["v1", "v2"],
        "verify_versions": 0,
        "on_changed_version": "warn",
    }
    assert settings(ditto, meta=options) == settings(ditto, **options)
    assert settings(ditto, **options)["verify_versions"] == 0


@pytest.mark.parametrize(
    ("given", "hours"),
    [(None, None), ("1 hour", 1), ("10 days", 240), ("interval 1 week 1 day", 192), ("90 minutes", 2)],
)
def test_how_long_a_version_is_kept(ditto: Ditto, given: str | None, hours: int | None) -> None:
    assert settings(ditto, keep_for=given)["keep_for"] == hours


@pytest.mark.parametrize(
    ("given", "held"),
    [(True, True), (False, False), (None, False), ("V20241007_120000", [NAME]), (["v1", "V2"], ["v1", "v2"])],
)
def test_what_is_under_legal_hold(ditto: Ditto, given: object, held: object) -> None:
    assert settings(ditto, legal_hold=given)["legal_hold"] == held


def test_the_flags_and_the_execution_are_those_of_the_run(ditto: Ditto) -> None:
    found = settings(ditto, "10-08", full_refresh=True, dry=True)
    assert (found["full_refresh"], found["dry"], found["execution_time"]) == (True, True, "2024-10-08 00:00:00")
    run = ditto.with_context(var={"execution_date": "2024-10-09"})
    assert run.proxy_view_settings(node())["execution_time"] == "2024-10-09 00:00:00"


@pytest.mark.parametrize(
    ("config", "found", "fix"),
    [
        ({"versioning": "views"}, "versioning: views", "versioning='tables'"),
        ({"versioning": "delta"}, "versioning: delta", "versioning='tables'"),
        ({"on_changed_version": "ignore"}, "on_changed_version: ignore", "on_changed_version='error'"),
        ({"keep_for": "long"}, "keep_for: long", "keep_for='3650 days'"),
        ({"keep_for": 30}, "keep_for: 30", "keep_for='3650 days'"),
        ({"keep_for": "0 days"}, "keep_for: 0 days", "keep_for='3650 days'"),
        ({"keep_for": "1 year"}, "keep_for: 1 year", "keep_for='3650 days'"),
        ({"keep_for": True}, "keep_for: True", "keep_for='3650 days'"),
        ({"legal_hold": []}, "legal_hold: []", "legal_hold=['v20241007_090000']"),
        ({"legal_hold": {"v1": True}}, "legal_hold: {'v1': True}", "legal_hold=['v20241007_090000']"),
        ({"legal_hold": 1}, "legal_hold: 1", "legal_hold=['v20241007_090000']"),
        ({"verify_versions": -1}, "verify_versions: -1", "verify_versions=5"),
        ({"verify_versions": "all"}, "verify_versions: all", "verify_versions=5"),
        ({"verify_versions": True}, "verify_versions: True", "verify_versions=5"),
        ({"verify_versions": 1.5}, "verify_versions: 1.5", "verify_versions=5"),
        ({"file_format": "parquet"}, "file_format: parquet", "set file_format='delta'"),
        ({"on_schema_change": "grow"}, "on_schema_change: grow", "on_schema_change='ignore'"),
        ({"cluster_by": "id", "partition_by": "name"}, "cluster_by: id with partition_by", "remove cluster_by"),
        ({"partition_by": [1]}, "partition_by: [1]", "partition_by=['id']"),
    ],
)
def test_mistakes_are_named_with_their_remedy(ditto: Ditto, config: dict[str, Any], found: str, fix: str) -> None:
    text = refusal(lambda: settings(ditto, **config))
    assert f"found:    {found}" in text
    assert fix in text[text.index("fix:") :]


@pytest.mark.parametrize("name", [f"{NAME}_2", "v7"])
def test_the_table_of_a_version(ditto: Ditto, name: str) -> None:
    own = ditto.version_settings(settings(ditto), name)
    assert own == {"version_name": name, "identifier": f"devices__{name}", "table": f"`demo`.`devices__{name}`"}
    shared = ditto.version_settings(settings(ditto, versioning="native"), name)
    assert (shared["version_name"], shared["identifier"]) == (name, "devices__data")
