import { expect, test } from '@jest/globals';
import type * as contracts from '@makerbook/contracts-http';
import type { Cancellation, HistoryPage, LimitOrderRecord, OrderReport } from './records.js';

/** Compiles only where each type can stand for the other. */
type Same<A, B> = [A, B] extends [B, A] ? true : never;

test('records, reports and cancellations have the types of the interface', () => {
  const same: [
    Same<LimitOrderRecord, contracts.LimitOrderRecord>,
    Same<OrderReport, contracts.OrderReport>,
    Same<HistoryPage, contracts.OrderHistory>,
    Same<Cancellation, contracts.Cancellation>,
  ] = [true, true, true, true];
  expect(same).toEqual([true, true, true, true]);
});
