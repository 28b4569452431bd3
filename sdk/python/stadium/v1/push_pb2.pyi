from google.protobuf import empty_pb2 as _empty_pb2
from stadium.v1 import stadium_pb2 as _stadium_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from typing import Any as _Any, ClassVar as _ClassVar, Iterable as _Iterable, Mapping as _Mapping, Optional as _Optional, Union as _Union

DELIVERY_STATE_CANCELLED: DeliveryState
DELIVERY_STATE_CAPPED: DeliveryState
DELIVERY_STATE_CLICKED: DeliveryState
DELIVERY_STATE_COLLAPSED: DeliveryState
DELIVERY_STATE_COUNTED: DeliveryState
DELIVERY_STATE_CROWDED_OUT: DeliveryState
DELIVERY_STATE_DELIVERED: DeliveryState
DELIVERY_STATE_EXPIRED: DeliveryState
DELIVERY_STATE_HELD_OUT: DeliveryState
DELIVERY_STATE_IN_FLIGHT: DeliveryState
DELIVERY_STATE_NOT_MATCHED: DeliveryState
DELIVERY_STATE_NOT_REGISTERED: DeliveryState
DELIVERY_STATE_NO_VALUE: DeliveryState
DELIVERY_STATE_OPENED: DeliveryState
DELIVERY_STATE_OPTED_OUT: DeliveryState
DELIVERY_STATE_OWED: DeliveryState
DELIVERY_STATE_QUIET: DeliveryState
DELIVERY_STATE_REFUSED: DeliveryState
DELIVERY_STATE_REVOKED: DeliveryState
DELIVERY_STATE_SCHEDULED: DeliveryState
DELIVERY_STATE_TOO_LARGE: DeliveryState
DELIVERY_STATE_UNSET: DeliveryState
DELIVERY_STATE_WAITING: DeliveryState
DESCRIPTOR: _descriptor.FileDescriptor
PUSH_STAGE_CANCELLED: PushStage
PUSH_STAGE_SCHEDULED: PushStage
PUSH_STAGE_SENDING: PushStage
PUSH_STAGE_SETTLED: PushStage
PUSH_STAGE_UNSET: PushStage
QUIET_HOURS_IGNORE: QuietHours
QUIET_HOURS_SKIP: QuietHours
QUIET_HOURS_WAIT: QuietHours

class AdmitRequest(_message.Message):
    __slots__ = ["app", "device", "no_credential", "revoked", "secret_sha256"]
    APP_FIELD_NUMBER: _ClassVar[int]
    DEVICE_FIELD_NUMBER: _ClassVar[int]
    NO_CREDENTIAL_FIELD_NUMBER: _ClassVar[int]
    REVOKED_FIELD_NUMBER: _ClassVar[int]
    SECRET_SHA256_FIELD_NUMBER: _ClassVar[int]
    app: str
    device: str
    no_credential: bool
    revoked: bool
    secret_sha256: bytes
    def __init__(self, app: _Optional[str] = ..., device: _Optional[str] = ..., secret_sha256: _Optional[bytes] = ..., no_credential: _Optional[bool] = ..., revoked: _Optional[bool] = ...) -> None: ...

class AppNamed(_message.Message):
    __slots__ = ["app"]
    APP_FIELD_NUMBER: _ClassVar[int]
    app: str
    def __init__(self, app: _Optional[str] = ...) -> None: ...

class AudienceClause(_message.Message):
    __slots__ = ["clause", "keeps_out", "matches", "path"]
    CLAUSE_FIELD_NUMBER: _ClassVar[int]
    KEEPS_OUT_FIELD_NUMBER: _ClassVar[int]
    MATCHES_FIELD_NUMBER: _ClassVar[int]
    PATH_FIELD_NUMBER: _ClassVar[int]
    clause: str
    keeps_out: int
    matches: int
    path: str
    def __init__(self, path: _Optional[str] = ..., clause: _Optional[str] = ..., matches: _Optional[int] = ..., keeps_out: _Optional[int] = ...) -> None: ...

