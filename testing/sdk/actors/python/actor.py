"""The actor of the Python SDK: obeys orders, a line of JSON each, on its standard input.

The orders are in testing/sdk/README.md. Each is answered by a line with its id. The actor ends with its
standard input.
"""

import asyncio
import json
import logging
import sys
import time
from collections import Counter
from typing import Any, AsyncIterator, Dict, List

import conformance_pb2 as pb
import stadium

ECHO = stadium.unary("conformance/Echo", pb.Ask, pb.Reply, idempotent=True)
ONCE = stadium.unary("conformance/Once", pb.Ask, pb.Reply)
NOTE = stadium.one_way("conformance/Note", pb.Ask)
COUNT = stadium.stream("conformance/Count", pb.Ask, pb.Reply)
TALK = stadium.channel("conformance/Talk", pb.Ask, pb.Reply)

OUTCOMES = {
    stadium.Busy: "busy",
    stadium.Rejected: "rejected",
    stadium.Unknown: "unknown",
    stadium.ApplicationError: "application",
    stadium.DeadlineExceeded: "deadline",
    stadium.Unavailable: "unavailable",
    stadium.ConnectionBroken: "broken",
    stadium.Cancelled: "cancelled",
    stadium.ProtocolError: "protocol",
}


def settings_of(wire: Dict[str, Any]) -> Dict[str, Any]:
    """The settings of the C ABI's page, as keywords."""
    keywords: Dict[str, Any] = {}
    for name, value in wire.items():
        if name.endswith("_ms"):
            keywords[name[: -len("_ms")]] = value / 1000
        elif name == "discovery":
            keywords[name] = stadium.Discovery(**settings_of(value))
        else:
            keywords[name] = value
    return keywords


def ask_of(fields: Dict[str, Any]) -> pb.Ask:
    fields = dict(fields)
    padding = bytes(fields.pop("send_padding_bytes", 0))
    refusal = pb.Refusal.Value(fields.pop("refusal", "NONE"))
    return pb.Ask(padding=padding, refusal=refusal, **fields)


def reply_to(reply: pb.Reply) -> Dict[str, Any]:
    names = ("text", "instance", "key", "bearer", "time_left_ms", "attempt", "padding_bytes", "number")
    fields = {name: getattr(reply, name) for name in names}
    return {**fields, "received_padding_bytes": len(reply.padding)}


def failure(error: BaseException) -> Dict[str, Any]:
    if isinstance(error, asyncio.CancelledError):
        return {"outcome": "cancelled"}
    kind = next((word for each, word in OUTCOMES.items() if isinstance(error, each)), None)
    if kind is None:
        raise error
    answer: Dict[str, Any] = {"outcome": kind, "text": error.args[0] if error.args else ""}
    if isinstance(error, stadium.Busy):
        answer["retry_after_ms"] = round(error.retry_after * 1000)
    if isinstance(error, (stadium.Rejected, stadium.Unknown)):
        answer["code"] = error.code
    if isinstance(error, stadium.ApplicationError):
        answer["number"] = error.number
    return answer


