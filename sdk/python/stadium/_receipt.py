"""Receipts of transfers, checked offline against a published root. docs/audit.md states what is proved.

The receipt is written by the server's audit (`stadium wallet receipt`); the events in it are those of
docs/formats/wallet-events.md. Only `hashlib` is needed.
"""

from __future__ import annotations

import datetime
import json
import os
import uuid
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, Iterable, Mapping, Optional, Sequence, Tuple, Union

from ._times import of_ms

#: Seals that a receipt may span, and the steps of a path: more is no receipt of Stadium's.
_TREES_MAX, _PATH_MAX = 10_000, 64

_FLAGS = {"of": 1, "reference": 2, "metadata": 4, "effective": 8, "other": 16, "of_group": 32}
_JUMPS = (64, 4_096, 262_144, 16_777_216)
_TRANSIT = "@transit"


class BadReceipt(ValueError):
    """The receipt proves nothing under the roots that were given."""


@dataclass(frozen=True)
class Proved:
    """What a receipt proves: this transfer stands in the books under a root that was given."""

    transfer: uuid.UUID
    #: `post`, `capture`, `reverse`, `hold` or `void`.
    kind: str
    debit: str
    credit: str
    asset: str
    #: Digits behind the asset's point.
    scale: int
    #: In minor units.
    amount: int
    booked_at: datetime.datetime
    #: The number of the seal whose root covers it, and that root.
    seal: int
    root: bytes


def check_receipt(
    receipt: Union[str, bytes, "os.PathLike[str]", Mapping[str, Any]],
    roots: Union[str, bytes, Iterable[Union[str, bytes]]],
) -> Proved:
    """Checks a receipt against published roots, and returns what it proves.

    The receipt is JSON text, a path of a file, or the object that was read from one. A root is 32 bytes or
    64 hexadecimal digits; take it from another source than the receipt. Raises `BadReceipt`.
    """
    published = {_root(each) for each in ([roots] if isinstance(roots, (str, bytes)) else roots)}
    try:
        return _check(_read(receipt), published)
    except BadReceipt:
        raise
    except (KeyError, TypeError, ValueError, IndexError, OverflowError) as error:
        raise BadReceipt(f"it is no receipt: {type(error).__name__} {error}") from None


def _read(receipt: Union[str, bytes, "os.PathLike[str]", Mapping[str, Any]]) -> Mapping[str, Any]:
    if isinstance(receipt, Mapping):
        return receipt
    if isinstance(receipt, os.PathLike):
        with open(receipt, "rb") as file:
            receipt = file.read()
    read = json.loads(receipt)
    if not isinstance(read, dict):
        raise BadReceipt("it is no receipt: not a JSON object")
    return read


def _root(root: Union[str, bytes]) -> bytes:
    raw = bytes.fromhex(root.strip()) if isinstance(root, str) else bytes(root)
    if len(raw) != 32:
        raise ValueError("a root is 32 bytes, or 64 hexadecimal digits")
    return raw


def _check(receipt: Mapping[str, Any], published: "set[bytes]") -> Proved:
    if receipt["version"] != 1:
        raise BadReceipt(f"it has version {receipt['version']!r}; known is 1")
    root, seal = _hash(receipt["root"]), _number(receipt["seal"])
    trees = [_hash(tree) for tree in receipt["trees"]]
    if root not in published:
        raise BadReceipt(f"its root {root.hex()} is none that was published")
    if len(trees) > _TREES_MAX or not receipt["proofs"]:
        raise BadReceipt("it has no proof, or more trees than a receipt may have")
    for nth, proof in enumerate(receipt["proofs"]):
        own = _proof_root(proof)
        if own not in published and _later(own, _number(proof["seal"]), seal, trees) != root:
            raise BadReceipt(f"proof {nth} does not lead to the root of seal {seal}")
    return _content(receipt["proofs"], seal, root)


def _sha(*parts: bytes) -> bytes:
    return sha256(b"".join(parts)).digest()


def _hash(text: str) -> bytes:
    raw = bytes.fromhex(text)
    if len(raw) != 32:
        raise BadReceipt("a hash in it has not 64 hexadecimal digits")
    return raw


def _number(number: Any) -> int:
    if type(number) is not int or not 0 <= number < 2**64:
        raise BadReceipt(f"{number!r} is no number of 64 bits")
    return number


def _proof_root(proof: Mapping[str, Any]) -> bytes:
    leaf = _sha(b"\0", bytes.fromhex(proof["event"]))
    digest = _climb(leaf, _number(proof["event_index"]), _number(proof["events"]), proof["event_path"])
    time = _number(proof["time"]).to_bytes(8, "little")
    chain = _sha(b"\2", _hash(proof["chain_before"]), digest, time)
    index, records = _number(proof["record_index"]), _number(proof["records"])
    tree = _climb(_sha(b"\0", chain), index, records, proof["record_path"])
    return _sha(b"\4", _hash(proof["root_before"]), _number(proof["seal"]).to_bytes(8, "little"), tree)


