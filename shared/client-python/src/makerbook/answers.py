"""What the service answers, as JSON has it: names and forms are those of the makers' guide.

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
    """An order and its signature, with the hash that names it. Keep it: it is all that cancels it."""

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

    Where the service does not know the order, it remembers the hash until `expiresAt`, or for good without it.
    """

    orderHash: str
    salt: Uint256


#: What is cancelled or replaced.
OrderToCancel = Union[SignedOrder, LimitOrderRecord, HashAndSalt]


class _Salts(TypedDict):
    salts: Sequence[Uint256]


class SaltsToCancel(_Salts, total=False):
    """All orders of the maker that are open, or on their way, and have one of the salts that it gave them."""

    #: Of those that the service accepted by then, in milliseconds since 1970; now, by its clock, unless given.
    untilMs: Uint256
    #: Of a replacement: what is left of all of them together, as you know it; without it, all.
    remainingMakingAmount: Uint256


class Cancellation(TypedDict):
    orderHash: str
    status: Literal["CANCELLED", "NOT_FOUND"]


class Replacement(TypedDict):
    cancelled: list[Cancellation]
    placed: list[LimitOrderRecord]


class OrderList(NamedTuple):
    """A maker's open orders, oldest first, and how many of its own writes they do not show yet.

    0 unless the service is behind.
    """

    records: list[LimitOrderRecord]
    read_lag: int | Literal["unknown"]


class AwaitedCancellations(NamedTuple):
    cancellations: list[Cancellation]
    #: Whether the cancelled orders are out of the router's feed; False where the time passed, or nothing was cancelled.
    is_out_of_feed: bool
    #: Whether all routers that the operator has registered have acknowledged it, where they were waited for.
    is_seen_by_routers: bool
    #: The routers that have not.
    unseen_by: list[str]
    #: `<partition>:<offset>` in the log, one for each partition; None where nothing was cancelled.
    position: str | None


Happening = Literal["OPENED", "FILLED", "CHANGED", "WITHHELD", "REMOVED"]

#: An entry of a timeline: `position`, `loggedAtMs`, `happened`, and what comes with that.
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
    """What became of an order that was ever accepted."""

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


#: Of a heartbeat, cancel keys or a cap: its fields, and `counts`, what counts from now on, or None where that is
#: not known now.
TakenMessage = dict[str, Any]


class Budget(TypedDict):
    """`left` is None where that is not known."""

    perSecond: int
    burst: int
    left: int | None


class CountOf(TypedDict):
    """How many there are, and how many there may be."""

    count: int
    max: int


class Account(TypedDict):
    """What counts for a maker: of the facts before `position`, and none from it on. Budgets are as of now."""

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
    """An event of the stream: the data of its kind (see the makers' guide) beside these."""

    event: Literal["snapshot", "change", "clock"]
    #: Of a snapshot or a change: the stream can go on behind it.
    id: str
    #: Of a snapshot.
    orders: list[LimitOrderRecord]
    version: str
    cancelAllAt: int
    #: Of a change: an entry of the history. Other keys are those of `happened`.
    orderHash: str
    happened: Happening
    after: str
    #: Of a clock; of a change too.
    position: str
    block: dict[str, Any] | None
