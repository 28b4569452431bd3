"""Topics over HTTP: `POST /api/publish` reaches devices, and server-sent events show what devices publish."""

import http.client
import json
import subprocess
import urllib.parse

import pytest

from device import V5, unique
from server import PATIENCE_S, PEER, binary, until

pytestmark = pytest.mark.skipif(PEER == "mosquitto", reason="the HTTP API of stadium")


def publish(server, topic, payload="", **more):
    status, answer = server.call("POST", "/api/publish", {"topic": topic, "payload": payload, **more})
    assert status == 200, answer
    return answer


class Stream:
    """An open `GET /api/topics/stream`: `next()` is its next event, as (kind, id, data)."""

    def __init__(self, server, *filters, key=True, last=None, **query):
        pairs = [("topic", each) for each in filters] + list(query.items())
        self.connection = http.client.HTTPConnection("127.0.0.1", server.ws, timeout=PATIENCE_S)
        headers = {"Last-Event-ID": last} if last else {}
        if key:
            headers["Authorization"] = f"Bearer {(server.folder / 'data/admin.key').read_text().strip()}"
        self.connection.request("GET", f"/api/topics/stream?{urllib.parse.urlencode(pairs)}", headers=headers)
        self.answer = self.connection.getresponse()
        self.last = last
        if self.answer.status == 200:
            kind, self.last, _ = self.next()
            assert kind == "subscribed"

    def next(self):
        """The next event; None at the end."""
        kind, id, data = "message", None, None
        while True:
            line = self.answer.readline().decode()
            if not line:
                return None
            name, _, value = line.rstrip("\n").partition(": ")
            if name == "event":
                kind = value
            elif name == "id":
                id = self.last = value
            elif name == "data":
                data = json.loads(value)
            elif not name and data is not None:
                return kind, id, data

    def payloads(self, count):
        return [self.next()[2]["payload"] for _ in range(count)]

    def close(self):
        self.connection.close()


@pytest.fixture
def stream(server):
    opened = []

    def make(*filters, on=None, **query):
        opened.append(Stream(on or server, *filters, **query))
        return opened[-1]

    yield make
    for each in opened:
        each.close()


@pytest.mark.parametrize("qos", [0, 1])
def test_a_published_message_reaches_devices_and_streams(server, device, stream, version, transport, topic, qos):
    phone, page = device(), stream(topic)
    phone.subscribe(topic, qos=1)
    assert publish(server, topic, "Goal!", qos=qos) == {
        "topic": topic, "status": "accepted", "matched": True, "retained": False,
    }
    message = phone.take()
    assert (message.payload, message.qos, message.retain) == (b"Goal!", qos, False)
    assert page.next()[2] == {"topic": topic, "payload": "Goal!", "qos": qos, "retained": False}


def test_nobody_matches_a_topic_without_subscribers(server):
    # Another loop may seem to want it: of several topics one has no collision.
    assert not all(publish(server, f"{unique('nobody')}/{n}", "x")["matched"] for n in range(3))


def test_properties_go_both_ways(server, device, stream, topic):
    phone, page = device(), stream(topic)
    phone.subscribe(topic, qos=1)
    given = {
        "content_type": "text/csv", "response_topic": "answers/1", "correlation_data_base64": "AQI=",
        "user_properties": [{"name": "a", "value": "b"}],
    }
    publish(server, topic, "x;y", expiry_s=60, **given)
    props = phone.take().properties
    assert (props.ContentType, props.ResponseTopic, props.CorrelationData) == ("text/csv", "answers/1", b"\x01\x02")
    assert props.UserProperty == [("a", "b")] and props.PayloadFormatIndicator == 1
    assert 50 <= props.MessageExpiryInterval <= 60
    shown = page.next()[2]
    assert {name: shown[name] for name in given} == given
    phone.publish(topic, b"\xff\x00", qos=1, ContentType="application/octet-stream")
    assert page.next()[2] == {
        "topic": topic, "payload_base64": "/wA=", "qos": 1, "retained": False,
        "content_type": "application/octet-stream",
    }


