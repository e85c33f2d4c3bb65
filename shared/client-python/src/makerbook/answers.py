"""The answers of the service as JSON. Names and forms are those of the makers' guide.

Newer services may add keys.
"""

from collections.abc import Sequence
from typing import Any, Literal, NamedTuple, TypedDict, Union

from .values import Uint256


class TokenAmount(TypedDict):
    """`amount` in the token's smallest unit, in hex."""

    token: str
    amount: str


class GivenAmount(TypedDict):
    """The same, as a program gives it."""

    token: str
    amount: Uint256


class Order(TypedDict):
    """An order as it is posted: quantities in hex."""

    salt: str
    nonce: str
    expiresAt: str
    making: TokenAmount
    taking: TokenAmount
    maker: str
    permittedTaker: str


class SignedOrder(TypedDict):
    """An order and its signature, with the hash that names it. Keep it: you need it to cancel the order."""

    order: Order
    orderHash: str
    signature: str


class _Left(TypedDict, total=False):
    reason: Literal["INSUFFICIENT_ALLOWANCE", "INSUFFICIENT_BALANCE"]
    remainingMakingAmount: str
    routableUntil: int
    cappedUntil: int


class LimitOrderRecord(SignedOrder, _Left):
    """An open order. `reason` if it is INACTIVE; `remainingMakingAmount` once a part is filled."""

    status: Literal["VALIDATING", "ACTIVE", "INACTIVE"]


class _Until(TypedDict, total=False):
    expiresAt: Uint256


class HashAndSalt(_Until):
    """All that a cancellation needs of an order.

    If the service does not know the order, it remembers the hash until `expiresAt`, or for good without `expiresAt`.
    """

    orderHash: str
    salt: Uint256


#: An order to cancel or to replace.
OrderToCancel = Union[SignedOrder, LimitOrderRecord, HashAndSalt]


class _Salts(TypedDict):
    salts: Sequence[Uint256]


class SaltsToCancel(_Salts, total=False):
    """All orders of the maker that have one of these salts, open or in flight."""

    #: Only orders accepted up to this time, in milliseconds since 1970. Default: now, by the service's clock.
    untilMs: Uint256
    #: For a replacement: the amount that you believe is left of all these orders together. Default: all.
    remainingMakingAmount: Uint256


class Cancellation(TypedDict):
    orderHash: str
    status: Literal["CANCELLED", "NOT_FOUND"]


class Replacement(TypedDict):
    cancelled: list[Cancellation]
    placed: list[LimitOrderRecord]


class OrderList(NamedTuple):
    """A maker's open orders, oldest first.

    `read_lag`: how many of the maker's own writes the list does not show yet. 0 unless the service is behind.
    """

    records: list[LimitOrderRecord]
    read_lag: int | Literal["unknown"]


class AwaitedCancellations(NamedTuple):
    cancellations: list[Cancellation]
    #: Whether the cancelled orders are out of the router's feed. False if the time ran out, or nothing was cancelled.
    is_out_of_feed: bool
    #: Whether all registered routers have acknowledged the cancellation. False if the call did not wait for them.
    is_seen_by_routers: bool
    #: The routers that have not acknowledged the cancellation.
    unseen_by: list[str]
    #: `<partition>:<offset>` in the log, one for each partition; None if nothing was cancelled.
    position: str | None


Happening = Literal["OPENED", "FILLED", "CHANGED", "WITHHELD", "REMOVED"]

#: An entry of a timeline: `position`, `loggedAtMs`, `happened`, and the fields of that kind.
TimelineEntry = dict[str, Any]


class OrderHistory(TypedDict):
    entries: list[TimelineEntry]
    nextCursor: str
    hasMore: bool


class _ReportExtras(TypedDict, total=False):
    reason: Literal["INSUFFICIENT_ALLOWANCE", "INSUFFICIENT_BALANCE"]
    waitsFor: Literal["SIGNATURE", "TAKING_TOKEN", "FUNDS"]
    filledAfterEnd: str
    cappedUntil: int


class OrderReport(SignedOrder, _ReportExtras):
    """Tells what became of an order that was ever accepted."""

    status: Literal[
        "VALIDATING", "ACTIVE", "INACTIVE", "CANCELLED", "CANCELLED_ONCHAIN", "NONCE_CHANGED", "FILLED", "EXPIRED"
    ]
    routableUntil: int
    remainingMakingAmount: str
    filledMakingAmount: str
    acceptedAtMs: int
    timeline: list[TimelineEntry]


class _Scope(TypedDict, total=False):
    making: str
    taking: str


class CancelledAll(_Scope):
    maker: str
    untilMs: int


#: The answer to a heartbeat, cancel keys or a cap: its fields, and `counts`. `counts` is the message in force from now
#: on, or None if unknown now.
TakenMessage = dict[str, Any]


class Budget(TypedDict):
    """`left` is None if unknown."""

    perSecond: int
    burst: int
    left: int | None


class CountOf(TypedDict):
    """`count`: how many there are. `max`: how many there may be."""

    count: int
    max: int


class Account(TypedDict):
    """The state of a maker by the facts before `position`, and none from it on. Budgets are as of now."""

    maker: str
    position: str
    block: dict[str, Any] | None
    admission: Literal["ADMITTED", "SUSPENDED", "REMOVED"]
    isCancelOnly: bool
    isQuarantined: bool
    nonce: str | None
    openOrders: CountOf
    rememberedHashes: CountOf
    orderBudget: Budget
    cancelBudget: Budget
    listBudget: Budget
    #: `keys` and `issuedAtMs`.
    cancelKeys: dict[str, Any]
    #: `cancelAt` (0: off), `hasFired`, `key` (None: the maker) and `issuedAtMs`.
    switch: dict[str, Any]
    #: `token`, `amount`, `windowSeconds`, `filled`, `windowEndsAt`, `issuedAtMs`, and `cappedUntil` if it is exceeded.
    caps: list[dict[str, Any]]


class OrderEvent(TypedDict, total=False):
    """An event of the stream. It has the data of its kind too (see the makers' guide)."""

    event: Literal["snapshot", "change", "clock"]
    #: In a snapshot or a change: the stream can continue after it.
    id: str
    #: In a snapshot.
    orders: list[LimitOrderRecord]
    version: str
    cancelAllAt: int
    #: In a change, which is an entry of the history. Its other keys depend on `happened`.
    orderHash: str
    happened: Happening
    after: str
    #: In a clock, and in a change.
    position: str
    block: dict[str, Any] | None
