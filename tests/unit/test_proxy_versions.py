"""Versions of a proxy_view model: are they what was written, which one is shown, and which may go?"""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any

import pytest
from macro_harness import Ditto, sql
from proxy_view_model import NAME, TABLE, commit, native, node, refusal, settings, version, written

DATA = "`demo`.`devices__data`"


# --- what happened to a version -------------------------------------------------------------------------------------


def problem(ditto: Ditto, *later: dict[str, Any], exists: bool = True) -> str | None:
    """`later`: the commits after the one that wrote the version, oldest first."""
    return ditto.version_problem(version(), exists, [*reversed(later), written()])


def test_a_version_that_nobody_touched(ditto: Ditto) -> None:
    assert problem(ditto) is None


HARMLESS = (
    "OPTIMIZE, VACUUM START, VACUUM END, SET TBLPROPERTIES, UNSET TBLPROPERTIES, CHANGE COLUMN, ADD CONSTRAINT, REORG"
)


@pytest.mark.parametrize("operation", [*HARMLESS.split(", "), "DROP CONSTRAINT", "UPGRADE PROTOCOL"])
def test_what_leaves_a_version_as_it_is(ditto: Ditto, operation: str) -> None:
    assert problem(ditto, commit(1, operation)) is None


CHANGES = (
    "WRITE, UPDATE, DELETE, MERGE, TRUNCATE, STREAMING UPDATE, CREATE OR REPLACE TABLE AS SELECT, CLONE, something new"
)
COLUMNS = "ADD COLUMNS, DROP COLUMNS, RENAME COLUMN, REPLACE COLUMNS"


@pytest.mark.parametrize("operation", f"{CHANGES}, {COLUMNS}".split(", "))
def test_what_changes_a_version(ditto: Ditto, operation: str) -> None:
    """appendOnly lets INSERT, and changes of columns, through; the others follow once it was switched off."""
    found = problem(ditto, commit(1, "SET TBLPROPERTIES"), commit(2, operation), commit(3, "OPTIMIZE"))
    assert found == f"was changed after it was written: version 2: {operation} by eve at noon"


def test_a_restore_to_what_was_written_repairs_it(ditto: Ditto) -> None:
    assert problem(ditto, commit(1), commit(2, "RESTORE", restored=0)) is None
    assert problem(ditto, commit(1), commit(2, "RESTORE", restored=0), commit(3, "OPTIMIZE")) is None
    assert problem(ditto, commit(1, "DROP COLUMNS"), commit(2, "RESTORE", restored=0)) is None
    again = problem(ditto, commit(1), commit(2, "RESTORE", restored=0), commit(3, "DELETE"))
    assert again is not None and "version 3: DELETE" in again and "version 1: WRITE" in again


def test_a_restore_to_anything_else_is_a_change(ditto: Ditto) -> None:
    found = problem(ditto, commit(1), commit(2), commit(3, "RESTORE", restored=1))
    assert found is not None and "version 3: RESTORE by eve" in found


def test_a_dropped_table(ditto: Ditto) -> None:
    assert problem(ditto, exists=False) == "is gone: its table was dropped"


@pytest.mark.parametrize(
    "commits",
    [
        [commit(0, "CREATE TABLE AS SELECT")],
        [written(run="somebody")],
        [commit(1, run="me"), written(run="somebody")],
        [commit(9, "OPTIMIZE"), commit(8, "OPTIMIZE")],
        [],
    ],
)
def test_a_table_with_another_history_was_replaced(ditto: Ditto, commits: list[dict[str, Any]]) -> None:
    """Also one whose log begins later: a table that is written once keeps its log, so somebody shortened it."""
    found = ditto.version_problem(version(), True, commits)
    assert found.startswith("was replaced: its table has another history than the one that was written")


def test_in_one_table_a_later_commit_changes_no_version(ditto: Ditto) -> None:
    commits = [commit(3), written(2, "later"), written(1), commit(0, "CREATE TABLE AS SELECT", "first")]
    assert ditto.version_problem(native(1), True, commits) is None
    assert "was replaced" in ditto.version_problem(native(2), True, commits)
    assert ditto.version_problem(native(1), True, commits[:2]) is None, "its log goes with the retention"
    assert ditto.version_problem(native(1), False, []) == "is gone: its table was dropped"


