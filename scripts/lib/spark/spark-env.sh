# Read by Spark's launcher: the bootstrap links this folder into the environment as Spark's conf folder.

# The Java that the bootstrap found or downloaded, where the shell's own would not do.
if [[ -r "${SPARK_HOME}/../../../../java-home" ]]; then
  JAVA_HOME="$(< "${SPARK_HOME}/../../../../java-home")"
fi

SPARK_LOCAL_IP="${SPARK_LOCAL_IP:-127.0.0.1}"
SPARK_LAUNCHER_OPTS="${SPARK_LAUNCHER_OPTS:--XX:+UseSerialGC -XX:TieredStopAtLevel=1}"

# Java warns about a module that Spark always asks for: nothing that a reader could act on.
set +o posix
exec 2> >(exec grep --line-buffered -v 'WARNING: Using incubator modules' >&2)
