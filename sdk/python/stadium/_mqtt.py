"""One connection of a device: aiomqtt's client, with what it does not show of paho's.

That is the answers of the server: to CONNECT, to each PUBLISH, and its DISCONNECT. And messages are
acknowledged by hand. Both libraries are imported when they are used.
"""

from __future__ import annotations

import asyncio
import importlib
import time
from typing import Any, Dict, List, Optional, Tuple

from ._errors import Busy, ConnectionBroken, DeadlineExceeded, Error, Rejected

#: Messages that are delivered and not acknowledged at most: the server holds the rest.
_RECEIVE_MAX = 64


class Ended:
    """How a connection ended."""

    def __init__(self) -> None:
        self.was_connected = False
        self.code = 0
        self.text = ""
        self.retry_after: Optional[float] = None
        self.reference: Optional[Tuple[str, int]] = None

    def by(self, reason: Any, properties: Any) -> None:
        """A CONNACK or DISCONNECT of the server."""
        self.code = int(getattr(reason, "value", reason))
        said = getattr(properties, "ReasonString", "")
        self.text = f"{reason}{': ' + said if said else ''}"
        named = dict(getattr(properties, "UserProperty", []))
        try:
            self.retry_after = float(named["retry-after"])
        except (KeyError, ValueError):
            pass
        reference = getattr(properties, "ServerReference", "").split(" ")[0]
        host, colon, port = reference.rpartition(":")
        if colon and port.isdigit():
            self.reference = (host.strip("[]"), int(port))


class Connection:
    """One connection of a device: aiomqtt's client, and what it does not show of paho's."""

    def __init__(self, mqtt: Any, at: Tuple[str, int], *, session: int, **settings: Any) -> None:
        """`settings` are those of aiomqtt's client."""
        self.ended = Ended()
        self._published: "Dict[int, asyncio.Future[None]]" = {}
        self._is_over = False
        self.client = mqtt.Client(
            *at,
            protocol=mqtt.ProtocolVersion.V5,
            clean_start=False,
            properties=_properties("CONNECT", SessionExpiryInterval=session, ReceiveMaximum=_RECEIVE_MAX),
            **settings,
        )
        self._paho: Any = self.client._client
        self._paho.manual_ack_set(True)
        connect, disconnect = self._paho.on_connect, self._paho.on_disconnect

        def on_connect(client: Any, data: Any, flags: Any, reason: Any, given: Any) -> None:
            if getattr(reason, "is_failure", False):
                self.ended.by(reason, given)
            else:
                self.ended.was_connected = True
            connect(client, data, flags, reason, given)

        def on_disconnect(client: Any, data: Any, flags: Any, reason: Any, given: Any) -> None:
            if getattr(flags, "is_disconnect_packet_from_server", False):
                self.ended.by(reason, given)
            disconnect(client, data, flags, reason, given)

        def on_publish(client: Any, data: Any, mid: int, reason: Any, given: Any) -> None:
            waits = self._published.pop(mid, None)
            if waits is not None and not waits.done():
                error = _refusal(reason, given)
                waits.set_exception(error) if error else waits.set_result(None)

        self._paho.on_connect, self._paho.on_disconnect = on_connect, on_disconnect
        self._paho.on_publish = on_publish

    async def subscribe(self, topics: List[str]) -> None:
        """Subscribes at QoS 1. A refusal ends the connection for good."""
        reasons = await self.client.subscribe([(topic, 1) for topic in topics])
        for topic, reason in zip(topics, reasons):
            code = int(getattr(reason, "value", reason))
            if code >= 0x80:
                raise _not_subscribed(topic, reason, self.ended)

    async def publish(self, topic: str, payload: bytes, until: float, more: Dict[str, Any]) -> None:
        properties = _properties("PUBLISH", **more)
        sent = self._paho.publish(topic, payload, 1, properties=properties)
        if sent.rc != 0:
            raise ConnectionBroken(f"{topic}: the connection is broken")
        waits: "asyncio.Future[None]" = asyncio.get_running_loop().create_future()
        self._published[sent.mid] = waits
        try:
            await asyncio.wait_for(waits, max(0.0, until - time.monotonic()))
        except asyncio.TimeoutError:
            raise DeadlineExceeded(f"{topic}: not acknowledged in time") from None
        finally:
            self._published.pop(sent.mid, None)

    def acknowledge(self, mid: int, qos: int) -> None:
        """Acknowledges a message of this connection; of a connection that is over it means nothing."""
        if not self._is_over:
            self._paho.ack(mid, qos)

    def broke(self) -> None:
        """The connection is over: what was published and not acknowledged may have arrived."""
        self._is_over = True
        for waits in list(self._published.values()):
            if not waits.done():
                waits.set_exception(ConnectionBroken("the connection broke before the acknowledgement"))


def _properties(packet: str, **values: Any) -> Any:
    """Properties of MQTT 5 as paho has them."""
    kinds: Any = importlib.import_module("paho.mqtt.packettypes").PacketTypes
    properties = importlib.import_module("paho.mqtt.properties").Properties(getattr(kinds, packet))
    for name, value in values.items():
        setattr(properties, name, value)
    return properties


def _not_subscribed(topic: str, reason: Any, ended: Ended) -> Exception:
    ended.code, ended.text = 0x87, f"may not subscribe to {topic}: {reason}"
    error: Exception = importlib.import_module("aiomqtt").MqttError(ended.text)
    return error


def _refusal(reason: Any, properties: Any) -> Optional[Error]:
    """What a PUBACK says; none where the message was taken."""
    code = int(getattr(reason, "value", reason))
    if code < 0x80:
        return None
    text = getattr(properties, "ReasonString", "") or str(reason)
    if code == 0x97:
        return Busy(text, retry_after=milliseconds(dict(getattr(properties, "UserProperty", []))))
    return Rejected(f"0x{code:02X}", text)


def milliseconds(named: Dict[str, str]) -> float:
    """The seconds of `retry-after-ms`; 1 where it is not there."""
    try:
        return float(named["retry-after-ms"]) / 1000
    except (KeyError, ValueError):
        return 1.0
