"""The will: published when a device goes without goodbye, and only then; MQTT 5's delay and takeover."""

import time

import pytest

from device import properties


@pytest.fixture
def mortal(device):
    """A device with a will."""

    def make(topic, payload=b"gone", qos=1, retain=False, delay=None, props=None, **arguments):
        dying = device(connect=False, **arguments)
        will = properties("willmessage", WillDelayInterval=delay) if delay is not None else None
        dying.client.will_set(topic, payload, qos, retain, properties=will)
        dying.connect(**(props or {}))
        return dying

    return make


@pytest.mark.parametrize("qos", [0, 1, 2])
def test_a_lost_connection_publishes_the_will(device, mortal, version, transport, topic, qos):
    # [MQTT-3.1.2-8]
    watcher = device()
    watcher.subscribe(topic, qos=2)
    mortal(topic, qos=qos).cut()
    message = watcher.take()
    assert (message.payload, message.qos, message.retain) == (b"gone", qos, False)


def test_a_goodbye_discards_the_will(device, mortal, version, transport, topic):
    # [MQTT-3.1.2-10]
    watcher = device()
    watcher.subscribe(topic, qos=1)
    leaving = mortal(topic)
    leaving.disconnect()
    # The next connection of the same device is served after its goodbye.
    device(id=leaving.id)
    assert watcher.until_fence() == []


def test_a_retained_will_stays(device, mortal, version, topic):
    # [MQTT-3.1.2-15]
    watcher = device()
    watcher.subscribe(topic, qos=1)
    mortal(topic, retain=True).cut()
    watcher.take()
    late = device()
    late.subscribe(topic, qos=1)
    message = late.take()
    assert (message.payload, message.retain) == (b"gone", True)


def test_a_missed_keep_alive_publishes_the_will(device, mortal, version, topic):
    # [MQTT-3.1.2-22]: 1.5 times the keep-alive
    watcher = device()
    watcher.subscribe(topic, qos=1)
    silent = mortal(topic, props={"keepalive": 2})
    silent.client._thread_terminate = True  # its loop ends: no PINGREQ, and the socket stays open
    started = time.monotonic()
    assert watcher.take().payload == b"gone"
    assert 2.0 < time.monotonic() - started < 6.0


def test_a_takeover_publishes_the_will(device, mortal, version, topic):
    # 3.1.4 and [MQTT-3.1.4-3]: the server closes the old connection; that is no goodbye. In MQTT 5 the session of
    # expiry 0 ends with it.
    watcher = device()
    watcher.subscribe(topic, qos=1)
    old = mortal(topic)
    device(id=old.id)
    assert watcher.take().payload == b"gone"


def test_a_goodbye_may_ask_for_the_will(device, mortal, topic):
    # 3.14.2.1: 0x04
    watcher = device()
    watcher.subscribe(topic, qos=1)
    mortal(topic).disconnect(reason=4)
    assert watcher.take().payload == b"gone"


def test_a_will_waits_for_its_delay(device, mortal, topic):
    # 3.1.3.2.2
    watcher = device()
    watcher.subscribe(topic, qos=1)
    started = time.monotonic()
    mortal(topic, delay=2, props={"SessionExpiryInterval": 100}).cut()
    assert watcher.take().payload == b"gone"
    assert 1.5 < time.monotonic() - started < 8.0


def test_a_device_that_is_back_in_time_has_no_will_published(device, mortal, topic):
    # [MQTT-3.1.3-9]
    watcher = device()
    watcher.subscribe(f"{topic}/#", qos=1)
    back = mortal(f"{topic}/back", delay=2, props={"SessionExpiryInterval": 100})
    lost = mortal(f"{topic}/lost", delay=2, props={"SessionExpiryInterval": 100})
    back.cut()
    device(id=back.id, clean=False, props={"SessionExpiryInterval": 100})
    lost.cut()
    # The will of the lost device was delayed later than the other's, so the other's would have come before it.
    assert watcher.take().topic == f"{topic}/lost"
    assert watcher.until_fence() == []


def test_the_end_of_the_session_cuts_the_delay_short(device, mortal, topic):
    # [MQTT-3.1.3-9]: whichever happens first
    watcher = device()
    watcher.subscribe(topic, qos=1)
    started = time.monotonic()
    mortal(topic, delay=600, props={"SessionExpiryInterval": 1}).cut()
    assert watcher.take().payload == b"gone"
    assert time.monotonic() - started < 10


def test_a_clean_start_ends_the_session_and_publishes_the_will(device, mortal, topic):
    # [MQTT-3.1.4-4] with 3.1.3.2.2: the session ends
    watcher = device()
    watcher.subscribe(topic, qos=1)
    old = mortal(topic, delay=600, props={"SessionExpiryInterval": 600})
    old.cut()
    device(id=old.id)
    assert watcher.take().payload == b"gone"


def test_a_will_carries_its_properties(device, topic):
    # 3.1.3.2
    watcher = device()
    watcher.subscribe(topic, qos=1)
    dying = device(connect=False)
    will = properties(
        "willmessage", ContentType="text/plain", ResponseTopic="r", CorrelationData=b"\0c", UserProperty=("k", "v")
    )
    dying.client.will_set(topic, b"gone", 1, properties=will)
    dying.connect()
    dying.cut()
    props = watcher.take().properties
    assert (props.ContentType, props.ResponseTopic, props.CorrelationData) == ("text/plain", "r", b"\0c")
    assert props.UserProperty == [("k", "v")]


