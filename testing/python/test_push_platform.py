"""The push platform with paho: a device that leaves and returns gets exactly what it missed, in order."""

import json
import uuid

import pytest

from device import V5, unique
from server import PEER, until

pytestmark = pytest.mark.skipif(PEER == "mosquitto", reason="the push platform of stadium")


def push(server, **body):
    status, answer = server.call("POST", "/api/apps/default/pushes", body)
    assert status == 202, answer
    return answer["id"]


def counts(server, id, **expected):
    def look():
        status, seen = server.call("GET", f"/api/apps/default/pushes/{id}")
        assert status == 200, seen
        look.last = seen["counts"]
        return look.last if all(look.last[name] == value for name, value in expected.items()) else None

    try:
        return until(f"the push to count {expected}", look)
    except AssertionError as error:
        raise AssertionError(f"{error}; last: {look.last}") from None


def reader(device, id, **arguments):
    phone = device(id=id, **arguments)
    phone.subscribe(f"inbox/{id}", qos=1)
    return phone


def new_reader(server, device, id, **arguments):
    """One that connects for the first time: the platform registers it shortly after the SUBACK."""
    phone = reader(device, id, **arguments)
    until(f"{id} is registered", lambda: server.call("GET", f"/api/apps/default/devices/{id}")[0] == 200)
    return phone


def test_a_device_that_leaves_and_returns_gets_exactly_the_missed_pushes(server, device, version, transport):
    name = unique("phone")
    phone = new_reader(server, device, name)
    here = push(server, audience={"device": name}, message="here")
    assert phone.take().payload == b"here"
    counts(server, here, delivered=1)
    phone.close()

    missed = [push(server, audience={"device": name}, message=f"missed {n}") for n in range(5)]
    urgent = push(server, audience={"device": name}, message="urgent", options={"priority": 9})
    counts(server, missed[0], owed=1)
    phone = reader(device, name)
    got = [phone.take().payload.decode() for _ in range(6)]
    assert got == ["urgent"] + [f"missed {n}" for n in range(5)]
    for id in missed + [urgent]:
        counts(server, id, delivered=1)
    phone.close()

    # Nothing comes a second time: the next message is the next push.
    phone = reader(device, name)
    push(server, audience={"device": name}, message="next")
    assert phone.take().payload == b"next"


def test_a_notification_is_json_with_the_device_s_own_words(server, device):
    name = unique("phone")
    body = {"devices": [{"device": name, "attributes": {"first_name": "Ada"}, "language": "de-AT"}]}
    status, answer = server.call("POST", "/api/apps/default/devices", body)
    assert status == 200, answer
    phone = new_reader(server, device, name, version=V5)
    words = {"title": "Hello {{first_name}}", "body": "Goal", "languages": {"de": {"body": "Tor"}}}
    id = push(server, audience={"device": name}, notification=words, options={"expiry_s": 60})
    message = phone.take()
    assert json.loads(message.payload) == {"push": id, "title": "Hello Ada", "body": "Tor"}
    assert message.properties.ContentType == "application/json"
    assert 50 <= message.properties.MessageExpiryInterval <= 60
    counts(server, id, delivered=1)


def trace(server, id, name):
    status, answer = server.call("GET", f"/api/apps/default/pushes/{id}/devices/{name}")
    assert status == 200, answer
    return answer


def tagged(server, device, count, **arguments):
    """Devices that are registered with a tag of their own."""
    names = [unique("phone") for _ in range(count)]
    tag = unique("tag")
    body = {"devices": [{"device": name, "tags": [tag]} for name in names]}
    status, answer = server.call("POST", "/api/apps/default/devices", body)
    assert status == 200, answer
    return names, tag


def connected(server, device, name, **arguments):
    phone = reader(device, name, **arguments)
    path = f"/api/apps/default/devices/{name}"
    until(f"{name} reads its inbox", lambda: server.call("GET", path)[1]["connection"])
    return phone


