"""The leases of a worker: extended while their jobs are worked on, ended in batches.

A batch is sent when it has `BATCH_MAX` leases or its first one waited for `settle_within`. What the server
does not take is sent again, as long as the lease may last.
"""

from __future__ import annotations

import asyncio
import logging
import time
from dataclasses import dataclass
from typing import Awaitable, Callable, Dict, List, Optional, Set, Tuple

from . import _routes as routes
from ._errors import Busy, Error, Rejected
from ._jobs import Job, Outcome, Status, lease_of, outcomes, release_request, shortened
from ._times import span_ms
from .aio._client import Client
from .v1 import queue_pb2 as pb

_log = logging.getLogger("stadium")

#: Leases of a batch: a hundred make a record of the journal worth while, and a request stays small.
BATCH_MAX = 100

#: Leases that wait for an answer at most. Beyond it the worker takes no new jobs: so many results can be
#: lost by a crash, and their jobs are worked on again.
WAITING_MAX = 2_000

#: Seconds between attempts at first, and at most. The delay doubles.
_RETRY_MIN, _RETRY_MAX = 0.05, 2.0

#: Seconds for one request.
_DEADLINE = 5.0

#: What is sent for a lease: `settle`; `release` with a delay and an error; `return`, as if it had not been
#: tried; `bury` with a reason.
Verdict = Tuple[str, Optional[float], str]

_COUNTED = {"settle": "settled", "release": "released", "return": "released", "bury": "buried"}

SETTLE: Verdict = ("settle", None, "")


@dataclass
class Counts:
    """What a worker has done. Each job that it took is in one of these, or is being worked on."""

    settled: int = 0
    released: int = 0
    buried: int = 0
    #: Jobs that were settled by somebody, or taken away, before the worker could end its lease.
    lost: int = 0
    #: Jobs whose end the server did not confirm in time. Another worker gets them when their leases end.
    unconfirmed: int = 0


