"""Replaces this module of the package pycryptodome in tests without it."""

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


class new:
    def __init__(self, *, data, digest_bits):
        assert digest_bits == 256
        self.data = data

    def digest(self):
        return keccak(self.data)
