"""Stadium's RPC for Python: clients and servers for asyncio and for threads.

`stadium.aio.Client` is for asyncio, `stadium.Client` for threads. `stadium.Service` has the functions of a
service, `stadium.Server` runs in an event loop, and `stadium.serve` runs until a signal.
"""

from . import aio, audiences, push, queue, wallet
from ._blocking import Channel, Client, Stream
from ._errors import (
    ApplicationError,
    Busy,
    Cancelled,
    ConnectionBroken,
    DeadlineExceeded,
    Error,
    ProtocolError,
    Rejected,
    Unavailable,
    Unknown,
)
from ._methods import Method, channel, one_way, stream, unary
from ._server import Server, serve
from ._service import Call, Service
from ._settings import Admission, ClientSettings, ClientTls, Discovery, ServerSettings, ServerTls

__all__ = [
    "Admission",
    "ApplicationError",
    "Busy",
    "Call",
    "Cancelled",
    "Channel",
    "Client",
    "ClientSettings",
    "ClientTls",
    "ConnectionBroken",
    "DeadlineExceeded",
    "Discovery",
    "Error",
    "Method",
    "ProtocolError",
    "Rejected",
    "Server",
    "ServerSettings",
    "ServerTls",
    "Service",
    "Stream",
    "Unavailable",
    "Unknown",
    "aio",
    "channel",
    "one_way",
    "serve",
    "stream",
    "unary",
]
