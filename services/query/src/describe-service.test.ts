import { expect, test } from '@jest/globals';
import { info } from '@makerbook/contracts-http';
import { readSettings } from '@makerbook/settings';
import { describeService } from './describe-service.js';
import { querySettings } from './env.js';

const environment = {
  KAFKA_BROKERS: 'a:1',
  DATABASE_URL: 'postgres://h/d',
  REDIS_URL: 'redis://h',
  SERVICE_NAME: 'Test',
  LIMIT_ORDER_PROTOCOL_ADDRESS: `0x${'AB'.repeat(20)}`,
};
const describe = (given: Record<string, string> = {}) =>
  describeService(readSettings(querySettings, { ...environment, ...given }));

test('the info matches its schema, and names the domain that orders are signed in', () => {
  const answer = { ...describe(), serverTime: 1_800_000_000, block: { number: 7, timestamp: 1_799_999_999 } };
  expect(info.parse(answer)).toEqual(answer);
  const domain = {
    name: 'Test Limit Order Protocol',
    version: 'v0',
    chainId: 8217,
    verifyingContract: `0x${'ab'.repeat(20)}`,
  };
  expect(describe().domains).toEqual({ order: domain, cancellation: domain, list: domain });
  expect(describe().receiptSigners).toEqual([]);
  const signers = [`0x${'cd'.repeat(20)}`, `0x${'ef'.repeat(20)}`];
  expect(describe({ RECEIPT_SIGNERS: signers.join() }).receiptSigners).toEqual(signers);
});

test('the info names the contract that fills quotes, and the tokens that the operator knows', () => {
  const none = `0x${'00'.repeat(20)}`;
  expect(describe()).toMatchObject({ contracts: { orderFiller: none }, tokens: [] });
  const address = `0x${'Ab'.repeat(20)}`;
  const given = describe({ ORDER_FILLER_ADDRESS: address, TOKENS: `USDT:6:${address},W:18:${none}` });
  expect(given.contracts.orderFiller).toBe(address.toLowerCase());
  expect(given.tokens).toEqual([
    { address: address.toLowerCase(), symbol: 'USDT', decimals: 6 },
    { address: none, symbol: 'W', decimals: 18 },
  ]);
});

test.each([
  ['MAX_ORDERS_PER_POST', 'ordersPerPost'],
  ['MAX_OPEN_ORDERS_PER_MAKER', 'openOrdersPerMaker'],
  ['REMEMBERED_HASHES_PER_MAKER_MAX', 'rememberedHashesPerMaker'],
  ['MAX_CANCELS_PER_DELETE', 'cancelsPerDelete'],
  ['CANCEL_WAIT_SECONDS_MAX', 'cancelWaitSeconds'],
  ['ORDER_BUDGET_PER_SECOND', 'orderBudget.perSecond'],
  ['ORDER_BUDGET_BURST', 'orderBudget.burst'],
  ['CANCEL_BUDGET_PER_SECOND', 'cancelBudget.perSecond'],
  ['CANCEL_BUDGET_BURST', 'cancelBudget.burst'],
  ['LIST_BUDGET_PER_SECOND', 'listBudget.perSecond'],
  ['LIST_BUDGET_BURST', 'listBudget.burst'],
  ['CLIENT_WINDOW_SECONDS', 'clientRequests.windowSeconds'],
  ['CLIENT_REQUESTS_MAX', 'clientRequests.place'],
  ['CLIENT_REQUESTS_MAX', 'clientRequests.list'],
  ['CANCEL_REQUESTS_MAX', 'clientRequests.cancel'],
  ['PATCH_REQUESTS_MAX', 'clientRequests.patch'],
  ['REQUEST_TTL_SECONDS', 'requestTtlSeconds'],
  ['CLOCK_SKEW_SECONDS', 'clockSkewSeconds'],
  ['BODY_BYTES_MAX', 'bodyBytesMax'],
  ['HEADER_BYTES_MAX', 'headerBytesMax'],
  ['ROUTING_GRACE_SECONDS', 'gracePeriodSeconds'],
] as const)('%s sets %s of the limits', (name, path) => {
  const other = Number(querySettings[name].fallback) + 1;
  expect(describe().limits).toHaveProperty(path, other - 1);
  expect(describe({ [name]: String(other) }).limits).toHaveProperty(path, other);
});