def test_a_retained_message_outlives_the_server_and_begins_a_stream(start, device, stream):
    server = start()
    assert publish(server, "score", "1:0", retain=True)["retained"]
    server.restart()
    phone = device(on=server)
    phone.subscribe("score", qos=1)
    assert phone.take().retain
    page = stream("score", "+", on=server)
    assert page.next()[2] == {"topic": "score", "payload": "1:0", "qos": 1, "retained": True}
    publish(server, "score", "2:0")
    assert page.next()[2]["payload"] == "2:0", "once, though two filters match"
    publish(server, "score", "", retain=True)
    assert stream("score", on=server, retained="false").last
    late = stream("score", on=server)
    publish(server, "score", "3:0")
    assert late.payloads(1) == ["3:0"], "the retained one is gone"


def test_a_device_that_is_away_is_owed_what_was_accepted(start, device):
    server = start()
    phone = device(on=server, clean=False, props={"SessionExpiryInterval": 600}, id="away")
    phone.subscribe("news", qos=1)
    phone.close()
    assert publish(server, "news", "while you were away")["matched"]
    server.restart()
    phone = device(on=server, clean=False, props={"SessionExpiryInterval": 600}, id="away")
    assert phone.take().payload == b"while you were away"


def test_a_batch_keeps_its_order(server, device, topic):
    phone = device()
    phone.subscribe(f"{topic}/#", qos=1)
    messages = [{"topic": f"{topic}/{n % 3}", "payload": str(n)} for n in range(100)]
    status, answer = server.call("POST", "/api/publish/batch", {"messages": messages})
    assert (status, answer["accepted"]) == (200, 100)
    assert [int(phone.take().payload) for _ in range(100)] == list(range(100))
    _, text = server.call("GET", "/metrics")
    published = [line for line in text.splitlines() if line.startswith("stadium_application_messages_total")]
    assert float(published[0].split()[1]) >= 100


def test_topics_of_the_server_are_refused(server):
    for topic in ("$SYS/x", "$share/g/t", "me/opened", "a/+", "rpc/queue/Put"):
        status, answer = server.call("POST", "/api/publish", {"topic": topic})
        assert (status, answer["code"]) == (422, "TOPIC-001"), answer


def test_a_stream_goes_on_where_it_ended(server, device, stream, topic):
    phone, page = device(), stream(f"{topic}/#")
    for n in range(3):
        phone.publish(f"{topic}/a", str(n), qos=1)
    assert page.payloads(2) == ["0", "1"]
    page.close()
    for n in range(3, 6):
        phone.publish(f"{topic}/b", str(n), qos=1)
    again = stream(f"{topic}/#", last=page.last)
    assert again.payloads(4) == ["2", "3", "4", "5"]
    # The same by a parameter, for an EventSource that is made anew.
    assert stream(f"{topic}/#", last_event_id=page.last).payloads(4) == ["2", "3", "4", "5"]


def test_a_place_that_is_gone_is_a_gap_and_never_a_silent_hole(start, device, stream):
    server = start(settings="[http]\ntopic_ring_bytes_max = 65_536\ntopic_ring_ms = 1_000\n")
    phone, page = device(on=server), stream("t", on=server)
    place = page.last
    for n in range(100):
        # One after the other: a reader that is 64 KB behind would end as slow.
        phone.publish("t", f"{n}".ljust(1_024), qos=1)
        assert page.payloads(1)[0].strip() == f"{n}", "one that reads misses nothing"
    gone = stream("t", on=server, last=place)
    assert gone.next() == ("gap", None, {"reason": "expired"})
    assert gone.next()[2]["payload"], "what is left follows"
    assert stream("t", on=server, last="0123456789abcdef-7").next() == ("gap", None, {"reason": "unwatched"})
    page.close()
    gone.close()
    place = stream("other", on=server).last
    _, text = server.call("GET", "/metrics")
    assert 'stadium_topic_stream_gaps_total{reason="expired"} 1' in text
    server.restart()
    assert stream("other", on=server, last=place).next()[2] == {"reason": "unwatched"}


