"""The steps of a proxy_view run: a version that is written once, and what readers see of it."""

from __future__ import annotations

import re
from types import SimpleNamespace
from typing import Any

import pytest
from fast_metadata_cleaner_model import moment, names, statement, unfinished
from macro_harness import INVOCATION_ID, Ditto, sql
from merger_model import columns, table, view
from proxy_view_model import (
    FENCE,
    INCREMENT,
    NAME,
    ROWS,
    TABLE,
    WIDE,
    facts,
    inside,
    node,
    plan,
    refusal,
    settings,
    written,
)

TAG = f"ditto:1|proxy_view|{{mode}}|2024-10-07 00:00:00|{INVOCATION_ID}"
VERSIONINGS = ["tables", "native", "manifest"]
MANIFEST = ["manifest_table", "symlink_manifest", "manifest"]

# What an execution of 10-07 finds: nothing; older ones; itself; newer ones; its own dead attempt; and two flags.
SITUATIONS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "first": ({}, {}),
    "normal": ({"newest": "10-06"}, {}),
    "replay": ({"newest": "10-07", "own": True}, {}),
    "late": ({"newest": "10-08"}, {}),
    "takeover": ({"newest": "10-06", "opened": unfinished("10-07", mode="normal")}, {}),
    "full_refresh": ({"newest": "10-07", "own": True}, {"full_refresh": True}),
    "dry": ({"newest": "10-06"}, {"dry": True}),
}


def ready(ditto: Ditto, situation: str, **config: Any) -> dict[str, Any]:
    known, flags = SITUATIONS[situation]
    return plan(ditto, facts(**known), **flags, **config)


# --- order ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("versioning", "steps"),
    [
        ("tables", ["intent", "version", "view", "outcome"]),
        ("native", ["intent", "version", "outcome", "view"]),
        ("manifest", ["intent", "version", "outcome", *MANIFEST]),
    ],
)
@pytest.mark.parametrize("situation", ["first", "normal", "replay", "takeover", "full_refresh"])
def test_the_newest_execution_is_written_and_shown(
    ditto: Ditto, situation: str, versioning: str, steps: list[str]
) -> None:
    made = ready(ditto, situation, versioning=versioning)
    assert (names(made), made["mode"], made["shows"]) == (steps, situation, True)
    assert made["details"] == {"version": None if versioning == "native" else NAME, "shown": True}
    assert (made["made_anew"], made["undoes_until"], made["undo"]) == (False, None, False), "nothing is undone by a run"
    assert made["unit"] == made["table"] == ("`demo`.`devices__data`" if versioning == "native" else TABLE)


@pytest.mark.parametrize("versioning", VERSIONINGS)
@pytest.mark.parametrize("own", [True, False])
def test_an_older_execution_is_written_and_readers_stay_where_they_are(
    ditto: Ditto, own: bool, versioning: str
) -> None:
    made = plan(ditto, facts("10-08", own=own), versioning=versioning)
    assert (made["mode"], made["shows"]) == ("replay" if own else "late", False)
    assert names(made) == ["intent", "version", "outcome"]
    assert made["details"]["shown"] is False


def test_a_view_that_is_missing_is_made_by_the_newest_execution_only(ditto: Ditto) -> None:
    known = facts("10-07") | {"view": table(None, text="")}
    assert names(plan(ditto, known))[-2:] == ["view", "outcome"]
    assert "create or replace view `demo`.`devices`" in inside(plan(ditto, known), "view")
    # An earlier one would show readers what is older than what they saw.
    earlier = facts("10-08") | {"view": table(None, text="")}
    for other in ({}, {"changed": [changed("was changed after: WRITE")]}):
        text = refusal(lambda other=other: plan(ditto, earlier | other))
        assert "no view `demo`.`devices`, although execution 2024-10-08 00:00:00 was published" in text
        assert "ditto_proxy_point_to --args '{model: devices, version: latest}'" in text
        assert "dbt run --select devices --vars '{execution_date: 2024-10-08}'" in text
    assert names(plan(ditto, earlier, dry=True)) == ["view"], "without rows, for what reads it"
    assert plan(ditto, earlier, versioning="manifest")["shows"] is False, "there never is a view"


