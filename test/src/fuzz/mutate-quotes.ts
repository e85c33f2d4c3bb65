import { bytesToHex, hexToBytes } from '@makerbook/contracts-evm';
import type { Hex } from '@makerbook/contracts-primitives';
import type { Random } from './random.js';

/** Calldata with something done to it. It is text, for what is done to it may make it no hex. */
export type Mutation = (calldata: Hex, random: Random, other: Hex) => string;

/** Words at which lengths and offsets break. */
const TELLING = [
  0n,
  1n,
  19n,
  20n,
  31n,
  32n,
  64n,
  65n,
  96n,
  2n ** 31n,
  2n ** 32n - 1n,
  2n ** 32n,
  2n ** 53n,
  2n ** 64n - 1n,
  2n ** 64n,
  2n ** 255n,
  2n ** 256n - 32n,
  2n ** 256n - 1n,
] as const;
const ORDER = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n;
/** From the end of a call: signature (65 bytes and 31 of padding). */
const SIGNATURE_FROM_END = 96;

/** Each by the name under which the fuzzer counts what became of it. */
export const mutations: Readonly<Record<string, Mutation>> = {
  'bit flips': onBytes((bytes, random) => {
    for (let flips = 1 + random.below(8); flips > 0; flips -= 1)
      flip(bytes, random.below(bytes.length), 1 << random.below(8));
    return bytes;
  }),
  'bytes replaced': onBytes((bytes, random) => {
    bytes.set(random.bytes(1 + random.below(32)), random.below(Math.max(1, bytes.length - 32)));
    return bytes;
  }),
  'cut at the end': onBytes((bytes, random) => bytes.slice(0, random.below(bytes.length))),
  'cut in the middle': onBytes((bytes, random) => {
    const from = random.below(bytes.length);
    return join(bytes.slice(0, from), bytes.slice(from + 1 + random.below(64)));
  }),
  'bytes behind': onBytes((bytes, random) =>
    join(bytes, filled(random, 1 + random.below(random.pick([4, 32, 64, 1000])))),
  ),
  'bytes in the middle': onBytes((bytes, random) => {
    const at = 4 + random.below(bytes.length - 4);
    return join(bytes.slice(0, at), filled(random, random.pick([1, 20, 31, 32, 64])), bytes.slice(at));
  }),
  'a telling word anywhere': onBytes((bytes, random) => {
    putWord(bytes, random.below((bytes.length - 4) >> 5), random.pick(TELLING));
    return bytes;
  }),
  'a wrong offset': onBytes((bytes, random) => {
    putWord(
      bytes,
      headWords(bytes) + random.below(3),
      random.oneIn(2) ? BigInt(random.below(40) * 32) : random.pick(TELLING),
    );
    return bytes;
  }),
  'an offset that is a few bytes off': onBytes((bytes, random) => {
    const at = headWords(bytes) + random.below(3);
    putWord(bytes, at, readWord(bytes, at) + BigInt(random.below(63) - 31));
    return bytes;
  }),
  'overlapping tails': onBytes((bytes, random) => {
    const offsets = headWords(bytes);
    const source = random.below(3);
    putWord(bytes, offsets + ((source + 1 + random.below(2)) % 3), readWord(bytes, offsets + source));
    return bytes;
  }),
  'a wrong length': onBytes((bytes, random) => {
    const tail = Number(readWord(bytes, headWords(bytes) + random.below(3)) >> 5n);
    putWord(bytes, tail, random.oneIn(2) ? BigInt(random.below(200)) : random.pick(TELLING));
    return bytes;
  }),
  'tails in another order': onBytes((bytes, random) =>
    layOut(
      bytes,
      random.pick([
        [1, 0, 2],
        [2, 1, 0],
        [0, 2, 1],
        [2, 0, 1],
        [1, 2, 0],
      ]),
      () => 0,
    ),
  ),
  'gaps between the tails': onBytes((bytes, random) =>
    layOut(bytes, [0, 1, 2], () => random.below(3) * 32 + (random.oneIn(3) ? random.below(32) : 0)),
  ),
  'dirty padding': onBytes((bytes, random) => {
    const dirty = 1 + random.below(255);
    if (random.oneIn(3)) flip(bytes, bytes.length - 1 - random.below(31), dirty);
    else flip(bytes, 4 + 32 * random.pick([0, 1, 2, 3, 4]) + random.below(12), dirty);
    return bytes;
  }),
  'many minimums': onBytes((bytes, random) => {
    const count = random.oneIn(200) ? 5_000 + random.below(9_000) : 2 + random.below(60);
    return withTail(bytes, 1, word(BigInt(count)), filled(random, count * 32));
  }),
  'many pools': onBytes((bytes, random) => {
    const length = random.oneIn(200) ? 100_000 + random.below(300_000) : random.below(1_000);
    return withTail(bytes, 0, word(BigInt(length)), filled(random, Math.ceil(length / 32) * 32));
  }),
  'a long signature': onBytes((bytes, random) => {
    const length = random.below(300);
    return withTail(bytes, 2, word(BigInt(length)), filled(random, Math.ceil(length / 32) * 32));
  }),
  'another selector': onBytes((bytes, random) => {
    bytes.set(random.bytes(4));
    return bytes;
  }),
  'the selector of the other version': onBytes((bytes, _random, other) => {
    bytes.set(other.slice(0, 4));
    return bytes;
  }),
  'two calls joined': onBytes((bytes, random, other) =>
    join(bytes.slice(0, random.below(bytes.length)), other.slice(random.below(other.length))),
  ),
  'the signature of another call': onBytes((bytes, _random, other) => {
    bytes.set(other.slice(-SIGNATURE_FROM_END, -31), bytes.length - SIGNATURE_FROM_END);
    return bytes;
  }),
  'another v': onBytes((bytes, random) => {
    bytes[bytes.length - 32] = random.oneIn(2) ? random.below(256) : random.pick([0, 1, 27, 28, 2, 29]);
    return bytes;
  }),
  'the high-s twin': onBytes((bytes) => {
    const s = bytes.length - SIGNATURE_FROM_END + 32;
    bytes.set(word(ORDER - BigInt(bytesToHex(bytes.slice(s, s + 32)))), s);
    flip(bytes, bytes.length - 32, 27 ^ 28);
    return bytes;
  }),
  'a telling r or s': onBytes((bytes, random) => {
    const value = random.pick([0n, 1n, 5n, ORDER, ORDER - 1n, ORDER / 2n + 1n, 2n ** 256n - 1n]);
    bytes.set(word(value), bytes.length - SIGNATURE_FROM_END + random.pick([0, 32]));
    return bytes;
  }),
  'hex of another case': (calldata, random) =>
    [...calldata].map((digit, index) => (index > 1 && random.oneIn(2) ? digit.toUpperCase() : digit)).join(''),
  'text that is no hex': (calldata, random) => {
    const at = random.below(calldata.length);
    const odd = random.pick(['g', ' ', '\n', '\0', 'İ', '０', '😀', 'x', '-', '"', '\\', '\ud800']);
    return calldata.slice(0, at) + odd + calldata.slice(at + random.below(2));
  },
  'half a byte': (calldata, random) => {
    const at = 2 + random.below(calldata.length - 2);
    return random.oneIn(2) ? `${calldata}0` : calldata.slice(0, at) + calldata.slice(at + 1);
  },
  'another prefix': (calldata, random) =>
    random.pick(['', '0X', '0x0x', ' 0x', '00', 'x', '\ufeff0x']) + calldata.slice(2),
  'nothing but noise': (_calldata, random) => bytesToHex(random.bytes(random.below(1_200))),
  'nothing at all': (calldata) => calldata,
};

