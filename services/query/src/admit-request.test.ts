import { expect, test } from '@jest/globals';
import { signDigest } from '@makerbook/signatures';
import { admitRequest } from './admit-request.js';

test('what the contract of another maker says is unavailable while the chain does not answer', async () => {
  const digest = new Uint8Array(32).fill(1);
  const signature = signDigest(digest, new Uint8Array(32).fill(7));
  const maker = `0x${'aa'.repeat(20)}` as const;
  const request = { issuedAt: 100n, salt: '0x1', signature, maker, digest: () => digest } as const;
  const askWallets = async () => 'unknown' as const;
  const rules = { requestTtlSeconds: 30, clockSkewSeconds: 5, isKnown: () => true, askWallets };
  const asker = { client: '', charge: async () => undefined };
  expect(await admitRequest(request, rules, 100, asker)).toMatchObject({ code: 'unavailable' });
});
