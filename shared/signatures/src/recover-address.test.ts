import { describe, expect, test } from '@jest/globals';
import { bytesToHex, hexToBytes } from '@makerbook/contracts-evm';
import { type Hex, quantity } from '@makerbook/contracts-primitives';
import { Signature as EthersSignature, recoverAddress as ethersRecover, SigningKey, Wallet } from 'ethers';
import fc from 'fast-check';
import { addressOfKey, isSignatureRefusal, parseSignature, recoverAddress, signDigest } from './index.js';

const ORDER = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n;
const digests = fc.uint8Array({ minLength: 32, maxLength: 32 });
const keys = fc.bigInt({ min: 1n, max: ORDER - 1n }).map((key) => hexToBytes(word(key)));
const signed = fc.record({ digest: digests, key: keys }).map(({ digest, key }) => {
  const signature = new SigningKey(bytesToHex(key)).sign(digest);
  return { digest, key, signature, address: new Wallet(bytesToHex(key)).address.toLowerCase() };
});

function word(value: bigint): Hex {
  return `0x${quantity(value).slice(2).padStart(64, '0')}`;
}

function recover(digest: Uint8Array, hex: string): string {
  const parsed = parseSignature(hex);
  return isSignatureRefusal(parsed) ? parsed.code : (recoverAddress(digest, parsed) ?? 'no_address');
}

/** The result of ethers, with the rules that ethers lacks: four values of v, and only a low s. */
function oracle(digest: Uint8Array, bytes: Uint8Array): string | undefined {
  try {
    let hex = bytesToHex(bytes);
    if (bytes.length === 65) {
      const v = bytes[64] ?? 0;
      if (![0, 1, 27, 28].includes(v)) return undefined;
      hex = bytesToHex(Uint8Array.from([...bytes.subarray(0, 64), v < 27 ? v + 27 : v]));
    }
    const signature = EthersSignature.from(hex);
    if (BigInt(signature.s) > ORDER / 2n) return undefined;
    return ethersRecover(bytesToHex(digest), signature).toLowerCase();
  } catch {
    return undefined;
  }
}

describe('a valid signature', () => {
  test('recovers to its maker in both forms, with every allowed v, in upper- and lowercase hex', () => {
    fc.assert(
      fc.property(signed, ({ digest, signature, address }) => {
        const rs = `${signature.r}${signature.s.slice(2)}`;
        const parity = signature.yParity;
        for (const form of [
          `${rs}0${parity}`,
          `${rs}${(27 + parity).toString(16)}`,
          signature.compactSerialized,
          `0x${signature.serialized.slice(2).toUpperCase()}`,
        ]) {
          expect(recover(digest, form)).toBe(address);
        }
      }),
      { numRuns: 100 },
    );
  });

  test('is made by signDigest for the address of its key', () => {
    fc.assert(
      fc.property(digests, keys, (digest, key) => {
        const hex = signDigest(digest, key);
        expect(addressOfKey(key)).toBe(new Wallet(bytesToHex(key)).address.toLowerCase());
        expect(recover(digest, hex)).toBe(addressOfKey(key));
        expect(hex).toBe(new SigningKey(bytesToHex(key)).sign(digest).serialized);
      }),
      { numRuns: 100 },
    );
  });
});

test.each([
  ['has a byte too few', new Uint8Array(31).fill(1)],
  ['is zero', new Uint8Array(32)],
  ['is the order of the curve', hexToBytes(word(ORDER))],
])('a private key that %s neither signs nor has an address', (_title, key) => {
  expect(() => signDigest(new Uint8Array(32).fill(1), key)).toThrow();
  expect(() => addressOfKey(key)).toThrow();
});

describe('a signature with one byte changed', () => {
  test('gives what ethers gives, and never the maker, whichever of the 65 bytes it is', () => {
    fc.assert(
      fc.property(signed, fc.integer({ min: 1, max: 255 }), ({ digest, signature, address }, flip) => {
        for (let at = 0; at < 65; at += 1) {
          const bytes = hexToBytes(signature.serialized as Hex);
          bytes[at] = (bytes[at] ?? 0) ^ flip;
          const ours = recover(digest, bytesToHex(bytes));
          expect(ours.startsWith('0x') ? ours : undefined).toBe(oracle(digest, bytes));
          // The changed v may be the other way to write the same parity.
          const sameParity = at === 64 && bytes[at] === signature.yParity;
          expect(ours === address).toBe(sameParity);
        }
      }),
      { numRuns: 5 },
    );
  });

  test('or of random bytes gives what ethers gives', () => {
    fc.assert(
      fc.property(
        digests,
        fc.uint8Array({ minLength: 64, maxLength: 65 }),
        fc.constantFrom(0, 1, 27, 28),
        (digest, bytes, v) => {
          if (bytes.length === 65) bytes[64] = v;
          const ours = recover(digest, bytesToHex(bytes));
          expect(ours.startsWith('0x') ? ours : undefined).toBe(oracle(digest, bytes));
        },
      ),
      { numRuns: 300 },
    );
  });
});

describe('a refused signature', () => {
  test('is the high-s twin of a valid one, and its short form never gives the maker', () => {
    fc.assert(
      fc.property(signed, ({ digest, signature }) => {
        const s = ORDER - BigInt(signature.s);
        const v = (55 - signature.v).toString(16);
        expect(recover(digest, `${signature.r}${word(s).slice(2)}${v}`)).toBe('high_s');
        const compact = recover(digest, `${signature.r}${word(s).slice(2)}`);
        expect(compact).not.toBe(ethersRecover(bytesToHex(digest), signature).toLowerCase());
      }),
      { numRuns: 100 },
    );
  });

  const r = word(1n);
  const s = word(1n).slice(2);
  test.each([
    ['no bytes', '0x', 'wrong_length'],
    ['66 bytes', `0x${'11'.repeat(66)}`, 'wrong_length'],
    ['v of 29', `${r}${s}1d`, 'wrong_v'],
    ['a character that is not hex', `${r}${s}1g`, 'not_hex'],
    ['a wide character whose low byte is a hex digit', `${r}${s}1İ`, 'not_hex'],
    ['r of zero', `${word(0n)}${s}1b`, 'out_of_range'],
    ['s of zero', `${r}${word(0n).slice(2)}1b`, 'out_of_range'],
    ['s of zero in the short form with its parity set', `${r}80${'00'.repeat(31)}`, 'out_of_range'],
    ['r of the order', `${word(ORDER)}${s}1b`, 'out_of_range'],
    ['the smallest high s', `${r}${word(ORDER / 2n + 1n).slice(2)}1b`, 'high_s'],
  ])('has %s', (_title, hex, code) => {
    expect(parseSignature(hex)).toEqual({ code });
  });

  test('is not one with the largest low s or the largest r', () => {
    expect(isSignatureRefusal(parseSignature(`${r}${word(ORDER / 2n).slice(2)}1b`))).toBe(false);
    expect(isSignatureRefusal(parseSignature(`${word(ORDER - 1n)}${s}1b`))).toBe(false);
  });

  test('recovers no address when r is no point of the curve', () => {
    // There is no point with x = 5 on secp256k1.
    expect(recover(new Uint8Array(32), `${word(5n)}${s}1b`)).toBe('no_address');
  });
});
