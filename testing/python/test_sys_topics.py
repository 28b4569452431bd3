"""`$SYS`: the server's figures over MQTT, under mosquitto's names, read by mosquitto_sub."""

import subprocess

import pytest

from device import Device
from server import PATIENCE_S, PEER

# Sixteen figures, and nine averages over three windows.
FIGURES = 16 + 27

pytestmark = pytest.mark.skipif(PEER == "mosquitto", reason="what it says of itself has other bounds")

def read(server, topic, count, *more):
    """So many messages of a topic, as mosquitto_sub shows them: (retained, topic, payload)."""
    command = ["mosquitto_sub", "-h", "127.0.0.1", "-p", str(server.tcp), "-t", topic, "-C", str(count)]
    command += ["-F", "%r|%t|%p", "-W", str(PATIENCE_S), *more]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr + done.stdout
    return [tuple(line.split("|")) for line in done.stdout.splitlines()]


@pytest.fixture
def device():
    made = []

    def make(server, **arguments):
        made.append(Device(server, **arguments))
        made[-1].connect()
        return made[-1]

    yield make
    for each in made:
        each.close()


@pytest.mark.parametrize("loops", [1, 2])
def test_a_subscriber_gets_the_figures_at_once_and_then_what_changed(start, device, loops):
    server = start(loops=loops, settings="[mqtt]\nsys_interval_s = 1\n")
    others = [device(server) for _ in range(3)]
    others[0].subscribe("a/#")
    for number in range(5):
        others[1].publish("a/b", str(number), qos=1)
        others[0].take()
    others[1].publish("kept", "x", qos=1, retain=True)
    # All of them come with the subscription, marked as retained.
    first = [message for message in read(server, "$SYS/#", FIGURES) if message[0] == "1"]
    figures = {topic.removeprefix("$SYS/broker/"): text for _, topic, text in first}
    assert len(figures) == FIGURES, sorted(figures)
    assert figures["version"].startswith("stadium version "), figures
    assert figures["clients/connected"] == "4" and figures["retained messages/count"] == "1", figures
    assert int(figures["publish/messages/received"]) == 6 and int(figures["subscriptions/count"]) >= 1, figures
    assert float(figures["load/publish/received/1min"]) > 0, figures
    assert int(figures["messages/received"]) >= 3 + 1 + 6 and int(figures["bytes/received"]) > 0, figures
    # Then the uptime changes each second, and comes as a live message.
    uptimes = read(server, "$SYS/broker/uptime", 3)
    assert [retained for retained, _, _ in uptimes] == ["1", "0", "0"], uptimes
    assert len({text for _, _, text in uptimes}) >= 2, uptimes


def test_a_wildcard_in_front_does_not_match_them(start, device):
    server = start(settings="[mqtt]\nsys_interval_s = 1\n")
    watcher = device(server)
    watcher.subscribe("#", "+/broker/uptime")
    # Two publications for somebody else go by.
    read(server, "$SYS/broker/uptime", 3)
    watcher.publish("end", "x", qos=1)
    assert watcher.take().topic == "end"


def test_rules_must_name_them_and_nobody_writes_them(start, device):
    settings = '[auth]\nanonymous = "without-credentials"\nrules_file = "@rules.toml"\n'
    rules = '[[rule]]\nallow = ["publish", "subscribe"]\ntopics = [{}]\n'
    server = start(trial=False, settings=settings, files={"rules.toml": rules.format('"#"')})
    assert device(server).subscribe("#", "$SYS/#") == [0, 0x87]
    server = start(trial=False, settings=settings, files={"rules.toml": rules.format('"$SYS/#", "#"')})
    reader = device(server)
    assert reader.subscribe("$SYS/broker/version") == [0]
    assert reader.take().payload.startswith(b"stadium version ")
    assert reader.publish("$SYS/broker/version", "mine", qos=1, retain=True) == 0x87
    late = device(server)
    late.subscribe("$SYS/broker/version")
    assert late.take().payload.startswith(b"stadium version ")


def test_they_can_be_turned_off(start, device):
    server = start(settings="[mqtt]\nsys_interval_s = 0\n")
    watcher = device(server)
    watcher.subscribe("$SYS/#", "end")
    watcher.publish("end", "x", qos=1)
    assert watcher.take().topic == "end"


def test_a_session_that_is_away_is_owed_none(start):
    server = start(settings="[mqtt]\nsys_interval_s = 1\n")
    keeper = Device(server, id="keeper", clean=False)
    keeper.connect(SessionExpiryInterval=600)
    keeper.subscribe("$SYS/broker/uptime", qos=1)
    keeper.take()
    keeper.close()
    # Two publications for somebody else go by.
    read(server, "$SYS/broker/uptime", 3)
    count = read(server, "$SYS/broker/store/messages/count", 1)
    assert count[0][2] == "0", count
