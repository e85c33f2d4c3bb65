import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, test } from '@jest/globals';
import { createRequestHashers } from '@makerbook/contracts-evm';
import type { Address } from '@makerbook/contracts-primitives';
import { isRefusal, type Refusal } from '@makerbook/http';
import { admitRequest, type SignedRequest } from './answer-signed.js';
import {
  parseAccountRequest,
  parseHistoryRequest,
  parseListRequest,
  parseOrderRequest,
  parseStreamRequest,
} from './parse-requests.js';

const file = fileURLToPath(import.meta.resolve('@makerbook/contracts-http/vectors.json'));
const vectors = JSON.parse(readFileSync(file, 'utf8')) as {
  readonly keys: { readonly maker: { readonly address: Address } };
  readonly domain: { readonly chainId: number; readonly verifyingContract: Address };
  readonly lists: readonly Vector[];
  readonly orderRequests: readonly Vector[];
  readonly accountRequests: readonly Vector[];
  readonly historyRequests: readonly Vector[];
  readonly streamRequests: readonly Vector[];
};

interface Vector {
  readonly title: string;
  readonly request: {
    readonly orderHash?: string;
    readonly issuedAt: number;
    readonly salt: string;
    readonly signature: string;
  };
  readonly expected: { readonly maker?: Address; readonly code?: string };
}

const hashers = createRequestHashers({ ...vectors.domain, serviceName: 'Makerbook' });
const parsers = new Map<string, (query: URLSearchParams, all: typeof hashers) => SignedRequest | Refusal>([
  ['a list', parseListRequest],
  ['the account', parseAccountRequest],
]);
const rules = {
  requestTtlSeconds: 30,
  clockSkewSeconds: 5,
  mayRead: () => false,
  isKnown: (maker: string) => maker === vectors.keys.maker.address,
};

test.each([
  ...vectors.lists.map((vector) => ['a list', vector.title, vector] as const),
  ...vectors.orderRequests.map((vector) => ['one order', vector.title, vector] as const),
  ...vectors.accountRequests.map((vector) => ['the account', vector.title, vector] as const),
  ...vectors.historyRequests.map((vector) => ['the history', vector.title, vector] as const),
  ...vectors.streamRequests.map((vector) => ['a stream', vector.title, vector] as const),
])('a request for %s is judged as its published vector says: %s', async (kind, _title, { request, expected }) => {
  const { orderHash, issuedAt, salt, signature } = request;
  const query = new URLSearchParams({ issuedAt: String(issuedAt), salt, signature });
  const asked =
    orderHash !== undefined
      ? parseOrderRequest({ params: { orderHash }, query }, hashers)
      : kind === 'a stream'
        ? parseStreamRequest({ query, headers: {} }, hashers)
        : (parsers.get(kind) ?? parseHistoryRequest)(query, hashers);
  if (isRefusal(asked)) throw new Error(asked.detail);
  const admitted = await admitRequest(asked, rules, issuedAt, { client: '', charge: async () => undefined });
  expect(isRefusal(admitted) ? { code: admitted.code } : admitted).toEqual(expected);
});
