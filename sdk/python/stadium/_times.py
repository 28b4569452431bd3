"""Seconds and moments of Python as the milliseconds of the contracts."""

from __future__ import annotations

import datetime
from typing import Optional, Union

#: A moment: a `datetime` with a time zone, or seconds since 1970-01-01T00:00:00Z.
Moment = Union[datetime.datetime, float]


def span_ms(name: str, seconds: float) -> int:
    """A span. Anything above zero is at least a millisecond: 0 often means "not set"."""
    if not 0 <= seconds < 1e12:
        raise ValueError(f"{name} is {seconds}, and must be at least 0 seconds")
    return max(1, round(seconds * 1000)) if seconds else 0


def optional_ms(name: str, seconds: Optional[float]) -> Optional[int]:
    """A span that may be left out."""
    return None if seconds is None else span_ms(name, seconds)


def moment_ms(name: str, moment: Moment) -> int:
    """A moment."""
    if isinstance(moment, datetime.datetime):
        if moment.tzinfo is None:
            raise ValueError(f"{name} is {moment}, which has no time zone")
        moment = moment.timestamp()
    return span_ms(name, moment)


def of_ms(milliseconds: int) -> datetime.datetime:
    """A moment as a `datetime` in UTC."""
    return datetime.datetime.fromtimestamp(milliseconds / 1000, datetime.timezone.utc)