def test_versions_in_one_table_that_no_run_wrote(ditto: Ditto) -> None:
    commits = [
        commit(6, "DELETE"),
        commit(5, "OPTIMIZE"),
        written(4, "dead"),
        commit(3),
        written(2),
        written(1),
        commit(0, "WRITE"),
    ]
    found = ditto.foreign_versions([native(2), native(1)], commits)
    assert [each["version"] for each in found] == ["v6", "v3"], "what lies before the oldest is not looked at"
    assert found[0]["table"] == DATA
    assert found[0]["problem"] == "was written by somebody else: version 6: DELETE by eve at noon"


# --- looking at them ------------------------------------------------------------------------------------------------


class World:
    """Tables with their commits, newest first, and those that can be read."""

    def __init__(self, ditto: Ditto, schema: bool = True, **tables: list[dict[str, Any]]) -> None:
        self.tables = tables
        self.asked: list[str] = []
        self.probed: list[tuple[str, int]] = []
        self.readable = True
        self.ditto = ditto.with_context(
            adapter=SimpleNamespace(check_schema_exists=lambda database, name: schema),
            macros={"tables_like": self.like, "commits": self.commits, "is_readable": self.probe},
        )

    def like(self, _: str, pattern: str) -> list[str]:
        self.asked.append(pattern)
        return [name for name in self.tables if name.startswith(pattern.lower().removesuffix("*"))]

    def commits(self, name: str, limit: int) -> list[dict[str, Any]]:
        return self.tables[name.split(".")[1].strip("`").lower()][:limit]

    def probe(self, name: str, at: int) -> bool:
        self.probed.append((name, at))
        return self.readable

    def changed(self, versions: list[dict[str, Any]], files: bool = False, **config: Any) -> list[tuple[str, str]]:
        found = self.ditto.changed_versions(settings(self.ditto, **config), versions, files)
        return [(each["version"], each["problem"].split(":")[0]) for each in found]


OLD = "v20241006_120000"


def test_each_version_is_looked_at_in_its_own_table(ditto: Ditto) -> None:
    world = World(ditto, **{f"devices__{NAME}": [written()], f"devices__{OLD}": [commit(1), written()]})
    versions = [version(), version(OLD), version("v20241005_120000")]
    expected = [(OLD, "was changed after it was written"), ("v20241005_120000", "is gone")]
    assert world.changed(versions) == expected
    assert world.probed == [], "a run opens no file"
    assert world.asked == ["devices__*"], "a pattern that does not grow with the number of versions"
    assert world.changed([]) == [] and len(world.asked) == 1


def test_names_in_upper_case_are_the_same_tables(ditto: Ditto) -> None:
    world = World(ditto, **{f"devices__{NAME}": [written()]})
    assert world.changed([version(identifier=f"Devices__{NAME}")]) == []


def test_files_are_opened_where_the_table_stands(ditto: Ditto) -> None:
    """Comments and compaction make newer versions, and Delta refuses to read older ones after a while."""
    compacted = [commit(2, "OPTIMIZE"), commit(1, "CHANGE COLUMN"), written()]
    world = World(ditto, **{f"devices__{NAME}": compacted, f"devices__{OLD}": [commit(1), written()]})
    assert world.changed([version(), version(OLD)], files=True) == [(OLD, "was changed after it was written")]
    assert world.probed == [(TABLE, 2)]
    world.readable = False
    assert world.changed([version()], files=True) == [(NAME, "cannot be read any more")]


def test_with_the_schema_all_versions_are_gone(ditto: Ditto) -> None:
    world = World(ditto, schema=False, **{f"devices__{NAME}": [written()]})
    assert world.changed([version()], files=True) == [(NAME, "is gone")]
    assert world.asked == [], "there is nothing to list"


def test_versions_of_one_table(ditto: Ditto) -> None:
    commits = [written(3), commit(2), written(1), written(0)]
    world = World(ditto, devices__data=commits)
    versions = [native(3), native(1), native(0)]
    assert world.changed(versions, files=True, versioning="native") == [("v2", "was written by somebody else")]
    assert world.probed == [(DATA, 3), (DATA, 1), (DATA, 0)]
    assert World(ditto).changed([native(3)], versioning="native") == [("v3", "is gone")]


