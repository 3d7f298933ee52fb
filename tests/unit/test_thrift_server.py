"""./scripts/thrift-server: the settings it starts Spark with."""

from __future__ import annotations

import pytest
import thrift_server


def test_what_is_given_wins_over_the_profile() -> None:
    options = thrift_server.parse(["start", "--conf", "spark.sql.shuffle.partitions=8", "--conf", "spark.x=a=b"])
    settings = thrift_server.server_settings("local[2]", None, dict(options.conf))
    assert settings["spark.sql.shuffle.partitions"] == "8" and settings["spark.x"] == "a=b"
    assert settings["spark.sql.extensions"] == "io.delta.sql.DeltaSparkSessionExtension"


@pytest.mark.parametrize("text", ["spark.driver.memory", "driver.memory=4g", ""])
def test_what_is_no_setting_is_refused(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        thrift_server.parse(["start", "--conf", text])
    assert "expected KEY=VALUE, such as spark.driver.memory=4g" in capsys.readouterr().err
