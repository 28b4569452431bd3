"""The worker for programs that have no event loop of their own."""

from __future__ import annotations

import asyncio
import signal
import threading
from typing import Any, Optional

from . import aio
from ._blocking import Client
from ._leases import Counts
from .aio.worker import Bury, Handler, Retry
from .aio.worker import Worker as AioWorker

__all__ = ["Bury", "Counts", "Handler", "Retry", "Worker"]


class Worker:
    """`stadium.aio.Worker` with an event loop of its own, and an end by SIGTERM or Ctrl-C.

    It works over connections of its own, with the settings and the key of `client`.
    """

    def __init__(self, client: Client, queue: str, handler: Handler, **settings: Any) -> None:
        """Settings are those of `stadium.aio.Worker`."""
        self.counts = Counts()
        self._client, self._queue, self._handler, self._settings = client, queue, handler, settings
        self._lock = threading.Lock()
        self._loop: Optional[asyncio.AbstractEventLoop] = None
        self._worker: Optional[AioWorker] = None
        self._stopped = False

    def run(self) -> None:
        """Works until SIGTERM, SIGINT or `stop`. Then takes nothing new, finishes what runs, and returns.

        Signals are heeded in the main thread only. A second one cancels what runs. Raises as
        `stadium.aio.Worker.run`.
        """
        asyncio.run(self._run())

    def stop(self) -> None:
        """Lets `run` return when what runs has ended. From any thread; also before `run`."""
        with self._lock:
            self._stopped = True
            if self._loop is not None and self._worker is not None:
                self._loop.call_soon_threadsafe(self._worker.stop)

    async def _run(self) -> None:
        loop = asyncio.get_running_loop()
        carried = self._client._carried
        heeded = threading.current_thread() is threading.main_thread()
        async with aio.Client(api_key=carried.api_key, **carried.settings) as client:
            worker = AioWorker(client, self._queue, self._handler, **self._settings)
            self.counts = worker.counts
            with self._lock:
                self._loop, self._worker = loop, worker
                if self._stopped:
                    worker.stop()
            for each in (signal.SIGTERM, signal.SIGINT) if heeded else ():
                loop.add_signal_handler(each, worker.stop)
            try:
                await worker.run()
            finally:
                with self._lock:
                    self._loop = self._worker = None
                for each in (signal.SIGTERM, signal.SIGINT) if heeded else ():
                    loop.remove_signal_handler(each)
