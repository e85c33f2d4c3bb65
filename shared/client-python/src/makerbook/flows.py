"""The requests of a maker, as flows. `Client` and `AsyncClient` run them."""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, cast

from .answers import (
    Account,
    AwaitedCancellations,
    Cancellation,
    CancelledAll,
    LimitOrderRecord,
    OrderHistory,
    OrderList,
    OrderReport,
    OrderToCancel,
    Replacement,
    SaltsToCancel,
    SignedOrder,
    TakenMessage,
)
from .calls import Call, Flow, Response, body_of, read_answer
from .errors import MakerbookError
from .orders import read_remaining, read_signed_orders
from .sign_and_send import ORDERS, SigningFlows
from .values import (
    UNIX_MS,
    UNIX_SECONDS_OR_OFF,
    ZERO_ADDRESS,
    Bounds,
    Uint256,
    WrongValue,
    read_address,
    read_bytes,
    read_hex,
    read_list,
    read_token,
    read_uint256,
    read_whole,
)

# More than any service allows.
_WAIT_SECONDS = Bounds("seconds", 0, 60)
_WINDOW_SECONDS = Bounds("seconds", 0, 604_800)


class Flows(SigningFlows):
    """Every request of a maker."""

    # Placing

    def _place(self, path: str, body: Any, options: Mapping[str, Any], read: Callable[[Response], Any]) -> Flow[Any]:
        """Returns None if only `duplicate` tells that the orders were stored."""
        until = options["valid_until_ms"]
        headers = {} if until is None else {"Valid-Until-Ms": str(read_whole("valid_until_ms", until, UNIX_MS))}
        sent = body_of(body)

        def once() -> Flow[Any]:
            return read((yield from self.store(path, sent, headers)))

        try:
            return (yield from self.again(once))
        except MakerbookError as error:
            # Only `duplicate` proves that an earlier try was stored: the service checks the other refusals first.
            if error.code == "duplicate" and error.may_have_happened and options["duplicate_counts_as_stored"]:
                return None
            raise

    def place_orders(self, orders: Sequence[SignedOrder], **options: Any) -> Flow[list[LimitOrderRecord]]:
        body = read_signed_orders(orders)

        def read(response: Response) -> Any:
            return read_answer(Call("POST", ORDERS), response, list)

        answer = yield from self._place(ORDERS, body, options, read)
        return _validating(orders) if answer is None else answer

    def replace_orders(
        self, gone: Sequence[OrderToCancel] | SaltsToCancel, orders: Sequence[SignedOrder], **options: Any
    ) -> Flow[Replacement]:
        place = read_signed_orders(orders)
        path = f"{ORDERS}/replacements"

        def read(response: Response) -> Any:
            return read_answer(Call("POST", path), response, dict)

        cancel: Any
        if isinstance(gone, Mapping):
            [of] = read_remaining("gone", [gone])
            cancel = {**(yield from self.sign_salts(gone)), **of}
        else:
            cancel = self.sign_cancellations("gone", gone)
            left = read_remaining("gone", cast(Sequence[Mapping[str, Any]], gone))
            for item, of in zip(cancel, left, strict=True):
                item.pop("expiresAt", None)  # a replacement takes only known orders
                item.update(of)
        answer = yield from self._place(path, {"cancel": cancel, "place": place}, options, read)
        if answer is not None:
            return cast(Replacement, answer)
        by_salt = isinstance(gone, Mapping)
        hashes = (yield from self._read_cancelled(orders[0])) if by_salt else [item["orderHash"] for item in cancel]
        cancelled = [Cancellation(orderHash=order_hash, status="CANCELLED") for order_hash in hashes]
        return {"cancelled": cancelled, "placed": _validating(orders)}

    def _read_cancelled(self, placed: SignedOrder) -> Flow[list[str]]:
        """Reads from the maker's history which orders a stored replacement has cancelled.

        All facts of a request have its id and the same time.
        """
        cancelled: list[str] = []
        cursor = None
        try:
            timeline = (yield from self.find_order(placed["orderHash"]))["timeline"]
            opened = next((entry for entry in timeline if entry["happened"] == "OPENED"), None)
            while opened is not None:
                page = yield from self.read_history(["REMOVED"], from_ms=opened["loggedAtMs"], cursor=cursor)
                of_then = [entry for entry in page["entries"] if entry["loggedAtMs"] == opened["loggedAtMs"]]
                cancelled += [entry["orderHash"] for entry in of_then if entry["cause"] == opened["cause"]]
                if not page["hasMore"] or len(of_then) < len(page["entries"]):
                    return cancelled
                cursor = page["nextCursor"]
        except MakerbookError as error:
            error.may_have_happened = True
            raise
        return cancelled  # the opening is no longer kept, so the replaced orders are unknown

    # Cancelling

    def cancel(
        self, orders: Sequence[OrderToCancel] | SaltsToCancel, wait: Uint256 = 0, by: Literal["router"] | None = None
    ) -> Flow[AwaitedCancellations]:
        wait_seconds = read_whole("wait_seconds", wait, _WAIT_SECONDS)
        if by not in (None, "router"):
            raise WrongValue("by", "must be router, or left out")
        if isinstance(orders, Mapping):
            body = body_of((yield from self.sign_salts(orders)))
        else:
            body = body_of(self.sign_cancellations("orders", orders))
        prefer = f"wait={wait_seconds}{'' if by is None else f'; by={by}'}"
        headers = {"Prefer": prefer} if wait_seconds > 0 else {}
        path = f"{ORDERS}/cancellations"

        def once() -> Flow[AwaitedCancellations]:
            response = yield from self.store(path, body, headers, wait_seconds)
            applied = response.headers.get("preference-applied", "")
            unseen = response.headers.get("x-unseen-by")
            return AwaitedCancellations(
                read_answer(Call("POST", path), response, list),
                is_out_of_feed=re.search(r"\bwait=", applied) is not None,
                is_seen_by_routers=re.search(r"\bby=router\b", applied) is not None,
                unseen_by=[] if unseen is None else unseen.split(", "),
                position=response.headers.get("x-log-position"),
            )

        return cast(AwaitedCancellations, (yield from self.again(once)))

    def cancel_all(
        self, making: str | None = None, taking: str | None = None, until_ms: Uint256 | None = None
    ) -> Flow[CancelledAll]:
        # The zero address would mean any token.
        tokens = {
            name: read_token(name, token)
            for name, token in (("making", making), ("taking", taking))
            if token is not None
        }
        until = None if until_ms is None else read_whole("until_ms", until_ms, UNIX_MS)
        named = {
            "maker": self.maker,
            **tokens,
            "untilMs": (yield from self.clock.latest_ms()) if until is None else until,
        }
        unnamed = {"making": ZERO_ADDRESS, "taking": ZERO_ADDRESS}
        return cast(CancelledAll, (yield from self._tell("cancel-all", "CancelAllRequest", named, unnamed)))

    def send_heartbeat(self, cancel_at: Uint256) -> Flow[TakenMessage]:
        return self._instruct(
            "heartbeat", "HeartbeatRequest", cancelAt=read_whole("cancel_at", cancel_at, UNIX_SECONDS_OR_OFF)
        )

    def name_cancel_keys(self, keys: Sequence[str], **readers: Sequence[str] | None) -> Flow[TakenMessage]:
        def read(field: str, given: Sequence[str]) -> list[str]:
            return [read_address(f"{field}[{index}]", key) for index, key in enumerate(read_list(field, given))]

        named = {"keys": read("keys", keys)}
        if all(given is None for given in readers.values()):
            return self._instruct("cancel-keys", "CancelKeysRequest", **named)
        for name in ("list", "stream", "history"):
            field = f"{name}_keys"
            named[f"{name}Keys"] = read(field, readers.get(field) or [])
        return self._instruct("cancel-keys", "KeysRequest", **named)

    def set_fill_cap(self, token: str, amount: Uint256, window_seconds: Uint256) -> Flow[TakenMessage]:
        cap = {"token": read_token("token", token), "amount": hex(read_uint256("amount", amount))}
        window = read_whole("window_seconds", window_seconds, _WINDOW_SECONDS)
        return self._instruct("fill-cap", "FillCapRequest", **cap, windowSeconds=window)

    def _instruct(self, name: str, struct: str, **fields: Any) -> Flow[Any]:
        """Sends a message with the time of its issue: the newest one counts."""
        issued = yield from self.clock.issued_ms()
        return (yield from self._tell(name, struct, {"maker": self.maker, **fields, "issuedAtMs": issued}))

    def _tell(self, name: str, struct: str, named: Mapping[str, Any], unnamed: Mapping[str, str] = {}) -> Flow[Any]:
        """Sends a message about all orders.

        A repeat is harmless, so a retry sends the same message. `unnamed` is signed, but not sent.
        """
        signature = self.sign(struct, {**unnamed, **named})
        path, body = f"{ORDERS}/{name}", body_of({**named, "signature": signature})

        def once() -> Flow[Any]:
            return read_answer(Call("POST", path), (yield from self.store(path, body, {})), dict)

        return (yield from self.again(once))

    # Reading

    def list_orders(
        self,
        order_salt: Uint256 | None = None,
        making: str | None = None,
        taking: str | None = None,
        status: Sequence[str] | None = None,
    ) -> Flow[OrderList]:
        given = {
            "orderSalt": None if order_salt is None else hex(read_uint256("order_salt", order_salt)),
            "making": None if making is None else read_address("making", making),
            "taking": None if taking is None else read_address("taking", taking),
            "status": None if status is None else ",".join(read_list("status", status)),
        }
        rest = {name: value for name, value in given.items() if value is not None}
        response = yield from self.read(ORDERS, "GetLimitOrdersRequest", {}, rest)
        lag = response.headers.get("x-read-lag", "0")
        records = read_answer(Call("GET", ORDERS), response, list)
        return OrderList(records, int(lag) if lag.isdigit() else "unknown")

    def read_account(self) -> Flow[Account]:
        path = f"{ORDERS}/account"
        response = yield from self.read(path, "GetAccountRequest", {}, {})
        return cast(Account, read_answer(Call("GET", path), response, dict))

    def read_history(
        self,
        happened: Sequence[str] | None = None,
        order_salt: Uint256 | None = None,
        from_ms: Uint256 | None = None,
        to_ms: Uint256 | None = None,
        limit: int | None = None,
        cursor: str | None = None,
    ) -> Flow[OrderHistory]:
        given: dict[str, Any] = {
            "happened": None if happened is None else ",".join(read_list("happened", happened)),
            "orderSalt": None if order_salt is None else hex(read_uint256("order_salt", order_salt)),
            "fromMs": None if from_ms is None else read_whole("from_ms", from_ms, UNIX_MS),
            "toMs": None if to_ms is None else read_whole("to_ms", to_ms, UNIX_MS),
            "limit": None if limit is None else read_whole("limit", limit, Bounds("entries", 1, 100)),
            "cursor": cursor,
        }
        rest = {name: str(value) for name, value in given.items() if value is not None}
        path = f"{ORDERS}/history"
        response = yield from self.read(path, "GetLimitOrderHistoryRequest", {}, rest)
        return cast(OrderHistory, read_answer(Call("GET", path), response, dict))

    def find_order(self, order_hash: str, at: int | str | None = None) -> Flow[OrderReport]:
        message = {"orderHash": read_hex("order_hash", order_hash, 32)}
        path = f"{ORDERS}/{message['orderHash']}"
        response = yield from self.read(path, "GetLimitOrderRequest", message, {} if at is None else {"at": str(at)})
        return cast(OrderReport, read_answer(Call("GET", path), response, dict))

    def read_info(self) -> Flow[dict[str, Any]]:
        call = Call("GET", f"{ORDERS}/info")
        return read_answer(call, (yield from self.again(lambda: self.send(call))), dict)

    def patch_quote(self, data: str, min_output: Uint256) -> Flow[str]:
        amount = str(read_uint256("min_output", min_output))
        body = body_of({"data": read_bytes("data", data), "minOutput": {"amount": amount}})
        call = Call("PATCH", "/v0/quote/data", body=body)
        text: str = (yield from self.again(lambda: self.send(call))).text
        if re.fullmatch("0x([0-9a-f]{2})+", text):
            return text
        detail = "the answer is no data: check the URL of the service"
        raise MakerbookError("unreadable", detail, status=200, may_have_happened=False)


def _validating(orders: Sequence[SignedOrder]) -> list[LimitOrderRecord]:
    return [cast(LimitOrderRecord, {**order, "status": "VALIDATING"}) for order in orders]
