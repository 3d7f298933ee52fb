"""Operations that died already die again, at any statement of the next attempt; and kinds that go another way."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from tests.chaos import crash_operations as operations
from tests.chaos.crashes import Fleet, Scenario, crash_everywhere, taken_over
from tests.support import Project


def evolving() -> Scenario:
    """Of one who takes over, attempt n is the command's n + 1st; its table keeps the number of the attempt."""
    scenario = operations.evolving()
    prepare, also = scenario.anew, scenario.also
    assert prepare and also

    def own(number: int) -> int:
        return number - 1 if number else 99

    def anew(fleet: Fleet, number: int) -> None:
        prepare(fleet, own(number))

    def checked(fleet: Fleet, number: int) -> None:
        also(fleet, own(number))

    return replace(scenario, anew=anew, also=checked)


BATCHES = {
    "ditto_freeze, half way": taken_over([operations.freezing()], "first write"),
    "ditto_freeze, at its end": taken_over([operations.freezing()], "last write"),
    "ditto_evolve_units, half way": taken_over([evolving()], "first write"),
    "ditto_proxy_point_to, native": [operations.pointing("native")],
}


@pytest.mark.slow
@pytest.mark.parametrize("name", BATCHES)
def test_a_crash_of_an_operation(project: Project, name: str, show: Callable[[list[str]], None]) -> None:
    show(crash_everywhere(BATCHES[name], project))
