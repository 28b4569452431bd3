"""A server whose program changes while its data directory and ports stay.

STADIUM_OLD names the program of the last release, STADIUM_BIN the one under test; `cargo xtask test upgrade` sets both.
"""

import os
import pathlib
import signal
import subprocess

from server import PATIENCE_S, Server, binary, until

NEW = binary()
OLD = pathlib.Path(os.environ.get("STADIUM_OLD", ""))
assert OLD.is_file(), "STADIUM_OLD names no program: run `cargo xtask test upgrade`"

SETTINGS = "[shards]\ncount = 2\n[wallet]\nseal_after_s = 1\n"
# A device keeps its session for an hour.
SESSION_S = 3600


def stadium(program, *arguments, within_s=60):
    """Runs a command of a program to its end."""
    command = [program, *(str(part) for part in arguments)]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("STADIUM_")}
    return subprocess.run(command, capture_output=True, text=True, timeout=within_s, env=environment, check=False)


def must(program, *arguments):
    """The output of a command that must work."""
    done = stadium(program, *arguments)
    assert done.returncode == 0, f"{arguments}: {done.returncode}\n{done.stdout}\n{done.stderr}"
    return done.stdout


class Installed(Server):
    """A server that begins with one program and goes on with others."""

    def __init__(self, program):
        self.program = program
        super().__init__(settings=SETTINGS)

    def _stadium(self, loops, settings, trial, rpc):
        command = super()._stadium(loops, settings, trial, rpc)
        return [self.program, *command[1:]]

    @property
    def data(self):
        return self.folder / "data"

    def terminate(self):
        """SIGTERM, as a service manager sends it; the server must drain."""
        self.process.send_signal(signal.SIGTERM)
        assert self.process.wait(PATIENCE_S) == 0, self.output()

    def begin(self, program, data=None):
        """Starts a program on the directory, or on another one."""
        at = self.command.index("--data") + 1
        self.command = [program, *self.command[1:at], data or self.command[at], *self.command[at + 1 :]]
        self._start()

    def _start(self):
        """Unlike the base class, keeps the directory where the program does not start."""
        self.process = subprocess.Popen(
            self.command, stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log, cwd=self.folder, env=self.environment
        )
        until("the server to be ready", self._ready)

    def tries(self, program):
        """Starts a program that may refuse the directory. Returns its refusal; nothing where it serves."""
        self.log.seek(0, 2)
        begins = self.log.tell()
        try:
            self.begin(program)
        except AssertionError:
            assert self.process.poll() not in (None, 0), "it ended well, and served nothing"
            return self.output()[begins:]
        return None

    def call(self, method, path, body=None, key="admin", headers=()):
        """One call. The admin key is read once: it survives the change of the program."""
        if key == "admin":
            if not hasattr(self, "admin"):
                self.admin = (self.data / "admin.key").read_text().strip()
            key = self.admin
        return super().call(method, path, body, key, headers)

    def ask(self, method, path, body=None, key="admin"):
        status, answer = self.call(method, path, body, key)
        assert 200 <= status < 300, f"{method} {path}: {status} {answer}"
        return answer
