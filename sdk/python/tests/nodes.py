"""A real `stadium` server for tests, with its keys; the one that testing/python starts for its suites."""

import os
import pathlib
import signal
import subprocess
import sys
from typing import Any

from conftest import ROOT

sys.path.insert(0, str(ROOT / "testing/python"))

from server import Server, binary, free_port  # noqa: E402


#: Where devices' requests to the service `words` go.
WORDS_PORT = free_port()

#: Two shards, so that transfers may go between them, and seals that come soon.
SETTINGS = f"""
[shards]
count = 2
[wallet]
seal_after_s = 1
[discovery]
backend = "static"
services = ["words/1=127.0.0.1:{WORDS_PORT}"]
"""


class Node(Server):
    """A server that answers RPC at a port of its own, also after a restart."""

    def __init__(self) -> None:
        self.rpc_port = free_port()
        super().__init__(loops=1, settings=SETTINGS, rpc=self.rpc)

    @property
    def rpc(self) -> str:
        return f"127.0.0.1:{self.rpc_port}"

    @property
    def data(self) -> pathlib.Path:
        return pathlib.Path(self.folder) / "data"

    @property
    def admin_key(self) -> pathlib.Path:
        return self.data / "admin.key"

    def key(self, **body: Any) -> "tuple[str, str]":
        """Makes an API key: its id and its secret."""
        status, made = self.call("POST", "/api/keys", {"name": "test", **body})
        assert status in (200, 201), made
        return made["key"]["id"], made["secret"]

    def revoke(self, id: str) -> None:
        status, answer = self.call("DELETE", f"/api/keys/{id}")
        assert status in (200, 204), answer

    def kill(self) -> None:
        """Ends it as a crash does."""
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def start_again(self) -> None:
        self._start()

    def cli(self, *arguments: str, check: bool = True) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            [str(binary()), *arguments], capture_output=True, text=True, timeout=30, check=check,
            env={**os.environ, "STADIUM_DATA": str(self.data)},
        )