def test_a_live_push_goes_to_connected_devices_and_to_nobody_later(server, device, version, transport):
    (here, away), tag = tagged(server, device, 2)
    phone = connected(server, device, here)
    id = push(server, live=True, audience={"tag": tag}, message="Goal!")
    assert phone.take().payload == b"Goal!"
    counts(server, id, matched=2, targeted=2, delivered=1, expired=1, owed=0)
    status, seen = server.call("GET", f"/api/apps/default/pushes/{id}")
    assert (seen["live"], seen["status"], seen["audience"]) == (True, "settled", {"tag": tag})

    # A device that connects now gets the next push, and not that one.
    late = connected(server, device, away)
    push(server, audience={"device": away}, message="next")
    assert late.take().payload == b"next"
    assert trace(server, id, here)["state"] == "counted"
    # The server knows in which second it connected: the same one as the push, or a later one.
    sentence = trace(server, id, away)["sentence"]
    assert "Which ones is not kept." in sentence or "did not get it on this connection" in sentence, sentence
    assert trace(server, id, unique("nobody"))["state"] == "not_registered"
    # The alias knows it too.
    status, seen = server.call("GET", f"/api/pushes/{id}")
    assert (seen["sent"], seen["acknowledged"], seen["not_connected"]) == (1, 1, 1), seen


def test_no_session_keeps_a_live_push(server, device):
    (name,), _ = tagged(server, device, 1)
    kept = {"version": V5, "clean": False, "props": {"SessionExpiryInterval": 60}}
    channel = unique("news")

    def phone():
        phone = connected(server, device, name, **kept)
        phone.subscribe(f"channels/{channel}", qos=1)
        return phone

    first = phone()
    push(server, live=True, audience={"channel": channel}, message="one")
    assert first.take().payload == b"one"
    first.close()
    until("it is gone", lambda: not server.call("GET", f"/api/apps/default/devices/{name}")[1]["connection"])
    missed = push(server, live=True, audience={"channel": channel}, message="two")
    counts(server, missed, targeted=0, owed=0)
    again = phone()
    push(server, live=True, audience={"channel": channel}, message="three")
    assert again.take().payload == b"three"


def test_live_and_durable_pushes_are_one_list_with_one_kind_of_id(server, device):
    (name,), tag = tagged(server, device, 1)
    id = uuid.uuid4().hex
    body = {"id": id, "live": True, "audience": {"tag": tag}, "notification": {"title": "Hello"}}
    path = "/api/apps/default/pushes"
    assert server.call("POST", path, body)[0] == 202
    status, answer = server.call("POST", path, body)
    assert (status, answer["duplicate"]) == (200, True)
    for other in [{"message": "x", "notification": None}, {"live": False}]:
        status, answer = server.call("POST", path, body | other)
        assert (status, answer["code"]) == (422, "PSH-025"), answer
    durable = push(server, audience={"tag": tag}, message="x")
    status, answer = server.call("POST", path, body | {"id": durable})
    assert (status, answer["code"]) == (422, "PSH-025"), answer
    listed = server.call("GET", f"{path}?limit=2")[1]
    assert [(seen["id"], seen["live"]) for seen in listed["pushes"]] == [(durable, False), (id, True)]
    older = server.call("GET", f"{path}?limit=1&before={listed['next']}&live=true")[1]
    assert id not in [seen["id"] for seen in older["pushes"]]
    for refused, what in [("/cancel", {}), ("/opened", {"device": name})]:
        status, answer = server.call("POST", f"{path}/{id}{refused}", what)
        assert (status, answer["code"]) == (409, "PSH-030"), answer
    assert server.call("GET", f"{path}/{id}/deliveries")[1]["code"] == "PSH-030"
    wrong = [({"options": {"expiry_s": 60}}, "PSH-005"), ({"when": {"at": "2030-01-01T00:00:00Z"}}, "PSH-008")]
    wrong.append(({"audience": {"channel": "news"}}, "HTTP-005"))
    for more, code in wrong:
        status, answer = server.call("POST", path, {k: v for k, v in body.items() if k != "id"} | more)
        assert (status, answer["code"]) == (422, code), answer
