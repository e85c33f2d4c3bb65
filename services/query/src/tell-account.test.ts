import { describe, expect, test } from '@jest/globals';
import { createRequestHashers } from '@makerbook/contracts-evm';
import { type Account, exampleDomain, examples } from '@makerbook/contracts-http';
import { noExits } from '@makerbook/domain';
import { type ApiRequest, isRefusal } from '@makerbook/http';
import { PostgresUnavailable } from '@makerbook/postgres';
import { readSettings } from '@makerbook/settings';
import { querySettings } from './index.js';
import type { MakerAccount } from './store/read-maker.js';
import { tellAccount } from './tell-account.js';

const NOW_MS = examples.accountQuery.issuedAt * 1000;
const [token, other] = [`0x${'2a'.repeat(20)}`, `0x${'3a'.repeat(20)}`] as const;
const key = `0x${'50'.repeat(20)}` as const;
const cap = { token, amount: '0xc8', windowSeconds: 60, issuedAtMs: 5, filled: '0xc9', untilSeconds: 1_000 } as const;
const found: MakerAccount = {
  partition: 3,
  nextOffset: 1_380n,
  clock: { block: 7, seconds: 999 },
  admission: 'ADMITTED',
  limits: { openOrdersMax: 7, ordersPerSecond: 10 },
  exits: {
    ...noExits,
    cancelAt: 999,
    switchKey: key,
    switchIssuedAtMs: 4,
    cancelKeys: [key],
    keysIssuedAtMs: 3,
    caps: [cap],
  },
  isUnsure: false,
  quarantine: null,
  nonce: 31n,
  openOrders: 2,
  remembered: 17,
  budgets: { orders: { left: 10, atMs: NOW_MS - 5_050 }, cancels: { left: undefined, atMs: 0 } },
  nowMs: NOW_MS,
};
const settings = readSettings(querySettings, {
  KAFKA_BROKERS: 'a:1',
  DATABASE_URL: 'postgres://h/d',
  SERVICE_NAME: 'Test',
  LIMIT_ORDER_PROTOCOL_ADDRESS: token,
});

/** The answer while the rows have this. An Error is thrown instead. */
async function ask(rows: MakerAccount | null | Error, unsettled: readonly string[] = []) {
  const { issuedAt, ...query } = examples.accountQuery;
  const request = { query: new URLSearchParams({ issuedAt: String(issuedAt), ...query }), describe() {} };
  const state = { version: 1n, unsettled, isUnsure: false, cancelAt: 0 };
  return tellAccount(request as unknown as ApiRequest, {
    hashers: createRequestHashers({ ...exampleDomain, verifyingContract: exampleDomain.limitOrderProtocol }),
    isWhitelistKnown: () => true,
    rules: {
      requestTtlSeconds: 30,
      clockSkewSeconds: 5,
      mayRead: () => false,
      isKnown: (maker) => maker === examples.account.maker,
    },
    replays: { takeSalt: async () => ({ kind: 'taken', remaining: 499 }), releaseSalt: async () => undefined },
    budget: { ratePerSecond: 50, burst: 500 },
    unixMs: () => NOW_MS as never,
    readState: async () => state,
    checkedLocally: () => undefined,
    settings,
    makers: { isCancelOnly: () => true },
    watch: { awaitSettled: async (_, begun) => begun },
    readMaker: async () => {
      if (rows instanceof Error) throw rows;
      return rows;
    },
  });
}

async function tell(over: Partial<MakerAccount>): Promise<Account> {
  const reply = await ask({ ...found, ...over });
  if (isRefusal(reply)) throw new Error(reply.detail);
  return JSON.parse(String(reply.body));
}

describe('an account', () => {
  test('has the maker’s own limits, and its budgets as refilled since', async () => {
    expect(await tell({})).toMatchObject({
      position: '3:1380',
      block: { number: 7, timestamp: 999 },
      isCancelOnly: true,
      isQuarantined: false,
      nonce: '0x1f',
      openOrders: { count: 2, max: 7 },
      orderBudget: { perSecond: 10, burst: 1_000, left: 60 },
      cancelBudget: { left: 5_000 },
      listBudget: { left: 499 },
      cancelKeys: { keys: [key], issuedAtMs: 3 },
    });
    const empty = await tell({ nonce: null, clock: { block: -1, seconds: 0 }, quarantine: 'a fault', exits: noExits });
    expect(empty).toMatchObject({ nonce: null, block: null, isQuarantined: true, caps: [] });
  });

  test('shows its switch and its windows as of the newest block', async () => {
    const { switch: armed, caps } = await tell({});
    expect(armed).toEqual({ cancelAt: 999, hasFired: true, key, issuedAtMs: 4 });
    const terms = { token, amount: '0xc8', windowSeconds: 60, issuedAtMs: 5 };
    expect(caps).toEqual([{ ...terms, filled: '0xc9', windowEndsAt: 1_000, cappedUntil: 1_000 }]);
    const removed = { ...cap, token: other, amount: '0x0' } as const;
    const exits = { ...found.exits, cancelAt: 1_001, caps: [cap, removed] };
    const later = await tell({ clock: { block: 8, seconds: 1_000 }, exits });
    expect(later.switch.hasFired).toBe(false);
    expect(later.caps).toEqual([{ ...terms, filled: '0x0', windowEndsAt: null }]);
  });

  test('is unavailable while Postgres is down or lacks the maker, and says how far it lags', async () => {
    expect(await ask(new PostgresUnavailable('away'))).toMatchObject({ code: 'unavailable' });
    expect(await ask(null)).toMatchObject({ code: 'unavailable' });
    expect(await ask(found, ['placed'])).toHaveProperty('headers.X-Read-Lag', '1');
    // Postgres crashed between the reads of the state and of the account.
    expect(await ask({ ...found, isUnsure: true })).toHaveProperty('headers.X-Read-Lag', 'unknown');
  });
});
