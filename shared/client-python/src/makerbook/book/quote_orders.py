"""Ladders and quotes, exact to the unit that the contract moves: each fill is rounded up by itself."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import chain, groupby
from typing import Any, NamedTuple

from .rank_orders import Executable, Pair, RankedOrders, price_of

#: Gas of a fill among others, for tokens like OpenZeppelin's.
GAS_PER_ORDER = 72_000


class Level(NamedTuple):
    """The amounts that can be filled at one price."""

    #: token_in per token_out.
    price: Fraction
    #: The cost to fill all orders of the level.
    amount_in: int
    amount_out: int
    orders: int
    gas: int


class Fill(NamedTuple):
    """An order to fill: `making_amount` of token_out for `taking_amount` of token_in."""

    entry: dict[str, Any]
    making_amount: int
    taking_amount: int
    #: The amount of the order that can be filled: at least `making_amount`.
    executable: int


@dataclass(frozen=True)
class Quote:
    pair: Pair
    #: The amount asked for: one of the two is set.
    asked_amount_in: int | None
    asked_amount_out: int | None
    fills: list[Fill]
    #: The next best orders, to try if a fill fails. Together with the fills they take no more than a maker's funds.
    spares: list[Fill]
    #: The cost of all fills. Less than you asked for if the orders run out, or if the rest buys nothing.
    amount_in: int
    #: The amount that all fills give. Less than you asked for if the orders run out.
    amount_out: int
    #: Gas of the fills.
    gas: int
    #: How many better orders are not filled because they give too little.
    passed_over: int
    #: The quote holds for this block; None without fills.
    block: dict[str, Any] | None


def ladder(
    orders: RankedOrders,
    pair: tuple[str, str],
    *,
    now_seconds: float,
    stale_seconds_max: float = 5,
    gas_per_order: int = GAS_PER_ORDER,
) -> Iterator[Level]:
    """Yields the levels of the pair, best first. Take as many as you need before the next change."""
    offers = orders.executable(pair, now_seconds, stale_seconds_max)
    for price, group in groupby(offers, key=lambda offer: price_of(offer.entry)):
        level = list(group)
        costs = sum(map(_taking_of, level))
        yield Level(price, costs, sum(offer.making_amount for offer in level), len(level), gas_per_order * len(level))


def quote(
    orders: RankedOrders,
    pair: tuple[str, str],
    *,
    amount_in: int | None = None,
    amount_out: int | None = None,
    now_seconds: float,
    stale_seconds_max: float = 5,
    backups: int = 0,
    orders_max: int = 200,
    gas_per_order: int = GAS_PER_ORDER,
    amount_out_per_million_gas: int | None = None,
) -> Quote:
    """Fills `amount_in` or `amount_out` from the best price on, without orders that give too little.

    `backups`: the percentage of the amount that the spare orders should cover. `orders_max`: the most orders of the
    quote, spare ones included. If more are needed, the orders that give least are passed over.
    `amount_out_per_million_gas`: the cost of a million gas, in the smallest unit of token_out. An order or a last part
    that gives less than its gas is passed over. Without this cost, orders that give less than a thousandth of the
    quote are passed over, as long as the others are enough.
    """
    if (amount_in is None) == (amount_out is None):
        raise ValueError("ask with amount_in or with amount_out")

    def fill_without(is_dust: "_IsDust") -> "_Filled":
        offers = orders.executable(pair, now_seconds, stale_seconds_max)
        return _fill(offers, amount_in, amount_out, is_dust, orders_max, gas_price is not None)

    gas_price = amount_out_per_million_gas
    if gas_price is None:
        filled = _fill_without_dust(fill_without)
    else:
        filled = fill_without(lambda offer: offer.making_amount * 1_000_000 < gas_per_order * gas_price)
    covered = -(-filled.amount_out * backups // 100)
    room = orders_max - len(filled.fills)
    spare = _choose(chain(filled.unfilled, filled.rest), covered, _making_of, filled.is_dust, room)
    spares = [Fill(offer.entry, offer.making_amount, _taking_of(offer), offer.making_amount) for offer in spare.offers]
    return Quote(
        pair=Pair(*pair),
        asked_amount_in=amount_in,
        asked_amount_out=amount_out,
        fills=filled.fills,
        spares=spares,
        amount_in=filled.amount_in,
        amount_out=filled.amount_out,
        gas=len(filled.fills) * gas_per_order,
        passed_over=filled.passed_over,
        block=orders.block_of([*filled.fills, *spares]),
    )


_IsDust = Callable[[Executable], bool]


class _Chosen(NamedTuple):
    offers: list[Executable]
    passed_over: int
    is_enough: bool


class _Filled(NamedTuple):
    fills: list[Fill]
    chosen: list[Executable]
    unfilled: list[Executable]
    rest: Iterator[Executable]
    is_dust: _IsDust
    amount_in: int
    amount_out: int
    passed_over: int
    is_enough: bool


def _fill_without_dust(fill_without: Callable[[_IsDust], _Filled]) -> _Filled:
    """Passes over small orders. If the larger ones are not enough, no order is too small."""
    whole = fill_without(lambda offer: False)
    if not whole.is_enough:
        return whole

    def is_dust(offer: Executable) -> bool:
        return offer.making_amount * 1000 < whole.amount_out

    fair = fill_without(is_dust) if any(map(is_dust, whole.chosen)) else whole._replace(is_dust=is_dust)
    return fair if fair.is_enough else whole


def _fill(
    offers: Iterator[Executable],
    amount_in: int | None,
    amount_out: int | None,
    is_dust: _IsDust,
    count_max: int,
    is_net: bool,
) -> _Filled:
    """`is_net`: whether a part of an order can be dust too."""
    wanted, amount_of = (amount_out, _making_of) if amount_out is not None else (amount_in or 0, _taking_of)
    chosen = _choose(offers, wanted, amount_of, is_dust, count_max)
    fills: list[Fill] = []
    unfilled: list[Executable] = []
    paid, got = 0, 0
    for offer in chosen.offers:
        if amount_out is not None:
            making = min(offer.making_amount, amount_out - got)
        else:
            making = _most_for(offer, (amount_in or 0) - paid)
        if making == 0 or (is_net and amount_out is None and is_dust(Executable(offer.entry, making))):
            unfilled.append(offer)
            continue
        taking = _taking_of(Executable(offer.entry, making))
        fills.append(Fill(offer.entry, making, taking, offer.making_amount))
        paid, got = paid + taking, got + making
    return _Filled(fills, chosen.offers, unfilled, offers, is_dust, paid, got, chosen.passed_over, chosen.is_enough)


def _choose(
    offers: Iterator[Executable], wanted: int, amount_of: Callable[[Executable], int], is_dust: _IsDust, count_max: int
) -> _Chosen:
    """Takes offers until they are enough.

    If they are too many, drops the offer that gives least; of equal ones the last.
    """
    chosen: list[Executable] = []
    total, passed_over = 0, 0
    while total < wanted and count_max > 0:
        offer = next(offers, None)
        if offer is None:
            break
        if is_dust(offer):
            passed_over += 1
            continue
        chosen.append(offer)
        total += amount_of(offer)
        if len(chosen) > count_max:
            least = min(range(len(chosen)), key=lambda at: (chosen[at].making_amount, -at))
            total -= amount_of(chosen.pop(least))
            passed_over += 1
    return _Chosen(chosen, passed_over, total >= wanted)


def _making_of(offer: Executable) -> int:
    return offer.making_amount


def _taking_of(offer: Executable) -> int:
    """Rounds up, as the contract does."""
    order = offer.entry["order"]
    return -(-offer.making_amount * int(order["taking"]["amount"], 16) // int(order["making"]["amount"], 16))


def _most_for(offer: Executable, left: int) -> int:
    """The most of the order that `left` of token_in buys."""
    if _taking_of(offer) <= left:
        return offer.making_amount
    order = offer.entry["order"]
    return left * int(order["making"]["amount"], 16) // int(order["taking"]["amount"], 16)