def test_a_stream_that_is_not_read_ends_and_is_counted(start, device, stream):
    server = start(settings="[http]\ntopic_ring_bytes_max = 65_536\nwrite_ms = 600_000\n")
    phone, page = device(on=server), stream("t", on=server)

    def behind():
        for _ in range(200):
            phone.publish("t", b"x" * 10_000, qos=0)
        _, text = server.call("GET", "/metrics")
        lines = [line for line in text.splitlines() if line.startswith("stadium_topic_stream_messages_total")]
        behind.before, given = getattr(behind, "given", None), float(lines[0].split()[-1])
        behind.given = given
        return behind.before == given

    until("the stream to stand still", behind)
    # It reads again: what its socket holds, and then the end.
    while (event := page.next()) is not None and event[0] == "message":
        pass
    assert event[0] == "end" and event[2] == {"reason": "slow"}
    until(
        "the end to be counted",
        lambda: 'stadium_topic_stream_ends_total{reason="slow"} 1' in server.call("GET", "/metrics")[1],
    )


def test_a_drain_ends_streams_with_a_hint(start, stream):
    server = start()
    page = stream("t", on=server)
    server.process.terminate()
    kind, id, data = page.next()
    assert (kind, id, data) == ("end", page.last, {"reason": "draining"})
    assert page.next() is None
    assert server.process.wait(PATIENCE_S) == 0


def test_a_push_to_a_channel_reaches_a_stream_once(server, stream):
    channel = unique("channel")
    page = stream(f"channels/{channel}")
    for text in ("one", "two"):
        status, answer = server.call("POST", "/api/push", {"to": {"channel": channel}, "message": text})
        assert status == 202, answer
    assert page.payloads(2) == ["one", "two"]


def test_a_ticket_opens_a_stream_without_a_key(server, device, stream, topic):
    # In trial mode reading is open: a key without any right shows what a ticket adds.
    status, answer = server.call("POST", "/api/topics/tickets", {"filters": [f"{topic}/+"], "expires_in_s": 10})
    assert status == 201, answer
    page = stream(key=False, ticket=answer["ticket"])
    device().publish(f"{topic}/a", b"hi", qos=1)
    assert page.payloads(1) == ["hi"]
    assert stream("other", key=False, ticket=answer["ticket"]).answer.status == 401
    assert stream(key=False, ticket=answer["ticket"] + "x").answer.status == 401


def test_the_command_line_publishes(server, device, topic, tmp_path):
    phone = device()
    phone.subscribe(topic, qos=1)
    key = (server.folder / "data/admin.key").read_text().strip()

    def command(*arguments, input=None):
        whole = [binary(), "publish", *arguments, "--url", server.http]
        environment = {"STADIUM_KEY": key, "PATH": "/usr/bin:/bin"}
        return subprocess.run(whole, input=input, capture_output=True, env=environment, check=True, timeout=PATIENCE_S)

    command(topic, "hello", "--property", "a=b", "--content-type", "text/plain")
    message = phone.take()
    assert (message.payload, message.properties.UserProperty) == (b"hello", [("a", "b")])
    command(topic, "-", input=b"\xff\x00")
    assert phone.take().payload == b"\xff\x00"
    assert b"retained" in command(topic, "kept", "--retain", "--id", "r-1").stderr
    assert b"before" in command(topic, "kept", "--retain", "--id", "r-1").stderr
    assert [phone.take().payload, phone.messages.empty()] == [b"kept", True]
    assert b"removed" in command(topic, "--retain").stderr


def test_a_key_reads_and_writes_what_its_grants_name(start, stream):
    server = start(trial=False)
    grants = ["stream.publish:chat/*", "stream.subscribe:chat/*"]
    _, made = server.call("POST", "/api/keys", {"name": "web", "roles": [], "grants": grants})
    key = made["secret"]

    def ask(topic, **more):
        return server.call("POST", "/api/publish", {"topic": topic, **more}, key=key)[0]

    assert (ask("chat/lobby"), ask("other"), ask("chat/lobby", retain=True)) == (200, 403, 403)
    for topic, status in (("chat/#", 201), ("#", 403), ("+/lobby", 403), ("chat/+/x", 201)):
        assert server.call("POST", "/api/topics/tickets", {"filters": [topic]}, key=key)[0] == status, topic
    assert server.call("GET", "/api/topics/stream?topic=chat/a", key=None)[0] == 401
