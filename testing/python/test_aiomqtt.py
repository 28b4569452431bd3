"""aiomqtt: the client that asyncio programs use, for 3.1.1 and 5, TCP and WebSocket."""

import asyncio

import aiomqtt
import pytest

from device import unique
from server import PATIENCE_S

VERSIONS = {"v3.1.1": aiomqtt.ProtocolVersion.V311, "v5": aiomqtt.ProtocolVersion.V5}


@pytest.fixture(params=list(VERSIONS.values()), ids=list(VERSIONS))
def version(request):
    return request.param


@pytest.fixture
def client(server, version, transport):
    def make(**arguments):
        if transport == "ws":
            arguments |= {"transport": "websockets", "websocket_path": "/mqtt"}
        return aiomqtt.Client("127.0.0.1", server.port(transport), protocol=version, **arguments)

    return make


def run(story):
    asyncio.run(asyncio.wait_for(story(), 3 * PATIENCE_S))


@pytest.mark.parametrize("qos", [0, 1, 2])
def test_messages_arrive_in_order(client, topic, qos):
    async def story():
        async with client() as reader, client() as writer:
            await reader.subscribe(topic, qos=qos)
            for number in range(50):
                await writer.publish(topic, str(number), qos=qos)
            got = [int((await anext(reader.messages)).payload) for _ in range(50)]
            assert got == list(range(50))

    run(story)


def test_many_clients_get_one_message_each(client, topic):
    async def story():
        async def one(ready):
            async with client() as reader:
                await reader.subscribe(topic, qos=1)
                ready.release()
                return (await anext(reader.messages)).payload

        ready = asyncio.Semaphore(0)
        crowd = [asyncio.create_task(one(ready)) for _ in range(100)]
        for _ in crowd:
            await ready.acquire()
        async with client() as writer:
            await writer.publish(topic, b"all", qos=1)
        assert await asyncio.gather(*crowd) == [b"all"] * 100

    run(story)


def test_the_will_follows_a_client_that_dies(client, topic):
    async def story():
        async with client() as watcher:
            await watcher.subscribe(topic, qos=1)
            dying = client(identifier=unique("dying"), will=aiomqtt.Will(topic, b"gone", qos=1))
            await dying.__aenter__()
            # Its socket is shut down below MQTT: no DISCONNECT is written.
            sock = dying._client.socket()
            getattr(sock, "_socket", sock).shutdown(2)
            assert (await anext(watcher.messages)).payload == b"gone"
            try:
                await dying.__aexit__(None, None, None)
            except aiomqtt.MqttError:
                pass

    run(story)


def test_retained_messages_come_with_the_subscription(client, topic):
    async def story():
        async with client() as writer, client() as reader:
            await writer.publish(topic, b"kept", qos=1, retain=True)
            await reader.subscribe(topic, qos=1)
            message = await anext(reader.messages)
            assert (message.payload, message.retain) == (b"kept", True)

    run(story)
