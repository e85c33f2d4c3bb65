import { describe, expect, test } from '@jest/globals';
import type { MakerEvent, OrderSubmitted } from '@makerbook/contracts-events';
import { FatalError, RetryableError } from '@makerbook/kafka';
import { blockAt, orderOf, startSeconds, unfoldable } from '../testing/generate-facts.js';
import { cancelled, decided, GivenPartition, maker, observed, other, submitted } from '../testing/given-partition.js';

test.each([
  ['that were committed', true],
  ['behind the feeds', false],
])(
  'a block that brings back capped orders resumes where its owner was cut off, with the rows %s',
  async (_, isCommitted) => {
    const begin = async () => {
      const given = new GivenPartition({ commitTransitionsMax: 1 });
      for (const of of [maker, other]) {
        const { order, orderHash } = orderOf(of, 0);
        const cap = {
          token: order.making.token,
          amount: '0x1',
          windowSeconds: 5,
          issuedAtMs: 1,
          cause: { kind: 'request', requestId: 'cap' },
        };
        const reading = observed(of, [0]);
        const place = { blockNumber: 9, transactionHash: orderHash, logIndex: 0 };
        const fills = [{ orderHash, taker: other, makingAmount: '0x2', takingAmount: '0x1', ...place }];
        const fill = { ...reading, orders: [{ orderHash, filled: '0x2', cancelled: false }], fills };
        await given.when(submitted(of, 0), observed(of, [0]), { type: 'FillCapSet', maker: of, ...cap } as MakerEvent);
        await given.when(fill as MakerEvent);
      }
      return given;
    };
    const end = blockAt(9, startSeconds + 5);
    const whole = await (await begin()).when(end);
    expect(whole).toHaveLength(3);
    let cuts = 0;
    for (let ownedFor = 0, isCut = true; isCut; ownedFor += 1) {
      const given = await begin();
      const { published: before, tables } = given;
      given.ownedFor = ownedFor;
      isCut = await given.when(end).then(
        () => false,
        () => true,
      );
      const first = given.published - before;
      if (isCut) cuts += Number(first > 0);
      given.ownedFor = Number.POSITIVE_INFINITY;
      if (!isCommitted) given.rows.tables = tables;
      expect([...whole.slice(0, first), ...(isCut ? await given.taken() : [])]).toEqual(whole);
    }
    expect(cuts).toBeGreaterThan(1);
  },
);

test('an order or cancellation that came too late changes nothing, and the same order in time counts', async () => {
  const given = new GivenPartition();
  const { orderHash } = orderOf(maker, 0);
  const row = { orderHash, maker, untilMs: Number.MAX_SAFE_INTEGER, requestId: 'r', salt: '0x1', expiresAtSeconds: 9 };
  given.rows.place(row as never);
  expect(await given.whenTooLate(submitted(maker, 0))).toEqual([]);
  expect([given.tables.orders.size, given.tables.inFlight.size]).toEqual([0, 1]);
  await given.when(submitted(maker, 0), observed(maker, [0]));
  expect([given.tables.orders.size, given.tables.inFlight.size]).toEqual([1, 0]);
  expect(await given.whenTooLate(cancelled(maker, 0))).toEqual([]);
  expect(given.tables.orders.size).toBe(1);
  expect(given.parked).toEqual([]);
});

describe('a partition whose rows are behind its feeds', () => {
  test('stops an owner whose rows were replaced, before it uses any of them', async () => {
    const given = new GivenPartition({ heldMax: 0 });
    const backup = given.tables;
    await given.when(submitted(maker, 0), observed(maker, [0]), cancelled(maker, 0));
    const { published } = given;
    given.rows.tables = backup;
    await expect(given.when(submitted(maker, 1))).rejects.toThrow(RetryableError);
    const again = given.retried();
    await expect(again).rejects.toThrow(FatalError);
    await expect(again).rejects.toThrow(
      /^partition 0: the rows are at 0, but this process left them at 3: the database was replaced .*Stop the services/,
    );
    expect(given.published).toBe(published);
  });
});

