"""Calls from threads: a call waits, or gives a `concurrent.futures.Future`.

Each client has one thread of Python's, which takes events and completes futures. Any thread may call.
"""

from __future__ import annotations

import threading
from collections import deque
from concurrent.futures import CancelledError, Future
from typing import Any, Callable, Deque, Dict, Generic, Iterator, Optional, TypeVar, Union

from . import _stadium
from ._carried import Carried
from ._errors import Failure, of_failure
from ._key import ApiKey
from ._methods import Channel as ChannelMethod
from ._methods import Method, OneWay, Unary
from ._methods import Stream as StreamMethod
from ._native import ANSWER, BATCH, CREDIT, END, ITEM, next_tag
from ._settings import ClientSettings, to_json

Q = TypeVar("Q")
A = TypeVar("A")

#: The pause in which the client's thread notices that the client was closed.
_LOOKS_EVERY = 0.1


class Client:
    """A client of services for threads. Use it as a context manager, or close it."""

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
        self._lock = threading.Lock()
        self._thread = threading.Thread(target=self._run, name="stadium-client", daemon=True)
        self._thread.start()

    def __enter__(self) -> "Client":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Ends the client. Calls under way end as cancelled."""
        self._end_all()
        self._native = None
        self._methods.clear()
        if threading.current_thread() is not self._thread:
            self._thread.join()

    def call(
        self,
        method: Unary[Q, A],
        request: Q,
        *,
        deadline: Optional[float] = None,
        key: Optional[bytes] = None,
        metadata: Optional[bytes] = None,
    ) -> A:
        """Calls, and waits for the answer."""
        return self.submit(method, request, deadline=deadline, key=key, metadata=metadata).result()

    def submit(
        self,
        method: Unary[Q, A],
        request: Q,
        *,
        deadline: Optional[float] = None,
        key: Optional[bytes] = None,
        metadata: Optional[bytes] = None,
    ) -> "Future[A]":
        """Calls. The future ends at the call's deadline at the latest; cancelling it cancels the call."""
        future: "Future[A]" = Future()
        tag = next_tag()

        def done(payload: Optional[bytes], failure: Optional[Failure]) -> None:
            try:
                if failure is not None:
                    future.set_exception(of_failure(failure))
                else:
                    future.set_result(method.decode_answer(payload or b""))
            except CancelledError:
                pass
            except Exception as error:
                if not future.done():
                    future.set_exception(error)

        encoded = method.encode_request(request)
        metadata = self._carried.metadata(metadata)
        self._calls[tag] = done
        try:
            call = self._of(method).call(encoded, tag, deadline, key, metadata)
        except BaseException:
            self._calls.pop(tag, None)
            raise
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
        stream._open(method, method.encode_request(request), credit, deadline, key, metadata)
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
        channel._open(method, method.encode_request(first), credit, deadline, key, metadata)
        return channel

    def explain(self, method: Method[Any, Any], key: Optional[bytes] = None) -> str:
        """The instances that are known, and the one that a call with this key would go to, as text."""
        return self._of(method).explain(key)

    def _of(self, method: Method[Any, Any]) -> _stadium.Method:
        native = self._methods.get(method)
        if native is None:
            with self._lock:
                client = self._native
                if client is None:
                    raise RuntimeError("the client is closed")
                native = client.method(method.route, method.interaction, method.idempotent)
                self._methods[method] = native
        return native

    def _run(self) -> None:
        while self._native is not None:
            for kind, tag, _, payload, _, failure in self._queue.take(BATCH, _LOOKS_EVERY):
                self._happened(kind, tag, payload, failure)
        self._queue.close()
        self._end_all()

    def _end_all(self) -> None:
        cancelled: Failure = (8, "", "the client was closed", 0.0, 0)
        while True:
            try:
                _, done = self._calls.popitem()
            except KeyError:
                break
            done(None, cancelled)
        for stream in list(self._streams.values()):
            stream._end(cancelled)

    def _happened(
        self, kind: int, tag: int, payload: Optional[bytes], failure: Optional[Failure]
    ) -> None:
        if kind == ANSWER:
            done = self._calls.pop(tag, None)
            if done is not None:
                done(payload, failure)
            return
        stream = self._streams.get(tag)
        if stream is None:
            return
        if kind == ITEM:
            stream._came(payload or b"")
        elif kind == END:
            stream._end(failure)
        else:
            stream._may_send()


class Stream(Generic[A]):
    """The messages of a stream: an iterator that waits. Closing it early cancels the stream."""

    _native: _stadium.Stream

    def __init__(self, client: Client, decode: Callable[[bytes], A], credit: int) -> None:
        self._client = client
        self._decode = decode
        # Messages read after which more are asked for.
        self._worth = max(1, credit // 2)
        self._tag = next_tag()
        self._messages: Deque[bytes] = deque()
        self._changed = threading.Condition()
        self._ended = False
        self._writable = True
        self._failure: Optional[Failure] = None
        self._read = 0

    def __iter__(self) -> Iterator[A]:
        return self

    def __next__(self) -> A:
        with self._changed:
            while not self._messages:
                if self._ended:
                    if self._failure is not None:
                        raise of_failure(self._failure)
                    raise StopIteration
                self._changed.wait()
            message = self._messages.popleft()
        self._read += 1
        if self._read >= self._worth:
            self._native.want(self._read)
            self._read = 0
        return self._decode(message)

    def __enter__(self) -> "Stream[A]":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Gives the stream up, unless it has ended."""
        self._native.close()
        self._end(None)

    def _open(
        self,
        method: Method[Any, Any],
        request: bytes,
        credit: int,
        deadline: Optional[float],
        key: Optional[bytes],
        metadata: Optional[bytes],
    ) -> None:
        native = self._client._of(method)
        metadata = self._client._carried.metadata(metadata)
        # The first event may come before the native stream is here; it needs the lock.
        with self._changed:
            self._client._streams[self._tag] = self
            try:
                self._native = native.open(request, self._tag, credit, deadline, key, metadata)
            except BaseException:
                self._client._streams.pop(self._tag, None)
                raise

    def _came(self, message: bytes) -> None:
        with self._changed:
            self._messages.append(message)
            self._changed.notify_all()

    def _end(self, failure: Optional[Failure]) -> None:
        self._client._streams.pop(self._tag, None)
        with self._changed:
            if not self._ended:
                self._ended, self._failure = True, failure
            self._changed.notify_all()

    def _may_send(self) -> None:
        with self._changed:
            self._writable = True
            self._changed.notify_all()


class Channel(Stream[A], Generic[Q, A]):
    """Streams both ways. One thread may send while another one reads."""

    _encode: Callable[[Q], bytes]

    def send(self, message: Q) -> None:
        """Sends a message, after waiting while the service takes none."""
        encoded = self._encode(message)
        while True:
            with self._changed:
                self._writable = False
            taken = self._native.send(encoded)
            if taken:
                return
            with self._changed:
                if taken is None or self._ended:
                    raise of_failure(self._failure or (8, "", "the channel has ended", 0.0, 0))
                while not (self._writable or self._ended):
                    self._changed.wait()

    def complete(self) -> None:
        """Ends the caller's side."""
        self._native.complete()