def test_reasons(ditto: Ditto) -> None:
    assert ready(ditto, "normal")["reason"] == "the previous execution is 2024-10-06 00:00:00"
    assert ready(ditto, "full_refresh")["reason"].endswith("a new version, like every run; nothing is dropped")
    dead = facts("10-06", opened=unfinished("10-07", mode="full_refresh"))
    assert (plan(ditto, dead)["mode"], plan(ditto, dead)["reason"]) == (
        "full_refresh",
        "the full refresh of dead did not finish",
    )


@pytest.mark.parametrize("opened", [unfinished("10-06"), unfinished(None, mode="proxy_point_to")])
def test_what_else_did_not_finish_stops_a_run(ditto: Ditto, opened: dict[str, Any]) -> None:
    text = refusal(lambda: plan(ditto, facts("10-06", opened=opened)))
    assert "did not finish" in text
    if not opened["execution_time"]:
        assert "dbt run-operation ditto_proxy_point_to --args '{model: devices}'" in text


# --- a version is written once --------------------------------------------------------------------------------------


@pytest.mark.parametrize("versioning", VERSIONINGS)
@pytest.mark.parametrize("situation", SITUATIONS)
def test_no_statement_takes_a_version_away(ditto: Ditto, situation: str, versioning: str) -> None:
    made = ready(ditto, situation, versioning=versioning)
    text = " ".join(step.get("sql") or "" for step in made["steps"])
    assert not re.search(r"\b(drop|truncate|delete|update|merge|vacuum|restore)\b", text)
    replaced = re.findall(r"or replace table (\S+)", text)
    overwritten = re.findall(r"overwrite (\S+)", text)
    assert replaced == (["`demo`.`devices__data`"] if versioning == "native" and situation != "dry" else [])
    assert set(overwritten) <= {"`demo`.`devices__manifest`"}


def test_a_table_that_is_there_already_is_an_error_of_the_engine(ditto: Ditto) -> None:
    """With IF NOT EXISTS a run would take what another one wrote for its own."""
    assert inside(ready(ditto, "first"), "version").startswith(f"create table {TABLE} using delta")


def test_one_commit_tells_who_made_it(ditto: Ditto) -> None:
    made = ready(ditto, "normal")
    text = sql(inside(made, "version"))
    assert f"'ditto.written_by' = '{TAG.format(mode='normal')}'" in text
    assert "comment 'ditto: a version of demo.devices'" in text
    assert text.endswith(f"as {INCREMENT}")
    assert ditto.parse_tag(text)["invocation_id"] == INVOCATION_ID


def test_quotes_of_the_select_survive(ditto: Ditto) -> None:
    select = "select 'it''s' as a, r'\\d' as b"
    made = ditto.proxy_view_plan(node(), settings(ditto), facts(), select)
    assert "select \\'it\\'\\'s\\' as a, r\\'\\\\d\\' as b" in made["steps"][1]["sql"]


@pytest.mark.parametrize("versioning", ["tables", "manifest"])
@pytest.mark.parametrize("key", ["delta.appendOnly", "delta.appendonly", "DELTA.APPENDONLY"])
def test_immutability_cannot_be_switched_off(ditto: Ditto, versioning: str, key: str) -> None:
    given = {key: False, "delta.LogRetentionDuration": "interval 1 day", "owner": "ada"}
    text = inside(ready(ditto, "normal", versioning=versioning, tblproperties=given), "version")
    properties = dict(re.findall(r"'([\w.]+)' = '([^']*)'", text))
    assert {name.lower(): value for name, value in properties.items() if "append" in name.lower()} == {
        "delta.appendonly": "true"
    }
    assert properties["owner"] == "ada"
    assert "interval 1 day" not in properties.values()
    # Delta reads and restores older versions, and tells what happened, only for as long as these say.
    assert properties["delta.deletedFileRetentionDuration"] == "interval 876000 hours"
    assert properties["delta.logRetentionDuration"] == "interval 876000 hours"
    assert text.lower().count("delta.logretentionduration") == 1


