"""Trace contexts: from the current span of a caller to the function of a service."""

import asyncio
import subprocess
import sys

import pytest

import stadium
from stadium import _tracing
from words import WIDE

ASK = stadium.unary("traced/Ask", bytes, bytes)
ASK_THREAD = stadium.unary("traced/AskThread", bytes, bytes)
COUNT = stadium.stream("traced/Count", bytes, bytes)

TRACEPARENT = "00-0102030405060708090a0b0c0d0e0f10-1112131415161718-01"


def entry(trace_and_span, flags=0xA8):
    return bytes([0xFD, 0, 0, 1 + len(trace_and_span), flags]) + trace_and_span


def test_the_entry_is_read_as_the_contract_has_it():
    ids = bytes(range(1, 25))
    assert _tracing.traceparent(entry(ids)) == TRACEPARENT
    assert _tracing.traceparent(entry(ids, 0x98)) == TRACEPARENT[:-2] + "00"
    # Behind others, by its name, with 64 bits, with a parent.
    name = b"message/x.rsocket.tracing-zipkin.v0"
    named = bytes([len(name) - 1]) + name + bytes([0, 0, 25, 0xA8]) + ids
    other = b"\xfe\x00\x00\x04\x03a/b" + b"\x02abc\x00\x00\x01x"
    assert _tracing.traceparent(other + named) == TRACEPARENT
    assert _tracing.traceparent(entry(ids[:16], 0xA0)) == "00-00000000000000000102030405060708-090a0b0c0d0e0f10-01"
    assert _tracing.traceparent(entry(ids + b"12345678", 0xAC)) == TRACEPARENT
    for broken in (b"", b"\xfd", entry(ids)[:-1], entry(ids[:-1]), entry(b"", 0x20), entry(bytes(24)), b"\x7f\x00"):
        assert _tracing.traceparent(broken) is None


def test_a_span_of_the_caller_is_the_context_of_the_function():
    trace = pytest.importorskip("opentelemetry.trace")
    pytest.importorskip("opentelemetry.sdk.trace")
    from opentelemetry.sdk.trace import TracerProvider

    tracer = TracerProvider().get_tracer("test")
    service = stadium.Service("traced")

    def seen(call):
        context = trace.get_current_span().get_span_context()
        return f"{context.trace_id:032x} {context.span_id:016x} {context.is_remote} {call.traceparent}".encode()

    @service.on(ASK)
    async def ask(request: bytes, call: stadium.Call) -> bytes:
        return seen(call)

    @service.on(ASK_THREAD)
    def ask_thread(request: bytes, call: stadium.Call) -> bytes:
        return seen(call)

    @service.on(COUNT)
    def count(request: bytes, call: stadium.Call):
        yield seen(call)

    async def story():
        async with stadium.Server(service, listen="127.0.0.1:0", admission=WIDE) as server:
            async with stadium.aio.Client(*server.addresses) as client:
                assert (await client.call(ASK, b"")).endswith(b"False None")
                with tracer.start_as_current_span("caller") as span:
                    own = span.get_span_context()
                    calls = [await client.call(ASK, b""), await client.call(ASK_THREAD, b"")]
                    calls += [message async for message in client.stream(COUNT, b"")]
                parent = f"00-{own.trace_id:032x}-{own.span_id:016x}-01"
                wanted = f"{own.trace_id:032x} {own.span_id:016x} True {parent}".encode()
                assert calls == [wanted] * 3
                # Nothing of it is left for the next request.
                assert (await client.call(ASK_THREAD, b"")).endswith(b"False None")

    asyncio.run(asyncio.wait_for(story(), 30))


def test_nothing_of_opentelemetry_is_imported():
    code = "import sys, stadium; stadium.Client('127.0.0.1:1').close(); print('opentelemetry' in str(list(sys.modules)))"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd="/")
    assert ran.stdout.strip() == "False", ran.stderr