class AudiencePreview(_message.Message):
    __slots__ = ["capped", "clauses", "connected", "devices", "matched", "opted_out", "quiet", "reached", "sample", "took_us"]
    CAPPED_FIELD_NUMBER: _ClassVar[int]
    CLAUSES_FIELD_NUMBER: _ClassVar[int]
    CONNECTED_FIELD_NUMBER: _ClassVar[int]
    DEVICES_FIELD_NUMBER: _ClassVar[int]
    MATCHED_FIELD_NUMBER: _ClassVar[int]
    OPTED_OUT_FIELD_NUMBER: _ClassVar[int]
    QUIET_FIELD_NUMBER: _ClassVar[int]
    REACHED_FIELD_NUMBER: _ClassVar[int]
    SAMPLE_FIELD_NUMBER: _ClassVar[int]
    TOOK_US_FIELD_NUMBER: _ClassVar[int]
    capped: int
    clauses: _containers.RepeatedCompositeFieldContainer[AudienceClause]
    connected: int
    devices: int
    matched: int
    opted_out: int
    quiet: int
    reached: int
    sample: _containers.RepeatedScalarFieldContainer[str]
    took_us: int
    def __init__(self, devices: _Optional[int] = ..., matched: _Optional[int] = ..., opted_out: _Optional[int] = ..., quiet: _Optional[int] = ..., capped: _Optional[int] = ..., reached: _Optional[int] = ..., connected: _Optional[int] = ..., clauses: _Optional[_Iterable[_Union[AudienceClause, _Mapping[str, _Any]]]] = ..., sample: _Optional[_Iterable[str]] = ..., took_us: _Optional[int] = ...) -> None: ...

class ChangeDevicesRequest(_message.Message):
    __slots__ = ["app", "devices"]
    APP_FIELD_NUMBER: _ClassVar[int]
    DEVICES_FIELD_NUMBER: _ClassVar[int]
    app: str
    devices: _containers.RepeatedCompositeFieldContainer[DeviceChange]
    def __init__(self, app: _Optional[str] = ..., devices: _Optional[_Iterable[_Union[DeviceChange, _Mapping[str, _Any]]]] = ...) -> None: ...

class ClickedRequest(_message.Message):
    __slots__ = ["action", "app", "device", "push"]
    ACTION_FIELD_NUMBER: _ClassVar[int]
    APP_FIELD_NUMBER: _ClassVar[int]
    DEVICE_FIELD_NUMBER: _ClassVar[int]
    PUSH_FIELD_NUMBER: _ClassVar[int]
    action: str
    app: str
    device: str
    push: bytes
    def __init__(self, app: _Optional[str] = ..., push: _Optional[bytes] = ..., device: _Optional[str] = ..., action: _Optional[str] = ...) -> None: ...

class DeviceChange(_message.Message):
    __slots__ = ["changes", "device"]
    CHANGES_FIELD_NUMBER: _ClassVar[int]
    DEVICE_FIELD_NUMBER: _ClassVar[int]
    changes: str
    device: str
    def __init__(self, device: _Optional[str] = ..., changes: _Optional[str] = ...) -> None: ...

class DeviceNamed(_message.Message):
    __slots__ = ["app", "device"]
    APP_FIELD_NUMBER: _ClassVar[int]
    DEVICE_FIELD_NUMBER: _ClassVar[int]
    app: str
    device: str
    def __init__(self, app: _Optional[str] = ..., device: _Optional[str] = ...) -> None: ...

class DeviceNotChanged(_message.Message):
    __slots__ = ["code", "may_have_happened", "reason", "retry_after_ms"]
    CODE_FIELD_NUMBER: _ClassVar[int]
    MAY_HAVE_HAPPENED_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    RETRY_AFTER_MS_FIELD_NUMBER: _ClassVar[int]
    code: str
    may_have_happened: bool
    reason: str
    retry_after_ms: int
    def __init__(self, code: _Optional[str] = ..., reason: _Optional[str] = ..., retry_after_ms: _Optional[int] = ..., may_have_happened: _Optional[bool] = ...) -> None: ...

class DeviceOutcome(_message.Message):
    __slots__ = ["refused", "registered"]
    REFUSED_FIELD_NUMBER: _ClassVar[int]
    REGISTERED_FIELD_NUMBER: _ClassVar[int]
    refused: DeviceNotChanged
    registered: bool
    def __init__(self, registered: _Optional[bool] = ..., refused: _Optional[_Union[DeviceNotChanged, _Mapping[str, _Any]]] = ...) -> None: ...

