"""Download a JDK 17 into a folder and print its JAVA_HOME."""

import shutil
import socket
import sys
from pathlib import Path

import jdk


def main(target: Path) -> int:
    """Unpack beside the target and rename, so that an interrupted download leaves nothing half done."""
    socket.setdefaulttimeout(60)
    temporary = target.with_name(f"{target.name}.part")
    shutil.rmtree(temporary, ignore_errors=True)
    temporary.mkdir(parents=True)
    try:
        jdk.install("17", path=str(temporary))
    except Exception as error:  # the package raises whatever its HTTP layer raises
        print(f"Java could not be downloaded: {error}", file=sys.stderr)
        shutil.rmtree(temporary, ignore_errors=True)
        return 1
    shutil.rmtree(target, ignore_errors=True)
    temporary.rename(target)
    java = next(iter(sorted(target.glob("**/bin/java"))))
    print(java.parent.parent)
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
