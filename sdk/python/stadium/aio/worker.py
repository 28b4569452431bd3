"""The worker: takes the jobs of a queue, gives them to a function, and ends their leases."""

from __future__ import annotations

import asyncio
import inspect
import logging
import os
import random
import socket
import time
from typing import Any, Awaitable, Callable, Dict, Optional, Union

from .. import _routes as routes
from .._errors import Busy, Error, Rejected
from .._jobs import Job
from .._leases import SETTLE, WAITING_MAX, Counts, Leases, Verdict
from .._tasks import Threads
from .._times import span_ms
from ..v1 import queue_pb2 as pb
from ._client import Client, Stream

__all__ = ["Bury", "Counts", "Handler", "Retry", "Worker"]

_log = logging.getLogger("stadium")

#: Seconds before the stream is opened again, at first and at most. The delay doubles, and a random half of
#: it is left out, so that workers do not return all at once.
_REOPEN_MIN, _REOPEN_MAX = 0.1, 5.0

#: Seconds of a drain that are left for the last answers of the server.
_CONFIRM_WITHIN = 5.0

#: Seconds in which jobs arrive that were asked for just before a stop.
_ARRIVE_WITHIN = 0.2

#: Above any number of messages: the stream asks for more only where the worker does.
_BY_HAND = 1 << 62

#: A function of one job, plain or a coroutine. What it returns does not matter.
Handler = Union[Callable[[Job], Awaitable[Any]], Callable[[Job], Any]]


class Bury(Exception):
    """Raised by a handler: the job is set aside until somebody looks. The text is the reason."""


class Retry(Exception):
    """Raised by a handler: the job is due again after `after` seconds, or after the queue's back-off.

    The attempt counts. The text is the error in the job's history.
    """

    def __init__(self, text: str = "", *, after: Optional[float] = None) -> None:
        super().__init__(text)
        span_ms("after", after or 0)
        self.after = after


