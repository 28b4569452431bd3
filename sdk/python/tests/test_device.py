"""Pushes from the SDK to a device of the SDK, over a real server; requests of the device to a service."""

import asyncio
import functools
import socket
import time
import uuid

import pytest

import stadium
from conftest import SOON
from nodes import WORDS_PORT, Node
from stadium.aio.audiences import Devices
from stadium.aio.push import Push, Pushes, Words
from words import ECHO, REFUSE, SLOW, WIDE, eventually, text
from words import Words as Service

@pytest.fixture
def server(node):
    return node


def story(test):
    """Runs a coroutine with the server, and a client with the admin's key."""

    @functools.wraps(test)
    def run(server):
        async def inside():
            key = stadium.ApiKey.from_file(server.admin_key)
            async with stadium.aio.Client(server.rpc, api_key=key) as client:
                await asyncio.wait_for(test(server, client), 3 * SOON)

        asyncio.run(inside())

    del run.__wrapped__  # pytest would ask for its parameters
    return run


def device(server, name, secret, **more):
    return stadium.Device(name, secret, port=server.tcp, **more)


async def next_of(device):
    return await asyncio.wait_for(device.__anext__(), SOON)


@story
async def test_a_push_reaches_a_device_that_is_away_and_is_followed(server, client):
    devices, pushes = Devices(client), Pushes(client)
    assert await devices.change("phone-1", {"platform": "ios", "tags": ["first"], "attributes": {"name": "Ada"}})
    assert not await devices.change("phone-1", {"language": "de-AT"})
    secret = await devices.admit("phone-1")
    wanted = Push(
        selector={"and": [{"tag": "first"}, {"platform": "ios"}]},
        title="Doors open",
        body="Hi {{name|you}}",
        data={"gate": 4},
        languages={"de": Words(title="Einlass")},
        priority=9,
        expiry=60,
    )
    preview = await devices.preview(wanted.selector, sample=5)
    assert (preview.reached, list(preview.sample)) == (1, ["phone-1"])
    await pushes.check(wanted)
    sent = await pushes.send(wanted, id=uuid.UUID(int=7))
    again = await pushes.send(wanted, id="00000000-0000-0000-0000-000000000007")
    assert (sent.id.int, sent.duplicate, again.duplicate) == (7, False, True)
    with pytest.raises(stadium.Rejected) as other:
        await pushes.send(Push(device="phone-1", message=b"x"), id=sent.id)
    assert other.value.code == "PSH-025"

    assert secret not in repr(device(server, "phone-1", secret))
    async with device(server, "phone-1", secret) as phone:
        message = await next_of(phone)
        assert message.content_type == "application/json" and message.topic == "inbox/phone-1"
        assert message.json() == {
            "push": sent.id.hex, "title": "Einlass", "body": "Hi Ada", "data": {"gate": 4},
        }
        assert (await pushes.find(sent.id)).counts.delivered == 0
        message.ack()

        async def counted(field):
            return getattr((await pushes.find(sent.id)).counts, field) == 1

        async def until_counted(field):
            while not await counted(field):
                await asyncio.sleep(0.01)

        await until_counted("delivered")
        await phone.opened(sent.id)
        await until_counted("opened")
        await phone.clicked(sent.id, "buy")
        await until_counted("clicked")
    report = await pushes.find(sent.id)
    assert [(action.action, action.clicks) for action in report.actions] == [("buy", 1)]
    trace = await pushes.trace(sent.id, "phone-1")
    assert "acknowledged" in [step.what for step in trace.steps] and trace.sentence
    assert sent.id.bytes in [each.push.id async for each in pushes.list()]


@story
async def test_what_was_not_acknowledged_is_delivered_again(server, client):
    devices, pushes = Devices(client), Pushes(client)
    secret = await devices.admit("phone-2")
    for nth in range(3):
        await pushes.send(Push(device="phone-2", message=b"%d" % nth, content_type="text/plain"))
    async with device(server, "phone-2", secret) as phone:
        assert (await next_of(phone)).payload == b"0"
        assert (await next_of(phone)).payload == b"1"  # This acknowledges 0, and 1 is not.
    async with device(server, "phone-2", secret) as phone:
        first, second = await next_of(phone), await next_of(phone)
        assert [first.payload, second.payload] == [b"1", b"2"] and first.content_type == "text/plain"


def test_a_device_returns_after_a_lost_connection_and_a_restart():
    node = Node()  # Of its own: the other tests do not depend on its return.
    try:
        story(lost_and_restarted)(node)
    finally:
        node.stop()


async def lost_and_restarted(server, client):
    devices, pushes = Devices(client), Pushes(client)
    secret = await devices.admit("phone-3")
    async with device(server, "phone-3", secret) as phone:
        phone._connection._paho.socket().shutdown(socket.SHUT_RDWR)
        await eventually("it has noticed", lambda: not phone.is_connected)
        await eventually("it is back", lambda: phone.is_connected)
        sent = await pushes.send(Push(device="phone-3", message=b"after"))
        message = await next_of(phone)
        assert message.payload == b"after"
        message.ack()
        while (await pushes.find(sent.id)).counts.delivered == 0:
            await asyncio.sleep(0.01)
        await asyncio.get_running_loop().run_in_executor(None, server.restart)
        await eventually("it is back after the restart", lambda: phone.is_connected)
        await pushes.send(Push(device="phone-3", message=b"restarted"))
        assert (await next_of(phone)).payload == b"restarted"


