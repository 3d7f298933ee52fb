"""A Spark Thrift Server with Delta, on the same warehouse and metastore as the target `session`."""

import argparse
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

import yaml
from jinja2 import Environment

ROOT = Path(__file__).resolve().parents[1]
HOME = Path(os.environ.get("DITTO_HOME") or ROOT / ".ditto").resolve()
STATE = HOME / "thrift-server.json"
LOG = HOME / "thrift-server.log"
HOST = "127.0.0.1"
MAIN_CLASS = "org.apache.spark.sql.hive.thriftserver.HiveThriftServer2"
START_SECONDS, STOP_SECONDS = 120, 30


@dataclass(frozen=True)
class Server:
    pid: int
    port: int
    master: str

    @staticmethod
    def running() -> "Server | None":
        """The server of this DITTO_HOME, if the noted process is still it (process ids are used again)."""
        if not STATE.exists():
            return None
        server = Server(**json.loads(STATE.read_text()))
        command = subprocess.run(["ps", "-p", str(server.pid), "-o", "command="], capture_output=True, text=True)
        return server if MAIN_CLASS in command.stdout and f"{HOME}/metastore" in command.stdout else None

    def note(self) -> None:
        """As a whole: a power cut may come at any time, and half of a note would stop the next start."""
        new = STATE.with_suffix(".new")
        with new.open("w") as note:
            note.write(json.dumps(asdict(self)))
            note.flush()
            os.fsync(note.fileno())
        new.replace(STATE)

    def __str__(self) -> str:
        return f"thrift server on {HOST}:{self.port} ({self.master}, process {self.pid})"


def session_settings() -> dict[str, str]:
    """The settings of the target `session` in profiles.yml, so that both targets see the same world."""
    environment = Environment(autoescape=False)
    environment.globals["env_var"] = lambda name, default="": {"DITTO_HOME": str(HOME)}.get(
        name, os.environ.get(name, default)
    )
    profile = yaml.safe_load((ROOT / "profiles.yml").read_text())["ditto"]["outputs"]["session"]
    settings = profile["server_side_parameters"]
    return {key: environment.from_string(str(value)).render() for key, value in settings.items()}


def server_settings(master: str, cores: int | None, given: dict[str, str]) -> dict[str, str]:
    """`given` wins over all others."""
    settings = session_settings()
    settings["spark.app.name"] = "ditto thrift server"
    settings["spark.master"] = master
    settings["spark.executor.extraClassPath"] = settings["spark.driver.extraClassPath"]
    # A long life: the JVM's own choice of collector and compilers.
    settings["spark.driver.extraJavaOptions"] = f'"-Dderby.system.home={HOME}/metastore"'
    # A client that is lost in the middle of a statement takes a connection to the metastore along. Once all of them are
    # gone, by default eight, everybody waits for ever.
    settings["spark.hadoop.datanucleus.connectionPool.maxActive"] = "1000"
    if cores and not master.startswith("local"):
        settings["spark.cores.max"] = str(cores)
    return settings | given


def command_line(settings: dict[str, str], port: int) -> list[str]:
    import pyspark

    submit = Path(pyspark.__file__).parent / "bin" / "spark-submit"
    confs = [word for key, value in settings.items() for word in ("--conf", f"{key}={value}")]
    hive = {"hive.server2.thrift.port": port, "hive.server2.thrift.bind.host": HOST}
    hive_confs = [word for key, value in hive.items() for word in ("--hiveconf", f"{key}={value}")]
    return [str(submit), "--class", MAIN_CLASS, *confs, "spark-internal", *hive_confs]


def server_environment() -> dict[str, str]:
    environment = {"DITTO_SPARK_LOG": "error", **os.environ, "SPARK_LOCAL_IP": HOST}
    environment.pop("SPARK_DAEMON_MEMORY", None)  # it would win over the settings; it is meant for masters and workers
    return environment


def answers(port: int) -> bool:
    with socket.socket() as probe:
        probe.settimeout(1)
        return probe.connect_ex((HOST, port)) == 0


def wait(until: Callable[[], bool], seconds: int) -> bool:
    """Wait with a dot a second; true once the condition holds."""
    deadline = time.monotonic() + seconds
    held = until()
    while not held and time.monotonic() < deadline:
        print(".", end="", flush=True)
        time.sleep(1)
        held = until()
    print(flush=True)
    return held