@pytest.mark.parametrize(
    ("config", "age", "probed"),
    [
        ({}, 10**6, True),
        ({"keep_for": "10 days"}, 100, True),
        ({"keep_for": "10 days"}, 238, True),
        ({"keep_for": "10 days"}, 239, False),
        ({"keep_for": "10 days", "legal_hold": True}, 10**6, True),
        ({"keep_for": "10 days", "legal_hold": "v0"}, 10**6, True),
        ({"keep_for": "10 days", "legal_hold": "v1"}, 10**6, False),
    ],
)
def test_what_is_older_than_keep_for_is_not_missed_in_one_table(
    ditto: Ditto, config: dict[str, Any], age: int, probed: bool
) -> None:
    """Otherwise ditto_verify would fail for ever, and nothing could be done about it."""
    world = World(ditto, devices__data=[written(0)])
    world.readable = False
    found = world.changed([native(0, age=age)], files=True, versioning="native", **config)
    assert (found != [], world.probed != []) == (probed, probed)


def test_a_version_with_a_table_of_its_own_is_missed_at_any_age(ditto: Ditto) -> None:
    world = World(ditto, **{f"devices__{NAME}": [written()]})
    world.readable = False
    assert world.changed([version(age=10**6)], files=True, keep_for="1 hour") == [(NAME, "cannot be read any more")]


@pytest.mark.parametrize("versioning", ["tables", "native", "manifest"])
def test_versions_stay_where_they_are_when_the_config_changes(ditto: Ditto, versioning: str) -> None:
    world = World(ditto, devices__data=[written(1), written(0)], **{f"devices__{NAME}": [written()]})
    assert world.changed([version(seq=9), native(1), native(0)], files=True, versioning=versioning) == []


# --- what the ledger says -------------------------------------------------------------------------------------------


def row(**changes: Any) -> dict[str, Any]:
    details = {"version": NAME, "shown": True, "files": 2, "bytes": 2048}
    known = {"name": NAME, "time": "2024-10-07 00:00:00", "mode": "normal", "version": 0, "rows": 7}
    known |= {"details": json.dumps(details), "invocation_id": "me", "at": "2024-10-07 12:00:05"}
    known |= {"age": "48", "seq": "6"}
    return known | changes


def test_a_version_in_the_ledger(ditto: Ditto) -> None:
    found = ditto.parse_version(settings(ditto), row())
    assert (found["name"], found["identifier"], found["table"]) == (NAME, f"devices__{NAME}", TABLE)
    assert found["native"] is False
    assert (found["version"], found["age"], found["seq"], found["rows"]) == (0, 48, 6, 7)
    assert (found["files"], found["bytes"], found["shown"]) == (2, 2048, True)
    assert found.keys() == version().keys()


@pytest.mark.parametrize("versioning", ["tables", "native"])
@pytest.mark.parametrize("details", [None, "{}", '{"version": null, "shown": false}'])
def test_a_version_without_a_name_of_its_own_is_in_the_one_table(
    ditto: Ditto, details: str | None, versioning: str
) -> None:
    read = settings(ditto, versioning=versioning)
    found = ditto.parse_version(read, row(details=details, name="v3", version="3"))
    assert (found["identifier"], found["version"], found["native"]) == ("devices__data", 3, True)
    assert (found["files"], found["bytes"], found["shown"]) == (None, None, False)
    own = ditto.parse_version(read, row())
    assert (own["identifier"], own["native"]) == (f"devices__{NAME}", False)
    assert ditto.parse_version(read, row(version=None))["version"] is None


def test_the_query_for_versions(ditto: Ditto) -> None:
    text = sql(ditto.proxy_versions_sql("`ops`.`ditto_ledger`", "demo.it's", 5))
    assert "where `relation` = 'demo.it\\'s' and `pattern` = 'proxy_view' and `event` = 'committed'" in text
    assert "left anti join expired using (`name`)" in text and "where `mode` = 'proxy_expire'" in text
    assert text.endswith("where `execution_time` is not null order by `seq` desc limit 5")
    names = sql(ditto.proxy_versions_sql("`ops`.`ditto_ledger`", "demo.devices", 5, like=NAME))
    assert "left anti join" not in names, "a name that was expired is not used again"
    assert f"where `execution_time` is not null and startswith(`name`, '{NAME}')" in names


def test_versions_and_their_names_are_read_from_the_ledger(ditto: Ditto) -> None:
    world = ditto.with_context(macros={"fetch": lambda text: [row(), row(name="v3", version=3, details=None)]})
    assert [each["name"] for each in world.proxy_versions(settings(ditto), 5)] == [NAME, "v3"]
    assert world.recorded_names(settings(ditto, alias="DeVices")) == [f"devices__{NAME}", "devices__v3"]


