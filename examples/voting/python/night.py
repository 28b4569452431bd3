"""A voting night over the Python SDK: `night.py DATA`, with the data directory of a running server.

Voters buy three votes each and try to cast five, all at once. A vote is a transfer from the voter's
wallet to the candidate's, and its id is made of what it is for. So the program may be started again:
nothing is paid twice. The exit code is 1 where the books are not as they must be.
"""

from __future__ import annotations

import asyncio
import json
import os
import pathlib
import sys
import uuid
from typing import Dict, List, NamedTuple, Optional

import stadium
from stadium.aio.audiences import Devices
from stadium.aio.push import Push, Pushes
from stadium.aio.wallet import Account, Booked, Wallets, check_receipt, id_from

POLL, ASSET, LANGUAGE = "final", "VOTE", "python"
CANDIDATES = ("ann", "ben")
VOTERS = [f"{LANGUAGE}-{nth}" for nth in range(20)]
#: Votes that each voter buys, and tries to cast.
BOUGHT, CAST = 3, 5
#: Votes that are sent again although they were paid.
REPEATED = 20
#: The longest that the night may take, in seconds. A receipt waits for the seal: a minute at most.
PATIENCE = 100


class Vote(NamedTuple):
    voter: str
    nth: int

    @property
    def candidate(self) -> str:
        return CANDIDATES[0 if (VOTERS.index(self.voter) + self.nth) % 3 else 1]


class Night:
    def __init__(self, data: pathlib.Path, client: stadium.aio.Client) -> None:
        self.data = data
        self.wallets = Wallets(client)
        self.devices = Devices(client)
        self.pushes = Pushes(client)

    async def sell(self) -> int:
        """Opens the voters' accounts, and sells them their votes: a payment counts once."""
        await self.wallets.declare(ASSET)
        accounts = [Account(f"voter:{voter}", ASSET) for voter in VOTERS]
        for opened in await self.wallets.open_many(accounts):
            if isinstance(opened, stadium.Error):
                raise opened
        payments = [
            self.book("@shop", f"voter:{voter}", BOUGHT, id_from("payment", POLL, voter))
            for voter in VOTERS
        ]
        return BOUGHT * sum(one is not None for one in await asyncio.gather(*payments))

    async def cast(self, vote: Vote) -> Optional[Booked]:
        """Casts a vote; None where the voter has none left. The same vote again is the same transfer."""
        id = id_from("vote", POLL, vote.voter, str(vote.nth))
        return await self.book(f"voter:{vote.voter}", f"@{POLL}:{vote.candidate}", 1, id)

    async def book(self, debit: str, credit: str, amount: int, id: uuid.UUID) -> Optional[Booked]:
        """Books a transfer; None where there is not enough.

        The request is sent until its outcome is known. Its id makes that safe.
        """
        while True:
            try:
                return await self.wallets.transfer(debit, credit, ASSET, amount, id=id, reference=POLL)
            except stadium.Rejected as refused:
                if refused.code != "WAL-023":
                    raise
                return None
            except stadium.Error as error:
                await asyncio.sleep(error.retry_after if isinstance(error, stadium.Busy) else 0.1)

    async def proves(self, paid: Booked, vote: Vote) -> bool:
        """Checks without the server that a receipt proves the vote under a published root."""
        receipt = await self.receipt(paid)
        published = await self.wallets.roots(receipt["shard"], after=receipt["seal"] - 1, most=1)
        proved = check_receipt(receipt, [root.root for root in published])
        names = (proved.debit, proved.credit, proved.asset, proved.amount)
        return (
            proved.transfer == paid.id
            and names == (f"voter:{vote.voter}", f"@{POLL}:{vote.candidate}", ASSET, 1)
        )  # fmt: skip

    async def receipt(self, paid: Booked) -> Dict[str, object]:
        """The receipt of a transfer, as soon as a seal covers it. The audit of the server writes it."""
        stadium_bin = os.environ.get("STADIUM_BIN", "stadium")
        command = [stadium_bin, "wallet", "receipt", str(self.data), str(paid.id)]
        while True:
            pipe = asyncio.subprocess.PIPE
            audit = await asyncio.create_subprocess_exec(*command, stdout=pipe, stderr=pipe)
            text, _ = await audit.communicate()
            if audit.returncode == 0:
                return json.loads(text)
            await asyncio.sleep(0.2)

    async def standings(self) -> Dict[str, int]:
        """The votes of each candidate, those of other programs too."""
        balances = [await self.wallets.balance(f"@{POLL}:{each}", ASSET) for each in CANDIDATES]
        return {each: balance.posted for each, balance in zip(CANDIDATES, balances)}

    async def announce(self, winner: str) -> int:
        """Pushes the winner to the voters' devices; how many are told."""
        await self.devices.change_many({voter: {"tags": {"add": [LANGUAGE]}} for voter in VOTERS})
        push = Push(selector={"tag": LANGUAGE}, title=f"The winner is {winner}", expiry=3600)
        sent = await self.pushes.send(push, id=id_from("winner", POLL, LANGUAGE, winner))
        while (await self.pushes.find(sent.id)).counts.targeted < len(VOTERS):
            await asyncio.sleep(0.02)
        return (await self.pushes.find(sent.id)).counts.targeted

    async def left(self) -> int:
        """Votes that were bought and not cast."""
        balances = [await self.wallets.balance(f"voter:{voter}", ASSET) for voter in VOTERS]
        return sum(balance.available for balance in balances)

    async def is_balanced(self) -> bool:
        """Checks that each vote that somebody has was given by somebody."""
        votes = next(asset for asset in await self.wallets.assets() if asset.asset == ASSET)
        return votes.credit == votes.debit


