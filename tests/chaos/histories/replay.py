"""Play one history again: python -m tests.chaos.histories.replay '<json>', or a seed: ... replay 17 [pattern]."""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

from pyspark.sql import SparkSession

from tests.chaos.histories.engine import Difference, play
from tests.chaos.histories.generate import history as generate
from tests.chaos.histories.history import History
from tests.support import FOR_TINY_TABLES, ROOT, make_project, new_world


def main(text: str, pattern: str | None = None) -> int:
    history = generate(int(text), pattern=pattern) if text.isdigit() else History.from_json(text)
    os.chdir(ROOT)
    with tempfile.TemporaryDirectory() as folder:
        os.environ |= {"DITTO_HOME": str(new_world(Path(folder) / "home")), "DITTO_SCHEMA": "replay"}
        (path := Path(folder) / "project").mkdir()
        project = make_project(path, "replay", None, FOR_TINY_TABLES)
        assert project.dbt("debug", "--connection").ok
        project.spark = SparkSession.getActiveSession() or SparkSession.builder.getOrCreate()
        print(history.story())
        try:
            play(project, history)
        except Difference as difference:
            print(difference)
            return 1
    print("no difference")
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
