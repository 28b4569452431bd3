"""Wallets on a real server: never overdrawn, at most once, and receipts that prove it."""

import asyncio
import copy
import json
import uuid

import pytest

import stadium
from conftest import until
from stadium.wallet import NO_CEILING, Account, BookedUnit, QueuedJob, Transfer, Unit, Wallets, id_from


@pytest.fixture
def client(node):
    with stadium.Client(node.rpc, api_key=stadium.ApiKey.from_file(node.admin_key)) as client:
        yield client


@pytest.fixture
def wallets(client):
    wallets = Wallets(client)
    wallets.declare("EUR", 2)
    wallets.declare("VOTE")
    return wallets


def test_amounts_are_moved_held_and_found(wallets):
    assert wallets.open("alice", "EUR") and not wallets.open("alice", "EUR")
    results = wallets.open_many([Account("bob", "EUR", ceiling=500), Account("alice", "EUR", ceiling=1)])
    assert results[0] is True and results[1].code == "WAL-031"
    wallets.deposit("alice", "EUR", 1250, reference="opening")
    paid = wallets.transfer("alice", "bob", "EUR", 250, reference="lunch", metadata=b"soup")
    hold = wallets.hold("alice", "bob", "EUR", 300, expires=60)
    assert wallets.balance("alice", "EUR") == stadium.wallet.Balance(1000, 300, 700)
    assert [each.amount for each in wallets.holds("alice")] == [300]
    wallets.capture(hold.id, 100)
    other = wallets.hold("alice", "bob", "EUR", 10, expires=60)
    wallets.void(other.id)
    with pytest.raises(stadium.Rejected) as spent:
        wallets.capture(hold.id)
    assert spent.value.code.startswith("WAL-")
    wallets.reverse(paid.id)
    assert wallets.balances("bob") == {"EUR": stadium.wallet.Balance(100, 0, 100)}
    with pytest.raises(stadium.Rejected) as ceiling:
        wallets.transfer("alice", "bob", "EUR", 401)
    assert ceiling.value.code.startswith("WAL-")
    wallets.change("bob", "EUR", ceiling=NO_CEILING)
    wallets.transfer("alice", "bob", "EUR", 401)
    with pytest.raises(stadium.Rejected) as overdrawn:
        wallets.transfer("alice", "bob", "EUR", 10_000)
    assert overdrawn.value.code == "WAL-023"
    found = wallets.find(paid.id)
    assert (found.reference, found.metadata, found.amount) == ("lunch", b"soup", 250)
    entries = list(wallets.history("alice", "EUR", direction="debit"))
    assert [entry.transfer.amount for entry in entries] == [401, 100, 250]
    assert list(wallets.statement("alice", "EUR", direction="debit")) == entries
    assert [entry.transfer.amount for entry in wallets.history("alice", "EUR", reference="lunch")] == [250]
    assert wallets.balance("alice", "EUR", at=0.5).posted == 0
    assert wallets.balance("alice", "EUR", at=paid.booked_at).posted == 1000
    assert {account.wallet for account in wallets.accounts("b")} == {"bob"}
    assert {("EUR", 2), ("VOTE", 0)} <= {(asset.asset, asset.scale) for asset in wallets.assets()}
    wallets.change("bob", "EUR", closed=True)
    with pytest.raises(stadium.Rejected):
        wallets.transfer("alice", "bob", "EUR", 1)


def test_the_same_id_is_booked_once(wallets):
    wallets.open("carol", "EUR")
    id = id_from("payment", "store-4711")
    assert id == id_from("payment", "store-4711") != id_from("payments", "tore-4711")
    first = wallets.deposit("carol", "EUR", 100, id=id)
    again = wallets.deposit("carol", "EUR", 100, id=str(id))
    assert (first.duplicate, again.duplicate) == (False, True) and again.booked_at == first.booked_at
    with pytest.raises(stadium.Rejected) as other:
        wallets.deposit("carol", "EUR", 101, id=id.bytes)
    assert other.value.code == "WAL-026" and wallets.balance("carol", "EUR").posted == 100


