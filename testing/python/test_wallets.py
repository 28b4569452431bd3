"""Wallets over HTTP, on the built binary: what another language sees, and what a restart keeps."""

import concurrent.futures
import csv
import io
import json
import urllib.parse
import uuid

import pytest

from device import unique
from server import PEER, until

pytestmark = pytest.mark.skipif(PEER == "mosquitto", reason="the wallets of stadium")

ASSET = "COIN"


def ask(server, method, path, body=None, status=200, headers=()):
    given, answer = server.call(method, path, body, headers=headers)
    assert given == status, f"{method} {path}: {given} {answer}"
    return answer


@pytest.fixture
def books(server):
    """The session's server with the asset declared, and names of the test's own."""
    return Books(server)


class Books:
    def __init__(self, server):
        self.server = server
        ask(server, "PUT", f"/api/assets/{ASSET}", {"scale": 2})

    def open(self, tag="", **rules):
        wallet = tag + unique("person").replace("/", "-")
        ask(self.server, "POST", "/api/wallets", {"wallet": wallet, "asset": ASSET, **rules}, status=201)
        return wallet

    def transfer(self, debit, credit, amount, status=201, headers=(), **more):
        body = {"debit": debit, "credit": credit, "asset": ASSET, "amount": amount, **more}
        if not headers:
            body.setdefault("id", str(uuid.uuid4()))
        return ask(self.server, "POST", "/api/transfers", body, status, headers)

    def account(self, wallet):
        return ask(self.server, "GET", f"/api/wallets/{urllib.parse.quote(wallet)}/{ASSET}")

    def has(self, wallet):
        account = self.account(wallet)
        return account["posted"], account["held"], account["available"]


def test_an_amount_that_leaves_one_arrives_at_the_other(books):
    ann, ben = books.open(), books.open()
    books.transfer("@shop", ann, 500, reference="bill 1")
    booked = books.transfer(ann, ben, 120, reference="gift", metadata={"for": "birthday"})
    assert booked["duplicate"] is False
    assert (books.has(ann), books.has(ben)) == ((380, 0, 380), (120, 0, 120))
    found = ask(books.server, "GET", f"/api/transfers/{booked['id']}")
    assert (found["debit"], found["credit"], found["amount"], found["state"]) == (ann, ben, 120, "posted")
    assert json.loads(found["metadata"]) == {"for": "birthday"}
    entries = ask(books.server, "GET", f"/api/wallets/{ann}/{ASSET}/history")["entries"]
    assert [(each["direction"], each["amount"], each["balance"]) for each in entries] == [("debit", 120, 380), ("credit", 500, 500)]
    assert [each["transfer"]["reference"] for each in entries] == ["gift", "bill 1"]


@pytest.mark.parametrize(
    "change, status, code",
    [
        ({"amount": 501}, 409, "WAL-023"),
        ({"amount": 0}, 422, "WAL-002"),
        ({"credit": "nobody"}, 404, "WAL-021"),
        ({"asset": "NONE"}, 404, "WAL-020"),
    ],
)
def test_a_refused_request_changes_nothing(books, change, status, code):
    ann, ben = books.open(), books.open()
    books.transfer("@shop", ann, 500)
    body = {"id": str(uuid.uuid4()), "debit": ann, "credit": ben, "asset": ASSET, "amount": 1} | change
    problem = ask(books.server, "POST", "/api/transfers", body, status)
    assert problem["code"] == code, problem
    assert (books.has(ann), books.has(ben)) == ((500, 0, 500), (0, 0, 0))
    # The id was not used up.
    books.transfer(ann, ben, 1, id=body["id"])


def test_the_same_id_is_the_same_transfer(books):
    ann = books.open()
    books.transfer("@shop", ann, 5, headers={"Idempotency-Key": unique("bill")})
    named = {"Idempotency-Key": unique("bill")}
    first = books.transfer("@shop", ann, 7, headers=named)
    again = books.transfer("@shop", ann, 7, status=200, headers=named)
    assert (again["id"], again["booked_at"], again["duplicate"]) == (first["id"], first["booked_at"], True)
    assert books.transfer("@shop", ann, 8, status=422, headers=named)["code"] == "WAL-026"
    assert books.has(ann)[0] == 12


def test_a_hold_is_captured_in_part_and_the_rest_is_free(books):
    ann, shop = books.open(), books.open()
    books.transfer("@shop", ann, 100)
    hold = books.transfer(ann, shop, 60, kind="hold", expires_after_ms=600_000)
    assert books.has(ann) == (100, 60, 40)
    assert books.transfer(ann, shop, 41, status=409)["code"] == "WAL-023"
    [held] = ask(books.server, "GET", f"/api/wallets/{ann}/holds")["holds"]
    assert (held["id"], held["amount"], held["credit"]) == (hold["id"], 60, shop)
    ask(books.server, "POST", f"/api/transfers/{hold['id']}/capture", {"amount": 25}, status=201)
    assert (books.has(ann), books.has(shop)) == ((75, 0, 75), (25, 0, 25))
    problem = ask(books.server, "POST", f"/api/transfers/{hold['id']}/void", {"id": str(uuid.uuid4())}, status=409)
    assert problem["code"] == "WAL-027"


def test_a_hold_that_nobody_captures_ends_by_itself(books):
    ann = books.open()
    books.transfer("@shop", ann, 10)
    books.transfer(ann, "@prize", 10, kind="hold", expires_after_ms=1_000)
    assert books.has(ann) == (10, 10, 0)
    until("the hold's end", lambda: books.has(ann) == (10, 0, 10))


