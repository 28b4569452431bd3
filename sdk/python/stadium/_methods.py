"""Methods: a route, the types of its messages, and how they go.

A method is a constant that a client and a service share. Messages are Protocol Buffers classes, or
`bytes` for methods whose messages the caller encodes itself.
"""

from __future__ import annotations

from typing import Any, Callable, Generic, Type, TypeVar

Q = TypeVar("Q")
A = TypeVar("A")


class Method(Generic[Q, A]):
    """The base of all methods. Make one by `unary`, `one_way`, `stream` or `channel`."""

    interaction: int = 0

    def __init__(self, route: str, request: Type[Q], answer: Type[A], *, idempotent: bool = False) -> None:
        self.route = route
        self.request = request
        self.answer = answer
        self.idempotent = idempotent
        self.encode_request: Callable[[Q], bytes] = _encoder(request)
        self.decode_request: Callable[[bytes], Q] = _decoder(request)
        self.encode_answer: Callable[[A], bytes] = _encoder(answer)
        self.decode_answer: Callable[[bytes], A] = _decoder(answer)

    @property
    def service(self) -> str:
        """The first half of the route."""
        return self.route.partition("/")[0]

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.route}>"


class Unary(Method[Q, A]):
    """One request, one answer."""


class OneWay(Method[Q, bytes]):
    """One request, no answer."""

    interaction = 1


class Stream(Method[Q, A]):
    """One request, a stream of answers."""

    interaction = 2


class Channel(Method[Q, A]):
    """A stream of requests, a stream of answers."""

    interaction = 3


def unary(route: str, request: Type[Q], answer: Type[A], *, idempotent: bool = False) -> Unary[Q, A]:
    """A method with one request and one answer. An idempotent one may be tried again and hedged."""
    return Unary(route, request, answer, idempotent=idempotent)


def one_way(route: str, request: Type[Q], *, idempotent: bool = False) -> OneWay[Q]:
    """A method with one request and no answer."""
    return OneWay(route, request, bytes, idempotent=idempotent)


def stream(route: str, request: Type[Q], answer: Type[A], *, idempotent: bool = False) -> Stream[Q, A]:
    """A method with one request and a stream of answers."""
    return Stream(route, request, answer, idempotent=idempotent)


def channel(route: str, request: Type[Q], answer: Type[A], *, idempotent: bool = False) -> Channel[Q, A]:
    """A method with streams both ways."""
    return Channel(route, request, answer, idempotent=idempotent)


def _encoder(message: Type[Any]) -> Callable[[Any], bytes]:
    if issubclass(message, bytes):
        return bytes
    serialize = getattr(message, "SerializeToString", None)
    if serialize is None:
        raise TypeError(f"{message.__name__} is neither a Protocol Buffers message nor bytes")

    def encode(value: Any) -> bytes:
        if not isinstance(value, message):
            raise TypeError(f"a {message.__name__} is needed, not {type(value).__name__}")
        encoded: bytes = serialize(value)
        return encoded

    return encode


def _decoder(message: Type[Any]) -> Callable[[bytes], Any]:
    if issubclass(message, bytes):
        return bytes
    decode: Callable[[bytes], Any] = message.FromString
    return decode
