"""What the tests of dead letters share: one feed, two rules, and a model of each pattern that reads it."""

from __future__ import annotations

from typing import Any

from tests.support import Outcome, Project

DAY, NEXT = "2024-10-07", "2024-10-08"
COLUMNS = "day string, id int, name string, amount int"
SELECT = """
    select id, name, amount, date'{{ ditto.execution_date() }}' as day
    from {{ target.schema }}.feed
    where day = '{{ ditto.execution_date() }}'
"""
PATTERNS: dict[str, dict[str, Any]] = {
    "cleaned": {"materialized": "fast_metadata_cleaner"},
    "deduplicated": {"materialized": "dedup_insert", "unique_key": "id"},
    "keyed": {"materialized": "keyed_idempotency", "unique_key": "id"},
    "merged": {"materialized": "merger", "unique_key": "id"},
    "overwritten": {"materialized": "insert_overwrite", "partition_by": "day"},
    "published": {"materialized": "proxy_view"},
    "stateful": {"materialized": "stateful_merge", "unique_key": "id"},
    "written": {"materialized": "transactional_writer", "unique_key": "id"},
    "appended": {"materialized": "transactional_writer", "write": "append"},
}


def rules(project: Project) -> list[dict[str, str]]:
    """Debts, and names that nobody knows yet. A null is neither."""
    known = f"select 1 from {project.schema}.people where people.name = coalesce(source.name, 'a')"
    return [
        {"name": "negative", "when": "amount < 0 -- a debt"},
        {"name": "unknown", "when": f"not exists ({known})"},
    ]


def add_models(project: Project, *names: str, **config: Any) -> None:
    for name in names or PATTERNS:
        project.model(name, SELECT, **(PATTERNS[name] | {"dead_letters": rules(project)} | config))


def feed(project: Project, *rows: tuple[Any, ...]) -> None:
    project.source("feed", COLUMNS, list(rows))


def people(project: Project, *names: str) -> None:
    project.source("people", "name string", [(name,) for name in names])


def ids(project: Project, table: str) -> list[int]:
    return sorted(row[0] for row in project.sql(f"select id from {{schema}}.{table}"))


def letters(project: Project, table: str) -> list[tuple[Any, ...]]:
    """The id, the reason, the status and the attempts of each dead letter."""
    return project.sql(
        f"""
        select cast(get_json_object(record, '$.id') as int) as id, reason, status, attempts
        from {{schema}}.{table}__dead_letters order by id, at
        """
    )


def retry(project: Project, model: str, **arguments: Any) -> Outcome:
    given = ", ".join([f"model: {model}", *(f"{key}: {str(value).lower()}" for key, value in arguments.items())])
    return project.dbt("run-operation", "ditto_retry_dead_letters", "--args", f"{{{given}}}")
