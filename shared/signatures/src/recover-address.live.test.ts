import { describe, expect, test } from '@jest/globals';
import { bytesToHex, hexToBytes } from '@makerbook/contracts-evm';
import type { Hex } from '@makerbook/contracts-primitives';
import { fetchLibsecp256k1 } from '@makerbook/parts';
import { recoverAddress as ethersRecover, SigningKey } from 'ethers';
import fc from 'fast-check';
import { chooseLibrary } from './choose-library.js';
import { type Curve, loadPackage } from './load-library.js';
import type { Signature } from './parse-signature.js';
import { addressOfPoint } from './recover-address.js';

const ORDER = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n;
/** The x of the curve's generator. If s equals the digest, it leads to the point at infinity, which is no key. */
const GENERATOR_X = 0x79be667ef9dcbbac55a06295ce870b07029bfcdb2dce28d959f2815b16f81798n;
const words = [0n, 1n, 5n, GENERATOR_X, ORDER / 2n, ORDER / 2n + 1n, ORDER - 1n, ORDER, 2n ** 256n - 1n].map(word);

const file = await fetchLibsecp256k1();
const { library, curve } = await chooseLibrary(file ?? '');
/** The package has no binary for some Linux machines. Only a compiler makes one there. */
const byPackage = await loadPackage().catch(() => undefined);
const each = byPackage === undefined ? [curve] : [curve, byPackage];

test('on Linux the library is fetched and used', () => {
  const isBuilt = process.platform === 'linux' && ['x64', 'arm64'].includes(process.arch);
  expect(library).toEqual(
    isBuilt ? { name: 'libsecp256k1', file } : expect.objectContaining({ name: 'secp256k1 (npm)' }),
  );
});

test('the library and the package sign and recover as ethers does', () => {
  fc.assert(
    fc.property(bytes(32), bytes(32), (digest, key) => {
      const signer = new SigningKey(bytesToHex(key));
      const signature = signer.sign(digest);
      const compact = hexToBytes((signature.r + signature.s.slice(2)) as Hex);
      for (const { sign, publicKeyOf, recoverKey } of each) {
        const made = sign(digest, key);
        expect({ ...made, compact: bytesToHex(made.compact) }).toEqual({
          compact: bytesToHex(compact),
          recovery: signature.yParity,
        });
        expect(bytesToHex(publicKeyOf(key))).toBe(signer.publicKey);
        expect(recoverBy({ recoverKey }, digest, made)).toBe(ethersRecover(digest, signature).toLowerCase());
      }
    }),
    { numRuns: 200 },
  );
});

(byPackage === undefined ? describe.skip : describe)('the library recovers what the package does', () => {
  test('from random bytes, half of which are no signature', () => {
    fc.assert(
      fc.property(bytes(32), bytes(64), fc.constantFrom(0, 1), (digest, compact, recovery) => {
        expectSame(digest, { compact, recovery });
      }),
      { numRuns: 500 },
    );
  });

  test('from r, s and digests at the edges of the curve, including a high s', () => {
    for (const digest of words)
      for (const r of words)
        for (const s of words)
          for (const recovery of [0, 1] as const)
            expectSame(digest, { compact: Uint8Array.from([...r, ...s]), recovery });
  });

  test('from bytes in the middle of a larger buffer', () => {
    const buffer = fc.sample(bytes(200), 1)[0] ?? new Uint8Array(200);
    for (let at = 0; at < 100; at += 1) {
      expectSame(buffer.subarray(at, at + 32), { compact: buffer.subarray(at + 35, at + 99), recovery: 0 });
    }
  });
});

function expectSame(digest: Uint8Array, signature: Signature): void {
  const [byLibrary, other] = each.map((one) => recoverBy(one, digest, signature));
  expect(byLibrary).toBe(other);
}

function recoverBy({ recoverKey }: Pick<Curve, 'recoverKey'>, digest: Uint8Array, signature: Signature) {
  const key = new Uint8Array(65);
  return recoverKey(digest, signature, key) ? addressOfPoint(key.subarray(1)) : undefined;
}

function bytes(length: number) {
  return fc.uint8Array({ minLength: length, maxLength: length });
}

function word(value: bigint): Uint8Array {
  return hexToBytes(`0x${value.toString(16).padStart(64, '0')}`);
}
