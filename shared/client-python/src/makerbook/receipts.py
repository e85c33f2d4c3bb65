"""Receipts: the service's signed proof of what it has stored, and where in its log.

See 4.16 of the makers' guide.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .calls import parse_json
from .keys import recover_address
from .typed_data import Domain
from .values import ZERO_ADDRESS, read_address, read_list


@dataclass(frozen=True)
class Receipt:
    """A proof. Keep it, with the `receiptSigners` of `/info`."""

    #: Hashes of the orders that were placed.
    placed: Sequence[str]
    #: Hashes of the orders that were cancelled.
    cancelled: Sequence[str]
    #: The digest of the CancelAllRequest, HeartbeatRequest, CancelKeysRequest, KeysRequest or FillCapRequest.
    messages: Sequence[str]
    #: `<partition>:<offset>`, one for each partition, as `X-Log-Position` has it.
    position: str
    signature: str


def verify_receipt(receipt: Receipt, domain: Domain, signers: Sequence[str]) -> bool:
    """Tells whether one of these keys has signed the receipt.

    Asks no service. Raises WrongValue for signers that are no addresses.
    """
    trusted = [
        read_address(f"signers[{index}]", address) for index, address in enumerate(read_list("signers", signers))
    ]
    message = {name: getattr(receipt, name) for name in ("placed", "cancelled", "messages", "position")}
    try:
        return recover_address(domain.typed("Receipt", message).digest, receipt.signature) in trusted
    except (ValueError, TypeError, AttributeError, OverflowError):
        return False


def read_receipt(text: str, headers: Mapping[str, str], domain: Domain) -> Receipt | None:
    """The receipt of an answer: what its body says was stored, and its signature. None if it has none."""
    signature, position = headers.get("x-receipt"), headers.get("x-log-position")
    if signature is None or position is None:
        return None
    body = parse_json(text) or {}
    items = body if isinstance(body, list) else [*body.get("cancelled", ()), *body.get("placed", ())]
    hashes: dict[str, list[str]] = {"VALIDATING": [], "CANCELLED": []}
    for item in items:
        hashes.get(item["status"], []).append(item["orderHash"])
    messages = [] if isinstance(body, list) else _digests_of(body, domain)
    return Receipt(hashes["VALIDATING"], hashes["CANCELLED"], messages, position, signature)


def _digests_of(told: Mapping[str, Any], domain: Domain) -> list[str]:
    """The digest of the message that an answer repeats, if it is an answer to one."""
    structs = {"untilMs": "CancelAllRequest", "cancelAt": "HeartbeatRequest", "windowSeconds": "FillCapRequest"}
    structs["listKeys" if "listKeys" in told else "keys"] = "KeysRequest" if "listKeys" in told else "CancelKeysRequest"
    message = {"making": ZERO_ADDRESS, "taking": ZERO_ADDRESS, **told}
    return ["0x" + domain.typed(struct, message).digest.hex() for name, struct in structs.items() if name in told]
