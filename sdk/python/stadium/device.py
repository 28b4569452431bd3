"""A device: its inbox, its requests to services and its reports, over MQTT 5.

It needs `aiomqtt`: `pip install stadium[device]`. A device asks with its own credential and holds no API key.
"""

from __future__ import annotations

import asyncio
import importlib
import itertools
import json
import logging
import math
import random
import ssl
import time
import uuid
from collections import deque
from typing import Any, AsyncIterator, Deque, Dict, List, Optional, Tuple, TypeVar

from ._books import IdLike, id_of
from ._errors import Busy, DeadlineExceeded, Error, Rejected, Unavailable, Unknown
from ._methods import Unary
from ._mqtt import Connection, Ended, milliseconds

Q = TypeVar("Q")
A = TypeVar("A")

__all__ = ["Device", "Message"]

_log = logging.getLogger("stadium")

#: Seconds before the connection is opened again, at first and at most, where the server names no time.
_RETURN_MIN, _RETURN_MAX = 0.5, 30.0

#: Reason codes after which the same CONNECT does not help: protocol, identifier, credentials, banned,
#: taken over by another connection of the same device.
_FINAL = {0x84, 0x85, 0x86, 0x87, 0x8A, 0x8C, 0x8E}


class Message:
    """A message to the device. It is acknowledged when the next one is asked for, or by `ack`.

    A message that was not acknowledged is delivered again after a reconnection.
    """

    def __init__(self, topic: str, payload: bytes, properties: Any) -> None:
        self.topic, self.payload = topic, payload
        #: The MIME type, where the sender named one; else empty.
        self.content_type: str = getattr(properties, "ContentType", "")
        #: Names and values; a name may occur more than once.
        self.user_properties: List[Tuple[str, str]] = list(getattr(properties, "UserProperty", []))
        self._acknowledge: "Any" = None

    def json(self) -> Any:
        """The payload as JSON: a notification has `push`, `title`, `body` and `data`."""
        return json.loads(self.payload)

    def ack(self) -> None:
        """Acknowledges the message now. After a reconnection this does nothing: it is delivered again."""
        acknowledge, self._acknowledge = self._acknowledge, None
        if acknowledge is not None:
            acknowledge()

    def __repr__(self) -> str:
        return f"<Message {self.topic}, {len(self.payload)} bytes>"


