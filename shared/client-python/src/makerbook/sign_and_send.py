"""Signs requests by the service's clock and sends them, as flows."""

import random
import secrets
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any, TypedDict

from .answers import OrderToCancel, SaltsToCancel, SignedOrder
from .calls import ONCE, Call, Flow, Response, Retry, Send, again, expect_200, read_answer, unreachable
from .clock import ServiceClock
from .errors import MakerbookError, NoAnswer
from .keys import PrivateKey, Signer, read_signer
from .orders import read_draft, read_orders_to_cancel
from .receipts import Receipt, read_receipt
from .typed_data import Domain, TypedData
from .values import UNIX_MS, read_address, read_list, read_uint256, read_whole

ORDERS = "/v0alpha/limit-orders"


class ClientOptions(TypedDict, total=False):
    """The options of `Client` and `AsyncClient` besides URL, signer and domain."""

    #: The maker, if another address signs: for a contract wallet, or by a key that may cancel or read for the maker.
    maker: str
    #: A call that has no whole answer by then counts as `unreachable`. 10 unless given.
    timeout_seconds: float
    #: Retries what is `retryable`. If left out, every call is tried once.
    retry: Retry
    #: Called with what is about to be signed.
    on_sign: Callable[[TypedData], None]
    #: With it, every request that stores something asks for a receipt. Verify the receipt by `verify_receipt`, and keep
    #: it. If the callback fails, the call fails with `receipt_not_kept` and `may_have_happened`.
    on_receipt: Callable[[Receipt], None]
    #: The local clock, in milliseconds since 1970. Requests are signed by the service's.
    now_ms: Callable[[], float]
    #: Draws 32 random bytes.
    random_salt: Callable[[], bytes]
    #: The httpx client that sends the requests, with your proxies and certificates. `close` leaves it open.
    http_client: Any


