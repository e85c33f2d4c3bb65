import { expect, test } from '@jest/globals';
import type { SignedOrder } from '@makerbook/client';
import {
  type Attempt,
  type FoundOrder,
  judgeOrder,
  judgeReplacements,
  judgeRequests,
  type OrderHistory,
} from './judge-orders.js';

const attempt = (outcome: string, mayHaveHappened = true): Attempt => ({
  outcome,
  mayHaveHappened,
  beganAtMs: 1,
  endedAtMs: 2,
});
const [stored, refused, unknown] = [attempt('stored'), attempt('order_cancelled', false), attempt('unreachable')];
const [cancelled, notFound] = [attempt('CANCELLED'), { ...attempt('NOT_FOUND'), beganAtMs: 3, endedAtMs: 4 }];
const open: FoundOrder = {
  inLog: true,
  cancelledInLog: false,
  opened: 1,
  removed: 0,
  isOpen: true,
  listed: 1,
  misquoted: [],
};
const gone = { ...open, removed: 1, isOpen: false, listed: 0 };
const nowhere = { ...gone, inLog: false, opened: 0, removed: 0 };

const asked = (posts: Attempt[], cancels: Attempt[] = [], orderHash = '0x1', request = 0): OrderHistory => ({
  signed: { orderHash } as unknown as SignedOrder,
  request,
  wasAhead: false,
  posts,
  cancels,
});

test.each<[string, OrderHistory, FoundOrder, string[]]>([
  ['200, and the log lacks it', asked([stored]), nowhere, ['lost']],
  ['duplicate, and the log lacks it', asked([unknown, attempt('duplicate', false)]), nowhere, ['lost']],
  ['200, and it was never opened', asked([stored]), { ...open, opened: 0 }, ['lost']],
  ['200, and it vanished', asked([stored]), { ...gone, removed: 0 }, ['lost']],
  ['200, and the list lacks it', asked([stored]), { ...open, listed: 0 }, ['lost']],
  ['CANCELLED, and the log lacks that', asked([stored], [cancelled]), gone, ['lost']],
  ['CANCELLED, and it is open', asked([stored], [cancelled]), { ...open, cancelledInLog: true }, ['lost']],
  ['NOT_FOUND, and it is open', asked([stored], [notFound]), open, ['lost']],
  ['a refusal, and it is open', asked([refused]), open, ['invented']],
  ['nothing, and it is cancelled', asked([stored]), { ...gone, cancelledInLog: true }, ['invented']],
  ['200, and it is removed and listed', asked([stored]), { ...gone, listed: 1 }, ['invented']],
  ['200, and it is opened twice', asked([stored]), { ...open, opened: 2 }, ['doubled']],
  ['200, and it is listed otherwise', asked([stored]), { ...open, misquoted: ['ACTIVE'] }, ['invented']],
  ['200, and it is listed twice', asked([stored]), { ...open, listed: 2 }, ['doubled']],
])('a fault is found if the answer was %s', (_, order, found, wrong) => {
  expect(judgeOrder(order, found).map((finding) => finding.wrong)).toEqual(wrong);
});

test('a request that is stored only in part counts as lost', () => {
  const orders = [asked([unknown], [], '0x1'), asked([unknown], [], '0x2'), asked([unknown], [], '0x3', 2)];
  expect(judgeRequests(orders, (orderHash) => orderHash !== '0x2').map(({ wrong }) => wrong)).toEqual(['lost']);
  expect(judgeRequests(orders, (orderHash) => orderHash === '0x3')).toEqual([]);
});

test('a replacement without its cancellations counts as lost, and two of the same order as doubled', () => {
  const replacing = (orderHash: string, request: number, replaces: string[]) => ({
    ...asked([unknown], [], orderHash, request),
    replaces,
  });
  const orders = [replacing('0x2', 1, ['0x1']), replacing('0x3', 2, ['0x1']), replacing('0x4', 3, ['0x5'])];
  const judge = (inLog: string[], gone: string[]) =>
    judgeReplacements(
      orders,
      (hash) => inLog.includes(hash),
      (hash) => gone.includes(hash),
    ).map(({ wrong }) => wrong);
  expect(judge(['0x2', '0x4'], ['0x1', '0x5'])).toEqual([]);
  expect(judge(['0x2', '0x3'], ['0x1'])).toEqual(['doubled']);
  expect(judge(['0x4'], ['0x1'])).toEqual(['lost']);
});
