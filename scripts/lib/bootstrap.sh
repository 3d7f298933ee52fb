# Everything that a command needs: Python, the environment in .venv, Java, the Delta jars. Source it:
#
#   source "$(dirname "$0")/lib/bootstrap.sh"
#
# Afterwards the working directory is the project's root, `python`, `dbt` and the other tools are those of .venv, and
# $ditto_home is the absolute path of DITTO_HOME. When all is in place this takes a moment and says nothing.

say() { printf '%s\n' "$*" >&2; }

die() { # the first argument is the error, each further one a line below it
  say "error: $1"
  shift
  for line in "$@"; do say "       $line"; done
  exit 1
}

root="$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)"
ditto_home="$root/.ditto"
if [[ -n "${DITTO_HOME:-}" ]]; then
  mkdir -p "$DITTO_HOME" || die "DITTO_HOME cannot be created: $DITTO_HOME"
  ditto_home="$(cd "$DITTO_HOME" && pwd)"
  export DITTO_HOME="$ditto_home"
fi
cd "$root"

# ---- Python and .venv

# What Python compiled is kept, whatever the shell says: otherwise every command compiles dbt anew, for several seconds.
unset PYTHONDONTWRITEBYTECODE

find_python() {
  local candidate
  for candidate in python3.11 python3.12 python3.13 python3 python; do
    if "$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
      command -v "$candidate"
      return
    fi
  done
  case "$(uname)" in
    Darwin) die "Python 3.11 or newer is missing. This installs it:" "brew install python@3.11" ;;
    *) die "Python 3.11 or newer is missing. This installs it:" "sudo apt-get install -y python3.11 python3.11-venv" ;;
  esac
}

# The environment fits when it was made in this folder from this lock file.
stamp() {
  printf '%s\n' "$root"
  cksum <requirements.lock
}

create_venv() {
  local python made_in started=$SECONDS
  python="$(find_python)"
  made_in="$(head -n 1 .venv/stamp 2>/dev/null || true)"
  if [[ "${made_in:-$root}" == "$root" ]] &&
    .venv/bin/python -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
    say "bringing .venv up to date with requirements.lock"
  else
    say "creating .venv (about 90 s the first time)"
    # Removed by name, so that a link to another folder's environment goes and not what it leads to.
    rm -rf .venv
    "$python" -m venv .venv >/dev/null 2>&1 ||
      die "$python cannot create an environment: its venv module is missing. This installs it:" \
        "sudo apt-get install -y python3-venv"
    printf '%s\n' "$root" >.venv/stamp
  fi
  .venv/bin/python -m pip install --disable-pip-version-check --no-compile --no-deps --require-hashes \
    --requirement requirements.lock >.venv/install.log 2>&1 || {
    tail -n 5 .venv/install.log >&2
    die "the packages of requirements.lock could not be installed (all output: .venv/install.log)." \
      "Is the package registry reachable? Run the same command again to continue."
  }
  local pyspark=(.venv/lib/python3*/site-packages/pyspark)
  ln -sfn "$root/scripts/lib/spark" "${pyspark[0]}/conf"
  stamp >.venv/stamp
  say "environment ready ($((SECONDS - started)) s)"
}

if [[ ! -x .venv/bin/python || "$(cat .venv/stamp 2>/dev/null)" != "$(stamp)" ]]; then
  create_venv
fi
export PATH="$root/.venv/bin:$PATH"

# ---- Java

java_home_of() { # prints the home of this java if it is version 17 or newer
  "$1" -XshowSettings:properties -version 2>&1 |
    awk -F ' = ' '/ java.home = /{home = $2} / java.specification.version = /{version = $2}
                  END {if (version >= 17) print home; else exit 1}'
}

find_java() {
  local home
  if [[ -n "$(java_home_of "${JAVA_HOME:+$JAVA_HOME/bin/}java")" ]]; then
    rm -f .venv/java-home # what the shell has will do
    return
  fi
  # Otherwise note a better one in .venv/java-home: spark-env.sh reads it, so plain dbt commands find it too.
  home="$(java_home_of java || cat .venv/java-home 2>/dev/null || true)"
  if [[ -z "$home" || ! -x "$home/bin/java" ]]; then
    say "Java 17 is missing: downloading one into $ditto_home/jdk (about 200 MB)"
    home="$(python scripts/lib/download_java.py "$ditto_home/jdk")" || missing_java
  fi
  printf '%s\n' "$home" >.venv/java-home
  export JAVA_HOME="$home"
}

missing_java() {
  local command
  case "$(uname)" in
    Darwin) command="brew install openjdk@17" ;;
    *) command="sudo apt-get install -y openjdk-17-jre-headless" ;;
  esac
  if command -v dnf >/dev/null; then command="sudo dnf install -y java-17-openjdk-headless"; fi
  die "Spark needs Java 17 or newer, and it could not be downloaded. This installs it:" "$command" \
    "(or set JAVA_HOME to a Java that you have)"
}

find_java

# ---- Delta's jars, once

python scripts/lib/jars.py "$ditto_home/jars"

# ---- the folder in which the demo's files arrive; empty until they do

mkdir -p "$ditto_home/landing"