class Functions:
    """The functions of the service, and what became of each text."""

    def __init__(self, instance: str) -> None:
        self.instance = instance
        self.slow_ms = 0
        self.began: "Counter[str]" = Counter()
        self.ended: "Counter[str]" = Counter()
        self.cancelled: "Counter[str]" = Counter()
        self.service = stadium.Service("conformance")
        self.service.on(ECHO)(self.unary)
        self.service.on(ONCE)(self.unary)
        self.service.on(NOTE)(self.note)
        self.service.on(COUNT)(self.count)
        self.service.on(TALK)(self.talk)

    async def unary(self, ask: pb.Ask, call: stadium.Call) -> pb.Reply:
        reply = self.reply(ask, call)
        wait = ask.sleep_ms + self.slow_ms
        if wait:
            try:
                await asyncio.sleep(wait / 1000)
            except asyncio.CancelledError:
                self.cancelled[ask.text] += 1
                raise
        self.end(ask, reply.attempt)
        return reply

    async def note(self, ask: pb.Ask, call: stadium.Call) -> None:
        self.end(ask, self.reply(ask, call).attempt)

    async def count(self, ask: pb.Ask, call: stadium.Call) -> AsyncIterator[pb.Reply]:
        reply = self.reply(ask, call)
        ended = False
        try:
            number = 0
            while ask.replies == 0 or number < ask.replies:
                reply.number = number
                yield reply
                number += 1
            ended = True
        finally:
            if not ended:
                self.cancelled[ask.text] += 1
        self.end(ask, reply.attempt)

    async def talk(self, asks: AsyncIterator[pb.Ask], call: stadium.Call) -> AsyncIterator[pb.Reply]:
        number = 0
        async for ask in asks:
            reply = self.reply(ask, call)
            reply.number = number
            yield reply
            number += 1
            self.end(ask, reply.attempt)

    def reply(self, ask: pb.Ask, call: stadium.Call) -> pb.Reply:
        self.began[ask.text] += 1
        return pb.Reply(
            text=ask.text,
            instance=self.instance,
            key=(call.key or b"").decode(),
            bearer=call.bearer or "",
            time_left_ms=int(call.time_left * 1000),
            attempt=self.began[ask.text],
            padding_bytes=len(ask.padding),
            padding=bytes(ask.padding_bytes),
        )

    def end(self, ask: pb.Ask, attempt: int) -> None:
        self.ended[ask.text] += 1
        if ask.refusals and attempt > ask.refusals:
            return
        if ask.refusal == pb.BUSY:
            raise stadium.Busy("not now", retry_after=0.02)
        if ask.refusal == pb.REJECTED:
            raise stadium.Rejected("CONF-001", "never")
        if ask.refusal == pb.UNKNOWN:
            raise stadium.Unknown("CONF-002", "half done")
        if ask.refusal == pb.APPLICATION:
            raise stadium.ApplicationError(0x301, "its own")
        if ask.refusal == pb.FAILURE:
            raise ValueError("as it was asked")