class DeviceOutcomes(_message.Message):
    __slots__ = ["outcomes"]
    OUTCOMES_FIELD_NUMBER: _ClassVar[int]
    outcomes: _containers.RepeatedCompositeFieldContainer[DeviceOutcome]
    def __init__(self, outcomes: _Optional[_Iterable[_Union[DeviceOutcome, _Mapping[str, _Any]]]] = ...) -> None: ...

class DeviceReport(_message.Message):
    __slots__ = ["connection", "device", "inbox", "newest"]
    CONNECTION_FIELD_NUMBER: _ClassVar[int]
    DEVICE_FIELD_NUMBER: _ClassVar[int]
    INBOX_FIELD_NUMBER: _ClassVar[int]
    NEWEST_FIELD_NUMBER: _ClassVar[int]
    connection: str
    device: str
    inbox: _containers.RepeatedCompositeFieldContainer[OwedPush]
    newest: _containers.RepeatedCompositeFieldContainer[NewestPush]
    def __init__(self, device: _Optional[str] = ..., connection: _Optional[str] = ..., inbox: _Optional[_Iterable[_Union[OwedPush, _Mapping[str, _Any]]]] = ..., newest: _Optional[_Iterable[_Union[NewestPush, _Mapping[str, _Any]]]] = ...) -> None: ...

class DevicesNamed(_message.Message):
    __slots__ = ["app", "devices"]
    APP_FIELD_NUMBER: _ClassVar[int]
    DEVICES_FIELD_NUMBER: _ClassVar[int]
    app: str
    devices: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, app: _Optional[str] = ..., devices: _Optional[_Iterable[str]] = ...) -> None: ...

class DevicesRemoved(_message.Message):
    __slots__ = ["devices"]
    DEVICES_FIELD_NUMBER: _ClassVar[int]
    devices: int
    def __init__(self, devices: _Optional[int] = ...) -> None: ...

class ListPushesRequest(_message.Message):
    __slots__ = ["app", "before_ms", "before_push", "pushes_max"]
    APP_FIELD_NUMBER: _ClassVar[int]
    BEFORE_MS_FIELD_NUMBER: _ClassVar[int]
    BEFORE_PUSH_FIELD_NUMBER: _ClassVar[int]
    PUSHES_MAX_FIELD_NUMBER: _ClassVar[int]
    app: str
    before_ms: int
    before_push: bytes
    pushes_max: int
    def __init__(self, app: _Optional[str] = ..., before_ms: _Optional[int] = ..., before_push: _Optional[bytes] = ..., pushes_max: _Optional[int] = ...) -> None: ...

class NewPush(_message.Message):
    __slots__ = ["app", "at_ms", "device", "id", "local_s", "message", "notification", "options", "saved", "selector"]
    APP_FIELD_NUMBER: _ClassVar[int]
    AT_MS_FIELD_NUMBER: _ClassVar[int]
    DEVICE_FIELD_NUMBER: _ClassVar[int]
    ID_FIELD_NUMBER: _ClassVar[int]
    LOCAL_S_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    NOTIFICATION_FIELD_NUMBER: _ClassVar[int]
    OPTIONS_FIELD_NUMBER: _ClassVar[int]
    SAVED_FIELD_NUMBER: _ClassVar[int]
    SELECTOR_FIELD_NUMBER: _ClassVar[int]
    app: str
    at_ms: int
    device: str
    id: bytes
    local_s: int
    message: RawMessage
    notification: Notification
    options: PushOptions
    saved: str
    selector: str
    def __init__(self, app: _Optional[str] = ..., id: _Optional[bytes] = ..., device: _Optional[str] = ..., saved: _Optional[str] = ..., selector: _Optional[str] = ..., notification: _Optional[_Union[Notification, _Mapping[str, _Any]]] = ..., message: _Optional[_Union[RawMessage, _Mapping[str, _Any]]] = ..., options: _Optional[_Union[PushOptions, _Mapping[str, _Any]]] = ..., at_ms: _Optional[int] = ..., local_s: _Optional[int] = ...) -> None: ...

class NewPushSchedule(_message.Message):
    __slots__ = ["cron", "late_ms", "name", "push", "zone"]
    CRON_FIELD_NUMBER: _ClassVar[int]
    LATE_MS_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    PUSH_FIELD_NUMBER: _ClassVar[int]
    ZONE_FIELD_NUMBER: _ClassVar[int]
    cron: str
    late_ms: int
    name: str
    push: NewPush
    zone: str
    def __init__(self, name: _Optional[str] = ..., cron: _Optional[str] = ..., zone: _Optional[str] = ..., late_ms: _Optional[int] = ..., push: _Optional[_Union[NewPush, _Mapping[str, _Any]]] = ...) -> None: ...

