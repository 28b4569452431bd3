"""Transfers, their outcomes and the requests of the service `wallet`: the same for both kinds of clients."""

from __future__ import annotations

import datetime
import uuid
from dataclasses import dataclass
from typing import TYPE_CHECKING, Dict, Iterable, List, Optional, Sequence, TypedDict, Union

from ._errors import Busy, Error, Rejected, Unknown
from ._jobs import JobLike, NewJob, Put, bounded, placed
from ._times import Moment, moment_ms, of_ms, span_ms
from .v1 import stadium_pb2
from .v1 import wallet_pb2 as pb

if TYPE_CHECKING:
    from typing_extensions import Unpack

#: A transfer's or a push's id: a UUID, its text, or 16 bytes.
IdLike = Union[uuid.UUID, str, bytes]

#: The namespace of ids that are made of names.
_NAMES = uuid.UUID("a2c7d0f2-6d0c-5d5a-9f38-0f5c5a0b7a11")


def id_of(id: IdLike) -> uuid.UUID:
    """An id in any of its forms."""
    if isinstance(id, uuid.UUID):
        return id
    return uuid.UUID(bytes=id) if isinstance(id, bytes) else uuid.UUID(id)


def id_from(*names: str) -> uuid.UUID:
    """An id made of names, such as `id_from("payment", "store-4711")`: the same names, the same id."""
    return uuid.uuid5(_NAMES, "\0".join(names))


class More(TypedDict, total=False):
    """What every transfer may carry beside its amount."""

    #: What an outside system calls it; at most 128 bytes.
    reference: str
    #: Anything, at most 1 KiB; shown in the history.
    metadata: bytes
    #: When it counts for the books, where that is not when it is booked.
    effective: Optional[Moment]


@dataclass(frozen=True)
class Transfer:
    """An amount to be moved, at most once for its id: made by `post`, `hold`, `capture`, `void` or `reverse`.

    Amounts are minor units (cents, votes). The same id again with the same content gets the first answer.
    """

    id: uuid.UUID
    message: pb.NewTransfer

    @classmethod
    def post(
        cls,
        debit: str,
        credit: str,
        asset: str,
        amount: int,
        *,
        id: Optional[IdLike] = None,
        **more: Unpack[More],
    ) -> "Transfer":
        """Moves an amount now."""
        post = pb.Post(debit=debit, credit=credit, asset=asset, amount=_amount(amount))
        return cls._of(id, pb.NewTransfer(post=post), **more)

    @classmethod
    def hold(
        cls,
        debit: str,
        credit: str,
        asset: str,
        amount: int,
        *,
        expires: float,
        id: Optional[IdLike] = None,
        **more: Unpack[More],
    ) -> "Transfer":
        """Keeps an amount with its owner, not available, for `expires` seconds: 1 s to 366 days."""
        hold = pb.Hold(debit=debit, credit=credit, asset=asset, amount=_amount(amount))
        hold.expires_after_ms = span_ms("expires", expires)
        return cls._of(id, pb.NewTransfer(hold=hold), **more)

    @classmethod
    def capture(
        cls, hold: IdLike, amount: Optional[int] = None, *, id: Optional[IdLike] = None, **more: Unpack[More]
    ) -> "Transfer":
        """Moves a held amount, or a part of it; the rest is available again."""
        capture = pb.Capture(hold=id_of(hold).bytes)
        if amount is not None:
            capture.amount = _amount(amount)
        return cls._of(id, pb.NewTransfer(capture=capture), **more)

    @classmethod
    def void(cls, hold: IdLike, *, id: Optional[IdLike] = None, **more: Unpack[More]) -> "Transfer":
        """Makes a held amount available again."""
        return cls._of(id, pb.NewTransfer(void=pb.Void(hold=id_of(hold).bytes)), **more)

    @classmethod
    def reverse(cls, transfer: IdLike, *, id: Optional[IdLike] = None, **more: Unpack[More]) -> "Transfer":
        """Moves all of a posted or captured transfer back."""
        reverse = pb.Reverse(transfer=id_of(transfer).bytes)
        return cls._of(id, pb.NewTransfer(reverse=reverse), **more)

    @classmethod
    def _of(
        cls,
        id: Optional[IdLike],
        message: pb.NewTransfer,
        reference: str = "",
        metadata: bytes = b"",
        effective: Optional[Moment] = None,
    ) -> "Transfer":
        made = uuid.uuid4() if id is None else id_of(id)
        message.id, message.reference, message.metadata = made.bytes, reference, metadata
        if effective is not None:
            message.effective_ms = moment_ms("effective", effective)
        return cls(made, message)


def _amount(amount: int) -> int:
    if not isinstance(amount, int) or isinstance(amount, bool) or not 1 <= amount < 2**63:
        raise ValueError(f"the amount is {amount!r}; it is a whole number of minor units, 1 to 2^63 - 1")
    return amount


@dataclass(frozen=True)
class Booked:
    """A transfer that is in the books. A duplicate was booked before: nothing happened now."""

    id: uuid.UUID
    booked_at: datetime.datetime
    duplicate: bool = False


@dataclass(frozen=True)
class Balance:
    """Amounts of one asset in a wallet, in minor units: what can be spent is `available`."""

    posted: int
    held: int
    available: int


