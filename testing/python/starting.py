"""The fixture of tests that start servers of their own, for every suite that has them."""

import pytest

import server as servers


@pytest.fixture
def start():
    """Starts a server of the test's own."""
    started = []

    def make(**plan):
        started.append(servers.Server(**plan))
        return started[-1]

    yield make
    for each in started:
        each.stop()