def test_what_was_shown_last(ditto: Ditto) -> None:
    text = sql(ditto.last_shown_sql("`ops`.`ditto_ledger`", "demo.devices"))
    assert "coalesce(get_json_object(`details`, '$.version'), concat('v', `version`)) as `name`" in text
    assert "get_json_object(`details`, '$.shown') = 'true'" in text and text.endswith("order by `seq` desc limit 1")


# --- which one do readers see? --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "name"),
    [
        (f"select `id` from {TABLE}", NAME),
        (f"select `id` from `demo`.`devices__{NAME}_2`", f"{NAME}_2"),
        (f"SELECT * FROM demo.DEVICES__{NAME.upper()} WHERE id > 1", NAME),
        (f"select `devices__v1`, `devices__{OLD}` from {TABLE}", NAME),
        (f"select `version as of 3` from {TABLE}", NAME),
        ("select `id` from `demo`.`devices__data` version as of 12", "v12"),
        ("select `devices__data version as of 3` from `demo`.`devices__data` VERSION AS OF 12", "v12"),
        (f"select `devices__{OLD}` from `demo`.`devices__data` version as of 0", "v0"),
        ("select cast(null as int) as `id` where false", None),
        ("select * from demo.devices__data", None),
        ("select * from demo.other__data version as of 3", None),
        (f"select * from demo.old_devices__{NAME}", None),
        (f"select * from demo.devices__v2__{NAME}", None),
        (f"select * from demo.devices__{NAME}x", None),
        ("", None),
        (None, None),
    ],
)
def test_the_version_that_a_view_shows(ditto: Ditto, text: str | None, name: str | None) -> None:
    for versioning in ("tables", "native"):
        assert ditto.shown_version(settings(ditto, versioning=versioning), text) == name


@pytest.mark.parametrize("alias", ["devices__v2", "De_vices", "_devices", "2devices"])
def test_views_of_models_with_odd_names(ditto: Ditto, alias: str) -> None:
    read = settings(ditto, alias=alias)
    columns = [{"name": "id"}]
    shown = ditto.version_view_sql(read, columns, {"exists": False})
    assert ditto.shown_version(read, shown) == NAME
    data = ditto.version_settings(settings(ditto, alias=alias, versioning="native"), "v3")
    assert ditto.shown_version(read, ditto.version_view_sql(read | data, columns, {"exists": True}, version=3)) == "v3"
    assert ditto.shown_version(settings(ditto, alias="devices"), shown) is None


# --- choosing one ---------------------------------------------------------------------------------------------------

THREE = [version(seq=9), version(OLD, seq=6), version("v20241005_120000", seq=2)]


@pytest.mark.parametrize(
    ("wanted", "shown", "name"),
    [
        (OLD, NAME, OLD),
        (OLD.upper(), NAME, OLD),
        (f"devices__{OLD}", NAME, OLD),
        ("latest", OLD, NAME),
        ("LATEST", None, NAME),
        ("previous", NAME, OLD),
        ("previous", OLD, "v20241005_120000"),
    ],
)
def test_a_version_is_chosen(ditto: Ditto, wanted: str, shown: str | None, name: str) -> None:
    assert ditto.choose_version("devices", THREE, wanted, shown)["name"] == name


@pytest.mark.parametrize(
    ("wanted", "shown"),
    [("v1", NAME), ("", NAME), (0, NAME), ("previous", "v20241005_120000"), ("previous", None), ("previous", "v1")],
)
def test_a_version_that_is_not_there(ditto: Ditto, wanted: Any, shown: str | None) -> None:
    text = refusal(lambda: ditto.choose_version("devices", THREE, wanted, shown), f"version {wanted} of devices")
    assert f"versions {NAME}, {OLD}, v20241005_120000" in text and "one of them, latest or previous" in text
    assert "ditto_proxy_versions --args '{model: devices}'" in text
    assert "found:    versions none" in refusal(
        lambda: ditto.choose_version("devices", [], wanted, shown), f"version {wanted} of devices"
    )


def test_a_version_of_one_table_is_chosen_by_its_number(ditto: Ditto) -> None:
    versions = [native(12), native(2), native(0)]
    for wanted in (2, "2", "v2", "V2"):
        assert ditto.choose_version("devices", versions, wanted, "v12")["name"] == "v2"
    assert ditto.choose_version("devices", versions, 0, "v12")["name"] == "v0"
    assert ditto.choose_version("devices", versions, "previous", "v12")["name"] == "v2"


