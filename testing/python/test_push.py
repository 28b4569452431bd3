"""The HTTP API moves devices on paho: pushes with what MQTT 5 adds, and what 3.1.1 sees of it."""

import pytest

from device import V5, V311
from server import PEER, until

pytestmark = pytest.mark.skipif(PEER == "mosquitto", reason="the HTTP API of stadium")


def push(server, **body):
    status, answer = server.call("POST", "/api/push", body)
    assert status == 202, answer
    return answer["id"]


def report(server, id, **expected):
    def look():
        status, seen = server.call("GET", f"/api/pushes/{id}")
        assert status == 200, seen
        look.last = seen
        return seen if all(seen.get(name) == value for name, value in expected.items()) else None

    try:
        return until(f"the push to report {expected}", look)
    except AssertionError as error:
        raise AssertionError(f"{error}; last: {look.last}") from None


@pytest.mark.parametrize("qos", [0, 1])
def test_a_push_reaches_a_device_and_is_counted(server, device, version, transport, qos):
    phone = device()
    phone.subscribe(f"inbox/{phone.id}", qos=1)
    id = push(server, to={"device": phone.id}, message="Goal!", qos=qos)
    message = phone.take()
    assert (message.topic, message.payload, message.qos) == (f"inbox/{phone.id}", b"Goal!", qos)
    report(server, id, targeted=1, sent=1, acknowledged=qos)


def test_mqtt_5_devices_get_content_type_and_expiry(server, device):
    phone = device()
    phone.subscribe(f"inbox/{phone.id}", qos=1)
    push(server, to={"device": phone.id}, message={"score": 1}, qos=1, expiry_s=60, content_type="application/json")
    props = phone.take().properties
    assert props.ContentType == "application/json"
    assert 50 <= props.MessageExpiryInterval <= 60


def test_a_kicked_device_gets_the_reason_and_may_reconnect(server, device, version):
    phone = device()
    status, answer = server.call("DELETE", f"/api/devices/{phone.id}/connection")
    assert status == 204, answer
    reason = phone.goodbye()
    if version == V5:
        assert reason.value == 0x98  # Administrative action
    device(id=phone.id)


def test_devices_are_listed_with_their_protocol(server, device):
    phones = [device(version=version, transport=transport) for version in (V311, V5) for transport in ("tcp", "ws")]
    for phone in phones:
        status, seen = server.call("GET", f"/api/devices/{phone.id}")
        assert (status, seen["connected"]) == (200, True)
        assert seen["connection"]["mqtt_version"] == ("3.1.1" if phone.version == V311 else "5.0")
        assert seen["connection"]["transport"] == ("ws" if phone.client.transport == "websockets" else "tcp")
