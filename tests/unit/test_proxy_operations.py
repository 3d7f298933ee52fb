"""The operations on versions: what they send, in which order, and what they leave alone."""

from __future__ import annotations

import json
import re
from types import SimpleNamespace
from typing import Any

import pytest
from fast_metadata_cleaner_model import unfinished
from macro_harness import Ditto, sql
from merger_model import ledger, table, view
from proxy_view_model import FENCE, NAME, ROWS, TABLE, native, node, refusal, settings, version

OLD = "v20241006_120000"
OLDER = "v20241005_120000"
KEPT = {"keep_for": "1 day"}


class Killed(Exception):
    pass


class World:
    """A model with versions, a view, a ledger, and what was sent; `deadline` statements are sent before it dies."""

    def __init__(self, ditto: Ditto, shown: str | None = NAME, deadline: int = 10**6, **config: Any) -> None:
        self.versions = [version(name, seq=9 - place) for place, name in enumerate((NAME, OLD, OLDER))]
        self.config, self.deadline = config, deadline
        self.text = f"select `id` from `demo`.`devices__{shown}`" if shown else None
        self.recorded = shown
        self.opened: dict[str, Any] | None = None
        self.changed: list[dict[str, str]] = []
        self.sent: list[tuple[str, str]] = []
        self.finished: list[dict[str, Any]] = []
        self.ditto = ditto.with_context(
            graph={"nodes": {"model.ditto.devices": node(**config)}},
            adapter=SimpleNamespace(check_schema_exists=lambda database, schema: True),
            macros={
                "ledger_exists": lambda: True,
                "ledger_facts": lambda *args, **kwargs: ledger(
                    generation=1, seq=8, token=2, unfinished=[self.opened] if self.opened else []
                ),
                "proxy_versions": lambda *args: self.versions,
                "changed_versions": lambda settings, versions, files: self.changed,
                "table_facts": self.facts,
                "tables_like": lambda schema, pattern: [each["identifier"] for each in self.versions],
                "query_columns": lambda text: self.sent.append(("columns", text)) or ROWS,
                "fetch": lambda text: [{"name": self.recorded, "seq": 7}] if self.recorded else [],
                "claim": self.claim,
                "send": self.send,
                "finish_operation": self.finish,
            },
        )

    def facts(self, _: str, name: str) -> dict[str, Any]:
        return table(None, text="") if self.text is None else view(ROWS, text=self.text)

    def claim(self, plan: dict[str, Any]) -> dict[str, int]:
        assert plan["execution_time"] is None
        self.send("claim", plan["mode"])
        self.opened = unfinished(None, mode=plan["mode"])
        return {"token": 3}

    def send(self, name: str, text: str) -> dict[str, Any]:
        self.deadline -= 1
        if self.deadline < 0:
            raise Killed
        self.sent.append((name, text.replace("\\'", "'")))
        if name == "view":
            self.text = text
        return {"table": None}

    def finish(self, plan: dict[str, Any], lease: dict[str, int], details: dict[str, Any]) -> None:
        self.send("finish", "")
        assert lease == {"token": 3}
        self.opened = None
        self.finished.append(details)
        self.recorded = details.get("version", self.recorded)

    def names(self) -> list[str]:
        return [name for name, _ in self.sent if name != "columns"]

    def point_to(self, wanted: Any) -> None:
        self.ditto.ditto_proxy_point_to("devices", wanted)

    def expire(self, **arguments: Any) -> None:
        self.ditto.ditto_proxy_expire("devices", **arguments)

    def dropped(self) -> list[str]:
        return re.findall(r"drop table if exists `demo`.`devices__(\w+)`", " ".join(text for _, text in self.sent))


def last_shown(world: World) -> Any:
    return world.ditto.shown_version(settings(world.ditto), world.text)


# --- point to -------------------------------------------------------------------------------------------------------


def test_readers_are_rolled_back_and_forward(ditto: Ditto) -> None:
    world = World(ditto)
    world.point_to("previous")
    assert (world.names(), last_shown(world)) == (["claim", "view", "finish"], OLD)
    statement = sql(dict(world.sent)["view"])
    assert statement.startswith(f"begin if {FENCE} then execute immediate 'alter view `demo`.`devices` as")
    assert f"select `id`, `name` from `demo`.`devices__{OLD}`" in statement
    assert world.finished == [{"version": OLD, "shown": True}]
    world.point_to("previous")
    assert last_shown(world) == OLDER
    world.point_to("latest")
    assert last_shown(world) == NAME
    assert world.ditto.logs[-1] == (
        f"ditto: devices shows {NAME}, of execution 2024-10-07; "
        "the next run of the newest execution, or of a newer one, moves it on"
    )