# --- expiry ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("each", "config", "obstacle"),
    [
        (version(), {}, "readers see it"),
        (version(OLD), {}, None),
        (version(OLD), {"legal_hold": True}, "it is under legal_hold"),
        (version(OLD), {"legal_hold": OLD.upper()}, "it is under legal_hold"),
        (version(OLD), {"legal_hold": [f"devices__{OLD}"]}, "it is under legal_hold"),
        (version(OLD), {"legal_hold": [NAME]}, None),
        (version(OLD, age=23), {}, "it is younger than keep_for: 23 hours of 1 day"),
        (version(OLD, age=24), {}, None),
        (version(OLD, age=0), {"legal_hold": True}, "it is under legal_hold"),
        (native(3), {}, f"it is one of many in {DATA}, which goes by its retention"),
    ],
)
def test_what_may_not_be_expired(
    ditto: Ditto, each: dict[str, Any], config: dict[str, Any], obstacle: str | None
) -> None:
    assert ditto.expiry_obstacle(settings(ditto, **config), each, NAME, 24) == obstacle


@pytest.mark.parametrize(
    ("config", "asked", "hours"),
    [("10 days", None, 240), ("10 days", "5 days", 240), ("10 days", "20 days", 480), ("1 hour", "1 day", 24)],
)
def test_an_argument_can_only_keep_versions_longer(ditto: Ditto, config: str, asked: str | None, hours: int) -> None:
    assert ditto.check_expire(settings(ditto, keep_for=config), asked, True) == hours


@pytest.mark.parametrize(
    ("config", "arguments", "found", "fix"),
    [
        ({}, (None, True), "no keep_for", "add keep_for='3650 days'"),
        ({}, ("10 days", False), "no keep_for", "add keep_for='3650 days'"),
        ({"keep_for": "1 day"}, ("long", True), "dry_run: True, keep_for: long", "keep_for: 365 days"),
        ({"keep_for": "1 day"}, ("0 days", True), "dry_run: True, keep_for: 0 days", "keep_for: 365 days"),
        ({"keep_for": "1 day"}, (None, "false"), "dry_run: false", "dry_run: true"),
        ({"keep_for": "1 day"}, (None, None), "dry_run: None", "dry_run: true"),
        ({"keep_for": "1 day", "versioning": "native"}, (None, False), "versioning: native", "ditto_vacuum"),
    ],
)
def test_an_expiry_that_is_refused(
    ditto: Ditto, config: dict[str, Any], arguments: tuple[Any, Any], found: str, fix: str
) -> None:
    text = refusal(lambda: ditto.check_expire(settings(ditto, **config), *arguments), "ditto_proxy_expire of devices")
    assert f"found:    {found}" in text and fix in text[text.index("fix:") :]


def test_what_has_to_be_kept_has_to_be_known(ditto: Ditto) -> None:
    held = settings(ditto, keep_for="1 day", legal_hold=[OLD, f"devices__{NAME}"])
    ditto.check_kept(held, THREE, NAME)
    ditto.check_kept(held | {"legal_hold": True}, THREE, NAME)
    ditto.check_kept(held | {"legal_hold": False}, [], None)
    for shown, found in ((None, "readers see none of the versions"), ("v1", "readers see v1, which is no version in")):
        text = refusal(lambda shown=shown: ditto.check_kept(held, THREE, shown), "ditto_proxy_expire of devices")
        assert found in text and "ditto_proxy_point_to --args '{model: devices, version: latest}'" in text
    misspelt = settings(ditto, keep_for="1 day", legal_hold=[OLD, "v2024106_120000"])
    text = refusal(lambda: ditto.check_kept(misspelt, THREE, NAME), "ditto_proxy_expire of devices")
    assert "legal_hold: v2024106_120000, which is no version of the model" in text


# --- the list -------------------------------------------------------------------------------------------------------


def test_the_list_of_versions(ditto: Ditto) -> None:
    read = settings(ditto, legal_hold=[OLD])
    versions = [
        version(f"{NAME}_2", time="2024-10-07 09:00:00", rows=12, bytes=123456, at="2024-10-07 12:00:09.5"),
        version(),
        version(OLD, rows=1234567890),
    ]
    unfinished = ["devices__v20241004_120000"]
    assert ditto.versions_text(read, versions, NAME, unfinished).splitlines() == [
        "ditto: versions of demo.devices, newest first",
        "",
        "  version               execution                    rows           bytes   written at",
        "  v20241007_120000_2    2024-10-07T09:00:00            12          123456   2024-10-07 12:00:09",
        "* v20241007_120000      2024-10-07                      2            1024   2024-10-07 12:00:05",
        "  v20241006_120000      2024-10-07             1234567890            1024   2024-10-07 12:00:05   legal hold",
        "",
        "  * is what readers see",
        "  devices__v20241004_120000: of a run that did not finish; nobody sees it, and no run will write to it",
    ]