class NewestPush(_message.Message):
    __slots__ = ["at_ms", "push", "state"]
    AT_MS_FIELD_NUMBER: _ClassVar[int]
    PUSH_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    at_ms: int
    push: bytes
    state: DeliveryState
    def __init__(self, push: _Optional[bytes] = ..., at_ms: _Optional[int] = ..., state: _Optional[_Union[DeliveryState, str]] = ...) -> None: ...

class Notification(_message.Message):
    __slots__ = ["languages", "platforms", "words"]
    LANGUAGES_FIELD_NUMBER: _ClassVar[int]
    PLATFORMS_FIELD_NUMBER: _ClassVar[int]
    WORDS_FIELD_NUMBER: _ClassVar[int]
    languages: _containers.RepeatedCompositeFieldContainer[WordsVariant]
    platforms: _containers.RepeatedCompositeFieldContainer[WordsVariant]
    words: Words
    def __init__(self, words: _Optional[_Union[Words, _Mapping[str, _Any]]] = ..., platforms: _Optional[_Iterable[_Union[WordsVariant, _Mapping[str, _Any]]]] = ..., languages: _Optional[_Iterable[_Union[WordsVariant, _Mapping[str, _Any]]]] = ...) -> None: ...

class OwedPush(_message.Message):
    __slots__ = ["priority", "push", "since_ms", "until_ms"]
    PRIORITY_FIELD_NUMBER: _ClassVar[int]
    PUSH_FIELD_NUMBER: _ClassVar[int]
    SINCE_MS_FIELD_NUMBER: _ClassVar[int]
    UNTIL_MS_FIELD_NUMBER: _ClassVar[int]
    priority: int
    push: bytes
    since_ms: int
    until_ms: int
    def __init__(self, push: _Optional[bytes] = ..., since_ms: _Optional[int] = ..., until_ms: _Optional[int] = ..., priority: _Optional[int] = ...) -> None: ...

class PauseScheduleRequest(_message.Message):
    __slots__ = ["app", "name", "paused"]
    APP_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    PAUSED_FIELD_NUMBER: _ClassVar[int]
    app: str
    name: str
    paused: bool
    def __init__(self, app: _Optional[str] = ..., name: _Optional[str] = ..., paused: _Optional[bool] = ...) -> None: ...

class PreviewRequest(_message.Message):
    __slots__ = ["app", "sample_max", "selector"]
    APP_FIELD_NUMBER: _ClassVar[int]
    SAMPLE_MAX_FIELD_NUMBER: _ClassVar[int]
    SELECTOR_FIELD_NUMBER: _ClassVar[int]
    app: str
    sample_max: int
    selector: str
    def __init__(self, app: _Optional[str] = ..., selector: _Optional[str] = ..., sample_max: _Optional[int] = ...) -> None: ...

class PushAction(_message.Message):
    __slots__ = ["action", "clicks"]
    ACTION_FIELD_NUMBER: _ClassVar[int]
    CLICKS_FIELD_NUMBER: _ClassVar[int]
    action: str
    clicks: int
    def __init__(self, action: _Optional[str] = ..., clicks: _Optional[int] = ...) -> None: ...

class PushCap(_message.Message):
    __slots__ = ["pushes", "within_ms"]
    PUSHES_FIELD_NUMBER: _ClassVar[int]
    WITHIN_MS_FIELD_NUMBER: _ClassVar[int]
    pushes: int
    within_ms: int
    def __init__(self, pushes: _Optional[int] = ..., within_ms: _Optional[int] = ...) -> None: ...

