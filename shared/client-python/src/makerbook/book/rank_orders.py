"""Ranks the orders that can be filled, by price in each pair."""

from bisect import bisect_left, insort
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple

from ..values import ZERO_ADDRESS
from .book import BookChange
from .read_records import BookClock, BookEntry


class Pair(NamedTuple):
    """The tokens that a taker pays and gets: the taking and the making token of the orders.

    Addresses are in lowercase.
    """

    token_in: str
    token_out: str


class Executable(NamedTuple):
    """The amount of an order that can be filled, after better orders have taken their part of the maker's funds."""

    entry: BookEntry
    #: In token_out.
    making_amount: int


@dataclass
class _Funds:
    """The funds of a maker in one token, by the newest reading."""

    amount: int = 0
    block: int = 0
    #: How many of the maker's orders carry a reading. The last one to leave takes the funds with it.
    orders: int = 0


#: Price, time, hash, and the entry. No two have the same hash, so entries are never compared.
_Ranked = tuple[Fraction, int, str, BookEntry]


class RankedOrders:
    """Pass it every change of a book, from the first one on. It keeps the book's own entries, not copies."""

    def __init__(self) -> None:
        self._pairs: dict[Pair, list[_Ranked]] = {}
        # Keyed by token and maker.
        self._funds: dict[tuple[str, str], _Funds] = {}
        self._clocks: dict[int, BookClock] = {}

    def apply(self, *changes: BookChange) -> None:
        for change in changes:
            if change.clock is not None:
                self._clocks[change.clock["position"]["partition"]] = change.clock
                continue
            if change.before is not None and _is_fillable(change.before):
                self._remove(change.before)
            if change.entry is not None and _is_fillable(change.entry):
                insort(self._pairs.setdefault(_pair_of(change.entry), []), _rank_of(change.entry))
            self._count(change.before, change.entry)

    def pairs(self) -> Iterator[tuple[Pair, int]]:
        """Every pair that has orders, and how many."""
        return ((pair, len(orders)) for pair, orders in self._pairs.items())

    def executable(
        self, pair: tuple[str, str], now_seconds: float, stale_seconds_max: float = 5
    ) -> Iterator[Executable]:
        """Yields the orders of the pair: best price first, then oldest first. Valid until the next change."""
        left: dict[str, int] = {}
        for _, _, _, entry in self._pairs.get(Pair(*pair), ()):
            clock = self._clocks.get(entry["position"]["partition"])
            since = 0 if clock is None else clock["block"]["timestamp"]
            if now_seconds >= entry["routableUntil"] or now_seconds - since > stale_seconds_max:
                continue
            maker = entry["order"]["maker"]
            funds = self._funds.get((pair[1], maker))
            available = left.get(maker, 0 if funds is None else funds.amount)
            if available > 0:
                amount = min(int(entry["remainingMakingAmount"], 16), available)
                left[maker] = available - amount
                yield Executable(entry, amount)

    def block_of(self, orders: Iterable[Any]) -> dict[str, Any] | None:
        """The lowest block up to which the orders' partitions are complete; None without orders."""
        partitions = {order.entry["position"]["partition"] for order in orders}
        blocks = [self._clocks[partition]["block"] for partition in partitions if partition in self._clocks]
        return min(blocks, key=lambda block: int(block["number"]), default=None)

    def _remove(self, entry: BookEntry) -> None:
        pair = _pair_of(entry)
        orders = self._pairs[pair]
        # A tuple without the entry sorts right before the tuple with it.
        del orders[bisect_left(orders, _rank_of(entry)[:3])]
        if not orders:
            del self._pairs[pair]

    def _count(self, before: BookEntry | None, after: BookEntry | None) -> None:
        """The feed tells new funds in one order only, so another order of the maker may have newer ones."""
        entry = after or before
        if entry is None:
            return
        key = (entry["order"]["making"]["token"], entry["order"]["maker"])
        funds = self._funds.setdefault(key, _Funds())
        funds.orders += _has_funds(after) - _has_funds(before)
        if after is not None and _has_funds(after) and after["funding"]["block"] >= funds.block:
            funds.amount = min(int(after["funding"]["balance"], 16), int(after["funding"]["allowance"], 16))
            funds.block = after["funding"]["block"]
        if funds.orders <= 0:
            del self._funds[key]


def price_of(entry: BookEntry) -> Fraction:
    """token_in per token_out."""
    order = entry["order"]
    return Fraction(int(order["taking"]["amount"], 16), int(order["making"]["amount"], 16))


def _pair_of(entry: BookEntry) -> Pair:
    return Pair(entry["order"]["taking"]["token"], entry["order"]["making"]["token"])


def _rank_of(entry: BookEntry) -> _Ranked:
    return price_of(entry), entry["acceptedAtMs"], entry["orderHash"], entry


def _is_fillable(entry: BookEntry) -> bool:
    return bool(entry["status"] == "ACTIVE" and entry["order"]["permittedTaker"] == ZERO_ADDRESS)


def _has_funds(entry: BookEntry | None) -> int:
    return 0 if entry is None or entry["status"] == "VALIDATING" else 1