class SigningFlows:
    """Signs requests and sends them."""

    def __init__(self, signer: str | Signer, domain: Domain, options: ClientOptions) -> None:
        unknown = options.keys() - ClientOptions.__annotations__.keys()
        if unknown:
            raise TypeError(f"unknown options: {', '.join(sorted(unknown))}")
        self._signer = read_signer(signer)
        self.domain = domain
        named = options.get("maker")
        # The query names the maker if the signature does not.
        self._named = {} if named is None else {"maker": read_address("maker", named)}
        self.maker = self._named.get("maker", self._signer.address.lower())
        self._retry = options.get("retry", ONCE)
        self._on_sign = options.get("on_sign")
        self._on_receipt = options.get("on_receipt")
        self._salt = options.get("random_salt", lambda: secrets.token_bytes(32))
        self.clock = ServiceClock(options.get("now_ms", lambda: time.time() * 1000), self._ask_time)

    # Sending

    def _ask_time(self) -> Flow[None]:
        try:
            yield from self.send(Call("GET", f"{ORDERS}/info"))
        except MakerbookError:
            # While query is down, ingress tells the time. If it does not, the next call says what is wrong.
            with suppress(MakerbookError):
                yield from self.send(Call("OPTIONS", ORDERS))

    def send(self, call: Call) -> Flow[Response]:
        """Raises MakerbookError for any status other than 200, and if no answer comes."""
        try:
            response = yield Send(call)
        except NoAnswer as reason:
            raise unreachable(call, reason) from reason
        self.clock.hear(response.headers)
        return expect_200(call, response)

    def store(self, path: str, body: Any, headers: Mapping[str, str], wait_seconds: int = 0) -> Flow[Response]:
        """Sends a POST. Asks for a receipt if the client wants receipts."""
        if self._on_receipt is not None:
            wait = headers.get("Prefer")
            headers = {**headers, "Prefer": "receipt" if wait is None else f"{wait}, receipt"}
        call = Call("POST", path, body=body, headers=headers, wait_seconds=wait_seconds)
        response = yield from self.send(call)
        if self._on_receipt is not None:
            try:
                receipt = read_receipt(response.text, response.headers, self.domain)
                if receipt is not None:
                    self._on_receipt(receipt)
            except Exception as error:
                detail = f"the request was done, but its receipt could not be kept: {error}"
                raise MakerbookError("receipt_not_kept", detail, status=200, may_have_happened=True) from error
        return response

    def again(self, work: Callable[[], Flow[Any]]) -> Flow[Any]:
        return again(work, self._retry, random.random)

    # Signing

    def sign(self, struct: str, message: Mapping[str, Any], salt: str | None = None, salt_type: str = "bytes32") -> str:
        data = self.domain.typed(struct, message, salt, salt_type)
        return self._sign_data(data)

    def _sign_data(self, data: TypedData) -> str:
        if self._on_sign is not None:
            self._on_sign(data)
        return self._signer.sign(data)

    def sign_order(self, **terms: Any) -> SignedOrder:
        order = read_draft(self.maker, terms, int.from_bytes(self._salt(), "big"))
        data = self.domain.typed("Order", order)
        return {"order": order, "orderHash": "0x" + data.digest.hex(), "signature": self._sign_data(data)}

    def sign_cancellations(self, field: str, orders: Sequence[OrderToCancel]) -> list[dict[str, Any]]:
        # The interface types the salt as uint256. Wallets and libraries know only bytes32, which the service takes too.
        salt_type = "uint256" if isinstance(self._signer, PrivateKey) else "bytes32"
        signed = []
        for order_hash, salt, expires_at in read_orders_to_cancel(field, orders):
            padded = f"0x{salt:064x}"
            signature = self.sign("OrderCancellationRequest", {"orderHash": order_hash}, padded, salt_type)
            until = {} if expires_at is None else {"expiresAt": hex(expires_at)}
            signed.append({"orderHash": order_hash, "signature": signature, "salt": hex(salt), **until})
        return signed

    def sign_salts(self, named: SaltsToCancel) -> Flow[dict[str, Any]]:
        given = read_list("salts", named["salts"])
        until = named.get("untilMs")
        message = {
            "maker": self.maker,
            "salts": [hex(read_uint256(f"salts[{index}]", salt)) for index, salt in enumerate(given)],
            "untilMs": (yield from self.clock.latest_ms()) if until is None else read_whole("untilMs", until, UNIX_MS),
        }
        return {**message, "signature": self.sign("CancelBySaltRequest", message)}

    # Reading

    def sign_read(self, struct: str, message: Mapping[str, Any]) -> Flow[dict[str, str]]:
        """Signs the query of one try. Each try needs its own salt: the service takes a salt once."""
        # Go back a second because the clocks of the instances differ.
        issued = (yield from self.clock.now_ms()) // 1000 - 1
        salt = "0x" + self._salt().hex()
        signature = self.sign(struct, {**message, "issuedAt": issued}, salt)
        return {"issuedAt": str(issued), "salt": salt, "signature": signature, **self._named}

    def signed(self, send: Callable[[], Flow[Response]]) -> Flow[Response]:
        """Signs and sends. Does so once more if it was too early or too late, because the refusal has told the time,
        or if the network had sent it twice.
        """
        try:
            return (yield from send())
        except MakerbookError as error:
            if error.code not in ("request_expired", "request_replayed"):
                raise
        return (yield from send())

    def read(self, path: str, struct: str, message: Mapping[str, Any], rest: Mapping[str, str]) -> Flow[Response]:
        def once() -> Flow[Response]:
            query = {**(yield from self.sign_read(struct, message)), **rest}
            return (yield from self.send(Call("GET", path, query)))

        return self.again(lambda: self.signed(once))


def read_domain(options: ClientOptions) -> Flow[Domain]:
    """Asks `/info` for the domain."""
    call = Call("GET", f"{ORDERS}/info")

    def once() -> Flow[Domain]:
        try:
            response = yield Send(call)
        except NoAnswer as reason:
            raise unreachable(call, reason) from reason
        info = read_answer(call, expect_200(call, response), dict)
        try:
            return Domain(info["chainId"], info["serviceName"], info["contracts"]["limitOrderProtocol"])
        except (KeyError, TypeError, ValueError) as wrong:
            raise MakerbookError(
                "unreadable", "GET /info names no domain: check the URL", status=200, may_have_happened=False
            ) from wrong

    return again(once, options.get("retry", ONCE), random.random)
