"""pymemcache reads what `stadium memcache` wrote, and the other way round."""

import os
import subprocess

import pymemcache
import pytest

import server as servers


@pytest.fixture
def memcached():
    port = servers.free_port()
    command = ["memcached", "-u", "root", "-t", "1", "-U", "0", "-l", "127.0.0.1", "-p", str(port)]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        try:
            client = pymemcache.Client(("127.0.0.1", port), connect_timeout=5, timeout=5)
            servers.until("memcached", lambda: answers(client))
            yield port, client
            client.close()
        finally:
            process.kill()


def answers(client):
    try:
        return client.version()
    except OSError:
        return None


def stadium(port, *arguments, given=None, code=0):
    command = [servers.binary(), "memcache", *arguments, "--servers", f"127.0.0.1:{port}"]
    ended = subprocess.run(command, input=given, capture_output=True, timeout=servers.PATIENCE_S, check=False)
    assert ended.returncode == code, ended.stderr
    return ended.stdout


def test_each_client_reads_what_the_other_wrote(memcached):
    port, client = memcached
    value = os.urandom(100_000)
    stadium(port, "set", "ours", given=value)
    assert client.get("ours") == value
    client.set("theirs", value)
    assert stadium(port, "get", "theirs") == value
    client.delete("theirs")
    stadium(port, "get", "theirs", code=1)


def test_both_count_in_one_number(memcached):
    port, client = memcached
    client.set("visits", "41")
    assert stadium(port, "incr", "visits") == b"42\n"
    assert client.incr("visits", 8) == 50
    value, unique = client.gets("visits")
    assert value == b"50"
    stadium(port, "set", "visits", "0")
    assert client.cas("visits", "51", unique) is False, "it was changed since"
    assert client.get("visits") == b"0"


def test_times_are_the_same(memcached):
    port, client = memcached
    stadium(port, "set", "short", "x", "--expire", "1s")
    stadium(port, "set", "long", "x", "--expire", "60s")
    client.set("touched", "x", expire=60)
    stadium(port, "touch", "touched", "--expire", "1s")
    servers.until("the end of both", lambda: client.get("short") is None and client.get("touched") is None)
    assert client.get("long") == b"x"
