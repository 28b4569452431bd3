"""Calls from asyncio: every call is a future at once.

A client belongs to the event loop in which it is made. The loop watches the descriptor of the client's
completion queue, so no thread of Python's runs beside it.
"""

from __future__ import annotations

import asyncio
from collections import deque
from typing import Any, AsyncIterator, Callable, Deque, Dict, Generic, Optional, TypeVar, Union

from .. import _stadium
from .._carried import Carried
from .._errors import Failure, of_failure
from .._key import ApiKey
from .._methods import Channel as ChannelMethod
from .._methods import Method, OneWay, Unary
from .._methods import Stream as StreamMethod
from .._native import ANSWER, BATCH, CREDIT, END, ITEM, next_tag
from .._settings import ClientSettings, to_json

Q = TypeVar("Q")
A = TypeVar("A")

__all__ = ["Channel", "Client", "Stream"]


class Client:
    """A client of services. Use it as an asynchronous context manager, or close it."""

    def __init__(
        self, *instances: str, api_key: Union[ApiKey, str, None] = None, **settings: Any
    ) -> None:
        """Instances are `HOST:PORT`; other keywords are those of `stadium.ClientSettings`.

        Every call shows the `api_key` as its bearer token.
        """
        if instances:
            settings["instances"] = instances
        self._carried = Carried(api_key, settings)
        self._queue = _stadium.Queue()
        self._native: Optional[_stadium.Client] = _stadium.Client(
            to_json(ClientSettings(**settings)), self._queue
        )
        self._methods: Dict[Method[Any, Any], _stadium.Method] = {}
        self._calls: Dict[int, Callable[[Optional[bytes], Optional[Failure]], None]] = {}
        self._streams: Dict[int, "Stream[Any]"] = {}
        self._loop = asyncio.get_running_loop()
        self._loop.add_reader(self._queue.fileno(), self._drain)

    async def __aenter__(self) -> "Client":
        return self

    async def __aexit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Ends the client. Calls under way end as cancelled."""
        if self._native is None:
            return
        self._native = None
        self._loop.remove_reader(self._queue.fileno())
        self._queue.close()
        cancelled: Failure = (8, "", "the client was closed", 0.0, 0)
        for done in list(self._calls.values()):
            done(None, cancelled)
        for stream in list(self._streams.values()):
            stream._end(cancelled)
        self._methods.clear()

    def call(
        self,
        method: Unary[Q, A],
        request: Q,
        *,
        deadline: Optional[float] = None,
        key: Optional[bytes] = None,
        metadata: Optional[bytes] = None,
    ) -> "asyncio.Future[A]":
        """Calls. Cancelling the future cancels the call; it ends at its deadline at the latest."""
        future: "asyncio.Future[A]" = self._loop.create_future()
        tag = next_tag()
        calls, decode = self._calls, method.decode_answer

        def done(payload: Optional[bytes], failure: Optional[Failure]) -> None:
            del calls[tag]
            if future.done():
                return
            if failure is not None:
                future.set_exception(of_failure(failure))
                return
            try:
                future.set_result(decode(payload or b""))
            except Exception as error:
                future.set_exception(error)

        encoded = method.encode_request(request)
        metadata = self._carried.metadata(metadata)
        call = self._of(method).call(encoded, tag, deadline, key, metadata)
        # Events are taken by this thread alone, so none comes before this.
        calls[tag] = done
        if call is not None:
            future.add_done_callback(lambda future: call.cancel() if future.cancelled() else None)
        return future

    def one_way(
        self,
        method: OneWay[Q],
        request: Q,
        *,
        key: Optional[bytes] = None,
        metadata: Optional[bytes] = None,
    ) -> None:
        """Sends a request that has no answer. Nobody learns whether it arrived."""
        metadata = self._carried.metadata(metadata)
        self._of(method).call(method.encode_request(request), 0, None, key, metadata)

    def stream(
        self,
        method: StreamMethod[Q, A],
        request: Q,
        *,
        deadline: Optional[float] = None,
        key: Optional[bytes] = None,
        metadata: Optional[bytes] = None,
        credit: int = CREDIT,
    ) -> "Stream[A]":
        """Opens a stream. Messages come as they are read, at most `credit` ahead."""
        stream: Stream[A] = Stream(self, method.decode_answer, credit)
        encoded = method.encode_request(request)
        metadata = self._carried.metadata(metadata)
        stream._native = self._of(method).open(encoded, stream._tag, credit, deadline, key, metadata)
        self._streams[stream._tag] = stream
        return stream

    def channel(
        self,
        method: ChannelMethod[Q, A],
        first: Q,
        *,
        deadline: Optional[float] = None,
        key: Optional[bytes] = None,
        metadata: Optional[bytes] = None,
        credit: int = CREDIT,
    ) -> "Channel[Q, A]":
        """Opens a channel with its first message."""
        channel: Channel[Q, A] = Channel(self, method.decode_answer, credit)
        channel._encode = method.encode_request
        encoded = method.encode_request(first)
        metadata = self._carried.metadata(metadata)
        channel._native = self._of(method).open(encoded, channel._tag, credit, deadline, key, metadata)
        self._streams[channel._tag] = channel
        return channel

    async def explain(self, method: Method[Any, Any], key: Optional[bytes] = None) -> str:
        """The instances that are known, and the one that a call with this key would go to, as text."""
        return await self._loop.run_in_executor(None, self._of(method).explain, key)

    def _of(self, method: Method[Any, Any]) -> _stadium.Method:
        native = self._methods.get(method)
        if native is None:
            if self._native is None:
                raise RuntimeError("the client is closed")
            native = self._native.method(method.route, method.interaction, method.idempotent)
            self._methods[method] = native
        return native

    def _drain_if_open(self) -> None:
        """Takes the events that are there now."""
        if self._native is not None:
            self._drain()

    def _drain(self) -> None:
        for kind, tag, _, payload, _, failure in self._queue.take(BATCH, 0.0):
            if kind == ANSWER:
                done = self._calls.get(tag)
                if done is not None:
                    done(payload, failure)
                continue
            stream = self._streams.get(tag)
            if stream is None:
                continue
            if kind == ITEM:
                stream._messages.append(payload or b"")
                stream._wake()
            elif kind == END:
                stream._end(failure)
            else:
                stream._writable.set()


class Stream(Generic[A]):
    """The messages of a stream: an asynchronous iterator. Leaving it early cancels the stream."""

    _native: _stadium.Stream

    def __init__(self, client: Client, decode: Callable[[bytes], A], credit: int) -> None:
        self._client = client
        # Messages read after which more are asked for.
        self._worth = max(1, credit // 2)
        self._decode = decode
        self._tag = next_tag()
        self._messages: Deque[bytes] = deque()
        self._ended = False
        self._failure: Optional[Failure] = None
        self._read = 0
        self._waiter: "Optional[asyncio.Future[None]]" = None
        self._writable = asyncio.Event()

    def __aiter__(self) -> AsyncIterator[A]:
        return self

    async def __anext__(self) -> A:
        while not self._messages:
            if self._ended:
                if self._failure is not None:
                    raise of_failure(self._failure)
                raise StopAsyncIteration
            self._waiter = self._client._loop.create_future()
            try:
                await self._waiter
            finally:
                self._waiter = None
        message = self._messages.popleft()
        self._read += 1
        if self._read >= self._worth:
            self._native.want(self._read)
            self._read = 0
        return self._decode(message)

    async def __aenter__(self) -> "Stream[A]":
        return self

    async def __aexit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Gives the stream up, unless it has ended."""
        self._native.close()
        self._client._streams.pop(self._tag, None)
        self._ended = True
        self._writable.set()
        self._wake()

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    def _end(self, failure: Optional[Failure]) -> None:
        self._client._streams.pop(self._tag, None)
        self._ended, self._failure = True, failure
        self._writable.set()
        self._wake()


class Channel(Stream[A], Generic[Q, A]):
    """Streams both ways."""

    _encode: Callable[[Q], bytes]

    async def send(self, message: Q) -> None:
        """Sends a message, after waiting while the service takes none."""
        encoded = self._encode(message)
        while True:
            self._writable.clear()
            taken = self._native.send(encoded)
            if taken:
                return
            if taken is None or self._ended:
                raise of_failure(self._failure or (8, "", "the channel has ended", 0.0, 0))
            await self._writable.wait()

    def complete(self) -> None:
        """Ends the caller's side."""
        self._native.complete()
