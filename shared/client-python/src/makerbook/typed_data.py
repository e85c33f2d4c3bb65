"""Typed data (EIP-712) to sign, in the domain of one deployment. See "Signing" in the makers' guide."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from Crypto.Hash import keccak

from .values import Bounds, Uint256, read_address, read_name, read_whole

#: Fields of a struct, as (type, name).
Fields = Sequence[tuple[str, str]]

_DOMAIN: Fields = [("string", "name"), ("string", "version"), ("uint256", "chainId"), ("address", "verifyingContract")]


def _fields(text: str) -> Fields:
    return [(kind, name) for kind, name in (field.split(" ") for field in text.split(","))]


TOKEN_AMOUNT = _fields("address token,uint256 amount")
STRUCTS: Mapping[str, Fields] = {
    "Order": _fields(
        "uint256 salt,uint256 nonce,uint256 expiresAt,TokenAmount making,TokenAmount taking,address maker,"
        "address permittedTaker"
    ),
    "GetLimitOrdersRequest": _fields("uint256 issuedAt"),
    "StreamLimitOrdersRequest": _fields("uint256 issuedAt"),
    "GetAccountRequest": _fields("uint256 issuedAt"),
    "GetLimitOrderRequest": _fields("bytes32 orderHash,uint256 issuedAt"),
    "GetLimitOrderHistoryRequest": _fields("uint256 issuedAt"),
    "OrderCancellationRequest": _fields("bytes32 orderHash"),
    "CancelAllRequest": _fields("address maker,address making,address taking,uint256 untilMs"),
    "CancelBySaltRequest": _fields("address maker,uint256[] salts,uint256 untilMs"),
    "HeartbeatRequest": _fields("address maker,uint256 cancelAt,uint256 issuedAtMs"),
    "CancelKeysRequest": _fields("address maker,address[] keys,uint256 issuedAtMs"),
    "KeysRequest": _fields(
        "address maker,address[] keys,address[] listKeys,address[] streamKeys,address[] historyKeys,uint256 issuedAtMs"
    ),
    "FillCapRequest": _fields("address maker,address token,uint256 amount,uint256 windowSeconds,uint256 issuedAtMs"),
    "Receipt": _fields("bytes32[] placed,bytes32[] cancelled,bytes32[] messages,string position"),
}


@dataclass(frozen=True)
class Domain:
    """The deployment that signatures are for, as `/info` and the operator name it."""

    chain_id: Uint256
    service_name: str
    limit_order_protocol: str

    def __post_init__(self) -> None:
        chain_id = read_whole("chain_id", self.chain_id, Bounds("the id of a chain", 1, 2**53 - 1))
        object.__setattr__(self, "chain_id", chain_id)
        read_name("service_name", self.service_name)
        protocol = read_address("limit_order_protocol", self.limit_order_protocol)
        object.__setattr__(self, "limit_order_protocol", protocol)

    def typed(
        self, struct: str, message: Mapping[str, Any], salt: str | None = None, salt_type: str = "bytes32"
    ) -> "TypedData":
        """One struct of STRUCTS in this domain. `salt`: 32 bytes of hex, which the domain then has."""
        domain: dict[str, Any] = {
            "name": f"{self.service_name} Limit Order Protocol",
            "version": "v0",
            "chainId": self.chain_id,
            "verifyingContract": self.limit_order_protocol,
        }
        types = {"EIP712Domain": [*_DOMAIN], struct: STRUCTS[struct]}
        if struct == "Order":
            types["TokenAmount"] = TOKEN_AMOUNT
        if salt is not None:
            types["EIP712Domain"] = [*_DOMAIN, (salt_type, "salt")]
            domain["salt"] = salt
        return TypedData(types, struct, domain, message)


@dataclass(frozen=True)
class TypedData:
    """The data to sign."""

    types: Mapping[str, Fields]
    primary_type: str
    domain: Mapping[str, Any]
    message: Mapping[str, Any]

    @cached_property
    def digest(self) -> bytes:
        """The 32 bytes to sign. For an order they are its hash."""
        separator = _hash_struct("EIP712Domain", self.domain, self.types)
        return keccak256(b"\x19\x01" + separator + _hash_struct(self.primary_type, self.message, self.types))

    def as_dict(self) -> dict[str, Any]:
        """The data as `eth_signTypedData_v4` takes it."""
        types = {name: [{"name": field, "type": kind} for kind, field in fields] for name, fields in self.types.items()}
        return {"types": types, "primaryType": self.primary_type, "domain": self.domain, "message": self.message}


def keccak256(data: bytes) -> bytes:
    """Returns 32 bytes."""
    return bytes(keccak.new(data=data, digest_bits=256).digest())


def _hash_struct(name: str, value: Mapping[str, Any], types: Mapping[str, Fields]) -> bytes:
    encoded = [_encode(kind, value[field], types) for kind, field in types[name]]
    return keccak256(keccak256(_type_text(name, types).encode()) + b"".join(encoded))


def _type_text(name: str, types: Mapping[str, Fields]) -> str:
    """Describes the struct itself, then the structs that it needs, sorted by name."""
    needed: set[str] = set()
    queue = [name]
    while queue:
        struct = queue.pop()
        if struct in types and struct not in needed:
            needed.add(struct)
            queue.extend(kind for kind, _ in types[struct])
    ordered = [name, *sorted(needed - {name})]
    return "".join(f"{struct}({','.join(f'{kind} {field}' for kind, field in types[struct])})" for struct in ordered)


def _encode(kind: str, value: Any, types: Mapping[str, Fields]) -> bytes:
    if kind in types:
        return _hash_struct(kind, value, types)
    if kind.endswith("[]"):
        return keccak256(b"".join(_encode(kind[:-2], item, types) for item in value))
    if kind == "string":
        return keccak256(str(value).encode())
    if kind == "bytes":
        return keccak256(bytes.fromhex(value[2:]))
    if not re.fullmatch("uint256|address|bytes32", kind):
        raise TypeError(f"the type {kind} is not known here")
    number = value if isinstance(value, int) else int(value, 16 if value.startswith("0x") else 10)
    return number.to_bytes(32, "big")
