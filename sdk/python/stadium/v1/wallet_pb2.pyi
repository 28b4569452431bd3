from google.protobuf import empty_pb2 as _empty_pb2
from stadium.v1 import queue_pb2 as _queue_pb2
from stadium.v1 import stadium_pb2 as _stadium_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from typing import Any as _Any, ClassVar as _ClassVar, Iterable as _Iterable, Mapping as _Mapping, Optional as _Optional, Union as _Union

BOOK_STATE_CAPTURED: BookState
BOOK_STATE_EXPIRED: BookState
BOOK_STATE_HELD: BookState
BOOK_STATE_PENDING: BookState
BOOK_STATE_POSTED: BookState
BOOK_STATE_REVERSED: BookState
BOOK_STATE_UNSET: BookState
BOOK_STATE_VOIDED: BookState
DESCRIPTOR: _descriptor.FileDescriptor
DIRECTION_CREDIT: Direction
DIRECTION_DEBIT: Direction
DIRECTION_UNSET: Direction

class AccountList(_message.Message):
    __slots__ = ["accounts"]
    ACCOUNTS_FIELD_NUMBER: _ClassVar[int]
    accounts: _containers.RepeatedCompositeFieldContainer[AccountView]
    def __init__(self, accounts: _Optional[_Iterable[_Union[AccountView, _Mapping[str, _Any]]]] = ...) -> None: ...

class AccountView(_message.Message):
    __slots__ = ["asset", "balance", "ceiling", "closed", "entries", "opened_ms", "overdraft", "wallet"]
    ASSET_FIELD_NUMBER: _ClassVar[int]
    BALANCE_FIELD_NUMBER: _ClassVar[int]
    CEILING_FIELD_NUMBER: _ClassVar[int]
    CLOSED_FIELD_NUMBER: _ClassVar[int]
    ENTRIES_FIELD_NUMBER: _ClassVar[int]
    OPENED_MS_FIELD_NUMBER: _ClassVar[int]
    OVERDRAFT_FIELD_NUMBER: _ClassVar[int]
    WALLET_FIELD_NUMBER: _ClassVar[int]
    asset: str
    balance: Balance
    ceiling: int
    closed: bool
    entries: int
    opened_ms: int
    overdraft: bool
    wallet: str
    def __init__(self, wallet: _Optional[str] = ..., asset: _Optional[str] = ..., balance: _Optional[_Union[Balance, _Mapping[str, _Any]]] = ..., overdraft: _Optional[bool] = ..., ceiling: _Optional[int] = ..., closed: _Optional[bool] = ..., entries: _Optional[int] = ..., opened_ms: _Optional[int] = ...) -> None: ...

class AccountsRequest(_message.Message):
    __slots__ = ["accounts_max", "after_asset", "after_wallet", "asset", "prefix"]
    ACCOUNTS_MAX_FIELD_NUMBER: _ClassVar[int]
    AFTER_ASSET_FIELD_NUMBER: _ClassVar[int]
    AFTER_WALLET_FIELD_NUMBER: _ClassVar[int]
    ASSET_FIELD_NUMBER: _ClassVar[int]
    PREFIX_FIELD_NUMBER: _ClassVar[int]
    accounts_max: int
    after_asset: str
    after_wallet: str
    asset: str
    prefix: str
    def __init__(self, prefix: _Optional[str] = ..., asset: _Optional[str] = ..., after_wallet: _Optional[str] = ..., after_asset: _Optional[str] = ..., accounts_max: _Optional[int] = ...) -> None: ...

class AssetList(_message.Message):
    __slots__ = ["assets"]
    ASSETS_FIELD_NUMBER: _ClassVar[int]
    assets: _containers.RepeatedCompositeFieldContainer[AssetView]
    def __init__(self, assets: _Optional[_Iterable[_Union[AssetView, _Mapping[str, _Any]]]] = ...) -> None: ...

