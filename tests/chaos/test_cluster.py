"""A real standalone cluster that loses executors and workers in the middle of a write: exact rows, and one commit."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

import pyspark
import pytest

from tests.chaos.kills import CASES, Case, arguments, check, commits, day, hit, make, one_more
from tests.chaos.server import Server, finish, free_port, wait_for
from tests.support import Project, environment, make_project, new_world, note

pytestmark = pytest.mark.slow

SPARK_CLASS = Path(pyspark.__file__).parent / "bin" / "spark-class"
DEPLOY = "org.apache.spark.deploy"
NAMES = [
    "insert_overwrite predicate, normal",
    "transactional_writer merge, replay",
    "stateful_merge backfill, in its MERGE",
]
WORK = 500  # milliseconds for each row, of which a task has one
LOSSES = [replace(case, tasks=20, delay=0) for name in NAMES for case in CASES if case.name == name]


@dataclass
class Cluster:
    """A master and two workers with one core each, on a world of its own, and a thrift server that works there."""

    home: Path
    server: Server
    master: int = field(default_factory=free_port)
    processes: list[subprocess.Popen[bytes]] = field(default_factory=list)
    workers: dict[int, subprocess.Popen[bytes]] = field(default_factory=dict)

    @property
    def url(self) -> str:
        return f"spark://127.0.0.1:{self.master}"

    def start(self, name: str, *options: str) -> subprocess.Popen[bytes]:
        env = {**os.environ, "SPARK_LOCAL_IP": "127.0.0.1", "SPARK_DAEMON_MEMORY": "256m"}
        env["SPARK_LOCAL_DIRS"] = str(self.home / "local")
        command = [str(SPARK_CLASS), f"{DEPLOY}.{name}", "--host", "127.0.0.1", "--webui-port", "0", *options]
        with (self.home / "cluster.log").open("a") as log:
            self.processes.append(subprocess.Popen(command, env=env, stdout=log, stderr=log))
        return self.processes[-1]

    def add_workers(self) -> None:
        """Until there are two."""
        while len(self.workers) < 2:
            port = free_port()
            options = ("--cores", "1", "--memory", "1g", "--work-dir", str(self.home / f"work_{port}"))
            self.workers[port] = self.start("worker.Worker", "--port", str(port), *options, self.url)

    def executors(self, *workers: int) -> list[int]:
        """The processes of the executors of these workers, or of all: each names the worker that it belongs to."""
        listing = subprocess.run(["ps", "-wweo", "pid,args"], capture_output=True, text=True, check=True).stdout
        own = tuple(f"Worker@127.0.0.1:{port}" for port in workers or self.workers)
        lines = [line.split() for line in listing.splitlines() if "CoarseGrainedExecutorBackend" in line]
        return [
            int(words[0]) for words in lines if words[1].endswith("java") and any(word.endswith(own) for word in words)
        ]

    def whole(self) -> bool:
        return len(self.executors()) == 2

    def lose_executor(self) -> None:
        os.kill(self.executors()[0], signal.SIGKILL)

    def lose_worker(self) -> None:
        """With its executor, as when the machine is gone."""
        port, process = self.workers.popitem()
        executors = self.executors(port)
        process.kill()
        for executor in executors:
            os.kill(executor, signal.SIGKILL)
        process.wait()

    def lose_workers(self) -> None:
        """All of them. Others come later."""
        while self.workers:
            self.lose_worker()
        self.add_workers()

    def tasks_done(self, project: Project) -> int:
        """How many tasks have left something: files of a table, or rows for the next stage."""
        data = self.home / "warehouse" / f"{project.schema}.db"
        kept = [path for kind in ("shuffle_*.data", "rdd_*") for path in (self.home / "local").rglob(kind)]
        return len(list(data.rglob("*.parquet"))) + len(kept)


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with environment():
        home = new_world(tmp_path_factory.mktemp("cluster_home"))
    server = Server(home, free_port())
    cluster = Cluster(home, server)
    try:
        cluster.start("master.Master", "--port", str(cluster.master))
        cluster.add_workers()
        server.control("start", "--port", str(server.port), "--master", cluster.url, "--cores", "2")
        yield cluster
    finally:
        server.control("stop")
        for process in reversed(cluster.processes):
            process.terminate()
        for process in cluster.processes:
            process.wait(timeout=30)


@pytest.fixture
def remote(tmp_path: Path) -> Project:
    return make_project(tmp_path, f"c{time.time_ns()}", spark=None)


def lose(cluster: Cluster, project: Project, case: Case, what: str, loss: Callable[[], None]) -> None:
    cluster.add_workers()
    wait_for(cluster.whole)
    make(cluster.server, project, [case])
    there = commits(cluster.server, project)
    done = cluster.tasks_done(project)

    def strike(process: subprocess.Popen[str]) -> None:
        wait_for(lambda: cluster.tasks_done(project) >= done + 3, process)
        loss()

    victim = hit(cluster.server, project, [case], strike, work=WORK)
    assert victim.fell[case.model] == "before commit"
    code, output = finish(victim.process)
    assert victim.commits(cluster.server, project, case.model) == (1 if code == 0 else 0), output
    if code != 0:
        # Spark may give up instead of trying again elsewhere; then the same command does it.
        assert "ditto:" not in output, output
        cluster.add_workers()
        cluster.server.inside(project, *arguments([case]))
    own = f"|{day(case.killed)} 00:00:00|"
    assert sum(own in path.read_text() for path in commits(cluster.server, project) - there) == 1
    check(cluster.server, project, [case])
    outcome = "finished" if code == 0 else "failed, then right"
    note("lost", what=what, pattern=case.pattern, mode=case.mode, outcome=outcome)
    one_more(cluster.server, project, [case])


@pytest.mark.parametrize("case", LOSSES, ids=lambda case: case.name)
def test_an_executor_is_lost(cluster: Cluster, remote: Project, case: Case) -> None:
    lose(cluster, remote, case, "executor", cluster.lose_executor)


def test_a_worker_is_lost(cluster: Cluster, remote: Project) -> None:
    lose(cluster, remote, LOSSES[0], "worker", cluster.lose_worker)


def test_all_workers_are_lost(cluster: Cluster, remote: Project) -> None:
    lose(cluster, remote, LOSSES[1], "all workers", cluster.lose_workers)