def test_the_list_says_if_readers_see_none_of_them(ditto: Ditto) -> None:
    text = ditto.versions_text(settings(ditto), [version()], None, [])
    assert "  readers see none of them" in text and "* v" not in text
    assert ditto.versions_text(settings(ditto, legal_hold=True), [version()], NAME, []).count("legal hold") == 1
    # A run that died between the view and its outcome.
    text = ditto.versions_text(settings(ditto, alias="Devices"), [version(OLD)], NAME, [f"devices__{NAME}"])
    assert "  readers see none of them" in text
    assert f"  devices__{NAME}: of a run that did not finish; readers see it" in text


def test_tables_of_the_model_and_of_others(ditto: Ditto) -> None:
    """A model called devices__v2 has tables whose names begin alike."""
    there = [
        f"devices__{NAME}",
        f"devices__{NAME}_2",
        "devices__data",
        "devices__v2",
        "devices__visits",
        "devices__v2__data",
        f"devices__v2__{NAME}",
        "devices__manifest",
    ]
    world = World(ditto, **{name: [] for name in there})
    own = [f"devices__{NAME}", f"devices__{NAME}_2"]
    assert world.ditto.version_tables(settings(ditto, alias="Devices")) == own
    assert world.ditto.version_tables(settings(ditto, versioning="native")) == [*own, "devices__data"]
    assert world.ditto.version_tables(settings(ditto, alias="devices__v2")) == [f"devices__v2__{NAME}"]
    assert World(ditto, schema=False, **{name: [] for name in there}).ditto.version_tables(settings(ditto)) == []
    assert world.ditto.unrecorded_versions(settings(ditto), [version()]) == [f"devices__{NAME}_2"]
    one_table = settings(ditto, versioning="native")
    assert world.ditto.unrecorded_versions(one_table, [native(3), version()]) == [f"devices__{NAME}_2"]


# --- the test ditto_immutable, and ditto_ledger_matches_history -------------------------------------------------------


def test_the_history_of_all_tables_of_a_model(ditto: Ditto) -> None:
    world = World(ditto, **{f"devices__{NAME}": [written()], "devices__v2": [commit(0)]})
    package = world.ditto.with_context(graph={"nodes": {"model.ditto.devices": node()}})
    found = package.history_of_units("demo", "DEVICES")
    assert found["units"] == [TABLE]
    assert [each["unit"] for each in found["commits"]] == [TABLE]
    assert package.history_of_units("demo", "other") is None


def test_the_changes_of_a_model(ditto: Ditto) -> None:
    world = World(ditto, **{f"devices__{NAME}": [commit(1), written()]})
    macros = {"tables_like": world.like, "commits": world.commits, "proxy_versions": lambda settings: [version()]}
    package = world.ditto.with_context(graph={"nodes": {"model.ditto.devices": node()}}, macros=macros)
    (found,) = package.changes_of_model("demo", "devices")
    assert found["version"] == NAME and "version 1: WRITE" in found["problem"]
    text = refusal(lambda: package.changes_of_model("demo", "other"), "test ditto_immutable on demo.other")
    assert "no proxy_view model of this name" in text


@pytest.mark.parametrize("ledger", [True, False])
def test_the_test_fails_for_each_changed_version_and_needs_a_ledger(ditto: Ditto, ledger: bool) -> None:
    changes = [{"version": NAME, "problem": "it's gone"}, {"version": OLD, "problem": "was replaced"}]
    package = ditto.with_context(
        flags={"WHICH": "generate"},
        macros={"changes_of_model": lambda schema, name: changes, "ledger_exists": lambda: ledger},
    )
    text = sql(package.test_ditto_immutable(SimpleNamespace(schema="demo", identifier="devices")))
    values = f"('{NAME}', 'it\\'s gone'), ('{OLD}', 'was replaced'), " if ledger else ""
    assert text == (
        f"select `version`, `problem` from values {values}(null, null) as changed (`version`, `problem`)"
        " where `version` is not null"
    )
