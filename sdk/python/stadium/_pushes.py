"""Pushes, their options and the requests of the service `push`: the same for both kinds of clients."""

from __future__ import annotations

import datetime
import json
import uuid
from dataclasses import dataclass
from typing import Any, List, Mapping, Optional, Sequence, Tuple, Union

from ._errors import Busy, Error, Rejected, Unknown
from ._times import Moment, moment_ms, span_ms
from .v1 import push_pb2 as pb

#: A selector of devices: an object as docs/audiences.md has them, or "all".
Selector = Union[str, Mapping[str, Any]]

_QUIET_HOURS = {
    "wait": pb.QUIET_HOURS_WAIT,
    "skip": pb.QUIET_HOURS_SKIP,
    "ignore": pb.QUIET_HOURS_IGNORE,
}


@dataclass(frozen=True)
class Words:
    """A notification's texts, with templates such as `{{first_name|Hello}}`. What is None is not set."""

    title: Optional[str] = None
    body: Optional[str] = None
    #: For the application: anything that JSON has.
    data: Any = None

    def message(self) -> pb.Words:
        """The message of the contract."""
        data = None if self.data is None else json.dumps(self.data)
        return pb.Words(title=self.title, body=self.body, data=data)


@dataclass(frozen=True)
class Push:
    """A push: for whom, what it says, and how it goes. Times are seconds. docs/push.md has the rules.

    Exactly one of `device`, `saved` (a saved audience) and `selector` says for whom it is. A notification
    has a `title`, a `body` or `data`, and variants by platform and language; or `message` is passed through
    as it is.
    """

    device: Optional[str] = None
    saved: Optional[str] = None
    selector: Optional[Selector] = None
    title: Optional[str] = None
    body: Optional[str] = None
    data: Any = None
    platforms: Optional[Mapping[str, Words]] = None
    languages: Optional[Mapping[str, Words]] = None
    message: Optional[bytes] = None
    #: Of a `message`: told to MQTT 5 devices, as the user properties are.
    content_type: str = ""
    user_properties: Sequence[Tuple[str, str]] = ()
    #: A device that comes later does not get it; none: as the app's settings say.
    expiry: Optional[float] = None
    #: 0 to 9; the server's default is 4.
    priority: Optional[int] = None
    #: A newer push with this key takes the place of an older one that a device has not got yet.
    collapse_key: str = ""
    #: The pace: so many devices a second, or evenly over so long. Neither: as fast as it can.
    per_second: Optional[int] = None
    over: Optional[float] = None
    #: Devices that had so many pushes within so many seconds are left out.
    cap: Optional[Tuple[int, float]] = None
    #: `wait`, `skip` or `ignore`.
    quiet_hours: str = "wait"
    #: QoS 0 instead of QoS 1.
    at_most_once: bool = False
    #: Per cent of the audience that is left out on purpose, 0 to 90.
    holdout: int = 0
    #: When it starts: a moment, or a `datetime` without a time zone for each device's own clock.
    at: Union[Moment, datetime.datetime, None] = None

    def to_message(self, app: str, id: uuid.UUID) -> pb.NewPush:
        """The message of the contract. Raises `ValueError` where the fields do not fit together."""
        push = pb.NewPush(app=app, id=id.bytes, options=self._options())
        if sum(each is not None for each in (self.device, self.saved, self.selector)) != 1:
            raise ValueError("a push is for a device, a saved audience or a selector: exactly one")
        if self.device is not None:
            push.device = self.device
        elif self.saved is not None:
            push.saved = self.saved
        else:
            push.selector = json.dumps(self.selector)
        self._say(push)
        if isinstance(self.at, datetime.datetime) and self.at.tzinfo is None:
            push.local_s = round(self.at.replace(tzinfo=datetime.timezone.utc).timestamp())
        elif self.at is not None:
            push.at_ms = moment_ms("at", self.at)
        return push

    def _say(self, push: pb.NewPush) -> None:
        words = Words(self.title, self.body, self.data)
        if self.message is None:
            if words == Words():
                raise ValueError("a push has a title, a body, data or a message")
            push.notification.words.CopyFrom(words.message())
            for variants, into in (
                (self.platforms, push.notification.platforms),
                (self.languages, push.notification.languages),
            ):
                for of, variant in (variants or {}).items():
                    into.add(of=of, words=variant.message())
            return
        if words != Words() or self.platforms or self.languages:
            raise ValueError("a push is a notification or a message, not both")
        push.message.payload = self.message
        push.message.content_type = self.content_type
        for name, value in self.user_properties:
            push.message.user_properties.add(name=name, value=value)

    def _options(self) -> pb.PushOptions:
        if self.quiet_hours not in _QUIET_HOURS:
            raise ValueError(f"quiet_hours is {self.quiet_hours!r}; possible are {', '.join(_QUIET_HOURS)}")
        if self.per_second is not None and self.over is not None:
            raise ValueError("a push has per_second or over, not both")
        options = pb.PushOptions(
            priority=self.priority,
            collapse_key=self.collapse_key,
            quiet_hours=_QUIET_HOURS[self.quiet_hours],
            at_most_once=self.at_most_once,
            holdout_percent=self.holdout,
        )
        if self.expiry is not None:
            options.expiry_ms = span_ms("expiry", self.expiry)
        if self.per_second is not None:
            options.per_second = self.per_second
        if self.over is not None:
            options.over_ms = span_ms("over", self.over)
        if self.cap is not None:
            options.cap.pushes, options.cap.within_ms = self.cap[0], span_ms("cap", self.cap[1])
        return options


@dataclass(frozen=True)
class Sent:
    """A push that was accepted. A duplicate had been accepted before: nothing happened now."""

    id: uuid.UUID
    duplicate: bool = False


@dataclass(frozen=True)
class DeviceChanged:
    """What became of the change of one device."""

    device: str
    #: It is new.
    registered: bool = False
    error: Optional[Error] = None

    def check(self) -> "DeviceChanged":
        """Raises the error, where there is one."""
        if self.error is not None:
            raise self.error
        return self


#: What becomes different of a device, by the fields of docs/audiences.md; none of it registers the device.
Change = Mapping[str, Any]


def change_message(device: str, change: Optional[Change]) -> pb.DeviceChange:
    return pb.DeviceChange(device=device, changes=json.dumps(dict(change)) if change else "")


def changed(
    request: Sequence[pb.DeviceChange], answer: pb.DeviceOutcomes
) -> List[DeviceChanged]:
    return [_changed(change.device, outcome) for change, outcome in zip(request, answer.outcomes)]


def _changed(device: str, outcome: pb.DeviceOutcome) -> DeviceChanged:
    if not outcome.HasField("refused"):
        return DeviceChanged(device, outcome.registered)
    refused = outcome.refused
    error: Error
    if refused.may_have_happened:
        error = Unknown(refused.code, refused.reason)
    elif refused.retry_after_ms:
        error = Busy(f"{refused.reason} ({refused.code})", retry_after=refused.retry_after_ms / 1000)
    else:
        error = Rejected(refused.code, refused.reason)
    return DeviceChanged(device, error=error)