@pytest.mark.parametrize("deadline", [0, 1, 2])
def test_previous_is_the_same_one_when_it_is_run_again(ditto: Ditto, deadline: int) -> None:
    """Killed after the view was switched, the second attempt must not go back one further."""
    world = World(ditto, deadline=deadline)
    with pytest.raises(Killed):
        world.point_to("previous")
    world.deadline = 10
    world.point_to("previous")
    assert last_shown(world) == OLD


def test_a_missing_view_is_made(ditto: Ditto) -> None:
    world = World(ditto, shown=None)
    world.point_to("latest")
    assert "create or replace view `demo`.`devices`" in dict(world.sent)["view"]


def test_a_changed_version_is_not_shown(ditto: Ditto) -> None:
    world = World(ditto)
    world.changed = [{"version": OLD, "table": "t", "problem": "was changed"}]
    text = refusal(lambda: world.point_to(OLD), "ditto_proxy_point_to of devices")
    assert "versions that are not what was written" in text and world.sent == []
    world.point_to(OLDER)
    assert last_shown(world) == OLDER, "what was done to others does not matter"


def test_one_version_of_a_table(ditto: Ditto) -> None:
    world = World(ditto, versioning="native")
    world.versions = [native(3), native(1), version(OLD, seq=1)]
    world.text = "select `id` from `demo`.`devices__data` version as of 3"
    world.point_to(1)
    assert "from `demo`.`devices__data` version as of 1" in dict(world.sent)["view"]
    assert dict(world.sent)["columns"] == "select * from `demo`.`devices__data` version as of 1"
    world.point_to(OLD)
    assert last_shown(world) == OLD, "also one from before the config was changed"
    assert "version as of" not in dict(world.sent)["view"]


def test_the_manifest_of_a_version(ditto: Ditto) -> None:
    world = World(ditto, versioning="manifest")
    world.versions.append(native(1))
    world.point_to(OLD)
    assert world.names() == ["claim", "finish", "manifest_table", "symlink_manifest", "manifest"]
    assert f"for table `demo`.`devices__{OLD}`" in dict(world.sent)["symlink_manifest"]
    assert "partition (`sequence` = 10)" in dict(world.sent)["manifest"], "the sequence of its outcome: 8 + 2"
    assert "one of them, latest or previous" in refusal(lambda: world.point_to("v1"), "version v1 of devices")


@pytest.mark.parametrize("opened", [unfinished("10-07", mode="normal"), unfinished(None, mode="proxy_expire")])
def test_what_did_not_finish_stops_it(ditto: Ditto, opened: dict[str, Any]) -> None:
    world = World(ditto)
    world.opened = opened
    assert "did not finish" in refusal(lambda: world.point_to(OLD), "ditto_proxy_point_to of devices")
    assert world.sent == []


def test_only_proxy_view_models_have_versions(ditto: Ditto) -> None:
    package = ditto.with_context(graph={"nodes": {"model.ditto.devices": node(materialized="merger")}})
    for name in ("ditto_proxy_versions", "ditto_proxy_manifest", "ditto_proxy_expire"):
        text = refusal(lambda name=name: getattr(package, name)("devices"), f"{name} of devices")
        assert "found:    materialized: merger" in text
    text = refusal(lambda: package.ditto_proxy_point_to("devices", "latest"), "ditto_proxy_point_to of devices")
    assert "found:    materialized: merger" in text


# --- manifest -------------------------------------------------------------------------------------------------------


def test_the_manifest_is_built_again_and_nothing_else(ditto: Ditto) -> None:
    world = World(ditto, versioning="manifest")
    world.ditto.ditto_proxy_manifest("devices")
    assert world.names() == ["manifest_table", "symlink_manifest", "manifest"]
    assert "partition (`sequence` = 7)" in world.sent[-1][1] and f"from {TABLE}" in world.sent[-1][1]
    assert world.ditto.logs[-1] == f"ditto: the manifest of devices lists the files of {NAME}"