class Worker:
    """Works on the jobs of a queue, up to `concurrency` at once.

    - A job whose handler returns is settled. `Bury` and `Retry` say otherwise; any other exception is
      logged, and the job is due again after the queue's back-off.
    - It asks for as many jobs as it can begin, and never for more.
    - The lease of a job is extended while its handler runs. A handler that is a coroutine is cancelled when
      the lease is lost; a plain function sees `job.cancelled`.
    - Where the server cannot be reached, the worker tries again until it can.
    - A job is handed out again when a worker dies. So it may be worked on more than once: `job.id` stays the
      same.
    """

    def __init__(
        self,
        client: Client,
        queue: str,
        handler: Handler,
        *,
        concurrency: int = 10,
        lease: float = 30.0,
        settle_within: float = 0.02,
        drain_within: float = 20.0,
        name: Optional[str] = None,
    ) -> None:
        """Times are seconds.

        - `concurrency`: jobs that are worked on at once, 1 to 1,000. Plain functions have so many threads.
        - `lease`: after so long a job of a dead worker is handed out again, 1 s to 12 h.
        - `settle_within`: how long the end of a job may wait for others, 0 to 1 s, so that they are
          settled together.
        - `drain_within`: how long handlers may go on once the worker stops. Then they are cancelled, and
          their jobs are given back.
        - `name`: in the history of jobs, at most 64 bytes; without one: the host's name and the process id.
        """
        if not 1 <= concurrency <= 1_000:
            raise ValueError(f"concurrency is {concurrency}; 1 to 1,000 is possible")
        if not 1 <= lease <= 12 * 3600:
            raise ValueError(f"lease is {lease}; 1 s to 12 h is possible")
        if not 0 <= settle_within <= 1:
            raise ValueError(f"settle_within is {settle_within}; 0 to 1 s is possible")
        if drain_within < 0:
            raise ValueError(f"drain_within is {drain_within}, and cannot be negative")
        self.counts = Counts()
        self._client, self._queue, self._handler = client, queue, handler
        self._concurrency, self._lease, self._drain_within = concurrency, lease, drain_within
        self._name = f"{socket.gethostname()[:48]}-{os.getpid()}" if name is None else name
        self._is_async = inspect.iscoroutinefunction(handler) or inspect.iscoroutinefunction(
            getattr(handler, "__call__", None)
        )
        self._threads = Threads(concurrency)
        self._running: "Dict[asyncio.Task[None], Job]" = {}
        self._stop = asyncio.Event()
        self._roomier = asyncio.Event()
        self._error: Optional[Error] = None
        self._stream: Optional[Stream[pb.ReservedJob]] = None
        self._asked = 0
        self._leases = Leases(client, lease, settle_within, self.counts, self._want, self._goes_on)

    def stop(self) -> None:
        """Takes nothing new; `run` returns when what runs has ended. The second call cancels what runs."""
        if self._stop.is_set():
            for task in list(self._running):
                task.cancel()
        self._stop.set()

    async def run(self) -> None:
        """Works until `stop` is called or this task is cancelled.

        Raises the error where the server refuses the worker for good: `Rejected` with `NODE-009` where the
        API key is unknown, revoked, expired, or has no right to the queue.
        """
        extending = asyncio.ensure_future(self._leases.extend_for_ever())
        taking = asyncio.ensure_future(self._take_for_ever())
        stopping = asyncio.ensure_future(self._stop.wait())
        try:
            await asyncio.wait([extending, taking, stopping], return_when=asyncio.FIRST_COMPLETED)
        finally:
            # A cancelled run drains too: what is taken is never simply dropped.
            await asyncio.shield(asyncio.ensure_future(self._drain(taking, extending, stopping)))
        for ended in (taking, extending):
            if not ended.cancelled():
                error = ended.exception()
                if error is not None:
                    raise error
        if self._error is not None:
            raise self._error

    async def _take_for_ever(self) -> None:
        delay = _REOPEN_MIN
        while True:
            while self._room() < 1:
                self._roomier.clear()
                await self._roomier.wait()
            try:
                async with self._open() as stream:
                    async for message in stream:
                        delay = _REOPEN_MIN
                        self._asked -= 1
                        (self._give_back if self._stop.is_set() else self._begin)(Job(message))
                error: Optional[Error] = None
            except Rejected as refused:
                if not self._goes_on(refused):
                    raise
                error = refused
            except Error as failed:
                error = failed
            finally:
                self._stream, self._asked = None, 0
            wait = delay * random.uniform(0.5, 1.0)
            if isinstance(error, Busy):
                wait = max(wait, error.retry_after)
            _log.warning("Work on %s goes on in %.1f s: %s", self._queue, wait, error or "the stream ended")
            await asyncio.sleep(wait)
            delay = min(delay * 2, _REOPEN_MAX)

    def _open(self) -> "Stream[pb.ReservedJob]":
        request = pb.WorkRequest(
            queue=self._queue, lease_ms=span_ms("lease", self._lease), worker=self._name
        )
        # A stream begins with one message at least: there is room for it.
        self._asked = self._room()
        stream = self._client.stream(routes.QUEUE_WORK, request, credit=self._asked)
        stream._worth = _BY_HAND
        self._stream = stream
        return stream

    def _room(self) -> int:
        """Jobs that could be begun beyond those that were asked for."""
        free = self._concurrency - len(self._running)
        return min(free, WAITING_MAX - self._leases.waiting - len(self._running)) - self._asked

    def _want(self) -> None:
        """Asks for as many jobs as there is room for."""
        room = self._room()
        if room > 0:
            self._roomier.set()
        if self._stream is not None and room > 0 and not self._stop.is_set():
            self._asked += room
            self._stream._native.want(room)

    def _give_back(self, job: Job) -> None:
        """Returns a job that was not begun; the attempt does not count."""
        self._leases.take(job, lambda: None)
        self._leases.end(job, ("return", 0.0, ""))

    def _begin(self, job: Job) -> None:
        task = asyncio.ensure_future(self._work_on(job))
        self._running[task] = job

        def lost() -> None:
            job._cancelled = True
            task.cancel()

        self._leases.take(job, lost)
        task.add_done_callback(self._ended)

    def _ended(self, task: "asyncio.Task[None]") -> None:
        job = self._running.pop(task)
        # A task that was cancelled before its first step has given no verdict.
        if task.cancelled():
            self._leases.end(job, ("release", 0.0, "the worker stopped"))
        self._want()

    async def _work_on(self, job: Job) -> None:
        try:
            if self._is_async:
                await self._handler(job)
            else:
                await self._threads.run(self._handler, job)
            verdict = SETTLE
        except asyncio.CancelledError:
            # The lease is lost, the worker stops, or the handler cancelled itself: then it is an error.
            by_us = job._cancelled or self._stop.is_set()
            text = "the worker stopped" if by_us else "the handler was cancelled"
            verdict = ("release", 0.0 if by_us else None, text)
            job._cancelled = job._cancelled or by_us
        except Exception as error:
            verdict = self._verdict(job, error)
        self._leases.end(job, verdict)

    def _verdict(self, job: Job, error: Exception) -> Verdict:
        if isinstance(error, Bury):
            return ("bury", None, str(error))
        if isinstance(error, Retry):
            return ("release", error.after, str(error))
        _log.warning("Job %d of %s failed, attempt %d", job.id, self._queue, job.attempt, exc_info=error)
        return ("release", None, f"{type(error).__name__}: {error}")

    def _goes_on(self, error: Rejected) -> bool:
        """Whether a refusal is not the end: its outcome is unknown, or the key was just rotated."""
        key = self._client._carried.api_key
        is_rotated = error.code == "NODE-009" and key is not None and key.changed()
        if error.may_have_happened or is_rotated:
            return True
        self._error = self._error or error
        self._stop.set()
        return False

    async def _drain(self, taking: "asyncio.Task[None]", *tasks: "asyncio.Task[Any]") -> None:
        self._stop.set()
        # Jobs that were asked for just now are on their way: where the queue has any, they come at once.
        until = time.monotonic() + _ARRIVE_WITHIN
        while self._asked > 0 and self._stream is not None and time.monotonic() < until:
            await asyncio.sleep(_ARRIVE_WITHIN / 20)
        taking.cancel()
        stream = self._stream
        if stream is not None:
            # What the server has sent is here, and is given back; the rest it takes back itself.
            self._client._drain_if_open()
            given_back = [Job(stream._decode(message)) for message in stream._messages]
            stream._messages.clear()
            stream.close()
            for job in given_back:
                self._give_back(job)
        if self._running:
            await asyncio.wait(list(self._running), timeout=self._drain_within)
        for task, job in list(self._running.items()):
            job._cancelled = True
            task.cancel()
        if self._running:
            await asyncio.wait(list(self._running), timeout=1.0)
        await self._leases.drain(_CONFIRM_WITHIN)
        for each in tasks:
            each.cancel()
        await asyncio.wait([taking, *tasks])
        self._threads.end()
