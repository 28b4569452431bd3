"""The push platform with paho: a device that leaves and returns gets exactly what it missed, in order."""

import json

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


def test_a_device_that_leaves_and_returns_gets_exactly_what_it_missed(server, device, version, transport):
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