def test_there_is_no_manifest_without_a_version_or_with_a_view(ditto: Ditto) -> None:
    world = World(ditto, shown=None, versioning="manifest")
    text = refusal(lambda: world.ditto.ditto_proxy_manifest("devices"), "ditto_proxy_manifest of devices")
    assert "found:    no version" in text
    world = World(ditto)
    text = refusal(lambda: world.ditto.ditto_proxy_manifest("devices"), "ditto_proxy_manifest of devices")
    assert "found:    versioning: tables" in text and "expected: versioning: manifest" in text


# --- expire ---------------------------------------------------------------------------------------------------------


def test_a_dry_run_drops_nothing(ditto: Ditto) -> None:
    world = World(ditto, **KEPT)
    world.versions[1]["age"] = 3
    world.expire()
    assert world.sent == []
    assert world.ditto.logs[-1].splitlines() == [
        "ditto: expire devices, dry run: nothing is dropped; to drop it: dry_run: false",
        f"  {NAME}: kept, readers see it",
        f"  {OLD}: kept, it is younger than keep_for: 3 hours of 1 day",
        f"  {OLDER}: would be dropped",
    ]


def test_what_need_not_be_kept_is_dropped(ditto: Ditto) -> None:
    world = World(ditto, legal_hold=OLD, **KEPT)
    world.expire(dry_run=False)
    assert (world.names(), world.dropped()) == (["claim", "expire", "finish"], [OLDER])
    assert sql(world.sent[1][1]).startswith(f"begin if {FENCE} then execute immediate 'drop table if exists")
    assert world.finished == [{"expired": [OLDER]}]
    assert world.ditto.logs[-1].splitlines()[0] == "ditto: expire devices"
    assert f"  {OLDER}: dropped" in world.ditto.logs[-1]


def test_a_longer_time_can_be_asked_for(ditto: Ditto) -> None:
    world = World(ditto, **KEPT)
    world.expire(dry_run=False, keep_for="3 days")
    assert world.sent == [], "all of them are two days old"


@pytest.mark.parametrize("deadline", range(4))
def test_killed_anywhere_it_is_completed_by_the_same_command(ditto: Ditto, deadline: int) -> None:
    world = World(ditto, deadline=deadline, **KEPT)
    with pytest.raises(Killed):
        world.expire(dry_run=False)
    world.deadline = 10
    world.expire(dry_run=False)
    assert world.finished == [{"expired": [OLD, OLDER]}] and world.opened is None


def test_an_expiry_of_nothing_that_did_not_finish_is_finished(ditto: Ditto) -> None:
    world = World(ditto, legal_hold=True, **KEPT)
    world.opened = unfinished(None, mode="proxy_expire")
    world.expire(dry_run=False)
    assert (world.names(), world.finished) == (["claim", "finish"], [{"expired": []}])
    world = World(ditto, legal_hold=True, **KEPT)
    world.expire(dry_run=False)
    assert world.sent == [], "otherwise nothing is written down"


def test_one_version_is_dropped_or_refused(ditto: Ditto) -> None:
    world = World(ditto, legal_hold=OLD, **KEPT)
    for name, found in ((NAME, "readers see it"), (OLD, "it is under legal_hold")):
        text = refusal(lambda name=name: world.expire(version=name, dry_run=False), "ditto_proxy_expire of devices")
        assert f"found:    {name}: {found}" in text
    assert world.sent == []
    world.expire(version=OLDER, dry_run=False)
    assert world.dropped() == [OLDER]


@pytest.mark.parametrize("shown", [None, "v20240101_000000"])
def test_nothing_is_dropped_as_long_as_nobody_knows_what_readers_see(ditto: Ditto, shown: str | None) -> None:
    """The view was dropped, or somebody altered it: the newest version must not go because of that."""
    world = World(ditto, shown=shown, **KEPT)
    assert "readers see " in refusal(lambda: world.expire(dry_run=False), "ditto_proxy_expire of devices")
    assert world.sent == []


def test_a_view_that_was_altered_by_hand_still_holds_its_version(ditto: Ditto) -> None:
    world = World(ditto, **KEPT)
    world.text = f"SELECT * FROM demo.devices__{OLD} WHERE id > 3"
    world.expire(dry_run=False)
    assert world.dropped() == [NAME, OLDER]


