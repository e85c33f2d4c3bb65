"""Reads the values that a program gives.

A value that makes no sense is refused by the name of its field, before anything is signed or sent.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Union
from urllib.parse import urlsplit

#: A uint256 as people give it: an int, a decimal string, or 0x-hex. A float may have lost digits already.
Uint256 = Union[int, str]

ZERO_ADDRESS = "0x" + "0" * 40
CURVE_ORDER = 0xFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFEBAAEDCE6AF48A03BBFD25E8CD0364141

_DIGITS = re.compile("0x[0-9a-fA-F]{1,64}|[0-9]{1,78}")
_HEX = re.compile("0x[0-9a-fA-F]*")


class WrongValue(ValueError):
    """A value that makes no sense.

    The message names the field and what it must be. It shows no text because a text may be a key.
    """

    def __init__(self, field: str, wrong: str) -> None:
        super().__init__(f"{field} {wrong}")
        #: The field as the caller knows it: `making.amount`, `orders[2].salt`, `MAKER_KEY`.
        self.field = field


def _must_be(field: str, what: str, value: object) -> WrongValue:
    return WrongValue(field, f"must be {what}, and is {_describe(value)}")


def _describe(value: object) -> str:
    if value == "":
        return "an empty string"
    if isinstance(value, (str, bytes)):
        return f"a {type(value).__name__} of {len(value)} characters"
    if isinstance(value, int) and not isinstance(value, bool) and value.bit_length() > 64:
        return f"an int of {value.bit_length()} bits"
    if isinstance(value, (int, float)) or value is None:
        return repr(value)
    return f"a {type(value).__name__}"


def _whole_of(value: object) -> int | None:
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    if isinstance(value, str) and _DIGITS.fullmatch(value):
        return int(value, 16 if value.startswith("0x") else 10)
    return None


def read_uint256(field: str, value: object) -> int:
    """Raises WrongValue for anything but an int, a decimal string or hex from 0 to 2^256 - 1."""
    read = _whole_of(value)
    if read is not None and 0 <= read < 2**256:
        return read
    raise _must_be(field, "an int, a decimal string or 0x-hex, from 0 to 2^256 - 1", value)


@dataclass(frozen=True)
class Bounds:
    """The bounds of a whole number, both included, and what it counts."""

    unit: str
    least: int
    most: int
    or_zero: bool = False


# Requests name times from 2020 to 2100. So no number is a time both in seconds and in milliseconds, and no length of
# time is one.
UNIX_SECONDS = Bounds("Unix seconds", 1_577_836_800, 4_102_444_800)
UNIX_SECONDS_OR_OFF = Bounds("Unix seconds", 1_577_836_800, 4_102_444_800, or_zero=True)
UNIX_MS = Bounds("milliseconds since 1970", 1_577_836_800_000, 4_102_444_800_000)


def read_whole(field: str, value: object, bounds: Bounds) -> int:
    """Raises WrongValue for anything but a whole number within the bounds, as an int or a string of digits."""
    read = _whole_of(value)
    if read is not None and (bounds.least <= read <= bounds.most or (bounds.or_zero and read == 0)):
        return read
    or_zero = ", or 0" if bounds.or_zero else ""
    raise _must_be(field, f"{bounds.unit}, from {bounds.least} to {bounds.most}{or_zero}", value)


def read_expiry(field: str, value: object) -> int:
    """Reads when an order expires.

    Takes any uint256 that is neither a time in milliseconds nor a length of time.
    """
    read = read_uint256(field, value)
    is_in_ms = 10**11 <= read < 10**14
    if read >= 10**9 and not is_in_ms:
        return read
    raise WrongValue(field, f"must be Unix seconds, and is {'in milliseconds' if is_in_ms else 'before 2001'}")


def read_hex(field: str, value: object, size: int) -> str:
    """Returns lowercase hex. Raises WrongValue for anything but 0x and `size` bytes."""
    if isinstance(value, str) and len(value) == 2 + 2 * size and _HEX.fullmatch(value):
        return value.lower()
    raise _must_be(field, f"0x and {2 * size} hex digits", value)


def read_bytes(field: str, value: object) -> str:
    """Reads bytes of any length, such as a signature or calldata. Returns them as given."""
    if isinstance(value, str) and len(value) % 2 == 0 and _HEX.fullmatch(value):
        return value
    raise _must_be(field, "0x and whole bytes of hex", value)


def read_address(field: str, value: object) -> str:
    """Returns the address in lowercase."""
    return read_hex(field, value, 20)


def read_token(field: str, value: object) -> str:
    """Returns the address of a token, in lowercase. Refuses the zero address too."""
    address = read_address(field, value)
    if address != ZERO_ADDRESS:
        return address
    raise WrongValue(field, "must be the address of a token, and is the zero address")


def read_private_key(field: str, value: object) -> str:
    """Reads a private key of secp256k1. The WrongValue that it raises does not show the key."""
    if isinstance(value, str) and re.fullmatch("0x[0-9a-fA-F]{64}", value) and 0 < int(value, 16) < CURVE_ORDER:
        return value
    raise WrongValue(field, "is no private key: 0x and 64 hex digits")


def read_bearer_key(field: str, value: object) -> str:
    """Reads the key of a reader, which an HTTP header can hold. The WrongValue that it raises does not show the key."""
    if isinstance(value, str) and re.fullmatch("[!-~]([ -~]*[!-~])?", value):
        return value
    raise WrongValue(field, "is no key of a reader: ASCII, without line breaks and spaces around it")


def read_service_url(field: str, value: object) -> str:
    """Returns the URL without slashes at the end. Refuses user, password, query and fragment."""
    if isinstance(value, str) and re.fullmatch(r"https?://[!-~]+", value) and not re.search(r"[?#\\]", value):
        try:
            url = urlsplit(value)
            if url.hostname and "@" not in url.netloc and url.port != 0:
                return value.rstrip("/")
        except ValueError:  # no port
            pass
    raise WrongValue(field, "must be a URL that begins with http:// or https://, without user, password and query")


def read_name(field: str, value: object) -> str:
    """Reads a text that is not empty."""
    if isinstance(value, str) and value != "":
        return value
    raise _must_be(field, "a text", value)


def read_list(field: str, value: object) -> Sequence[Any]:
    """Reads a list or a tuple."""
    if isinstance(value, (list, tuple)):
        return value
    raise _must_be(field, "a list", value)


def read_fields(field: str, value: object) -> Mapping[str, Any]:
    """Reads a dict."""
    if isinstance(value, Mapping):
        return value
    raise _must_be(field, "a dict", value)
