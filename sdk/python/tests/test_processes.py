"""Servers that are killed, told to stop, or forked; discovery that is killed."""

import os
import signal
import socket
import subprocess
import tempfile
import time

import pytest

import stadium
from conftest import SOON, until
from words import ECHO, text

#: Serves on the port of its argument; answers slowly where it is asked to.
SERVER = """
import asyncio, sys
import stadium
service = stadium.Service("words")

@service.on(stadium.unary("words/Echo", bytes, bytes))
async def echo(request, call):
    if b"slow" in request:
        print("begun", flush=True)
        await asyncio.sleep(1.0)
    return request

settings = {"discovery": stadium.Discovery(sys.argv[2], session_ttl=2)} if len(sys.argv) > 2 else {}
print("ready", flush=True)
stadium.serve(service, listen=f"127.0.0.1:{sys.argv[1]}", **settings)
print("stopped", flush=True)
"""


def served(client):
    """Waits until calls are answered."""

    def answered():
        try:
            return client.call(ECHO, text("there?"), deadline=1) == text("there?")
        except stadium.Error:
            return False

    until("the service answers", answered)


def test_a_server_that_is_killed_in_a_call_breaks_it_and_is_found_again(program, port):
    server = program(SERVER, str(port))
    with stadium.Client(f"127.0.0.1:{port}", attempts=1) as client:
        served(client)
        call = client.submit(stadium.unary("words/Echo", bytes, bytes), b"slow", deadline=20)
        while server.line() != "begun":
            pass
        server.process.kill()
        with pytest.raises(stadium.ConnectionBroken) as broken:
            call.result(SOON)
        assert broken.value.may_have_happened
        with pytest.raises(stadium.Unavailable) as unavailable:
            client.call(ECHO, text("x"), deadline=15)
        assert not unavailable.value.may_have_happened and str(port) in str(unavailable.value)
        program(SERVER, str(port))
        served(client)


def test_sigterm_finishes_the_work_under_way(program, port):
    server = program(SERVER, str(port))
    with stadium.Client(f"127.0.0.1:{port}") as client:
        served(client)
        call = client.submit(stadium.unary("words/Echo", bytes, bytes), b"slow", deadline=20)
        while server.line() != "begun":
            pass
        server.process.send_signal(signal.SIGTERM)
        assert call.result(SOON) == b"slow"
        assert server.line() == "stopped" and server.end() == 0


def test_a_forked_child_is_told_and_may_make_its_own(program, port):
    program(SERVER, str(port))
    with stadium.Client(f"127.0.0.1:{port}") as client:
        served(client)
        child = os.fork()
        if child == 0:
            code = 1
            try:
                try:
                    client.submit(ECHO, text("x"))
                except RuntimeError as error:
                    assert "fork" in str(error)
                    own = stadium.Client(f"127.0.0.1:{port}")
                    assert own.call(ECHO, text("child")).value == "child"
                    code = 0
            finally:
                os._exit(code)
        _, status = os.waitpid(child, 0)
        assert os.waitstatus_to_exitcode(status) == 0
        assert client.call(ECHO, text("parent")).value == "parent"


def free_port():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


@pytest.fixture
def etcd():
    """A real etcd, and how to start it again."""
    ports = free_port(), free_port()
    client_url, peer_url = (f"http://127.0.0.1:{each}" for each in ports)
    with tempfile.TemporaryDirectory() as folder:
        command = [
            "etcd", "--data-dir", folder, "--listen-client-urls", client_url, "--log-level", "error",
            "--advertise-client-urls", client_url, "--listen-peer-urls", peer_url,
            "--initial-advertise-peer-urls", peer_url, "--initial-cluster", f"default={peer_url}",
        ]
        running = []

        def start():
            running.append(subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))

        start()
        yield f"etcd://127.0.0.1:{ports[0]}", running, start
        for one in running:
            one.kill()
            one.wait()


def test_etcd_that_is_killed_does_not_stop_calls(program, port, etcd):
    url, running, start = etcd
    first = program(SERVER, str(port), url)
    with stadium.Client(discovery=stadium.Discovery(url), attempts=3, unreachable_grace=5) as client:
        served(client)
        running[0].kill()
        running[0].wait()
        for _ in range(50):
            assert client.call(ECHO, text("still")).value == "still"
            time.sleep(0.01)
        start()
        # Another instance registers with the etcd that is back, and calls go there when the first ends.
        other = free_port()
        program(SERVER, str(other), url)
        until("the client knows the other one", lambda: str(other) in client.explain(ECHO))
        first.process.send_signal(signal.SIGTERM)
        assert first.end() == 0
        served(client)