def test_versions_of_one_table_are_not_dropped_with_it(ditto: Ditto) -> None:
    """The model had versioning: native before."""
    world = World(ditto, **KEPT)
    world.versions.append(native(1))
    world.expire(dry_run=False)
    assert world.dropped() == [OLD, OLDER]


# --- list, verify ---------------------------------------------------------------------------------------------------


def test_the_list_as_json(ditto: Ditto) -> None:
    world = World(ditto)
    world.ditto.ditto_proxy_versions("devices", "json")
    listed = json.loads(world.ditto.logs[-1])
    assert (listed["model"], listed["shown"], listed["unfinished"]) == ("devices", NAME, [])
    assert [each["name"] for each in listed["versions"]] == [NAME, OLD, OLDER]
    world.ditto.ditto_proxy_versions("devices")
    assert f"* {NAME} " in world.ditto.logs[-1]
    text = refusal(lambda: world.ditto.ditto_proxy_versions("devices", "yaml"), "ditto_proxy_versions")
    assert "found:    format: yaml" in text


@pytest.mark.parametrize("schema", [True, False])
def test_there_is_nothing_to_list_before_the_first_run(ditto: Ditto, schema: bool) -> None:
    package = World(ditto).ditto.with_context(
        adapter=SimpleNamespace(check_schema_exists=lambda database, name: schema),
        macros={
            "ledger_exists": lambda: False,
            "tables_like": lambda name, pattern: [] if schema else pytest.fail("there is no such schema"),
        },
    )
    package.ditto_proxy_versions("devices")
    assert "readers see none of them" in package.logs[-1]


@pytest.mark.parametrize(("shown", "refused"), [(NAME, False), (None, False), ("v20241008_120000", True)])
def test_an_execution_that_readers_see_cannot_be_given_up(ditto: Ditto, shown: str | None, refused: bool) -> None:
    """It died after the view and before its outcome: given up, the ledger would not know what they see."""
    world = World(ditto, shown=shown)
    opened = unfinished("10-07", mode="normal")
    if refused:
        text = refusal(lambda: world.ditto.refuse_release_of_shown(node(), opened), "ditto_release of devices")
        assert f"readers already see what the execution wrote: {shown}" in text
        assert "dbt run --select devices --vars '{execution_date: 2024-10-07}'" in text
    else:
        world.ditto.refuse_release_of_shown(node(), opened)
    world.ditto.refuse_release_of_shown(node(versioning="native"), opened)


def test_what_readers_see(ditto: Ditto) -> None:
    world = World(ditto, shown=OLD)
    world.recorded = NAME
    assert world.ditto.current_version(settings(ditto)) == OLD, "the view tells"
    assert world.ditto.current_version(settings(ditto, versioning="manifest")) == NAME, "only the ledger can tell"
    world.recorded = None
    assert world.ditto.current_version(settings(ditto, versioning="manifest")) is None


def verify(ditto: Ditto, changed: list[dict[str, str]], *nodes: dict[str, Any], schema: bool = True) -> Ditto:
    package = ditto.with_context(
        graph={"nodes": {item["alias"]: item for item in nodes}},
        adapter=SimpleNamespace(check_schema_exists=lambda database, name: schema),
        macros={
            "proxy_versions": lambda settings: [version(), version(OLD)],
            "changed_versions": lambda settings, versions, files: changed if files else [],
        },
    )
    package.verify_versions()
    return package


def test_every_version_is_verified(ditto: Ditto) -> None:
    other = node(alias="other") | {"name": "other"}
    package = verify(ditto, [], node(), other, node(alias="third", materialized="merger"))
    assert package.logs == ["ditto: verified 4 versions of 2 proxy_view models, nobody changed them"]
    assert verify(ditto, []).logs == [], "nothing to say without such a model"


@pytest.mark.parametrize("schema", [True, False])
def test_a_changed_version_is_told_with_its_model(ditto: Ditto, schema: bool) -> None:
    """Also if the whole schema is gone: then all of them are."""
    changed = [{"version": NAME, "table": TABLE, "problem": "is gone"}]
    text = refusal(lambda: verify(ditto, changed, node(), schema=schema), "versions that are written once")
    assert f"- demo.devices {NAME} is gone" in text
