"""The service that tests call."""

import asyncio
import threading
import time
from typing import AsyncIterator, Iterator

from google.protobuf.wrappers_pb2 import StringValue, UInt32Value

import stadium

ECHO = stadium.unary("words/Echo", StringValue, StringValue, idempotent=True)
SLOW = stadium.unary("words/Slow", StringValue, StringValue)
PLAIN = stadium.unary("words/Plain", StringValue, StringValue)
REFUSE = stadium.unary("words/Refuse", StringValue, StringValue)
TELL = stadium.one_way("words/Tell", StringValue)
COUNT = stadium.stream("words/Count", UInt32Value, UInt32Value)
COUNT_PLAIN = stadium.stream("words/CountPlain", UInt32Value, UInt32Value)
TALK = stadium.channel("words/Talk", StringValue, StringValue)
DEAF = stadium.channel("words/Deaf", bytes, bytes)


#: A limit that does not follow latency: the machine of a test may be busy.
WIDE = stadium.Admission(concurrency_initial=10_000, concurrency_min=10_000)


class Words:
    """The service, with what it has seen."""

    def __init__(self) -> None:
        self.told: "list[str]" = []
        self.begun = 0
        self.cancelled = 0
        self.produced = 0
        self.open = asyncio.Event()
        self.release = threading.Event()
        self.service = service = stadium.Service("words")

        @service.on(ECHO)
        async def echo(request: StringValue, call: stadium.Call) -> StringValue:
            return request

        @service.on(SLOW)
        async def slow(request: StringValue, call: stadium.Call) -> StringValue:
            self.begun += 1
            try:
                await asyncio.sleep(60)
            except asyncio.CancelledError:
                self.cancelled += 1
                raise
            return request

        @service.on(PLAIN)
        def plain(request: StringValue, call: stadium.Call) -> StringValue:
            self.begun += 1
            if request.value == "wait":
                while not self.release.wait(0.01):
                    if call.cancelled:
                        self.cancelled += 1
                        break
            name = threading.current_thread().name
            return StringValue(value=f"{request.value} on {name.rpartition('_')[0]}")

        @service.on(REFUSE)
        async def refuse(request: StringValue, call: stadium.Call) -> StringValue:
            refusals = {
                "busy": stadium.Busy("full", retry_after=0.25),
                "rejected": stadium.Rejected("WORDS-001", "not this word"),
                "unknown": stadium.Unknown("WORDS-002", "it broke"),
                "application": stadium.ApplicationError(0x301, "their own"),
            }
            raise refusals.get(request.value, KeyError("s3cret"))

        @service.on(TELL)
        async def tell(request: StringValue, call: stadium.Call) -> None:
            self.told.append(request.value)

        @service.on(COUNT)
        async def count(request: UInt32Value, call: stadium.Call) -> AsyncIterator[UInt32Value]:
            try:
                for number in range(request.value):
                    self.produced = number + 1
                    yield UInt32Value(value=number)
            finally:
                self.cancelled += self.produced < request.value

        @service.on(COUNT_PLAIN)
        def count_plain(request: UInt32Value, call: stadium.Call) -> Iterator[UInt32Value]:
            for number in range(request.value):
                yield UInt32Value(value=number)

        @service.on(TALK)
        async def talk(requests: AsyncIterator[StringValue], call: stadium.Call) -> AsyncIterator[StringValue]:
            async for request in requests:
                yield StringValue(value=request.value.upper())

        @service.on(DEAF)
        async def deaf(requests: AsyncIterator[bytes], call: stadium.Call) -> AsyncIterator[bytes]:
            await self.open.wait()
            taken = 0
            async for _ in requests:
                taken += 1
            yield str(taken).encode()


def text(value: str) -> StringValue:
    return StringValue(value=value)


def number(value: int) -> UInt32Value:
    return UInt32Value(value=value)


async def eventually(what: str, so: "object") -> None:
    """Waits until it is so."""
    deadline = time.monotonic() + 20.0
    while not so():  # type: ignore[operator]
        assert time.monotonic() < deadline, f"not within 20 s: {what}"
        await asyncio.sleep(0.005)