function onBytes(change: (bytes: Uint8Array, random: Random, other: Uint8Array) => Uint8Array): Mutation {
  return (calldata, random, other) => bytesToHex(change(hexToBytes(calldata), random, hexToBytes(other)));
}

/** Words of the quote's fields: after them stand the three offsets. The length tells the version by the first offset. */
function headWords(bytes: Uint8Array): number {
  return readWord(bytes, 4) === 7n * 32n && readWord(bytes, 5) > 7n * 32n && readWord(bytes, 5) < 1000n ? 4 : 6;
}

/** The three tails, each with its length in front, as the offsets say. */
function tailsOf(bytes: Uint8Array): Uint8Array[] {
  const head = headWords(bytes);
  const starts = [0, 1, 2].map((index) => 4 + Number(readWord(bytes, head + index)));
  return starts.map((start, index) => bytes.slice(start, starts[index + 1] ?? bytes.length));
}

/** Lays the tails out in an order and with gaps: to the ABI it is the same call. */
function layOut(
  bytes: Uint8Array,
  order: readonly number[],
  gap: () => number,
  tails: readonly Uint8Array[] = tailsOf(bytes),
): Uint8Array {
  const head = headWords(bytes);
  const parts: Uint8Array[] = [bytes.slice(0, 4 + 32 * (head + 3))];
  let offset = 32 * (head + 3);
  const offsets: [number, number][] = [];
  for (const index of order) {
    const tail = tails[index] ?? new Uint8Array();
    const space = gap();
    offset += space;
    offsets.push([index, offset]);
    parts.push(new Uint8Array(space), tail);
    offset += tail.length;
  }
  const laidOut = join(...parts);
  for (const [index, at] of offsets) putWord(laidOut, head + index, BigInt(at));
  return laidOut;
}

function withTail(bytes: Uint8Array, index: number, ...tail: Uint8Array[]): Uint8Array {
  const tails = tailsOf(bytes).map((known, at) => (at === index ? join(...tail) : known));
  return layOut(bytes, [0, 1, 2], () => 0, tails);
}

function readWord(bytes: Uint8Array, index: number): bigint {
  const at = 4 + index * 32;
  return at + 32 > bytes.length ? 0n : BigInt(bytesToHex(bytes.slice(at, at + 32)));
}

/** Does nothing where the calldata has no such word. */
function putWord(bytes: Uint8Array, index: number, value: bigint): void {
  const at = 4 + index * 32;
  if (at + 32 <= bytes.length) bytes.set(word(value), at);
}

function word(value: bigint): Uint8Array {
  return hexToBytes(`0x${BigInt.asUintN(256, value).toString(16).padStart(64, '0')}`);
}

function flip(bytes: Uint8Array, at: number, bits: number): void {
  bytes[at] = (bytes[at] ?? 0) ^ bits;
}

function filled(random: Random, length: number): Uint8Array {
  return length > 4_000 || random.oneIn(2)
    ? new Uint8Array(length).fill(random.pick([0, 0, 0xff, 0x20]))
    : random.bytes(length);
}

function join(...parts: readonly Uint8Array[]): Uint8Array {
  return Buffer.concat(parts);
}
