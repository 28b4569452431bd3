"""Shared subscriptions: each message to one member, spread over all, and none lost when a member leaves."""

import pytest
from paho.mqtt.subscribeoptions import SubscribeOptions

from device import unique
from server import PATIENCE_S, until


@pytest.fixture
def group(device, topic):
    """Members of one group; with two loops their sessions are on both."""

    def make(count, qos=1, **arguments):
        name = unique("group")
        members = [device(**arguments) for _ in range(count)]
        for member in members:
            member.subscribe(f"$share/{name}/{topic}", qos=qos)
        return members

    return make


def all_arrived(members, count):
    until(
        f"{count} messages at {len(members)} members",
        lambda: sum(member.messages.qsize() for member in members) >= count,
        PATIENCE_S,
    )
    return [[message.payload for message in list(member.messages.queue)] for member in members]


@pytest.mark.parametrize("qos", [0, 1, 2])
def test_each_message_goes_to_one_member_and_all_take_part(device, group, version, transport, topic, qos):
    members, writer = group(4, qos=qos), device()
    for number in range(200):
        info = writer.send(topic, str(number), qos=qos)
    info.wait_for_publish(PATIENCE_S)
    got = all_arrived(members, 200)
    assert sorted(int(payload) for each in got for payload in each) == list(range(200))
    # Balance is ours to choose (4.8.2); an even spread within a factor of three is what a user expects.
    assert all(17 <= len(each) <= 150 for each in got), [len(each) for each in got]


def test_groups_and_ordinary_subscribers_each_get_a_copy(device, group, topic):
    first, second, single, writer = group(2), group(3), device(), device()
    single.subscribe(topic, qos=1)
    for number in range(30):
        writer.publish(topic, str(number), qos=1)
    for members in (first, second, [single]):
        assert sorted(int(payload) for each in all_arrived(members, 30) for payload in each) == list(range(30))


def test_a_member_that_leaves_gets_no_more(device, group, topic):
    members, writer = group(3), device()
    members[0].disconnect()
    for number in range(60):
        writer.publish(topic, str(number), qos=1)
    assert sorted(int(payload) for each in all_arrived(members[1:], 60) for payload in each) == list(range(60))
    assert members[0].messages.empty()


def test_a_member_that_unsubscribes_gets_no_more(device, topic):
    name, writer = unique("group"), device()
    stays, leaves = device(), device()
    for member in (stays, leaves):
        member.subscribe(f"$share/{name}/{topic}", qos=1)
    assert leaves.unsubscribe(f"$share/{name}/{topic}") == [0]
    for number in range(20):
        writer.publish(topic, str(number), qos=1)
    assert stays.payloads(20) == [str(number).encode() for number in range(20)]
    assert leaves.until_fence(writer) == []


def test_messages_a_dead_member_did_not_acknowledge_go_to_another(device, topic):
    # 4.8.2: when the session of a QoS 1 member ends, the server SHOULD send them to another member.
    name, writer = unique("group"), device()
    dies = device(ack=False)
    dies.subscribe(f"$share/{name}/{topic}", qos=1)
    for number in range(5):
        writer.publish(topic, str(number), qos=1)
    all_arrived([dies], 5)
    lives = device()
    lives.subscribe(f"$share/{name}/{topic}", qos=1)
    dies.cut()
    assert sorted(lives.payloads(5)) == [str(number).encode() for number in range(5)]


def test_a_shared_subscription_gets_no_retained_message(device, topic):
    # 4.8.2
    device().publish(topic, b"kept", qos=1, retain=True)
    member = device()
    member.subscribe(f"$share/{unique('group')}/{topic}", qos=1)
    assert member.until_fence() == []


def test_a_shared_filter_may_have_wildcards(device, topic):
    name, members, writer = unique("group"), [device(), device()], device()
    for member in members:
        member.subscribe(f"$share/{name}/{topic}/+/x", qos=1)
    for number in range(20):
        writer.publish(f"{topic}/{number}/x", b"", qos=1)
    assert sum(len(each) for each in all_arrived(members, 20)) == 20


@pytest.mark.parametrize("wrong", ["$share//a", "$share/g", "$share/g/", "$share/a+b/c", "$share/#/c"])
def test_a_malformed_shared_filter_is_refused(device, wrong):
    # [MQTT-4.8.2-1], [MQTT-4.8.2-2]: SUBACK 0x8F, or the connection ends with 0x81, 0x82 or 0x8F
    assert device().subscribe_to_anything(wrong) in (0x81, 0x82, 0x8F)


def test_no_local_on_a_shared_subscription_is_a_protocol_error(device, topic):
    # [MQTT-3.8.3-4]
    asking = device()
    asking.client.subscribe([(f"$share/g/{topic}", SubscribeOptions(qos=1, noLocal=True))])
    assert asking.goodbye().value == 0x82
