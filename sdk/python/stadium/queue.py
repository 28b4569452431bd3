# Made of stadium/aio/queue.py by generate.py: change that file.
"""Queues of jobs: put, work on, look at and declare them.

docs/queue.md describes their behaviour. `stadium.Worker` works on a queue as a program does.
"""

from __future__ import annotations

from typing import Iterable, Iterator, List, Optional

from . import _routes as routes
from ._jobs import (
    Job,
    JobLike,
    Limit,
    NewJob,
    Outcome,
    Put,
    QueueSettings,
    Status,
    bounded,
    edit_request,
    lease_of,
    leases,
    outcomes,
    placed,
    put_request,
    release_request,
    schedule_request,
    shortened,
    state_of,
)
from ._times import Moment, span_ms
from .v1 import queue_pb2 as pb
from ._blocking import Client

__all__ = ["Job", "Limit", "NewJob", "Outcome", "Put", "Queue", "QueueSettings", "Status", "list_queues"]

#: Seconds that a reservation may take beyond its wait.
_BEYOND_THE_WAIT = 5.0


class Queue:
    """A queue, by its name. Making one asks nothing; the first put makes the queue on the server."""

    def __init__(self, client: Client, name: str) -> None:
        self.name = name
        self._client = client
        self._named = pb.QueueNamed(queue=name)

    def put(
        self,
        payload: bytes,
        *,
        delay: Optional[float] = None,
        run_at: Optional[Moment] = None,
        priority: Optional[int] = None,
        ttl: Optional[float] = None,
        dedup_id: str = "",
        dedup_window: Optional[float] = None,
        key: str = "",
        attempts_max: Optional[int] = None,
    ) -> Put:
        """Puts a job; it is on disk when this returns. Options are those of `NewJob`.

        With a `dedup_id` it is safe to put it again after an error that says that it may have happened.
        """
        job = NewJob(payload, delay, run_at, priority, ttl, dedup_id, dedup_window, key, attempts_max)
        return (self.put_many([job]))[0]

    def put_many(self, jobs: Iterable[JobLike]) -> List[Put]:
        """Puts 1 to 1,000 jobs, all or none, in their order."""
        return placed(self._client.call(routes.QUEUE_PUT, put_request(self.name, jobs)))

    def reserve(
        self, most: int = 1, *, lease: Optional[float] = None, wait: float = 0.0, worker: str = ""
    ) -> List[Job]:
        """Takes up to `most` (1 to 1,000) jobs that are due, for `lease` seconds.

        Waits up to `wait` seconds for a first one. No job is an empty list.
        """
        request = pb.ReserveRequest(
            queue=self.name,
            jobs_max=most,
            lease_ms=span_ms("lease", lease or 0),
            wait_ms=span_ms("wait", wait),
            worker=worker,
        )
        answer = self._client.call(
            routes.QUEUE_RESERVE, request, deadline=wait + _BEYOND_THE_WAIT
        )
        return [Job(message) for message in answer.jobs]

    def settle(self, *jobs: Job) -> List[Outcome]:
        """These are done. One outcome for each, in their order; settling again is no error."""
        request = pb.SettleRequest(leases=leases(jobs))
        return outcomes(self._client.call(routes.QUEUE_SETTLE, request))

    def release(
        self, *jobs: Job, after: Optional[float] = None, not_tried: bool = False, error: str = ""
    ) -> List[Outcome]:
        """These are to be tried again: after `after` seconds, or after the queue's back-off.

        With `not_tried` the attempt does not count: the worker never began.
        """
        request = release_request(jobs, after, not_tried, error)
        return outcomes(self._client.call(routes.QUEUE_RELEASE, request))

    def extend(self, *jobs: Job, lease: float) -> List[Outcome]:
        """The leases end `lease` seconds from now."""
        request = pb.ExtendRequest(leases=leases(jobs), lease_ms=span_ms("lease", lease))
        return outcomes(self._client.call(routes.QUEUE_EXTEND, request))

    def bury(self, *jobs: Job, reason: str = "") -> List[Outcome]:
        """Sets these aside until somebody looks: see `kick`."""
        request = pb.BuryRequest(leases=leases(jobs), reason=shortened(reason))
        return outcomes(self._client.call(routes.QUEUE_BURY, request))

    def forward(self, job: Job, to: str, new: JobLike = b"") -> Put:
        """This job is done here and becomes a new one in the queue `to`, in one step.

        An empty payload means the payload that it had.
        """
        made = (NewJob(new) if isinstance(new, bytes) else new).message()
        request = pb.ForwardRequest(lease=lease_of(job), queue=to, job=made)
        return placed(self._client.call(routes.QUEUE_FORWARD, request))[0]

    def peek(
        self, state: str = "", *, key: str = "", after: int = 0, most: int = 100
    ) -> List[pb.Job]:
        """Looks at up to `most` (1 to 1,000) jobs without touching them: of a state, of a key.

        `after` is the last job of the page before.
        """
        request = pb.PeekRequest(
            queue=self.name, state=state_of(state), key=key, after=after, jobs_max=most
        )
        return list((self._client.call(routes.QUEUE_PEEK, request)).jobs)

    def find(self, job: int) -> pb.Job:
        """One job as it stands, by its id."""
        return self._client.call(routes.QUEUE_FIND, pb.JobNamed(job=job))

    def history(self, job: int) -> List[pb.HistoryEntry]:
        """What became of a job, newest first."""
        answer = self._client.call(routes.QUEUE_HISTORY, pb.JobNamed(job=job))
        return list(answer.entries)

    def stats(self) -> pb.QueueStats:
        """Figures of the queue."""
        return self._client.call(routes.QUEUE_STATS, self._named)

    def edit(
        self,
        job: int,
        *,
        payload: Optional[bytes] = None,
        delay: Optional[float] = None,
        run_at: Optional[Moment] = None,
        priority: Optional[int] = None,
        ttl: Optional[float] = None,
        attempts_max: Optional[int] = None,
    ) -> None:
        """Changes a job that nobody works on. What is None stays."""
        request = edit_request(job, payload, delay, run_at, priority, ttl, attempts_max)
        self._client.call(routes.QUEUE_EDIT, request)

    def delete(self, *jobs: int) -> List[Outcome]:
        """Takes jobs out by their ids, whatever their state. One outcome for each."""
        bounded("jobs", jobs)
        return outcomes(self._client.call(routes.QUEUE_DELETE, pb.DeleteRequest(jobs=jobs)))

    def kick(self, *jobs: int, oldest: int = 0) -> int:
        """Makes buried jobs due again: these, or the oldest. Returns how many."""
        request = pb.KickRequest(queue=self.name, jobs=jobs, oldest=oldest)
        return (self._client.call(routes.QUEUE_KICK, request)).jobs

    def redrive(self, *jobs: int, oldest: int = 0, to: str = "") -> int:
        """Makes dead jobs due again, here or in another queue: these, or the oldest. Returns how many."""
        request = pb.RedriveRequest(queue=self.name, jobs=jobs, oldest=oldest, to=to)
        return (self._client.call(routes.QUEUE_REDRIVE, request)).jobs

    def purge(self, state: str = "") -> int:
        """Takes all jobs out that are in one state, or in any but reserved. Returns how many."""
        request = pb.PurgeRequest(queue=self.name, state=state_of(state))
        return (self._client.call(routes.QUEUE_PURGE, request)).jobs

    def pause(self) -> None:
        """Hands out nothing any more until `resume`; puts go on."""
        self._client.call(routes.QUEUE_PAUSE, self._named)

    def resume(self) -> None:
        """Hands jobs out again."""
        self._client.call(routes.QUEUE_RESUME, self._named)

    def declare(self, settings: QueueSettings = QueueSettings()) -> None:
        """Makes the queue, or replaces all its settings. Takes an admin's key."""
        request = pb.DeclareRequest(queue=self.name, settings=settings.message())
        self._client.call(routes.QUEUE_DECLARE, request)

    def drop(self) -> None:
        """Takes the queue away with its schedules; refused while it holds jobs. Takes an admin's key."""
        self._client.call(routes.QUEUE_DROP, self._named)

    def schedule(
        self, name: str, cron: str, job: JobLike, *, time_zone: str = "", missed: str = "once"
    ) -> None:
        """Puts a job at each occurrence of a cron expression. The same name replaces the schedule.

        `time_zone` is an IANA name; empty: UTC. `missed` is `once`, `skip` or `all`.
        """
        request = schedule_request(self.name, name, cron, job, time_zone, missed)
        self._client.call(routes.QUEUE_SCHEDULE, request)

    def unschedule(self, name: str) -> None:
        """Ends a schedule; jobs that it put stay."""
        request = pb.UnscheduleRequest(queue=self.name, name=name)
        self._client.call(routes.QUEUE_UNSCHEDULE, request)

    def schedules(self) -> List[pb.ScheduleView]:
        """The schedules of the queue, by name."""
        return list((self._client.call(routes.QUEUE_SCHEDULES, self._named)).schedules)


def list_queues(client: Client) -> Iterator[pb.QueueStats]:
    """Figures of all queues, by name."""
    after = ""
    while True:
        page = (client.call(routes.QUEUE_LIST, pb.ListRequest(after=after))).queues
        for stats in page:
            yield stats
        if not page:
            return
        after = page[-1].queue
