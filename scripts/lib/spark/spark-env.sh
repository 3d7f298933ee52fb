# Read by Spark's launcher: the bootstrap links this folder into the environment as Spark's conf folder.
venv="${SPARK_HOME}/../../../.."

# The Java that the bootstrap found or downloaded, where the shell's own would not do.
if [[ -r "$venv/java-home" ]]; then
  JAVA_HOME="$(<"$venv/java-home")"
fi

# With `dbt --project-dir` from elsewhere, relative paths in profiles.yml still mean the project's folder.
if [[ ! -e dbt_project.yml && -e "$venv/../dbt_project.yml" ]]; then
  cd "$venv/.."
fi

SPARK_LOCAL_IP="${SPARK_LOCAL_IP:-127.0.0.1}"
SPARK_LAUNCHER_OPTS="${SPARK_LAUNCHER_OPTS:--XX:+UseSerialGC -XX:TieredStopAtLevel=1}"

# Java warns about a module that Spark always asks for: nothing that a reader could act on.
set +o posix
exec 2> >(exec grep --line-buffered -v 'WARNING: Using incubator modules' >&2)
