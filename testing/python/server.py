"""The server under test: the built binary on free loopback ports, with a data directory that goes with it.

STADIUM_BIN names the binary; without it target/debug/stadium is used. STADIUM_TEST_PEER=mosquitto starts
mosquitto instead: that proves the suite itself against a broker that others wrote.
"""

import base64
import json
import os
import pathlib
import shutil
import signal
import socket
import ssl
import subprocess
import tempfile
import time
import urllib.error
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parents[2]
PATIENCE_S = 20
PEER = os.environ.get("STADIUM_TEST_PEER", "stadium")
# Segments as small as they may be: a shard takes 9 MiB of disk at its start, not 80.
SMALL_JOURNAL = {"STADIUM_JOURNAL__SEGMENT_BYTES": "9437184", "STADIUM_JOURNAL__RESERVE_BYTES": "262144"}


def until(what, look, within_s=PATIENCE_S):
    """Asks `look` again and again until it gives something true, and returns that."""
    deadline = time.monotonic() + within_s
    while True:
        found = look()
        if found:
            return found
        if time.monotonic() >= deadline:
            raise AssertionError(f"waited {within_s} s for {what}")
        time.sleep(0.005)


def free_port():
    """A port below the kernel's ephemeral range that nobody listens on."""
    start = os.getpid() * 977 % 20_000
    for step in range(20_000):
        free_port.next = (free_port.next + 1) % 20_000
        port = 12_000 + (start + free_port.next) % 20_000
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
        return port
    raise AssertionError("no free port on 127.0.0.1")


free_port.next = 0


def binary():
    named = os.environ.get("STADIUM_BIN")
    path = pathlib.Path(named) if named else ROOT / "target/debug/stadium"
    assert path.is_file(), f"{path} is not there: run `cargo build -p stadium-cli`, or name it in STADIUM_BIN"
    return path


class Server:
    """A running server. `tcp`, `ws` and `tls` are ports of 127.0.0.1; `http` is the API's base URL."""

    def __init__(self, *, loops=2, settings="", trial=True, tls=False, files=(), rpc="127.0.0.1:0", https=None, own=None):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="stadium-test-"))
        for name, text in dict(files).items():
            (self.folder / name).write_text(text)
        self.tcp = free_port()
        self.ws = free_port()
        self.tls = free_port() if tls else None
        # The certificate that an HTTPS port shows.
        self.trust = ssl.create_default_context(cafile=https) if https else None
        if own:
            self.trust.load_cert_chain(f"{own}.pem", f"{own}.key")
        self.http = f"{'https' if https else 'http'}://127.0.0.1:{self.ws}"
        self.log = open(self.folder / "log", "w+", encoding="utf-8", errors="replace")
        if PEER == "mosquitto":
            command = self._mosquitto(tls)
        else:
            command = self._stadium(loops, settings, trial, rpc)
        self.command = command
        self.environment = os.environ | ({} if "[journal]" in settings else SMALL_JOURNAL)
        self._start()

    def _start(self):
        self.process = subprocess.Popen(
            self.command,
            stdin=subprocess.DEVNULL,
            stdout=self.log,
            stderr=self.log,
            cwd=self.folder,
            env=self.environment,
        )
        try:
            until("the server to be ready", self._ready)
        except BaseException:
            self.stop()
            raise

    def restart(self):
        """Stops the server as an operator does, and starts it again on the same data and ports."""
        self.process.send_signal(signal.SIGTERM)
        assert self.process.wait(PATIENCE_S) == 0, self.output()
        self._start()

    def _stadium(self, loops, settings, trial, rpc):
        (self.folder / "stadium.toml").write_text(settings.replace("@", f"{self.folder}/"))
        command = [binary(), "serve", "--config", self.folder / "stadium.toml", "--data", self.folder / "data"]
        command += ["--mqtt", f"127.0.0.1:{self.tcp}", "--http", f"127.0.0.1:{self.ws}"]
        command += ["--rpc", rpc]
        command += ["--loops", str(loops)]
        if self.tls:
            command += ["--mqtts", f"127.0.0.1:{self.tls}"]
        return command + (["--trial"] if trial else [])

    def _mosquitto(self, tls):
        lines = ["user root", "allow_anonymous true", "persistence false", "retain_available true", "max_packet_size 262144"]
        lines += [f"listener {self.tcp} 127.0.0.1", f"listener {self.ws} 127.0.0.1", "protocol websockets"]
        if tls:
            lines += [f"listener {self.tls} 127.0.0.1", f"certfile {self.folder}/server.pem"]
            lines += [f"keyfile {self.folder}/server.key", f"cafile {self.folder}/ca.pem"]
        (self.folder / "mosquitto.conf").write_text("\n".join(lines) + "\n")
        return ["/usr/sbin/mosquitto", "-c", self.folder / "mosquitto.conf"]

    def _ready(self):
        if self.process.poll() is not None:
            raise AssertionError(f"the server ended with {self.process.returncode}:\n{self.output()}")
        if PEER == "mosquitto":
            with socket.socket() as probe:
                return probe.connect_ex(("127.0.0.1", self.tcp)) == 0
        try:
            return self.call("GET", "/readyz", key=None)[0] == 200
        except OSError:
            return False

    def port(self, transport):
        return {"tcp": self.tcp, "ws": self.ws, "tls": self.tls}[transport]

    def call(self, method, path, body=None, key="admin", headers=()):
        """One HTTP call: status and JSON (or text)."""
        request = urllib.request.Request(self.http + path, method=method, headers=dict(headers))
        if key == "admin":
            key = (self.folder / "data/admin.key").read_text().strip()
        if key:
            request.add_header("Authorization", f"Bearer {key}")
        if body is not None:
            request.data = json.dumps(body).encode()
            request.add_header("Content-Type", "application/json")
        try:
            with urllib.request.urlopen(request, timeout=PATIENCE_S, context=self.trust) as answer:
                status, text = answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            with error:
                status, text = error.code, error.read().decode()
        try:
            return status, json.loads(text)
        except ValueError:
            return status, text

    def output(self):
        return (self.folder / "log").read_text(errors="replace")

    def stop(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(5)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        self.log.close()
        shutil.rmtree(self.folder, ignore_errors=True)


def openssl(*arguments, cwd):
    try:
        subprocess.run(["openssl", *arguments], cwd=cwd, check=True, capture_output=True)
    except FileNotFoundError:
        raise AssertionError("cannot run openssl; install the Debian package openssl") from None


def b64url(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()
