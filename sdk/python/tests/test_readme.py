"""The samples of the README run as they are written."""

import re
import signal
import subprocess
import sys

from conftest import SDK, SOON
from test_types import samples


def test_hello_is_short():
    service, caller = samples()[0], samples()[1]
    assert len(service.strip().splitlines()) < 30 and len(caller.strip().splitlines()) < 30


def test_every_sample_runs(port, tmp_path):
    service, *callers = (sample.replace("7801", str(port)) for sample in samples())
    (tmp_path / "greeter.py").write_text(service)
    server = subprocess.Popen([sys.executable, "greeter.py"], cwd=tmp_path)
    try:
        for nth, caller in enumerate(callers):
            (tmp_path / f"caller_{nth}.py").write_text(caller)
            ran = subprocess.run(
                [sys.executable, f"caller_{nth}.py"], cwd=tmp_path, capture_output=True, text=True, timeout=SOON
            )
            assert ran.returncode == 0, ran.stderr
            expected = re.findall(r"# prints: (.*)", caller)
            assert expected and ran.stdout.splitlines() == expected
    finally:
        server.send_signal(signal.SIGTERM)
        assert server.wait(SOON) == 0


def test_the_table_of_settings_is_whole():
    text = (SDK / "README.md").read_text()
    import dataclasses

    import stadium

    for settings in (stadium.ClientSettings, stadium.ServerSettings):
        for field in dataclasses.fields(settings):
            assert f"`{field.name}`" in text, f"{settings.__name__}.{field.name} is not in the README"