def test_linked_transfers_are_all_or_none(books):
    # A common tag brings them to one shard, where each transfer sees what those before it did.
    tag = "{%s}" % unique("family").replace("/", "-")
    people = [books.open(tag) for _ in range(4)]
    books.transfer("@shop", people[0], 100)

    def linked(amounts, status):
        ways = zip(people, people[1:], amounts)
        transfers = [{"id": str(uuid.uuid4()), "debit": debit, "credit": credit, "asset": ASSET, "amount": amount} for debit, credit, amount in ways]
        return ask(books.server, "POST", "/api/transfers/batch", {"linked": True, "transfers": transfers}, status)

    assert linked([50, 40, 41], 409)["code"] == "WAL-032"
    assert [books.has(each)[0] for each in people] == [100, 0, 0, 0]
    linked([50, 40, 30], 200)
    assert [books.has(each)[0] for each in people] == [50, 10, 10, 30]


def test_a_transfer_is_taken_back_once(books):
    ann, ben = books.open(), books.open()
    books.transfer("@shop", ann, 10)
    gift = books.transfer(ann, ben, 10)
    ask(books.server, "POST", f"/api/transfers/{gift['id']}/reverse", {"reference": "returned"}, status=201)
    assert (books.has(ann)[0], books.has(ben)[0]) == (10, 0)
    problem = ask(books.server, "POST", f"/api/transfers/{gift['id']}/reverse", {"id": str(uuid.uuid4())}, status=409)
    assert problem["code"] == "WAL-029"
    assert ask(books.server, "GET", f"/api/transfers/{gift['id']}")["state"] == "reversed"


def test_a_statement_has_every_line(books):
    ann = books.open()
    for amount in range(1, 251):
        books.transfer("@shop", ann, amount, reference=f"bill {amount}, \"paid\"")
    status, text = books.server.call("GET", f"/api/wallets/{ann}/{ASSET}/statement?format=csv")
    assert status == 200
    lines = list(csv.DictReader(io.StringIO(text)))
    assert len(lines) == 250
    assert [line["reference"] for line in lines][:2] == ['bill 250, "paid"', 'bill 249, "paid"']
    page, seen = {"next": None}, []
    while True:
        after = f"?before={page['next']}&limit=100" if page["next"] else "?limit=100"
        page = ask(books.server, "GET", f"/api/wallets/{ann}/{ASSET}/history{after}")
        seen += [entry["amount"] for entry in page["entries"]]
        if not page["next"]:
            break
    assert seen == list(range(250, 0, -1))


def test_thirty_two_clients_spend_exactly_the_credit(books):
    ann = books.open()
    books.transfer("@shop", ann, 100)

    def spend(_):
        body = {"id": str(uuid.uuid4()), "debit": ann, "credit": "@candidate:1", "asset": ASSET, "amount": 1}
        return books.server.call("POST", "/api/transfers", body)[0]

    with concurrent.futures.ThreadPoolExecutor(32) as pool:
        statuses = list(pool.map(spend, range(160)))
    assert (statuses.count(201), statuses.count(409)) == (100, 60)
    assert books.has(ann) == (0, 0, 0)


def test_a_debit_and_a_job_are_one(books):
    ann, queue = books.open(), unique("ballots")
    books.transfer("@shop", ann, 1)
    vote = {
        "transfers": [{"id": str(uuid.uuid4()), "debit": ann, "credit": "@candidate:1", "asset": ASSET, "amount": 1}],
        "jobs": [{"queue": queue, "job": {"payload": "ballot"}}],
    }
    answer = ask(books.server, "POST", "/api/together", vote, status=201)
    assert len(answer["transfers"]) == 1 and len(answer["jobs"]) == 1
    ask(books.server, "POST", "/api/together", vote, status=200)
    vote["transfers"][0]["id"] = str(uuid.uuid4())
    assert ask(books.server, "POST", "/api/together", vote, status=409)["code"] in ("WAL-023", "WAL-032")
    jobs = ask(books.server, "POST", f"/api/queues/{queue}/reserve", {"max": 10, "wait_ms": 5_000})["jobs"]
    assert [job["payload"] for job in jobs] == ["ballot"], "one vote, one ballot"


def test_booked_transfers_are_there_after_a_restart(start):
    server = start(settings="[shards]\ncount = 2\n")
    books = Books(server)
    ann, ben = books.open(), books.open(ceiling=1_000)
    books.transfer("@shop", ann, 500)
    gift = books.transfer(ann, ben, 200, reference="gift")
    # Where the wallets live on two shards, the second books a short time after the first.
    until("the credit", lambda: books.has(ben) == (200, 0, 200))
    hold = books.transfer(ann, ben, 100, kind="hold", expires_after_ms=3_600_000)
    before = [books.account(each) for each in (ann, ben)]
    assets = ask(server, "GET", "/api/assets")

    server.restart()

    assert [books.account(each) for each in (ann, ben)] == before
    assert ask(server, "GET", "/api/assets") == assets
    again = books.transfer(ann, ben, 200, status=200, id=gift["id"], reference="gift")
    assert (again["duplicate"], again["booked_at"]) == (True, gift["booked_at"])
    ask(server, "POST", f"/api/transfers/{hold['id']}/capture", {}, status=201)
    assert (books.has(ann), books.has(ben)) == ((200, 0, 200), (300, 0, 300))
    assert books.transfer("@shop", ben, 701, status=409)["code"] == "WAL-024"
    # A balance at a time goes by the entry of the account's own shard, which may be later than the answer.
    entries = ask(server, "GET", f"/api/wallets/{ben}/{ASSET}/history")["entries"]
    came_at = next(entry["transfer"]["booked_at"] for entry in entries if entry["transfer"]["id"] == gift["id"])
    assert came_at >= gift["booked_at"]
    assert json.dumps(ask(server, "GET", f"/api/wallets/{ben}/{ASSET}/balance?at={came_at}")["posted"]) == "200"
