"""Replaces the package eth-account in tests without it."""

from types import SimpleNamespace

from makerbook import PrivateKey, TypedData

DOMAIN_TYPES = {"name": "string", "version": "string", "chainId": "uint256", "verifyingContract": "address"}


class Account:
    @staticmethod
    def from_key(key):
        return PrivateKey(key)

    @staticmethod
    def sign_typed_data(key, domain_data, message_types, message_data):
        types = {name: [(field["type"], field["name"]) for field in fields] for name, fields in message_types.items()}
        (primary,) = types.keys() - {kind for fields in types.values() for kind, _ in fields}
        types["EIP712Domain"] = [(kind, name) for name, kind in DOMAIN_TYPES.items()]
        signature = PrivateKey(key).sign(TypedData(types, primary, domain_data, message_data))
        return SimpleNamespace(signature=bytes.fromhex(signature[2:]))
