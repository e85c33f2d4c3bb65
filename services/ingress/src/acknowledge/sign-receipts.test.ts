import { describe, expect, test } from '@jest/globals';
import { receiptTypes, typedDataDomain } from '@makerbook/contracts-evm';
import { paths } from '@makerbook/contracts-http';
import { isRefusal, type Reply } from '@makerbook/http';
import { partitionOf } from '@makerbook/kafka';
import { verifyTypedData } from 'ethers';
import { cancelling, type Given, key, maker, openIn, openRoutes, settings, stranger } from '../testing/open-routes.js';
import { hashExit, hashOf, lower, signExit, signOrder, testDomain, tokenA } from '../testing/sign-test-orders.js';
import { serviceKey, serviceSigner } from '../testing/sign-test-quotes.js';

describe('a receipt', () => {
  const own = { RECEIPT_SIGNER_KEY: serviceKey, RECEIPT_SIGNERS: `${lower(stranger)},${serviceSigner}` };
  const both = { prefer: 'wait=2, receipt' };
  const orders = Promise.all([signOrder(maker), signOrder(maker), signOrder(maker)]);
  const openAll = async (given: Given) => {
    const service = openRoutes(given);
    for (const order of (await orders).slice(0, 2)) openIn(service, order);
    return service;
  };
  const headersOf = (reply: Reply) => (isRefusal(reply) ? { code: reply.code, ...reply.headers } : reply.headers);
  const exit = async (what: Parameters<typeof signExit>[0], terms: object) => {
    const body = await signExit(what, maker, terms);
    return [body, { messages: [hashExit(what, body)] }] as const;
  };

  /** A request of each kind, and what its receipt names. */
  const kinds: readonly [path: string, make: () => Promise<readonly [body: unknown, stated: object]>, at: string][] = [
    [
      paths.limitOrders,
      async () => [(await orders).slice(2), { placed: (await orders).slice(2).map(hashOf) }],
      '0 receipt',
    ],
    [
      paths.cancellations,
      async () => {
        const [first, second, never] = await orders;
        const cancelled = [second, first, second].map(hashOf);
        return [[never, second, first, second].map((order) => cancelling(order)), { cancelled }];
      },
      '1 wait=2, receipt',
    ],
    [
      paths.replacements,
      async () => {
        const [first, , never] = await orders;
        const stated = { cancelled: [hashOf(first)], placed: [hashOf(never)] };
        return [{ cancel: [cancelling(first)], place: [never] }, stated];
      },
      '1 wait=2, receipt',
    ],
    [paths.cancelAll, () => exit('cancelAll', { making: tokenA, untilMs: Date.now() }), '0 wait=2, receipt'],
    [paths.heartbeat, () => exit('heartbeat', { cancelAt: 0 }), '0 receipt'],
    [paths.cancelKeys, () => exit('cancelKeys', { keys: [key.address] }), '0 receipt'],
  ];

  test.each(kinds)('for %s names what was stored and where, signed by the service’s key', async (path, make, at) => {
    const [body, stated] = await make();
    const headers = headersOf(await (await openAll({ own })).post(path, body, both)) ?? {};
    const { 'X-Log-Position': position, 'X-Receipt': signature = '', 'Preference-Applied': applied } = headers;
    expect(`${position} ${applied}`).toBe(`${partitionOf(lower(maker), settings.PARTITIONS)}:${at}`);
    const message = { placed: [], cancelled: [], messages: [], position, ...stated };
    const signer = verifyTypedData(typedDataDomain(testDomain), receiptTypes, message, signature);
    expect(signer.toLowerCase()).toBe(serviceSigner);
  });

  test.each(kinds)(
    'for %s is given only if it is preferred, a key is set, and the log has acknowledged',
    async (path, make) => {
      const [body] = await make();
      const ask = async (given: Given, headers: object) =>
        headersOf(await (await openAll(given)).post(path, body, headers));
      expect(await ask({ own }, both)).toHaveProperty('X-Receipt');
      for (const headers of [await ask({ own }, { prefer: 'wait=2' }), await ask({}, both)]) {
        expect(headers).toHaveProperty('X-Log-Position');
        expect(headers).not.toHaveProperty('X-Receipt');
        expect(headers?.['Preference-Applied'] ?? '').not.toContain('receipt');
      }
      const unknown = await ask({ own, isLogAway: true }, both);
      expect(unknown).toMatchObject({ code: 'unavailable' });
      expect(unknown).not.toHaveProperty('X-Receipt');
    },
  );

  test('is not given if nothing was cancelled', async () => {
    const [, , never] = await orders;
    const headers = headersOf(await (await openAll({ own })).post(paths.cancellations, [cancelling(never)], both));
    expect(Object.keys(headers ?? {})).toEqual([]);
  });

  test('is the same for a message that is sent again', async () => {
    const { post, seen } = openRoutes({ own });
    const [body] = await exit('cancelAll', { untilMs: Date.now() });
    const { RateLimit: _, 'RateLimit-Policy': __, ...first } = headersOf(await post(paths.cancelAll, body, both)) ?? {};
    expect(headersOf(await post(paths.cancelAll, body, both))).toEqual(first);
    expect(seen.appended).toBe(1);
  });

  test('needs a key that is listed in RECEIPT_SIGNERS, or the start fails', () => {
    expect(() => openRoutes({ own: { ...own, RECEIPT_SIGNERS: lower(stranger) } })).toThrow(
      `RECEIPT_SIGNERS lacks ${serviceSigner}`,
    );
  });
});
