"""Functions of a worker that are not coroutines, on threads that do not hold the program up when it ends."""

from __future__ import annotations

import asyncio
import contextvars
import queue
import threading
from typing import Any, Callable, Optional, Tuple

_Item = Tuple["asyncio.AbstractEventLoop", "asyncio.Future[Any]", contextvars.Context, Callable[..., Any], Any]


class Threads:
    """At most `most` daemon threads; one is started where a function finds none idle.

    `concurrent.futures` waits for its threads when the interpreter ends. A worker that has given a job back
    does not wait for the function that still has it.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._started = 0
        self._busy = 0
        self._queue: "queue.SimpleQueue[Optional[_Item]]" = queue.SimpleQueue()

    async def run(self, function: Callable[..., Any], argument: Any) -> Any:
        """Runs it, and waits for its result. A cancelled wait leaves the function running."""
        loop = asyncio.get_running_loop()
        future: "asyncio.Future[Any]" = loop.create_future()
        self._busy += 1
        if self._busy > self._started and self._started < self._most:
            self._started += 1
            name = f"stadium-worker_{self._started}"
            threading.Thread(target=self._work, name=name, daemon=True).start()
        self._queue.put((loop, future, contextvars.copy_context(), function, argument))
        return await future

    def end(self) -> None:
        """Lets idle threads end."""
        for _ in range(self._started):
            self._queue.put(None)

    def _work(self) -> None:
        while True:
            item = self._queue.get()
            if item is None:
                return
            loop, future, context, function, argument = item
            result, error = None, None
            try:
                result = context.run(function, argument)
            except BaseException as raised:
                error = raised
            try:
                loop.call_soon_threadsafe(self._done, future, result, error)
            except RuntimeError:
                return  # The loop was closed: nobody waits.

    def _done(self, future: "asyncio.Future[Any]", result: Any, error: Optional[BaseException]) -> None:
        self._busy -= 1
        if future.done():
            return
        if error is None:
            future.set_result(result)
        elif isinstance(error, Exception) and not isinstance(error, StopIteration):
            future.set_exception(error)
        else:
            # A future takes neither StopIteration, nor is SystemExit of a function the loop's end.
            future.set_exception(RuntimeError(f"the function ended with {type(error).__name__}: {error}"))
