"""Services: functions for methods. They may be plain, or coroutines; streams are generators."""

from __future__ import annotations

from typing import (
    Any,
    AsyncIterator,
    Awaitable,
    Callable,
    Dict,
    Generic,
    Iterator,
    List,
    Optional,
    Tuple,
    TypeVar,
    Union,
    overload,
)

from . import _stadium
from ._methods import Channel, Method, OneWay, Stream, Unary
from ._tracing import traceparent

Q = TypeVar("Q")
A = TypeVar("A")


class Call:
    """The call that a function answers: route, key, token, metadata, time left."""

    def __init__(self, request: _stadium.Request) -> None:
        self._request = request
        self._cancelled = False

    @property
    def route(self) -> str:
        """`SERVICE/METHOD`."""
        return self._request.route

    @property
    def key(self) -> Optional[bytes]:
        """The affinity key, where the caller gave one."""
        return self._request.key

    @property
    def bearer(self) -> Optional[str]:
        """The bearer token that the caller showed. Nothing has verified it."""
        return self._request.bearer

    @property
    def metadata(self) -> bytes:
        """The composite metadata, as it came."""
        return self._request.metadata

    @property
    def traceparent(self) -> Optional[str]:
        """The caller's trace in the form of W3C Trace Context; none where the call carries none."""
        return traceparent(self._request.metadata)

    @property
    def time_left(self) -> float:
        """Seconds that are left of the caller's deadline; 0 where it has passed."""
        return self._request.time_left()

    @property
    def cancelled(self) -> bool:
        """Whether nobody waits for the answer any more. Long plain functions ask now and then."""
        return self._cancelled or self.time_left <= 0


UnaryFunction = Union[Callable[[Q, Call], A], Callable[[Q, Call], Awaitable[A]]]
OneWayFunction = Union[Callable[[Q, Call], None], Callable[[Q, Call], Awaitable[None]]]
StreamFunction = Union[Callable[[Q, Call], Iterator[A]], Callable[[Q, Call], AsyncIterator[A]]]
ChannelFunction = Callable[[AsyncIterator[Q], Call], AsyncIterator[A]]
F = TypeVar("F", bound=Callable[..., Any])


class Decorator(Generic[F]):
    """Registers a function for a method and returns it as it is."""

    def __init__(self, service: "Service", method: Method[Any, Any]) -> None:
        self._service, self._method = service, method

    def __call__(self, function: F) -> F:
        if any(method is self._method or method.route == self._method.route for method, _ in self._service.methods):
            raise ValueError(f"{self._method.route} has a function already")
        self._service.methods.append((self._method, function))
        return function


class Service:
    """A service: a name, a version, and a function for each method."""

    def __init__(self, name: str, version: str = "1", *, descriptors: bytes = b"") -> None:
        """`descriptors` is an encoded `FileDescriptorSet`, for generic clients."""
        self.name, self.version, self.descriptors = name, version, descriptors
        self.methods: List[Tuple[Method[Any, Any], Callable[..., Any]]] = []

    @overload
    def on(self, method: Unary[Q, A]) -> "Decorator[UnaryFunction[Q, A]]": ...

    @overload
    def on(self, method: OneWay[Q]) -> "Decorator[OneWayFunction[Q]]": ...

    @overload
    def on(self, method: Stream[Q, A]) -> "Decorator[StreamFunction[Q, A]]": ...

    @overload
    def on(self, method: Channel[Q, A]) -> "Decorator[ChannelFunction[Q, A]]": ...

    def on(self, method: Method[Any, Any]) -> Any:
        """A decorator for the function that answers this method.

        It takes the request (for a channel: an asynchronous iterator of requests) and a `Call`. A plain
        function runs on a pool of threads; a coroutine runs on the server's event loop. A stream is
        answered by a generator, a channel by an asynchronous generator.
        """
        if method.service != self.name:
            raise ValueError(f"{method.route} does not belong to the service {self.name}")
        return Decorator(self, method)


def by_tag(services: "Tuple[Service, ...]") -> "Dict[int, Tuple[Method[Any, Any], Callable[..., Any]]]":
    """The methods of services, numbered in their order."""
    methods = [method for service in services for method in service.methods]
    return dict(enumerate(methods))