@pytest.mark.parametrize(
    ("config", "hours"),
    [
        ({}, 876000),
        ({"keep_for": "10 days"}, 240),
        ({"keep_for": "10 days", "legal_hold": True}, 876000),
        ({"keep_for": "10 days", "legal_hold": "v3"}, 876000),
        ({"keep_for": "10 days", "tblproperties": {"delta.deletedFileRetentionDuration": "interval 1 hour"}}, 240),
    ],
)
def test_versions_of_one_table_have_one_retention(ditto: Ditto, config: dict[str, Any], hours: int) -> None:
    text = inside(ready(ditto, "normal", versioning="native", **config), "version")
    assert text.startswith("create or replace table `demo`.`devices__data` using delta")
    for name in ("delta.deletedFileRetentionDuration", "delta.logRetentionDuration"):
        assert f"'{name}' = 'interval {hours} hours'" in text
    assert "appendOnly" not in text, "it would refuse the next version"


# --- fences ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("versioning", VERSIONINGS)
@pytest.mark.parametrize("situation", [name for name in SITUATIONS if name != "dry"])
def test_every_write_is_fenced(ditto: Ditto, situation: str, versioning: str) -> None:
    documented = {"columns": {"id": {"name": "id", "description": "It's the key"}}, "persist_docs": {"columns": True}}
    made = ready(ditto, situation, versioning=versioning, **documented)
    kinds = {step["name"]: step["kind"] for step in made["steps"]}
    assert kinds["version"] == "write" and kinds["column_comment"] == "sql"
    for step in made["steps"]:
        if step["kind"] in ("intent", "outcome"):
            assert "sql" not in step, "the runner does these"
        elif step["kind"] == "try":
            assert versioning == "manifest" and step["name"] in MANIFEST
        else:
            assert sql(step["sql"]).startswith(f"begin if {FENCE} then execute immediate '"), step["name"]


def test_what_is_not_fenced_writes_to_a_place_of_its_own(ditto: Ditto) -> None:
    """A zombie can at most build the manifest of its own version; readers take the highest sequence."""
    made = ready(ditto, "normal", versioning="manifest")
    assert "partition (`sequence` = 6)" in statement(made, "manifest")
    events = ditto.outcome_events(made, [written(run=INVOCATION_ID)], token=3)
    assert events[-1]["seq"] == 6, "the sequence is that of the outcome, so that the operation finds the same one"
    assert statement(made, "symlink_manifest") == f"generate symlink_format_manifest for table {TABLE}"
    assert sql(statement(made, "manifest_table")).startswith("create table if not exists `demo`.`devices__manifest`")


def test_a_failing_manifest_says_how_to_build_it_alone(ditto: Ditto) -> None:
    for step in ready(ditto, "first", versioning="manifest")["steps"][-3:]:
        assert step["kind"] == "try"
        assert f"step {step['name']}" in step["failure"]["found"] and NAME in step["failure"]["found"]
        assert "dbt run-operation ditto_proxy_manifest --args '{model: devices}'" in step["failure"]["fix"]


def test_the_manifest_lists_the_files_of_the_version_once(ditto: Ditto) -> None:
    text = sql(statement(ready(ditto, "first", versioning="manifest"), "manifest"))
    assert f"select distinct `_metadata`.`file_path` as `path`, `_metadata`.`file_size` as `size` from {TABLE}" in text
    assert f"'{NAME}' as `version`" in text
    assert "left join" in text, "a version without rows has a line too"


# --- what readers see -----------------------------------------------------------------------------------------------


def test_the_view_passes_one_table_through(ditto: Ditto) -> None:
    made = ready(ditto, "first")
    assert sql(inside(made, "view")) == f"create or replace view `demo`.`devices` as select `id`, `name` from {TABLE}"
    made = ready(ditto, "normal")
    assert sql(inside(made, "view")) == f"alter view `demo`.`devices` as select `id`, `name` from {TABLE}"


