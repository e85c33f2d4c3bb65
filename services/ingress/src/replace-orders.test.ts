import { describe, expect, test } from '@jest/globals';
import { paths } from '@makerbook/contracts-http';
import { isRefusal, type Refusal } from '@makerbook/http';
import { cancelling, foundOf, maker, openIn, openRoutes, other, stranger } from './testing/open-routes.js';
import { hashOf, signOrder, signSalts } from './testing/sign-test-orders.js';

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
    ['while Postgres is down', undefined, [], 'unavailable undefined undefined undefined'],
  ] as const)('%s is stored whole, or not at all', async (_what, amounts, left, expected) => {
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

  test.each([
    ['of all orders with a salt', ['0x7'], '0x8c', 'stored', 3],
    ['of orders with two salts', ['0x7', '0x8'], '0xf0', 'stored', 4],
    ['that does not know of a fill', ['0x7'], undefined, 'remaining_changed /cancel/remainingMakingAmount', 0],
    ['of a salt that no open order has', ['0x8', '0x9'], undefined, 'not_found /cancel/salts', 0],
    ['of orders that are being cancelled', ['0x7'], '0x8c', 'unavailable undefined', 0],
    ['by a stranger', ['0x7'], undefined, 'invalid_signature /cancel/signature', 0],
    ['of another maker', ['0x7'], undefined, 'invalid_request /cancel/maker', 0],
  ])('by salts %s is stored whole, or not at all', async (what, salts, remainingMakingAmount, expected, appended) => {
    const service = openRoutes();
    for (const [salt, left] of [
      ['0x7', all],
      ['0x7', part],
      ['0x8', all],
    ] as const) {
      openIn(service, await signOrder(maker, { salt, nonce: left === part ? '0x1' : '0x0' }), left);
    }
    if (what === 'of orders that are being cancelled') {
      for (const [hash, standing] of service.held.hashes)
        service.held.hashes.set(hash, { ...standing, isCancelling: true });
    }
    const signer = what === 'by a stranger' ? stranger : maker;
    const signed = await signSalts(salts, Date.now(), maker, signer);
    const cancel = { ...signed, ...(remainingMakingAmount && { remainingMakingAmount }) };
    const place = [await signOrder(what === 'of another maker' ? other : maker)];
    const reply = await service.post(paths.replacements, { cancel, place });
    const { code, errors } = reply as Refusal;
    expect(isRefusal(reply) ? `${code} ${errors?.[0]?.pointer}` : 'stored').toBe(expected);
    expect(service.seen.appended).toBe(appended);
    if (!isRefusal(reply)) expect(JSON.parse(String(reply.body)).cancelled).toHaveLength(appended - 1);
  });
});
