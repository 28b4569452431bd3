"""Stadium for Python: the queues, wallets and pushes of a node, and service RPC.

`stadium.Client` is for threads, `stadium.aio.Client` for asyncio. Over one of them `stadium.queue.Queue`,
`stadium.wallet.Wallets`, `stadium.push.Pushes` and `stadium.audiences.Devices` ask a node, and
`stadium.Worker` works on a queue. `stadium.Device` is a device. `stadium.Service` has the functions of a
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
from ._jobs import Job
from ._key import ApiKey
from ._methods import Method, channel, one_way, stream, unary
from ._server import Server, serve
from ._service import Call, Service
from ._settings import Admission, ClientSettings, ClientTls, Discovery, ServerSettings, ServerTls
from .device import Device
from .worker import Bury, Retry, Worker

__all__ = [
    "Admission",
    "ApiKey",
    "ApplicationError",
    "Bury",
    "Busy",
    "Call",
    "Cancelled",
    "Channel",
    "Client",
    "ClientSettings",
    "ClientTls",
    "ConnectionBroken",
    "DeadlineExceeded",
    "Device",
    "Discovery",
    "Error",
    "Job",
    "Method",
    "ProtocolError",
    "Rejected",
    "Retry",
    "Server",
    "ServerSettings",
    "ServerTls",
    "Service",
    "Stream",
    "Unavailable",
    "Unknown",
    "Worker",
    "aio",
    "audiences",
    "channel",
    "one_way",
    "push",
    "queue",
    "serve",
    "stream",
    "unary",
    "wallet",
]
