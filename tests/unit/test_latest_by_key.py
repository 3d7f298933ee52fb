"""The windowed deduplicator: of all rows with one key the latest, and none if that one is deleted."""

from __future__ import annotations

from macro_harness import Ditto, relation, sql


def test_the_latest_row_of_each_key(ditto: Ditto) -> None:
    assert sql(ditto.latest_by_key("`demo`.`changes`", "id", "changed_at")) == sql(f"""
        select * except (`_ditto_rank`)
        from (
            select *, row_number() over (
                partition by `id` order by `changed_at` desc nulls last,
                    sha2(to_json(struct(*), {ditto.json_options()}), 256) desc
            ) as `_ditto_rank`
            from `demo`.`changes`
        )
        where `_ditto_rank` = 1
    """)


def test_a_deleted_row_wins_a_tie_and_is_left_out(ditto: Ditto) -> None:
    deleted = "coalesce(cast(`gone` as boolean), false)"
    assert sql(ditto.latest_by_key("t", ["type", "version"], ["day", "seq"], soft_delete="gone")) == sql(f"""
        select * except (`_ditto_rank`)
        from (
            select *, row_number() over (
                partition by `type`, `version`
                order by `day` desc nulls last, `seq` desc nulls last, {deleted} desc,
                    sha2(to_json(struct(*), {ditto.json_options()}), 256) desc
            ) as `_ditto_rank`
            from t
        )
        where `_ditto_rank` = 1 and not {deleted}
    """)


def test_one_name_is_a_list_of_one(ditto: Ditto) -> None:
    assert ditto.latest_by_key("t", "id", "at") == ditto.latest_by_key("t", ["id"], ["at"])


def test_only_some_columns(ditto: Ditto) -> None:
    made = sql(ditto.latest_by_key("t", "id", "at", columns=["id", "a name"]))
    assert made.startswith("select `id`, `a name` from (")


def test_names_are_quoted(ditto: Ditto) -> None:
    made = ditto.latest_by_key("t", "a`b", "c d", soft_delete="e f")
    assert "partition by `a``b`" in made
    assert "order by `c d` desc nulls last, coalesce(cast(`e f` as boolean), false) desc" in made


def test_in_a_model_it_takes_a_ref(ditto: Ditto) -> None:
    made = ditto.render("{{ ditto.latest_by_key(ref('changes'), ['id'], ['changed_at'], soft_delete='is_deleted') }}")
    assert f"from {relation('changes')}\n" in made
