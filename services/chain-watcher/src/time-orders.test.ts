import { expect, test } from '@jest/globals';
import type { NewOrderReader } from './read-new-orders.js';
import { timeOrders } from './time-orders.js';

test('the age is that of the oldest order that waits, whatever came after it', () => {
  let waiting = 0;
  let nowMs = 10_000;
  const reader: NewOrderReader = {
    add: (opened) => {
      waiting += opened.length;
    },
    settled: () => Promise.resolve(),
    waiting: () => waiting,
  };
  const timed = timeOrders(reader, () => nowMs);
  const add = (count: number) => timed.add(Array.from({ length: count }, () => ({ order: 0, traceparent: undefined })));
  timed.add([]);
  expect(timed.oldestAtMs()).toBeUndefined();
  add(2);
  nowMs = 10_500;
  add(1);
  nowMs = 13_000;
  add(2);
  expect(timed.waiting()).toBe(5);
  expect(timed.oldestAtMs()).toBe(10_000);
  waiting = 3;
  expect(timed.oldestAtMs()).toBe(10_000);
  waiting = 2;
  expect(timed.oldestAtMs()).toBe(13_000);
  nowMs = 20_000;
  add(1);
  waiting = 1;
  expect(timed.oldestAtMs()).toBe(20_000);
  waiting = 0;
  expect(timed.oldestAtMs()).toBeUndefined();
});
