"""Servers: requests become tasks of an event loop, or run on a pool of threads.

The limit on requests that are worked on at once is the native server's, and follows the latency that it
measures: a loop or a pool that is too slow is seen by callers as Busy.
"""

from __future__ import annotations

import asyncio
import contextvars
import inspect
import logging
import signal
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from typing import Any, AsyncIterator, Callable, Deque, Dict, Optional, Set, Tuple

from . import _stadium
from ._errors import to_refusal
from ._methods import Channel, Method, Stream
from ._native import (
    BATCH,
    CREDIT,
    REQUEST,
    REQUEST_CANCELLED,
    REQUEST_END,
    REQUEST_ITEM,
    WRITABLE,
)
from ._service import Call, Service, by_tag
from ._settings import ServerSettings, to_json
from ._tracing import attach

_log = logging.getLogger("stadium")

_END = object()


class Server:
    """A running server. Make it in an event loop; use it as an asynchronous context manager."""

    def __init__(self, *services: Service, threads: int = 8, **settings: Any) -> None:
        """`threads` run plain functions; other keywords are those of `stadium.ServerSettings`."""
        self._queue = _stadium.Queue()
        self._methods = by_tag(services)
        self._work: Dict[int, _Work] = {}
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="stadium-server")
        if isinstance(settings.get("listen"), str):
            settings["listen"] = [settings["listen"]]
        described = []
        first = 0
        for service in services:
            methods = [
                (method.route, method.interaction, first + nth)
                for nth, (method, _) in enumerate(service.methods)
            ]
            described.append((service.name, service.version, service.descriptors, methods))
            first += len(methods)
        self._native = _stadium.Server(to_json(ServerSettings(**settings)), described, self._queue)
        self._loop = asyncio.get_running_loop()
        self._loop.add_reader(self._queue.fileno(), self._drain)
        self._stopped = False

    @property
    def addresses(self) -> Tuple[str, ...]:
        """The addresses that are listened on, in the order of the settings."""
        return tuple(self._native.bound())

    async def __aenter__(self) -> "Server":
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.shutdown()

    async def shutdown(self, within: float = 10.0) -> int:
        """Takes on nothing new, finishes the work under way, and stops. Returns the connections that were cut."""
        if self._stopped:
            return 0
        self._stopped = True
        left = await self._loop.run_in_executor(None, self._native.shutdown, within)
        self._loop.remove_reader(self._queue.fileno())
        self._queue.close()
        self._pool.shutdown(wait=False)
        return left

    def _drain(self) -> None:
        for kind, tag, request_id, payload, request, _ in self._queue.take(BATCH, 0.0):
            if kind == REQUEST and request is not None:
                method, function = self._methods[tag]
                work = _Work(self, method, function, request, request_id)
                self._work[request_id] = work
                work.begin(payload or b"")
                continue
            under_way = self._work.get(request_id)
            if under_way is not None:
                under_way.happened(kind, payload)


class _Work:
    """One request."""

    def __init__(
        self,
        server: Server,
        method: Method[Any, Any],
        function: Callable[..., Any],
        request: _stadium.Request,
        request_id: int,
    ) -> None:
        self._server = server
        self._method, self._function = method, function
        self._request, self._id = request, request_id
        self._call = Call(request)
        self._writable = asyncio.Event()
        self._came: Deque[object] = deque()
        self._comes = asyncio.Event()
        self._task: "Optional[asyncio.Task[None]]" = None

    def begin(self, payload: bytes) -> None:
        self._task = self._server._loop.create_task(self._run(payload))

    def happened(self, kind: int, payload: Optional[bytes]) -> None:
        if kind == WRITABLE:
            self._writable.set()
        elif kind in (REQUEST_ITEM, REQUEST_END):
            self._came.append(payload if kind == REQUEST_ITEM else _END)
            self._comes.set()
        elif kind == REQUEST_CANCELLED:
            self._call._cancelled = True
            if self._task is not None:
                self._task.cancel()

    async def _run(self, payload: bytes) -> None:
        # The task has a context of its own.
        attach(self._request.metadata)
        try:
            if isinstance(self._method, Channel):
                await self._send_all(self._function(self._requests(), self._call))
                answer = b""
            else:
                answer = await self._answer(payload)
            self._request.answer(answer)
        except asyncio.CancelledError:
            # Nobody waits, or the loop ends: dropping the request answers it as unknown.
            pass
        except Exception as error:
            self._refuse(error)
        finally:
            self._server._work.pop(self._id, None)

    async def _answer(self, payload: bytes) -> bytes:
        try:
            request = self._method.decode_request(payload)
        except Exception as error:
            self._request.refuse(2, "RPC-004", f"the request cannot be read: {error}", 0.0, 0)
            return b""
        function = self._function
        if isinstance(self._method, Stream):
            await self._send_all(function(request, self._call))
            return b""
        if inspect.iscoroutinefunction(function):
            answer = await function(request, self._call)
        else:
            answer = await self._on_a_thread(function, request, self._call)
        return b"" if self._method.interaction == 1 else self._method.encode_answer(answer)

    async def _send_all(self, messages: Any) -> None:
        if hasattr(messages, "__aiter__"):
            async for message in messages:
                await self._send(self._method.encode_answer(message))
            return
        while True:
            message = await self._on_a_thread(next, messages, _END)
            if message is _END:
                return
            await self._send(self._method.encode_answer(message))

    async def _on_a_thread(self, function: Callable[..., Any], *arguments: Any) -> Any:
        run = contextvars.copy_context().run
        return await self._server._loop.run_in_executor(self._server._pool, run, function, *arguments)

    async def _send(self, message: bytes) -> None:
        while True:
            self._writable.clear()
            taken = self._request.send(message)
            if taken:
                return
            if taken is None:
                raise asyncio.CancelledError
            await self._writable.wait()

    async def _requests(self) -> AsyncIterator[Any]:
        self._request.want(CREDIT)
        read = 0
        while True:
            while not self._came:
                self._comes.clear()
                await self._comes.wait()
            message = self._came.popleft()
            if message is _END:
                return
            read += 1
            if read >= CREDIT // 2:
                self._request.want(read)
                read = 0
            yield self._method.decode_request(message)  # type: ignore[arg-type]

    def _refuse(self, error: Exception) -> None:
        refusal = to_refusal(error)
        if refusal is None:
            _log.exception("The function of %s failed", self._method.route, exc_info=error)
            refusal = (3, "RPC-007", "the service failed on this request", 0.0, 0)
        self._request.refuse(*refusal)


async def _serve(services: Tuple[Service, ...], settings: Dict[str, Any]) -> None:
    server = Server(*services, **settings)
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    signals: Set[signal.Signals] = {signal.SIGTERM, signal.SIGINT}
    for each in signals:
        loop.add_signal_handler(each, stop.set)
    _log.info("Serving on %s", ", ".join(server.addresses))
    await stop.wait()
    for each in signals:
        loop.remove_signal_handler(each)
    _log.info("Stopping: the work under way is finished first")
    await server.shutdown(settings.get("quiesce_within") or 30.0)


def serve(*services: Service, **settings: Any) -> None:
    """Serves until SIGTERM or SIGINT (Ctrl-C), then finishes the work under way and returns.

    Keywords are those of `Server`. Call it from the main thread.
    """
    asyncio.run(_serve(services, settings))