@dataclass(frozen=True)
class Account:
    """An account to be opened."""

    wallet: str
    asset: str
    overdraft: bool = False
    #: The most that it may hold; none: no bound.
    ceiling: Optional[int] = None


@dataclass(frozen=True)
class QueuedJob:
    """A job that is put together with transfers."""

    queue: str
    job: JobLike


@dataclass(frozen=True)
class Unit:
    """What happens together or not at all: transfers, jobs, and pushes to devices that are connected."""

    transfers: Sequence[Transfer]
    jobs: Sequence[QueuedJob] = ()
    pushes: Sequence[stadium_pb2.PushRequest] = ()


@dataclass(frozen=True)
class BookedUnit:
    """A unit that is in the books, with the jobs that it put: those of its pushes behind the others."""

    transfers: Sequence[Booked]
    jobs: Sequence[Put]


def refusal(message: pb.NotDone) -> Error:
    """Why one of several was not carried out."""
    if message.may_have_happened:
        return Unknown(message.code, message.reason)
    if message.retry_after_ms:
        return Busy(f"{message.reason} ({message.code})", retry_after=message.retry_after_ms / 1000)
    return Rejected(message.code, message.reason)


def transfer_request(transfers: Iterable[Transfer], linked: bool) -> pb.TransferRequest:
    listed = list(transfers)
    bounded("transfers", listed)
    return pb.TransferRequest(transfers=[transfer.message for transfer in listed], linked=linked)


def booked(
    request: Iterable[pb.NewTransfer], answer: Iterable[pb.TransferOutcome]
) -> List[Union[Booked, Error]]:
    return [
        refusal(outcome.refused)
        if outcome.HasField("refused")
        else Booked(uuid.UUID(bytes=transfer.id), of_ms(outcome.booked_at_ms), outcome.duplicate)
        for transfer, outcome in zip(request, answer)
    ]


def together_request(units: Iterable[Unit]) -> pb.TogetherRequest:
    messages = []
    for unit in units:
        message = pb.Unit(transfers=[transfer.message for transfer in unit.transfers], pushes=unit.pushes)
        for queued in unit.jobs:
            job = NewJob(queued.job) if isinstance(queued.job, bytes) else queued.job
            message.jobs.add(queue=queued.queue, job=job.message())
        messages.append(message)
    bounded("units", messages)
    return pb.TogetherRequest(units=messages)


def booked_units(
    request: pb.TogetherRequest, answer: pb.TogetherOutcomes
) -> List[Union[BookedUnit, Error]]:
    found: List[Union[BookedUnit, Error]] = []
    for unit, outcome in zip(request.units, answer.outcomes):
        if outcome.HasField("refused"):
            found.append(refusal(outcome.refused))
            continue
        parts = booked(unit.transfers, outcome.transfers)
        errors = [part for part in parts if isinstance(part, Error)]
        if errors:
            found.append(errors[0])
            continue
        done = [part for part in parts if isinstance(part, Booked)]
        found.append(BookedUnit(done, placed(outcome.placed)))
    return found


def account_message(account: Account) -> pb.NewAccount:
    return pb.NewAccount(
        wallet=account.wallet, asset=account.asset, overdraft=account.overdraft, ceiling=account.ceiling
    )


def opened(answer: pb.Opened) -> List[Union[bool, Error]]:
    return [
        refusal(outcome.refused) if outcome.HasField("refused") else not outcome.already
        for outcome in answer.outcomes
    ]


def change_request(
    wallet: str,
    asset: str,
    overdraft: Optional[bool],
    ceiling: Union[int, None, "NoCeiling"],
    closed: Optional[bool],
) -> pb.ChangeRequest:
    request = pb.ChangeRequest(wallet=wallet, asset=asset, overdraft=overdraft, closed=closed)
    if isinstance(ceiling, NoCeiling):
        request.no_ceiling = True
    elif ceiling is not None:
        request.ceiling = ceiling
    return request


class NoCeiling:
    """The type of `NO_CEILING`."""

    def __repr__(self) -> str:
        return "NO_CEILING"


#: A change that takes an account's ceiling away.
NO_CEILING = NoCeiling()


def balance(message: pb.Balance) -> Balance:
    return Balance(message.posted, message.held, message.available)


def balances(answer: pb.AccountList) -> Dict[str, Balance]:
    return {account.asset: balance(account.balance) for account in answer.accounts}


_DIRECTIONS = {
    "": pb.DIRECTION_UNSET,
    "credit": pb.DIRECTION_CREDIT,
    "debit": pb.DIRECTION_DEBIT,
}


def entries_request(
    wallet: str,
    asset: str,
    start: Optional[Moment],
    end: Optional[Moment],
    direction: str,
    other: str,
    reference: str,
) -> pb.EntriesRequest:
    if direction not in _DIRECTIONS:
        raise ValueError(f"direction is {direction!r}; possible are credit and debit")
    request = pb.EntriesRequest(
        wallet=wallet, asset=asset, direction=_DIRECTIONS[direction], other=other, reference=reference
    )
    if start is not None:
        request.from_ms = moment_ms("start", start)
    if end is not None:
        request.to_ms = moment_ms("end", end)
    return request


def one(results: "List[Union[Booked, Error]]") -> Booked:
    """The result of a request with one transfer."""
    result = results[0]
    if isinstance(result, Error):
        raise result
    return result
