"""Stands in for the package eth-account where a test runs `maker.py` without it: for public test keys alone.

It has what the example calls: `Account.from_key(…).address` and `Account.sign_typed_data(…).signature`.
"""

import hashlib
import hmac
from types import SimpleNamespace

P = 2**256 - 2**32 - 977
N = 0xFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFEBAAEDCE6AF48A03BBFD25E8CD0364141
G = (
    0x79BE667EF9DCBBAC55A06295CE870B07029BFCDB2DCE28D959F2815B16F81798,
    0x483ADA7726A3C4655DA4FBFC0E1108A8FD17B448A68554199C47D08FFB10D4B8,
)
DOMAIN_TYPES = {
    "name": "string",
    "version": "string",
    "chainId": "uint256",
    "verifyingContract": "address",
    "salt": "bytes32",
}
MASK = 2**64 - 1


def rotate(lane, bits):
    return (lane << bits | lane >> (64 - bits)) & MASK if bits else lane


def permute(lanes):
    """Keccak-f[1600] over 25 lanes, lane (x, y) at x + 5 y."""
    feedback = 1
    for _ in range(24):
        parity = [lanes[x] ^ lanes[x + 5] ^ lanes[x + 10] ^ lanes[x + 15] ^ lanes[x + 20] for x in range(5)]
        for x in range(5):
            theta = parity[x - 1] ^ rotate(parity[(x + 1) % 5], 1)
            for y in range(0, 25, 5):
                lanes[x + y] ^= theta
        x, y, current = 1, 0, lanes[1]
        for step in range(24):
            x, y = y, (2 * x + 3 * y) % 5
            current, lanes[x + 5 * y] = lanes[x + 5 * y], rotate(current, (step + 1) * (step + 2) // 2 % 64)
        for y in range(0, 25, 5):
            row = lanes[y : y + 5]
            for x in range(5):
                lanes[x + y] = row[x] ^ (~row[(x + 1) % 5] & MASK & row[(x + 2) % 5])
        for bit in range(7):
            feedback = (feedback << 1 ^ (feedback >> 7) * 0x171) & 0xFF
            if feedback & 2:
                lanes[0] ^= 1 << ((1 << bit) - 1)


def keccak(data):
    rate = 136
    padded = bytearray(data + b"\x01" + bytes(-(len(data) + 1) % rate))
    padded[-1] |= 0x80
    lanes = [0] * 25
    for start in range(0, len(padded), rate):
        for lane in range(rate // 8):
            lanes[lane] ^= int.from_bytes(padded[start + 8 * lane : start + 8 * lane + 8], "little")
        permute(lanes)
    return b"".join(lane.to_bytes(8, "little") for lane in lanes[:4])


def add(one, other):
    if one is None or other is None:
        return other or one
    if one[0] == other[0] and one[1] != other[1]:
        return None
    if one == other:
        slope = 3 * one[0] * one[0] * pow(2 * one[1], -1, P) % P
    else:
        slope = (other[1] - one[1]) * pow(other[0] - one[0], -1, P) % P
    x = (slope * slope - one[0] - other[0]) % P
    return x, (slope * (one[0] - x) - one[1]) % P


def multiply(point, factor):
    result = None
    while factor:
        if factor & 1:
            result = add(result, point)
        point, factor = add(point, point), factor >> 1
    return result


def nonces(secret, digest):
    """RFC 6979 with SHA-256."""
    seed = secret.to_bytes(32, "big") + (int.from_bytes(digest, "big") % N).to_bytes(32, "big")
    key, value = bytes(32), b"\x01" * 32
    for separator in (b"\x00", b"\x01"):
        key = hmac.digest(key, value + separator + seed, hashlib.sha256)
        value = hmac.digest(key, value, hashlib.sha256)
    while True:
        value = hmac.digest(key, value, hashlib.sha256)
        yield int.from_bytes(value, "big")
        key = hmac.digest(key, value + b"\x00", hashlib.sha256)
        value = hmac.digest(key, value, hashlib.sha256)


def sign_digest(secret, digest):
    z = int.from_bytes(digest, "big")
    for k in nonces(secret, digest):
        if not 0 < k < N:
            continue
        x, y = multiply(G, k)
        r = x % N
        s = pow(k, -1, N) * (z + r * secret) % N
        if r == 0 or s == 0:
            continue
        parity = y & 1 ^ (s > N // 2)
        return r.to_bytes(32, "big") + min(s, N - s).to_bytes(32, "big") + bytes([27 + parity])


def type_string(name, types):
    """As EIP-712 has it: the struct itself, then those that it needs, by name."""
    needed, queue = set(), [name]
    while queue:
        struct = queue.pop()
        if struct in types and struct not in needed:
            needed.add(struct)
            queue.extend(field["type"] for field in types[struct])
    ordered = [name, *sorted(needed - {name})]
    return "".join(f"{s}({','.join(field['type'] + ' ' + field['name'] for field in types[s])})" for s in ordered)


def encode(type_, value, types):
    if type_ in types:
        return hash_struct(type_, value, types)
    if type_ == "string":
        return keccak(value.encode())
    number = int(value, 16) if isinstance(value, str) else int(value)
    return number.to_bytes(32, "big")


def hash_struct(name, value, types):
    encoded = [encode(field["type"], value[field["name"]], types) for field in types[name]]
    return keccak(keccak(type_string(name, types).encode()) + b"".join(encoded))


class Account:
    @staticmethod
    def from_key(key):
        x, y = multiply(G, int(key, 16))
        return SimpleNamespace(address="0x" + keccak(x.to_bytes(32, "big") + y.to_bytes(32, "big"))[12:].hex())

    @staticmethod
    def sign_typed_data(key, domain_data, message_types, message_data):
        needed = {field["type"] for fields in message_types.values() for field in fields}
        (primary,) = message_types.keys() - needed
        domain_types = [{"name": name, "type": type_} for name, type_ in DOMAIN_TYPES.items() if name in domain_data]
        separator = hash_struct("EIP712Domain", domain_data, {"EIP712Domain": domain_types})
        digest = keccak(b"\x19\x01" + separator + hash_struct(primary, message_data, message_types))
        return SimpleNamespace(signature=sign_digest(int(key, 16), digest))
