# Made of stadium/aio/wallet.py by generate.py: change that file.
"""Wallets: accounts, transfers, holds, balances and receipts.

docs/wallet.md describes their guarantees. Amounts are whole minor units. Every transfer has an id, so the
same request can be sent again: give an id of your own, such as `id_from("payment", "store-4711")`, where
the program may have to repeat it after a restart.
"""

from __future__ import annotations

from typing import Dict, Iterable, Iterator, List, Optional, Union

from . import _routes as routes
from ._books import (
    NO_CEILING,
    Account,
    Balance,
    Booked,
    BookedUnit,
    IdLike,
    More,
    NoCeiling,
    QueuedJob,
    Transfer,
    Unit,
    account_message,
    balance,
    balances,
    booked,
    booked_units,
    change_request,
    entries_request,
    id_from,
    id_of,
    one,
    opened,
    together_request,
    transfer_request,
)
from ._errors import Error
from ._jobs import bounded
from ._receipt import BadReceipt, Proved, check_receipt
from ._times import Moment, moment_ms
from .v1 import wallet_pb2 as pb
from ._blocking import Client

__all__ = [
    "NO_CEILING",
    "Account",
    "BadReceipt",
    "Balance",
    "Booked",
    "BookedUnit",
    "Proved",
    "QueuedJob",
    "Transfer",
    "Unit",
    "Wallets",
    "check_receipt",
    "id_from",
]


