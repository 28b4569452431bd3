"""Crosses the programs of another language with the Rust ones: each client with each service, all four methods.

crosses.py FOLDER FOLDER_OF_RUST_PROGRAMS
"""

import ctypes
import os
import pathlib
import re
import selectors
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor

OURS, RUST = (pathlib.Path(folder) for folder in sys.argv[1:3])
PATIENCE_S = 40
# Exit codes of a service that SIGTERM has ended in order: a JVM ends with the number of the signal.
LEFT = {0, 128 + signal.SIGTERM}

# Requests that can never work, with the reason that the service gives.
REFUSED = [
    (("--device", "x", "--lat", 95, "--lon", 0), "latitude 95 is not between -90 and 90 (GEO-001)"),
    (("--device", "x", "--lat", 0, "--lon", 181), "longitude 181 is not between -180 and 180 (GEO-002)"),
    (("--device", "x" * 129, "--lat", 0, "--lon", 0), "device id has 129 bytes, not 1 to 128 (GEO-003)"),
    (("--last", "nobody"), 'device "nobody" was never seen here (GEO-004)'),
    (("--near", "0,0,-1"), "radius -1 m is not more than 0 (GEO-005)"),
]


def ends_with_us():
    """Has the kernel end a child when this process ends: PR_SET_PDEATHSIG."""
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)


class Process:
    """A program whose lines are read with a deadline; killed at the end."""

    def __init__(self, *command):
        self.process = subprocess.Popen(
            [str(word) for word in command],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            preexec_fn=ends_with_us,
        )
        self.unread = b""

    def line(self):
        deadline = time.monotonic() + PATIENCE_S
        with selectors.DefaultSelector() as selector:
            selector.register(self.process.stdout, selectors.EVENT_READ)
            while b"\n" not in self.unread:
                assert selector.select(max(0, deadline - time.monotonic())), "no line in time"
                read = os.read(self.process.stdout.fileno(), 4096)
                assert read, f"{self.process.args[0]} ended with {self.process.wait()}"
                self.unread += read
        line, _, self.unread = self.unread.partition(b"\n")
        return line.decode()

    def leave(self):
        """SIGTERM, and the exit code."""
        self.process.terminate()
        return self.process.wait(PATIENCE_S)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()


def service(folder, *flags):
    """A service and its address."""
    process = Process(folder / "geo-service", "--listen", "127.0.0.1:0", *flags)
    line = process.line()
    assert line.startswith("geo 1 listens on 127.0.0.1:"), line
    return process, line.rsplit(" ", 1)[1]


def client(folder, where, *flags):
    command = [folder / "geo-client", *where, "--deadline", "20000", *flags]
    return subprocess.run(
        [str(word) for word in command], capture_output=True, text=True, timeout=PATIENCE_S
    )


def watcher(folder, address):
    """A watch from the beginning: by our client, or by the command line of Stadium."""
    if folder == OURS:
        return Process(folder / "geo-client", "--address", address, "--watch")
    request = '{"with_last": true}'
    command = [folder / "stadium", "service", "call", "geo/Watch", request, "--instance", address]
    return Process(*command, "--deadline", "30s")


def check_refusals(run):
    """The service refuses, and the client shows why. Side by side: a client may take long to start."""
    with ThreadPoolExecutor(len(REFUSED)) as clients:
        for (flags, text), refused in zip(REFUSED, clients.map(lambda one: run(*one[0]), REFUSED)):
            assert refused.returncode == 1 and text in refused.stderr, (flags, refused)


def check(client_folder, service_folder):
    process, address = service(service_folder)
    where = ["--address", address]
    with process:

        def run(*flags):
            return client(client_folder, where, *flags)

        stored = run("--device", "phone-1", "--lat", "37.98", "--lon", "23.73")
        assert (stored.returncode, stored.stdout.strip()) == (0, "Ok"), stored
        far = run("--device", "phone-2", "--lat", "-33.5", "--lon", "151.25")
        assert far.returncode == 0, far
        last = run("--last", "phone-1")
        assert last.stdout.startswith("phone-1 37.98 23.73 "), last
        assert last.stdout.rstrip().endswith("Significant"), last
        near = run("--near", "37.98,23.73,5000")
        assert near.stdout == last.stdout, near
        if client_folder != service_folder:
            check_refusals(run)
        with watcher(client_folder, address) as watching:
            first = {watching.line() for _ in range(2)}
            assert any("phone-1" in line for line in first), first
            assert any("phone-2" in line for line in first), first
            moved = run("--device", "phone-1", "--lat", "38.5", "--lon", "23.73")
            assert moved.returncode == 0, moved
            line = watching.line()
            assert "phone-1" in line and "38.5" in line, line
        storm = run("--events", "3000", "--devices", "50")
        counted = re.match(r"(\d+) stored, (\d+) busy, 0 rejected, 0 failed in ", storm.stdout)
        assert storm.returncode == 0 and counted, storm
        # A service that has just begun may be too slow for some of them, and answers Busy.
        stored, busy = map(int, counted.groups())
        assert stored + busy == 3000 and stored > 1500, storm
        with watcher(client_folder, address) as watching:
            assert watching.line()
            # The service leaves: the watch ends, and does not hold it up.
            began = time.monotonic()
            assert process.leave() in LEFT
            assert time.monotonic() - began < 20
            watching.process.wait(PATIENCE_S)


def check_etcd():
    """A service of ours that registers itself is found by the Rust client, and the reverse."""
    etcd = shutil.which("etcd")
    if etcd is None:
        print("etcd is not installed: discovery is left out")
        return
    with tempfile.TemporaryDirectory(prefix="geo-etcd-") as folder:
        sockets = [socket.socket() for _ in range(2)]
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        urls = [f"http://127.0.0.1:{one.getsockname()[1]}" for one in sockets]
        for one in sockets:
            one.close()
        flags = ["--data-dir", folder]
        flags += ["--listen-client-urls", urls[0], "--advertise-client-urls", urls[0]]
        flags += ["--listen-peer-urls", urls[1], "--initial-advertise-peer-urls", urls[1]]
        flags += ["--initial-cluster", f"default={urls[1]}", "--unsafe-no-fsync"]
        with Process(etcd, *flags):
            for client_folder, service_folder in [(RUST, OURS), (OURS, RUST)]:
                process, _ = service(service_folder, "--etcd", urls[0])
                with process:
                    deadline = time.monotonic() + PATIENCE_S
                    while True:
                        event = ["--device", "a", "--lat", "1", "--lon", "2"]
                        stored = client(client_folder, ["--etcd", urls[0]], *event)
                        if stored.returncode == 0:
                            break
                        assert time.monotonic() < deadline, stored
                    assert process.leave() in LEFT


for pair in [(RUST, OURS), (OURS, RUST), (OURS, OURS)]:
    check(*pair)
    print(f"{pair[0].name} client, {pair[1].name} service: all held", flush=True)
check_etcd()
print("geo: all held")