def test_the_view_of_one_table_is_pinned_to_the_version_of_the_commit(ditto: Ditto) -> None:
    made = ready(ditto, "normal", versioning="native")
    sent: list[tuple[str, str]] = []

    def outcome(*_: object) -> dict[str, Any]:
        sent.append(("outcome", ""))
        return {"version": 7}

    run = ditto.with_context(
        macros={
            "claim": lambda plan: {"token": 3},
            "guarded_write": lambda plan, step, lease: sent.append((step["name"], step["sql"])),
            "record_outcome": outcome,
            "send": lambda name, text: sent.append((name, text)),
        }
    )
    assert run.run_plan(made) == {"version": 7}
    assert [name for name, _ in sent] == ["version", "outcome", "view"]
    assert "from `demo`.`devices__data` version as of 7" in sent[-1][1]
    assert "_ditto_version_" not in sent[-1][1]


@pytest.mark.parametrize("column", ["it's", "na`me", "version_as_of_3"])
def test_odd_columns(ditto: Ditto, column: str) -> None:
    known = facts("10-06") | {"increment": columns(**{column: "int"})}
    shown = sql(inside(plan(ditto, known), "view"))
    assert shown.endswith(f"as select `{column.replace('`', '``')}` from {TABLE}")


def test_the_description_is_that_of_the_view(ditto: Ditto) -> None:
    documented = {"description": "The list", "persist_docs": {"relation": True}}
    made = ready(ditto, "normal", **documented)
    assert "comment 'The list'" in inside(made, "view")
    assert "create or replace view" in inside(made, "view"), "ALTER VIEW cannot change it"
    known = facts("10-06") | {"view": view(ROWS, text="", comment="The list")}
    assert inside(plan(ditto, known, **documented), "view").startswith("alter view")
    assert "The list" not in inside(made, "version")


# --- the table ------------------------------------------------------------------------------------------------------


def test_layout_and_place(ditto: Ditto) -> None:
    text = inside(ready(ditto, "normal", partition_by="name", location_root="/lake"), "version")
    assert "partitioned by (`name`)" in text and f"location '/lake/devices__{NAME}'" in text
    assert "cluster by (`id`)" in inside(ready(ditto, "normal", cluster_by="id"), "version")
    assert "partition_by: day" in refusal(lambda: ready(ditto, "normal", partition_by="day"))


def test_a_contract_becomes_constraints(ditto: Ditto) -> None:
    """CREATE TABLE AS SELECT takes neither NOT NULL nor the length of a varchar."""
    described = {
        "id": {"name": "id", "constraints": [{"type": "not_null"}]},
        "name": {"name": "name", "constraints": [{"type": "check", "expression": "name <> ''", "name": "named"}]},
    }
    contract = [ROWS[0] | {"declared": "int"}, ROWS[1] | {"declared": "varchar(3)"}]
    known = facts("10-06") | {"contract": contract}
    text = inside(plan(ditto, known, columns=described), "version")
    conditions = set(re.findall(r"'delta\.constraints\.\w+' = '((?:[^']|'')*?)'[,)]", text.replace("\\'", "''")))
    assert {"`id` is not null", "`name` is null or length(`name`) <= 3"} <= conditions
    assert "'delta.constraints.named' = 'name <> " in text
    assert "delta.constraints" not in inside(ready(ditto, "normal", columns=described), "version"), "none is enforced"


def test_a_select_that_differs_from_the_contract(ditto: Ditto) -> None:
    known = facts("10-06") | {"contract": [ROWS[0] | {"declared": "int"}]}
    assert "not in the contract: name" in refusal(lambda: plan(ditto, known))


