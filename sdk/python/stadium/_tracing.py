"""Trace contexts of OpenTelemetry in the metadata of calls.

A call carries the ids of the current span where the program uses OpenTelemetry; nothing is imported
otherwise. The entry is `message/x.rsocket.tracing-zipkin.v0`: the trace id, the span id and whether the
trace is sampled. A trace state has no place in it.
"""

from __future__ import annotations

import sys
from typing import Any, Iterator, Optional, Tuple

_TRACING = b"message/x.rsocket.tracing-zipkin.v0"
_TRACING_ID = 0x80 | 0x7D
_IDS, _DEBUG, _SAMPLED, _NOT_SAMPLED, _LONG = 0x80, 0x40, 0x20, 0x10, 0x08


def current() -> bytes:
    """The metadata entry of the current span; empty where there is none."""
    trace = sys.modules.get("opentelemetry.trace")
    if trace is None:
        return b""
    context = trace.get_current_span().get_span_context()
    if not context.is_valid:
        return b""
    flags = _IDS | _LONG | (_SAMPLED if context.trace_flags.sampled else _NOT_SAMPLED)
    ids: bytes = context.trace_id.to_bytes(16, "big") + context.span_id.to_bytes(8, "big")
    return bytes([_TRACING_ID, 0, 0, 25, flags]) + ids


def traceparent(metadata: bytes) -> Optional[str]:
    """The trace of a request as W3C's `traceparent`; none where it carries none."""
    found = _ids(metadata)
    if found is None:
        return None
    trace, span, sampled = found
    return f"00-{trace:032x}-{span:016x}-{int(sampled):02x}"


def context_of(metadata: bytes) -> Any:
    """A context of OpenTelemetry whose span is the caller's; none where there is none."""
    trace = sys.modules.get("opentelemetry.trace")
    found = _ids(metadata) if trace is not None else None
    if trace is None or found is None:
        return None
    trace_id, span_id, sampled = found
    span = trace.SpanContext(trace_id, span_id, is_remote=True, trace_flags=trace.TraceFlags(int(sampled)))
    return trace.set_span_in_context(trace.NonRecordingSpan(span))


def attach(metadata: bytes) -> None:
    """Makes the caller's span the current one of this task or `contextvars` context."""
    context = context_of(metadata)
    if context is not None:
        from opentelemetry.context import attach as attach_context

        attach_context(context)


def _ids(metadata: bytes) -> Optional[Tuple[int, int, bool]]:
    for kind, content in _entries(metadata):
        if kind != _TRACING or not content or not content[0] & _IDS:
            continue
        wide = 16 if content[0] & _LONG else 8
        if len(content) < 1 + wide + 8:
            return None
        trace = int.from_bytes(content[1 : 1 + wide], "big")
        span = int.from_bytes(content[1 + wide : 9 + wide], "big")
        sampled = bool(content[0] & (_SAMPLED | _DEBUG))
        return (trace, span, sampled) if trace and span else None
    return None


def _entries(metadata: bytes) -> Iterator[Tuple[bytes, bytes]]:
    """The entries of composite metadata, as MIME type and content; a malformed one ends them."""
    at = 0
    while at < len(metadata):
        first = metadata[at]
        at += 1
        if first & 0x80:
            kind = _TRACING if first == _TRACING_ID else b""
        else:
            kind = metadata[at : at + first + 1]
            at += first + 1
        length = int.from_bytes(metadata[at : at + 3], "big")
        content = metadata[at + 3 : at + 3 + length]
        if at + 3 > len(metadata) or len(content) < length:
            return
        yield kind, content
        at += 3 + length
