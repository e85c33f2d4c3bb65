import { describe, expect, test } from '@jest/globals';
import { createRequestHashers } from '@makerbook/contracts-evm';
import { exampleDomain, examples, type ProblemCode, problemKinds } from '@makerbook/contracts-http';
import { isRefusal, okText, type Reply } from '@makerbook/http';
import { answerSigned, type SignedParts } from './answer-signed.js';
import { parseListRequest } from './parse-requests.js';
import type { Taken } from './redis/guard-replays.js';

const hashers = createRequestHashers({ ...exampleDomain, verifyingContract: exampleDomain.limitOrderProtocol });
const { issuedAt } = examples.listQuery;

/** Has a signed request answered so, and notes the salts that may be used again. */
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

describe('the salt of a signed request', () => {
  test.each(Object.keys(problemKinds) as ProblemCode[])(
    'is given back after %s only where the same request may come again',
    async (code) => {
      const { released, salt } = await answer({ code, detail: 'because' });
      const isToComeAgain = code === 'unavailable' || code === 'rate_limited';
      expect(released).toEqual(isToComeAgain ? [salt] : []);
    },
  );

  test('is used up by an answer', async () => {
    expect(await answer(okText('here'))).toMatchObject({ answered: { body: 'here' }, released: [] });
  });

  test('is not given back by a replay of it, which nobody answers', async () => {
    const replayed = await answer(okText('here'), { kind: 'used' });
    expect(replayed).toMatchObject({ answered: { code: 'request_replayed' }, isAsked: false, released: [] });
  });

  test('is not asked for beyond the budget of its maker, who is told when to come again', async () => {
    const refused = await answer(okText('here'), { kind: 'rate_limited', remaining: 0, retryAfterMs: 900 });
    const headers = { 'Retry-After': '1', RateLimit: '"lists"; r=0; t=1' };
    expect(refused).toMatchObject({ answered: { code: 'rate_limited', headers }, isAsked: false });
  });
});
