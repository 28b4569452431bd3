"""Jobs, leases and outcomes, and the requests of the service `queue`: the same for both kinds of clients."""

from __future__ import annotations

import datetime
import enum
from dataclasses import dataclass
from typing import Any, Iterable, List, Mapping, Optional, Sequence, Union

from ._errors import Busy, Error, Rejected, Unknown
from ._times import Moment, moment_ms, of_ms, span_ms
from .v1 import queue_pb2 as pb

#: Jobs, leases or ids that one request may name.
IN_ONE_REQUEST = 1_000


class Job:
    """A reserved job. It is also the lease with which the job is settled, released, extended or buried."""

    __slots__ = ("_message", "_cancelled")

    def __init__(self, message: pb.ReservedJob) -> None:
        self._message = message
        self._cancelled = False

    @property
    def id(self) -> int:
        """The job's id: the same at each attempt."""
        return self._message.job

    @property
    def reservation(self) -> int:
        """The number of the reservation. With the id it is the lease."""
        return self._message.reservation

    @property
    def payload(self) -> bytes:
        """What was put."""
        return self._message.payload

    @property
    def attempt(self) -> int:
        """Which attempt this is, from 1."""
        return self._message.attempt

    @property
    def key(self) -> str:
        """The key of the job; empty: none."""
        return self._message.key

    @property
    def priority(self) -> int:
        """0 to 9; 9 goes first."""
        return self._message.priority

    @property
    def put_at(self) -> datetime.datetime:
        """When it was put, by the server's clock."""
        return of_ms(self._message.put_at_ms)

    @property
    def due_at(self) -> datetime.datetime:
        """When it became due, by the server's clock."""
        return of_ms(self._message.due_ms)

    @property
    def lease_until(self) -> datetime.datetime:
        """When the lease ended as it was given, by the server's clock. Later extensions do not show here."""
        return of_ms(self._message.until_ms)

    @property
    def cancelled(self) -> bool:
        """Whether the result is not wanted any more: the lease is lost, or the worker stops.

        A long plain function of a worker asks now and then. Functions that are coroutines are cancelled.
        """
        return self._cancelled

    def __repr__(self) -> str:
        return f"<Job {self.id:#x} attempt {self.attempt}, {len(self.payload)} bytes>"


class Status(enum.Enum):
    """What became of a lease or a job that a request named."""

    DONE = 0
    #: It had been done before.
    ALREADY = 1
    #: That was its last attempt: it is dead now.
    DEAD = 2
    #: Nothing happened to this one, and it will never work.
    REJECTED = 3
    #: Nothing happened to this one: ask again.
    BUSY = 4
    #: It is not known what happened to this one.
    UNKNOWN = 5


@dataclass(frozen=True)
class Outcome:
    """What became of one of the jobs of a request. `error` is set for rejected, busy and unknown."""

    status: Status
    error: Optional[Error] = None

    def check(self) -> "Outcome":
        """Raises the error, where there is one."""
        if self.error is not None:
            raise self.error
        return self


@dataclass(frozen=True)
class Put:
    """A job that was put. A duplicate is the job that had the same `dedup_id` before: nothing was put."""

    job: int
    duplicate: bool = False


@dataclass(frozen=True)
class NewJob:
    """A job to be put. Times are seconds.

    - `delay`, `run_at`: when it is due; neither: at once. Not both.
    - `priority`: 0 to 9, 9 goes first; the server's default is 4.
    - `ttl`: it is gone by itself when it was not settled so long after the put.
    - `dedup_id`: at most one job with this id within `dedup_window`, or the queue's own window.
    - `key`: jobs of one key run one after another, in their order.
    - `attempts_max`: attempts before it is dead; none: as the queue does.
    """

    payload: bytes
    delay: Optional[float] = None
    run_at: Optional[Moment] = None
    priority: Optional[int] = None
    ttl: Optional[float] = None
    dedup_id: str = ""
    dedup_window: Optional[float] = None
    key: str = ""
    attempts_max: Optional[int] = None

    def message(self) -> pb.NewJob:
        """The message of the contract."""
        if self.delay is not None and self.run_at is not None:
            raise ValueError("a job has a delay or a run_at, not both")
        return pb.NewJob(
            payload=self.payload,
            delay_ms=span_ms("delay", self.delay or 0),
            run_at_ms=0 if self.run_at is None else moment_ms("run_at", self.run_at),
            priority=self.priority,
            time_to_live_ms=span_ms("ttl", self.ttl or 0),
            dedup_id=self.dedup_id,
            dedup_window_ms=span_ms("dedup_window", self.dedup_window or 0),
            key=self.key,
            attempts_max=self.attempts_max or 0,
        )


#: A job to be put: its payload alone, or with its options.
JobLike = Union[bytes, NewJob]


def put_request(queue: str, jobs: Iterable[JobLike]) -> pb.PutRequest:
    messages = [(NewJob(job) if isinstance(job, bytes) else job).message() for job in jobs]
    bounded("jobs", messages)
    return pb.PutRequest(queue=queue, jobs=messages)


def placed(answer: pb.Placed) -> List[Put]:
    known = set(answer.duplicates)
    return [Put(job, nth in known) for nth, job in enumerate(answer.jobs)]


def lease_of(job: Job) -> pb.Lease:
    return pb.Lease(job=job.id, reservation=job.reservation)


def leases(jobs: Sequence[Job]) -> List[pb.Lease]:
    bounded("jobs", jobs)
    return [lease_of(job) for job in jobs]


def release_request(
    jobs: Sequence[Job], after: Optional[float], not_tried: bool, error: str
) -> pb.ReleaseRequest:
    request = pb.ReleaseRequest(leases=leases(jobs), error=shortened(error))
    if not_tried:
        request.not_tried_ms = span_ms("after", after or 0)
    elif after is not None:
        request.delay_ms = span_ms("after", after)
    return request