async def run(data: pathlib.Path) -> int:
    listeners = json.loads((data / "running.json").read_text())["listeners"]
    rpc = next(each["address"] for each in listeners if each["name"] == "rpc")
    key = stadium.ApiKey.from_file(data / "admin.key")
    async with stadium.aio.Client(rpc, api_key=key, deadline=30.0) as client:
        night = Night(data, client)
        credits = await night.sell()
        votes = [Vote(voter, nth) for nth in range(CAST) for voter in VOTERS]
        booked = await asyncio.gather(*map(night.cast, votes))
        paid = [(vote, one) for vote, one in zip(votes, booked) if one is not None]
        again = await asyncio.gather(*(night.cast(vote) for vote, _ in paid[:REPEATED]))
        twice = sum(one is None or not one.duplicate for one in again)
        is_proved = await night.proves(paid[0][1], paid[0][0])
        left, standings = await night.left(), await night.standings()
        winner = max(CANDIDATES, key=lambda each: standings[each])
        told = await night.announce(winner)
        is_balanced = await night.is_balanced()

    rows: List[object] = [
        ("voters", len(VOTERS)),
        ("votes bought", credits),
        ("votes cast", len(votes)),
        ("votes paid", len(paid)),
        ("votes refused", len(votes) - len(paid)),
        ("sent again", len(again)),
        ("paid twice", twice),
        ("votes left", left),
        ("receipt", "proved" if is_proved else "wrong"),
        *((f"@{POLL}:{each}", standings[each]) for each in CANDIDATES),
        ("winner", winner),
        ("devices told", told),
        ("books", "balance" if is_balanced else "differ"),
    ]
    for name, value in rows:
        print(f"{name:<16}{value:>8}")
    are_right = (
        len(paid) == credits and (twice, left) == (0, 0) and is_proved and is_balanced
        and sum(standings.values()) >= len(paid) and told == len(VOTERS)
    )  # fmt: skip
    return 0 if are_right else 1


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("night.py DATA: the data directory of a running `stadium serve`")
    try:
        sys.exit(asyncio.run(asyncio.wait_for(run(pathlib.Path(sys.argv[1])), PATIENCE)))
    except (stadium.Error, OSError, asyncio.TimeoutError) as error:
        sys.exit(f"night.py: {error or 'it takes too long'}")