class PushCounts(_message.Message):
    __slots__ = ["cancelled", "capped", "clicked", "collapsed", "crowded_out", "delivered", "devices", "expired", "held_out", "in_flight", "matched", "no_value", "opened", "opted_out", "owed", "quiet", "refused", "targeted", "waiting"]
    CANCELLED_FIELD_NUMBER: _ClassVar[int]
    CAPPED_FIELD_NUMBER: _ClassVar[int]
    CLICKED_FIELD_NUMBER: _ClassVar[int]
    COLLAPSED_FIELD_NUMBER: _ClassVar[int]
    CROWDED_OUT_FIELD_NUMBER: _ClassVar[int]
    DELIVERED_FIELD_NUMBER: _ClassVar[int]
    DEVICES_FIELD_NUMBER: _ClassVar[int]
    EXPIRED_FIELD_NUMBER: _ClassVar[int]
    HELD_OUT_FIELD_NUMBER: _ClassVar[int]
    IN_FLIGHT_FIELD_NUMBER: _ClassVar[int]
    MATCHED_FIELD_NUMBER: _ClassVar[int]
    NO_VALUE_FIELD_NUMBER: _ClassVar[int]
    OPENED_FIELD_NUMBER: _ClassVar[int]
    OPTED_OUT_FIELD_NUMBER: _ClassVar[int]
    OWED_FIELD_NUMBER: _ClassVar[int]
    QUIET_FIELD_NUMBER: _ClassVar[int]
    REFUSED_FIELD_NUMBER: _ClassVar[int]
    TARGETED_FIELD_NUMBER: _ClassVar[int]
    WAITING_FIELD_NUMBER: _ClassVar[int]
    cancelled: int
    capped: int
    clicked: int
    collapsed: int
    crowded_out: int
    delivered: int
    devices: int
    expired: int
    held_out: int
    in_flight: int
    matched: int
    no_value: int
    opened: int
    opted_out: int
    owed: int
    quiet: int
    refused: int
    targeted: int
    waiting: int
    def __init__(self, devices: _Optional[int] = ..., matched: _Optional[int] = ..., opted_out: _Optional[int] = ..., held_out: _Optional[int] = ..., capped: _Optional[int] = ..., quiet: _Optional[int] = ..., no_value: _Optional[int] = ..., targeted: _Optional[int] = ..., waiting: _Optional[int] = ..., owed: _Optional[int] = ..., in_flight: _Optional[int] = ..., delivered: _Optional[int] = ..., opened: _Optional[int] = ..., expired: _Optional[int] = ..., collapsed: _Optional[int] = ..., crowded_out: _Optional[int] = ..., refused: _Optional[int] = ..., cancelled: _Optional[int] = ..., clicked: _Optional[int] = ...) -> None: ...

class PushLatency(_message.Message):
    __slots__ = ["count", "first_ms", "last_ms", "p50_ms", "p99_ms"]
    COUNT_FIELD_NUMBER: _ClassVar[int]
    FIRST_MS_FIELD_NUMBER: _ClassVar[int]
    LAST_MS_FIELD_NUMBER: _ClassVar[int]
    P50_MS_FIELD_NUMBER: _ClassVar[int]
    P99_MS_FIELD_NUMBER: _ClassVar[int]
    count: int
    first_ms: int
    last_ms: int
    p50_ms: int
    p99_ms: int
    def __init__(self, count: _Optional[int] = ..., first_ms: _Optional[int] = ..., p50_ms: _Optional[int] = ..., p99_ms: _Optional[int] = ..., last_ms: _Optional[int] = ...) -> None: ...

class PushNamed(_message.Message):
    __slots__ = ["app", "push"]
    APP_FIELD_NUMBER: _ClassVar[int]
    PUSH_FIELD_NUMBER: _ClassVar[int]
    app: str
    push: bytes
    def __init__(self, app: _Optional[str] = ..., push: _Optional[bytes] = ...) -> None: ...

class PushOccurrence(_message.Message):
    __slots__ = ["at_ms", "push"]
    AT_MS_FIELD_NUMBER: _ClassVar[int]
    PUSH_FIELD_NUMBER: _ClassVar[int]
    at_ms: int
    push: bytes
    def __init__(self, at_ms: _Optional[int] = ..., push: _Optional[bytes] = ...) -> None: ...