def test_linked_transfers_are_booked_all_or_none(wallets):
    wallets.open_many([Account("{d}:1", "EUR"), Account("{d}:2", "EUR")])
    wallets.deposit("{d}:1", "EUR", 100)
    pair = [Transfer.post("{d}:1", "{d}:2", "EUR", 60), Transfer.post("{d}:1", "@shop", "EUR", 60)]
    with pytest.raises(stadium.Rejected) as refused:
        wallets.book(pair, linked=True)
    assert refused.value.code == "WAL-032"
    assert wallets.balance("{d}:1", "EUR").posted == 100
    each = wallets.book([Transfer.post("{d}:1", "{d}:2", "EUR", 60), Transfer.post("{d}:1", "@shop", "EUR", 60)])
    assert not isinstance(each[0], stadium.Error) and each[1].code == "WAL-023"


def test_votes_are_paid_for_and_never_overdrawn_however_many_ask_at_once(node, client, wallets):
    """Thirty voters with three votes each cast ten at once: ninety count, and each has its job."""

    async def story():
        async with stadium.aio.Client(node.rpc, api_key=node.admin_key.read_text()) as client:
            books = stadium.aio.wallet.Wallets(client)
            voters = [f"voter:{nth}" for nth in range(30)]
            await books.open_many([Account(voter, "VOTE") for voter in voters])
            await asyncio.gather(*(books.deposit(voter, "VOTE", 3, source="@shop") for voter in voters))

            async def vote(voter):
                paid = Transfer.post(voter, "@poll:ann", "VOTE", 1)
                return (await books.together([Unit([paid], [QueuedJob("ballots", voter.encode())])]))[0]

            results = await asyncio.gather(*(vote(voter) for voter in voters for _ in range(10)))
            balances = [await books.balance(voter, "VOTE") for voter in voters]
            return results, balances, await books.balance("@poll:ann", "VOTE")

    results, balances, ann = asyncio.run(asyncio.wait_for(story(), 60))
    counted = [result for result in results if isinstance(result, BookedUnit)]
    refused = [result.code for result in results if isinstance(result, stadium.Error)]
    assert len(counted) == 90 and refused == ["WAL-023"] * 210
    assert {balance.posted for balance in balances} == {0} and ann.posted == 90
    queue = stadium.queue.Queue(client, "ballots")
    assert queue.stats().put == 90 and {len(result.jobs) for result in counted} == {1}


def test_a_receipt_is_checked_offline_and_an_altered_one_refused(node, wallets, tmp_path):
    wallets.open("erin", "EUR")
    paid = wallets.deposit("erin", "EUR", 4_200, reference="receipt")
    text = receipt_of(node, paid.id)
    receipt = json.loads(text)
    until("its root is published", lambda: _roots(wallets, receipt))
    roots = _roots(wallets, receipt)
    proved = stadium.wallet.check_receipt(text, roots)
    assert (proved.transfer, proved.kind, proved.debit, proved.credit) == (paid.id, "post", "@bank", "erin")
    assert (proved.asset, proved.scale, proved.amount) == ("EUR", 2, 4_200)
    assert proved.booked_at == paid.booked_at and proved.root.hex() == receipt["root"]
    file = tmp_path / "receipt.json"
    file.write_text(text)
    assert stadium.wallet.check_receipt(file, receipt["root"]) == proved
    # The command line says the same.
    shown = node.cli("wallet", "check", str(file), "--root", receipt["root"], "--json").stdout
    assert json.loads(shown)["amount"] == 4_200

    refused = 0
    for altered in _altered(receipt):
        with pytest.raises(stadium.wallet.BadReceipt):
            stadium.wallet.check_receipt(altered, receipt["root"])
        refused += 1
    assert refused > 100
    with pytest.raises(stadium.wallet.BadReceipt, match="none that was published"):
        stadium.wallet.check_receipt(receipt, "00" * 32)
    for no_receipt in ("", "[]", "{}", b"\xff", "{", json.dumps({**receipt, "version": 2})):
        with pytest.raises(stadium.wallet.BadReceipt):
            stadium.wallet.check_receipt(no_receipt, receipt["root"])


