import { describe, expect, test } from '@jest/globals';
import { paths } from '@makerbook/contracts-http';
import { isRefusal, type Refusal } from '@makerbook/http';
import { cancelling, foundOf, maker, openIn, openRoutes } from './testing/open-routes.js';
import { hashOf, signOrder } from './testing/sign-test-orders.js';

describe('a replacement', () => {
  const all = 100n;
  const part = 40n;

  test.each([
    ['whose order nobody has filled', [all, all], [], 'stored'],
    ['that names what is left', [all, part], ['0x64', '0x028'], 'stored'],
    ['whose orders the fold has not seen', [undefined, undefined], ['0x5', undefined], 'stored'],
    ['that does not know of a fill', [all, part], [], 'remaining_changed 1 0x28 /cancel/1/remainingMakingAmount'],
    [
      'that believes in a fill',
      [all, all],
      [undefined, '0x63'],
      'remaining_changed 1 0x64 /cancel/1/remainingMakingAmount',
    ],
    ['whose order has ended meanwhile', [all, 'ended'], [], 'unavailable undefined undefined undefined'],
    ['while Postgres is away', undefined, [], 'unavailable undefined undefined undefined'],
  ] as const)('%s happens, or not at all', async (_what, amounts, left, expected) => {
    const orders = [await signOrder(maker), await signOrder(maker)];
    const service = openRoutes();
    const { held, seen, post } = service;
    for (const [at, order] of orders.entries()) {
      const amount = amounts?.[at];
      if (typeof amount === 'bigint') openIn(service, order, amount);
      else if (amount === 'ended') held.rows.set(hashOf(order), { open: foundOf(order) });
      else {
        held.rows.set(hashOf(order), { inFlight: foundOf(order) });
        held.hashes.set(hashOf(order), { inFlight: { expiresAtSeconds: 9 } });
      }
    }
    held.isAway = amounts === undefined;
    const cancel = orders.map((order, at) => ({ ...cancelling(order), remainingMakingAmount: left[at] }));
    const reply = await post(paths.replacements, { cancel, place: [await signOrder(maker)] });
    const { code, index, remainingMakingAmount, errors } = reply as Refusal;
    expect(isRefusal(reply) ? `${code} ${index} ${remainingMakingAmount} ${errors?.[0]?.pointer}` : 'stored').toBe(
      expected,
    );
    const stored = held.decisions.filter(({ kind }) => kind !== 'charge').length;
    expect([seen.appended, stored]).toEqual(expected === 'stored' ? [3, 3] : [0, 0]);
  });
});