def _climb(leaf: bytes, index: int, leaves: int, path: Sequence[str]) -> bytes:
    """From a leaf to the root of its tree: RFC 9162, 2.1.3.2."""
    last = leaves - 1
    if index >= leaves or len(path) > _PATH_MAX:
        raise BadReceipt("a path of the wrong length")
    for sister in map(_hash, path):
        if last == 0:
            raise BadReceipt("a path of the wrong length")
        if index % 2 == 1 or index == last:
            leaf = _sha(b"\1", sister, leaf)
            # The last leaf of an odd row goes up alone until it has a sister.
            while index % 2 == 0 and index != 0:
                index, last = index // 2, last // 2
        else:
            leaf = _sha(b"\1", leaf, sister)
        index, last = index // 2, last // 2
    if last != 0:
        raise BadReceipt("a path of the wrong length")
    return leaf


def _later(root: bytes, seal: int, wanted: int, trees: Sequence[bytes]) -> Optional[bytes]:
    """From the root of a seal to that of a later one, by the trees of the seals in between."""
    first = wanted + 1 - len(trees)
    if seal > wanted or seal + 1 < first:
        return None
    for number in range(seal + 1, wanted + 1):
        root = _sha(b"\4", root, number.to_bytes(8, "little"), trees[number - first])
    return root


def _content(proofs: Sequence[Mapping[str, Any]], seal: int, root: bytes) -> Proved:
    """What the events say. They were proved before."""
    events = [_Event(bytes.fromhex(proof["event"])) for proof in proofs]
    moved = events[0].moved
    if moved is None:
        raise BadReceipt("its first proof is of no transfer")
    opened = {event.opened[0]: event.opened for event in events if event.opened is not None}
    declared = {event.asset[0]: event.asset for event in events if event.asset is not None}

    def wallet(account: int) -> str:
        if account not in opened:
            raise BadReceipt(f"nothing proves whose account {account} is")
        name = opened[account][2]
        return moved.other if name == _TRANSIT and moved.other else name

    debit = wallet(moved.debit)
    credit = moved.other if moved.credit is None else wallet(moved.credit)
    asset = opened[moved.debit][1]
    if asset not in declared:
        raise BadReceipt(f"nothing proves what asset {asset} is")
    _, scale, code = declared[asset]
    at = of_ms(_number(proofs[0]["time"]))
    return Proved(
        uuid.UUID(bytes=moved.id), moved.kind, debit, credit or "", code, scale, moved.amount, at, seal, root
    )


@dataclass(frozen=True)
class _Moved:
    kind: str
    id: bytes
    amount: int
    debit: int
    #: None where it is on another shard: `other` names it.
    credit: Optional[int]
    other: str


class _Event:
    """One event of the wallets' journal, as far as receipts have it."""

    def __init__(self, raw: bytes) -> None:
        self._raw, self._at = raw, 0
        self.asset: Optional[Tuple[int, int, str]] = None
        self.opened: Optional[Tuple[int, int, str]] = None
        self.moved: Optional[_Moved] = None
        kind = self._byte()
        if kind == 1:
            self.asset = (self._leb(), self._byte(), self._text())
        elif kind == 2:
            account, asset = self._leb(), self._leb()
            if self._byte() & 2:
                self._leb()
            self.opened = (account, asset, self._text())
        elif kind == 4:
            self.moved = self._transfer()
        elif kind in (5, 6):
            self.moved = self._promise(kind)
        else:
            raise BadReceipt(f"it proves an event {kind}, which belongs in no receipt")
        if self._at != len(raw):
            raise BadReceipt(f"an event {kind} goes on behind its end")

    def _transfer(self) -> _Moved:
        flags, kind = self._byte(), self._byte()
        id = self._take(16)
        if not flags & _FLAGS["of_group"]:
            self._take(8)
        amount = self._leb()
        debit = self._leb()
        self._entry()
        credit = self._leb()
        self._entry()
        return _Moved(("post", "capture", "reverse")[kind], id, amount, debit, credit, self._more(flags))

    def _promise(self, kind: int) -> _Moved:
        flags, id = self._byte(), self._take(16)
        if not flags & _FLAGS["of_group"]:
            self._take(8)
        amount, debit = self._leb(), self._leb()
        credit = None if flags & _FLAGS["other"] else self._leb()
        other = self._more(flags)
        if kind == 5:
            self._leb()
        return _Moved("hold" if kind == 5 else "void", id, amount, debit, credit, other)

    def _entry(self) -> None:
        number = self._leb()
        for _ in range(2 + sum(number % jump == 0 for jump in _JUMPS)):
            self._leb()

    def _more(self, flags: int) -> str:
        if flags & ~sum(_FLAGS.values()):
            raise BadReceipt(f"unknown flags in {flags:#04x}")
        if flags & _FLAGS["of"]:
            self._take(16)
        other = self._text() if flags & _FLAGS["other"] else ""
        if flags & _FLAGS["reference"]:
            self._text()
        if flags & _FLAGS["metadata"]:
            self._take(self._leb())
        if flags & _FLAGS["effective"]:
            self._leb()
        return other

    def _take(self, count: int) -> bytes:
        taken = self._raw[self._at : self._at + count]
        if len(taken) != count:
            raise BadReceipt("an event ends early")
        self._at += count
        return taken

    def _byte(self) -> int:
        return self._take(1)[0]

    def _leb(self) -> int:
        value = 0
        for place in range(10):
            byte = self._byte()
            value |= (byte & 0x7F) << (7 * place)
            if byte < 0x80:
                return value
        raise BadReceipt("a number of more than ten bytes")

    def _text(self) -> str:
        return self._take(self._leb()).decode("utf-8")


__all__ = ["BadReceipt", "Proved", "check_receipt"]