class Leases:
    """The leases that a worker holds."""

    def __init__(
        self,
        client: Client,
        lease: float,
        settle_within: float,
        counts: Counts,
        changed: Callable[[], None],
        goes_on: Callable[[Rejected], bool],
    ) -> None:
        self._client, self._lease, self._within, self._counts = client, lease, settle_within, counts
        self._changed, self._goes_on = changed, goes_on
        self._until: Dict[Job, float] = {}
        self._lost_hooks: Dict[Job, Callable[[], None]] = {}
        self._batches: Dict[Verdict, List[Job]] = {}
        self._timers: Dict[Verdict, asyncio.TimerHandle] = {}
        self._sending: "Set[asyncio.Task[None]]" = set()
        self.waiting = 0

    def take(self, job: Job, lost: Callable[[], None]) -> None:
        """A job that was handed out now; `lost` is called when its lease is."""
        self._until[job] = time.monotonic() + self._lease
        self._lost_hooks[job] = lost

    def end(self, job: Job, verdict: Verdict) -> None:
        """The job is not worked on any more."""
        if job.cancelled and job not in self._until:
            return
        self._lost_hooks.pop(job, None)
        self.waiting += 1
        batch = self._batches.setdefault(verdict, [])
        batch.append(job)
        if len(batch) >= BATCH_MAX:
            self._send(verdict)
        elif len(batch) == 1:
            loop = asyncio.get_running_loop()
            self._timers[verdict] = loop.call_later(self._within, self._send, verdict)

    def flush(self) -> None:
        """Sends what waits for its batch."""
        for verdict in list(self._batches):
            self._send(verdict)

    async def drain(self, within: float) -> None:
        """Waits until all ends are confirmed, or the time is over."""
        self.flush()
        if self._sending:
            await asyncio.wait(list(self._sending), timeout=within)
        for task in list(self._sending):
            task.cancel()
        if self._sending:
            await asyncio.wait(list(self._sending))

    async def extend_for_ever(self) -> None:
        """Extends the leases of jobs that are worked on, when a third of their time is over."""
        while True:
            await asyncio.sleep(self._lease / 6)
            now = time.monotonic()
            due = [job for job in self._lost_hooks if self._until[job] - now < self._lease * 2 / 3]
            for at in range(0, len(due), BATCH_MAX):
                await self._extend(due[at : at + BATCH_MAX])

    async def _extend(self, jobs: List[Job]) -> None:
        request = pb.ExtendRequest(
            leases=[lease_of(job) for job in jobs], lease_ms=span_ms("lease", self._lease)
        )
        sent = time.monotonic()
        try:
            answer = await self._client.call(routes.QUEUE_EXTEND, request, deadline=self._lease / 3)
        except Rejected as error:
            self._goes_on(error)
            return
        except Error:
            return  # The next round is soon, and the leases last for two more.
        for job, outcome in zip(jobs, outcomes(answer)):
            if outcome.status is Status.REJECTED:
                self._lose(job, outcome)
            elif outcome.error is None and job in self._until:
                self._until[job] = sent + self._lease

    def _lose(self, job: Job, outcome: Outcome) -> None:
        hook = self._lost_hooks.pop(job, None)
        if hook is None:
            return  # It was ended meanwhile, and that says what became of it.
        del self._until[job]
        self._counts.lost += 1
        _log.warning("The lease of job %d is lost: %s", job.id, outcome.error)
        hook()

    def _send(self, verdict: Verdict) -> None:
        timer = self._timers.pop(verdict, None)
        if timer is not None:
            timer.cancel()
        jobs = self._batches.pop(verdict, None)
        if jobs:
            task = asyncio.get_running_loop().create_task(self._confirm(verdict, jobs))
            self._sending.add(task)
            task.add_done_callback(self._sending.discard)

    async def _confirm(self, verdict: Verdict, jobs: List[Job]) -> None:
        left, delay = jobs, _RETRY_MIN
        try:
            while left:
                left, wait = await self._ask(verdict, left)
                if not left:
                    break
                # A job whose lease was over long ago has another worker: no answer changes that.
                now = time.monotonic()
                old = [job for job in left if self._until[job] + self._lease < now]
                self._done(old, "unconfirmed")
                left = [job for job in left if job not in old]
                await asyncio.sleep(max(delay, wait))
                delay = min(delay * 2, _RETRY_MAX)
        finally:
            self._done([job for job in left if job in self._until], "unconfirmed")

    async def _ask(self, verdict: Verdict, jobs: List[Job]) -> Tuple[List[Job], float]:
        """Sends once. Returns what is to be sent again, and after how long at the earliest."""
        try:
            answers = outcomes(await _call(self._client, verdict, jobs))
        except Busy as error:
            return jobs, error.retry_after
        except Rejected as error:
            if self._goes_on(error):
                return jobs, 0.0
            self._done(jobs, "unconfirmed")
            return [], 0.0
        except Error:
            return jobs, 0.0
        again, wait = [], 0.0
        kind = _COUNTED[verdict[0]]
        for job, outcome in zip(jobs, answers):
            if outcome.status in (Status.BUSY, Status.UNKNOWN):
                again.append(job)
                if isinstance(outcome.error, Busy):
                    wait = max(wait, outcome.error.retry_after)
            elif outcome.status is Status.REJECTED:
                self._done([job], "lost")
            else:
                self._done([job], kind)
        return again, wait

    def _done(self, jobs: List[Job], kind: str) -> None:
        for job in jobs:
            del self._until[job]
        setattr(self._counts, kind, getattr(self._counts, kind) + len(jobs))
        self.waiting -= len(jobs)
        self._changed()


def _call(client: Client, verdict: Verdict, jobs: List[Job]) -> "Awaitable[pb.Outcomes]":
    what, after, text = verdict
    if what == "settle":
        settle = pb.SettleRequest(leases=[lease_of(job) for job in jobs])
        return client.call(routes.QUEUE_SETTLE, settle, deadline=_DEADLINE)
    if what == "bury":
        bury = pb.BuryRequest(leases=[lease_of(job) for job in jobs], reason=shortened(text))
        return client.call(routes.QUEUE_BURY, bury, deadline=_DEADLINE)
    not_tried = what == "return"
    request = release_request(jobs, after, not_tried, text)
    return client.call(routes.QUEUE_RELEASE, request, deadline=_DEADLINE)
