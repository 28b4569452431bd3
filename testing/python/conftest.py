"""Servers and devices for the suites.

One trial server for each number of loops serves the whole run: sessions live on the loop of their client id, so
with two loops messages, shared groups and retained messages cross loops. Tests keep apart by their own names.
"""

import pytest

import server as servers
from device import V5, V311, Device, unique
from starting import start  # noqa: F401


@pytest.fixture(scope="session", params=[1, 2], ids=["1-loop", "2-loops"])
def server(request):
    if servers.PEER == "mosquitto" and request.param > 1:
        pytest.skip("mosquitto has one loop")
    running = servers.Server(loops=request.param)
    yield running
    running.stop()


@pytest.fixture(params=[V311, V5], ids=["v3.1.1", "v5"])
def version(request):
    return request.param


@pytest.fixture(params=["tcp", "ws"])
def transport(request):
    return request.param


@pytest.fixture
def device(request, server):
    """Makes devices of the test's version and transport; MQTT 5 over TCP where it has none. Closes them afterwards."""
    values = request.node.callspec.params if hasattr(request.node, "callspec") else {}
    made = []

    def make(connect=True, on=None, props=None, **arguments):
        arguments.setdefault("version", values.get("version", V5))
        arguments.setdefault("transport", values.get("transport", "tcp"))
        each = Device(on or server, **arguments)
        made.append(each)
        if connect:
            each.connect(**(props or {}))
        return each

    yield make
    for each in made:
        each.close()


@pytest.fixture
def topic():
    """A topic of the test's own."""
    return unique("test") + "/topic"
