"""The Jinja lint: one sample for each rule, and what must not be reported."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from textwrap import dedent

import lint_jinja
import pytest

Lint = Callable[[dict[str, str]], list[str]]

QUOTE = "{% macro quote(name, prefix='') %}{{ prefix ~ name }}{% endmacro %}"
QUOTE_YML = """
    macros:
      - name: quote
        description: An identifier
        arguments:
          - name: name
            type: string
          - name: prefix
            type: string
    """


@pytest.fixture
def lint(tmp_path: Path) -> Lint:
    """Lints a project of the given files and gives the findings as text."""

    def run(files: dict[str, str]) -> list[str]:
        for name, text in {"dbt_project.yml": "name: ditto", **files}.items():
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(dedent(text), encoding="utf-8")
        return [str(finding) for finding in lint_jinja.lint(tmp_path)[0]]

    return run


def private(body: str, arguments: str = "") -> dict[str, str]:
    """A project with one macro that needs no documentation."""
    return {"macros/sample.sql": "{% macro _sample(" + arguments + ") %}" + body + "{% endmacro %}"}


def with_quote(body: str) -> dict[str, str]:
    return {**private(body), "macros/quote.sql": QUOTE, "macros/_quote.yml": QUOTE_YML}


# --- undefined names


@pytest.mark.parametrize(
    "body",
    [
        "{{ nope }}",
        "{% if nope %}{% endif %}",
        "{{ nope.x }}",
        "{{ nope() }}",
        "{{ nope }}{% set nope = 1 %}",
        "{% for x in [1] %}{% set nope = x %}{% endfor %}{{ nope }}",
        "{% for nope in [1] %}{% endfor %}{{ nope }}",
        "{% set nope = nope %}",
        "{% set nope.x = 1 %}",
        "{% with nope = 1 %}{% endwith %}{{ nope }}",
        "{% set x %}{% set nope = 1 %}{% endset %}{{ nope }}",
        "{% call(nope) statement('x') %}{{ nope }}{% endcall %}{{ nope }}",
        "{{ [1] | map(nope) }}",
    ],
)
def test_an_undefined_name_is_found(lint: Lint, body: str) -> None:
    assert lint(private(body)) == ["macros/sample.sql:1: 'nope' is not defined: dbt would take it as false"]


@pytest.mark.parametrize(
    "body",
    [
        "{% if execute %}{% set x = 1 %}{% endif %}{{ x }}",
        "{% if execute %}{% set x = 1 %}{% elif target %}{% endif %}{{ x }}",
        "{% if execute %}{% if target %}{% set x = 1 %}{% endif %}{% else %}{% set x = 2 %}{% endif %}{{ x }}",
    ],
)
def test_a_name_that_only_some_branches_set_is_found(lint: Lint, body: str) -> None:
    assert lint(private(body)) == [
        "macros/sample.sql:1: 'x' is set only in some branches before this line: dbt would take it as false"
    ]


@pytest.mark.parametrize(
    "body",
    [
        "{% set x = 1 %}{{ x }}",
        "{% set x, y = 1, 2 %}{{ x + y }}",
        "{% set x %}text{% endset %}{{ x }}",
        "{% set ns = namespace(n=0) %}{% for i in range(3) %}{% set ns.n = i %}{% endfor %}{{ ns.n }}",
        "{% for k, v in {}.items() if v %}{{ k ~ v ~ loop.index }}{% else %}none{% endfor %}",
        "{% with a = 1 %}{{ a }}{% endwith %}",
        "{% call(x) statement('y') %}{{ x }}{% endcall %}",
        "{% if execute %}{% set x = 1 %}{% else %}{% set x = 2 %}{% endif %}{{ x }}",
        "{% if execute %}{% set x = 1 %}{% else %}{{ return(none) }}{% endif %}{{ x }}",
        "{% if execute %}{% set x = 1 %}{% else %}{% do exceptions.raise_compiler_error('no') %}{% endif %}{{ x }}",
        "{% for i in [1] %}{% if i %}{% set x = 1 %}{% else %}{% continue %}{% endif %}{{ x }}{% endfor %}",
        "{{ nope is defined }}{{ nope | default('x') }}",
        "{{ caller() }}{{ varargs }}{{ kwargs }}",
        "{{ ref('a') }}{{ config.get('x') }}{{ this }}{{ return(model) }}{{ builtins.ref('a') }}",
        "{{ is_incremental() }}{{ dbt.should_full_refresh() }}{{ spark__options_clause() }}",
        "{{ invocation_args_dict }}{{ run_started_at }}{{ flags.EMPTY }}{{ modules.re }}{{ sql }}{{ graph }}",
    ],
)
def test_a_defined_name_is_not_reported(lint: Lint, body: str) -> None:
    assert lint(private(body)) == []


def test_arguments_and_defaults(lint: Lint) -> None:
    assert lint(private("{{ a ~ b }}", "a, b=a")) == []
    assert lint(private("", "a, b=nope")) == [
        "macros/sample.sql:1: 'nope' is not defined: dbt would take it as false",
    ]


def test_a_macro_that_always_raises_ends_a_branch(lint: Lint) -> None:
    files = private(
        "{% if execute %}{% set x = 1 %}{% else %}{% do ditto._refuse() %}{% endif %}{{ x }}",
    )
    files["macros/refuse.sql"] = (
        "{% macro _refuse() %}{{ ditto._error('no') }}{% endmacro %}"
        "{% macro _error(text) %}{% do exceptions.raise_compiler_error(text) %}{% endmacro %}"
    )
    assert lint(files) == []


@pytest.mark.parametrize("path", ["models/demo/m.sql", "tests/dbt/t.sql"])
def test_models_and_tests_are_read(lint: Lint, path: str) -> None:
    text = "{{ config(materialized='table') }}\n\nselect *\nfrom {{ ref('a') }}\nwhere day = {{ nope }}\n"
    assert lint({path: text}) == [f"{path}:5: 'nope' is not defined: dbt would take it as false"]


def test_generic_tests_materializations_and_snapshots_are_read(lint: Lint) -> None:
    findings = lint(
        {
            "tests/dbt/generic/g.sql": "{% test positive(model) %}\n{{ nope }}{{ model }}{% endtest %}",
            "macros/m.sql": "{% materialization m, adapter='spark' %}\n{{ nope }}{{ sql }}{% endmaterialization %}",
            "snapshots/s.sql": "{% snapshot s %}\nselect {{ nope }} from {{ ref('a') }}{% endsnapshot %}",
        }
    )
    paths = ["macros/m.sql", "snapshots/s.sql", "tests/dbt/generic/g.sql"]
    assert findings == [f"{path}:2: 'nope' is not defined: dbt would take it as false" for path in paths]


def test_names_outside_of_a_macro_are_not_defined_in_it(lint: Lint) -> None:
    files = {"macros/sample.sql": "{% set x = 1 %}\n{% macro _sample() %}{{ x }}{% endmacro %}"}
    assert lint(files) == ["macros/sample.sql:2: 'x' is not defined: dbt would take it as false"]


def test_a_syntax_error_is_a_finding(lint: Lint) -> None:
    assert lint({"macros/sample.sql": "\n{% macro _x() %}\n{% if %}{% endmacro %}"}) == [
        "macros/sample.sql:3: syntax error: Expected an expression, got 'end of statement block'"
    ]


# --- calls


@pytest.mark.parametrize(
    ("call", "message"),
    [
        ("ditto.qoute('a')", "ditto.qoute: there is no such macro"),
        ("ditto.quote('a', 'b', 'c')", "ditto.quote: takes at most 2 arguments, 3 are given"),
        ("ditto.quote('a', suffix='b')", "ditto.quote: has no argument 'suffix'"),
        ("ditto.quote(prefix='b')", "ditto.quote: argument 'name' is missing"),
        ("ditto.quote('a', name='b')", "ditto.quote: argument 'name' is given twice"),
        ("dbt.qoute('a')", "dbt.qoute: dbt has no such macro"),
        ("[ditto.quote()]", "ditto.quote: argument 'name' is missing"),
    ],
)
def test_a_wrong_call_is_found(lint: Lint, call: str, message: str) -> None:
    assert lint(with_quote("\n{{ " + call + " }}")) == [f"macros/sample.sql:2: {message}"]


def test_a_call_block_needs_a_macro_that_takes_one(lint: Lint) -> None:
    assert lint(with_quote("{% call ditto.quote('a') %}b{% endcall %}")) == [
        "macros/sample.sql:1: ditto.quote: has no argument 'caller'"
    ]


@pytest.mark.parametrize(
    "body",
    [
        "{{ ditto.quote('a') }}",
        "{{ ditto.quote('a', 'b') }}",
        "{{ ditto.quote(prefix='b', name='a') }}",
        "{% set names = ['a'] %}{{ ditto.quote(*names) }}",
        "{% set names = {'name': 'a'} %}{{ ditto.quote(**names) }}",
        "{{ ['a'] | map(ditto.quote) }}",
        "{{ ditto._any(1, 2, x=3) }}{% macro _any() %}{{ varargs }}{{ kwargs }}{% endmacro %}",
        "{% call ditto._wrap() %}b{% endcall %}{% macro _wrap() %}{{ caller() }}{% endmacro %}",
    ],
)
def test_a_right_call_is_not_reported(lint: Lint, body: str) -> None:
    first, *others = body.split("{% macro", 1)
    files = with_quote(first)
    files["macros/others.sql"] = "".join("{% macro" + other for other in others)
    assert lint(files) == []


def test_an_own_macro_without_its_prefix_is_found(lint: Lint) -> None:
    assert lint(with_quote("{{ quote('a') }}")) == [
        "macros/sample.sql:1: call ditto.quote: 'quote' alone is unknown to a consumer's project"
    ]


def test_a_local_name_may_be_that_of_an_own_macro(lint: Lint) -> None:
    assert lint(with_quote("{% set quote = '`' %}{{ quote }}")) == []


# --- definitions


def test_a_macro_that_is_defined_twice_is_found(lint: Lint) -> None:
    macro = "{% macro _sample() %}{% endmacro %}"
    assert lint({"macros/a.sql": macro, "macros/b.sql": "\n" + macro}) == [
        "macros/b.sql:2: macro '_sample' is already defined at macros/a.sql:1"
    ]


def test_a_macro_with_the_name_of_a_method_is_found(lint: Lint) -> None:
    files = {
        "macros/a.sql": "{% macro items() %}{% endmacro %}",
        "macros/_a.yml": "macros: [{name: items, description: x}]",
    }
    assert lint(files) == ["macros/a.sql:1: macro 'items' cannot be called: a dict has a method of that name"]


def test_a_long_macro_file_is_found(lint: Lint) -> None:
    assert lint(private("\n" * (lint_jinja.MAX_LINES - 1))) == []
    assert lint(private("\n" * lint_jinja.MAX_LINES)) == [
        "macros/sample.sql:141: 141 lines, at most 140: a name is missing"
    ]
    assert lint({**private(""), "models/m.sql": "\n" * 200}) == []


# --- documentation


def test_an_undocumented_macro_is_found(lint: Lint) -> None:
    assert lint({"macros/quote.sql": "\n" + QUOTE}) == [
        "macros/quote.sql:2: macro 'quote' is documented in no yml file"
    ]


def test_private_macros_tests_and_materializations_need_no_documentation(lint: Lint) -> None:
    files = {
        "macros/a.sql": "{% macro _a() %}{% endmacro %}",
        "macros/b.sql": "{% materialization b, default %}{% endmaterialization %}",
        "tests/dbt/generic/g.sql": "{% test positive(model) %}{{ model }}{% endtest %}",
    }
    assert lint(files) == []


@pytest.mark.parametrize(
    ("yml", "problem"),
    [
        ("{name: qoute, description: x}", "'qoute' does not exist"),
        ("{name: _private, arguments: [{name: a}]}", "'_private' has no description"),
        ("{name: _private, description: x}", "'_private' is documented with arguments () but has (a)"),
        (
            "{name: _private, description: x, arguments: [{name: b}]}",
            "'_private' is documented with arguments (b) but has (a)",
        ),
        ("{name: quote, description: x, arguments: [{name: name}, {name: prefix}]}", "'quote' is documented twice"),
        (
            "{name: test_positive, description: x, arguments: [{name: column_name}, {name: model}]}",
            "'test_positive' is documented with arguments (column_name, model) but has (model, column_name)",
        ),
    ],
)
def test_documentation_that_does_not_match_is_found(lint: Lint, yml: str, problem: str) -> None:
    files = {
        "macros/quote.sql": QUOTE + "{% macro _private(a) %}{% endmacro %}",
        "macros/_quote.yml": QUOTE_YML,
        "macros/x/_x.yml": "macros:\n  - " + yml,
        "tests/dbt/generic/g.sql": "{% test positive(model, column_name) %}{{ model ~ column_name }}{% endtest %}",
    }
    assert lint(files) == [f"macros/x/_x.yml:2: macro {problem}"]


# --- purity


@pytest.mark.parametrize("name", ["merger_sql.sql", "merger_plan.sql"])
@pytest.mark.parametrize(
    ("body", "what"),
    [
        ("{{ run_query('x') }}", "run_query"),
        ("{{ dbt.run_query('x') }}", "dbt.run_query"),
        ("{% call statement('x') %}{% endcall %}", "statement"),
        ("{{ config.get('x') }}", "config"),
        ("{{ adapter.execute('x') }}", "adapter.execute"),
        ("{{ adapter.get_columns_in_relation('x') }}", "adapter.get_columns_in_relation"),
    ],
)
def test_an_impure_builder_is_found(lint: Lint, name: str, body: str, what: str) -> None:
    text = "{% macro _sample() %}\n" + body + "{% endmacro %}"
    assert lint({f"macros/{name}": text}) == [f"macros/{name}:2: {what}: builders and plans are pure"]
    assert lint({f"macros/{name}": "", "macros/merger.sql": text}) == []


def test_a_builder_that_calls_an_impure_macro_is_found(lint: Lint) -> None:
    files = {
        "macros/merger_sql.sql": "{% macro _a() %}\n{{ ditto._b() }}{% endmacro %}",
        "macros/merger.sql": "{% macro _b() %}{{ ditto._c() }}{% endmacro %}",
        "macros/runner.sql": "{% macro _c() %}{{ run_query('x') }}{% endmacro %}",
    }
    assert lint(files) == [
        "macros/merger_sql.sql:2: ditto._b is not pure (it uses run_query): builders and plans are",
    ]


def test_a_builder_may_have_an_argument_named_config(lint: Lint) -> None:
    text = "{% macro _sample(config) %}{{ config.x ~ adapter.quote('a') }}{% endmacro %}"
    assert lint({"macros/merger_sql.sql": text}) == []


# --- the command


def test_the_command(tmp_path: Path, lint: Lint, capsys: pytest.CaptureFixture[str]) -> None:
    lint(with_quote("{{ ditto.quote('a') }}"))
    assert lint_jinja.main([str(tmp_path)]) == 0
    assert capsys.readouterr().out == "Jinja: 2 macros in 2 files, no findings\n"
    lint(private("{{ nope }}"))
    assert lint_jinja.main([str(tmp_path)]) == 1
    assert capsys.readouterr().out == "macros/sample.sql:1: 'nope' is not defined: dbt would take it as false\n"
