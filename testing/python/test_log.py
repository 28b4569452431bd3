"""The log about clients: connections, ends, and refusals with their reason."""

import socket

import pytest

import server as servers
from device import Refused, until

pytestmark = pytest.mark.skipif(servers.PEER == "mosquitto", reason="mosquitto has its own log")


def test_the_log_names_clients_that_come_and_go(start, device):
    running = start(settings='[log]\nlevel = "debug"\n')
    client = device(on=running, id="seen-7")
    client.disconnect()
    for line in ["Client connected", "Client disconnected"]:
        until(line, lambda: any(line in each and "seen-7" in each for each in running.output().splitlines()))
    assert "client_disconnect" in running.output()


def test_refused_clients_are_a_few_lines_a_second_and_a_count(start, device):
    settings = '[auth]\nanonymous = "refused"\n[auth.password]\nfile = "@passwords"\n'
    running = start(settings=settings, trial=False, loops=1, files={"passwords": ""})
    client = device(on=running, connect=False, id="guess-0")
    client.client.username_pw_set("nobody", "wrong")
    with pytest.raises(Refused):
        client.connect()
    # Thirty at once, without waiting for one another's answer: more than five in a second, however slow the machine is.
    crowd = [socket.create_connection(("127.0.0.1", running.tcp), timeout=20) for _ in range(30)]
    for number, each in enumerate(crowd, start=1):
        name = f"guess-{number}".encode()
        body = b"\x00\x04MQTT\x04\x02\x00\x3c" + len(name).to_bytes(2, "big") + name
        each.sendall(bytes([0x10, len(body)]) + body)
    for each in crowd:
        assert each.recv(4) == b"\x20\x02\x00\x05"
        each.close()
    until("the count of the rest", lambda: "More clients were refused than the log shows" in running.output())
    lines = [line for line in running.output().splitlines() if "Client refused" in line]
    assert lines and "guess-0" in lines[0] and "WARN" in lines[0] and "127.0.0.1" in lines[0], running.output()
    assert len(lines) < 30
