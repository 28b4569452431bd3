"""Many messages in flight at once, and large ones: what clients do at their defaults."""

import pytest

from device import V5, until

MESSAGES = 1_000


@pytest.mark.parametrize("window", [20, 257, 500])
def test_every_qos_2_message_arrives_once_however_many_are_in_flight(device, version, topic, window):
    """3.1.1 has no Receive Maximum: a client that sends 500 before it reads must not be cut, nor wait for ever.

    In 5.0 it is 256, and paho leaves it to the application to keep it.
    """
    window = min(window, 256) if version == V5 else window
    watcher = device()
    assert watcher.subscribe(topic, qos=2) == [2]
    sender = device(connect=False)
    sender.client.max_inflight_messages_set(window)
    sender.client.max_queued_messages_set(0)
    sender.connect()
    infos = [sender.client.publish(topic, f"{number}", qos=2) for number in range(MESSAGES)]
    until("all to be released", lambda: all(info.is_published() for info in infos))
    assert sorted(int(watcher.take().payload) for _ in range(MESSAGES)) == list(range(MESSAGES))
    assert sender.goodbyes.empty() and watcher.goodbyes.empty(), "nobody was cut"
    assert watcher.until_fence(sender, qos=2) == [], "nor is any doubled"


def test_a_payload_of_a_mebibyte_goes_through(device, version, transport, topic):
    watcher, sender = device(), device()
    watcher.subscribe(topic, qos=1)
    payload = bytes(range(256)) * 4_096
    sender.publish(topic, payload, qos=1)
    assert watcher.take().payload == payload


def test_a_will_of_the_largest_size_is_taken(device, version, topic):
    watcher = device()
    watcher.subscribe(topic)
    leaving = device(connect=False)
    leaving.client.will_set(topic, b"w" * 65_535)
    leaving.client.username_pw_set("u" * 5_000, "p" * 5_000)
    leaving.connect()
    leaving.cut()
    assert len(watcher.take().payload) == 65_535
