"""Reads records of `limit-orders.book.v1`.

A record that cannot be read must not be skipped: the book would be wrong.
"""

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, cast

_ADDRESS, _BYTES32 = re.compile("0x[0-9a-f]{40}"), re.compile("0x[0-9a-f]{64}")
_QUANTITY, _OFFSET = re.compile("0x(0|[1-9a-f][0-9a-f]{0,63})"), re.compile("0|[1-9][0-9]{0,19}")
_SIGNATURE = re.compile("0x([0-9a-f]{2}){0,1024}")
REMOVALS = frozenset(
    [
        "CANCELLED",
        "CANCELLED_ONCHAIN",
        "NONCE_CHANGED",
        "FILLED",
        "EXPIRED",
        "GRACE_PERIOD",
        "QUARANTINED",
        "SUSPENDED",
        "CAPPED",
    ]
)

#: An order as the feed has it: see "An order" in the routers' guide.
BookEntry = dict[str, Any]
#: The block and the log position up to which a partition is complete: see "The clock" there.
BookClock = dict[str, Any]


class FeedViolation(Exception):
    """The feed broke its promise, or a record cannot be read. The book may be wrong.

    Drop the book.
    """


@dataclass(frozen=True)
class FeedRecord:
    """A record of the feed. `value` is JSON: text from Kafka, parsed from HTTP, and None in a tombstone."""

    partition: int
    key: str
    value: str | bytes | dict[str, Any] | None
    headers: Mapping[str, str]


def violation(record: FeedRecord, what: str) -> FeedViolation:
    return FeedViolation(f"partition {record.partition} of the book, key {record.key}: {what}")


def decode_record(record: FeedRecord) -> tuple[str, dict[str, Any]]:
    """Returns `BookEntry` or `BookClock`, and the fields. Raises FeedViolation."""
    name = record.headers.get("ce_type", "")
    check = {"makerbook.BookEntry.v1": _check_entry, "makerbook.BookClock.v1": _check_clock}.get(name)
    if check is None:
        raise violation(record, f"ce_type {name or 'is missing'} is not known here")
    data = _parse(record)
    wrong = check(data)
    if wrong is not None:
        raise violation(record, f"{name}: {wrong} is missing or has another form")
    if data["position"]["partition"] != record.partition:
        raise violation(record, f"its position is in partition {data['position']['partition']}")
    return name.split(".")[1], data


def _parse(record: FeedRecord) -> dict[str, Any]:
    data: Any = record.value
    if isinstance(data, (str, bytes)):
        try:
            data = json.loads(data)
        except ValueError:
            raise violation(record, "the value is not JSON") from None
    if not isinstance(data, dict):
        raise violation(record, "the value is not an object")
    return data


Check = Callable[[Any], bool]


def _text(pattern: "re.Pattern[str]") -> Check:
    return lambda value: isinstance(value, str) and pattern.fullmatch(value) is not None


def _whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _fields(checks: Mapping[str, Check | Mapping[str, Any]], value: Any, path: str = "") -> str | None:
    """Returns the path of the first wrong field. Fields that `checks` does not name are allowed."""
    if not isinstance(value, dict):
        return path or "the value"
    for name, check in checks.items():
        here = f"{path}.{name}".lstrip(".")
        if isinstance(check, Mapping):
            wrong = _fields(check, value.get(name), here)
        else:
            wrong = None if check(value.get(name)) else here
        if wrong is not None:
            return wrong
    return None


_AMOUNT = {"token": _text(_ADDRESS), "amount": _text(_QUANTITY)}
_POSITION = {"partition": _whole, "offset": _text(_OFFSET)}
_FUNDING = {"balance": _text(_QUANTITY), "allowance": _text(_QUANTITY), "block": _whole}
_ENTRY: Mapping[str, Any] = {
    "orderHash": _text(_BYTES32),
    "order": {
        **{name: _text(_QUANTITY) for name in ("salt", "nonce", "expiresAt")},
        "making": _AMOUNT,
        "taking": _AMOUNT,
        "maker": _text(_ADDRESS),
        "permittedTaker": _text(_ADDRESS),
    },
    "signature": _text(_SIGNATURE),
    "remainingMakingAmount": _text(_QUANTITY),
    "routableUntil": _whole,
    "acceptedAtMs": _whole,
    "position": _POSITION,
    "causes": lambda value: isinstance(value, list),
    "status": lambda value: value in ("VALIDATING", "ACTIVE", "INACTIVE"),
}


def _check_entry(data: dict[str, Any]) -> str | None:
    wrong = _fields(_ENTRY, data)
    if wrong is not None or data["status"] == "VALIDATING":
        return wrong
    return _fields({"funding": _FUNDING}, data)


def _check_clock(data: dict[str, Any]) -> str | None:
    block = {"number": _whole, "hash": _text(_BYTES32), "timestamp": _whole}
    book = {"entries": _whole, "hash": _text(_BYTES32)}
    return _fields({"block": block, "position": _POSITION, **({"book": book} if "book" in data else {})}, data)


def read_removal(record: FeedRecord) -> tuple[str, int]:
    """Returns why an order left, and the offset of the fact that removed it. Raises FeedViolation."""
    removal, offset = record.headers.get("removal", ""), record.headers.get("position_offset", "")
    partition = record.headers.get("position_partition", "")
    if removal not in REMOVALS or partition != str(record.partition) or not _OFFSET.fullmatch(offset):
        raise violation(record, f"a tombstone says removal {removal}, position {partition}:{offset}")
    return removal, int(offset)


def parse_line(line: str) -> FeedRecord:
    """Parses a line of a snapshot. Raises FeedViolation."""
    try:
        told = cast(dict[str, Any], json.loads(line))
        return FeedRecord(int(told["partition"]), str(told["key"]), told["value"], told["headers"])
    except (ValueError, TypeError, KeyError):
        raise FeedViolation("a line of the book cannot be read") from None
