"""Processes that each run dbt on the thrift server, again and again: Python and dbt start once, a project is read once.

Run as a module it is such a process: it reads one command a line from its input and answers with one line of JSON.
"""

from __future__ import annotations

import faulthandler
import json
import os
import queue
import signal
import subprocess
import sys
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.chaos.server import Server
from tests.support import ROOT, Project

PATIENCE = 300
"""Seconds after which a command that has not ended counts as a deadlock."""


@dataclass
class Answer:
    """What a command gave: for each model its status and its message."""

    invocation: str
    ok: bool
    error: str
    nodes: dict[str, tuple[str, str]] = field(default_factory=dict)

    @property
    def text(self) -> str:
        return "\n".join([*(message for _, message in self.nodes.values()), self.error])

    def failed(self) -> dict[str, str]:
        """Models that did not go through, and why."""
        return {name: text for name, (status, text) in self.nodes.items() if status not in ("success", "pass")}


class Worker:
    """One process. Commands are sent to several of them before the first answer is awaited."""

    def __init__(self, server: Server, folder: Path, name: str) -> None:
        self.name = name
        self.folder = folder
        folder.mkdir(parents=True)
        self.errors = folder / "errors.txt"
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tests.chaos.crew", str(folder)],
            cwd=ROOT, env=server.env, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=self.errors.open("w"), text=True,
        )  # fmt: skip
        self.answers: queue.Queue[str] = queue.Queue()
        threading.Thread(target=self._listen, daemon=True).start()

    def _listen(self) -> None:
        assert self.process.stdout
        for line in self.process.stdout:
            self.answers.put(line)
        self.answers.put("")

    def send(self, project: Project, *arguments: str, day: str | None = None, delay: float = 0.0) -> None:
        assert self.process.stdin
        command = {
            "path": str(project.path), "schema": project.schema, "arguments": arguments, "day": day, "delay": delay
        }  # fmt: skip
        self.process.stdin.write(json.dumps(command) + "\n")
        self.process.stdin.flush()

    def answer(self, patience: float = PATIENCE) -> Answer:
        try:
            line = self.answers.get(timeout=patience)
        except queue.Empty:
            raise TimeoutError(self.story()) from None
        assert line, self.story()
        return Answer(**json.loads(line))

    def ask(self, project: Project, *arguments: str, day: str | None = None) -> Answer:
        self.send(project, *arguments, day=day)
        return self.answer()

    def story(self) -> str:
        """What the process is doing: where its threads are, and what dbt logged last."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGUSR1)
            time.sleep(1)
        log = self.folder / "logs" / "dbt.log"
        last = log.read_text().splitlines()[-40:] if log.exists() else []
        return "\n".join([f"── {self.name}", self.errors.read_text()[-6000:], *last])

    def stop(self) -> None:
        self.process.kill()
        self.process.wait()


def together(workers: list[Worker], patience: float = PATIENCE) -> list[Answer]:
    """The answers to what was sent; if one does not come, what everybody was doing."""
    deadline = time.monotonic() + patience
    try:
        return [worker.answer(max(0.1, deadline - time.monotonic())) for worker in workers]
    except TimeoutError:
        stories = "\n".join(worker.story() for worker in workers)
        raise AssertionError(f"a round that does not end:\n{stories}") from None


def work(folder: Path) -> None:
    """The process: commands in, answers out. What dbt prints goes to the errors."""
    from tests.conftest import parse_once

    parse_once()
    faulthandler.register(signal.SIGUSR1, all_threads=True)
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    projects: dict[str, Project] = {}
    for line in sys.stdin:
        command = json.loads(line)
        project = projects.setdefault(
            command["path"], Project(path=Path(command["path"]), schema=command["schema"], spark=None)
        )
        time.sleep(command["delay"])
        out.write(json.dumps(run(project, folder, command)) + "\n")
        out.flush()


def run(project: Project, folder: Path, command: dict[str, Any]) -> dict[str, Any]:
    outcome = project.dbt(
        *command["arguments"], "--target", "thrift",
        "--target-path", str(folder / "target"), "--log-path", str(folder / "logs"),
        execution_date=command["day"],
    )  # fmt: skip
    args = getattr(outcome.result.result, "args", {}) or {}
    return {
        "invocation": str(args.get("invocation_id", "")),
        "ok": outcome.ok,
        "error": str(outcome.result.exception or ""),
        "nodes": {
            node.node.name: (str(node.status), str(node.message)) for node in outcome.nodes if hasattr(node, "node")
        },
    }


if __name__ == "__main__":
    work(Path(sys.argv[1]))
