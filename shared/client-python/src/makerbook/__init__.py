"""A typed client for makers, and a reader of the book for routers (`makerbook.book`). See README.md."""

from .answers import (
    Account,
    AwaitedCancellations,
    Cancellation,
    CancelledAll,
    GivenAmount,
    HashAndSalt,
    LimitOrderRecord,
    OrderEvent,
    OrderHistory,
    OrderList,
    OrderReport,
    OrderToCancel,
    Replacement,
    SaltsToCancel,
    SignedOrder,
    TimelineEntry,
)
from .async_client import AsyncClient
from .calls import Retry
from .client import Client
from .errors import MakerbookError
from .keys import PrivateKey, Signer
from .receipts import Receipt, read_receipt, verify_receipt
from .sign_and_send import ClientOptions
from .typed_data import Domain, TypedData
from .values import Uint256, WrongValue, read_private_key

__all__ = [
    "Account",
    "AsyncClient",
    "AwaitedCancellations",
    "Cancellation",
    "CancelledAll",
    "Client",
    "ClientOptions",
    "Domain",
    "GivenAmount",
    "HashAndSalt",
    "LimitOrderRecord",
    "MakerbookError",
    "OrderEvent",
    "OrderHistory",
    "OrderList",
    "OrderReport",
    "OrderToCancel",
    "PrivateKey",
    "Receipt",
    "Replacement",
    "Retry",
    "SaltsToCancel",
    "SignedOrder",
    "Signer",
    "TimelineEntry",
    "TypedData",
    "Uint256",
    "WrongValue",
    "read_private_key",
    "read_receipt",
    "verify_receipt",
]
