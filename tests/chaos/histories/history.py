"""A history is data: what the input brings for each execution, and the steps that happen one after the other."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field, replace
from typing import Any

Step = list[Any]
"""A word and its arguments: ["run", "2024-10-05T00:00:00"], ["crash", "2024-10-05T00:00:00", 3], ["optimize"]."""
Rows = list[list[Any]]


@dataclass(frozen=True)
class History:
    pattern: str
    variant: str
    feed: dict[str, Rows] = field(default_factory=dict)
    steps: list[Step] = field(default_factory=list)

    def to_json(self) -> str:
        return json.dumps(asdict(self))

    @staticmethod
    def from_json(text: str) -> History:
        return History(**json.loads(text))

    def with_steps(self, steps: list[Step]) -> History:
        return replace(self, steps=steps)

    def words(self) -> list[str]:
        """The steps, short enough to be read: what a correction brings is left out."""
        return [_text(step[:2] if step[0] == "correct" else step) for step in self.steps]

    def story(self) -> str:
        given = [f"{time}: {rows}" for time, rows in self.feed.items()]
        return "\n  ".join([f"{self.pattern} ({self.variant})", *given, *map(_text, self.steps)])


def _text(step: Step) -> str:
    return " ".join(str(part).removesuffix("T00:00:00") for part in step)


def shell(history: History) -> str:
    """The command that plays it again."""
    quoted = history.to_json().replace("'", "'\\''")
    return f"python -m tests.chaos.histories.replay '{quoted}'"
