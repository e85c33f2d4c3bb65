import { expect, test } from '@jest/globals';
import type { AskWallets } from '@makerbook/chain';
import { addressOfKey, signDigest } from '@makerbook/signatures';
import { admitRequest } from './admit-request.js';

const key = new Uint8Array(32).fill(7);
const digest = new Uint8Array(32).fill(1);
const [signer, wallet, stranger] = [addressOfKey(key), `0x${'aa'.repeat(20)}`, `0x${'bb'.repeat(20)}`] as const;

/** What becomes of a request that the key has signed, and that names a maker. */
async function admitted(maker: `0x${string}` | undefined, askWallets?: AskWallets) {
  const request = {
    issuedAt: 100n,
    salt: '0x1',
    signature: signDigest(digest, key),
    maker,
    digest: () => digest,
  } as const;
  const isKnown = (one: string) => one !== stranger;
  const result = await admitRequest(request, { requestTtlSeconds: 30, clockSkewSeconds: 5, isKnown, askWallets }, 100);
  return typeof result === 'string' ? result : `${result.code}: ${result.detail}`;
}
const never: AskWallets = async () => {
  throw new Error('it is asked');
};

test('the maker of a request is its signer, whom it may name; no contract is asked then', async () => {
  expect(await admitted(undefined, never)).toBe(signer);
  expect(await admitted(signer, never)).toBe(signer);
});

test('another maker that it names is asked for its contract, unless it is unknown, or keys alone sign', async () => {
  expect(await admitted(wallet, async () => [undefined])).toBe(wallet);
  expect(await admitted(wallet, async () => ['it refuses'])).toMatch(
    /^invalid_signature: .* recovers to .*; it refuses$/,
  );
  expect(await admitted(wallet)).toMatch(/^invalid_signature: .* recovers to 0x[0-9a-f]{40}, not to the maker$/);
  expect(await admitted(stranger, never)).toBe(`maker_not_whitelisted: maker ${stranger} is not on the whitelist`);
});

test('what its contract says is unavailable while the chain does not answer', async () => {
  expect(await admitted(wallet, async () => undefined)).toMatch(/^unavailable: /);
});
