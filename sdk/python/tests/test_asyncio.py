"""Calls from asyncio to a server of asyncio, over a real connection."""

import asyncio
import functools

import pytest

import stadium
from words import (
    COUNT,
    COUNT_PLAIN,
    DEAF,
    ECHO,
    PLAIN,
    REFUSE,
    SLOW,
    TALK,
    TELL,
    WIDE,
    Words,
    eventually,
    number,
    text,
)


def served(test):
    """Runs a test with the service, its server and a client."""

    @functools.wraps(test)
    def run():
        async def inside():
            words = Words()
            async with stadium.Server(words.service, listen="127.0.0.1:0", admission=WIDE) as server:
                async with stadium.aio.Client(*server.addresses, attempts=1) as client:
                    await asyncio.wait_for(test(words, server, client), 60)

        asyncio.run(inside())

    del run.__wrapped__  # pytest would ask for its parameters
    return run


@served
async def test_a_call_is_answered(words, server, client):
    answer = await client.call(ECHO, text("hello"), deadline=10, key=b"phone-1")
    assert answer == text("hello")


@served
async def test_many_calls_are_under_way_at_once(words, server, client):
    futures = [client.call(ECHO, text(str(nth))) for nth in range(500)]
    assert [answer.value for answer in await asyncio.gather(*futures)] == [str(nth) for nth in range(500)]
    assert client._calls == {}


@served
async def test_a_plain_function_runs_on_a_thread(words, server, client):
    assert (await client.call(PLAIN, text("x"))).value == "x on stadium-server"


@served
async def test_every_refusal_has_its_type(words, server, client):
    with pytest.raises(stadium.Busy, match="full") as busy:
        await client.call(REFUSE, text("busy"))
    assert busy.value.retry_after == 0.25 and not busy.value.may_have_happened
    with pytest.raises(stadium.Rejected, match=r"not this word \(WORDS-001\)") as rejected:
        await client.call(REFUSE, text("rejected"))
    assert rejected.value.code == "WORDS-001" and not rejected.value.may_have_happened
    with pytest.raises(stadium.Unknown) as unknown:
        await client.call(REFUSE, text("unknown"))
    assert unknown.value.code == "WORDS-002" and unknown.value.may_have_happened
    with pytest.raises(stadium.ApplicationError, match="their own") as application:
        await client.call(REFUSE, text("application"))
    assert application.value.number == 0x301


@served
async def test_a_function_that_fails_is_unknown_and_tells_nothing_of_itself(words, server, client):
    with pytest.raises(stadium.Unknown) as failed:
        await client.call(REFUSE, text("else"))
    assert failed.value.code == "RPC-007" and "s3cret" not in str(failed.value)


@served
async def test_a_request_that_cannot_be_read_is_rejected(words, server, client):
    raw = stadium.unary("words/Echo", bytes, bytes)
    with pytest.raises(stadium.Rejected) as rejected:
        await client.call(raw, b"\xff\xff\xff")
    assert rejected.value.code == "RPC-004"
    with pytest.raises(stadium.Rejected) as rejected:
        await client.call(stadium.unary("words/Nowhere", bytes, bytes), b"")
    assert rejected.value.code == "RPC-002"


@served
async def test_a_deadline_ends_the_call_and_its_function(words, server, client):
    with pytest.raises(stadium.DeadlineExceeded) as late:
        await client.call(SLOW, text("x"), deadline=0.1)
    assert isinstance(late.value, TimeoutError) and late.value.may_have_happened
    await eventually("the function is cancelled", lambda: words.cancelled == 1)


@served
async def test_cancelling_the_future_cancels_the_function(words, server, client):
    call = client.call(SLOW, text("x"))
    await eventually("the function has begun", lambda: words.begun == 1)
    call.cancel()
    await eventually("the function is cancelled", lambda: words.cancelled == 1)
    await eventually("nothing is left of the call", lambda: client._calls == {})


@served
async def test_a_plain_function_sees_that_nobody_waits(words, server, client):
    with pytest.raises(stadium.DeadlineExceeded):
        await client.call(PLAIN, text("wait"), deadline=0.1)
    await eventually("the function has seen it", lambda: words.cancelled == 1)


@served
async def test_a_one_way_call_arrives(words, server, client):
    client.one_way(TELL, text("news"))
    await eventually("it has arrived", lambda: words.told == ["news"])


@served
async def test_streams_come_whole_and_in_order(words, server, client):
    for method in (COUNT, COUNT_PLAIN):
        for credit in (1, 3, 64):
            stream = client.stream(method, number(300), credit=credit)
            assert [message.value async for message in stream] == list(range(300))
    assert client._streams == {}