class AssetView(_message.Message):
    __slots__ = ["accounts", "asset", "credit", "debit", "held", "scale"]
    ACCOUNTS_FIELD_NUMBER: _ClassVar[int]
    ASSET_FIELD_NUMBER: _ClassVar[int]
    CREDIT_FIELD_NUMBER: _ClassVar[int]
    DEBIT_FIELD_NUMBER: _ClassVar[int]
    HELD_FIELD_NUMBER: _ClassVar[int]
    SCALE_FIELD_NUMBER: _ClassVar[int]
    accounts: int
    asset: str
    credit: str
    debit: str
    held: str
    scale: int
    def __init__(self, asset: _Optional[str] = ..., scale: _Optional[int] = ..., accounts: _Optional[int] = ..., credit: _Optional[str] = ..., debit: _Optional[str] = ..., held: _Optional[str] = ...) -> None: ...

class AssetsRequest(_message.Message):
    ...
    def __init__(self) -> None: ...

class Balance(_message.Message):
    __slots__ = ["available", "held", "posted"]
    AVAILABLE_FIELD_NUMBER: _ClassVar[int]
    HELD_FIELD_NUMBER: _ClassVar[int]
    POSTED_FIELD_NUMBER: _ClassVar[int]
    available: int
    held: int
    posted: int
    def __init__(self, posted: _Optional[int] = ..., held: _Optional[int] = ..., available: _Optional[int] = ...) -> None: ...

class BalanceAtRequest(_message.Message):
    __slots__ = ["asset", "at_ms", "wallet"]
    ASSET_FIELD_NUMBER: _ClassVar[int]
    AT_MS_FIELD_NUMBER: _ClassVar[int]
    WALLET_FIELD_NUMBER: _ClassVar[int]
    asset: str
    at_ms: int
    wallet: str
    def __init__(self, wallet: _Optional[str] = ..., asset: _Optional[str] = ..., at_ms: _Optional[int] = ...) -> None: ...

class Capture(_message.Message):
    __slots__ = ["amount", "hold"]
    AMOUNT_FIELD_NUMBER: _ClassVar[int]
    HOLD_FIELD_NUMBER: _ClassVar[int]
    amount: int
    hold: bytes
    def __init__(self, hold: _Optional[bytes] = ..., amount: _Optional[int] = ...) -> None: ...

class ChangeRequest(_message.Message):
    __slots__ = ["asset", "ceiling", "closed", "no_ceiling", "overdraft", "wallet"]
    ASSET_FIELD_NUMBER: _ClassVar[int]
    CEILING_FIELD_NUMBER: _ClassVar[int]
    CLOSED_FIELD_NUMBER: _ClassVar[int]
    NO_CEILING_FIELD_NUMBER: _ClassVar[int]
    OVERDRAFT_FIELD_NUMBER: _ClassVar[int]
    WALLET_FIELD_NUMBER: _ClassVar[int]
    asset: str
    ceiling: int
    closed: bool
    no_ceiling: bool
    overdraft: bool
    wallet: str
    def __init__(self, wallet: _Optional[str] = ..., asset: _Optional[str] = ..., overdraft: _Optional[bool] = ..., ceiling: _Optional[int] = ..., no_ceiling: _Optional[bool] = ..., closed: _Optional[bool] = ...) -> None: ...

class DeclareAssetRequest(_message.Message):
    __slots__ = ["asset", "scale"]
    ASSET_FIELD_NUMBER: _ClassVar[int]
    SCALE_FIELD_NUMBER: _ClassVar[int]
    asset: str
    scale: int
    def __init__(self, asset: _Optional[str] = ..., scale: _Optional[int] = ...) -> None: ...

class EntriesRequest(_message.Message):
    __slots__ = ["asset", "before", "direction", "entries_max", "from_ms", "other", "reference", "to_ms", "wallet"]
    ASSET_FIELD_NUMBER: _ClassVar[int]
    BEFORE_FIELD_NUMBER: _ClassVar[int]
    DIRECTION_FIELD_NUMBER: _ClassVar[int]
    ENTRIES_MAX_FIELD_NUMBER: _ClassVar[int]
    FROM_MS_FIELD_NUMBER: _ClassVar[int]
    OTHER_FIELD_NUMBER: _ClassVar[int]
    REFERENCE_FIELD_NUMBER: _ClassVar[int]
    TO_MS_FIELD_NUMBER: _ClassVar[int]
    WALLET_FIELD_NUMBER: _ClassVar[int]
    asset: str
    before: int
    direction: Direction
    entries_max: int
    from_ms: int
    other: str
    reference: str
    to_ms: int
    wallet: str
    def __init__(self, wallet: _Optional[str] = ..., asset: _Optional[str] = ..., from_ms: _Optional[int] = ..., to_ms: _Optional[int] = ..., direction: _Optional[_Union[Direction, str]] = ..., other: _Optional[str] = ..., reference: _Optional[str] = ..., before: _Optional[int] = ..., entries_max: _Optional[int] = ...) -> None: ...