def explain_failure() -> str:
    text = LOG.read_text(errors="replace")
    if "XSDB6" in text:
        return (
            f"the metastore in {HOME}/metastore is used by another process: only one at a time can open it.\n"
            "       A dbt command on the target `session` holds it while it runs. Wait for it or stop it, then start\n"
            "       again; or set DITTO_HOME to another folder for a separate world."
        )
    lines = [line for line in text.splitlines() if line.strip() and not line.startswith("\tat ")]
    return "\n       ".join([f"the server did not start. From {LOG}:", *(line[:160] for line in lines[-5:])])


def dbt_command(port: int) -> str:
    prefix = "" if port == int(os.environ.get("DITTO_THRIFT_PORT", "10000")) else f"DITTO_THRIFT_PORT={port} "
    return f"{prefix}.venv/bin/dbt run --target thrift --vars '{{execution_date: 2024-10-07}}'"


def start(master: str | None, port: int, cores: int | None, given: dict[str, str]) -> int:
    if server := Server.running():
        print(f"already running: {server}\n  {dbt_command(server.port)}")
        return 0
    if answers(port):
        return fail(f"port {port} is taken by another process. Choose another: ./scripts/thrift-server start --port N")
    master = master or f"local[{cores or '*'}]"
    HOME.mkdir(parents=True, exist_ok=True)
    print(f"starting a thrift server on {HOST}:{port} ({master}) ", end="", flush=True)
    with LOG.open("w") as log:
        process = subprocess.Popen(
            command_line(server_settings(master, cores, given), port),
            cwd=HOME,
            env=server_environment(),
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
    Server(process.pid, port, master).note()
    wait(lambda: answers(port) or process.poll() is not None, START_SECONDS)
    if process.poll() is not None or not answers(port):
        process.kill()
        STATE.unlink()
        return fail(explain_failure())
    print("ready. While it runs, use the target `thrift` (the target `session` cannot open the metastore):")
    print(f"  {dbt_command(port)}\nlog: {LOG}\nstop it with: ./scripts/thrift-server stop")
    return 0


def stop() -> int:
    server = Server.running()
    if not server:
        STATE.unlink(missing_ok=True)
        print("no thrift server is running")
        return 0
    print(f"stopping the {server} ", end="", flush=True)
    os.kill(server.pid, signal.SIGTERM)
    if not wait(lambda: Server.running() is None, STOP_SECONDS):
        os.kill(server.pid, signal.SIGKILL)
        wait(lambda: Server.running() is None, STOP_SECONDS)
    STATE.unlink()
    print("stopped")
    return 0


def status() -> int:
    server = Server.running()
    if not server:
        print("no thrift server is running (./scripts/thrift-server start)")
        return 3
    state = "ready" if answers(server.port) else "starting"
    print(f"{state}: {server}\n  {dbt_command(server.port)}\nlog: {LOG}")
    return 0


def fail(message: str) -> int:
    print(f"error: {message}", file=sys.stderr)
    return 1


def setting(text: str) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    if not (key.startswith("spark.") and equals):
        raise argparse.ArgumentTypeError(f"{text!r}: expected KEY=VALUE, such as spark.driver.memory=4g")
    return key, value


def parse(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="./scripts/thrift-server", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    starting = commands.add_parser("start", help="start it and wait until it answers")
    starting.add_argument("--master", help="a Spark master such as spark://host:7077 (default: local cores)")
    starting.add_argument("--port", type=int, default=int(os.environ.get("DITTO_THRIFT_PORT", "10000")))
    starting.add_argument("--cores", type=int, help="how many cores to use (default: all)")
    starting.add_argument(
        "--conf", action="append", default=[], type=setting, metavar="KEY=VALUE", help="a setting of Spark; repeatable"
    )
    commands.add_parser("stop", help="stop it and wait until it is gone")
    commands.add_parser("status", help="say whether it runs")
    return parser.parse_args(arguments)


def main(arguments: list[str]) -> int:
    options = parse(arguments)
    if options.command == "start":
        return start(options.master, options.port, options.cores, dict(options.conf))
    return stop() if options.command == "stop" else status()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