@pytest.mark.parametrize("versioning", ["tables", "native"])
def test_other_columns_are_a_version_like_any_other_unless_they_shall_fail(ditto: Ditto, versioning: str) -> None:
    known = facts("10-06") | {"increment": WIDE}
    for rule in ("ignore", "append_new_columns", "sync_all_columns"):
        made = plan(ditto, known, on_schema_change=rule, versioning=versioning)
        assert sorted(names(made)) == ["intent", "outcome", "version", "view"], "nothing is altered"
        assert "`colour`" in inside(made, "view")
    text = refusal(lambda: plan(ditto, known, on_schema_change="fail", versioning=versioning))
    assert "other columns than in `demo`.`devices` - new: colour; gone: none" in text
    retyped = facts("10-06") | {"increment": columns(id="bigint", name="string")}
    assert "id (int -> bigint)" in refusal(lambda: plan(ditto, retyped, on_schema_change="fail", versioning=versioning))
    anew = plan(ditto, known, on_schema_change="fail", full_refresh=True, versioning=versioning)
    assert anew["mode"] == "full_refresh", "as the error says"
    assert plan(ditto, facts("10-06"), on_schema_change="fail", versioning=versioning)["mode"] == "normal"


def test_the_first_run_has_no_columns_to_compare_with(ditto: Ditto) -> None:
    assert plan(ditto, facts(), on_schema_change="fail")["mode"] == "first"


def test_a_column_of_ditto_is_refused(ditto: Ditto) -> None:
    assert "_ditto_x" in refusal(lambda: plan(ditto, facts() | {"increment": columns(_ditto_x="int")}))


# --- refusals -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("flags", [{}, {"full_refresh": True}, {"dry": True}])
@pytest.mark.parametrize("versioning", ["tables", "native"])
def test_a_table_under_the_name_of_the_view(ditto: Ditto, versioning: str, flags: dict[str, bool]) -> None:
    known = facts("10-06") | {"view": table(ROWS, text="")}
    text = refusal(lambda: plan(ditto, known, versioning=versioning, **flags))
    assert "found:    a table under the name `demo`.`devices`" in text
    assert "alter table `demo`.`devices` rename to `demo`.`devices_before`" in text


def test_without_a_view_its_name_is_free(ditto: Ditto) -> None:
    known = facts("10-06") | {"view": table(ROWS, text="")}
    assert plan(ditto, known, versioning="manifest")["mode"] == "normal"


def changed(problem: str, name: str = NAME) -> dict[str, str]:
    return {"version": name, "table": f"`demo`.`devices__{name}`", "problem": problem}


def test_a_changed_version_stops_the_run(ditto: Ditto) -> None:
    gone = changed("is gone: its table was dropped", "v1")
    known = facts("10-06") | {"changed": [gone, changed("was changed after: WRITE")]}
    text = refusal(lambda: plan(ditto, known))
    assert "- v1 is gone: its table was dropped\n" in text and f"- {NAME} was changed after: WRITE\n" in text
    assert f"restore table {TABLE} to version as of 0; or go on without: on_changed_version='warn'" in text
    for flags in ({"full_refresh": True}, {"versioning": "manifest"}):
        assert "versions that are not what was written" in refusal(lambda flags=flags: plan(ditto, known, **flags))


def test_what_is_gone_cannot_be_restored(ditto: Ditto) -> None:
    known = facts("10-06") | {"changed": [changed("is gone: its table was dropped")]}
    text = refusal(lambda: plan(ditto, known))
    assert "restore table" not in text and f"describe history {TABLE}" in text


def test_a_changed_version_is_only_a_warning_where_the_config_says_so(ditto: Ditto) -> None:
    known = facts("10-06") | {"changed": [changed("was changed after: WRITE")]}
    assert names(plan(ditto, known, on_changed_version="warn"))[1] == "version"
    assert "versions that are not what was written" in ditto.warnings[0]


def test_many_changed_versions_are_counted(ditto: Ditto) -> None:
    many = [changed("is gone", f"v{number}") for number in range(13)]
    text = ditto.describe_changed(many)
    assert text.count("is gone") == 10 and text.endswith("and 3 more")
    assert "more" not in ditto.describe_changed(many[:10])


