"""Retained messages: set, replaced, cleared, found by wildcard, and MQTT 5's options."""

import pytest

from server import until

ALWAYS, IF_NEW, NEVER = 0, 1, 2


def got(device):
    return sorted((each.topic, each.payload, each.retain) for each in device.until_fence())


@pytest.mark.parametrize("qos", [0, 1, 2])
def test_a_new_subscription_gets_the_retained_message(device, version, transport, topic, qos):
    device().publish(topic, b"kept", qos=qos, retain=True)
    reader = device()
    # A QoS 0 publish is not acknowledged: ask until it has arrived.
    for _ in range(1000):
        reader.subscribe(topic, qos=2)
        messages = reader.until_fence()
        if messages:
            break
    assert [(each.payload, each.qos, each.retain) for each in messages] == [(b"kept", qos, True)]


def test_the_last_retained_message_wins(device, version, topic):
    writer = device()
    for payload in (b"first", b"second"):
        writer.publish(topic, payload, qos=1, retain=True)
    reader = device()
    reader.subscribe(topic, qos=1)
    assert got(reader) == [(topic, b"second", True)]


def test_an_empty_message_clears_the_retained_one(device, version, topic):
    # [MQTT-3.3.1-6], [MQTT-3.3.1-7]
    watcher, writer = device(), device()
    watcher.subscribe(topic, qos=1)
    writer.publish(topic, b"kept", qos=1, retain=True)
    writer.publish(topic, b"", qos=1, retain=True)
    assert [each.payload for each in watcher.until_fence(writer)] == [b"kept", b""]
    reader = device()
    reader.subscribe(topic, qos=1)
    assert got(reader) == []


def test_wildcards_find_every_retained_message(device, version, topic):
    writer = device()
    for number in range(50):
        writer.publish(f"{topic}/{number}/state", str(number), qos=1, retain=True)
    writer.publish(f"{topic}/other", b"no", qos=1, retain=True)
    reader = device()
    reader.subscribe(f"{topic}/+/state", qos=1)
    assert got(reader) == sorted((f"{topic}/{n}/state", str(n).encode(), True) for n in range(50))


def test_subscribers_that_are_there_see_no_retain_flag(device, version, topic):
    # [MQTT-3.3.1-12]
    reader, writer = device(), device()
    reader.subscribe(topic, qos=1)
    writer.publish(topic, b"live", qos=1, retain=True)
    assert got(reader) == [(topic, b"live", False)]


def test_a_message_without_the_flag_leaves_the_retained_one(device, version, topic):
    # [MQTT-3.3.1-8]
    writer = device()
    writer.publish(topic, b"kept", qos=1, retain=True)
    writer.publish(topic, b"passing", qos=1)
    reader = device()
    reader.subscribe(topic, qos=1)
    assert got(reader) == [(topic, b"kept", True)]


def test_a_repeated_subscription_gets_it_again(device, version, topic):
    # [MQTT-3.8.4-3]
    device().publish(topic, b"kept", qos=1, retain=True)
    reader = device()
    for _ in range(2):
        reader.subscribe(topic, qos=1)
        assert got(reader) == [(topic, b"kept", True)]


@pytest.mark.parametrize("handling, first, second", [(ALWAYS, 1, 1), (IF_NEW, 1, 0), (NEVER, 0, 0)])
def test_retain_handling_decides_when_it_is_sent(device, topic, handling, first, second):
    # [MQTT-3.3.1-9], [MQTT-3.3.1-10], [MQTT-3.3.1-11]
    device().publish(topic, b"kept", qos=1, retain=True)
    reader = device()
    for expected in (first, second):
        reader.subscribe(topic, qos=1, retainHandling=handling)
        assert len(got(reader)) == expected


def test_retain_as_published_keeps_the_flag(device, topic):
    # [MQTT-3.3.1-13]
    reader, writer = device(), device()
    reader.subscribe(topic, qos=1, retainAsPublished=True)
    writer.publish(topic, b"a", qos=1, retain=True)
    writer.publish(topic, b"b", qos=1)
    assert [(each.payload, each.retain) for each in reader.until_fence(writer)] == [(b"a", True), (b"b", False)]


def test_a_retained_message_keeps_its_properties(device, topic):
    # [MQTT-3.3.2-17] and 3.3.2.3: all of these travel unaltered
    device().publish(
        topic, b"{}", qos=1, retain=True, ContentType="application/json", UserProperty=[("a", "1"), ("a", "2")]
    )
    reader = device()
    reader.subscribe(topic, qos=1)
    props = reader.take().properties
    assert props.ContentType == "application/json"
    assert props.UserProperty == [("a", "1"), ("a", "2")]


def test_a_retained_message_expires(device, topic):
    # 3.3.2.3.3: an expired message must not be sent [MQTT-3.3.2-5]
    writer = device()
    writer.publish(topic, b"short", qos=1, retain=True, MessageExpiryInterval=1)
    writer.publish(topic + "/long", b"long", qos=1, retain=True, MessageExpiryInterval=100)
    reader = device()

    def expired():
        reader.subscribe(topic, topic + "/long", qos=1)
        return [each.payload for each in reader.until_fence()] == [b"long"]

    until("the retained message to expire", expired)
    reader.subscribe(topic + "/long", qos=1)
    assert reader.take().properties.MessageExpiryInterval < 100
