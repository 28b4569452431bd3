"""From the last release to this program under load, and back, as docs/upgrading.md says."""

import re
import shutil
import tempfile
from pathlib import Path

import pytest
from load import ASSET, ISSUED, WALLETS, Load
from program import NEW, OLD, Installed, must


@pytest.fixture
def server():
    installed = Installed(OLD)
    yield installed
    installed.stop()


@pytest.fixture
def place():
    folder = Path(tempfile.mkdtemp(prefix="stadium-upgrade-"))
    yield folder
    shutil.rmtree(folder)


def test_nothing_promised_is_lost_by_an_upgrade_under_load_and_by_the_way_back(server, place):
    load = Load(server)
    try:
        load.goes_on()
        key = server.ask("POST", "/api/keys", {"name": "upgrade", "roles": ["admin"]})["secret"]
        server.terminate()

        # The steps of docs/upgrading.md: a backup of the stopped server, then the new program.
        url = f"file://{place}/backups"
        must(NEW, "backup", "create", server.data, "--to", url)
        verified = must(NEW, "backup", "verify", url)
        assert "wallet root of shard 0" in verified, verified
        before, promised = load.counts(), load.promised()
        server.begin(NEW)
        load.goes_on()
        # Once more, without a change of the program.
        server.terminate()
        server.begin(NEW)
        load.goes_on()
        load.stop()
        after = load.counts()
        assert all(after[kind] > before[kind] for kind in before), (before, after)
        assert all(phone.connects >= 3 for phone in load.readers + load.writers)
        load.everything_promised_is_there()
        # The key of before works, and is told from a wrong one.
        assert server.call("GET", "/api/queues", key=key)[0] == 200
        assert server.call("GET", "/api/queues", key=key[:-4] + "AAAA")[0] == 401
        load.close()
        server.terminate()
        books = must(NEW, "wallet", "verify", server.data)
        print(f"promised before the upgrade: {before}\npromised in all: {after}\n{books}")

        # The old program refuses what a newer one wrote, and leaves it as it is; or it reads all of it.
        refusal = server.tries(OLD)
        print(f"the old program on the new directory: {refusal or 'serves it'}")
        if refusal:
            assert re.search(r"version|newer", refusal), refusal
        else:
            has_balances(server)
            server.terminate()
        server.begin(NEW)
        has_balances(server)
        server.terminate()

        # The way back: the backup of before the upgrade, restored and served by the old program.
        back = place / "back"
        must(NEW, "restore", url, "--data", back)
        shutil.copy(server.data / "admin.key", back / "admin.key")
        server.begin(OLD, data=back)
        assert server.call("GET", "/api/queues", key=key)[0] == 200
        has_balances(server)
        promised.are_there(server)
    finally:
        load.close()


def has_balances(server):
    posted = [server.ask("GET", f"/api/wallets/{wallet}/{ASSET}")["posted"] for wallet in WALLETS]
    assert sum(posted) == ISSUED * len(WALLETS), posted
