"""A device on paho-mqtt: blocking calls with a deadline, received messages in a queue.

`rcv` of paho's callbacks run on its own thread; everything a test reads goes through queues, so nothing sleeps.
"""

import itertools
import queue
import socket
import struct
import threading

import paho.mqtt.client as paho
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.properties import Properties
from paho.mqtt.subscribeoptions import SubscribeOptions

from server import PATIENCE_S, until

V311 = paho.MQTTv311
V5 = paho.MQTTv5
_ids = itertools.count(1)


def properties(packet, **values):
    """`properties("publish", TopicAlias=1)`; a list for a property that may repeat."""
    made = Properties(getattr(PacketTypes, packet.upper()))
    for name, value in values.items():
        for each in value if isinstance(value, list) else [value]:
            setattr(made, name, each)
    return made


def unique(prefix="device"):
    return f"{prefix}-{next(_ids)}"


class Refused(Exception):
    """CONNACK refused; `code` is its reason code."""

    def __init__(self, code):
        super().__init__(f"CONNACK {code}")
        self.code = code


class Device:
    """One paho client. Closed by the `device` fixture."""

    def __init__(self, server, version=V5, transport="tcp", id=None, clean=True, ack=True, port=None):
        self.id = unique() if id is None else id
        self.version = version
        self.server = server
        self.clean = clean
        arguments = {"client_id": self.id, "protocol": version, "transport": "websockets" if transport == "ws" else "tcp"}
        if version == V311:
            arguments["clean_session"] = clean
        self.client = paho.Client(paho.CallbackAPIVersion.VERSION2, manual_ack=not ack, **arguments)
        if transport == "ws":
            self.client.ws_set_options(path="/mqtt")
        self.port = port or server.port(transport)
        self.messages = queue.Queue()
        self.connacks = queue.Queue()
        self.subacks = queue.Queue()
        self.unsubacks = queue.Queue()
        self.published = queue.Queue()
        self.goodbyes = queue.Queue()
        self.pid = threading.get_ident()
        self.client.on_message = lambda _client, _data, message: self.messages.put(message)
        self.client.on_connect = lambda _c, _d, flags, reason, props: self.connacks.put((flags, reason, props))
        self.client.on_subscribe = lambda _c, _d, mid, reasons, props: self.subacks.put((mid, reasons))
        self.client.on_unsubscribe = lambda _c, _d, mid, reasons, props: self.unsubacks.put((mid, reasons))
        self.client.on_publish = lambda _c, _d, mid, reason, props: self.published.put((mid, reason))
        self.client.on_disconnect = lambda _c, _d, flags, reason, props: self.goodbyes.put((flags, reason, props))
        self.client.reconnect_delay_set(3600, 3600)

    def connect(self, keepalive=60, **props):
        """Connects and returns the CONNACK: (flags, reason, properties)."""
        more = {}
        if self.version == V5:
            more["clean_start"] = self.clean
            more["properties"] = properties("connect", **props)
        self.client.connect("127.0.0.1", self.port, keepalive, **more)
        self.client.loop_start()
        flags, reason, answered = self.connacks.get(timeout=PATIENCE_S)
        self.connack = (flags, reason, answered)
        if reason.is_failure:
            self.client.loop_stop()
            raise Refused(reason.value)
        return self.connack

    @property
    def session_present(self):
        return self.connack[0].session_present

    def subscribe(self, *filters, qos=0, id=None, **options):
        """Subscribes and returns the reason codes as numbers."""
        if self.version == V5:
            asked = [(each, SubscribeOptions(qos=qos, **options)) for each in filters]
            props = properties("subscribe", SubscriptionIdentifier=id) if id else None
            _, mid = self.client.subscribe(asked, properties=props)
        else:
            _, mid = self.client.subscribe([(each, qos) for each in filters])
        answered, reasons = self.subacks.get(timeout=PATIENCE_S)
        assert answered == mid
        return [reason.value for reason in reasons]

    def subscribe_to_anything(self, filter):
        """Subscribes to a filter that paho itself would refuse; the reason code of SUBACK, or of the server's DISCONNECT."""
        asked = SubscribeOptions(qos=1) if self.version == V5 else 1
        self.client._send_subscribe(False, [(filter.encode(), asked)])
        until("an answer", lambda: not self.subacks.empty() or not self.goodbyes.empty())
        return self.goodbye().value if self.subacks.empty() else self.subacks.get()[1][0].value

    def unsubscribe(self, *filters):
        _, mid = self.client.unsubscribe(list(filters))
        answered, reasons = self.unsubacks.get(timeout=PATIENCE_S)
        assert answered == mid
        return [reason.value for reason in reasons] if self.version == V5 else []

    def send(self, topic, payload=b"", qos=0, retain=False, **props):
        """Publishes without waiting."""
        given = properties("publish", **props) if props else None
        return self.client.publish(topic, payload, qos, retain, properties=given)

    def publish(self, topic, payload=b"", qos=0, retain=False, **props):
        """Publishes, waits until it is handed over or acknowledged, and returns the reason code."""
        info = self.send(topic, payload, qos, retain, **props)
        info.wait_for_publish(PATIENCE_S)
        assert info.is_published(), f"{topic} was not acknowledged"
        while True:
            mid, reason = self.published.get(timeout=PATIENCE_S)
            if mid == info.mid:
                return reason.value

    def take(self, within_s=PATIENCE_S):
        """The next message."""
        try:
            return self.messages.get(timeout=within_s)
        except queue.Empty:
            raise AssertionError(f"{self.id} got no message within {within_s} s") from None

    def payloads(self, count):
        return [self.take().payload for _ in range(count)]

    def until_fence(self, sender=None, qos=1):
        """The messages that came before a message which is sent now: proves that nothing else is on its way.

        Deliveries of one publisher to one device stay in order, so `sender` has to be who sent what must not come.
        """
        topic = f"fence/{unique()}"
        self.subscribe(topic, qos=qos)
        (sender or self).publish(topic, b"fence", qos=qos)
        got = []
        while True:
            message = self.take()
            if message.topic == topic:
                return got
            got.append(message)

    def goodbye(self):
        """How the connection ended: the reason code of the server's DISCONNECT, or paho's own."""
        return self.goodbyes.get(timeout=PATIENCE_S)[1]

    def disconnect(self, reason=None, **props):
        """Sends DISCONNECT and waits until it is sent."""
        if self.version == V5 and (reason is not None or props):
            from paho.mqtt.reasoncodes import ReasonCode

            code = ReasonCode(PacketTypes.DISCONNECT, identifier=reason or 0)
            self.client.disconnect(reasoncode=code, properties=properties("disconnect", **props))
        else:
            self.client.disconnect()
        self.client.loop_stop()

    def cut(self):
        """Resets the connection without DISCONNECT, as a dying network does."""
        raw = self.client.socket()
        raw = getattr(raw, "_socket", raw)
        raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.client._thread_terminate = True
        self.client._sock_close()
        self.client.loop_stop()

    def close(self):
        try:
            self.client.disconnect()
        finally:
            self.client.loop_stop()


def connected(device, **props):
    device.connect(**props)
    return device


__all__ = ["Device", "Refused", "V311", "V5", "connected", "properties", "unique", "until"]
