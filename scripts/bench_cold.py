"""A cold start: what `dbt run` of one model takes in a new process, with ditto's profile and with a plain one."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import time
from collections import defaultdict
from pathlib import Path

import yaml

from tests.support import make_project, new_world

GOAL = 0.7
ROWS = "select id, date'2024-10-07' as day from range(1000)"
DBT = Path(sys.executable).with_name("dbt")


def plain_project(path: Path, jars: Path) -> Path:
    """What the documentation of dbt-spark and Delta gives: the session method, the jars, two settings. No ditto."""
    parameters = {
        "spark.jars": ",".join(str(jar) for jar in sorted(jars.glob("*.jar"))),
        "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
        "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
    }
    output = {"type": "spark", "method": "session", "host": "localhost", "schema": "plain"}
    profile = {"plain": {"target": "dev", "outputs": {"dev": {**output, "server_side_parameters": parameters}}}}
    project = {"name": "plain", "version": "1.0.0", "profile": "plain", "flags": {"send_anonymous_usage_stats": False}}
    (path / "models").mkdir(parents=True)
    (path / "profiles.yml").write_text(yaml.safe_dump(profile))
    (path / "dbt_project.yml").write_text(yaml.safe_dump(project))
    (path / "models" / "visits.sql").write_text(
        f"{{{{ config(materialized='table', file_format='delta') }}}}\n{ROWS}\n"
    )
    return path


def seconds(project: Path, home: Path) -> float:
    command = [str(DBT), "run", "--project-dir", ".", "--profiles-dir", ".", "--vars", "{execution_date: 2024-10-07}"]
    started = time.perf_counter()
    done = subprocess.run(
        command, cwd=project, env={**os.environ, "DITTO_HOME": str(home)}, capture_output=True, text=True
    )
    if done.returncode:
        raise SystemExit(done.stdout + done.stderr)
    return time.perf_counter() - started


def cold(folder: Path, rounds: int) -> None:
    """Turn by turn; in the first turn each makes its metastore, its table and dbt's cache of the project."""
    home = new_world(folder / "home")
    (folder / "ditto").mkdir(parents=True)
    ours = make_project(folder / "ditto", "cold", spark=None)
    ours.model("visits", ROWS, materialized="insert_overwrite", partition_by="day")
    projects = {"ditto": ours.path, "plain": plain_project(folder / "plain", home / "jars")}
    times: dict[str, list[float]] = defaultdict(list)
    for number in range(rounds + 1):
        for name, project in projects.items():
            times[name].append(seconds(project, home))
        print(f"  cold start {number} of {rounds}{' (warm-up)' if number == 0 else ''}", flush=True)
    mine, other = (statistics.median(times[name][1:]) for name in ("ditto", "plain"))
    verdict = "reached" if mine / other <= GOAL else "missed"
    print("\nA cold `dbt run` of one model: insert_overwrite with ditto's session profile / table with a plain one:\n")
    print(f"  {mine / other:5.2f}  goal {GOAL:.2f} {verdict:<8} ({mine:.1f} s / {other:.1f} s)")
