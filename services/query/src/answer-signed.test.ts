import { describe, expect, test } from '@jest/globals';
import { createRequestHashers } from '@makerbook/contracts-evm';
import { exampleDomain, examples, type ProblemCode, problemKinds } from '@makerbook/contracts-http';
import type { Address } from '@makerbook/contracts-primitives';
import { isRefusal, okText, type Reply } from '@makerbook/http';
import { addressOfKey, signDigest } from '@makerbook/signatures';
import { admitRequest, answerSigned, type SignedParts } from './answer-signed.js';
import { parseListRequest } from './parse-requests.js';
import type { Taken } from './redis/guard-replays.js';

const hashers = createRequestHashers({ ...exampleDomain, verifyingContract: exampleDomain.limitOrderProtocol });

const { issuedAt } = examples.listQuery;

/** Answers a signed request with this reply. Notes the salts that may be used again. */
async function answer(reply: Reply, taken: Taken = { kind: 'taken', remaining: 3 }) {
  const query = new URLSearchParams({ ...examples.listQuery, issuedAt: String(issuedAt) });
  const request = parseListRequest(query, hashers);
  if (isRefusal(request)) throw new Error(request.detail);
  const released: string[] = [];
  const parts: SignedParts = {
    rules: { requestTtlSeconds: 30, clockSkewSeconds: 5, mayRead: () => false, isKnown: () => true },
    isWhitelistKnown: () => true,
    replays: { takeSalt: async () => taken, releaseSalt: async (_, salt) => void released.push(salt) },
    budget: { ratePerSecond: 1, burst: 5 },
    readState: async () => undefined,
    unixMs: () => issuedAt * 1000,
    checkedLocally: () => undefined,
  };
  let isAsked = false;
  const answered = await answerSigned(
    { describe: () => undefined, client: '', charge: async () => undefined },
    request,
    parts,
    async () => {
      isAsked = true;
      return reply;
    },
  );
  return { answered, isAsked, released, salt: request.salt };
}

describe('a signed request', () => {
  test.each(Object.keys(problemKinds) as ProblemCode[])(
    'gets its salt back after %s only if it may be sent again',
    async (code) => {
      const { released, salt } = await answer({ code, detail: 'because' });
      const isToComeAgain = code === 'unavailable' || code === 'rate_limited';
      expect(released).toEqual(isToComeAgain ? [salt] : []);
    },
  );

  test('uses up its salt if it is answered', async () => {
    expect(await answer(okText('here'))).toMatchObject({ answered: { body: 'here' }, released: [] });
  });

  test('is refused as a replay, and its salt is not given back', async () => {
    const replayed = await answer(okText('here'), { kind: 'used' });
    expect(replayed).toMatchObject({ answered: { code: 'request_replayed' }, isAsked: false, released: [] });
  });

  test('is refused beyond the budget of its maker, and the answer says when to come again', async () => {
    const refused = await answer(okText('here'), { kind: 'rate_limited', remaining: 0, retryAfterMs: 900 });
    const headers = { 'Retry-After': '1', RateLimit: '"lists"; r=0; t=1' };
    expect(refused).toMatchObject({ answered: { code: 'rate_limited', headers }, isAsked: false });
  });
});

test('a signature that only a contract could accept is unavailable while the chain does not answer', async () => {
  const digest = new Uint8Array(32).fill(1);
  const signature = signDigest(digest, new Uint8Array(32).fill(7));
  const maker = `0x${'aa'.repeat(20)}` as const;
  const request = { issuedAt: 100n, salt: '0x1', signature, maker, reads: 'list', digest: () => digest } as const;
  const askWallets = async () => 'unknown' as const;
  const rules = { requestTtlSeconds: 30, clockSkewSeconds: 5, mayRead: () => false, isKnown: () => true, askWallets };
  const asker = { client: '', charge: async () => undefined };
  expect(await admitRequest(request, rules, 100, asker)).toMatchObject({ code: 'unavailable' });
});

test('a key reads only what it may read, for the maker that the request names', async () => {
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