class PushOptions(_message.Message):
    __slots__ = ["at_most_once", "cap", "collapse_key", "expiry_ms", "holdout_percent", "over_ms", "per_second", "priority", "quiet_hours"]
    AT_MOST_ONCE_FIELD_NUMBER: _ClassVar[int]
    CAP_FIELD_NUMBER: _ClassVar[int]
    COLLAPSE_KEY_FIELD_NUMBER: _ClassVar[int]
    EXPIRY_MS_FIELD_NUMBER: _ClassVar[int]
    HOLDOUT_PERCENT_FIELD_NUMBER: _ClassVar[int]
    OVER_MS_FIELD_NUMBER: _ClassVar[int]
    PER_SECOND_FIELD_NUMBER: _ClassVar[int]
    PRIORITY_FIELD_NUMBER: _ClassVar[int]
    QUIET_HOURS_FIELD_NUMBER: _ClassVar[int]
    at_most_once: bool
    cap: PushCap
    collapse_key: str
    expiry_ms: int
    holdout_percent: int
    over_ms: int
    per_second: int
    priority: int
    quiet_hours: QuietHours
    def __init__(self, expiry_ms: _Optional[int] = ..., priority: _Optional[int] = ..., collapse_key: _Optional[str] = ..., per_second: _Optional[int] = ..., over_ms: _Optional[int] = ..., cap: _Optional[_Union[PushCap, _Mapping[str, _Any]]] = ..., quiet_hours: _Optional[_Union[QuietHours, str]] = ..., at_most_once: _Optional[bool] = ..., holdout_percent: _Optional[int] = ...) -> None: ...

class PushReceipt(_message.Message):
    __slots__ = ["duplicate"]
    DUPLICATE_FIELD_NUMBER: _ClassVar[int]
    duplicate: bool
    def __init__(self, duplicate: _Optional[bool] = ...) -> None: ...

class PushReport(_message.Message):
    __slots__ = ["accepted_ms", "acknowledged", "actions", "counts", "push", "schedule", "sent", "stage", "started_ms"]
    ACCEPTED_MS_FIELD_NUMBER: _ClassVar[int]
    ACKNOWLEDGED_FIELD_NUMBER: _ClassVar[int]
    ACTIONS_FIELD_NUMBER: _ClassVar[int]
    COUNTS_FIELD_NUMBER: _ClassVar[int]
    PUSH_FIELD_NUMBER: _ClassVar[int]
    SCHEDULE_FIELD_NUMBER: _ClassVar[int]
    SENT_FIELD_NUMBER: _ClassVar[int]
    STAGE_FIELD_NUMBER: _ClassVar[int]
    STARTED_MS_FIELD_NUMBER: _ClassVar[int]
    accepted_ms: int
    acknowledged: PushLatency
    actions: _containers.RepeatedCompositeFieldContainer[PushAction]
    counts: PushCounts
    push: NewPush
    schedule: str
    sent: PushLatency
    stage: PushStage
    started_ms: int
    def __init__(self, push: _Optional[_Union[NewPush, _Mapping[str, _Any]]] = ..., stage: _Optional[_Union[PushStage, str]] = ..., schedule: _Optional[str] = ..., accepted_ms: _Optional[int] = ..., started_ms: _Optional[int] = ..., counts: _Optional[_Union[PushCounts, _Mapping[str, _Any]]] = ..., sent: _Optional[_Union[PushLatency, _Mapping[str, _Any]]] = ..., acknowledged: _Optional[_Union[PushLatency, _Mapping[str, _Any]]] = ..., actions: _Optional[_Iterable[_Union[PushAction, _Mapping[str, _Any]]]] = ...) -> None: ...

class PushReports(_message.Message):
    __slots__ = ["pushes"]
    PUSHES_FIELD_NUMBER: _ClassVar[int]
    pushes: _containers.RepeatedCompositeFieldContainer[PushReport]
    def __init__(self, pushes: _Optional[_Iterable[_Union[PushReport, _Mapping[str, _Any]]]] = ...) -> None: ...

class PushScheduleNamed(_message.Message):
    __slots__ = ["app", "name"]
    APP_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    app: str
    name: str
    def __init__(self, app: _Optional[str] = ..., name: _Optional[str] = ...) -> None: ...

