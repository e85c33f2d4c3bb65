import { expect, test } from '@jest/globals';
import { createClient, type SignedOrder } from '@makerbook/client';
import { eventually } from '../kit/eventually.js';
import { requestMaker } from '../kit/make-requests.js';
import { openMakers, type TestMaker } from '../kit/open-maker.js';
import type { WholeStack } from './open-whole.js';

/** A client of the maker that loses the first answer to each request that stores something. */
function losingAnswers({ wallet }: TestMaker, { addresses }: WholeStack['stack']) {
  const lost = new Set<unknown>();
  return createClient({
    ...addresses,
    signer: wallet,
    retry: {},
    fetch: async (url, options) => {
      const answer = await fetch(url, options);
      const body = options?.body ?? undefined;
      if (body === undefined || lost.has(body)) return answer;
      lost.add(body);
      throw new TypeError('the answer is lost');
    },
  });
}

/** Tests replacing orders that were filled in part. */
export function testReplacements(whole: () => WholeStack): void {
  test('an order that is filled in part is replaced by a request that names what is left, and by no other', async () => {
    const { stack, chain } = whole();
    const [maker] = (await openMakers(stack, chain, 1)) as [TestMaker];
    const [order, other] = (await maker.place({}, {})) as [SignedOrder, SignedOrder];
    await maker.approve(1000n);
    await maker.mint(1000n);
    await maker.lists([order, other], ['ACTIVE', 'ACTIVE']);
    await maker.fill(order, 60n);
    await eventually(async () => (await maker.client.findOrder(order.orderHash)).filledMakingAmount, '0x3c');
    const make = requestMaker(stack.addresses);
    const replace = async (...left: (string | undefined)[]) => {
      const { target, headers = {}, body } = make.replace([other, order], [make.order(maker.wallet)], maker.wallet);
      const { cancel, place } = JSON.parse(String(body)) as { cancel: object[]; place: object[] };
      const named = cancel.map((item, index) => ({ ...item, remainingMakingAmount: left[index] }));
      const answer = await fetch(`${stack.addresses.baseUrl}${target}`, {
        method: 'POST',
        headers,
        body: JSON.stringify({ cancel: named, place }),
      });
      return { status: answer.status, ...((await answer.json()) as object) };
    };
    const changed = { status: 409, code: 'remaining_changed', index: 1, remainingMakingAmount: '0x28' };
    expect(await replace()).toMatchObject({ ...changed, retryable: false });
    expect(await replace('0x64', '0x27')).toMatchObject({
      ...changed,
      errors: [{ pointer: '/cancel/1/remainingMakingAmount' }],
    });
    const untouched = { status: 409, index: 0, remainingMakingAmount: '0x64' };
    expect(await replace('0x63', '0x28')).toMatchObject(untouched);
    await maker.lists([order, other], ['ACTIVE', 'ACTIVE']);
    expect(await replace(undefined, '0x028')).toMatchObject({ status: 200 });
    await maker.lists([order, other], ['gone', 'gone']);
  });

  test('orders are replaced, and cancelled, by the salt that their maker gave them, in one request', async () => {
    const { stack, chain } = whole();
    const [maker] = (await openMakers(stack, chain, 1)) as [TestMaker];
    const salt = '0x2a';
    const [first, second, other] = await maker.place({ salt }, { salt, amount: 7n }, {});
    const named = ({ orderHash }: { readonly orderHash: string }) => orderHash;
    const next = await maker.sign({ salt, amount: 9n });
    const replaced = await losingAnswers(maker, stack).replaceOrders({ salts: [salt] }, [next], {
      duplicateCountsAsStored: true,
    });
    expect(replaced.cancelled.map(named).sort()).toEqual([first, second].flatMap((one) => one?.orderHash ?? []).sort());
    const last = await maker.sign({ salt, amount: 11n });
    // Repeat it at once. The orders that went are no longer there.
    const again = await maker.client.replaceOrders({ salts: [salt] }, [last]);
    expect(again.cancelled.map(named)).toEqual([next.orderHash]);
    await maker.lists([next], ['gone']);
    const { cancellations } = await maker.client.cancelOrdersAndWait({ salts: [salt, '0x2b'] }, 2);
    expect(cancellations).toEqual([{ orderHash: last.orderHash, status: 'CANCELLED' }]);
    expect((await maker.client.listOrders()).records.map(named)).toEqual([other?.orderHash]);
    const { entries } = await maker.client.readHistory({ orderSalt: salt, happened: ['REMOVED'] });
    const gone = [first, second, next, last].flatMap((one) => one?.orderHash ?? []);
    expect(entries.map(named).sort()).toEqual(gone.sort());
  });
}
