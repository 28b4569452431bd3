"""Outcomes of calls that have no answer, as exceptions.

A server's function raises `Busy`, `Rejected`, `Unknown` or `ApplicationError` to refuse a request, and a
caller gets the same exception.
"""

from __future__ import annotations

from typing import Optional, Tuple

#: `(outcome, code, text, retry_after, number)`, as the native module reports a call that failed.
Failure = Tuple[int, str, str, float, int]


class Error(Exception):
    """A call that has no answer. `may_have_happened` is true where the work may have been done."""

    may_have_happened = False
    code: str = ""


class Busy(Error):
    """The service is busy. Nothing happened: send the request again after `retry_after` seconds."""

    def __init__(self, text: str, *, retry_after: float = 1.0) -> None:
        super().__init__(text)
        self.retry_after = retry_after


class _Coded(Error):
    def __init__(self, code: str, text: str) -> None:
        super().__init__(text)
        self.code = code

    def __str__(self) -> str:
        return f"{self.args[0]} ({self.code})"


class Rejected(_Coded):
    """The service will never do it. Nothing happened. `code` is stable, such as `GEO-001`."""


class Unknown(_Coded):
    """The service failed on its way. It may have happened: send the request again with the same id.

    `code` is stable, such as `RPC-007`.
    """

    may_have_happened = True


class ApplicationError(Error):
    """An error of the service's own: `number` is 0x201, or 0x301 to 0xFFFFFFFE."""

    may_have_happened = True

    def __init__(self, number: int, text: str) -> None:
        super().__init__(text)
        self.number = number


class DeadlineExceeded(Error, TimeoutError):
    """The deadline passed. It may have happened."""

    may_have_happened = True


class Unavailable(Error, ConnectionError):
    """No instance could be reached. Nothing happened."""


class ConnectionBroken(Error, ConnectionError):
    """The connection broke during the call. It may have happened."""

    may_have_happened = True


class Cancelled(Error):
    """The caller gave up. It may have happened."""

    may_have_happened = True


class ProtocolError(Error):
    """The service sent something that cannot be understood. It may have happened."""

    may_have_happened = True


def of_failure(failure: Failure) -> Error:
    """The exception for a call that failed."""
    outcome, code, text, retry_after, number = failure
    if outcome == 1:
        return Busy(text, retry_after=retry_after)
    if outcome == 2:
        return Rejected(code, text)
    if outcome == 3:
        return Unknown(code, text)
    if outcome == 4:
        return ApplicationError(number, text)
    plain = {5: DeadlineExceeded, 6: Unavailable, 7: ConnectionBroken, 8: Cancelled}
    return plain.get(outcome, ProtocolError)(text)


def to_refusal(error: BaseException) -> Optional[Failure]:
    """The refusal for an exception of a server's function; none where it is no refusal."""
    if isinstance(error, Busy):
        return (1, "", str(error.args[0]), error.retry_after, 0)
    if isinstance(error, Unknown):
        return (3, error.code, str(error.args[0]), 0.0, 0)
    if isinstance(error, Rejected):
        return (2, error.code, str(error.args[0]), 0.0, 0)
    if isinstance(error, ApplicationError):
        return (4, "", str(error.args[0]), 0.0, error.number)
    return None
