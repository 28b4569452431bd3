"""The clients of the Python rows: one cell, by one library; prints one line of JSON.

`client.py LIBRARY --connect HOST:PORT --inflight-total N --elements N --seconds S --warm S`, with one connection.
Libraries that have an asyncio API are driven by so many coroutines, each of which calls, waits, and calls again.
A latency is from before a request is made until its answer is decoded and its id compared. `protobuf` makes, encodes
and decodes a message, and calls nobody.
"""

import argparse
import array
import asyncio
import json
import threading
import time

from echo_pb2 import Element, Sample

ROUTE = "echo/Echo"
#: As long as the other languages' clients wait.
STALL = 30.0


class Span:
    """What counts: the calls that are answered in it."""

    def __init__(self, arguments):
        self._arguments = arguments
        self.begins = self.ends = 0.0
        self.latencies = array.array("d")
        self.busy = 0
        self._cpu = None
        self._used = 0.0

    def start(self):
        """The first call is about to be made."""
        self.begins = time.perf_counter() + self._arguments.warm
        self.ends = self.begins + self._arguments.seconds

    def answered(self, started, is_ok=True):
        """Counts an answer; whether another call may follow."""
        now = time.perf_counter()
        if now <= self.begins:
            return True
        if self._cpu is None:
            self._cpu = time.process_time()
        if now > self.ends:
            self._used = self._used or time.process_time() - self._cpu
            return False
        if is_ok:
            self.latencies.append(now - started)
        else:
            self.busy += 1
        return True

    def result(self):
        seconds = self.ends - self.begins
        ordered = sorted(self.latencies)
        if not ordered:
            raise SystemExit("no call was answered in the span")

        def quantile(share):
            return ordered[min(int(share * len(ordered)), len(ordered) - 1)] * 1e6

        return {
            "per_second": len(ordered) / seconds,
            "p50_us": quantile(0.5),
            "p99_us": quantile(0.99),
            "mean_us": sum(ordered) / len(ordered) * 1e6,
            "client_cpu": self._used / seconds,
            "busy_per_second": self.busy / seconds,
            "failed": 0,
        }


class Samples:
    """Makes the message: 16 bytes, and 16 for each element."""

    def __init__(self, elements):
        self._elements = [Element(value=nth, weight=nth) for nth in range(1, elements + 1)]
        size = self.make(1).ByteSize()
        if size != 16 + 16 * elements:
            raise SystemExit(f"a sample of {size} bytes")

    def make(self, number):
        return Sample(id=number, elements=self._elements, source=7, kind=1)


def check(number, answer):
    if answer.id != number:
        raise SystemExit(f"asked {number}, got the answer of {answer.id}")


async def window(call, arguments, span, busy=()):
    """So many coroutines that call one after the other."""
    samples = Samples(arguments.elements)
    numbers = iter(range(1, 1 << 62))
    span.start()

    async def caller():
        goes_on = True
        while goes_on:
            started = time.perf_counter()
            number = next(numbers)
            try:
                check(number, await call(samples.make(number)))
            except busy:
                goes_on = span.answered(started, is_ok=False)
            else:
                goes_on = span.answered(started)

    callers = asyncio.gather(*(caller() for _ in range(arguments.inflight_total)))
    await asyncio.wait_for(callers, arguments.warm + arguments.seconds + STALL)


async def by_stadium(arguments, span):
    import stadium

    echo = stadium.unary(ROUTE, Sample, Sample)
    async with stadium.aio.Client(arguments.connect) as client:
        await window(lambda sample: client.call(echo, sample), arguments, span, stadium.Busy)


async def by_rsocket(arguments, span):
    from rsocket.extensions.helpers import composite, route
    from rsocket.extensions.mimetypes import WellKnownMimeTypes
    from rsocket.helpers import single_transport_provider
    from rsocket.payload import Payload
    from rsocket.rsocket_client import RSocketClient
    from rsocket.transports.tcp import TransportTCP

    host, port = arguments.connect.rsplit(":", 1)
    transport = single_transport_provider(TransportTCP(*await asyncio.open_connection(host, int(port))))
    metadata = composite(route(ROUTE))
    kind = WellKnownMimeTypes.MESSAGE_RSOCKET_COMPOSITE_METADATA
    async with RSocketClient(transport, metadata_encoding=kind) as client:

        async def call(sample):
            answer = await client.request_response(Payload(sample.SerializeToString(), metadata))
            return Sample.FromString(answer.data)

        await window(call, arguments, span)


async def by_grpcio_aio(arguments, span):
    import grpc
    from echo_pb2_grpc import EchoStub

    async with grpc.aio.insecure_channel(arguments.connect) as channel:
        await window(EchoStub(channel).Echo, arguments, span)


def by_grpcio_futures(arguments, span):
    """Each answered call is followed by the next, on the thread of grpcio that brings the answers."""
    import grpc
    from echo_pb2_grpc import EchoStub

    samples = Samples(arguments.elements)
    numbers = iter(range(1, 1 << 62))
    ended = threading.Semaphore(0)
    errors = []
    with grpc.insecure_channel(arguments.connect) as channel:
        echo = EchoStub(channel).Echo

        def call():
            started = time.perf_counter()
            number = next(numbers)

            def done(future):
                try:
                    check(number, future.result())
                    if span.answered(started):
                        call()
                        return
                except BaseException as error:
                    errors.append(error)
                ended.release()

            echo.future(samples.make(number)).add_done_callback(done)

        span.start()
        for _ in range(arguments.inflight_total):
            call()
        until = span.ends + STALL
        for _ in range(arguments.inflight_total):
            if not ended.acquire(timeout=max(until - time.perf_counter(), 0.0)):
                raise SystemExit("stalled")
    if errors:
        raise SystemExit(f"a call failed: {errors[0]}")


def by_protobuf(arguments, span):
    samples = Samples(arguments.elements)
    number = 0
    span.start()
    goes_on = True
    while goes_on:
        started = time.perf_counter()
        number += 1
        check(number, Sample.FromString(samples.make(number).SerializeToString()))
        goes_on = span.answered(started)


LIBRARIES = {
    "stadium": by_stadium,
    "rsocket": by_rsocket,
    "grpcio-aio": by_grpcio_aio,
    "grpcio-futures": by_grpcio_futures,
    "protobuf": by_protobuf,
}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("library", choices=LIBRARIES)
    parser.add_argument("--connect")
    parser.add_argument("--connections", type=int, default=1, choices=[1])
    parser.add_argument("--inflight-total", type=int, default=1)
    parser.add_argument("--elements", type=int, required=True)
    parser.add_argument("--seconds", type=float, required=True)
    parser.add_argument("--warm", type=float, required=True)
    arguments = parser.parse_args()
    run, span = LIBRARIES[arguments.library], Span(arguments)
    if asyncio.iscoroutinefunction(run):
        asyncio.run(run(arguments, span))
    else:
        run(arguments, span)
    print(json.dumps(span.result()))


if __name__ == "__main__":
    main()
