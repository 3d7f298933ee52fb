"""Fetch the jars that Delta needs beside Spark, once, into a folder."""

import os
import shutil
import sys
import tempfile
import time
from collections.abc import Iterable
from pathlib import Path

# Enough for Delta on a class path; its whole closure would bring another Hadoop and another Parquet along.
COORDINATES = (
    "io.delta:delta-spark_4.2_2.13:4.4.0",
    "io.delta:delta-storage:4.4.0",
    "io.delta:delta-kernel-api:4.4.0",
    "io.delta:delta-kernel-defaults:4.4.0",
    "io.delta:delta-kernel-unitycatalog:4.4.0",
    "io.unitycatalog:unitycatalog-client:0.6.0",
    "io.unitycatalog:unitycatalog-hadoop:0.6.0",
    # Not Delta's: what the thrift server loads when a connection closes, and then fails without it.
    "org.apache.hive:hive-llap-common:2.3.10",
)
NAMES = frozenset("{}_{}-{}.jar".format(*coordinate.split(":")) for coordinate in COORDINATES)
PROJECT = Path(__file__).resolve().parents[2]


def complete(folder: Path) -> bool:
    """Exactly these jars: a jar of another version would shadow the right one."""
    return {jar.name for jar in folder.glob("*.jar")} == NAMES


def resolve(work: Path) -> list[Path]:
    """Let Spark's own resolver download the jars: it knows the registry, and no Maven is needed."""
    from pyspark.java_gateway import launch_gateway

    jvm = launch_gateway().jvm
    messages = jvm.java.io.ByteArrayOutputStream()
    stream = jvm.java.io.PrintStream(messages)
    jvm.java.lang.System.setOut(stream)  # the resolver writes its report there as well
    maven = jvm.org.apache.spark.util.MavenUtils
    none = jvm.scala.Option.apply(None)
    nothing = jvm.scala.jdk.CollectionConverters.ListHasAsScala(jvm.java.util.ArrayList()).asScala().toSeq()
    try:
        settings = maven.buildIvySettings(none, jvm.scala.Option.apply(str(work)), False, stream)
        found = maven.resolveMavenCoordinates(",".join(COORDINATES), settings, none, False, nothing, False, stream)
    except Exception as error:
        raise ConnectionError(messages.toString()) from error
    return [Path(path) for path in found.mkString("\n").split("\n")]


def install(jars: Iterable[Path], target: Path) -> None:
    """Copy beside the target and rename: the folder is never there with only some of its jars."""
    with tempfile.TemporaryDirectory(dir=target.parent, prefix="jars-") as temporary:
        part = Path(temporary) / "jars"
        part.mkdir()
        for jar in jars:
            shutil.copy2(jar, part / jar.name)
        if not complete(part):
            raise FileNotFoundError(f"expected {sorted(NAMES)}, got {sorted(jar.name for jar in part.iterdir())}")
        if target.exists():
            target.rename(Path(temporary) / "old")
        part.rename(target)


def main(target: Path) -> int:
    if complete(target):
        return 0
    target.parent.mkdir(parents=True, exist_ok=True)
    project_jars = PROJECT / ".ditto" / "jars"
    if complete(project_jars):
        install(project_jars.iterdir(), target)
        return 0
    started = time.monotonic()
    print("fetching the Delta jars (13 MB, once)", file=sys.stderr)
    try:
        with tempfile.TemporaryDirectory(dir=target.parent, prefix="ivy-") as work:
            install(resolve(Path(work)), target)
    except (ConnectionError, FileNotFoundError) as error:
        log = target.parent / "jars.log"
        log.write_text(f"{error}\n")
        print(
            f"error: the Delta jars could not be fetched (details: {os.path.relpath(log)}).\n"
            "       Is Maven Central reachable? A mirror can be named in DEFAULT_ARTIFACT_REPOSITORY.\n"
            "       Run the same command again to continue.",
            file=sys.stderr,
        )
        return 1
    print(f"Delta jars ready ({time.monotonic() - started:.0f} s)", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