class PushScheduleReport(_message.Message):
    __slots__ = ["last", "made", "next_ms", "paused", "schedule", "skipped"]
    LAST_FIELD_NUMBER: _ClassVar[int]
    MADE_FIELD_NUMBER: _ClassVar[int]
    NEXT_MS_FIELD_NUMBER: _ClassVar[int]
    PAUSED_FIELD_NUMBER: _ClassVar[int]
    SCHEDULE_FIELD_NUMBER: _ClassVar[int]
    SKIPPED_FIELD_NUMBER: _ClassVar[int]
    last: _containers.RepeatedCompositeFieldContainer[PushOccurrence]
    made: int
    next_ms: _containers.RepeatedScalarFieldContainer[int]
    paused: bool
    schedule: NewPushSchedule
    skipped: int
    def __init__(self, schedule: _Optional[_Union[NewPushSchedule, _Mapping[str, _Any]]] = ..., paused: _Optional[bool] = ..., next_ms: _Optional[_Iterable[int]] = ..., last: _Optional[_Iterable[_Union[PushOccurrence, _Mapping[str, _Any]]]] = ..., made: _Optional[int] = ..., skipped: _Optional[int] = ...) -> None: ...

class PushSchedules(_message.Message):
    __slots__ = ["schedules"]
    SCHEDULES_FIELD_NUMBER: _ClassVar[int]
    schedules: _containers.RepeatedCompositeFieldContainer[PushScheduleReport]
    def __init__(self, schedules: _Optional[_Iterable[_Union[PushScheduleReport, _Mapping[str, _Any]]]] = ...) -> None: ...

class PushStep(_message.Message):
    __slots__ = ["action", "at_ms", "connection", "what"]
    ACTION_FIELD_NUMBER: _ClassVar[int]
    AT_MS_FIELD_NUMBER: _ClassVar[int]
    CONNECTION_FIELD_NUMBER: _ClassVar[int]
    WHAT_FIELD_NUMBER: _ClassVar[int]
    action: str
    at_ms: int
    connection: str
    what: str
    def __init__(self, at_ms: _Optional[int] = ..., what: _Optional[str] = ..., connection: _Optional[str] = ..., action: _Optional[str] = ...) -> None: ...

class PushTrace(_message.Message):
    __slots__ = ["sentence", "state", "steps"]
    SENTENCE_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    STEPS_FIELD_NUMBER: _ClassVar[int]
    sentence: str
    state: DeliveryState
    steps: _containers.RepeatedCompositeFieldContainer[PushStep]
    def __init__(self, state: _Optional[_Union[DeliveryState, str]] = ..., sentence: _Optional[str] = ..., steps: _Optional[_Iterable[_Union[PushStep, _Mapping[str, _Any]]]] = ...) -> None: ...

class RawMessage(_message.Message):
    __slots__ = ["content_type", "payload", "user_properties"]
    CONTENT_TYPE_FIELD_NUMBER: _ClassVar[int]
    PAYLOAD_FIELD_NUMBER: _ClassVar[int]
    USER_PROPERTIES_FIELD_NUMBER: _ClassVar[int]
    content_type: str
    payload: bytes
    user_properties: _containers.RepeatedCompositeFieldContainer[_stadium_pb2.UserProperty]
    def __init__(self, payload: _Optional[bytes] = ..., content_type: _Optional[str] = ..., user_properties: _Optional[_Iterable[_Union[_stadium_pb2.UserProperty, _Mapping[str, _Any]]]] = ...) -> None: ...

class TraceRequest(_message.Message):
    __slots__ = ["app", "device", "push"]
    APP_FIELD_NUMBER: _ClassVar[int]
    DEVICE_FIELD_NUMBER: _ClassVar[int]
    PUSH_FIELD_NUMBER: _ClassVar[int]
    app: str
    device: str
    push: bytes
    def __init__(self, app: _Optional[str] = ..., push: _Optional[bytes] = ..., device: _Optional[str] = ...) -> None: ...

class Words(_message.Message):
    __slots__ = ["body", "data", "title"]
    BODY_FIELD_NUMBER: _ClassVar[int]
    DATA_FIELD_NUMBER: _ClassVar[int]
    TITLE_FIELD_NUMBER: _ClassVar[int]
    body: str
    data: str
    title: str
    def __init__(self, title: _Optional[str] = ..., body: _Optional[str] = ..., data: _Optional[str] = ...) -> None: ...

class WordsVariant(_message.Message):
    __slots__ = ["of", "words"]
    OF_FIELD_NUMBER: _ClassVar[int]
    WORDS_FIELD_NUMBER: _ClassVar[int]
    of: str
    words: Words
    def __init__(self, of: _Optional[str] = ..., words: _Optional[_Union[Words, _Mapping[str, _Any]]] = ...) -> None: ...

class QuietHours(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    ...

class PushStage(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    ...

class DeliveryState(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    ...
