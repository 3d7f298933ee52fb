"""A real Spark Thrift Server in a world of its own, dbt as processes that use it, and what tests of both share."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pyhive import hive

from tests.support import FOR_TINY_TABLES, ROOT, Project, environment, new_world

DBT = Path(sys.executable).parent / "dbt"
SLOW = """
    select cast(id as int) as id, day, max(noise) as noise from (
        select
            id, date'{{ ditto.execution_date() }}' as day,
            sha2(sha2(cast(id * 1000 + n as string), 512), 512) as noise
        from range(0, 20) lateral view explode(sequence(1, 60000)) as n
    ) group by id, day
"""


def free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


def wait_for(what: Callable[[], bool], running: subprocess.Popen[str] | None = None, seconds: int = 200) -> None:
    deadline = time.monotonic() + seconds
    while not what():
        assert time.monotonic() < deadline, "waited too long"
        assert running is None or running.poll() is None, running.communicate()
        time.sleep(0.05)


class Server:
    """The thrift server of a world of its own, and a client for looking at the tables."""

    def __init__(self, home: Path, port: int) -> None:
        self.env = {**os.environ, "DITTO_HOME": str(home), "DITTO_THRIFT_PORT": str(port)}
        self.port = port
        self.connection: Any = None

    def start(self) -> None:
        # More places than cores: most of the tasks that are in the way of others here only wait.
        given = {**FOR_TINY_TABLES, "spark.default.parallelism": "2"}
        settings = [word for key, value in given.items() for word in ("--conf", f"{key}={value}")]
        self.control("start", "--port", str(self.port), "--cores", "24", *settings)

    def control(self, *arguments: str) -> None:
        self.connection = None
        subprocess.run([sys.executable, "scripts/thrift_server.py", *arguments], cwd=ROOT, env=self.env, check=True)

    @property
    def pid(self) -> int:
        return json.loads((Path(self.env["DITTO_HOME"]) / "thrift-server.json").read_text())["pid"]

    def busy(self) -> bool:
        """Does a statement run, also one whose client is gone? The threads that the JVM prints on SIGQUIT tell."""
        log = Path(self.env["DITTO_HOME"]) / "thrift-server.log"
        printed = log.stat().st_size

        def threads() -> str:
            return log.read_bytes()[printed:].decode(errors="replace")

        os.kill(self.pid, signal.SIGQUIT)
        wait_for(lambda: "JNI global ref" in threads())
        return "SparkExecuteStatementOperation" in threads()

    def sql(self, query: str) -> list[tuple[Any, ...]]:
        if self.connection is None:
            self.connection = hive.connect(host="127.0.0.1", port=self.port)
        with self.connection.cursor() as cursor:
            cursor.execute(query)
            return [tuple(row) for row in cursor.fetchall()]

    def dbt(self, project: Project, *arguments: str, day: str | None = None) -> subprocess.Popen[str]:
        given = ["--vars", f"{{execution_date: {day}}}"] if day else []
        return subprocess.Popen(
            [
                str(DBT),
                *arguments,
                *given,
                "--target",
                "thrift",
                "--no-use-colors",
                "--target-path",
                f"target/{time.time_ns()}",
            ],
            cwd=project.path,
            env={**self.env, "DITTO_SCHEMA": project.schema},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def inside(self, project: Project, *arguments: str, day: str | None = None) -> str:
        """A command that has nothing to do with processes, in this one: it need not start Python and dbt anew."""
        with environment(**{key: self.env[key] for key in ("DITTO_HOME", "DITTO_THRIFT_PORT")}):
            outcome = project.dbt(*arguments, "--target", "thrift", execution_date=day)
        assert outcome.ok, outcome.text
        return outcome.text


@contextmanager
def started(home: Path) -> Iterator[Server]:
    """A server in a world of its own, for as long as it is needed."""
    server = Server(new_world(home), free_port())
    server.start()
    yield server
    server.control("stop")


def finish(process: subprocess.Popen[str]) -> tuple[int, str]:
    output, _ = process.communicate(timeout=300)
    return process.returncode, output


def must(process: subprocess.Popen[str]) -> str:
    code, output = finish(process)
    assert code == 0, output
    return output