# --- dry runs -------------------------------------------------------------------------------------------------------


def test_a_dry_run_makes_a_missing_view_and_nothing_else(ditto: Ditto) -> None:
    made = plan(ditto, facts(), dry=True)
    (step,) = made["steps"]
    assert (step["kind"], step["name"]) == ("sql", "view")
    assert sql(step["sql"]) == (
        "create or replace view `demo`.`devices` as select cast(null as int) as `id`, "
        "cast(null as string) as `name` where false"
    )
    assert plan(ditto, facts("10-06"), dry=True)["steps"] == []
    assert plan(ditto, facts(), dry=True, versioning="manifest")["steps"] == []


def test_a_dry_run_is_stopped_by_nothing_but_a_table(ditto: Ditto) -> None:
    known = facts("10-06", opened=unfinished("10-05")) | {"changed": [changed("is gone")]}
    made = plan(ditto, known, dry=True, full_refresh=True)
    assert (made["steps"], made["mode"]) == ([], "dry")
    assert ditto.warnings == []


# --- names ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("taken", "name"),
    [
        ([], NAME),
        ([f"devices__{NAME}"], f"{NAME}_2"),
        ([f"devices__{NAME}", f"devices__{NAME}_2"], f"{NAME}_3"),
        ([f"devices__{NAME}_2"], NAME),
        ([f"other__{NAME}"], NAME),
    ],
)
def test_a_name_is_used_once(ditto: Ditto, taken: list[str], name: str) -> None:
    assert ditto.free_name(settings(ditto), taken) == name
    assert ditto.free_name(settings(ditto, alias="DEVICES"), taken) == name


def found(ditto: Ditto, read: dict[str, Any], there: list[str], recorded: list[str], known: dict[str, Any]) -> Any:
    """The facts of a run where the catalog has these tables, and the ledger these names."""
    sent: list[str] = []

    def fetch(text: str) -> list[dict[str, Any]]:
        sent.append(sql(text))
        return [{"name": name} for name in recorded]

    world = ditto.with_context(
        adapter=SimpleNamespace(check_schema_exists=lambda database, schema: bool(there)),
        macros={
            "gather_facts": lambda node, settings, text: dict(known),
            "table_facts": lambda schema, name: table(None, text="") | {"asked": name},
            "tables_like": lambda schema, pattern: [name for name in there if name.startswith(pattern.rstrip("*"))],
            "proxy_versions": lambda settings, limit: [{"limit": limit}],
            "changed_versions": lambda settings, versions: versions,
            "fetch": fetch,
        },
    )
    return world.proxy_view_facts(node(), read, INCREMENT), sent


def test_two_runs_within_a_second_get_two_versions(ditto: Ditto) -> None:
    read = settings(ditto)
    # One table of a dead run, and one that the ledger knows and somebody dropped.
    known, sent = found(ditto, read, [f"devices__{NAME}"], [f"{NAME}_2"], facts("10-06") | {"head": 9})
    assert (read["version_name"], read["identifier"]) == (f"{NAME}_3", f"devices__{NAME}_3")
    assert read["table"] == f"`demo`.`devices__{NAME}_3`"
    assert (known["target"]["exists"], known["head"], known["view"]["asked"]) == (False, None, "devices")
    assert f"startswith(`name`, '{NAME}')" in sent[0] and "left anti join expired" not in sent[0]


def test_as_many_versions_are_looked_at_as_the_config_says(ditto: Ditto) -> None:
    for number, expected in ((5, [{"limit": 5}]), (1, [{"limit": 1}]), (0, [])):
        known, _ = found(ditto, settings(ditto, verify_versions=number), [], [], facts("10-06"))
        assert known["changed"] == expected
    known, sent = found(ditto, settings(ditto), [], [], facts())
    assert (known["changed"], sent) == ([], []), "nothing is recorded yet"


