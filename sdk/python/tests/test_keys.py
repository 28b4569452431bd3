"""API keys: where they come from, that they rotate, end, and are shown nowhere."""

import asyncio
import logging
import pickle
import time

import pytest

import stadium
from conftest import SOON, until
from stadium._key import ApiKey
from stadium.queue import Queue

SECRET = "sk_topsecret"


def test_a_key_is_shown_nowhere(tmp_path, caplog, monkeypatch):
    file = tmp_path / "worker.key"
    file.write_text(SECRET + "\n")
    monkeypatch.setenv("STADIUM_KEY", SECRET)
    keys = [ApiKey(SECRET), ApiKey.from_file(file), ApiKey.from_env(), ApiKey.from_callable(lambda: SECRET)]
    caplog.set_level(logging.DEBUG)
    for key in keys:
        assert SECRET.encode() in key.entry()
        with stadium.Client("127.0.0.1:1", api_key=key, unreachable_grace=0) as client:
            shown = f"{key} {key!r} {client!r} {vars(client)}"
            with pytest.raises(stadium.Unavailable) as failed:
                Queue(client, "q").stats()
        assert SECRET not in shown and SECRET not in str(failed.value) and SECRET not in caplog.text
        with pytest.raises(TypeError, match="pickled"):
            pickle.dumps(key)
    assert "worker.key" in repr(keys[1]) and "STADIUM_KEY" in repr(keys[2])


def test_a_key_that_is_no_key_is_an_error_that_does_not_quote_it(tmp_path, monkeypatch):
    for wrong in ("", " ", "two words", "käse-geheim", "line\nbreak"):
        with pytest.raises(ValueError) as error:
            ApiKey(wrong).entry()
        assert "gave no key" in str(error.value) and not (wrong.strip() and wrong in str(error.value))
    with pytest.raises(FileNotFoundError):
        ApiKey.from_file(tmp_path / "none").entry()
    monkeypatch.delenv("STADIUM_KEY", raising=False)
    with pytest.raises(LookupError, match="STADIUM_KEY"):
        ApiKey.from_env().entry()
    with pytest.raises(ValueError, match="both"):
        stadium.Client("127.0.0.1:1", api_key="a", bearer="b")


def test_a_source_that_fails_later_leaves_the_key(tmp_path):
    file = tmp_path / "key"
    file.write_text("one")
    key = ApiKey.from_file(file)
    assert b"one" in key.entry()
    file.unlink()
    assert not key.changed() and b"one" in key.entry()
    file.write_text("")
    assert not key.changed()
    file.write_text("two")
    assert key.changed() and b"two" in key.entry()


def test_a_source_is_not_asked_for_each_call():
    asked = []
    key = ApiKey.from_callable(lambda: asked.append(1) or "key")
    for _ in range(1_000):
        key.entry()
    assert len(asked) <= 2


def test_a_key_that_is_revoked_is_a_typed_error_for_all_calls_and_nothing_hangs(node):
    id, secret = node.key(roles=["worker"])

    async def story():
        async with stadium.aio.Client(node.rpc, api_key=secret) as client:
            queue = stadium.aio.queue.Queue(client, "revoked")
            await queue.put(b"x")
            waiting = [asyncio.ensure_future(queue.reserve(wait=2)) for _ in range(3)]
            node.revoke(id)
            start = time.monotonic()
            while True:
                try:
                    await queue.put(b"y")
                    assert time.monotonic() - start < SOON
                except stadium.Rejected as error:
                    assert error.code == "NODE-009" and secret not in str(error)
                    break
            ended = await asyncio.gather(*waiting, return_exceptions=True)
            assert all(isinstance(each, (list, stadium.Error)) for each in ended)

    asyncio.run(asyncio.wait_for(story(), SOON))


def test_a_key_that_expires_is_refused(node):
    _, secret = node.key(roles=["worker"], expires_in_s=1)
    with stadium.Client(node.rpc, api_key=secret) as client:
        queue = Queue(client, "expires")
        queue.put(b"x")

        def refused():
            try:
                queue.put(b"y")
                return False
            except stadium.Rejected as error:
                return error.code == "NODE-009"

        until("the key has expired", refused)


def test_a_right_that_is_missing_has_the_code_and_names_it(node):
    _, secret = node.key(grants=["queue.put:mine"])
    with stadium.Client(node.rpc, api_key=secret) as client:
        Queue(client, "mine").put(b"x")
        with pytest.raises(stadium.Rejected, match="queue.put:yours") as refused:
            Queue(client, "yours").put(b"x")
        assert refused.value.code == "NODE-009"


def test_a_key_is_rotated_under_a_client(node, tmp_path):
    (id, old), (_, new) = node.key(roles=["worker"]), node.key(roles=["worker"])
    file = tmp_path / "key"
    file.write_text(old)
    with stadium.Client(node.rpc, api_key=ApiKey.from_file(file)) as client:
        queue = Queue(client, "rotated")
        queue.put(b"x")
        file.write_text(new)
        time.sleep(1.05)  # The age at which a key is asked for again.
        node.revoke(id)
        time.sleep(0.3)  # The time after which a revoked key is refused over RPC.
        queue.put(b"y")
