"""Calls from threads."""

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

import stadium
from conftest import until
from words import COUNT, DEAF, ECHO, REFUSE, SLOW, TALK, TELL, WIDE, Words, number, text


@pytest.fixture
def served():
    """The service and its addresses; its server has a thread of its own."""
    started, ends = threading.Event(), []
    found = {}

    async def serve():
        words = Words()
        end = asyncio.Event()
        async with stadium.Server(words.service, listen="127.0.0.1:0", admission=WIDE) as server:
            found.update(words=words, addresses=server.addresses)
            ends.append((asyncio.get_running_loop(), end, words))
            started.set()
            await end.wait()

    thread = threading.Thread(target=lambda: asyncio.run(serve()))
    thread.start()
    assert started.wait(20)
    yield found
    loop, end, words = ends[0]
    words.release.set()
    loop.call_soon_threadsafe(words.open.set)
    loop.call_soon_threadsafe(end.set)
    thread.join(20)
    assert not thread.is_alive()


@pytest.fixture
def client(served):
    with stadium.Client(*served["addresses"], attempts=1) as client:
        yield client


def test_calls_of_many_threads_are_answered(client):
    with ThreadPoolExecutor(8) as pool:
        answers = pool.map(lambda nth: client.call(ECHO, text(str(nth))).value, range(2_000))
        assert list(answers) == [str(nth) for nth in range(2_000)]
    assert client._calls == {}


def test_a_future_ends_with_the_error_of_its_call(client):
    future = client.submit(REFUSE, text("rejected"))
    assert isinstance(future.exception(20), stadium.Rejected)
    with pytest.raises(stadium.DeadlineExceeded):
        client.call(SLOW, text("x"), deadline=0.05)


def test_a_cancelled_future_cancels_the_function(served, client):
    future = client.submit(SLOW, text("x"))
    until("the function has begun", lambda: served["words"].begun == 1)
    assert future.cancel()
    until("the function is cancelled", lambda: served["words"].cancelled == 1)
    assert client.call(ECHO, text("still there")).value == "still there"


def test_streams_and_channels_wait(served, client):
    assert [message.value for message in client.stream(COUNT, number(1_000), credit=7)] == list(range(1_000))
    client.one_way(TELL, text("news"))
    channel = client.channel(TALK, text("one"))
    channel.send(text("two"))
    channel.complete()
    assert [message.value for message in channel] == ["ONE", "TWO"]
    until("the one-way call arrives", lambda: served["words"].told == ["news"])
    with client.stream(COUNT, number(1_000_000)) as stream:
        next(stream)
    until("the stream that was left has ended", lambda: served["words"].cancelled == 1)


def test_a_sender_waits_while_the_service_takes_nothing(served, client):
    channel = client.channel(DEAF, b"first")
    sent = []

    def send():
        for nth in range(3_000):
            channel.send(b"more")
            sent.append(nth)
        channel.complete()

    thread = threading.Thread(target=send)
    thread.start()
    until("it has sent what may wait", lambda: len(sent) >= 1_000)
    thread.join(0.3)
    assert thread.is_alive() and len(sent) < 2_000
    words = served["words"]
    words.open._loop.call_soon_threadsafe(words.open.set)
    assert list(channel) == [b"3001"]
    thread.join(20)


def test_a_closed_client_ends_its_calls_and_refuses_more(served):
    client = stadium.Client(*served["addresses"])
    future = client.submit(SLOW, text("x"))
    until("the function has begun", lambda: served["words"].begun == 1)
    client.close()
    with pytest.raises(stadium.Cancelled):
        future.result(20)
    with pytest.raises(RuntimeError, match="closed"):
        client.call(ECHO, text("x"))
    client.close()


def test_a_stream_that_cannot_be_opened_leaves_nothing(served):
    client = stadium.Client(*served["addresses"], attempts=1)
    with pytest.raises(ValueError):
        client.stream(ECHO, text("a method that is no stream"))
    assert client._streams == {}
    client.close()
    with pytest.raises(RuntimeError, match="closed"):
        client.stream(COUNT, number(1))
    assert client._streams == {}