class Entry(_message.Message):
    __slots__ = ["balance", "direction", "number", "transfer"]
    BALANCE_FIELD_NUMBER: _ClassVar[int]
    DIRECTION_FIELD_NUMBER: _ClassVar[int]
    NUMBER_FIELD_NUMBER: _ClassVar[int]
    TRANSFER_FIELD_NUMBER: _ClassVar[int]
    balance: int
    direction: Direction
    number: int
    transfer: TransferView
    def __init__(self, number: _Optional[int] = ..., transfer: _Optional[_Union[TransferView, _Mapping[str, _Any]]] = ..., direction: _Optional[_Union[Direction, str]] = ..., balance: _Optional[int] = ...) -> None: ...

class EntryPage(_message.Message):
    __slots__ = ["before", "entries"]
    BEFORE_FIELD_NUMBER: _ClassVar[int]
    ENTRIES_FIELD_NUMBER: _ClassVar[int]
    before: int
    entries: _containers.RepeatedCompositeFieldContainer[Entry]
    def __init__(self, entries: _Optional[_Iterable[_Union[Entry, _Mapping[str, _Any]]]] = ..., before: _Optional[int] = ...) -> None: ...

class Hold(_message.Message):
    __slots__ = ["amount", "asset", "credit", "debit", "expires_after_ms"]
    AMOUNT_FIELD_NUMBER: _ClassVar[int]
    ASSET_FIELD_NUMBER: _ClassVar[int]
    CREDIT_FIELD_NUMBER: _ClassVar[int]
    DEBIT_FIELD_NUMBER: _ClassVar[int]
    EXPIRES_AFTER_MS_FIELD_NUMBER: _ClassVar[int]
    amount: int
    asset: str
    credit: str
    debit: str
    expires_after_ms: int
    def __init__(self, debit: _Optional[str] = ..., credit: _Optional[str] = ..., asset: _Optional[str] = ..., amount: _Optional[int] = ..., expires_after_ms: _Optional[int] = ...) -> None: ...

class HoldList(_message.Message):
    __slots__ = ["holds"]
    HOLDS_FIELD_NUMBER: _ClassVar[int]
    holds: _containers.RepeatedCompositeFieldContainer[OpenHold]
    def __init__(self, holds: _Optional[_Iterable[_Union[OpenHold, _Mapping[str, _Any]]]] = ...) -> None: ...

class HoldsRequest(_message.Message):
    __slots__ = ["holds_max", "wallet"]
    HOLDS_MAX_FIELD_NUMBER: _ClassVar[int]
    WALLET_FIELD_NUMBER: _ClassVar[int]
    holds_max: int
    wallet: str
    def __init__(self, wallet: _Optional[str] = ..., holds_max: _Optional[int] = ...) -> None: ...

class NewAccount(_message.Message):
    __slots__ = ["asset", "ceiling", "overdraft", "wallet"]
    ASSET_FIELD_NUMBER: _ClassVar[int]
    CEILING_FIELD_NUMBER: _ClassVar[int]
    OVERDRAFT_FIELD_NUMBER: _ClassVar[int]
    WALLET_FIELD_NUMBER: _ClassVar[int]
    asset: str
    ceiling: int
    overdraft: bool
    wallet: str
    def __init__(self, wallet: _Optional[str] = ..., asset: _Optional[str] = ..., overdraft: _Optional[bool] = ..., ceiling: _Optional[int] = ...) -> None: ...

