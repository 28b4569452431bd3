"""Sessions that persist across SIGKILL of the server, with paho: what was missed comes once, in order; retained messages stay."""

import os
import signal
import subprocess
import tempfile

import paho.mqtt.client as mqtt
import pytest
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.properties import Properties

from server import PEER, SMALL_JOURNAL, binary, free_port, until

pytestmark = pytest.mark.skipif(PEER != "stadium", reason="it starts a server of its own twice")


class Killable:
    """A server on fixed ports whose data directory outlives it."""

    def __init__(self, place):
        self.place, self.mqtt, self.http = place, free_port(), free_port()
        self.process = None

    def start(self):
        arguments = [str(binary()), "serve", "--trial", "--data", f"{self.place}/data"]
        arguments += ["--mqtt", f"127.0.0.1:{self.mqtt}", "--http", f"127.0.0.1:{self.http}"]
        arguments += ["--rpc", "127.0.0.1:0", "--loops", "2"]
        log = open(f"{self.place}/log", "ab")
        self.process = subprocess.Popen(arguments, stdout=log, stderr=log, env={**os.environ, **SMALL_JOURNAL})
        log.close()

    def kill(self):
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()


@pytest.fixture
def killable():
    with tempfile.TemporaryDirectory() as place:
        server = Killable(place)
        server.start()
        yield server
        server.kill()


class Device:
    """A paho client with a session that persists."""

    def __init__(self, server, id, version, credential=None):
        self.heard, self.present = [], None
        arguments = {"clean_session": False} if version == mqtt.MQTTv311 else {}
        self.client = mqtt.Client(mqtt.CallbackAPIVersion.VERSION2, client_id=id, protocol=version, **arguments)
        if credential:
            self.client.username_pw_set(id, credential)
        self.client.on_message = lambda client, data, message: self.heard.append(message.payload.decode())
        self.client.on_connect = self.connected
        self.subscribed = []
        self.client.on_subscribe = lambda client, data, mid, reasons, properties: self.subscribed.append(mid)
        extra = {}
        if version == mqtt.MQTTv5:
            properties = Properties(PacketTypes.CONNECT)
            properties.SessionExpiryInterval = 600
            extra = {"clean_start": False, "properties": properties}

        def connect():
            try:
                return self.client.connect("127.0.0.1", server.mqtt, keepalive=60, **extra) == 0
            except OSError:
                return False

        until("a connection", connect)
        self.client.loop_start()
        until("CONNACK", lambda: self.present is not None)

    def connected(self, client, data, flags, reason, properties):
        assert not reason.is_failure, reason
        self.present = flags.session_present

    def subscribe(self, topic, qos):
        _, mid = self.client.subscribe(topic, qos)
        until("SUBACK", lambda: mid in self.subscribed)

    def publish(self, topic, payload, qos, retain=False):
        self.client.publish(topic, payload, qos=qos, retain=retain).wait_for_publish(20)

    def leave(self):
        self.client.disconnect()
        self.client.loop_stop()


@pytest.mark.parametrize("version", [mqtt.MQTTv311, mqtt.MQTTv5])
@pytest.mark.parametrize("qos", [1, 2])
def test_a_device_that_was_away_gets_missed_messages_although_the_server_was_killed(killable, version, qos):
    phone = Device(killable, "phone", version)
    assert not phone.present
    phone.subscribe("inbox/#", qos)
    phone.leave()
    writer = Device(killable, "writer", version)
    for number in range(50):
        writer.publish("inbox/phone", str(number), qos)
    writer.publish("state", "on", 1, retain=True)
    writer.leave()
    killable.kill()
    killable.start()
    phone = Device(killable, "phone", version)
    assert phone.present
    until("what it missed", lambda: len(phone.heard) >= 50)
    phone.subscribe("state", 1)
    until("the retained message", lambda: len(phone.heard) >= 51)
    assert phone.heard == [str(number) for number in range(50)] + ["on"]
    phone.leave()


def test_a_session_with_a_credential_of_the_registry_outlives_the_server(killable):
    made = [str(binary()), "device", "credential", "phone", "--register", "--data", f"{killable.place}/data"]
    until("an open port", lambda: subprocess.run([str(binary()), "health", *made[-2:]], capture_output=True).returncode == 0)
    credential = subprocess.run(made, check=True, capture_output=True, text=True).stdout.strip()
    phone = Device(killable, "phone", mqtt.MQTTv5, credential)
    phone.subscribe("news", 1)
    phone.leave()
    writer = Device(killable, "writer", mqtt.MQTTv5)
    writer.publish("news", "missed", 1)
    writer.leave()
    killable.kill()
    killable.start()
    phone = Device(killable, "phone", mqtt.MQTTv5, credential)
    assert phone.present
    until("what it missed", lambda: phone.heard == ["missed"])
    phone.leave()
