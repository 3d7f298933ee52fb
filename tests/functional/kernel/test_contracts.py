"""Contracts, constraints, comments, properties and clustering: at creation and afterwards."""

from __future__ import annotations

import pytest
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException

from tests.support import Project, statements

YML = """
models:
  - name: users
    description: {description}
    config:
      contract: {{enforced: true}}
      persist_docs: {{relation: true, columns: true}}
      tblproperties: {{team: {team}, level: {level}, shared: true}}
    constraints:
      - {{type: check, name: no_bob, expression: "name <> 'bob'"}}
    columns:
      - name: id
        data_type: int
        description: The user's number
        constraints: [{{type: not_null}}, {{type: check, expression: id > 0}}]
      - name: name
        data_type: varchar(3)
        description: {name}
  - name: other
    config: {{contract: {{enforced: true}}}}
    columns:
      - {{name: id, data_type: bigint}}
      - {{name: day, data_type: date}}
"""


def describe(project: Project) -> dict[str, tuple[str, str]]:
    return {name: (kind, comment) for name, kind, comment in project.sql("describe extended {schema}.users") if name}


@pytest.mark.slow
def test_a_contract_is_enforced_and_its_docs_are_kept_up_to_date(project: Project) -> None:
    project.source("feed", "id int, name string", [(1, "ann")])
    rows = "select id, name from {{ target.schema }}.feed"
    project.model("users", rows, materialized="merger", unique_key="id", cluster_by="id")
    project.model("other", "select 1 as id, 'x' as name", materialized="merger", unique_key="id")
    yml = {"description": 'It\'s "all" users', "team": "web", "level": 10, "name": "What they're called"}
    project.write({"models/users.yml": YML.format(**yml)})

    created = project.run("2024-10-07")
    assert created.node("users").status.value == "success", created.text
    assert "not in the contract: name; not in the SELECT: day; other types: id (bigint -> int)" in created.text
    assert project.sql("show tables in {schema} like 'other'") == []
    found = describe(project)
    assert (found["id"][1], found["name"][1]) == ("The user's number", "What they're called")
    assert found["Comment"][0] == 'It\'s "all" users'
    detail = project.spark.sql(f"describe detail {project.schema}.users").collect()[0]
    assert (detail["clusteringColumns"], detail["partitionColumns"]) == (["id"], [])
    assert all(pair in found["Table Properties"][0] for pair in ("team=web", "level=10", "shared=true"))
    for values in "null, 'eve'", "-1, 'eve'", "2, 'bob'", "2, 'carol'":
        with pytest.raises((PySparkException, Py4JJavaError), match=r"NOT_NULL|VIOLATE_CONSTRAINT|EXCEED_CHAR_VARCHAR"):
            project.sql(f"insert into {{schema}}.users values ({values})")

    (project.path / "models" / "other.sql").unlink()
    project.sql("insert into {schema}.feed values (2, 'bob'), (3, 'eve')")
    refused = project.run("2024-10-08")
    assert not refused.ok
    assert "no_bob" in refused.text
    assert (project.rows("users"), project.versions("users")) == ([(1, "ann")], 1)

    project.sql("delete from {schema}.feed where name = 'bob'")
    yml |= {"description": "Users", "level": 1, "name": "Name"}
    project.write({"models/users.yml": YML.format(**yml)})
    with statements() as sent:
        project.must_run("2024-10-08")
    assert len([sql for sql in sent if "alter table" in sql or "comment on" in sql]) == 3
    found = describe(project)
    assert (found["id"][1], found["name"][1], found["Comment"][0]) == ("The user's number", "Name", "Users")
    assert "level=1," in found["Table Properties"][0] + ","
    assert (project.rows("users"), project.versions("users")) == ([(1, "ann"), (3, "eve")], 5)

    with statements() as sent:
        project.must_run("2024-10-08")
    assert [sql for sql in sent if "alter table" in sql or "comment on" in sql] == []
    assert project.versions("users") == 6
