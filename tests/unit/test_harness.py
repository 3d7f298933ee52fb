"""The harness itself: what it promises to the other unit tests."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import jinja2
import pytest
from dbt_common.exceptions import CompilationError
from macro_harness import Ditto, MacroLibrary, relation, sql

Load = Callable[..., Ditto]


@pytest.fixture
def load(tmp_path: Path) -> Load:
    def load_macros(*files: str) -> Ditto:
        for number, text in enumerate(files):
            (tmp_path / f"file_{number}.sql").write_text(text)
        return Ditto(MacroLibrary(tmp_path))

    return load_macros


def test_every_macro_of_the_package_compiles(ditto: Ditto) -> None:
    library = ditto._macros
    assert [name for name in library.sources if library.template(name) is None] == []


def test_returned_values_keep_their_type(load: Load) -> None:
    ditto = load(
        "{% macro a_dict() %}{{ return({'a': [1, 2]}) }}{% endmacro %}"
        "{% macro a_list(n) %}text before {% do return([n, none]) %}{% endmacro %}"
    )
    assert ditto.a_dict() == {"a": [1, 2]}
    assert ditto.a_list(3) == [3, None]
    assert ditto.a_list(n=3) == [3, None]


def test_a_macro_without_return_gives_its_text(load: Load) -> None:
    ditto = load("{% macro quote(name) %}`{{ name }}`{% endmacro %}")
    assert ditto.quote("a") == "`a`"
    assert type(ditto.quote("a")) is str


def test_a_returned_value_stays_inside_the_call_that_returned_it(load: Load) -> None:
    ditto = load(
        "{% macro outer() %}{% set rows = ditto.inner(2) %}{{ rows | length }} rows, {{ rows[1] }}{% endmacro %}",
        "{% macro inner(n) %}{{ return(range(n) | list) }}{% endmacro %}",
    )
    assert ditto.outer() == "2 rows, 1"


def test_private_macros_and_call_blocks(load: Load) -> None:
    ditto = load(
        "{% macro outer() %}{% call ditto._wrap('x') %}body{% endcall %}{% endmacro %}"
        "{% macro _wrap(name) %}{{ name }}[{{ caller() }}]{% endmacro %}"
    )
    assert ditto.outer() == "x[body]"
    assert ditto._wrap("y", caller=lambda: "z") == "y[z]"


def test_tests_and_materializations_have_the_names_of_dbt(load: Load) -> None:
    ditto = load(
        "{% test positive(model, column_name) %}select 1 from {{ model }} where {{ column_name }} < 0{% endtest %}"
        "{% materialization merger, adapter='spark' %}{{ return({'relations': [this]}) }}{% endmaterialization %}"
    )
    assert ditto.test_positive("t", column_name="c") == "select 1 from t where c < 0"
    assert ditto.materialization_merger_spark() == {"relations": [relation("model")]}


def test_an_own_macro_is_unknown_without_its_namespace(load: Load) -> None:
    ditto = load("{% macro one() %}1{% endmacro %}{% macro two() %}{{ one() }}{% endmacro %}")
    with pytest.raises(jinja2.UndefinedError, match="'one' is undefined"):
        ditto.two()


def test_names_set_beside_a_macro_are_not_visible_in_it(load: Load) -> None:
    ditto = load("{% set outside = 1 %}{% macro look() %}{{ outside }}{% endmacro %}")
    with pytest.raises(jinja2.UndefinedError, match="'outside' is undefined"):
        ditto.look()


@pytest.mark.parametrize(
    "use", ["{{ nope }}", "{% if nope %}{% endif %}", "{% if nope == 1 %}{% endif %}", "{{ nope.x }}"]
)
def test_an_undefined_name_raises(load: Load, use: str) -> None:
    ditto = load("{% macro look() %}" + use + "{% endmacro %}")
    with pytest.raises(jinja2.UndefinedError, match="'nope' is undefined"):
        ditto.look()


def test_a_parameter_that_was_not_given_raises_when_it_is_used(load: Load) -> None:
    ditto = load("{% macro quote(name) %}`{{ name }}`{% endmacro %}")
    with pytest.raises(jinja2.UndefinedError, match="'name' was not provided"):
        ditto.quote()


@pytest.mark.parametrize(
    "use", ["{{ d.nope }}", "{{ d.nope.deeper }}", "{% for x in d.nope %}{% endfor %}", "{{ ditto.nope() }}"]
)
def test_a_missing_key_raises_when_it_becomes_text(load: Load, use: str) -> None:
    ditto = load("{% macro look(d) %}" + use + "{% endmacro %}")
    with pytest.raises(jinja2.UndefinedError, match="has no attribute 'nope'"):
        ditto.look({})


def test_a_missing_key_may_be_tested(load: Load) -> None:
    ditto = load(
        "{% macro look(d) %}{{ 1 if d.a else 2 }}{{ d.a is defined }}{{ d.a or 'x' }}{{ d.a | default('y') }}"
        "{{ d.a == 'z' }}{{ nope is defined }}{{ nope | default('w') }}{% endmacro %}"
    )
    assert ditto.look({}) == "2FalsexyFalseFalsew"


def test_raise_compiler_error_is_the_error_of_dbt(load: Load) -> None:
    ditto = load("{% macro fail() %}{% do exceptions.raise_compiler_error('found a, expected b') %}{% endmacro %}")
    with pytest.raises(CompilationError, match="found a, expected b"):
        ditto.fail()


def test_an_error_names_the_file_and_the_line(load: Load) -> None:
    ditto = load("{% macro first() %}{% endmacro %}\n\n{% macro fail() %}\n    {{ nope }}\n{% endmacro %}")
    with pytest.raises(jinja2.UndefinedError) as caught:
        ditto.fail()
    places = [(Path(str(entry.path)).name, entry.lineno + 1) for entry in caught.traceback]
    assert ("file_0.sql", 4) in places


def test_warnings_and_logs_are_collected(load: Load) -> None:
    ditto = load("{% macro tell() %}{{ exceptions.warn('careful') }}{{ log('done', info=true) }}{% endmacro %}")
    assert ditto.tell() == ""
    assert ditto.warnings == ["careful"]
    assert ditto.logs == ["done"]


@pytest.mark.parametrize(
    ("use", "message"),
    [
        ("{% do run_query('select 1') %}", "a pure macro ran SQL"),
        ("{% call statement('main') %}select 1{% endcall %}", "a pure macro ran SQL"),
        ("{% do adapter.execute('select 1') %}", "a pure macro called adapter.execute"),
    ],
)
def test_running_sql_is_an_error(load: Load, use: str, message: str) -> None:
    ditto = load("{% macro look() %}" + use + "{% endmacro %}")
    with pytest.raises(AssertionError, match=message):
        ditto.look()


def test_what_dbt_offers(load: Load) -> None:
    ditto = load(
        "{% macro look() %}{{ return([fromjson(tojson({'a': 1})), modules.datetime.date(2024, 10, 7).isoformat(),"
        " modules.re.sub('a', 'b', 'aa'), local_md5('a'), zip([1], [2]) | list, set([1, 1]) | list, execute,"
        " flags.EMPTY, flags.WHICH, target.profile_name, this | string, model.alias, config.get('unique_key', 'none'),"
        " invocation_id | length]) }}{% endmacro %}"
    )
    assert ditto.look() == [
        {"a": 1},
        "2024-10-07",
        "bb",
        "0cc175b9c0f1b6a831c399e269772661",
        [(1, 2)],
        [1],
        True,
        False,
        "run",
        "ditto",
        "demo.model",
        "model",
        "none",
        36,
    ]


def test_the_context_is_changed_for_one_test_only(load: Load) -> None:
    ditto = load(
        "{% macro look() %}{{ return([var('day', 'none'), execute, flags.FULL_REFRESH, flags.EMPTY, config.get('key'),"
        " model.alias, this.identifier]) }}{% endmacro %}"
    )
    changed = ditto.with_context(
        var={"day": "2024-10-07"},
        execute=False,
        flags={"FULL_REFRESH": True},
        config={"key": "id"},
        model={"alias": "visits"},
        this=relation("visits"),
    )
    assert changed.look() == ["2024-10-07", False, True, False, "id", "visits", "visits"]
    assert ditto.look() == ["none", True, False, False, None, "model", "model"]
    assert changed.with_context(execute=True).look()[:2] == ["2024-10-07", True]


def test_a_required_var_that_is_missing_is_the_error_of_dbt(load: Load) -> None:
    ditto = load("{% macro look() %}{{ var('day') }}{% endmacro %}")
    with pytest.raises(CompilationError, match="Required var 'day' not found"):
        ditto.look()


def test_own_macros_can_be_replaced(load: Load) -> None:
    ditto = load(
        "{% macro rows() %}{% do run_query('x') %}{% endmacro %}"
        "{% macro count() %}{{ ditto.rows() | length }}{% endmacro %}"
    )
    assert ditto.with_context(macros={"rows": lambda: [1, 2]}).count() == "2"
    with pytest.raises(AssertionError):
        ditto.count()


def test_a_piece_of_jinja_is_rendered_in_the_context(load: Load) -> None:
    ditto = load("{% macro quote(name) %}`{{ name }}`{% endmacro %}")
    rendered = ditto.render("select {{ ditto.quote(column) }} from {{ ref('visits') }}", column="a")
    assert rendered == "select `a` from demo.visits"


def test_a_name_that_is_defined_twice_is_refused(load: Load) -> None:
    with pytest.raises(ValueError, match="one is defined twice"):
        load("{% macro one() %}{% endmacro %}", "{% macro one() %}{% endmacro %}")


def test_an_unknown_macro_is_an_attribute_error(load: Load) -> None:
    with pytest.raises(AttributeError, match="no macro is named nope"):
        load("").nope()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("select  a ,\n  b\nfrom t ;", "select a, b from t"),
        ("in (\n 1,\n 2\n)", "in (1, 2)"),
        ("a = '  (  x\n ; '", "a = '  (  x\n ; '"),
        ("a = 'it''s  b'  and  `c  d`", "a = 'it''s  b' and `c  d`"),
        (r"a = 'it\'s  b'  or c", r"a = 'it\'s  b' or c"),
        ("a -- don't\n  = /* x\n */ '--b'", "a = '--b'"),
    ],
)
def test_sql_ignores_white_space_and_comments_only(text: str, expected: str) -> None:
    assert sql(text) == expected
