import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, test } from '@jest/globals';
import { createRequestHashers } from '@makerbook/contracts-evm';
import type { Address } from '@makerbook/contracts-primitives';
import type { ApiRequest } from '@makerbook/http';
import { listOrders } from './list-orders.js';

const file = fileURLToPath(import.meta.resolve('@makerbook/contracts-http/vectors.json'));
const vectors = JSON.parse(readFileSync(file, 'utf8'));
const { request: signed, expected } = vectors.lists.find((one: typeof vectors) => one.expected.maker !== undefined);

/** Lists at the time of the request, with this switch in the rows. */
async function headersWith(cancelAt: number) {
  const request = { query: new URLSearchParams({ ...signed, issuedAt: String(signed.issuedAt) }), describe() {} };
  const listing = { body: Buffer.from('[]'), etag: 'W/"1"', version: 1n, next: undefined, lag: 0, cancelAt };
  const reply = await listOrders(request as unknown as ApiRequest, {
    hashers: createRequestHashers({ ...vectors.domain, serviceName: 'Makerbook' }),
    rules: {
      requestTtlSeconds: 30,
      clockSkewSeconds: 5,
      mayRead: () => false,
      isKnown: (maker: Address) => maker === expected.maker,
    },
    isWhitelistKnown: () => true,
    replays: { takeSalt: async () => ({ kind: 'takenLocally' }), releaseSalt: async () => undefined },
    budget: { ratePerSecond: 1, burst: 1 },
    unixMs: () => signed.issuedAt * 1000,
    readState: async () => undefined,
    checkedLocally: () => undefined,
    readList: async () => ({ ...listing, source: 'postgres' }),
    cursors: { refuse: async () => undefined, cursorOf: async () => undefined },
    partitions: 1,
    listed: () => undefined,
  });
  return reply.headers;
}

test('a switch is shown until the rows say that it has fired, whatever the local clock says', async () => {
  expect(await headersWith(signed.issuedAt - 1)).toHaveProperty('X-Cancel-All-At', String(signed.issuedAt - 1));
  expect(await headersWith(0)).not.toHaveProperty('X-Cancel-All-At');
});