class NewTransfer(_message.Message):
    __slots__ = ["capture", "effective_ms", "hold", "id", "metadata", "post", "reference", "reverse", "void"]
    CAPTURE_FIELD_NUMBER: _ClassVar[int]
    EFFECTIVE_MS_FIELD_NUMBER: _ClassVar[int]
    HOLD_FIELD_NUMBER: _ClassVar[int]
    ID_FIELD_NUMBER: _ClassVar[int]
    METADATA_FIELD_NUMBER: _ClassVar[int]
    POST_FIELD_NUMBER: _ClassVar[int]
    REFERENCE_FIELD_NUMBER: _ClassVar[int]
    REVERSE_FIELD_NUMBER: _ClassVar[int]
    VOID_FIELD_NUMBER: _ClassVar[int]
    capture: Capture
    effective_ms: int
    hold: Hold
    id: bytes
    metadata: bytes
    post: Post
    reference: str
    reverse: Reverse
    void: Void
    def __init__(self, id: _Optional[bytes] = ..., post: _Optional[_Union[Post, _Mapping[str, _Any]]] = ..., hold: _Optional[_Union[Hold, _Mapping[str, _Any]]] = ..., capture: _Optional[_Union[Capture, _Mapping[str, _Any]]] = ..., void: _Optional[_Union[Void, _Mapping[str, _Any]]] = ..., reverse: _Optional[_Union[Reverse, _Mapping[str, _Any]]] = ..., reference: _Optional[str] = ..., metadata: _Optional[bytes] = ..., effective_ms: _Optional[int] = ...) -> None: ...

class NotDone(_message.Message):
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

class OpenHold(_message.Message):
    __slots__ = ["amount", "asset", "at_ms", "credit", "debit", "expires_ms", "transfer"]
    AMOUNT_FIELD_NUMBER: _ClassVar[int]
    ASSET_FIELD_NUMBER: _ClassVar[int]
    AT_MS_FIELD_NUMBER: _ClassVar[int]
    CREDIT_FIELD_NUMBER: _ClassVar[int]
    DEBIT_FIELD_NUMBER: _ClassVar[int]
    EXPIRES_MS_FIELD_NUMBER: _ClassVar[int]
    TRANSFER_FIELD_NUMBER: _ClassVar[int]
    amount: int
    asset: str
    at_ms: int
    credit: str
    debit: str
    expires_ms: int
    transfer: bytes
    def __init__(self, transfer: _Optional[bytes] = ..., debit: _Optional[str] = ..., credit: _Optional[str] = ..., asset: _Optional[str] = ..., amount: _Optional[int] = ..., at_ms: _Optional[int] = ..., expires_ms: _Optional[int] = ...) -> None: ...

class OpenOutcome(_message.Message):
    __slots__ = ["already", "refused"]
    ALREADY_FIELD_NUMBER: _ClassVar[int]
    REFUSED_FIELD_NUMBER: _ClassVar[int]
    already: bool
    refused: NotDone
    def __init__(self, already: _Optional[bool] = ..., refused: _Optional[_Union[NotDone, _Mapping[str, _Any]]] = ...) -> None: ...

class OpenRequest(_message.Message):
    __slots__ = ["accounts"]
    ACCOUNTS_FIELD_NUMBER: _ClassVar[int]
    accounts: _containers.RepeatedCompositeFieldContainer[NewAccount]
    def __init__(self, accounts: _Optional[_Iterable[_Union[NewAccount, _Mapping[str, _Any]]]] = ...) -> None: ...

class Opened(_message.Message):
    __slots__ = ["outcomes"]
    OUTCOMES_FIELD_NUMBER: _ClassVar[int]
    outcomes: _containers.RepeatedCompositeFieldContainer[OpenOutcome]
    def __init__(self, outcomes: _Optional[_Iterable[_Union[OpenOutcome, _Mapping[str, _Any]]]] = ...) -> None: ...

class Post(_message.Message):
    __slots__ = ["amount", "asset", "credit", "debit"]
    AMOUNT_FIELD_NUMBER: _ClassVar[int]
    ASSET_FIELD_NUMBER: _ClassVar[int]
    CREDIT_FIELD_NUMBER: _ClassVar[int]
    DEBIT_FIELD_NUMBER: _ClassVar[int]
    amount: int
    asset: str
    credit: str
    debit: str
    def __init__(self, debit: _Optional[str] = ..., credit: _Optional[str] = ..., asset: _Optional[str] = ..., amount: _Optional[int] = ...) -> None: ...

class QueuedJob(_message.Message):
    __slots__ = ["job", "queue"]
    JOB_FIELD_NUMBER: _ClassVar[int]
    QUEUE_FIELD_NUMBER: _ClassVar[int]
    job: _queue_pb2.NewJob
    queue: str
    def __init__(self, queue: _Optional[str] = ..., job: _Optional[_Union[_queue_pb2.NewJob, _Mapping[str, _Any]]] = ...) -> None: ...

