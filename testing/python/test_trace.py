"""A live trace of one client or topic: `stadium device trace`."""

import json
import subprocess

import pytest

import server as servers

pytestmark = pytest.mark.skipif(servers.PEER == "mosquitto", reason="mosquitto has none")


class Trace:
    """`stadium device trace`, whose lines are there when it reports that it began."""

    def __init__(self, running, *arguments):
        key = (running.folder / "data/admin.key").read_text().strip()
        command = [servers.binary(), "--json", "device", "trace", *arguments, "--url", running.http, "--key", key]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        first = self.next()
        assert first["line"] == "trace began", first

    def next(self):
        line = self.process.stdout.readline()
        assert line, "the trace ended"
        return json.loads(line)

    def until(self, begin):
        """Its lines up to the first that begins so."""
        lines = []
        while not lines or not lines[-1][1].startswith(begin):
            event = self.next()
            lines.append((event["direction"], event["line"]))
        return lines

    def end(self):
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()


@pytest.fixture
def trace():
    begun = []

    def begin(running, *arguments):
        begun.append(Trace(running, *arguments))
        return begun[-1]

    yield begin
    for each in begun:
        each.end()


def test_a_trace_shows_the_packets_of_one_client_and_no_payload(server, device, trace, version, topic):
    watched = device(connect=False)
    watched.client.username_pw_set("anna", "secret-word")
    other = device()
    following = trace(server, watched.id)
    watched.connect()
    watched.subscribe(topic, qos=1)
    other.publish(topic, b"secret-payload", qos=1)
    watched.take()
    other.publish(f"{topic}/elsewhere", b"not of this client", qos=1)
    watched.publish(topic, b"secret-payload", qos=1)
    watched.disconnect()
    lines = following.until("disconnected")
    text = "\n".join(f"{way} {line}" for way, line in lines)
    assert "secret-payload" not in text and "secret-word" not in text and "elsewhere" not in text
    ways = [(way, line.split(" ")[0]) for way, line in lines]
    assert ways[:4] == [("in", "CONNECT"), ("out", "CONNACK"), ("in", "SUBSCRIBE"), ("out", "SUBACK")], text
    assert "user=anna password=(hidden)" in text and f"filter={topic} qos=1" in text
    for wanted in [f"out PUBLISH topic={topic} qos=1", f"in PUBLISH topic={topic} qos=1", "payload=14 bytes", "in DISCONNECT"]:
        assert wanted in text, text
    assert {("in", "PUBACK"), ("out", "PUBACK")} <= set(ways), text
    assert lines[-1] == ("none", "disconnected: client_disconnect")


def test_a_trace_of_a_topic_shows_its_publishers_and_receivers(server, device, trace, topic):
    sender, watcher = device(), device()
    watcher.subscribe(f"{topic}/#")
    following = trace(server, "--topic", f"{topic}/+")
    sender.publish(f"{topic}/a/b", b"two levels")
    sender.publish(f"{topic}/a", b"x")
    events = [following.next(), following.next()]
    seen = {(event["device"], event["direction"]) for event in events}
    assert seen == {(sender.id, "in"), (watcher.id, "out")}, events
    assert all(event["line"] == f"PUBLISH topic={topic}/a qos=0 payload=1 bytes" for event in events), events


def test_a_trace_takes_an_admin_and_names_mistakes(server):
    assert server.call("GET", "/api/trace?device=x", key=None)[0] == 401
    for query in ["", "?device=x&topic=y", "?topic=a/%23/b", "?devise=x"]:
        status, problem = server.call("GET", f"/api/trace{query}")
        assert (status, problem["code"]) == (400, "HTTP-017"), (query, problem)
