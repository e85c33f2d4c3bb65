import { expect, test } from '@jest/globals';
import { cancelBudgetOf, orderBudgetOf } from './maker-budgets.js';

const settings = {
  ORDER_BUDGET_PER_SECOND: 100,
  ORDER_BUDGET_BURST: 1_000,
  CANCEL_BUDGET_PER_SECOND: 500,
  CANCEL_BUDGET_BURST: 5_000,
};

test('a maker without limits of its own has those of the service', () => {
  expect(orderBudgetOf(settings, {})).toEqual({ ratePerSecond: 100, burst: 1_000 });
  expect(cancelBudgetOf(settings, {})).toEqual({ ratePerSecond: 500, burst: 5_000 });
});

test.each([
  ['a maker who may place more than it could cancel', settings, { ordersPerSecond: 1_000, ordersBurst: 10_000 }],
  [
    'settings by which orders come faster',
    { ...settings, ORDER_BUDGET_PER_SECOND: 1_000, ORDER_BUDGET_BURST: 10_000 },
    {},
  ],
])('%s: the budget of cancellations is twice that of orders', (_, given, limits) => {
  expect(orderBudgetOf(given, limits)).toEqual({ ratePerSecond: 1_000, burst: 10_000 });
  expect(cancelBudgetOf(given, limits)).toEqual({ ratePerSecond: 2_000, burst: 20_000 });
});

test('a maker with a small budget of orders keeps the full budget of cancellations', () => {
  expect(cancelBudgetOf(settings, { ordersPerSecond: 1, ordersBurst: 1 })).toEqual({
    ratePerSecond: 500,
    burst: 5_000,
  });
});
