"""Events out: a push to a paho device, its acknowledgement, the feed, and a receiver on the Standard Webhooks library."""

import datetime
import http.server
import json
import queue
import subprocess
import threading

import pytest
from standardwebhooks import Webhook, WebhookVerificationError

from device import unique
from server import PATIENCE_S, PEER, Server, binary, until
from test_push_platform import counts, push, reader

pytestmark = pytest.mark.skipif(PEER == "mosquitto", reason="the push platform of stadium")

SECRET = "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD"


@pytest.fixture(scope="module")
def server():
    """A server for these feeds alone: their queues are looked at whole."""
    running = Server(loops=2)
    yield running
    running.stop()


class Receiver:
    """An HTTP server that answers with `statuses`, then 204 for ever, and keeps each request."""

    def __init__(self, statuses=()):
        self.requests = queue.Queue()
        answers = iter(statuses)
        receiver = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers["content-length"]))
                status = next(answers, 204)
                receiver.requests.put((status, {name.lower(): value for name, value in self.headers.items()}, body))
                self.send_response(status)
                self.send_header("content-length", "0")
                self.end_headers()

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}/hooks/stadium"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def take(self):
        return self.requests.get(timeout=PATIENCE_S)

    def close(self):
        self.server.shutdown()
        self.server.server_close()


@pytest.fixture
def receiver():
    made = []

    def make(*statuses):
        made.append(Receiver(statuses))
        return made[-1]

    yield make
    for each in made:
        each.close()


def stadium(server, *arguments):
    """Runs a command of the binary against the server, which must work: what it answers with --json."""
    command = [binary(), *arguments, "--json", "--data", server.folder / "data"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_S)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def follow(server, feed, url, kinds, backoff="10ms", attempts=30, topics=()):
    """Makes a feed with a webhook, whose queue tries again so soon and so often; other feeds of the app stay."""
    name = f"events.default.{feed}"
    stadium(server, "queue", "declare", name, "--attempts", str(attempts), "--backoff-first", backoff, "--backoff-max", backoff)
    settings = server.call("GET", "/api/apps?limit=100")[1]["apps"]
    feeds = next(each["settings"]["feeds"] for each in settings if each["app"] == "default")
    feeds.append({"name": feed, "kinds": kinds, "topics": list(topics), "webhook": {"url": url, "secret": SECRET}})
    status, answer = server.call("PUT", "/api/apps/default", {"feeds": feeds})
    assert status == 200, answer
    assert "secret" not in json.dumps(answer), "a secret is never shown"
    return name


def test_an_acknowledged_push_is_posted_to_a_webhook_signed_and_again_after_a_500(server, device, receiver):
    hook = receiver(500, 503)
    follow(server, "crm", hook.url, ["delivered", "opened"])
    name = unique("phone")
    phone = reader(device, name)
    id = push(server, audience={"device": name}, message="goal")
    assert phone.take().payload == b"goal"
    counts(server, id, delivered=1)

    posts = [hook.take() for _ in range(3)]
    assert [status for status, _, _ in posts] == [500, 503, 204]
    # Each post is signed for itself, and is of the same job.
    assert len({headers["webhook-id"] for _, headers, _ in posts}) == 1
    for _, headers, body in posts:
        events = Webhook(SECRET).verify(body, headers)
        assert headers["content-type"] == "application/json"
        assert (events["app"], events["feed"]) == ("default", "crm")
        (event,) = events["events"]
        at = datetime.datetime.fromisoformat(event.pop("at"))
        assert event == {"kind": "delivered", "device": name, "push": id}
        assert abs((datetime.datetime.now(datetime.UTC) - at).total_seconds()) < 60
    _, headers, body = posts[-1]
    for wrong in [(body + b" ", headers), (body, headers | {"webhook-id": "another"})]:
        with pytest.raises(WebhookVerificationError):
            Webhook(SECRET).verify(*wrong)
    with pytest.raises(WebhookVerificationError):
        Webhook("whsec_" + "A" * 32).verify(body, headers)

    # What was taken is settled, and what happens next is another job.
    assert server.call("POST", f"/api/apps/default/pushes/{id}/opened", {"device": name})[0] in (200, 204)
    status, headers, body = hook.take()
    events = Webhook(SECRET).verify(body, headers)["events"]
    assert status == 204 and [(event["kind"], event["push"]) for event in events] == [("opened", id)]
    until("both jobs to be settled", lambda: stadium(server, "queue", "stats", "events.default.crm")["totals"]["settled"] == 2)
    assert hook.requests.empty()


def test_an_event_that_no_receiver_takes_is_a_dead_letter_that_can_be_redriven(server, device, receiver):
    hook = receiver(500, 500, 500)
    feed = follow(server, "presence", hook.url, ["connected"], attempts=3)
    name = unique("phone")
    reader(device, name)
    posts = [hook.take() for _ in range(3)]
    assert [status for status, _, _ in posts] == [500, 500, 500]

    dead = until("the job to be dead", lambda: stadium(server, "queue", "dead", feed)["jobs"])
    assert len(dead) == 1 and dead[0]["attempts"] == 3, dead
    assert "500" in json.dumps(dead[0]["reason"]), dead
    assert dead[0]["id"] == posts[0][1]["webhook-id"]
    (event,) = json.loads(dead[0]["payload"])["events"]
    assert (event["kind"], event["device"]) == ("connected", name)
    text = subprocess.run([binary(), "queue", "dead", feed, "--data", server.folder / "data"], capture_output=True, text=True)
    assert dead[0]["id"] in text.stdout and "500" in text.stdout, text

    # The receiver is well again: what is redriven is posted, under the id that it had.
    assert stadium(server, "queue", "redrive", feed)["count"] == 1
    status, headers, body = hook.take()
    assert status == 204 and headers["webhook-id"] == dead[0]["id"]
    assert Webhook(SECRET).verify(body, headers)["events"][0]["device"] == name
    until("nothing to be dead", lambda: not stadium(server, "queue", "dead", feed)["jobs"])


def test_a_publish_of_a_device_is_posted_to_a_webhook_signed(server, device, receiver):
    hook = receiver()
    feed = follow(server, "uplinks", hook.url, ["message"], topics=["up/+/state"])
    name = unique("till")
    till = device(id=name)
    till.publish("up/1/other", b"not followed", qos=1)

    def told():
        # The feed is heeded within a few seconds.
        till.publish("up/1/state", b"open", qos=1)
        return not hook.requests.empty()

    until("a message to be told", told)
    status, headers, body = hook.take()
    told = Webhook(SECRET).verify(body, headers)
    assert status == 204 and (told["app"], told["feed"]) == ("default", "uplinks")
    event = told["events"][0]
    assert abs((datetime.datetime.now(datetime.UTC) - datetime.datetime.fromisoformat(event.pop("at"))).total_seconds()) < 60
    assert event == {"kind": "message", "device": name, "topic": "up/1/state", "qos": 1, "payload": "open"}
    assert stadium(server, "queue", "stats", feed)["totals"]["put"] >= 1
