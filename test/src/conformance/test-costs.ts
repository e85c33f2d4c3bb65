import { expect, test } from '@jest/globals';
import { toBeHex, Wallet } from 'ethers';
import { admitMaker } from '../kit/admit-maker.js';
import { eventually } from '../kit/eventually.js';
import { nowSeconds } from '../kit/make-requests.js';
import { limits } from './error-rows.js';
import { codeOf, type OpenBed } from './open-bed.js';

/** What others send, and what it costs a maker. @param bed whose budgets hold little */
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
    // All that its budget holds, one after the other.
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
}