describe('fills', () => {
  /** A reading with fills of order 7, which is not open. */
  const filled = (...amounts: readonly number[]) => {
    const { orderHash } = orderOf(maker, 7);
    const fills = amounts.map((amount, logIndex) => {
      const place = { blockNumber: 5, transactionHash: orderHash, logIndex };
      return { orderHash, taker: other, makingAmount: `0x${amount}`, takingAmount: '0x1', ...place };
    });
    return { ...observed(maker, []), fills } as MakerEvent;
  };

  test('are published in chain order before their effect on the book, also if their order is not open', async () => {
    const given = new GivenPartition();
    await given.when(submitted(maker, 0));
    expect(await given.when({ ...filled(2, 3), ...observed(maker, [0]) }, filled(4))).toEqual([
      '1:0 filled 0x2 at 5:0',
      '1:1 filled 0x3 at 5:1',
      '1:2 UNKNOWN',
      '1:3 ACTIVE OBSERVED ALLOWANCE_CHANGED BALANCE_CHANGED NONCE_CHANGED of 0',
      '2:0 filled 0x4 at 5:0',
    ]);
  });

  test('of a quarantined maker are published too, and not again at its release', async () => {
    const given = new GivenPartition();
    await given.when(unfoldable(maker));
    expect(await given.when(filled(2), decided(maker, 'QuarantineLifted'))).toEqual(['1:0 filled 0x2 at 5:0']);
  });

  test('that come last on the feeds are not published again by another process', async () => {
    const given = new GivenPartition();
    await given.when(submitted(maker, 0), observed(maker, [0]));
    const backup = given.tables;
    expect(await given.when(filled(2))).toEqual(['2:0 filled 0x2 at 5:0']);
    given.rows.tables = backup;
    expect(await given.taken()).toEqual([]);
  });
});

test('an order counts as active once, whoever folds it', async () => {
  const activated: number[] = [];
  const given = new GivenPartition({
    meters: { activated: (orders) => activated.push(...orders.map(({ acceptedAtMs }) => acceptedAtMs)) },
  });
  const backup = given.tables;
  await given.when(submitted(maker, 0));
  expect(activated).toEqual([]);
  const chain = observed(maker, [0]);
  await given.when(chain);
  await given.when(chain);
  given.rows.tables = backup;
  await given.taken();
  const { acceptedAtMs } = submitted(maker, 0) as OrderSubmitted;
  expect(activated).toEqual([acceptedAtMs]);
});

test.each([
  ['before a batch is begun', 0],
  ['before it is folded', 1],
  ['before it is published', 2],
])('a partition that is given to another process %s is not touched', async (_when, ownedFor) => {
  const given = new GivenPartition();
  const { tables } = given;
  given.ownedFor = ownedFor;
  await expect(given.when(submitted(maker, 0), observed(maker, [0]))).rejects.toThrow(RetryableError);
  expect(given).toMatchObject({ published: 0, tables });
});

describe('another log', () => {
  test('that ends before the rows, or before what the feeds name, is refused', async () => {
    const given = new GivenPartition();
    await given.when(submitted(maker, 0));
    const { tables } = given;
    given.rows.tables = { ...tables, projection: { ...tables.projection, nextOffset: 9n } };
    await expect(given.taken()).rejects.toThrow(
      /ends at offset 1 in partition 0, and the database has folded it up to 9: the database belongs to another log/,
    );
    given.rows.tables = tables;
    given.publishForeign({ ce_id: '0:1:0' });
    const refused = given.taken();
    await expect(refused).rejects.toThrow(FatalError);
    await expect(refused).rejects.toThrow(/already speak of offset 1: the feeds belong to another log/);
  });

  test('that has lost its end and grown again is refused: a fact’s time differs from the feeds', async () => {
    const given = new GivenPartition();
    await given.when(submitted(maker, 0), observed(maker, [0]));
    given.publishForeign({ ce_id: '0:1:7', ce_time: new Date(7).toISOString() });
    const refused = given.taken();
    await expect(refused).rejects.toThrow(FatalError);
    await expect(refused).rejects.toThrow(
      /at offset 1 of partition 0, the fact of which .* speak: it has lost its end/,
    );
  });

  test('is not assumed because of foreign messages on the feeds', async () => {
    const given = new GivenPartition();
    for (const headers of [{}, { ce_id: 'nobody knows' }, { ce_id: '9:999:1' }]) given.publishForeign(headers);
    expect(await given.when(submitted(maker, 0), observed(maker, [0]))).toEqual([
      expect.stringMatching(/^1:0 /),
      expect.stringMatching(/^1:1 ACTIVE OBSERVED .*of 0$/),
    ]);
  });
});
