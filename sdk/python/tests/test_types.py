"""mypy --strict passes on the package, on the sample of the README, and finds a wrong use."""

import os
import re
import subprocess
import sys
import tempfile

import pytest

from conftest import SDK


@pytest.fixture(scope="module")
def cache():
    """What one check has found out, for the next: the stubs of the library take most of the time."""
    with tempfile.TemporaryDirectory() as folder:
        yield folder


def mypy(cache, folder, *arguments):
    """Checks files, which may import what is in the folder."""
    command = [sys.executable, "-m", "mypy", "--strict", "--cache-dir", cache, *arguments]
    environment = dict(os.environ, MYPYPATH=str(folder))
    return subprocess.run(command, capture_output=True, text=True, cwd=SDK, env=environment)


def samples():
    text = (SDK / "README.md").read_text()
    return re.findall(r"```python\n(.*?)```", text, re.DOTALL)


def test_the_package_and_the_samples_are_typed(cache, tmp_path):
    files = []
    for nth, sample in enumerate(samples()):
        files.append(tmp_path / ("greeter.py" if nth == 0 else f"sample_{nth}.py"))
        files[-1].write_text(sample)
    checked = mypy(cache, tmp_path, "stadium", *map(str, files))
    assert checked.returncode == 0, checked.stdout


def test_a_wrong_type_is_found(cache, tmp_path):
    wrong = tmp_path / "wrong.py"
    wrong.write_text(
        "import stadium\n"
        'METHOD = stadium.unary("words/Echo", bytes, bytes)\n'
        'def call(client: stadium.Client) -> str:\n    return client.call(METHOD, "text")\n'
        "def put(queue: stadium.queue.Queue) -> int:\n    return queue.put('text')\n"
        'SERVICE = stadium.Service("words")\n'
        "@SERVICE.on(METHOD)\ndef echo(request: int, call: stadium.Call) -> bytes:\n    return b''\n"
    )
    checked = mypy(cache, tmp_path, str(wrong))
    assert checked.returncode == 1
    errors = [line for line in checked.stdout.splitlines() if ": error:" in line]
    assert {int(line.split(":")[1]) for line in errors} == {4, 6, 8}, checked.stdout