def test_one_table_keeps_its_name_and_its_head(ditto: Ditto) -> None:
    read = settings(ditto, versioning="native")
    known, sent = found(ditto, read, ["devices__data"], [NAME], facts("10-06") | {"head": 9})
    assert (read["identifier"], known["head"], sent) == ("devices__data", 9, [])
    made = plan(ditto, known | {"changed": []}, versioning="native")
    assert made["base_version"] == 9


# --- the plan of ditto_plan -----------------------------------------------------------------------------------------


def announce(ditto: Ditto, known: dict[str, Any], *days: str, **config: Any) -> dict[str, Any]:
    return ditto.announce(node(**config), known | {"earliest": None}, [moment(day) for day in days])


def test_the_announcement_of_a_range(ditto: Ditto) -> None:
    statuses = {moment(day): "live" for day in ("10-07", "10-08")}
    announced = announce(ditto, facts("10-08", statuses=statuses), "10-07", "10-08", "10-09")
    text = ditto.plan_text(announced | {"downstream": []})
    assert text.splitlines() == [
        "ditto: plan for devices (proxy_view), table demo.devices",
        "",
        "  2024-10-07          replay     write a version, and leave readers on the newest execution: "
        "this execution was applied before",
        "  2024-10-08          replay     write a version, then show it: this execution was applied before",
        "  2024-10-09          normal     write a version, then show it: the previous execution is 2024-10-08 00:00:00",
        "",
        "  read by: no model",
        "  commands, in order:",
        "    dbt run --select devices --vars '{execution_date: 2024-10-07}'",
        "    dbt run --select devices --vars '{execution_date: 2024-10-08}'",
        "    dbt run --select devices --vars '{execution_date: 2024-10-09}'",
    ]


def actions(announced: dict[str, Any]) -> list[bool]:
    return [execution["action"].endswith("then show it") for execution in announced["executions"]]


def test_each_execution_is_decided_as_if_those_before_it_had_run(ditto: Ditto) -> None:
    empty = announce(ditto, facts(), "10-06", "10-07")
    assert [item["mode"] for item in empty["executions"]] == ["first", "normal"] and actions(empty) == [True, True]
    no_view = facts("10-09") | {"view": table(None, text="")}
    late = announce(ditto, no_view, "10-06", "10-10")
    assert [item["allowed"] for item in late["executions"]] == [False, True] and actions(late) == [False, True]


@pytest.mark.parametrize(("rule", "allowed"), [("error", False), ("warn", True)])
def test_a_changed_version_is_announced(ditto: Ditto, rule: str, allowed: bool) -> None:
    known = facts("10-06") | {"changed": [changed("was changed after: WRITE")]}
    announced = announce(ditto, known, "10-07", on_changed_version=rule)
    assert announced["executions"][0]["allowed"] is allowed
    text = ditto.plan_text(announced | {"downstream": []})
    assert f"{'warning' if allowed else 'REFUSED'}: versions that are not what was written" in text


def test_what_did_not_finish_is_announced(ditto: Ditto) -> None:
    known = facts("10-06", opened=unfinished("10-06", mode="normal"))
    refused = announce(ditto, known, "10-07")["executions"][0]
    assert (refused["allowed"], len(refused["problems"])) == (False, 1)
    taken_over = announce(ditto, known, "10-06")["executions"][0]
    assert (taken_over["allowed"], taken_over["mode"]) == (True, "takeover")


def test_the_table_of_all_versions_has_to_be_ours(ditto: Ditto) -> None:
    """A merger with hidden rows has a table of the same name: each run would replace it."""
    theirs = table(ROWS, properties="[delta.minReaderVersion=1,ditto.written_by=ditto:1|merger|normal|x|y]")
    text = refusal(lambda: plan(ditto, facts("10-06", target=theirs), versioning="native"))
    assert "a table `demo`.`devices__data` that no run of proxy_view has written" in text
    assert "alter table `demo`.`devices__data` rename to `demo`.`devices_before`" in text
    ours = table(ROWS, properties="[delta.minReaderVersion=1,ditto.written_by=ditto:1|proxy_view|normal|x|y]")
    assert plan(ditto, facts("10-06", target=ours), versioning="native")