class Actor:
    def __init__(self) -> None:
        self.clients: Dict[str, stadium.aio.Client] = {}
        self.calls: "Dict[int, asyncio.Future[pb.Reply]]" = {}
        self.functions = Functions("")

    async def obey(self, order: Dict[str, Any]) -> Dict[str, Any]:
        answer: Dict[str, Any] = await getattr(self, order["do"])(order)
        return answer

    async def serve(self, order: Dict[str, Any]) -> Dict[str, Any]:
        self.functions = Functions(order["instance"])
        self.server = stadium.Server(self.functions.service, **settings_of(order["settings"]))
        return {"addresses": self.server.addresses}

    async def seen(self, order: Dict[str, Any]) -> Dict[str, Any]:
        of, text = self.functions, order["text"]
        return {"began": of.began[text], "ended": of.ended[text], "cancelled": of.cancelled[text]}

    async def slow(self, order: Dict[str, Any]) -> Dict[str, Any]:
        self.functions.slow_ms = order["ms"]
        return {}

    async def quiesce(self, order: Dict[str, Any]) -> Dict[str, Any]:
        return {"cut": await self.server.shutdown(order["within_ms"] / 1000)}

    async def client(self, order: Dict[str, Any]) -> Dict[str, Any]:
        self.clients[order["client"]] = stadium.aio.Client(**settings_of(order["settings"]))
        return {}

    async def close(self, order: Dict[str, Any]) -> Dict[str, Any]:
        self.clients.pop(order["client"]).close()
        return {}

    async def call(self, order: Dict[str, Any]) -> Dict[str, Any]:
        began = time.monotonic()
        future = self.begin(order)
        self.calls[order["id"]] = future
        try:
            answer = {"outcome": "ok", "reply": reply_to(await future)}
        except (stadium.Error, asyncio.CancelledError) as error:
            answer = failure(error)
        del self.calls[order["id"]]
        answer["took_ms"] = int((time.monotonic() - began) * 1000)
        return answer

    def begin(self, order: Dict[str, Any]) -> "asyncio.Future[pb.Reply]":
        client, options = self.clients[order["client"]], options_of(order)
        if "bytes_hex" in order:
            method = stadium.unary(f"conformance/{order['method']}", bytes, pb.Reply)
            return client.call(method, bytes.fromhex(order["bytes_hex"]), **options)
        known = {"Echo": ECHO, "Once": ONCE}
        method = known.get(order["method"]) or stadium.unary(f"conformance/{order['method']}", pb.Ask, pb.Reply)
        return client.call(method, ask_of(order.get("ask", {})), **options)

    async def cancel(self, order: Dict[str, Any]) -> Dict[str, Any]:
        if order["of"] in self.calls:
            self.calls[order["of"]].cancel()
        return {}

    async def note(self, order: Dict[str, Any]) -> Dict[str, Any]:
        self.clients[order["client"]].one_way(NOTE, ask_of(order["ask"]))
        return {}

    async def stream(self, order: Dict[str, Any]) -> Dict[str, Any]:
        began, numbers = time.monotonic(), []  # type: ignore[var-annotated]
        answer: Dict[str, Any] = {"outcome": "ok"}
        stream = self.clients[order["client"]].stream(COUNT, ask_of(order["ask"]), credit=16, **options_of(order))
        async with stream:
            try:
                async for reply in stream:
                    numbers.append(reply.number)
                    if len(numbers) == order.get("read"):
                        answer = {"outcome": "left"}
                        break
            except stadium.Error as error:
                answer = failure(error)
        return {**answer, "numbers": numbers, "took_ms": int((time.monotonic() - began) * 1000)}

    async def channel(self, order: Dict[str, Any]) -> Dict[str, Any]:
        asks = [ask_of({**order["ask"], "text": text}) for text in order["texts"]]
        channel = self.clients[order["client"]].channel(TALK, asks[0], **options_of(order))

        async def send() -> None:
            for ask in asks[1:]:
                await channel.send(ask)
            channel.complete()

        texts: List[str] = []
        answer: Dict[str, Any] = {"outcome": "ok"}
        async with channel:
            sending = asyncio.ensure_future(send())
            try:
                async for reply in channel:
                    texts.append(reply.text)
            except stadium.Error as error:
                answer = failure(error)
            # A service that refused takes no more.
            await asyncio.gather(sending, return_exceptions=True)
        return {**answer, "texts": texts}

    async def load(self, order: Dict[str, Any]) -> Dict[str, Any]:
        client, ask = self.clients[order["client"]], ask_of(order.get("ask", {}))
        method = ONCE if order.get("method") == "Once" else ECHO
        outcomes: "Counter[str]" = Counter()
        instances: "Counter[str]" = Counter()
        latencies: List[int] = []

        async def one(due: float) -> None:
            try:
                reply = await client.call(method, ask, deadline=order["deadline_ms"] / 1000)
                outcomes["ok"] += 1
                instances[reply.instance] += 1
            except stadium.Error as error:
                outcomes[failure(error)["outcome"]] += 1
            latencies.append(int((time.monotonic() - due) * 1000))

        begin = time.monotonic()
        tasks = []
        for nth in range(order["for_ms"] * order["rate"] // 1000):
            due = begin + nth / order["rate"]
            await asyncio.sleep(max(0.0, due - time.monotonic()))
            tasks.append(asyncio.ensure_future(one(due)))
        await asyncio.gather(*tasks)
        latencies.sort()
        at = [latencies[int(len(latencies) * share)] for share in (0.5, 0.99)]
        return {
            "calls": len(tasks),
            "outcomes": outcomes,
            "instances": instances,
            "p50_ms": at[0],
            "p99_ms": at[1],
            "max_ms": latencies[-1],
        }

    async def explain(self, order: Dict[str, Any]) -> Dict[str, Any]:
        key = order["key"].encode() if order.get("key") else None
        return {"text": await self.clients[order["client"]].explain(ECHO, key)}


def options_of(order: Dict[str, Any]) -> Dict[str, Any]:
    options: Dict[str, Any] = {}
    if order.get("deadline_ms"):
        options["deadline"] = order["deadline_ms"] / 1000
    if order.get("key"):
        options["key"] = order["key"].encode()
    return options


async def main() -> None:
    actor = Actor()
    lines = asyncio.StreamReader(limit=1 << 24)
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(lines), sys.stdin)
    under_way = set()

    async def obey(order: Dict[str, Any]) -> None:
        try:
            answer = await actor.obey(order)
        except Exception as error:
            answer = {"error": f"{type(error).__name__}: {error}"}
        print(json.dumps({**answer, "id": order["id"]}), flush=True)

    while line := await lines.readline():
        task = asyncio.ensure_future(obey(json.loads(line)))
        under_way.add(task)
        task.add_done_callback(under_way.discard)


# Functions fail where they are asked to.
logging.getLogger("stadium").setLevel(logging.CRITICAL)
asyncio.run(main())