class Device:
    """A device of an app. Use it as an asynchronous context manager; iterate it for its messages.

    It subscribes to its inbox, returns by itself after a lost connection, when the server wants it to, and
    keeps its session for `session` seconds.
    """

    def __init__(
        self,
        device: str,
        secret: Optional[str] = None,
        *,
        app: str = "default",
        host: str = "127.0.0.1",
        port: int = 1883,
        user: Optional[str] = None,
        tls: Optional[ssl.SSLContext] = None,
        session: float = 300.0,
        keepalive: int = 60,
        channels: Tuple[str, ...] = (),
    ) -> None:
        """`channels` are topics beside the inbox, such as `channels/everybody`. Times are seconds."""
        self.client_id = device if app == "default" else f"{app}/{device}"
        self._inbox = f"inbox/{self.client_id}"
        self._secret, self._user, self._tls = secret, user, tls
        self._at = (host, port)
        self._session, self._keepalive = max(0, math.ceil(session)), keepalive
        self._topics = [self._inbox, *channels]
        self._messages: Deque[Message] = deque()
        self._changed = asyncio.Event()
        self._connection: Optional[Connection] = None
        self._keeper: "Optional[asyncio.Task[None]]" = None
        self._error: Optional[Error] = None
        self._pending: "Dict[bytes, asyncio.Future[Message]]" = {}
        self._last: Optional[Message] = None
        self._numbers = itertools.count(1)

    def __repr__(self) -> str:
        return f"<Device {self.client_id}>"

    async def __aenter__(self) -> "Device":
        """Connects. Raises `Rejected` where the server refuses the device, and tries on where it is busy."""
        importlib.import_module("aiomqtt")  # Its absence is an error here, not in a task.
        self._keeper = asyncio.ensure_future(self._keep())
        try:
            while self._connection is None and self._error is None:
                await self._wait()
        except BaseException:
            await self.close()
            raise
        if self._error is not None:
            await self.close()
            raise self._error
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Disconnects. The session lasts on, and what is not acknowledged is delivered later."""
        keeper, self._keeper = self._keeper, None
        if keeper is not None:
            keeper.cancel()
            await asyncio.wait([keeper])

    @property
    def is_connected(self) -> bool:
        """Whether the device is connected now."""
        return self._connection is not None

    def __aiter__(self) -> AsyncIterator[Message]:
        return self

    async def __anext__(self) -> Message:
        """The next message. The one before is acknowledged."""
        if self._last is not None:
            self._last.ack()
            self._last = None
        while not self._messages:
            if self._error is not None:
                raise self._error
            if self._keeper is None:
                raise StopAsyncIteration
            await self._wait()
        self._last = self._messages.popleft()
        return self._last

    async def publish(self, topic: str, payload: bytes, *, deadline: float = 10.0) -> None:
        """Publishes at QoS 1, and waits until the server has it. Raises `Busy` or `Rejected` by its answer."""
        await self._publish(topic, payload, time.monotonic() + deadline, {})

    async def opened(self, push: IdLike) -> None:
        """The user opened this push, which the device was sent."""
        await self._report("me/opened", {"push": id_of(push).hex})

    async def clicked(self, push: IdLike, action: str = "") -> None:
        """The user clicked this push, or an action of it."""
        body = {"push": id_of(push).hex, **({"action": action} if action else {})}
        await self._report("me/clicked", body)

    async def change(
        self,
        *,
        tags: Optional[Dict[str, List[str]]] = None,
        attributes: Optional[Dict[str, Any]] = None,
        opted_in: Optional[bool] = None,
    ) -> None:
        """Changes what the app lets its devices change: see docs/devices-own-rights.md."""
        body = {"tags": tags, "attributes": attributes, "opted_in": opted_in}
        await self._report("me/device", {name: value for name, value in body.items() if value is not None})

    async def request(self, method: Unary[Q, A], request: Q, *, deadline: float = 5.0) -> A:
        """Asks a service through the server. Errors are those of a call.

        A request that is repeated after `DeadlineExceeded`, `ConnectionBroken` or `Unknown` may be carried
        out twice.
        """
        correlation = f"{next(self._numbers):x}-{uuid.uuid4().hex[:8]}".encode()
        answer: "asyncio.Future[Message]" = asyncio.get_running_loop().create_future()
        self._pending[correlation] = answer
        until = time.monotonic() + deadline
        try:
            await self._publish(
                f"rpc/{method.route}",
                method.encode_request(request),
                until,
                {
                    "ResponseTopic": self._inbox,
                    "CorrelationData": correlation,
                    "MessageExpiryInterval": max(1, math.ceil(deadline)),
                },
            )
            message = await asyncio.wait_for(answer, max(0.0, until - time.monotonic()))
        except asyncio.TimeoutError:
            raise DeadlineExceeded(f"{method.route}: no answer within {deadline} s") from None
        finally:
            del self._pending[correlation]
        return method.decode_answer(_payload_of(message))

    async def _report(self, topic: str, body: Dict[str, Any]) -> None:
        await self.publish(topic, json.dumps(body).encode())

    async def _publish(self, topic: str, payload: bytes, until: float, more: Dict[str, Any]) -> None:
        while self._connection is None:
            if self._error is not None:
                raise self._error
            if self._keeper is None:
                raise RuntimeError("the device is closed")
            try:
                await asyncio.wait_for(self._wait(), max(0.0, until - time.monotonic()))
            except asyncio.TimeoutError:
                raise Unavailable("the device is not connected") from None
        await self._connection.publish(topic, payload, until, more)

    async def _wait(self) -> None:
        self._changed.clear()
        await self._changed.wait()

    async def _keep(self) -> None:
        """Keeps the device connected until it is closed or refused for good."""
        delay = _RETURN_MIN
        try:
            while True:
                ended = await self._connected_once()
                if ended.was_connected:
                    delay = _RETURN_MIN
                if ended.code in _FINAL:
                    self._error = Rejected(f"0x{ended.code:02X}", ended.text)
                    return
                if ended.reference is not None:
                    self._at = ended.reference
                # What the server names is a time after which it has room: all of it, and a little apart.
                wait = random.uniform(0.5, 1.0) * delay
                if ended.retry_after is not None:
                    wait = ended.retry_after * random.uniform(1.0, 1.1)
                _log.info("%s is not connected: %s. Again in %.1f s", self.client_id, ended.text, wait)
                await asyncio.sleep(wait)
                delay = min(delay * 2, _RETURN_MAX)
        except asyncio.CancelledError:
            pass
        except Exception as error:
            _log.exception("The connection of %s failed", self.client_id)
            self._error = Unknown("", f"{type(error).__name__}: {error}")
        finally:
            self._changed.set()

    async def _connected_once(self) -> Ended:
        aiomqtt: Any = importlib.import_module("aiomqtt")
        connection = Connection(
            aiomqtt,
            self._at,
            identifier=self.client_id,
            username=(self._user or self.client_id) if self._secret or self._user else None,
            password=self._secret,
            keepalive=self._keepalive,
            tls_context=self._tls,
            session=self._session,
        )
        try:
            async with connection.client:
                await connection.subscribe(self._topics)
                self._connection = connection
                self._changed.set()
                async for message in connection.client.messages:
                    self._came(connection, message)
        except aiomqtt.MqttError as error:
            connection.ended.text = connection.ended.text or str(error)
        finally:
            self._connection = None
            connection.broke()
            # What is not acknowledged comes again with the next connection.
            self._messages.clear()
            self._last = None
        return connection.ended

    def _came(self, connection: Connection, received: Any) -> None:
        message = Message(received.topic.value, bytes(received.payload or b""), received.properties)
        if received.qos > 0:
            message._acknowledge = lambda: connection.acknowledge(received.mid, received.qos)
        correlation = getattr(received.properties, "CorrelationData", None)
        if correlation is None:
            self._messages.append(message)
            self._changed.set()
            return
        # An answer to a request; one that nobody waits for any more is dropped.
        message.ack()
        waits = self._pending.get(bytes(correlation))
        if waits is not None and not waits.done():
            waits.set_result(message)


def _payload_of(answer: Message) -> bytes:
    """The payload of an answer that is ok, or the error that its properties name."""
    named = dict(answer.user_properties)
    status, reason = named.get("status", ""), named.get("reason", "")
    if status == "ok":
        return answer.payload
    if status == "busy":
        raise Busy(reason, retry_after=milliseconds(named))
    if status == "rejected":
        raise Rejected(named.get("code", ""), reason)
    if status == "deadline":
        raise DeadlineExceeded(reason or "the service gave no answer in time")
    raise Unknown(named.get("code", ""), reason or "the outcome is not known")
