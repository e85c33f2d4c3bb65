"""The service, for one maker, on an event loop."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from typing import TYPE_CHECKING, Any, Literal

from .answers import (
    Account,
    AwaitedCancellations,
    Cancellation,
    CancelledAll,
    GivenAmount,
    Happening,
    LimitOrderRecord,
    OrderEvent,
    OrderHistory,
    OrderList,
    OrderReport,
    OrderToCancel,
    Replacement,
    SaltsToCancel,
    SignedOrder,
    TakenMessage,
)
from .flows import Flows
from .keys import Signer
from .send_over_httpx import AsyncDriver
from .sign_and_send import ClientOptions, read_domain
from .stream import stream_orders
from .typed_data import Domain
from .values import Uint256

if TYPE_CHECKING:
    from typing_extensions import Self, Unpack


class AsyncClient:
    """The service, for one maker, on an event loop: `async with await AsyncClient.connect(url, key) as client`.

    A call raises WrongValue, which names the field, before it signs or sends a value that makes no sense. It raises
    MakerbookError if the service refuses or does not answer.
    """

    def __init__(self, base_url: str, signer: str | Signer, domain: Domain, **options: Unpack[ClientOptions]) -> None:
        """`signer`: a private key, or a Signer. `domain`: the deployment, which `connect` asks for."""
        self._flows = Flows(signer, domain, options)
        self._driver = AsyncDriver(base_url, options.get("timeout_seconds", 10.0), options.get("http_client"))

    @classmethod
    async def connect(cls, base_url: str, signer: str | Signer, **options: Unpack[ClientOptions]) -> Self:
        """Takes the domain from `/info`. If you do not trust the address of the service, name the domain yourself."""
        driver = AsyncDriver(base_url, options.get("timeout_seconds", 10.0), options.get("http_client"))
        try:
            return cls(base_url, signer, await driver.run(read_domain(options)), **options)
        finally:
            await driver.close()

    async def close(self) -> None:
        """Closes the client's connections."""
        await self._driver.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    def __repr__(self) -> str:
        return f"AsyncClient(of {self.maker})"

    @property
    def maker(self) -> str:
        """The maker's address, lowercase."""
        return self._flows.maker

    async def server_time_ms(self) -> int:
        """The service's clock, in milliseconds since 1970, as its answers tell it."""
        return await self._driver.run(self._flows.clock.now_ms())

    def sign_order(
        self,
        *,
        making: GivenAmount,
        taking: GivenAmount,
        expires_at: Uint256,
        nonce: Uint256 = 0,
        salt: Uint256 | None = None,
    ) -> SignedOrder:
        """Signs an order and sends nothing.

        `making`: what the maker sells, `taking`: what it wants for all of it. `expires_at`: Unix seconds. `nonce`:
        the maker's on the chain (`nonce` of the LimitOrderProtocol contract). `salt`: 32 random bytes unless given.
        """
        return self._flows.sign_order(making=making, taking=taking, expires_at=expires_at, nonce=nonce, salt=salt)

    def stream_orders(self, *, last_event_id: str | None = None) -> AsyncIterator[OrderEvent]:
        """GET …/stream: the list, then each change as it happens; reconnects by itself, and never ends.

        `last_event_id`: the `id` of the last event that was handled. Without it the stream begins with a snapshot.
        """
        return self._driver.iterate(stream_orders(self._flows, last_event_id))

    async def read_info(self) -> dict[str, Any]:
        """GET …/info: contracts, tokens, limits, keys of receipts. It is not signed."""
        return await self._driver.run(self._flows.read_info())

    async def place_orders(
        self,
        orders: Sequence[SignedOrder],
        *,
        valid_until_ms: Uint256 | None = None,
        duplicate_counts_as_stored: bool = False,
    ) -> list[LimitOrderRecord]:
        """POST: stores all of the orders, or none.

        `valid_until_ms`: the service does not store orders that it judges later. `duplicate_counts_as_stored`: if a
        try got no answer and the next one returns `duplicate`, the orders count as stored by the earlier try. Use it
        only for orders that were never posted before this call, such as freshly signed ones.
        """
        flow = self._flows.place_orders(
            orders, valid_until_ms=valid_until_ms, duplicate_counts_as_stored=duplicate_counts_as_stored
        )
        return await self._driver.run(flow)

    async def list_orders(
        self,
        *,
        order_salt: Uint256 | None = None,
        making: str | None = None,
        taking: str | None = None,
        status: Sequence[Literal["VALIDATING", "ACTIVE", "INACTIVE"]] | None = None,
    ) -> OrderList:
        """GET: the maker's open orders, oldest first: all, or those that match every argument.

        `order_salt`: the salt that you gave the orders. Several may share it.
        """
        return await self._driver.run(self._flows.list_orders(order_salt, making, taking, status))

    async def read_account(self) -> Account:
        """GET …/account: the maker's state, as of a position.

        Limits, remaining budgets, open orders, nonce, and the keys, switch and caps in force.
        """
        return await self._driver.run(self._flows.read_account())

    async def find_order(self, order_hash: str, *, at: int | str | None = None) -> OrderReport:
        """GET …/{orderHash}.

        Tells what became of an order that was ever accepted, up to now, or up to a block or a position.
        """
        return await self._driver.run(self._flows.find_order(order_hash, at))

    async def read_history(
        self,
        *,
        happened: Sequence[Happening] | None = None,
        order_salt: Uint256 | None = None,
        from_ms: Uint256 | None = None,
        to_ms: Uint256 | None = None,
        limit: int | None = None,
        cursor: str | None = None,
    ) -> OrderHistory:
        """GET …/history: what happened to the maker's orders, oldest first.

        `order_salt`: only orders with this salt. `cursor`: the `nextCursor` of the page before.
        """
        return await self._driver.run(self._flows.read_history(happened, order_salt, from_ms, to_ms, limit, cursor))

    async def cancel_orders(self, orders: Sequence[OrderToCancel] | SaltsToCancel) -> list[Cancellation]:
        """POST …/cancellations: takes orders from the service. They stay valid on the chain.

        Name an order by itself, by its record, or by its `orderHash` and its `salt`. `{"salts": […]}` names all
        orders that have one of these salts, open or in flight. The answer names each order.
        """
        return (await self._driver.run(self._flows.cancel(orders))).cancellations

    async def cancel_orders_and_wait(
        self,
        orders: Sequence[OrderToCancel] | SaltsToCancel,
        wait_seconds: Uint256,
        *,
        by: Literal["router"] | None = None,
    ) -> AwaitedCancellations:
        """The same. Waits until the orders are out of the router's feed, or seen by routers, or the time is over."""
        return await self._driver.run(self._flows.cancel(orders, wait_seconds, by))

    async def replace_orders(
        self,
        gone: Sequence[OrderToCancel] | SaltsToCancel,
        orders: Sequence[SignedOrder],
        *,
        valid_until_ms: Uint256 | None = None,
        duplicate_counts_as_stored: bool = False,
    ) -> Replacement:
        """POST …/replacements: cancels orders and places others instead, all or nothing.

        `remainingMakingAmount` of an order to cancel is the amount that you believe is left. A record has it. Default:
        all of the order. Raises `not_found` if one of them is no longer open. Raises `remaining_changed` if another
        amount is left, which `problem` names.
        """
        flow = self._flows.replace_orders(
            gone, orders, valid_until_ms=valid_until_ms, duplicate_counts_as_stored=duplicate_counts_as_stored
        )
        return await self._driver.run(flow)

    async def cancel_all(
        self,
        *,
        making: str | None = None,
        taking: str | None = None,
        until_ms: Uint256 | None = None,
    ) -> CancelledAll:
        """POST …/cancel-all: cancels all orders, or those that match `making` and `taking`, if given.

        `until_ms`: cancels orders accepted up to this time. Default: now, by the service's clock. A time up to a
        minute ahead also cancels orders whose POST is still in flight.
        """
        return await self._driver.run(self._flows.cancel_all(making, taking, until_ms))

    async def send_heartbeat(self, cancel_at: Uint256) -> TakenMessage:
        """POST …/heartbeat: cancels all orders at `cancel_at`, unless another heartbeat comes first.

        `cancel_at`: Unix seconds. 0 turns the switch off.
        """
        return await self._driver.run(self._flows.send_heartbeat(cancel_at))

    async def name_cancel_keys(
        self,
        keys: Sequence[str],
        *,
        list_keys: Sequence[str] | None = None,
        stream_keys: Sequence[str] | None = None,
        history_keys: Sequence[str] | None = None,
    ) -> TakenMessage:
        """POST …/cancel-keys: lets these addresses cancel for the maker, and no others.

        `list_keys` may read its list and account, `stream_keys` its stream, and `history_keys` its history and order
        reports. No other address may.
        """
        flow = self._flows.name_cancel_keys(
            keys, list_keys=list_keys, stream_keys=stream_keys, history_keys=history_keys
        )
        return await self._driver.run(flow)

    async def set_fill_cap(self, *, token: str, amount: Uint256, window_seconds: Uint256) -> TakenMessage:
        """POST …/fill-cap: caps how much of a token the maker sells in a window. 0 for either removes the cap.

        If more is filled within a window, the orders that sell the token leave the router's feed until the window has
        passed, or the cap is set again.
        """
        return await self._driver.run(self._flows.set_fill_cap(token, amount, window_seconds))

    async def patch_quote(self, *, data: str, min_output: Uint256) -> str:
        """PATCH: the transaction data of a quote with another minimum output."""
        return await self._driver.run(self._flows.patch_quote(data, min_output))