def outcome(message: pb.Outcome) -> Outcome:
    status = Status(int(message.status))
    error: Optional[Error] = None
    if status is Status.REJECTED:
        error = Rejected(message.code, message.reason)
    elif status is Status.BUSY:
        error = Busy(message.reason, retry_after=message.retry_after_ms / 1000)
    elif status is Status.UNKNOWN:
        error = Unknown(message.code, message.reason)
    return Outcome(status, error)


def outcomes(answer: pb.Outcomes) -> List[Outcome]:
    return [outcome(message) for message in answer.outcomes]


def bounded(name: str, what: Sequence[Any]) -> None:
    """Refuses what the server would refuse: such a request is all or none, so it is not split."""
    if not 1 <= len(what) <= IN_ONE_REQUEST:
        raise ValueError(f"{len(what)} {name} in one request; 1 to {IN_ONE_REQUEST:,} are possible")


def shortened(text: str, most: int = 1024) -> str:
    """A reason or an error, cut to the bytes that the server keeps."""
    encoded = text.encode("utf-8", "replace")
    return text if len(encoded) <= most else encoded[: most - 3].decode("utf-8", "ignore") + "…"


#: States by which jobs are looked at or purged.
STATES: Mapping[str, "pb.JobState"] = {
    "": pb.JOB_STATE_UNSET,
    "delayed": pb.JOB_STATE_DELAYED,
    "due": pb.JOB_STATE_DUE,
    "reserved": pb.JOB_STATE_RESERVED,
    "buried": pb.JOB_STATE_BURIED,
    "dead": pb.JOB_STATE_DEAD,
}


def state_of(name: str) -> "pb.JobState":
    if name not in STATES:
        raise ValueError(f"{name!r} is no state of a job; states are {', '.join(filter(None, STATES))}")
    return STATES[name]


@dataclass(frozen=True)
class QueueSettings:
    """Settings of a queue. Times are seconds; what is None is the server's default. See docs/queue.md."""

    lease: Optional[float] = None
    attempts_max: Optional[int] = None
    backoff_first: Optional[float] = None
    backoff_factor: Optional[float] = None
    backoff_max: Optional[float] = None
    backoff_jitter: Optional[float] = None
    #: The queue where dead jobs go.
    dead_letter_queue: Optional[str] = None
    #: Whether dead jobs are removed.
    dead_letter_discard: bool = False
    dead_ttl: Optional[float] = None
    dedup_window: Optional[float] = None
    jobs_max: Optional[int] = None
    #: Jobs handed out a second, and how many at once after a rest.
    limit: Optional["Limit"] = None
    #: The same for each key.
    key_limit: Optional["Limit"] = None
    #: Whether the queue lives on all shards: order within a key only.
    spread: bool = False

    def message(self) -> pb.QueueSettings:
        """The message of the contract."""
        if self.dead_letter_queue is not None and self.dead_letter_discard:
            raise ValueError("dead jobs go to a queue or are discarded, not both")
        settings = pb.QueueSettings(
            attempts_max=self.attempts_max,
            backoff_factor=self.backoff_factor,
            backoff_jitter=self.backoff_jitter,
            jobs_max=self.jobs_max,
            spread=self.spread,
        )
        for name, seconds in (
            ("lease_ms", self.lease),
            ("backoff_first_ms", self.backoff_first),
            ("backoff_max_ms", self.backoff_max),
            ("dead_time_to_live_ms", self.dead_ttl),
            ("dedup_window_ms", self.dedup_window),
        ):
            if seconds is not None:
                setattr(settings, name, span_ms(name[:-3], seconds))
        if self.dead_letter_queue is not None:
            settings.dead_letter_queue = self.dead_letter_queue
        elif self.dead_letter_discard:
            settings.dead_letter_discard = True
        for limit, into in ((self.limit, settings.limit), (self.key_limit, settings.key_limit)):
            if limit is not None:
                into.rate, into.burst = limit.rate, limit.burst
        return settings


@dataclass(frozen=True)
class Limit:
    """`rate` jobs a second, and at most `burst` at once after a rest."""

    rate: float
    burst: int = 1


#: What a schedule does with occurrences that were missed while the server was down.
MISSED: Mapping[str, int] = {"once": 0, "skip": 1, "all": 2}


def schedule_request(
    queue: str, name: str, cron: str, job: JobLike, time_zone: str, missed: str
) -> pb.ScheduleRequest:
    if missed not in MISSED:
        raise ValueError(f"missed is {missed!r}; possible are {', '.join(MISSED)}")
    new = NewJob(job) if isinstance(job, bytes) else job
    return pb.ScheduleRequest(
        queue=queue,
        name=name,
        cron=pb.Cron(expression=cron, time_zone=time_zone, missed=pb.Cron.Missed.Name(MISSED[missed])),
        job=new.message(),
    )


def edit_request(
    job: int,
    payload: Optional[bytes],
    delay: Optional[float],
    run_at: Optional[Moment],
    priority: Optional[int],
    ttl: Optional[float],
    attempts_max: Optional[int],
) -> pb.EditRequest:
    if delay is not None and run_at is not None:
        raise ValueError("a job has a delay or a run_at, not both")
    request = pb.EditRequest(job=job, payload=payload, priority=priority, attempts_max=attempts_max)
    if delay is not None:
        request.delay_ms = span_ms("delay", delay)
    if run_at is not None:
        request.run_at_ms = moment_ms("run_at", run_at)
    if ttl is not None:
        request.time_to_live_ms = span_ms("ttl", ttl)
    return request
