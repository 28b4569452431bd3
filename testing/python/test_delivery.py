"""Messages reach who asked for them, at the QoS that was agreed, in order. MQTT 3.1.1 and 5, TCP and WebSocket."""

import pytest

from device import V5, V311


@pytest.mark.parametrize("sent", [0, 1, 2])
@pytest.mark.parametrize("asked", [0, 1, 2])
def test_delivery_has_the_lower_of_both_qos(device, version, transport, topic, sent, asked):
    reader, writer = device(), device()
    assert reader.subscribe(topic, qos=asked) == [asked]
    writer.publish(topic, b"goal", qos=sent)
    message = reader.take()
    assert (message.topic, message.payload, message.qos, message.retain) == (topic, b"goal", min(sent, asked), False)


@pytest.mark.parametrize("qos", [0, 1, 2])
def test_messages_arrive_once_each_and_in_order(device, version, transport, topic, qos):
    reader, writer = device(), device()
    reader.subscribe(topic, qos=qos)
    count = 300
    for number in range(count):
        info = writer.send(topic, str(number), qos=qos)
    info.wait_for_publish(20)
    assert reader.payloads(count) == [str(number).encode() for number in range(count)]
    assert reader.until_fence(writer) == []


@pytest.mark.parametrize("size", [0, 1, 127, 128, 16_383, 16_384, 70_000])
def test_payloads_of_every_length_arrive_whole(device, version, transport, topic, size):
    reader, writer = device(), device()
    reader.subscribe(topic, qos=1)
    payload = bytes(index % 251 for index in range(size))
    writer.publish(topic, payload, qos=1)
    assert reader.take().payload == payload


def test_versions_and_transports_reach_each_other(device, topic):
    readers = [device(version=version, transport=transport) for version in (V311, V5) for transport in ("tcp", "ws")]
    for reader in readers:
        reader.subscribe(topic, qos=1)
    for version in (V311, V5):
        for transport in ("tcp", "ws"):
            device(version=version, transport=transport).publish(topic, transport, qos=1)
            assert [reader.take().payload for reader in readers] == [transport.encode()] * 4


FILTERS = [
    # filter, topic below the test's own prefix, whether it matches (4.7.1)
    ("#", "a", True),
    ("#", "a/b/c", True),
    ("a/#", "a", True),
    ("a/#", "a/b", True),
    ("a/#", "ab", False),
    ("+", "a", True),
    ("+", "a/b", False),
    ("+/+", "a/b", True),
    ("+/+", "/b", True),
    ("a/+/c", "a/b/c", True),
    ("a/+/c", "a//c", True),
    ("a/+/c", "a/b/d", False),
    ("a/+", "a/", True),
    ("a/+", "a", False),
    ("A", "a", False),
    ("a b", "a b", True),
    ("größe/😀", "größe/😀", True),
]


@pytest.mark.parametrize("pattern, name, matches", FILTERS)
def test_filters_match_by_the_rules(device, version, topic, pattern, name, matches):
    reader, writer = device(), device()
    reader.subscribe(f"{topic}/{pattern}", qos=1)
    writer.publish(f"{topic}/{name}", b"x", qos=1)
    got = [message.topic for message in reader.until_fence(writer)]
    assert got == ([f"{topic}/{name}"] if matches else [])


def test_wildcards_leave_dollar_topics_alone(device, version):
    # [MQTT-4.7.2-1]
    reader = device()
    reader.subscribe("#", "+/stadium", qos=1)
    assert not [each for each in reader.until_fence() if each.topic.startswith("$")]


def test_unsubscribed_devices_get_nothing_more(device, version, transport, topic):
    reader, writer = device(), device()
    reader.subscribe(topic, f"{topic}/+", qos=1)
    reader.unsubscribe(topic)
    writer.publish(topic, b"gone", qos=1)
    writer.publish(f"{topic}/still", b"here", qos=1)
    assert [each.payload for each in reader.until_fence(writer)] == [b"here"]


def test_a_second_subscription_replaces_the_first(device, version, topic):
    # [MQTT-3.8.4-3]
    reader, writer = device(), device()
    reader.subscribe(topic, qos=0)
    reader.subscribe(topic, qos=2)
    writer.publish(topic, b"once", qos=2)
    assert [each.qos for each in reader.until_fence(writer)] == [2]


def test_overlapping_subscriptions_deliver_at_the_highest_qos(device, version, topic):
    # [MQTT-3.3.4-2]: one copy at the highest QoS, or one each; the highest must be among them.
    reader, writer = device(), device()
    reader.subscribe(f"{topic}/#", qos=0)
    reader.subscribe(f"{topic}/+", qos=2)
    writer.publish(f"{topic}/a", b"x", qos=2)
    got = [each.qos for each in reader.until_fence(writer)]
    assert 2 in got and len(got) <= 2


def test_many_filters_in_one_packet_are_each_answered(device, version, topic):
    reader = device()
    filters = [f"{topic}/{number}" for number in range(100)]
    assert reader.subscribe(*filters, qos=1) == [1] * 100
