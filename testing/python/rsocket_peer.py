"""rsocket-py as a peer: the routes of the interoperability suites, and what its clients need.

`python rsocket_peer.py [fragment=BYTES] [lease=TTL_MS,REQUESTS]` serves on a free port of 127.0.0.1, prints
"listening ADDRESS", and ends when its standard input does. The routes are listed in testing/README.md.
rsocket-py has no resume, and answers an empty payload where other peers answer none.
"""

import asyncio
import collections
import os
import sys
from datetime import timedelta

from reactivestreams.subscriber import DefaultSubscriber
from rsocket.error_codes import ErrorCode
from rsocket.exceptions import RSocketProtocolError
from rsocket.extensions.authentication import AuthenticationSimple
from rsocket.extensions.authentication_content import AuthenticationContent
from rsocket.extensions.composite_metadata import CompositeMetadata
from rsocket.extensions.helpers import composite, metadata_item, route
from rsocket.extensions.routing import RoutingMetadata
from rsocket.helpers import create_future, create_response
from rsocket.lease import DefinedLease, LeasePublisher
from rsocket.payload import Payload
from rsocket.request_handler import BaseRequestHandler
from rsocket.rsocket_server import RSocketServer
from rsocket.streams.stream_from_async_generator import StreamFromAsyncGenerator
from rsocket.streams.stream_from_generator import StreamFromGenerator
from rsocket.transports.tcp import TransportTCP

NOTE_MIME = b"message/x.stadium.note.v1"
DATA_MIME = b"application/vnd.google.protobuf"
METADATA_MIME = b"message/x.rsocket.composite-metadata.v0"


def request(name, data=b"", *more):
    """A payload for the route `interop/NAME`."""
    data = data.encode() if isinstance(data, str) else data
    return Payload(data, composite(route(f"interop/{name}"), *more))


def note(text):
    """Metadata for a metadata push that leaves a note, "KEY TEXT"."""
    return composite(metadata_item(text.encode(), NOTE_MIME))


def entries(metadata):
    parsed = CompositeMetadata()
    parsed.parse(metadata or b"")
    return parsed.items


def text(data):
    return bytes(data or b"").decode()


def described(metadata):
    """One line an entry, as the route `metadata` answers."""
    lines = []
    for item in entries(metadata):
        if isinstance(item, RoutingMetadata):
            lines.append(f"route {item.tags[0].decode()}")
        elif isinstance(item, AuthenticationContent):
            found = item.authentication
            simple = isinstance(found, AuthenticationSimple)
            shown = f"simple {text(found.username)}:{text(found.password)}" if simple else f"bearer {text(found.token)}"
            lines.append(shown)
        else:
            lines.append(f"{text(item.encoding)} {text(item.content)}")
    return "\n".join(lines)


def pushed_text(metadata):
    """The note in the metadata of a metadata push."""
    return next((text(item.content) for item in entries(metadata) if bytes(item.encoding) == NOTE_MIME), "")


def padded(number, size):
    return str(number).ljust(size, ".")


def failure(code_and_text):
    code, why = code_and_text.split(" ", 1)
    return RSocketProtocolError(ErrorCode(int(code)), why)


class Inbound(DefaultSubscriber):
    """The requester's side of a channel, one payload of credit at a time."""

    def __init__(self):
        super().__init__()
        self.queue = asyncio.Queue()

    def on_subscribe(self, subscription):
        super().on_subscribe(subscription)
        subscription.request(1)

    def on_next(self, value, is_complete=False):
        self.queue.put_nowait(text(value.data))
        if is_complete:
            self.queue.put_nowait(None)
        else:
            self.subscription.request(1)

    def on_complete(self):
        self.queue.put_nowait(None)

    def on_error(self, exception):
        self.queue.put_nowait(None)

    async def each(self):
        while (data := await self.queue.get()) is not None:
            yield data


