import { expect, test } from '@jest/globals';
import type { OrderSubmitted } from '@makerbook/contracts-events';
import type { ReadPoint } from './keep-read-point.js';
import { WatchedSet } from './keep-watched-set.js';
import { createNewOrderReader } from './read-new-orders.js';
import { Turns } from './take-turns.js';

const block = { number: 7, hash: `0x${'7'.repeat(64)}`, parentHash: `0x${'6'.repeat(64)}`, timestamp: 7 } as const;
const submitted = (digit: string): OrderSubmitted => ({
  type: 'OrderSubmitted',
  maker: `0x${digit.repeat(40)}`,
  orderHash: `0x${digit.repeat(64)}`,
  order: {
    salt: '0x0',
    nonce: '0x0',
    expiresAt: '0xffffffff',
    making: { token: `0x${'b'.repeat(40)}`, amount: '0x1' },
    taking: { token: `0x${'c'.repeat(40)}`, amount: '0x1' },
    maker: `0x${digit.repeat(40)}`,
    permittedTaker: `0x${'0'.repeat(40)}`,
  },
  signature: `0x${'0'.repeat(130)}`,
  acceptedAtMs: 0,
  cause: { kind: 'request', requestId: 'r' },
});

test('an order that is wanted again while it is being read is read once more, one that waits is not', async () => {
  const watched = new WatchedSet(1);
  const [first, second] = ['1', '2'].map((digit, n) => watched.apply(0, submitted(digit), BigInt(n))) as [
    number,
    number,
  ];
  let nowMs = 5;
  let answer: () => void = () => undefined;
  const read: string[] = [];
  const turn = () => new Promise((resolve) => setTimeout(resolve, 20));
  const orders = createNewOrderReader({
    watched,
    reader: {
      state: {
        read: (_, calls) =>
          new Promise((resolve) => {
            answer = () => resolve(calls.map(() => 0n));
          }),
        suspects: () => new Map(),
      },
      protocol: `0x${'e'.repeat(40)}`,
      onUnreadable: () => undefined,
    },
    publisher: {
      publish: async (facts) => {
        for (const fact of facts) if (fact.type === 'OrderFilled') read.push(fact.orderHash.slice(2, 3));
      },
      publishBlock: async () => undefined,
    },
    readPoint: { isKnown: true, at: async () => block } as unknown as ReadPoint,
    turns: new Turns(),
    processedBlock: () => block.number,
    gatherMs: 0,
    nowMs: () => nowMs,
    wait: async () => undefined,
    retry: (work) => work(),
    onFatal: (error) => {
      throw error;
    },
  });
  orders.add([{ order: first, traceparent: undefined }]);
  await turn();
  nowMs = 9;
  orders.add([{ order: second, traceparent: undefined }]);
  orders.addAgain([first, second]);
  expect([orders.waiting(), orders.oldestAtMs()]).toEqual([2, 5]);
  answer();
  await turn();
  expect(read).toEqual(['1']);
  answer();
  await turn();
  expect(read).toEqual(['1', '1', '2']);
  expect([orders.waiting(), orders.oldestAtMs()]).toEqual([0, undefined]);
});
