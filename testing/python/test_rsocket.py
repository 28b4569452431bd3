"""rsocket-py as a client of ours, and as a server for our client.

Ours is the program `interop` of crates/rsocket: STADIUM_INTEROP names it, and `interop_service` of crates/rpc is
beside it. STADIUM_INTEROP_PEER names a command to start in place of our server, which proves the suite itself against
other implementations.
"""

import asyncio
import contextlib
import itertools
import os
import pathlib
import shlex
import signal
import subprocess
import sys
from datetime import timedelta

import pytest
from reactivestreams.subscriber import DefaultSubscriber
from rsocket.exceptions import RSocketProtocolError
from rsocket.extensions.helpers import authenticate_bearer, authenticate_simple, metadata_item
from rsocket.helpers import create_response, single_transport_provider
from rsocket.payload import Payload
from rsocket.request_handler import BaseRequestHandler
from rsocket.rsocket_client import RSocketClient
from rsocket.streams.stream_from_generator import StreamFromGenerator
from rsocket.transports.tcp import TransportTCP

from rsocket_peer import DATA_MIME, METADATA_MIME, note, padded, pushed_text, request, text

HERE = pathlib.Path(__file__).resolve().parent
PATIENCE_S = 20
LARGE = bytes((at * 31 + at // 256) % 256 for at in range(100_000))
# What our client asks of a server; the last two need options.
CASES = (
    "echo echo-large metadata errors note push push-back ask-me range range-large credit-one cancel-stream "
    "cancel-response fail-after channel channel-large sum refused quiet"
).split()
# The same of our client of services.
SERVICE_CASES = (
    "echo echo-large metadata errors note range range-large credit-one cancel-stream cancel-response fail-after "
    "channel channel-large sum"
).split()
unique = itertools.count()


def ours(name="interop"):
    named = os.environ.get("STADIUM_INTEROP")
    path = (pathlib.Path(named) if named else HERE.parents[1] / "target/debug/examples/interop").with_name(name)
    assert path.is_file(), f"{path} is not there: run `cargo build -p stadium-rsocket -p stadium-rpc --examples`"
    return [str(path)]


class Peer:
    """A server process of ours or theirs; it ends with its standard input."""

    def __init__(self, command):
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )
        line = self.process.stdout.readline()
        assert line.startswith("listening "), f"{command} said {line!r}"
        self.address = line.split()[1]
        self.host, port = self.address.split(":")
        self.port = int(port)

    def stop(self):
        self.process.send_signal(signal.SIGCONT)
        self.process.kill()
        self.process.wait()
        self.process.stdin.close()
        self.process.stdout.close()


@contextlib.contextmanager
def server(*options):
    command = os.environ.get("STADIUM_INTEROP_PEER")
    running = Peer([*(shlex.split(command) if command else [*ours(), "server"]), *options])
    try:
        yield running
    finally:
        running.stop()


@pytest.fixture(scope="module")
def plain():
    with server("fragment=200") as running:
        yield running


@pytest.fixture(scope="module", params=["interop", "interop_service"])
def either(request):
    """Bare RSocket, or the same routes as a service of crates/rpc."""
    running = Peer([*ours(request.param), "server", "fragment=200"])
    yield running
    running.stop()


class Responder(BaseRequestHandler):
    """The client's own side: it echoes, and keeps what is pushed."""

    def __init__(self):
        self.pushed = asyncio.Queue()
        self.lost = asyncio.Event()

    async def request_response(self, payload):
        return create_response(payload.data)

    async def on_metadata_push(self, payload):
        self.pushed.put_nowait(pushed_text(payload.metadata))

    async def on_keepalive_timeout(self, time_since_last_keepalive, rsocket):
        self.lost.set()


@contextlib.asynccontextmanager
async def connected(to, **more):
    streams = await asyncio.open_connection(to.host, to.port)
    responder = Responder()
    async with RSocketClient(
        single_transport_provider(TransportTCP(*streams)),
        handler_factory=lambda: responder,
        data_encoding=DATA_MIME,
        metadata_encoding=METADATA_MIME,
        **more,
    ) as client:
        client.responder = responder
        yield client


async def within(what):
    return await asyncio.wait_for(what, PATIENCE_S)


async def ask(client, name, data=b"", *more):
    answer = await within(client.request_response(request(name, data, *more)))
    return bytes(answer.data or b"")


async def until_note(client, key, expected):
    async def look():
        while text(await ask(client, "notes", key)) != expected:
            pass

    await within(look())


def play(story):
    asyncio.run(within(story))


class Collected(DefaultSubscriber):
    """Collects a stream that is given `credit` at first and nothing more unless asked."""

    def __init__(self):
        super().__init__()
        self.got = asyncio.Queue()
        self.done = asyncio.get_running_loop().create_future()

    def on_next(self, value, is_complete=False):
        self.got.put_nowait(text(value.data))
        if is_complete:
            self.done.set_result(None)

    def on_complete(self):
        self.done.set_result(None)

    def on_error(self, exception):
        self.done.set_exception(exception)

    async def all(self):
        await within(self.done)
        return [self.got.get_nowait() for _ in range(self.got.qsize())]


def stream(client, name, data, credit):
    collected = Collected()
    client.request_stream(request(name, data)).initial_request_n(credit).subscribe(collected)
    return collected


@pytest.mark.parametrize("fragment", [None, 64, 1024])
def test_a_payload_comes_back_as_it_was_sent(either, fragment):
    async def story():
        async with connected(either, fragment_size_bytes=fragment) as client:
            assert await ask(client, "echo", "hello") == b"hello"
            assert await ask(client, "echo", LARGE) == LARGE
            both = await within(asyncio.gather(ask(client, "echo", LARGE), ask(client, "echo", LARGE[::-1])))
            assert both == [LARGE, LARGE[::-1]], "fragments of two requests come interleaved"

    play(story())


def test_the_server_reads_routing_and_credentials(either):
    async def story():
        async with connected(either) as client:
            custom = metadata_item(b"text", b"message/x.custom")
            answer = await ask(client, "metadata", b"", authenticate_simple("user", "pass:word"), custom)
            assert text(answer) == "route interop/metadata\nsimple user:pass:word\nmessage/x.custom text"
            answer = await ask(client, "metadata", b"", authenticate_bearer("token"))
            assert text(answer) == "route interop/metadata\nbearer token"

    play(story())


def test_errors_carry_their_codes_and_texts(plain):
    async def story():
        async with connected(plain) as client:
            for code in (0x202, 0x203, 0x204):
                with pytest.raises(RSocketProtocolError) as caught:
                    await ask(client, "fail", f"{code} GEO-001: not there")
                assert caught.value.error_code.value == code
                assert caught.value.data == "GEO-001: not there"
            with pytest.raises(RuntimeError, match="GEO-001: not there"):
                await ask(client, "fail", f"{0x201} GEO-001: not there")
            assert await ask(client, "echo", "still here") == b"still here"

    play(story())


def test_notes_arrive_without_an_answer(plain):
    async def story():
        async with connected(plain) as client:
            key = f"py-note-{next(unique)}"
            client.fire_and_forget(request("note", f"{key} first"))
            await until_note(client, key, "first")
            client.metadata_push(note(f"{key} pushed"))
            await until_note(client, key, "first\npushed")

    play(story())


def test_the_server_may_ask_and_push(plain):
    async def story():
        async with connected(plain) as client:
            assert await ask(client, "ask-me", "hello") == b"you said hello"
            await ask(client, "push-me", "catch")
            assert await within(client.responder.pushed.get()) == "catch"

    play(story())


@pytest.mark.parametrize("count, size", [(10, 0), (5, 100_000)])
def test_a_stream_comes_in_order_and_ends(either, count, size):
    async def story():
        async with connected(either) as client:
            got = await stream(client, "range", f"{count} {size}", 1000).all()
            assert got == [padded(number, size) for number in range(count)]

    play(story())


def test_a_credit_of_one_brings_one(either):
    async def story():
        async with connected(either) as client:
            numbers = stream(client, "range", "5 0", 1)
            for number in range(5):
                assert await within(numbers.got.get()) == str(number)
                assert await ask(client, "echo", "fence") == b"fence"
                assert numbers.got.empty(), "more than one payload for a credit of one"
                if not numbers.done.done():
                    numbers.subscription.request(1)
            await within(numbers.done)

    play(story())


def test_a_cancelled_request_ends_on_the_server(either):
    async def story():
        async with connected(either) as client:
            key = f"py-endless-{next(unique)}"
            endless = stream(client, "endless", key, 3)
            assert [await within(endless.got.get()) for _ in range(3)] == ["0", "1", "2"]
            endless.subscription.cancel()
            await until_note(client, key, "cancelled")
            key = f"py-never-{next(unique)}"
            waiting = asyncio.ensure_future(client.request_response(request("never", key)))
            assert await ask(client, "echo", "fence") == b"fence"
            waiting.cancel()
            await until_note(client, key, "cancelled")

    play(story())


def test_a_stream_may_fail_half_way(plain):
    async def story():
        async with connected(plain) as client:
            failing = stream(client, "fail-after", "3 514 GEO-002: half way", 100)
            with pytest.raises(RSocketProtocolError) as caught:
                await failing.all()
            assert caught.value.error_code.value == 514 and caught.value.data == "GEO-002: half way"
            assert [failing.got.get_nowait() for _ in range(failing.got.qsize())] == ["0", "1", "2"]

    play(story())


@pytest.mark.parametrize("credit", [1000, 1])
@pytest.mark.parametrize("size", [0, 50_000])
def test_a_channel_answers_while_it_is_asked(either, credit, size):
    async def story():
        async with connected(either, fragment_size_bytes=512) as client:
            words = [f"word {number}" + "x" * size for number in range(10)]
            rest = StreamFromGenerator(
                lambda: ((Payload(word.encode()), word is words[-1]) for word in words[1:])
            )
            echoes = Collected()
            channel = client.request_channel(request("channel", words[0]), rest)
            channel.initial_request_n(credit).subscribe(echoes)
            for word in words:
                assert await within(echoes.got.get()) == f"echo {word}"
                if credit == 1 and not echoes.done.done():
                    echoes.subscription.request(1)
            await within(echoes.done)

    play(story())


def test_a_channel_may_answer_once_the_requester_is_done(either):
    async def story():
        async with connected(either) as client:
            numbers = StreamFromGenerator(
                lambda: ((Payload(str(number).encode()), number == 100) for number in range(2, 101))
            )
            total = Collected()
            client.request_channel(request("sum", "1"), numbers).initial_request_n(10).subscribe(total)
            assert await total.all() == ["5050"]

    play(story())


def test_keep_alives_hold_a_quiet_connection(either):
    async def story():
        quick = {"keep_alive_period": timedelta(milliseconds=100), "max_lifetime_period": timedelta(milliseconds=500)}
        async with connected(either, **quick) as client:
            assert await ask(client, "echo", "before") == b"before"
            # Three lifetimes in which nobody speaks: the wait ends early only when the connection is given up.
            with pytest.raises(asyncio.TimeoutError):
                await asyncio.wait_for(client.responder.lost.wait(), 1.5)
            assert await ask(client, "echo", "after") == b"after"

    play(story())


def test_a_frozen_client_is_given_up_within_its_lifetime():
    with server() as running:

        async def connections(client):
            return int(await ask(client, "connections"))

        async def story():
            script = (
                "import asyncio, sys, test_rsocket as t\n"
                "from datetime import timedelta as d\n"
                "async def main():\n"
                f"    class To: host, port = {running.host!r}, {running.port}\n"
                "    async with t.connected(To, keep_alive_period=d(milliseconds=100),"
                " max_lifetime_period=d(milliseconds=800)) as client:\n"
                "        await t.ask(client, 'echo', 'here'); print('here', flush=True)\n"
                "        await asyncio.sleep(60)\n"
                "asyncio.run(main())\n"
            )
            other = subprocess.Popen([sys.executable, "-c", script], cwd=HERE, stdout=subprocess.PIPE)
            try:
                assert other.stdout.readline() == b"here\n"
                async with connected(running) as client:
                    assert await connections(client) == 2
                    other.send_signal(signal.SIGSTOP)
                    while await connections(client) != 1:
                        await asyncio.sleep(0.005)
            finally:
                other.kill()
                other.wait()
                other.stdout.close()

        play(story())


def test_a_client_that_honours_leases_waits_for_the_next():
    with server("lease=300,3") as running:

        async def story():
            async with connected(running, honor_lease=True) as client:
                answers = [ask(client, "echo", str(number)) for number in range(10)]
                assert await within(asyncio.gather(*answers)) == [str(number).encode() for number in range(10)]
                assert len(client.responder.pushed._queue) == 0

        play(story())


def test_a_server_with_leases_still_serves_those_that_did_not_ask():
    with server("lease=1000,3") as running:

        async def story():
            async with connected(running) as client:
                for number in range(10):
                    assert await ask(client, "echo", str(number)) == str(number).encode()

        play(story())


def test_a_service_answers_busy_and_rejected():
    with contextlib.closing(ServicePeer()) as running:

        async def story():
            async with connected(running) as client:
                with pytest.raises(RSocketProtocolError) as caught:
                    await ask(client, "busy", "120")
                assert caught.value.error_code.value == 0x202
                assert caught.value.data == "BUSY retry_after_ms=120: asked to be"
                with pytest.raises(RuntimeError, match="^GEO-001: latitude 95 is not between -90 and 90$"):
                    await ask(client, "reject", "GEO-001 latitude 95 is not between -90 and 90")
                with pytest.raises(RSocketProtocolError, match="RPC-") as caught:
                    await ask(client, "no-such-route")
                assert caught.value.error_code.value == 0x204
                assert await ask(client, "echo", "still here") == b"still here"

        play(story())


class ServicePeer(Peer):
    def __init__(self):
        super().__init__([*ours("interop_service"), "server"])

    close = Peer.stop


@pytest.fixture(scope="module", params=["", "fragment=64", "fragment=1024"])
def theirs(request):
    options = [request.param] if request.param else []
    peer = Peer([sys.executable, str(HERE / "rsocket_peer.py"), *options])
    yield peer, options
    peer.stop()


def client_of_ours(peer, case, *options, program="interop"):
    command = [*ours(program), "client", peer.address, case, *options]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert ended.returncode == 0 and f"ok {case}" in ended.stdout, ended.stdout + ended.stderr


@pytest.mark.parametrize("case", CASES)
def test_our_client_on_their_server(theirs, case):
    peer, options = theirs
    client_of_ours(peer, case, *options)


@pytest.mark.parametrize("case", SERVICE_CASES)
def test_a_client_of_services_on_their_server(theirs, case):
    peer, options = theirs
    client_of_ours(peer, case, *options, program="interop_service")


@pytest.mark.parametrize("case, option", [("frozen", None), ("lease", "lease=300,3")])
def test_our_client_on_a_server_of_its_own(case, option):
    peer = Peer([sys.executable, str(HERE / "rsocket_peer.py"), *([option] if option else [])])
    try:
        client_of_ours(peer, case, f"pid={peer.process.pid}")
    finally:
        peer.stop()
