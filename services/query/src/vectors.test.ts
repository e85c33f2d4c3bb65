import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, test } from '@jest/globals';
import { createRequestHashers } from '@makerbook/contracts-evm';
import type { Address } from '@makerbook/contracts-primitives';
import { isRefusal } from '@makerbook/http';
import { admitRequest } from './admit-request.js';
import { parseListRequest } from './parse-list-request.js';

const file = fileURLToPath(import.meta.resolve('@makerbook/contracts-http/vectors.json'));
const vectors = JSON.parse(readFileSync(file, 'utf8')) as {
  readonly keys: { readonly maker: { readonly address: Address } };
  readonly domain: { readonly chainId: number; readonly verifyingContract: Address };
  readonly lists: readonly {
    readonly title: string;
    readonly request: { readonly issuedAt: number; readonly salt: string; readonly signature: string };
    readonly expected: { readonly maker?: Address; readonly code?: string };
  }[];
};
const rules = {
  hashers: createRequestHashers({ ...vectors.domain, serviceName: 'Makerbook' }),
  requestTtlSeconds: 30,
  clockSkewSeconds: 5,
  isKnown: (maker: string) => maker === vectors.keys.maker.address,
};

test.each(vectors.lists)('a published vector of a list request: $title', ({ request, expected }) => {
  const { issuedAt, salt, signature } = request;
  const asked = parseListRequest(new URLSearchParams({ issuedAt: String(issuedAt), salt, signature }));
  if (isRefusal(asked)) throw new Error(asked.detail);
  const admission = admitRequest(asked, rules, issuedAt);
  expect(isRefusal(admission) ? { code: admission.code } : { maker: admission.maker }).toEqual(expected);
});
