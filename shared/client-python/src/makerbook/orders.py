"""Reads the orders that a program gives. Raises WrongValue if a field makes no sense."""

from collections.abc import Mapping, Sequence
from typing import Any, cast

from .answers import Order
from .values import (
    ZERO_ADDRESS,
    read_address,
    read_bytes,
    read_expiry,
    read_fields,
    read_hex,
    read_list,
    read_token,
    read_uint256,
)


def read_draft(maker: str, terms: Mapping[str, Any], salt: int) -> Order:
    """Reads the terms that a maker decides, and fills in the rest of the order."""

    def amount_of(name: str) -> dict[str, str]:
        given = read_fields(name, terms[name])
        amount = hex(read_uint256(f"{name}.amount", given.get("amount")))
        return {"token": read_token(f"{name}.token", given.get("token")), "amount": amount}

    return cast(
        Order,
        {
            "salt": hex(salt if terms["salt"] is None else read_uint256("salt", terms["salt"])),
            "nonce": hex(read_uint256("nonce", terms["nonce"])),
            "expiresAt": hex(read_expiry("expires_at", terms["expires_at"])),
            "making": amount_of("making"),
            "taking": amount_of("taking"),
            "maker": maker,
            "permittedTaker": ZERO_ADDRESS,
        },
    )


def read_order(field: str, given: object) -> Order:
    """Reads the form of a whole order to send. The service judges its terms."""
    order = read_fields(field, given)

    def uint256(name: str) -> str:
        return hex(read_uint256(f"{field}.{name}", order.get(name)))

    def amount_of(name: str) -> dict[str, str]:
        side = read_fields(f"{field}.{name}", order.get(name))
        token = read_address(f"{field}.{name}.token", side.get("token"))
        return {"token": token, "amount": hex(read_uint256(f"{field}.{name}.amount", side.get("amount")))}

    read = {
        **{name: uint256(name) for name in ("salt", "nonce", "expiresAt")},
        **{name: amount_of(name) for name in ("making", "taking")},
        **{name: read_address(f"{field}.{name}", order.get(name)) for name in ("maker", "permittedTaker")},
    }
    return cast(Order, read)


def read_signed_orders(given: object) -> list[dict[str, Any]]:
    """Reads the items of a POST."""
    items = []
    for index, one in enumerate(read_list("orders", given)):
        item = read_fields(f"orders[{index}]", one)
        order = read_order(f"orders[{index}].order", item.get("order"))
        items.append({"order": order, "signature": read_bytes(f"orders[{index}].signature", item.get("signature"))})
    return items


def read_orders_to_cancel(field: str, given: object) -> list[tuple[str, int, int | None]]:
    """Returns hash, salt and expiry of each: from a signed order, a record of the list, or as given."""
    named = []
    for index, one in enumerate(read_list(field, given)):
        item = read_fields(f"{field}[{index}]", one)
        order = item.get("order")
        terms = item if "salt" in item or not isinstance(order, Mapping) else order
        order_hash = read_hex(f"{field}[{index}].orderHash", item.get("orderHash"), 32)
        salt, expires_at = read_uint256(f"{field}[{index}].salt", terms.get("salt")), terms.get("expiresAt")
        until = None if expires_at is None else read_uint256(f"{field}[{index}].expiresAt", expires_at)
        named.append((order_hash, salt, until))
    return named


def read_remaining(field: str, given: Sequence[Mapping[str, Any]]) -> list[dict[str, str]]:
    """Reads the amount that the maker believes is left of each order, for a replacement."""
    lefts = [item.get("remainingMakingAmount") for item in given]
    return [
        {}
        if left is None
        else {"remainingMakingAmount": hex(read_uint256(f"{field}[{index}].remainingMakingAmount", left))}
        for index, left in enumerate(lefts)
    ]
