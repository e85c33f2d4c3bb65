"""Keys and digests: secp256k1 by libsecp256k1, and Keccak-256."""

from typing import Protocol

from coincurve import PrivateKey as _PrivateKey
from coincurve import PublicKey as _PublicKey

from .typed_data import TypedData, keccak256
from .values import CURVE_ORDER, WrongValue, read_address, read_private_key


class Signer(Protocol):
    """Signs for the maker: a local key, or a signer of your own, such as a hardware module."""

    @property
    def address(self) -> str:
        """The signer's address: 0x and 40 hex digits."""
        ...

    def sign(self, data: TypedData) -> str:
        """Returns 65 bytes r, s, v as 0x-hex, over `data.digest`; `data.as_dict()` is what wallets take."""
        ...


class PrivateKey:
    """A local private key. Nothing shows it."""

    def __init__(self, key: str, field: str = "key") -> None:
        self.__key = _PrivateKey(bytes.fromhex(read_private_key(field, key)[2:]))
        self.address = _address_of(self.__key.public_key)

    def sign(self, data: TypedData) -> str:
        signature = self.__key.sign_recoverable(data.digest, hasher=None)
        return "0x" + (signature[:64] + bytes([27 + signature[64]])).hex()

    def __repr__(self) -> str:
        return f"PrivateKey(of {self.address})"

    def __reduce__(self) -> str:
        raise TypeError("a private key cannot be pickled")


def read_signer(signer: str | Signer) -> Signer:
    """Reads a private key as text, or a Signer. No error shows a key."""
    if isinstance(signer, str):
        return PrivateKey(signer, "signer")
    if callable(getattr(signer, "sign", None)) and isinstance(getattr(signer, "address", None), str):
        read_address("signer.address", signer.address)
        return signer
    raise WrongValue("signer", "must be a private key, or have an address and sign typed data")


def recover_address(digest: bytes, signature: str) -> str | None:
    """Returns the address that signed the digest, or None.

    `signature`: 65 bytes r, s, v, or the 64 bytes of EIP-2098, with low s.
    """
    try:
        given = bytes.fromhex(signature[2:])
    except ValueError:
        return None
    if len(given) == 64:
        given = given[:32] + bytes([given[32] & 0x7F]) + given[33:] + bytes([27 + (given[32] >> 7)])
    if len(given) != 65 or given[64] not in (0, 1, 27, 28) or int.from_bytes(given[32:64], "big") > CURVE_ORDER // 2:
        return None
    try:
        recovered = _PublicKey.from_signature_and_message(given[:64] + bytes([given[64] % 27]), digest, hasher=None)
    except Exception:  # coincurve raises Exception itself
        return None
    return _address_of(recovered)


def _address_of(key: _PublicKey) -> str:
    return "0x" + keccak256(key.format(compressed=False)[1:])[12:].hex()
