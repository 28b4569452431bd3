"""Settings of clients and servers: keyword arguments, written as the JSON that the native module reads."""

from __future__ import annotations

import json
from dataclasses import dataclass, field, fields
from typing import Any, Dict, Optional, Sequence


@dataclass(frozen=True)
class Discovery:
    """Where instances are found: `etcd://HOST:PORT,..` or `zk://HOST:PORT,..`."""

    url: str
    prefix: Optional[str] = None
    user: Optional[str] = None
    password: Optional[str] = field(default=None, repr=False)
    session_ttl: Optional[float] = None


@dataclass(frozen=True)
class ClientTls:
    """TLS towards services; certificates and keys are PEM texts."""

    authorities: str
    server_name: str
    certificate: Optional[str] = None
    key: Optional[str] = field(default=None, repr=False)


@dataclass(frozen=True)
class ServerTls:
    """TLS of the addresses of a server; certificates and keys are PEM texts."""

    certificate: str
    key: str = field(repr=False)
    client_authorities: Optional[str] = None
    client_certificate_required: bool = False


@dataclass(frozen=True)
class Admission:
    """Limits of the requests that are worked on at once."""

    concurrency_initial: Optional[int] = None
    concurrency_min: Optional[int] = None
    concurrency_max: Optional[int] = None
    queue_max: Optional[int] = None


@dataclass(frozen=True)
class ClientSettings:
    """Settings of a client. Times are seconds. Defaults and bounds are those of the C ABI's page."""

    instances: Sequence[str] = ()
    discovery: Optional[Discovery] = None
    version: Optional[str] = None
    deadline: Optional[float] = None
    connections_per_instance: Optional[int] = None
    subset: Optional[int] = None
    zone: Optional[str] = None
    attempts: Optional[int] = None
    hedging: Optional[bool] = None
    resumption: Optional[bool] = None
    leases: Optional[bool] = None
    waiting_max: Optional[int] = None
    unreachable_grace: Optional[float] = None
    payload_bytes_max: Optional[int] = None
    busy_poll_us: Optional[int] = None
    bearer: Optional[str] = field(default=None, repr=False)
    tls: Optional[ClientTls] = None
    name: Optional[str] = None


@dataclass(frozen=True)
class ServerSettings:
    """Settings of a server. Times are seconds. Defaults and bounds are those of the C ABI's page."""

    listen: Sequence[str] = ("127.0.0.1:7800",)
    tls: Optional[ServerTls] = None
    loops: Optional[int] = None
    busy_poll_us: Optional[int] = None
    deadline: Optional[float] = None
    deadline_max: Optional[float] = None
    admission: Optional[Admission] = None
    leases: Optional[bool] = None
    payload_bytes_max: Optional[int] = None
    connections_max: Optional[int] = None
    discovery: Optional[Discovery] = None
    advertise: Optional[str] = None
    zone: Optional[str] = None
    weight: Optional[int] = None
    operators_bearer: Optional[str] = field(default=None, repr=False)
    quiesce_within: Optional[float] = None


#: Fields in seconds here, in milliseconds there.
_SECONDS = {"deadline", "deadline_max", "unreachable_grace", "quiesce_within", "session_ttl"}


def to_json(settings: Any) -> str:
    """The settings as the native module reads them; what is not set is left out."""
    return json.dumps(_object(settings))


def _object(settings: Any) -> Dict[str, Any]:
    written: Dict[str, Any] = {}
    for each in fields(settings):
        value = getattr(settings, each.name)
        if value is None:
            continue
        if isinstance(value, (int, float)) and value < 0:
            raise ValueError(f"{each.name} is {value}, and cannot be negative")
        if each.name in _SECONDS:
            written[f"{each.name}_ms"] = round(value * 1000)
        elif hasattr(value, "__dataclass_fields__"):
            written[each.name] = _object(value)
        elif isinstance(value, (list, tuple)):
            written[each.name] = list(value)
        else:
            written[each.name] = value
    return written
