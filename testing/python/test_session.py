"""Sessions that outlive their connection: what is kept, in which order it comes back, when it ends, who takes it over."""

import pytest

from device import V5, V311, properties, unique
from server import until


def keep(version, seconds=600):
    """CONNECT properties of a session that is kept."""
    return {"SessionExpiryInterval": seconds} if version == V5 else {}


@pytest.fixture
def away(device, version, topic):
    """A device that has subscribed at QoS 2 and gone."""

    def make(qos=2, **arguments):
        gone = device(clean=False, props=keep(version), **arguments)
        gone.subscribe(topic, qos=qos)
        gone.disconnect()
        return gone.id

    return make


@pytest.mark.parametrize("qos", [1, 2])
def test_messages_for_a_device_that_is_away_arrive_in_order_on_its_return(device, away, version, transport, topic, qos):
    id, writer = away(), device()
    for number in range(200):
        info = writer.send(topic, str(number), qos=qos)
    info.wait_for_publish(20)
    back = device(id=id, clean=False, props=keep(version))
    assert back.session_present
    assert back.payloads(200) == [str(number).encode() for number in range(200)]
    assert back.until_fence(writer) == []


def test_a_kept_session_goes_on_with_its_subscriptions(device, away, version, topic):
    back = device(id=away(), clean=False, props=keep(version))
    device().publish(topic, b"again", qos=1)
    assert back.take().payload == b"again"


def test_a_clean_start_forgets_the_session(device, away, version, topic):
    # [MQTT-3.1.2-4], [MQTT-3.1.2-6]
    id, writer = away(), device()
    writer.publish(topic, b"lost", qos=1)
    clean = device(id=id)
    assert not clean.session_present
    assert clean.until_fence(writer) == []
    again = device(id=id, clean=False, props=keep(version))
    assert version == V5 or not again.session_present


def test_a_new_device_has_no_session(device, version, transport):
    # [MQTT-3.2.2-3]
    assert not device(clean=False, props=keep(version)).session_present


def test_a_clean_session_ends_with_its_connection(device, version, topic):
    id = device().id
    first = device(id=id)
    first.subscribe(topic, qos=1)
    first.disconnect()
    assert not device(id=id, clean=False, props=keep(version)).session_present


def test_an_unacknowledged_message_comes_again_with_dup(device, version, topic):
    # [MQTT-4.4.0-1]; QoS 2, whose steps paho takes by itself, is in testing/tests/integration/redelivery.rs
    first = device(clean=False, ack=False, props=keep(version))
    first.subscribe(topic, qos=1)
    device().publish(topic, b"important", qos=1)
    assert not first.take().dup
    first.cut()
    again = device(id=first.id, clean=False, props=keep(version)).take()
    assert (again.payload, again.qos, again.dup) == (b"important", 1, True)


def test_qos_0_is_not_owed_to_a_device_that_is_away(device, away, version, topic):
    id, writer = away(qos=2), device()
    writer.publish(topic, b"zero", qos=0)
    writer.publish(topic, b"one", qos=1)
    back = device(id=id, clean=False, props=keep(version))
    # 3.1.2.4 allows a server to keep QoS 0; ours and mosquitto do not, unless configured.
    assert back.take().payload == b"one"


def test_a_second_connection_takes_the_session_over(device, version, transport, topic):
    # [MQTT-3.1.4-2] in 3.1.1, [MQTT-3.1.4-3] in 5
    id = unique()
    old = device(id=id, clean=False, props=keep(version))
    old.subscribe(topic, qos=1)
    new = device(id=id, clean=False, props=keep(version))
    assert new.session_present
    reason = old.goodbye()
    if version == V5:
        assert reason.value == 0x8E  # Session taken over
    device().publish(topic, b"to the new one", qos=1)
    assert new.take().payload == b"to the new one"
    assert old.messages.empty()


def test_a_takeover_crosses_versions_and_transports(device, topic):
    id = unique()
    old = device(id=id, clean=False, version=V311, transport="ws")
    old.subscribe(topic, qos=1)
    new = device(id=id, clean=False, version=V5, transport="tcp", props=keep(V5))
    old.goodbye()
    assert new.session_present
    device().publish(topic, b"over", qos=1)
    assert new.take().payload == b"over"


def test_many_takeovers_leave_one_connection(device, version, topic):
    id = unique()
    devices = [device(id=id, clean=False, props=keep(version)) for _ in range(20)]
    for old in devices[:-1]:
        old.goodbye()
    devices[-1].subscribe(topic, qos=1)
    device().publish(topic, b"one", qos=1)
    assert devices[-1].take().payload == b"one"


def test_a_session_ends_when_its_time_is_over(device, topic):
    # 3.1.2.11.2 and 3.1.3.2.2: the will shows when the session has ended
    watcher = device()
    watcher.subscribe(topic, qos=1)
    short = device(connect=False, clean=False)
    short.client.will_set(topic, b"session over", 1, properties=properties("willmessage", WillDelayInterval=600))
    short.connect(SessionExpiryInterval=1)
    short.subscribe(topic + "/x", qos=1)
    short.cut()
    assert watcher.take().payload == b"session over"
    assert not device(id=short.id, clean=False).session_present


def test_disconnect_may_change_the_expiry(device, topic):
    # 3.14.2.2.2
    leaving = device(clean=False, props=keep(V5))
    leaving.disconnect(SessionExpiryInterval=0)
    assert not device(id=leaving.id, clean=False).session_present


def test_messages_expire_while_a_device_is_away(device, topic):
    # [MQTT-3.3.2-5], [MQTT-3.3.2-6]
    gone = device(clean=False, props=keep(V5))
    gone.subscribe(topic, qos=1)
    gone.disconnect()
    writer = device()
    writer.publish(topic, b"short", qos=1, MessageExpiryInterval=1)
    writer.publish(topic, b"long", qos=1, MessageExpiryInterval=100)
    writer.publish(topic, b"for ever", qos=1)
    # A retained message with the same expiry, made afterwards, shows when that time is over.
    writer.publish(topic + "/clock", b"tick", qos=1, retain=True, MessageExpiryInterval=2)
    clock = device()

    def over():
        clock.subscribe(topic + "/clock", qos=1)
        return clock.until_fence() == []

    until("two seconds to pass at the server", over)
    back = device(id=gone.id, clean=False, props=keep(V5))
    long, forever = back.take(), back.take()
    assert (long.payload, forever.payload) == (b"long", b"for ever")
    assert 90 <= long.properties.MessageExpiryInterval < 100
    assert not hasattr(forever.properties, "MessageExpiryInterval")
