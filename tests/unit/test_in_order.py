"""Several datasets as one: later ones win, columns are matched by name."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from dbt_common.exceptions import CompilationError
from macro_harness import Ditto, relation, sql
from merger_model import columns

DATASETS = {
    "demo.first": columns(id="int", name="string", _ditto_execution_time="timestamp_ntz"),
    "demo.second": columns(Colour="string", ID="int"),
}


def engine(ditto: Ditto, **context: Any) -> Ditto:
    def query_columns(query: str) -> list[dict[str, Any]]:
        return DATASETS[query.removeprefix("select * from ")]

    return ditto.with_context(macros={"query_columns": query_columns}, **context)


RELATIONS = [relation("first"), relation("second")]


def test_the_last_dataset_that_has_a_key_wins(ditto: Ditto) -> None:
    made = engine(ditto).in_order(RELATIONS, unique_key="id")
    assert sql(made) == sql(
        """
        select `id`, `name`, `Colour`
        from (
            select *, max(`_ditto_dataset`) over (partition by `id`) as `_ditto_last_dataset`
            from (
                select `id`, `name`, cast(null as string) as `Colour`, 1 as `_ditto_dataset` from demo.first
                union all
                select `id`, cast(null as string) as `name`, `Colour`, 2 as `_ditto_dataset` from demo.second
            )
        )
        where `_ditto_dataset` = `_ditto_last_dataset`
        """
    )


def test_the_key_is_that_of_the_model_unless_it_is_given(ditto: Ditto) -> None:
    for config in ({"unique_key": ["id"]}, {"meta": {"unique_key": "id"}}):
        assert "partition by `id`)" in engine(ditto, model={"config": config}).in_order(RELATIONS)
    keyed = engine(ditto, model={"config": {"unique_key": "other"}})
    assert "partition by `ID`)" in keyed.in_order(RELATIONS, unique_key=["ID"])


def test_without_a_key_all_rows_of_all_datasets(ditto: Ditto) -> None:
    assert sql(engine(ditto).in_order(RELATIONS)) == sql(
        """
        select `id`, `name`, cast(null as string) as `Colour` from demo.first
        union all
        select `id`, cast(null as string) as `name`, `Colour` from demo.second
        """
    )


@pytest.mark.parametrize("single", [relation("first"), "demo.first"])
def test_a_single_dataset_needs_no_list(ditto: Ditto, single: Any) -> None:
    assert sql(engine(ditto).in_order(single)) == "select `id`, `name` from demo.first"


def test_given_columns_are_not_looked_up(ditto: Ditto) -> None:
    made = ditto.in_order(["a", "b"], columns=["id"])
    assert sql(made) == "select `id` from a union all select `id` from b"


def test_nothing_is_looked_up_while_dbt_parses(ditto: Ditto) -> None:
    assert "from demo.first" in ditto.with_context(execute=False).in_order(RELATIONS, unique_key="id")


def test_what_is_only_compiled_may_be_so_before_the_datasets_are_there(ditto: Ditto) -> None:
    adapter = SimpleNamespace(check_schema_exists=lambda database, schema: False)
    compiling = ditto.with_context(flags={"WHICH": "compile"}, adapter=adapter)
    assert sql(compiling.in_order(RELATIONS)) == "select * from demo.first union all select * from demo.second"


def test_a_condition_is_one_for_every_dataset(ditto: Ditto) -> None:
    made = engine(ditto).in_order(RELATIONS, where="id = 1 or id = 2")
    assert made.count(" where (id = 1 or id = 2)") == 2


@pytest.mark.parametrize(
    ("relations", "keys", "found"),
    [([], None, "no dataset"), (RELATIONS, ["id", "name"], "no column name in dataset demo.second")],
)
def test_what_cannot_be_put_in_order_is_refused(ditto: Ditto, relations: Any, keys: Any, found: str) -> None:
    with pytest.raises(CompilationError) as error:
        engine(ditto).in_order(relations, unique_key=keys)
    assert f"ditto: ditto.in_order in model model\n    found:    {found}" in str(error.value)