@story
async def test_a_device_that_is_refused_raises_and_a_revoked_one_ends(server, client):
    devices = Devices(client)
    secret = await devices.admit("phone-4")
    with pytest.raises(stadium.Rejected) as wrong:
        async with device(server, "phone-4", "wrong"):
            pass
    assert wrong.value.code == "0x86"
    async with device(server, "phone-4", secret) as phone:
        waits = asyncio.ensure_future(next_of(phone))
        await devices.revoke("phone-4")
        with pytest.raises(stadium.Rejected) as revoked:
            await waits
        assert revoked.value.code in ("0x8A", "0x87")
    await devices.restore("phone-4")
    async with device(server, "phone-4", secret):
        pass
    await devices.take_credential("phone-4")
    assert await devices.remove("phone-4", "nobody") == 1


@story
async def test_a_device_asks_a_service(server, client):
    secret = await Devices(client).admit("phone-5")
    words = Service()
    async with stadium.Server(words.service, listen=f"127.0.0.1:{WORDS_PORT}", admission=WIDE):
        async with device(server, "phone-5", secret) as phone:

            async def answered():
                try:
                    return await phone.request(ECHO, text("hello"), deadline=2)
                except (stadium.Busy, stadium.DeadlineExceeded, stadium.Unknown):
                    return None

            while await answered() != text("hello"):
                await asyncio.sleep(0.05)
            answers = await asyncio.gather(*(phone.request(ECHO, text(str(nth))) for nth in range(10)))
            assert [answer.value for answer in answers] == [str(nth) for nth in range(10)]
            with pytest.raises(stadium.Rejected) as rejected:
                await phone.request(REFUSE, text("rejected"))
            assert rejected.value.code == "WORDS-001"
            with pytest.raises(stadium.Busy) as busy:
                await phone.request(REFUSE, text("busy"))
            assert busy.value.retry_after == 0.25
            with pytest.raises(stadium.DeadlineExceeded):
                await phone.request(SLOW, text("x"), deadline=1)
            with pytest.raises(stadium.Rejected):
                await phone.request(stadium.unary("nobody/Here", bytes, bytes), b"")
            assert phone._pending == {}
        with pytest.raises(RuntimeError, match="closed"):
            await phone.request(ECHO, text("x"))


@story
async def test_many_devices_are_changed_in_requests_of_a_thousand(server, client):
    devices = Devices(client)
    assert server.call("PUT", "/api/apps/crowd", {})[0] in (200, 201, 204)
    changes = {f"d{nth}": {"tags": ["all"]} for nth in range(2_300)}
    # A device of the app `default` and an app cannot have one name.
    changes["crowd"] = {"tags": ["all"]}
    results = await devices.change_many(changes)
    assert [result.device for result in results] == list(changes)
    assert sum(result.registered for result in results) == 2_300
    assert isinstance(results[-1].error, stadium.Rejected) and results[-1].error.code == "PSH-031"
    assert (await devices.preview({"tag": "all"})).matched == 2_300
    assert (await devices.fields("d1"))["tags"] == ["all"]
    with pytest.raises(stadium.Rejected, match="platfrom"):
        await devices.change_many({"d1": {"language": "de"}, "d2": {"platfrom": "ios"}})
    assert (await devices.fields("d1"))["language"] is None
    assert await devices.remove(*changes) == 2_300


@story
async def test_pushes_are_edited_cancelled_and_scheduled(server, client):
    pushes = Pushes(client)
    await Devices(client).change("phone-6")
    now = int(time.time())
    push = Push(selector="all", title="Later", at=now + 3600, per_second=100, cap=(3, 3600.0), holdout=10)
    sent = await pushes.send(push)
    await pushes.edit(sent.id, Push(selector="all", title="Even later", at=now + 7200, quiet_hours="skip"))
    report = await pushes.find(sent.id)
    assert report.push.at_ms == (now + 7200) * 1000 and report.push.notification.words.title == "Even later"
    await pushes.cancel(sent.id)
    assert (await pushes.find(sent.id)).stage == 4
    await pushes.schedule("daily", "0 9 * * *", Push(selector="all", body="Good morning"), zone="Europe/Vienna")
    await pushes.pause("daily")
    (schedule,) = await pushes.schedules()
    assert schedule.paused and schedule.schedule.zone == "Europe/Vienna"
    await pushes.resume("daily")
    assert not (await pushes.schedules())[0].paused
    await pushes.unschedule("daily")
    assert await pushes.schedules() == []
    with pytest.raises(stadium.Rejected):
        await pushes.check(Push(selector={"tagg": "vip"}, title="x"))


def test_the_same_for_threads(server):
    with stadium.Client(server.rpc, api_key=stadium.ApiKey.from_file(server.admin_key)) as client:
        devices, pushes = stadium.audiences.Devices(client), stadium.push.Pushes(client)
        devices.change("phone-7", {"tags": ["threads"]})
        sent = pushes.send(Push(selector={"tag": "threads"}, title="Hello"))
        assert pushes.find(sent.id).push.id == sent.id.bytes
        assert sent.id.bytes in [report.push.id for report in pushes.list()]
        assert devices.remove("phone-7") == 1


def test_wrong_pushes_are_errors_at_once():
    for wrong, why in (
        (Push(title="x"), "exactly one"),
        (Push(device="a", saved="b", title="x"), "exactly one"),
        (Push(device="a"), "a title"),
        (Push(device="a", title="x", message=b"y"), "not both"),
        (Push(device="a", title="x", quiet_hours="never"), "quiet_hours"),
        (Push(device="a", title="x", over=5, per_second=5), "not both"),
        (Push(device="a", title="x", expiry=-1), "expiry is -1"),
    ):
        with pytest.raises(ValueError, match=why):
            wrong.to_message("default", uuid.uuid4())