class Reverse(_message.Message):
    __slots__ = ["transfer"]
    TRANSFER_FIELD_NUMBER: _ClassVar[int]
    transfer: bytes
    def __init__(self, transfer: _Optional[bytes] = ...) -> None: ...

class Root(_message.Message):
    __slots__ = ["at_ms", "number", "position", "records", "root", "shard"]
    AT_MS_FIELD_NUMBER: _ClassVar[int]
    NUMBER_FIELD_NUMBER: _ClassVar[int]
    POSITION_FIELD_NUMBER: _ClassVar[int]
    RECORDS_FIELD_NUMBER: _ClassVar[int]
    ROOT_FIELD_NUMBER: _ClassVar[int]
    SHARD_FIELD_NUMBER: _ClassVar[int]
    at_ms: int
    number: int
    position: int
    records: int
    root: bytes
    shard: int
    def __init__(self, shard: _Optional[int] = ..., number: _Optional[int] = ..., at_ms: _Optional[int] = ..., root: _Optional[bytes] = ..., records: _Optional[int] = ..., position: _Optional[int] = ...) -> None: ...

class RootList(_message.Message):
    __slots__ = ["roots"]
    ROOTS_FIELD_NUMBER: _ClassVar[int]
    roots: _containers.RepeatedCompositeFieldContainer[Root]
    def __init__(self, roots: _Optional[_Iterable[_Union[Root, _Mapping[str, _Any]]]] = ...) -> None: ...

class RootsRequest(_message.Message):
    __slots__ = ["after", "roots_max", "shard"]
    AFTER_FIELD_NUMBER: _ClassVar[int]
    ROOTS_MAX_FIELD_NUMBER: _ClassVar[int]
    SHARD_FIELD_NUMBER: _ClassVar[int]
    after: int
    roots_max: int
    shard: int
    def __init__(self, shard: _Optional[int] = ..., after: _Optional[int] = ..., roots_max: _Optional[int] = ...) -> None: ...

class TogetherOutcomes(_message.Message):
    __slots__ = ["outcomes"]
    OUTCOMES_FIELD_NUMBER: _ClassVar[int]
    outcomes: _containers.RepeatedCompositeFieldContainer[UnitOutcome]
    def __init__(self, outcomes: _Optional[_Iterable[_Union[UnitOutcome, _Mapping[str, _Any]]]] = ...) -> None: ...

class TogetherRequest(_message.Message):
    __slots__ = ["units"]
    UNITS_FIELD_NUMBER: _ClassVar[int]
    units: _containers.RepeatedCompositeFieldContainer[Unit]
    def __init__(self, units: _Optional[_Iterable[_Union[Unit, _Mapping[str, _Any]]]] = ...) -> None: ...

class TransferNamed(_message.Message):
    __slots__ = ["transfer"]
    TRANSFER_FIELD_NUMBER: _ClassVar[int]
    transfer: bytes
    def __init__(self, transfer: _Optional[bytes] = ...) -> None: ...

class TransferOutcome(_message.Message):
    __slots__ = ["booked_at_ms", "duplicate", "refused"]
    BOOKED_AT_MS_FIELD_NUMBER: _ClassVar[int]
    DUPLICATE_FIELD_NUMBER: _ClassVar[int]
    REFUSED_FIELD_NUMBER: _ClassVar[int]
    booked_at_ms: int
    duplicate: bool
    refused: NotDone
    def __init__(self, booked_at_ms: _Optional[int] = ..., duplicate: _Optional[bool] = ..., refused: _Optional[_Union[NotDone, _Mapping[str, _Any]]] = ...) -> None: ...

class TransferOutcomes(_message.Message):
    __slots__ = ["outcomes"]
    OUTCOMES_FIELD_NUMBER: _ClassVar[int]
    outcomes: _containers.RepeatedCompositeFieldContainer[TransferOutcome]
    def __init__(self, outcomes: _Optional[_Iterable[_Union[TransferOutcome, _Mapping[str, _Any]]]] = ...) -> None: ...

