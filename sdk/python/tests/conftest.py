"""The package as it is in the repository, with the native module that cargo built."""

import os
import pathlib
import socket
import subprocess
import sys
import tempfile
import time

import pytest

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[2]
SDK = HERE.parent

#: The longest that anything may take that happens at all, in seconds.
SOON = 20.0


def _assemble() -> pathlib.Path:
    """A folder that has the package beside its native module; an installed wheel needs none."""
    native = pathlib.Path(os.environ.get("STADIUM_PYTHON_MODULE", ROOT / "target/debug/lib_stadium.so"))
    assert native.exists(), f"cargo build -p stadium-python makes {native}"
    folder = pathlib.Path(tempfile.mkdtemp(prefix="stadium-python-"))
    package = folder / "stadium"
    package.mkdir()
    for source in (SDK / "stadium").iterdir():
        if source.name in {"aio", "rpc", "v1"} or source.suffix in {".py", ".pyi", ".typed"}:
            (package / source.name).symlink_to(source)
    (package / "_stadium.abi3.so").symlink_to(native)
    return folder


if os.environ.get("STADIUM_WHEEL") is None:
    PACKAGES = _assemble()
    sys.path.insert(0, str(PACKAGES))
    os.environ["PYTHONPATH"] = str(PACKAGES)
    os.environ["MYPYPATH"] = str(PACKAGES)


@pytest.fixture
def port() -> int:
    """A port that nobody else takes."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        number: int = free.getsockname()[1]
        return number


class Program:
    """A Python program of its own."""

    def __init__(self, text: str, *arguments: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-u", "-c", text, *arguments],
            stdout=subprocess.PIPE,
            text=True,
            # Python looks where it is started first, and here the package has no native module.
            cwd=tempfile.gettempdir(),
        )

    def line(self) -> str:
        assert self.process.stdout is not None
        return self.process.stdout.readline().strip()

    def end(self) -> int:
        return self.process.wait(SOON)


@pytest.fixture
def program():
    """Starts programs, and ends those that are left."""
    started = []

    def start(text: str, *arguments: str) -> Program:
        one = Program(text, *arguments)
        started.append(one)
        return one

    yield start
    for one in started:
        one.process.kill()
        one.process.wait()


def until(what: str, so) -> None:
    """Waits until it is so."""
    deadline = time.monotonic() + SOON
    while not so():
        assert time.monotonic() < deadline, f"not within {SOON} s: {what}"
        time.sleep(0.005)


@pytest.fixture(scope="session")
def node():
    """A `stadium` server that the tests share; each keeps to names of its own."""
    from nodes import Node

    running = Node()
    yield running
    running.stop()
