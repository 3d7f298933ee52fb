"""A real standalone cluster whose executors die in the middle of a write: exact rows, and one commit."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pyspark
import pytest

from tests.chaos.server import Server, free_port, must, wait_for
from tests.support import environment, make_project, new_world

pytestmark = pytest.mark.slow

SPARK_CLASS = Path(pyspark.__file__).parent / "bin" / "spark-class"
ROWS, TASKS = 2000, 40
BUSY = f"""
    select
        cast(id as int) as id, date'{{{{ ditto.execution_date() }}}}' as day,
        aggregate(sequence(1, 1000), '', (text, n) -> sha2(concat(text, id, n), 256)) as noise
    from range(0, {ROWS}, 1, {TASKS})
"""


@dataclass
class Cluster:
    """A master and two workers with one core each, on a world of its own, and a thrift server that works there."""

    home: Path
    server: Server
    workers: list[int]

    def executors(self) -> list[int]:
        """The processes of this cluster's executors: each names the worker that it belongs to."""
        listing = subprocess.run(["ps", "-wweo", "pid,args"], capture_output=True, text=True, check=True).stdout
        own = tuple(f"Worker@127.0.0.1:{port}" for port in self.workers)
        lines = [line.split() for line in listing.splitlines() if "CoarseGrainedExecutorBackend" in line]
        return [
            int(words[0]) for words in lines if words[1].endswith("java") and any(word.endswith(own) for word in words)
        ]

    def shuffled(self) -> int:
        """How many tasks have left rows for the next stage."""
        return len(list((self.home / "local").rglob("shuffle_*.data")))


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with environment():
        home = new_world(tmp_path_factory.mktemp("cluster_home"))
    master, workers, port = free_port(), [free_port(), free_port()], free_port()
    env = {**os.environ, "SPARK_LOCAL_IP": "127.0.0.1", "SPARK_DAEMON_MEMORY": "256m"}
    env["SPARK_LOCAL_DIRS"] = str(home / "local")
    url = f"spark://127.0.0.1:{master}"
    deploy, common = "org.apache.spark.deploy", ["--host", "127.0.0.1", "--webui-port", "0"]
    commands = [[f"{deploy}.master.Master", *common, "--port", str(master)]]
    for worker in workers:
        options = ["--port", str(worker), "--cores", "1", "--memory", "1g", "--work-dir", str(home / f"work_{worker}")]
        commands.append([f"{deploy}.worker.Worker", *common, *options, url])
    server = Server(home, port)
    processes: list[subprocess.Popen[bytes]] = []
    try:
        with (home / "cluster.log").open("w") as log:
            for command in commands:
                processes.append(subprocess.Popen([str(SPARK_CLASS), *command], env=env, stdout=log, stderr=log))
        server.control("start", "--port", str(port), "--master", url, "--cores", "2")
        cluster = Cluster(home, server, workers)
        wait_for(lambda: len(cluster.executors()) == 2)
        yield cluster
    finally:
        server.control("stop")
        for process in reversed(processes):
            process.terminate()
        for process in processes:
            process.wait(timeout=30)


@pytest.mark.parametrize("config", [{"write": "append"}, {"write": "merge", "unique_key": ["id", "day"]}])
def test_an_executor_that_is_killed_leaves_no_duplicate_and_no_part(
    cluster: Cluster, tmp_path: Path, config: dict[str, object]
) -> None:
    project = make_project(tmp_path, f"c{time.time_ns()}", spark=None)
    table = cluster.home / "warehouse" / f"{project.schema}.db" / "written"
    log = tmp_path / "logs" / "dbt.log"
    project.model("written", BUSY, materialized="transactional_writer", **config)

    def begun() -> bool:
        return log.exists() and ("merge into" if config["write"] == "merge" else "replace where") in log.read_text()

    def done() -> int:
        """How many tasks of the write have left something: files of the table, or rows for the next stage."""
        return len(list(table.glob("*.parquet"))) + cluster.shuffled()

    days = ["2024-10-01", "2024-10-02"]
    for version, day in enumerate(days, start=1):
        wait_for(lambda: len(cluster.executors()) == 2)
        log.unlink(missing_ok=True)
        process = cluster.server.dbt(project, "run", day=day)
        wait_for(begun, process)
        before = done()
        wait_for(lambda before=before: done() >= before + 4, process)
        os.kill(cluster.executors()[0], signal.SIGKILL)
        assert not (table / "_delta_log" / f"{version:020}.json").exists()
        output, _ = process.communicate(timeout=300)
        if process.returncode != 0:
            # Spark may give up instead of trying again elsewhere; then the same command does.
            assert "ditto:" not in output, output
            must(cluster.server.dbt(project, "run", day=day))

    rows = f"select cast(day as string), count(*), count(distinct id) from {project.schema}.written group by day"
    assert sorted(cluster.server.sql(rows)) == [(day, ROWS, ROWS) for day in days]
    history = cluster.server.sql(f"describe history {project.schema}.written")
    tagged = [str(row) for row in history if "ditto:1|transactional_writer" in str(row)]
    assert [sum(f"|{day} 00:00:00|" in row for row in tagged) for day in days] == [1, 1]
    assert cluster.server.sql(f"select status from {project.schema}.ditto_state") == [("live",), ("live",)]