class Routes(BaseRequestHandler):
    notes = collections.defaultdict(list)
    connections = 0

    def __init__(self):
        self.peer = None

    async def on_setup(self, data_encoding, metadata_encoding, payload):
        if text(payload.data) == "refuse me":
            raise ValueError("refused as asked")
        Routes.connections += 1

    async def on_close(self, rsocket, exception=None):
        Routes.connections -= 1

    async def on_metadata_push(self, payload):
        self.leave(pushed_text(payload.metadata))

    async def request_fire_and_forget(self, payload):
        if self.route(payload) == "note":
            self.leave(text(payload.data))

    async def request_response(self, payload):
        name, data = self.route(payload), text(payload.data) if self.route(payload) != "echo" else payload.data
        match name:
            case "echo":
                return create_response(payload.data)
            case "metadata":
                return create_response(described(payload.metadata).encode())
            case "empty":
                return create_response()
            case "notes":
                return create_response("\n".join(self.notes[data]).encode())
            case "connections":
                return create_response(str(Routes.connections).encode())
            case "never":
                never = create_future()
                never.add_done_callback(lambda done: self.leave(f"{data} cancelled"))
                return never
            case "ask-me":
                return asyncio.ensure_future(self.ask(data))
            case "push-me":
                self.peer.metadata_push(note(data))
                return create_response()
            case "fail":
                raise failure(data)
        raise RSocketProtocolError(ErrorCode.INVALID, "no such route")

    async def ask(self, data):
        answer = await self.peer.request_response(request("echo", data))
        return Payload(b"you said " + bytes(answer.data))

    async def request_stream(self, payload):
        name, data = self.route(payload), text(payload.data)
        match name:
            case "range":
                count, size = map(int, data.split(" "))
                return StreamFromGenerator(
                    lambda: ((Payload(padded(number, size).encode()), number + 1 == count) for number in range(count))
                )
            case "endless":

                async def numbers():
                    number = 0
                    while True:
                        yield Payload(str(number).encode()), False
                        number += 1

                return StreamFromAsyncGenerator(numbers, on_cancel=lambda: self.leave(f"{data} cancelled"))
            case "fail-after":
                count, error = data.split(" ", 1)

                async def then_fail():
                    for number in range(int(count)):
                        yield Payload(str(number).encode()), False
                    # The library drops what is still in its queue when a generator fails.
                    while stream._queue.qsize():
                        await asyncio.sleep(0)
                    raise failure(error)

                stream = StreamFromAsyncGenerator(then_fail)
                return stream
        raise RSocketProtocolError(ErrorCode.INVALID, "no such route")

    async def request_channel(self, payload):
        name, inbound = self.route(payload), Inbound()
        inbound.queue.put_nowait(text(payload.data))
        match name:
            case "channel":

                async def echoes():
                    async for data in inbound.each():
                        yield Payload(f"echo {data}".encode()), False

                return StreamFromAsyncGenerator(echoes), inbound
            case "sum":

                async def total():
                    yield Payload(str(sum([int(data) async for data in inbound.each()])).encode()), True

                return StreamFromAsyncGenerator(total), inbound
        raise RSocketProtocolError(ErrorCode.INVALID, "no such route")

    def leave(self, key_and_text):
        key, _, what = key_and_text.partition(" ")
        self.notes[key].append(what)

    def route(self, payload):
        found = next((item for item in entries(payload.metadata) if isinstance(item, RoutingMetadata)), None)
        return found.tags[0].decode().removeprefix("interop/") if found else ""


class Leases(LeasePublisher):
    """Grants the same lease again each time one has run out."""

    def __init__(self, ttl_ms, requests):
        self.ttl, self.requests = timedelta(milliseconds=ttl_ms), requests

    def subscribe(self, subscriber):
        self.task = asyncio.create_task(self.grant(subscriber))

    async def grant(self, subscriber):
        while True:
            subscriber.on_next(DefinedLease(self.requests, self.ttl))
            await asyncio.sleep(self.ttl.total_seconds())


async def serve(options):
    fragment = int(options["fragment"]) if "fragment" in options else None
    leases = Leases(*map(int, options["lease"].split(","))) if "lease" in options else None

    def session(*streams):
        routes = Routes()
        routes.peer = RSocketServer(
            TransportTCP(*streams),
            handler_factory=lambda: routes,
            lease_publisher=leases,
            fragment_size_bytes=fragment,
        )

    server = await asyncio.start_server(session, "127.0.0.1", 0)
    host, port = server.sockets[0].getsockname()
    print(f"listening {host}:{port}", flush=True)
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)
    os._exit(0)


if __name__ == "__main__":
    asyncio.run(serve(dict(argument.split("=", 1) for argument in sys.argv[1:])))
