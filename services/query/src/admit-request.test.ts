import { expect, test } from '@jest/globals';
import type { Address } from '@makerbook/contracts-primitives';
import { addressOfKey, signDigest } from '@makerbook/signatures';
import { admitRequest } from './admit-request.js';

test('what the contract of another maker says is unavailable while the chain does not answer', async () => {
  const digest = new Uint8Array(32).fill(1);
  const signature = signDigest(digest, new Uint8Array(32).fill(7));
  const maker = `0x${'aa'.repeat(20)}` as const;
  const request = { issuedAt: 100n, salt: '0x1', signature, maker, reads: 'list', digest: () => digest } as const;
  const askWallets = async () => 'unknown' as const;
  const rules = { requestTtlSeconds: 30, clockSkewSeconds: 5, mayRead: () => false, isKnown: () => true, askWallets };
  const asker = { client: '', charge: async () => undefined };
  expect(await admitRequest(request, rules, 100, asker)).toMatchObject({ code: 'unavailable' });
});

test('a key reads for the maker that the request names, what it may read and nothing else', async () => {
  const digest = new Uint8Array(32).fill(1);
  const secret = new Uint8Array(32).fill(7);
  const key = addressOfKey(secret);
  const maker = `0x${'aa'.repeat(20)}` as const;
  const mayRead = (of: Address, by: Address, what: string) => of === maker && by === key && what === 'history';
  const rules = { requestTtlSeconds: 30, clockSkewSeconds: 5, isKnown: (one: Address) => one === maker, mayRead };
  const ask = (reads: 'stream' | 'history', named: Address | undefined) => {
    const request = {
      issuedAt: 100n,
      salt: '0x1',
      signature: signDigest(digest, secret),
      digest: () => digest,
    } as const;
    return admitRequest({ ...request, maker: named, reads }, rules, 100, { client: '', charge: async () => undefined });
  };
  expect(await ask('history', maker)).toEqual({ maker, key });
  const detail = expect.stringContaining(`${key}, not to the maker or a key that may stream for it`);
  expect(await ask('stream', maker)).toMatchObject({ code: 'invalid_signature', detail });
  expect(await ask('history', undefined)).toMatchObject({ code: 'maker_not_whitelisted' });
});
