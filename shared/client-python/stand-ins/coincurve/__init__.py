"""Replaces the package coincurve in tests without it.

Use it only for public test keys: its running time gives the key away.
"""

import hashlib
import hmac

P = 2**256 - 2**32 - 977
N = 0xFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFEBAAEDCE6AF48A03BBFD25E8CD0364141
G = (
    0x79BE667EF9DCBBAC55A06295CE870B07029BFCDB2DCE28D959F2815B16F81798,
    0x483ADA7726A3C4655DA4FBFC0E1108A8FD17B448A68554199C47D08FFB10D4B8,
)


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
        return r.to_bytes(32, "big") + min(s, N - s).to_bytes(32, "big") + bytes([parity])


class PrivateKey:
    def __init__(self, secret):
        self._secret = int.from_bytes(secret, "big")
        self.public_key = PublicKey(multiply(G, self._secret))

    def sign_recoverable(self, digest, hasher):
        assert hasher is None
        return sign_digest(self._secret, digest)


class PublicKey:
    def __init__(self, point):
        self._point = point

    def format(self, *, compressed):
        assert not compressed
        return b"\x04" + b"".join(number.to_bytes(32, "big") for number in self._point)

    @staticmethod
    def from_signature_and_message(signature, digest, hasher):
        assert hasher is None
        r, s, parity = (int.from_bytes(part, "big") for part in (signature[:32], signature[32:64], signature[64:]))
        square = (pow(r, 3, P) + 7) % P
        y = pow(square, (P + 1) // 4, P)
        if not 0 < r < N or not 0 < s < N or y * y % P != square or parity > 1:
            raise Exception("no key has signed this")
        point = (r, y if y & 1 == parity else P - y)
        inverse, z = pow(r, -1, N), int.from_bytes(digest, "big")
        key = add(multiply(point, s * inverse % N), multiply(G, -z * inverse % N))
        if key is None:
            raise Exception("no key has signed this")
        return PublicKey(key)