def test_receipts_of_holds_captures_and_transfers_between_shards_are_read(node, wallets):
    # Of four names one at least is on another shard than the first.
    names = [f"shards-{nth}" for nth in range(4)]
    wallets.open_many([Account(name, "EUR") for name in names])
    wallets.deposit(names[0], "EUR", 1_000)
    hold = wallets.hold(names[0], "@shop", "EUR", 70, expires=60, reference="r", metadata=b"m")
    void = wallets.void(wallets.hold(names[0], names[1], "EUR", 5, expires=60).id)
    capture = wallets.capture(hold.id, 30)
    moved = [wallets.transfer(names[0], name, "EUR", 7, effective=5.0) for name in names[1:]]
    reversed_ = wallets.reverse(moved[0].id)
    wanted = {
        hold.id: ("hold", names[0], "@shop", 70),
        void.id: ("void", names[0], names[1], 5),
        capture.id: ("capture", names[0], "@shop", 30),
        **{each.id: ("post", names[0], name, 7) for each, name in zip(moved, names[1:])},
        reversed_.id: ("reverse", names[1], names[0], 7),
    }
    for id, (kind, debit, credit, amount) in reversed(wanted.items()):
        receipt = json.loads(receipt_of(node, id))
        proved = stadium.wallet.check_receipt(receipt, receipt["root"])
        assert proved.transfer == id
        assert (proved.kind, proved.debit, proved.credit, proved.amount) == (kind, debit, credit, amount)


def receipt_of(node, id):
    """The receipt, once a seal covers the transfer."""
    made = []

    def make():
        asked = node.cli("wallet", "receipt", str(node.data), str(id), check=False)
        made.append(asked.stdout)
        return asked.returncode == 0

    until("it is sealed", make)
    return made[-1]


def _roots(wallets, receipt):
    found = [root.root for root in wallets.roots(receipt["shard"], most=1_000)]
    return found if bytes.fromhex(receipt["root"]) in found else []


def _altered(receipt):
    """The receipt with one thing changed: each digit of the transfer's event, each number, each hash."""
    for nth in range(len(receipt["proofs"][0]["event"])):
        changed = copy.deepcopy(receipt)
        event = changed["proofs"][0]["event"]
        changed["proofs"][0]["event"] = event[:nth] + format(int(event[nth], 16) ^ 1, "x") + event[nth + 1 :]
        yield changed
    for name in ("time", "event_index", "events", "record_index", "records", "seal"):
        changed = copy.deepcopy(receipt)
        changed["proofs"][0][name] += 1
        yield changed
    for name in ("chain_before", "root_before"):
        changed = copy.deepcopy(receipt)
        changed["proofs"][0][name] = "00" * 32
        yield changed
    for name in ("event_path", "record_path"):
        changed = copy.deepcopy(receipt)
        changed["proofs"][0][name] = [*changed["proofs"][0][name], "00" * 32]
        yield changed


def test_wrong_amounts_and_ids_are_errors_at_once(wallets):
    for amount in (0, -1, 1.5, True, 2**63):
        with pytest.raises(ValueError, match="amount"):
            wallets.transfer("a", "b", "EUR", amount)
    with pytest.raises(ValueError, match="system wallet"):
        wallets.deposit("a", "EUR", 1, source="bank")
    with pytest.raises(ValueError):
        wallets.find("no uuid")
    with pytest.raises(ValueError, match="direction"):
        list(wallets.history("a", "EUR", direction="up"))
    with pytest.raises(stadium.Rejected):
        wallets.find(uuid.uuid4())
