"""Pushes to registered devices: send, follow, schedule. docs/push.md describes their life.

The devices themselves are in `stadium.aio.audiences`.
"""

from __future__ import annotations

import uuid
from typing import AsyncIterator, List, Optional

from .. import _routes as routes
from .._books import IdLike, id_from, id_of
from .._pushes import Push, Sent, Words
from .._times import span_ms
from ..v1 import push_pb2 as pb
from ._client import Client

__all__ = ["Push", "Pushes", "Sent", "Words", "id_from"]

_PAGE = 100


class Pushes:
    """The pushes of an app."""

    def __init__(self, client: Client, app: str = "default") -> None:
        self.app = app
        self._client = client

    async def send(self, push: Push, *, id: Optional[IdLike] = None) -> Sent:
        """Sends a push; it is on disk when this returns.

        The same id with the same content again gets the first answer, so the request can be repeated.
        """
        made = uuid.uuid4() if id is None else id_of(id)
        receipt = await self._client.call(routes.PUSH_SEND, push.to_message(self.app, made))
        return Sent(made, receipt.duplicate)

    async def check(self, push: Push) -> None:
        """Raises `Rejected` where `send` would not accept it now. Nothing is sent."""
        await self._client.call(routes.PUSH_CHECK, push.to_message(self.app, uuid.uuid4()))

    async def edit(self, id: IdLike, push: Push) -> None:
        """Changes a push that has not started into this one."""
        await self._client.call(routes.PUSH_EDIT, push.to_message(self.app, id_of(id)))

    async def cancel(self, id: IdLike) -> None:
        """Ends a push: what is not delivered yet never is."""
        await self._client.call(routes.PUSH_CANCEL, self._named(id))

    async def find(self, id: IdLike) -> pb.PushReport:
        """A push, and what became of it: its stage, counts and latencies."""
        return await self._client.call(routes.PUSH_FIND, self._named(id))

    async def list(self) -> AsyncIterator[pb.PushReport]:
        """All pushes that are remembered, newest first, page by page."""
        request = pb.ListPushesRequest(app=self.app, pushes_max=_PAGE)
        while True:
            page = (await self._client.call(routes.PUSH_LIST, request)).pushes
            for report in page:
                yield report
            if len(page) < _PAGE:
                return
            request.before_ms, request.before_push = page[-1].accepted_ms, page[-1].push.id

    async def trace(self, id: IdLike, device: str) -> pb.PushTrace:
        """Why a device did or did not get a push, in a sentence and in steps."""
        return await self._client.call(routes.PUSH_TRACE, self._of_device(id, device))

    async def opened(self, id: IdLike, device: str) -> None:
        """The device's user opened the push."""
        await self._client.call(routes.PUSH_OPENED, self._of_device(id, device))

    async def clicked(self, id: IdLike, device: str, action: str = "") -> None:
        """The device's user clicked the push, or an action of it: at most 64 bytes."""
        request = pb.ClickedRequest(app=self.app, push=id_of(id).bytes, device=device, action=action)
        await self._client.call(routes.PUSH_CLICKED, request)

    async def schedule(
        self,
        name: str,
        cron: str,
        push: Push,
        *,
        zone: str = "",
        late: float = 0.0,
        id: Optional[IdLike] = None,
    ) -> None:
        """Makes a push at each occurrence of a cron expression. The same name replaces the schedule.

        `zone` is an IANA time zone; empty: each device's own. Of the occurrences that were missed while the
        server was down the newest is sent late where it is not older than `late` seconds. The `id` is a
        part of those of its pushes; without one it is made of the app's and the schedule's name.
        """
        made = id_from("schedule", self.app, name) if id is None else id_of(id)
        request = pb.NewPushSchedule(
            name=name,
            cron=cron,
            zone=zone,
            late_ms=span_ms("late", late),
            push=push.to_message(self.app, made),
        )
        await self._client.call(routes.PUSH_SCHEDULE, request)

    async def pause(self, name: str) -> None:
        """Holds a schedule."""
        request = pb.PauseScheduleRequest(app=self.app, name=name, paused=True)
        await self._client.call(routes.PUSH_PAUSE, request)

    async def resume(self, name: str) -> None:
        """Lets a schedule go on; what it missed meanwhile is skipped."""
        request = pb.PauseScheduleRequest(app=self.app, name=name, paused=False)
        await self._client.call(routes.PUSH_PAUSE, request)

    async def unschedule(self, name: str) -> None:
        """Forgets a schedule. Pushes that it made stay."""
        request = pb.PushScheduleNamed(app=self.app, name=name)
        await self._client.call(routes.PUSH_UNSCHEDULE, request)

    async def schedules(self) -> List[pb.PushScheduleReport]:
        """All schedules of the app."""
        answer = await self._client.call(routes.PUSH_SCHEDULES, pb.AppNamed(app=self.app))
        return [*answer.schedules]

    def _named(self, id: IdLike) -> pb.PushNamed:
        return pb.PushNamed(app=self.app, push=id_of(id).bytes)

    def _of_device(self, id: IdLike, device: str) -> pb.TraceRequest:
        return pb.TraceRequest(app=self.app, push=id_of(id).bytes, device=device)