class TransferRequest(_message.Message):
    __slots__ = ["linked", "transfers"]
    LINKED_FIELD_NUMBER: _ClassVar[int]
    TRANSFERS_FIELD_NUMBER: _ClassVar[int]
    linked: bool
    transfers: _containers.RepeatedCompositeFieldContainer[NewTransfer]
    def __init__(self, transfers: _Optional[_Iterable[_Union[NewTransfer, _Mapping[str, _Any]]]] = ..., linked: _Optional[bool] = ...) -> None: ...

class TransferView(_message.Message):
    __slots__ = ["amount", "asset", "at_ms", "credit", "debit", "effective_ms", "metadata", "of", "principal", "reference", "state", "transfer"]
    AMOUNT_FIELD_NUMBER: _ClassVar[int]
    ASSET_FIELD_NUMBER: _ClassVar[int]
    AT_MS_FIELD_NUMBER: _ClassVar[int]
    CREDIT_FIELD_NUMBER: _ClassVar[int]
    DEBIT_FIELD_NUMBER: _ClassVar[int]
    EFFECTIVE_MS_FIELD_NUMBER: _ClassVar[int]
    METADATA_FIELD_NUMBER: _ClassVar[int]
    OF_FIELD_NUMBER: _ClassVar[int]
    PRINCIPAL_FIELD_NUMBER: _ClassVar[int]
    REFERENCE_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    TRANSFER_FIELD_NUMBER: _ClassVar[int]
    amount: int
    asset: str
    at_ms: int
    credit: str
    debit: str
    effective_ms: int
    metadata: bytes
    of: bytes
    principal: str
    reference: str
    state: BookState
    transfer: bytes
    def __init__(self, transfer: _Optional[bytes] = ..., state: _Optional[_Union[BookState, str]] = ..., debit: _Optional[str] = ..., credit: _Optional[str] = ..., asset: _Optional[str] = ..., amount: _Optional[int] = ..., at_ms: _Optional[int] = ..., of: _Optional[bytes] = ..., effective_ms: _Optional[int] = ..., reference: _Optional[str] = ..., metadata: _Optional[bytes] = ..., principal: _Optional[str] = ...) -> None: ...

class Unit(_message.Message):
    __slots__ = ["jobs", "pushes", "transfers"]
    JOBS_FIELD_NUMBER: _ClassVar[int]
    PUSHES_FIELD_NUMBER: _ClassVar[int]
    TRANSFERS_FIELD_NUMBER: _ClassVar[int]
    jobs: _containers.RepeatedCompositeFieldContainer[QueuedJob]
    pushes: _containers.RepeatedCompositeFieldContainer[_stadium_pb2.PushRequest]
    transfers: _containers.RepeatedCompositeFieldContainer[NewTransfer]
    def __init__(self, transfers: _Optional[_Iterable[_Union[NewTransfer, _Mapping[str, _Any]]]] = ..., jobs: _Optional[_Iterable[_Union[QueuedJob, _Mapping[str, _Any]]]] = ..., pushes: _Optional[_Iterable[_Union[_stadium_pb2.PushRequest, _Mapping[str, _Any]]]] = ...) -> None: ...

class UnitOutcome(_message.Message):
    __slots__ = ["placed", "refused", "transfers"]
    PLACED_FIELD_NUMBER: _ClassVar[int]
    REFUSED_FIELD_NUMBER: _ClassVar[int]
    TRANSFERS_FIELD_NUMBER: _ClassVar[int]
    placed: _queue_pb2.Placed
    refused: NotDone
    transfers: _containers.RepeatedCompositeFieldContainer[TransferOutcome]
    def __init__(self, transfers: _Optional[_Iterable[_Union[TransferOutcome, _Mapping[str, _Any]]]] = ..., placed: _Optional[_Union[_queue_pb2.Placed, _Mapping[str, _Any]]] = ..., refused: _Optional[_Union[NotDone, _Mapping[str, _Any]]] = ...) -> None: ...

class Void(_message.Message):
    __slots__ = ["hold"]
    HOLD_FIELD_NUMBER: _ClassVar[int]
    hold: bytes
    def __init__(self, hold: _Optional[bytes] = ...) -> None: ...

class WalletsNamed(_message.Message):
    __slots__ = ["wallets"]
    WALLETS_FIELD_NUMBER: _ClassVar[int]
    wallets: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, wallets: _Optional[_Iterable[str]] = ...) -> None: ...

class BookState(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    ...

class Direction(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    ...