class Wallets:
    """The wallets of a server."""

    def __init__(self, client: Client) -> None:
        self._client = client

    def declare(self, asset: str, scale: int = 0) -> None:
        """Makes an asset known, with so many digits behind the point. Takes an admin's key."""
        request = pb.DeclareAssetRequest(asset=asset, scale=scale)
        self._client.call(routes.WALLET_DECLARE, request)

    def open(
        self, wallet: str, asset: str, *, overdraft: bool = False, ceiling: Optional[int] = None
    ) -> bool:
        """Opens an account. False where it was there with the same rules. Takes an admin's key."""
        result = (self.open_many([Account(wallet, asset, overdraft, ceiling)]))[0]
        if isinstance(result, Error):
            raise result
        return result

    def open_many(self, accounts: Iterable[Account]) -> List[Union[bool, Error]]:
        """Opens 1 to 1,000 accounts, each with a result in its order: as of `open`, or its error."""
        messages = [account_message(account) for account in accounts]
        bounded("accounts", messages)
        return opened(self._client.call(routes.WALLET_OPEN, pb.OpenRequest(accounts=messages)))

    def change(
        self,
        wallet: str,
        asset: str,
        *,
        overdraft: Optional[bool] = None,
        ceiling: Union[int, None, NoCeiling] = None,
        closed: Optional[bool] = None,
    ) -> None:
        """Changes an account's rules, closes it, or opens it again. What is None stays."""
        request = change_request(wallet, asset, overdraft, ceiling, closed)
        self._client.call(routes.WALLET_CHANGE, request)

    def transfer(
        self,
        debit: str,
        credit: str,
        asset: str,
        amount: int,
        *,
        id: Optional[IdLike] = None,
        reference: str = "",
        metadata: bytes = b"",
        effective: Optional[Moment] = None,
    ) -> Booked:
        """Moves an amount now. Raises `Rejected` (WAL-023) where the debited wallet has not enough."""
        more: More = {"reference": reference, "metadata": metadata, "effective": effective}
        return self._book(Transfer.post(debit, credit, asset, amount, id=id, **more))

    def deposit(
        self,
        wallet: str,
        asset: str,
        amount: int,
        *,
        source: str = "@bank",
        id: Optional[IdLike] = None,
        reference: str = "",
        metadata: bytes = b"",
    ) -> Booked:
        """Brings an amount into the books: a transfer from a system wallet, which may be overdrawn."""
        if not source.startswith("@"):
            raise ValueError(f"{source!r} is no system wallet: those begin with @")
        return self.transfer(
            source, wallet, asset, amount, id=id, reference=reference, metadata=metadata
        )

    def hold(
        self,
        debit: str,
        credit: str,
        asset: str,
        amount: int,
        *,
        expires: float,
        id: Optional[IdLike] = None,
        reference: str = "",
        metadata: bytes = b"",
    ) -> Booked:
        """Keeps an amount with its owner, not available, for `expires` seconds. The id is the hold's."""
        more: More = {"reference": reference, "metadata": metadata}
        return self._book(
            Transfer.hold(debit, credit, asset, amount, expires=expires, id=id, **more)
        )

    def capture(
        self, hold: IdLike, amount: Optional[int] = None, *, id: Optional[IdLike] = None
    ) -> Booked:
        """Moves a held amount, or a part of it; the rest is available again."""
        return self._book(Transfer.capture(hold, amount, id=id))

    def void(self, hold: IdLike, *, id: Optional[IdLike] = None) -> Booked:
        """Makes a held amount available again."""
        return self._book(Transfer.void(hold, id=id))

    def reverse(self, transfer: IdLike, *, id: Optional[IdLike] = None) -> Booked:
        """Moves all of a posted or captured transfer back, at most once."""
        return self._book(Transfer.reverse(transfer, id=id))

    def book(
        self, transfers: Iterable[Transfer], *, linked: bool = False
    ) -> List[Union[Booked, Error]]:
        """Books 1 to 1,000 transfers, each with a result in its order: it is booked, or its error.

        Linked ones are booked all or none: `Rejected` (WAL-032) names the one that was refused.
        """
        request = transfer_request(transfers, linked)
        answer = self._client.call(routes.WALLET_TRANSFER, request)
        return booked(request.transfers, answer.outcomes)

    def _book(self, transfer: Transfer) -> Booked:
        return one(self.book([transfer]))

    def together(self, units: Iterable[Unit]) -> List[Union[BookedUnit, Error]]:
        """Books transfers, puts jobs and pushes to devices: each unit whole or not at all.

        A unit's wallets, but for system wallets, must live on one shard.
        """
        request = together_request(units)
        return booked_units(request, self._client.call(routes.WALLET_TOGETHER, request))

    def balances(self, wallet: str) -> Dict[str, Balance]:
        """The balances of a wallet by asset."""
        request = pb.WalletsNamed(wallets=[wallet])
        return balances(self._client.call(routes.WALLET_WALLET, request))

    def balance(self, wallet: str, asset: str, *, at: Optional[Moment] = None) -> Balance:
        """A balance now, or at a moment in the past: `held` is not known then.

        An account that was never opened has a balance of zero now.
        """
        if at is None:
            return (self.balances(wallet)).get(asset, Balance(0, 0, 0))
        request = pb.BalanceAtRequest(wallet=wallet, asset=asset, at_ms=moment_ms("at", at))
        return balance(self._client.call(routes.WALLET_BALANCE_AT, request))

    def accounts(self, prefix: str = "", *, asset: str = "") -> Iterator[pb.AccountView]:
        """Accounts by name: of wallets whose names begin so, of an asset."""
        request = pb.AccountsRequest(prefix=prefix, asset=asset, accounts_max=1_000)
        while True:
            page = (self._client.call(routes.WALLET_ACCOUNTS, request)).accounts
            for account in page:
                yield account
            if len(page) < request.accounts_max:
                return
            request.after_wallet, request.after_asset = page[-1].wallet, page[-1].asset

    def holds(self, wallet: str, most: int = 100) -> List[pb.OpenHold]:
        """Open holds of a wallet, oldest first: up to `most`, 1 to 1,000."""
        request = pb.HoldsRequest(wallet=wallet, holds_max=most)
        return list((self._client.call(routes.WALLET_HOLDS, request)).holds)

    def find(self, transfer: IdLike) -> pb.TransferView:
        """One transfer by its id, as long as ids are remembered."""
        request = pb.TransferNamed(transfer=id_of(transfer).bytes)
        return self._client.call(routes.WALLET_FIND, request)

    def history(
        self,
        wallet: str,
        asset: str,
        *,
        start: Optional[Moment] = None,
        end: Optional[Moment] = None,
        direction: str = "",
        other: str = "",
        reference: str = "",
    ) -> Iterator[pb.Entry]:
        """Entries of an account, newest first, page by page: filtered by moments, `credit` or `debit`, ..."""
        request = entries_request(wallet, asset, start, end, direction, other, reference)
        while True:
            page = self._client.call(routes.WALLET_HISTORY, request)
            for entry in page.entries:
                yield entry
            if not page.HasField("before"):
                return
            request.before = page.before

    def statement(
        self,
        wallet: str,
        asset: str,
        *,
        start: Optional[Moment] = None,
        end: Optional[Moment] = None,
        direction: str = "",
        other: str = "",
        reference: str = "",
    ) -> Iterator[pb.Entry]:
        """The same as `history` in one stream, which the reader slows down: for very many entries."""
        request = entries_request(wallet, asset, start, end, direction, other, reference)
        with self._client.stream(routes.WALLET_STATEMENT, request) as stream:
            for entry in stream:
                yield entry

    def assets(self) -> List[pb.AssetView]:
        """All assets with their totals over all accounts."""
        return list((self._client.call(routes.WALLET_ASSETS, pb.AssetsRequest())).assets)

    def roots(
        self, shard: Optional[int] = None, *, after: int = 0, most: int = 100
    ) -> List[pb.Root]:
        """Sealed roots, oldest first: of a shard, numbered above `after`, of each shard up to `most`."""
        request = pb.RootsRequest(shard=shard, after=after, roots_max=most)
        return list((self._client.call(routes.WALLET_ROOTS, request)).roots)