@served
async def test_a_stream_that_is_not_read_does_not_fill_up_and_can_be_left(words, server, client):
    async with client.stream(COUNT, number(1_000_000)) as stream:
        assert (await stream.__anext__()).value == 0
        await asyncio.sleep(0.2)
        # What was wanted, what waits for the caller, and what the loop has.
        assert words.produced < 400
    await eventually("the function has ended", lambda: words.cancelled == 1)


@served
async def test_a_channel_goes_both_ways(words, server, client):
    channel = client.channel(TALK, text("one"))
    await channel.send(text("two"))
    assert (await channel.__anext__()).value == "ONE"
    channel.complete()
    assert [message.value async for message in channel] == ["TWO"]


@served
async def test_a_sender_waits_while_the_service_takes_nothing(words, server, client):
    channel = client.channel(DEAF, b"first")
    sent = 0

    async def send():
        nonlocal sent
        for _ in range(5_000):
            await channel.send(b"more")
            sent += 1
        channel.complete()

    sending = asyncio.create_task(send())
    await asyncio.sleep(0.3)
    assert 500 < sent < 2_000
    words.open.set()
    assert [message async for message in channel] == [b"5001"]
    await sending
    with pytest.raises(stadium.Cancelled):
        await channel.send(b"too late")


@served
async def test_the_function_knows_its_call(words, server, client):
    seen = {}
    service = stadium.Service("calls")
    ask = stadium.unary("calls/Ask", bytes, bytes)

    @service.on(ask)
    async def answer(request: bytes, call: stadium.Call) -> bytes:
        seen.update(route=call.route, key=call.key, bearer=call.bearer, left=call.time_left)
        return b""

    async with stadium.Server(service, listen="127.0.0.1:0") as other:
        async with stadium.aio.Client(*other.addresses, bearer="token-1") as caller:
            await caller.call(ask, b"", key=b"k", deadline=5)
    assert (seen["route"], seen["key"], seen["bearer"]) == ("calls/Ask", b"k", "token-1")
    assert 0 < seen["left"] <= 5


@served
async def test_a_server_that_stops_finishes_its_work(words, server, client):
    call = client.call(PLAIN, text("wait"), deadline=10)
    await eventually("the function has begun", lambda: words.begun == 1)
    stopping = asyncio.create_task(server.shutdown(10))
    await asyncio.sleep(0.1)
    assert not stopping.done()
    words.release.set()
    assert (await call).value.startswith("wait")
    assert await stopping == 0


@served
async def test_a_client_that_is_closed_ends_its_calls(words, server, client):
    other = stadium.aio.Client(*server.addresses)
    call, stream = other.call(SLOW, text("x")), other.stream(COUNT, number(1_000_000))
    other.close()
    other.close()
    with pytest.raises(stadium.Cancelled):
        await call
    with pytest.raises(stadium.Cancelled):
        async for _ in stream:
            pass
    for late in (
        lambda: other.call(ECHO, text("x")),
        lambda: other.one_way(TELL, text("x")),
        lambda: other.stream(COUNT, number(1)),
        lambda: other.channel(TALK, text("x")),
    ):
        with pytest.raises(RuntimeError, match="closed"):
            late()
    assert other._calls == {} and other._streams == {}


@served
async def test_wrong_use_is_an_error_at_once(words, server, client):
    with pytest.raises(TypeError, match="StringValue"):
        client.call(ECHO, "hello")
    with pytest.raises(TypeError, match="neither"):
        stadium.unary("words/Echo", str, str)
    with pytest.raises(ValueError, match="SERVICE/METHOD"):
        client.call(stadium.unary("words", bytes, bytes), b"")
    with pytest.raises(TypeError, match="dedline"):
        stadium.aio.Client("127.0.0.1:1", dedline=1)
    with pytest.raises(ValueError, match="deadline is -1"):
        stadium.aio.Client("127.0.0.1:1", deadline=-1)
    with pytest.raises(ValueError, match="attempts is 11"):
        stadium.aio.Client("127.0.0.1:1", attempts=11)
    with pytest.raises(OSError, match="cannot listen"):
        stadium.Server(words.service, listen=server.addresses[0])
    with pytest.raises(ValueError, match="does not belong"):
        words.service.on(stadium.unary("other/Echo", bytes, bytes))
    with pytest.raises(ValueError, match="has a function already"):
        words.service.on(ECHO)(lambda request, call: request)
    assert client._calls == {}
