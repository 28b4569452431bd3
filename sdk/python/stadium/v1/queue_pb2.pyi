from google.protobuf import empty_pb2 as _empty_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from typing import Any as _Any, ClassVar as _ClassVar, Iterable as _Iterable, Mapping as _Mapping, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor
JOB_STATE_BURIED: JobState
JOB_STATE_DEAD: JobState
JOB_STATE_DELAYED: JobState
JOB_STATE_DUE: JobState
JOB_STATE_RESERVED: JobState
JOB_STATE_UNSET: JobState

class BuryRequest(_message.Message):
    __slots__ = ["leases", "reason"]
    LEASES_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    leases: _containers.RepeatedCompositeFieldContainer[Lease]
    reason: str
    def __init__(self, leases: _Optional[_Iterable[_Union[Lease, _Mapping[str, _Any]]]] = ..., reason: _Optional[str] = ...) -> None: ...

class Counted(_message.Message):
    __slots__ = ["jobs"]
    JOBS_FIELD_NUMBER: _ClassVar[int]
    jobs: int
    def __init__(self, jobs: _Optional[int] = ...) -> None: ...

class Cron(_message.Message):
    __slots__ = ["expression", "missed", "time_zone"]
    class Missed(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
        ...
    ALL: Cron.Missed
    EXPRESSION_FIELD_NUMBER: _ClassVar[int]
    MISSED_FIELD_NUMBER: _ClassVar[int]
    ONCE: Cron.Missed
    SKIP: Cron.Missed
    TIME_ZONE_FIELD_NUMBER: _ClassVar[int]
    expression: str
    missed: Cron.Missed
    time_zone: str
    def __init__(self, expression: _Optional[str] = ..., time_zone: _Optional[str] = ..., missed: _Optional[_Union[Cron.Missed, str]] = ...) -> None: ...

class DeclareRequest(_message.Message):
    __slots__ = ["queue", "settings"]
    QUEUE_FIELD_NUMBER: _ClassVar[int]
    SETTINGS_FIELD_NUMBER: _ClassVar[int]
    queue: str
    settings: QueueSettings
    def __init__(self, queue: _Optional[str] = ..., settings: _Optional[_Union[QueueSettings, _Mapping[str, _Any]]] = ...) -> None: ...

class DeleteRequest(_message.Message):
    __slots__ = ["jobs"]
    JOBS_FIELD_NUMBER: _ClassVar[int]
    jobs: _containers.RepeatedScalarFieldContainer[int]
    def __init__(self, jobs: _Optional[_Iterable[int]] = ...) -> None: ...

class EditRequest(_message.Message):
    __slots__ = ["attempts_max", "delay_ms", "job", "payload", "priority", "run_at_ms", "time_to_live_ms"]
    ATTEMPTS_MAX_FIELD_NUMBER: _ClassVar[int]
    DELAY_MS_FIELD_NUMBER: _ClassVar[int]
    JOB_FIELD_NUMBER: _ClassVar[int]
    PAYLOAD_FIELD_NUMBER: _ClassVar[int]
    PRIORITY_FIELD_NUMBER: _ClassVar[int]
    RUN_AT_MS_FIELD_NUMBER: _ClassVar[int]
    TIME_TO_LIVE_MS_FIELD_NUMBER: _ClassVar[int]
    attempts_max: int
    delay_ms: int
    job: int
    payload: bytes
    priority: int
    run_at_ms: int
    time_to_live_ms: int
    def __init__(self, job: _Optional[int] = ..., payload: _Optional[bytes] = ..., delay_ms: _Optional[int] = ..., run_at_ms: _Optional[int] = ..., priority: _Optional[int] = ..., time_to_live_ms: _Optional[int] = ..., attempts_max: _Optional[int] = ...) -> None: ...

class ExtendRequest(_message.Message):
    __slots__ = ["lease_ms", "leases"]
    LEASES_FIELD_NUMBER: _ClassVar[int]
    LEASE_MS_FIELD_NUMBER: _ClassVar[int]
    lease_ms: int
    leases: _containers.RepeatedCompositeFieldContainer[Lease]
    def __init__(self, leases: _Optional[_Iterable[_Union[Lease, _Mapping[str, _Any]]]] = ..., lease_ms: _Optional[int] = ...) -> None: ...

class ForwardRequest(_message.Message):
    __slots__ = ["job", "lease", "queue"]
    JOB_FIELD_NUMBER: _ClassVar[int]
    LEASE_FIELD_NUMBER: _ClassVar[int]
    QUEUE_FIELD_NUMBER: _ClassVar[int]
    job: NewJob
    lease: Lease
    queue: str
    def __init__(self, lease: _Optional[_Union[Lease, _Mapping[str, _Any]]] = ..., queue: _Optional[str] = ..., job: _Optional[_Union[NewJob, _Mapping[str, _Any]]] = ...) -> None: ...

class HistoryEntry(_message.Message):
    __slots__ = ["at_ms", "attempt", "due_ms", "job", "principal", "queue", "reason", "until_ms", "what", "worker"]
    class What(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
        ...
    ATTEMPT_FIELD_NUMBER: _ClassVar[int]
    AT_MS_FIELD_NUMBER: _ClassVar[int]
    BURIED: HistoryEntry.What
    DEAD: HistoryEntry.What
    DELETED: HistoryEntry.What
    DUE_MS_FIELD_NUMBER: _ClassVar[int]
    EDITED: HistoryEntry.What
    EXPIRED: HistoryEntry.What
    EXTENDED: HistoryEntry.What
    FORWARDED: HistoryEntry.What
    JOB_FIELD_NUMBER: _ClassVar[int]
    LEASE_EXPIRED: HistoryEntry.What
    PRINCIPAL_FIELD_NUMBER: _ClassVar[int]
    PUT: HistoryEntry.What
    QUEUE_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    RELEASED: HistoryEntry.What
    RESERVED: HistoryEntry.What
    REVIVED: HistoryEntry.What
    SETTLED: HistoryEntry.What
    TRIMMED: HistoryEntry.What
    UNSET: HistoryEntry.What
    UNTIL_MS_FIELD_NUMBER: _ClassVar[int]
    WHAT_FIELD_NUMBER: _ClassVar[int]
    WORKER_FIELD_NUMBER: _ClassVar[int]
    at_ms: int
    attempt: int
    due_ms: int
    job: int
    principal: str
    queue: str
    reason: str
    until_ms: int
    what: HistoryEntry.What
    worker: str
    def __init__(self, at_ms: _Optional[int] = ..., what: _Optional[_Union[HistoryEntry.What, str]] = ..., queue: _Optional[str] = ..., due_ms: _Optional[int] = ..., until_ms: _Optional[int] = ..., attempt: _Optional[int] = ..., worker: _Optional[str] = ..., reason: _Optional[str] = ..., job: _Optional[int] = ..., principal: _Optional[str] = ...) -> None: ...

class Job(_message.Message):
    __slots__ = ["attempts", "attempts_max", "due_ms", "expires_ms", "job", "key", "lease_until_ms", "payload", "principal", "priority", "put_at_ms", "queue", "reason", "state"]
    ATTEMPTS_FIELD_NUMBER: _ClassVar[int]
    ATTEMPTS_MAX_FIELD_NUMBER: _ClassVar[int]
    DUE_MS_FIELD_NUMBER: _ClassVar[int]
    EXPIRES_MS_FIELD_NUMBER: _ClassVar[int]
    JOB_FIELD_NUMBER: _ClassVar[int]
    KEY_FIELD_NUMBER: _ClassVar[int]
    LEASE_UNTIL_MS_FIELD_NUMBER: _ClassVar[int]
    PAYLOAD_FIELD_NUMBER: _ClassVar[int]
    PRINCIPAL_FIELD_NUMBER: _ClassVar[int]
    PRIORITY_FIELD_NUMBER: _ClassVar[int]
    PUT_AT_MS_FIELD_NUMBER: _ClassVar[int]
    QUEUE_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    attempts: int
    attempts_max: int
    due_ms: int
    expires_ms: int
    job: int
    key: str
    lease_until_ms: int
    payload: bytes
    principal: str
    priority: int
    put_at_ms: int
    queue: str
    reason: str
    state: JobState
    def __init__(self, job: _Optional[int] = ..., queue: _Optional[str] = ..., state: _Optional[_Union[JobState, str]] = ..., payload: _Optional[bytes] = ..., put_at_ms: _Optional[int] = ..., due_ms: _Optional[int] = ..., lease_until_ms: _Optional[int] = ..., expires_ms: _Optional[int] = ..., attempts: _Optional[int] = ..., attempts_max: _Optional[int] = ..., priority: _Optional[int] = ..., key: _Optional[str] = ..., reason: _Optional[str] = ..., principal: _Optional[str] = ...) -> None: ...

class JobHistory(_message.Message):
    __slots__ = ["entries"]
    ENTRIES_FIELD_NUMBER: _ClassVar[int]
    entries: _containers.RepeatedCompositeFieldContainer[HistoryEntry]
    def __init__(self, entries: _Optional[_Iterable[_Union[HistoryEntry, _Mapping[str, _Any]]]] = ...) -> None: ...

class JobNamed(_message.Message):
    __slots__ = ["job"]
    JOB_FIELD_NUMBER: _ClassVar[int]
    job: int
    def __init__(self, job: _Optional[int] = ...) -> None: ...

class Jobs(_message.Message):
    __slots__ = ["jobs"]
    JOBS_FIELD_NUMBER: _ClassVar[int]
    jobs: _containers.RepeatedCompositeFieldContainer[Job]
    def __init__(self, jobs: _Optional[_Iterable[_Union[Job, _Mapping[str, _Any]]]] = ...) -> None: ...

class KickRequest(_message.Message):
    __slots__ = ["jobs", "oldest", "queue"]
    JOBS_FIELD_NUMBER: _ClassVar[int]
    OLDEST_FIELD_NUMBER: _ClassVar[int]
    QUEUE_FIELD_NUMBER: _ClassVar[int]
    jobs: _containers.RepeatedScalarFieldContainer[int]
    oldest: int
    queue: str
    def __init__(self, queue: _Optional[str] = ..., jobs: _Optional[_Iterable[int]] = ..., oldest: _Optional[int] = ...) -> None: ...

class Lease(_message.Message):
    __slots__ = ["job", "reservation"]
    JOB_FIELD_NUMBER: _ClassVar[int]
    RESERVATION_FIELD_NUMBER: _ClassVar[int]
    job: int
    reservation: int
    def __init__(self, job: _Optional[int] = ..., reservation: _Optional[int] = ...) -> None: ...

class Limit(_message.Message):
    __slots__ = ["burst", "rate"]
    BURST_FIELD_NUMBER: _ClassVar[int]
    RATE_FIELD_NUMBER: _ClassVar[int]
    burst: int
    rate: float
    def __init__(self, rate: _Optional[float] = ..., burst: _Optional[int] = ...) -> None: ...

class ListRequest(_message.Message):
    __slots__ = ["after", "queues_max"]
    AFTER_FIELD_NUMBER: _ClassVar[int]
    QUEUES_MAX_FIELD_NUMBER: _ClassVar[int]
    after: str
    queues_max: int
    def __init__(self, after: _Optional[str] = ..., queues_max: _Optional[int] = ...) -> None: ...

class NewJob(_message.Message):
    __slots__ = ["attempts_max", "dedup_id", "dedup_window_ms", "delay_ms", "key", "payload", "priority", "run_at_ms", "time_to_live_ms"]
    ATTEMPTS_MAX_FIELD_NUMBER: _ClassVar[int]
    DEDUP_ID_FIELD_NUMBER: _ClassVar[int]
    DEDUP_WINDOW_MS_FIELD_NUMBER: _ClassVar[int]
    DELAY_MS_FIELD_NUMBER: _ClassVar[int]
    KEY_FIELD_NUMBER: _ClassVar[int]
    PAYLOAD_FIELD_NUMBER: _ClassVar[int]
    PRIORITY_FIELD_NUMBER: _ClassVar[int]
    RUN_AT_MS_FIELD_NUMBER: _ClassVar[int]
    TIME_TO_LIVE_MS_FIELD_NUMBER: _ClassVar[int]
    attempts_max: int
    dedup_id: str
    dedup_window_ms: int
    delay_ms: int
    key: str
    payload: bytes
    priority: int
    run_at_ms: int
    time_to_live_ms: int
    def __init__(self, payload: _Optional[bytes] = ..., delay_ms: _Optional[int] = ..., run_at_ms: _Optional[int] = ..., priority: _Optional[int] = ..., time_to_live_ms: _Optional[int] = ..., dedup_id: _Optional[str] = ..., dedup_window_ms: _Optional[int] = ..., key: _Optional[str] = ..., attempts_max: _Optional[int] = ...) -> None: ...

class Outcome(_message.Message):
    __slots__ = ["code", "reason", "retry_after_ms", "status"]
    class Status(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
        ...
    ALREADY: Outcome.Status
    BUSY: Outcome.Status
    CODE_FIELD_NUMBER: _ClassVar[int]
    DEAD: Outcome.Status
    DONE: Outcome.Status
    REASON_FIELD_NUMBER: _ClassVar[int]
    REJECTED: Outcome.Status
    RETRY_AFTER_MS_FIELD_NUMBER: _ClassVar[int]
    STATUS_FIELD_NUMBER: _ClassVar[int]
    UNKNOWN: Outcome.Status
    code: str
    reason: str
    retry_after_ms: int
    status: Outcome.Status
    def __init__(self, status: _Optional[_Union[Outcome.Status, str]] = ..., code: _Optional[str] = ..., reason: _Optional[str] = ..., retry_after_ms: _Optional[int] = ...) -> None: ...

class Outcomes(_message.Message):
    __slots__ = ["outcomes"]
    OUTCOMES_FIELD_NUMBER: _ClassVar[int]
    outcomes: _containers.RepeatedCompositeFieldContainer[Outcome]
    def __init__(self, outcomes: _Optional[_Iterable[_Union[Outcome, _Mapping[str, _Any]]]] = ...) -> None: ...

class PeekRequest(_message.Message):
    __slots__ = ["after", "jobs_max", "key", "queue", "state"]
    AFTER_FIELD_NUMBER: _ClassVar[int]
    JOBS_MAX_FIELD_NUMBER: _ClassVar[int]
    KEY_FIELD_NUMBER: _ClassVar[int]
    QUEUE_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    after: int
    jobs_max: int
    key: str
    queue: str
    state: JobState
    def __init__(self, queue: _Optional[str] = ..., state: _Optional[_Union[JobState, str]] = ..., key: _Optional[str] = ..., after: _Optional[int] = ..., jobs_max: _Optional[int] = ...) -> None: ...

class Placed(_message.Message):
    __slots__ = ["duplicates", "jobs"]
    DUPLICATES_FIELD_NUMBER: _ClassVar[int]
    JOBS_FIELD_NUMBER: _ClassVar[int]
    duplicates: _containers.RepeatedScalarFieldContainer[int]
    jobs: _containers.RepeatedScalarFieldContainer[int]
    def __init__(self, jobs: _Optional[_Iterable[int]] = ..., duplicates: _Optional[_Iterable[int]] = ...) -> None: ...

class PurgeRequest(_message.Message):
    __slots__ = ["queue", "state"]
    QUEUE_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    queue: str
    state: JobState
    def __init__(self, queue: _Optional[str] = ..., state: _Optional[_Union[JobState, str]] = ...) -> None: ...

class PutRequest(_message.Message):
    __slots__ = ["jobs", "queue"]
    JOBS_FIELD_NUMBER: _ClassVar[int]
    QUEUE_FIELD_NUMBER: _ClassVar[int]
    jobs: _containers.RepeatedCompositeFieldContainer[NewJob]
    queue: str
    def __init__(self, queue: _Optional[str] = ..., jobs: _Optional[_Iterable[_Union[NewJob, _Mapping[str, _Any]]]] = ...) -> None: ...

class QueueList(_message.Message):
    __slots__ = ["queues"]
    QUEUES_FIELD_NUMBER: _ClassVar[int]
    queues: _containers.RepeatedCompositeFieldContainer[QueueStats]
    def __init__(self, queues: _Optional[_Iterable[_Union[QueueStats, _Mapping[str, _Any]]]] = ...) -> None: ...

class QueueNamed(_message.Message):
    __slots__ = ["queue"]
    QUEUE_FIELD_NUMBER: _ClassVar[int]
    queue: str
    def __init__(self, queue: _Optional[str] = ...) -> None: ...

class QueueSettings(_message.Message):
    __slots__ = ["attempts_max", "backoff_factor", "backoff_first_ms", "backoff_jitter", "backoff_max_ms", "dead_letter_discard", "dead_letter_queue", "dead_time_to_live_ms", "dedup_window_ms", "jobs_max", "key_limit", "lease_ms", "limit", "spread"]
    ATTEMPTS_MAX_FIELD_NUMBER: _ClassVar[int]
    BACKOFF_FACTOR_FIELD_NUMBER: _ClassVar[int]
    BACKOFF_FIRST_MS_FIELD_NUMBER: _ClassVar[int]
    BACKOFF_JITTER_FIELD_NUMBER: _ClassVar[int]
    BACKOFF_MAX_MS_FIELD_NUMBER: _ClassVar[int]
    DEAD_LETTER_DISCARD_FIELD_NUMBER: _ClassVar[int]
    DEAD_LETTER_QUEUE_FIELD_NUMBER: _ClassVar[int]
    DEAD_TIME_TO_LIVE_MS_FIELD_NUMBER: _ClassVar[int]
    DEDUP_WINDOW_MS_FIELD_NUMBER: _ClassVar[int]
    JOBS_MAX_FIELD_NUMBER: _ClassVar[int]
    KEY_LIMIT_FIELD_NUMBER: _ClassVar[int]
    LEASE_MS_FIELD_NUMBER: _ClassVar[int]
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    SPREAD_FIELD_NUMBER: _ClassVar[int]
    attempts_max: int
    backoff_factor: float
    backoff_first_ms: int
    backoff_jitter: float
    backoff_max_ms: int
    dead_letter_discard: bool
    dead_letter_queue: str
    dead_time_to_live_ms: int
    dedup_window_ms: int
    jobs_max: int
    key_limit: Limit
    lease_ms: int
    limit: Limit
    spread: bool
    def __init__(self, lease_ms: _Optional[int] = ..., attempts_max: _Optional[int] = ..., backoff_first_ms: _Optional[int] = ..., backoff_factor: _Optional[float] = ..., backoff_max_ms: _Optional[int] = ..., backoff_jitter: _Optional[float] = ..., dead_letter_queue: _Optional[str] = ..., dead_letter_discard: _Optional[bool] = ..., dead_time_to_live_ms: _Optional[int] = ..., dedup_window_ms: _Optional[int] = ..., jobs_max: _Optional[int] = ..., limit: _Optional[_Union[Limit, _Mapping[str, _Any]]] = ..., key_limit: _Optional[_Union[Limit, _Mapping[str, _Any]]] = ..., spread: _Optional[bool] = ...) -> None: ...

class QueueStats(_message.Message):
    __slots__ = ["buried", "dead", "delayed", "died", "due", "duplicates", "handed_out", "oldest_due_ms", "paused", "put", "queue", "reserved", "retried", "settings", "settled", "waiting"]
    BURIED_FIELD_NUMBER: _ClassVar[int]
    DEAD_FIELD_NUMBER: _ClassVar[int]
    DELAYED_FIELD_NUMBER: _ClassVar[int]
    DIED_FIELD_NUMBER: _ClassVar[int]
    DUE_FIELD_NUMBER: _ClassVar[int]
    DUPLICATES_FIELD_NUMBER: _ClassVar[int]
    HANDED_OUT_FIELD_NUMBER: _ClassVar[int]
    OLDEST_DUE_MS_FIELD_NUMBER: _ClassVar[int]
    PAUSED_FIELD_NUMBER: _ClassVar[int]
    PUT_FIELD_NUMBER: _ClassVar[int]
    QUEUE_FIELD_NUMBER: _ClassVar[int]
    RESERVED_FIELD_NUMBER: _ClassVar[int]
    RETRIED_FIELD_NUMBER: _ClassVar[int]
    SETTINGS_FIELD_NUMBER: _ClassVar[int]
    SETTLED_FIELD_NUMBER: _ClassVar[int]
    WAITING_FIELD_NUMBER: _ClassVar[int]
    buried: int
    dead: int
    delayed: int
    died: int
    due: int
    duplicates: int
    handed_out: int
    oldest_due_ms: int
    paused: bool
    put: int
    queue: str
    reserved: int
    retried: int
    settings: QueueSettings
    settled: int
    waiting: int
    def __init__(self, queue: _Optional[str] = ..., settings: _Optional[_Union[QueueSettings, _Mapping[str, _Any]]] = ..., paused: _Optional[bool] = ..., delayed: _Optional[int] = ..., due: _Optional[int] = ..., reserved: _Optional[int] = ..., buried: _Optional[int] = ..., dead: _Optional[int] = ..., oldest_due_ms: _Optional[int] = ..., put: _Optional[int] = ..., handed_out: _Optional[int] = ..., settled: _Optional[int] = ..., retried: _Optional[int] = ..., died: _Optional[int] = ..., duplicates: _Optional[int] = ..., waiting: _Optional[int] = ...) -> None: ...

class RedriveRequest(_message.Message):
    __slots__ = ["jobs", "oldest", "queue", "to"]
    JOBS_FIELD_NUMBER: _ClassVar[int]
    OLDEST_FIELD_NUMBER: _ClassVar[int]
    QUEUE_FIELD_NUMBER: _ClassVar[int]
    TO_FIELD_NUMBER: _ClassVar[int]
    jobs: _containers.RepeatedScalarFieldContainer[int]
    oldest: int
    queue: str
    to: str
    def __init__(self, queue: _Optional[str] = ..., jobs: _Optional[_Iterable[int]] = ..., oldest: _Optional[int] = ..., to: _Optional[str] = ...) -> None: ...

class ReleaseRequest(_message.Message):
    __slots__ = ["delay_ms", "error", "leases", "not_tried_ms"]
    DELAY_MS_FIELD_NUMBER: _ClassVar[int]
    ERROR_FIELD_NUMBER: _ClassVar[int]
    LEASES_FIELD_NUMBER: _ClassVar[int]
    NOT_TRIED_MS_FIELD_NUMBER: _ClassVar[int]
    delay_ms: int
    error: str
    leases: _containers.RepeatedCompositeFieldContainer[Lease]
    not_tried_ms: int
    def __init__(self, leases: _Optional[_Iterable[_Union[Lease, _Mapping[str, _Any]]]] = ..., delay_ms: _Optional[int] = ..., not_tried_ms: _Optional[int] = ..., error: _Optional[str] = ...) -> None: ...

class ReserveRequest(_message.Message):
    __slots__ = ["jobs_max", "lease_ms", "queue", "wait_ms", "worker"]
    JOBS_MAX_FIELD_NUMBER: _ClassVar[int]
    LEASE_MS_FIELD_NUMBER: _ClassVar[int]
    QUEUE_FIELD_NUMBER: _ClassVar[int]
    WAIT_MS_FIELD_NUMBER: _ClassVar[int]
    WORKER_FIELD_NUMBER: _ClassVar[int]
    jobs_max: int
    lease_ms: int
    queue: str
    wait_ms: int
    worker: str
    def __init__(self, queue: _Optional[str] = ..., jobs_max: _Optional[int] = ..., lease_ms: _Optional[int] = ..., wait_ms: _Optional[int] = ..., worker: _Optional[str] = ...) -> None: ...

class ReservedJob(_message.Message):
    __slots__ = ["attempt", "due_ms", "job", "key", "payload", "priority", "put_at_ms", "reservation", "until_ms"]
    ATTEMPT_FIELD_NUMBER: _ClassVar[int]
    DUE_MS_FIELD_NUMBER: _ClassVar[int]
    JOB_FIELD_NUMBER: _ClassVar[int]
    KEY_FIELD_NUMBER: _ClassVar[int]
    PAYLOAD_FIELD_NUMBER: _ClassVar[int]
    PRIORITY_FIELD_NUMBER: _ClassVar[int]
    PUT_AT_MS_FIELD_NUMBER: _ClassVar[int]
    RESERVATION_FIELD_NUMBER: _ClassVar[int]
    UNTIL_MS_FIELD_NUMBER: _ClassVar[int]
    attempt: int
    due_ms: int
    job: int
    key: str
    payload: bytes
    priority: int
    put_at_ms: int
    reservation: int
    until_ms: int
    def __init__(self, job: _Optional[int] = ..., reservation: _Optional[int] = ..., payload: _Optional[bytes] = ..., until_ms: _Optional[int] = ..., attempt: _Optional[int] = ..., put_at_ms: _Optional[int] = ..., due_ms: _Optional[int] = ..., priority: _Optional[int] = ..., key: _Optional[str] = ...) -> None: ...

class ReservedJobs(_message.Message):
    __slots__ = ["jobs"]
    JOBS_FIELD_NUMBER: _ClassVar[int]
    jobs: _containers.RepeatedCompositeFieldContainer[ReservedJob]
    def __init__(self, jobs: _Optional[_Iterable[_Union[ReservedJob, _Mapping[str, _Any]]]] = ...) -> None: ...

class ScheduleList(_message.Message):
    __slots__ = ["schedules"]
    SCHEDULES_FIELD_NUMBER: _ClassVar[int]
    schedules: _containers.RepeatedCompositeFieldContainer[ScheduleView]
    def __init__(self, schedules: _Optional[_Iterable[_Union[ScheduleView, _Mapping[str, _Any]]]] = ...) -> None: ...

class ScheduleRequest(_message.Message):
    __slots__ = ["cron", "job", "name", "queue"]
    CRON_FIELD_NUMBER: _ClassVar[int]
    JOB_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    QUEUE_FIELD_NUMBER: _ClassVar[int]
    cron: Cron
    job: NewJob
    name: str
    queue: str
    def __init__(self, queue: _Optional[str] = ..., name: _Optional[str] = ..., cron: _Optional[_Union[Cron, _Mapping[str, _Any]]] = ..., job: _Optional[_Union[NewJob, _Mapping[str, _Any]]] = ...) -> None: ...

class ScheduleView(_message.Message):
    __slots__ = ["cron", "last_job", "last_ms", "name", "next_ms", "principal"]
    CRON_FIELD_NUMBER: _ClassVar[int]
    LAST_JOB_FIELD_NUMBER: _ClassVar[int]
    LAST_MS_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    NEXT_MS_FIELD_NUMBER: _ClassVar[int]
    PRINCIPAL_FIELD_NUMBER: _ClassVar[int]
    cron: Cron
    last_job: int
    last_ms: int
    name: str
    next_ms: int
    principal: str
    def __init__(self, name: _Optional[str] = ..., cron: _Optional[_Union[Cron, _Mapping[str, _Any]]] = ..., next_ms: _Optional[int] = ..., last_ms: _Optional[int] = ..., last_job: _Optional[int] = ..., principal: _Optional[str] = ...) -> None: ...

class SettleRequest(_message.Message):
    __slots__ = ["leases"]
    LEASES_FIELD_NUMBER: _ClassVar[int]
    leases: _containers.RepeatedCompositeFieldContainer[Lease]
    def __init__(self, leases: _Optional[_Iterable[_Union[Lease, _Mapping[str, _Any]]]] = ...) -> None: ...

class UnscheduleRequest(_message.Message):
    __slots__ = ["name", "queue"]
    NAME_FIELD_NUMBER: _ClassVar[int]
    QUEUE_FIELD_NUMBER: _ClassVar[int]
    name: str
    queue: str
    def __init__(self, queue: _Optional[str] = ..., name: _Optional[str] = ...) -> None: ...

class WorkRequest(_message.Message):
    __slots__ = ["lease_ms", "queue", "worker"]
    LEASE_MS_FIELD_NUMBER: _ClassVar[int]
    QUEUE_FIELD_NUMBER: _ClassVar[int]
    WORKER_FIELD_NUMBER: _ClassVar[int]
    lease_ms: int
    queue: str
    worker: str
    def __init__(self, queue: _Optional[str] = ..., lease_ms: _Optional[int] = ..., worker: _Optional[str] = ...) -> None: ...

class JobState(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    ...
