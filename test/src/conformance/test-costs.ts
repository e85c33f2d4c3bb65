import { expect, test } from '@jest/globals';
import { toBeHex, Wallet } from 'ethers';
import { admitMaker } from '../kit/admit-maker.js';
import { eventually } from '../kit/eventually.js';
import { CANCELLATIONS_PATH, json, nowSeconds } from '../kit/make-requests.js';
import { limits } from './error-rows.js';
import { codeOf, type OpenBed } from './open-bed.js';

/** Tests what the requests of others cost a maker. @param bed has small budgets */
export function testCosts(bed: () => OpenBed): void {
  test('a maker posts as before while others repeat its orders, which are known or have expired', async () => {
    const { stack, make, send } = bed();
    const maker = new Wallet(Wallet.createRandom().privateKey);
    await admitMaker([maker.address], stack.operatorEnvironment);
    const known = [make.order(maker), make.order(maker)];
    await eventually(async () => codeOf(await send(make.post(known))), '200');
    const expired = make.order(maker, { expiresAt: toBeHex(nowSeconds() - 1) });
    const codes = new Set<string>();
    let isOver = false;
    const others = Array.from({ length: 6 }, async () => {
      while (!isOver) {
        for (const orders of [known, [expired], [...known, ...known]]) codes.add(codeOf(await send(make.post(orders))));
      }
    });
    // Spend all that the maker's budget holds, one order at a time.
    const own: string[] = [];
    try {
      for (let count = known.length; count < limits.openOrders; count += 1) {
        own.push(codeOf(await send(make.post([make.order(maker)]))));
      }
    } finally {
      isOver = true;
      await Promise.all(others);
    }
    expect(own).toEqual(own.map(() => '200'));
    expect([...codes].sort()).toEqual(['duplicate', 'order_expired']);
  });

  test('a wallet is asked once of a hash that is cancelled 100 times with junk, and the address pays for the calls', async () => {
    const { make, makers, send } = bed();
    const order = make.order(makers.contract);
    expect(codeOf(await send(make.post([order])))).toBe('200');
    const junk = Array.from({ length: limits.cancelsPerDelete }, (_, n) => {
      return { orderHash: order.orderHash, signature: toBeHex(n + 1, 66) };
    });
    const body = JSON.stringify(junk);
    /** What is left of the address's limit before the request's own calls. */
    const leftAt = async (client: string, text: string, code: string) => {
      const answer = await send({ method: 'POST', target: CANCELLATIONS_PATH, headers: json, body: text }, client);
      expect(codeOf(answer)).toBe(code);
      return Number(/"client-cancels";\s*r=(\d+)/.exec(String(answer.headers.get('ratelimit')))?.[1]);
    };
    const costOf = async (client: string, text: string, code: string) =>
      (await leftAt(client, text, code)) - (await leftAt(client, text, code));
    const plain = await costOf('203.0.113.90', body.replace('orderHash', 'orderHazh'), 'invalid_request');
    // A cancellation is signed in one of two forms.
    expect(await costOf('203.0.113.91', body, 'invalid_signature')).toBe(plain + 2);
  });
}
