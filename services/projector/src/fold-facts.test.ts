import { describe, expect, test } from '@jest/globals';
import { topicNames } from '@makerbook/contracts-events';
import type { Address, Maker } from '@makerbook/domain';
import { unknownMaker } from '@makerbook/domain';
import type { StoredRecord } from '@makerbook/kafka';
import type { FundingRow, HistoryRow, MakerRow, OrderRow } from '@makerbook/postgres';
import fc from 'fast-check';
import { boundStretch, submittedOrders } from './bound-stretch.js';
import { describeFeeds } from './describe-feeds.js';
import { clockAfter, foldFacts } from './fold-facts.js';
import { makersFromRows } from './load-makers.js';
import { type FeedTopics, packFeeds, unpackFeeds } from './publish-feeds.js';
import { readFact } from './read-facts.js';
import { type ChangedRows, describeRows } from './save-transitions.js';
import { factStreams, makersOf } from './testing/generate-facts.js';

const partition = 1;
const partitions = 4;
const routingGraceSeconds = 60;
type FeedName = keyof FeedTopics;
const topics = topicNames();
const makers = makersOf(partition, partitions, 2);

/** The tables, as Postgres would hold them. */
class Tables {
  readonly makers = new Map<string, MakerRow>();
  readonly funding = new Map<string, FundingRow>();
  readonly orders = new Map<string, OrderRow>();
  readonly history: HistoryRow[] = [];

  save(rows: ChangedRows): void {
    for (const orderHash of rows.removed) expect(this.orders.delete(orderHash)).toBe(true);
    for (const row of rows.opened) {
      expect(this.orders.has(row.orderHash)).toBe(false);
      this.orders.set(row.orderHash, row);
    }
    for (const row of rows.changed) {
      const before = this.orders.get(row.orderHash);
      if (before === undefined) throw new Error(`${row.orderHash} changed and is not stored`);
      this.orders.set(row.orderHash, { ...before, ...row });
    }
    for (const { maker, token } of rows.fundingDropped) expect(this.funding.delete(maker + token)).toBe(true);
    for (const row of rows.funding) this.funding.set(row.maker + row.token, row);
    for (const row of rows.makers) this.makers.set(row.maker, row);
    this.history.push(...rows.history);
  }

  load(): Map<Address, Maker> {
    const orders = [...this.orders.values()].sort((a, b) => Number(a.acceptedOffset - b.acceptedOffset));
    return makersFromRows({ makers: [...this.makers.values()], funding: [...this.funding.values()], orders });
  }

  dueMakers(clockSeconds: number): Address[] {
    return [...this.makers.values()]
      .filter(({ dueAtSeconds }) => dueAtSeconds !== null && dueAtSeconds <= clockSeconds)
      .map(({ maker }) => maker);
  }

  sorted() {
    const sort = <T>(rows: Map<string, T>) => [...rows].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, row]) => row);
    const { history } = this;
    return { makers: sort(this.makers), funding: sort(this.funding), orders: sort(this.orders), history };
  }
}

/** The projection without I/O: the same steps on tables in memory. `keep`: makers are kept from batch to batch. */
function project(stream: readonly StoredRecord[], lengthOf: (batch: number) => number, keep: boolean) {
  const tables = new Tables();
  const kept = new Map<Address, Maker>();
  const feeds: Buffer[] = [];
  let clockSeconds = 0;
  let blockNumber: number | undefined;
  const facts = stream.map((record) => readFact(record, partitions));
  for (let at = 0, batch = 0; at < facts.length; batch += 1) {
    let stretch = facts.slice(at, at + lengthOf(batch));
    const touched = new Set(stretch.flatMap(({ fact }) => (fact.type === 'BlockProcessed' ? [] : fact.maker)));
    for (const maker of tables.dueMakers(clockAfter(stretch, clockSeconds))) touched.add(maker);
    const stored = tables.load();
    const loaded = new Map(
      [...touched].map((maker) => [maker, (keep ? kept : stored).get(maker) ?? unknownMaker(maker)]),
    );
    stretch = stretch.slice(0, boundStretch(stretch, loaded, 20));
    at += stretch.length;
    const ever = new Set(tables.history.map(({ orderHash }) => orderHash));
    const submitted = submittedOrders(stretch).map(({ orderHash }) => orderHash);
    const accepted = new Set(submitted.filter((orderHash) => ever.has(orderHash)));
    const folded = foldFacts({
      facts: stretch,
      clockSeconds,
      blockNumber,
      makers: loaded,
      accepted,
      routingGraceSeconds,
    });
    const rows = describeRows(loaded, folded);
    tables.save(rows);
    for (const [address, maker] of folded.makers) kept.set(address, maker);
    feeds.push(...describeFeeds(folded.happened, { partition, topics, routingGraceSeconds }).map(bytesOf));
    ({ clockSeconds, blockNumber } = folded);
  }
  return { ...tables.sorted(), feeds: Buffer.concat(feeds).toString(), clockSeconds, blockNumber };
}

function bytesOf(record: Parameters<typeof packFeeds>[0][number]): Buffer {
  return packFeeds([record], topics);
}

const streams = factStreams(makers, partition, { min: 1, max: 160, orders: 5 });

describe('the fold of a partition', () => {
  test('any cut into batches, with and without makers kept in memory, gives the same rows, history and feed bytes', () => {
    fc.assert(
      fc.property(
        streams,
        fc.array(fc.integer({ min: 1, max: 25 }), { minLength: 1, maxLength: 8 }),
        (stream, lengths) => {
          const oneByOne = project(stream, () => 1, false);
          const cut = (batch: number) => lengths[batch % lengths.length] ?? 1;
          expect(project(stream, cut, true)).toEqual(oneByOne);
          expect(project(stream, cut, false)).toEqual(oneByOne);
          expect(project(stream, () => stream.length, true)).toEqual(oneByOne);
        },
      ),
      { numRuns: 300 },
    );
  });

  test('every open order stands in the book or is withheld, and no other order does', () => {
    fc.assert(
      fc.property(streams, (stream) => {
        const { orders, feeds } = project(stream, () => stream.length, true);
        const shown = { book: new Set<string>(), makers: new Set<string>(), resume: new Set<string>() };
        for (const { to, key, value } of JSON.parse(feeds.replaceAll('][', ',') || '[]')) {
          if (value === null) shown[to as FeedName].delete(key);
          else shown[to as FeedName].add(key);
        }
        const keysOf = (inBook: boolean) =>
          orders.filter((order) => order.inBook === inBook).map(({ orderHash }) => orderHash);
        expect([...shown.book].sort()).toEqual(keysOf(true).sort());
        expect([...shown.resume].sort()).toEqual(keysOf(false).sort());
      }),
      { numRuns: 300 },
    );
  });

  test('what is stored reads back as what was folded', () => {
    fc.assert(
      fc.property(streams, (stream) => {
        const { orders, history } = project(stream, () => 7, true);
        const opened = history.filter(({ happened }) => happened === 'OPENED').map(({ orderHash }) => orderHash);
        const removed = new Set(
          history.filter(({ happened }) => happened === 'REMOVED').map(({ orderHash }) => orderHash),
        );
        // Accepted once, removed once at most, and stored in between.
        expect(new Set(opened).size).toBe(opened.length);
        expect(orders.map(({ orderHash }) => orderHash).sort()).toEqual(
          opened.filter((orderHash) => !removed.has(orderHash)).sort(),
        );
        for (const order of orders) expect(BigInt(order.remaining)).toBeGreaterThan(0n);
      }),
    );
  });

  test('the feed ends with an entry for each routable order and a tombstone for every other one', () => {
    fc.assert(
      fc.property(streams, (stream) => {
        const { feeds, orders, history } = project(stream, () => 5, true);
        const newest = new Map<string, string | null>();
        for (const [packed] of JSON.parse(`[${feeds.replaceAll('][', '],[')}]`)) {
          if (packed.to === 'book') newest.set(packed.key, packed.value);
        }
        const inBook = orders.filter((order) => order.inBook).map(({ orderHash }) => orderHash);
        expect(
          [...newest]
            .filter(([, value]) => value !== null)
            .map(([key]) => key)
            .sort(),
        ).toEqual(inBook.sort());
        for (const key of newest.keys()) expect(history.some(({ orderHash }) => orderHash === key)).toBe(true);
      }),
    );
  });

  test('no two feed messages of a partition share an id', () => {
    fc.assert(
      fc.property(streams, (stream) => {
        const { feeds } = project(stream, () => 9, true);
        const ids = [...feeds.matchAll(/"ce_id":"([^"]+)"/g)].map(([, id]) => id);
        expect(new Set(ids).size).toBe(ids.length);
      }),
    );
  });

  test('packed feeds unpack to the same messages', () => {
    const records = [
      { topic: topics.book, partition, key: '0x1', value: Buffer.from('{"a":"ä"}'), headers: { a: 'ü' } },
      { topic: topics.book, partition, key: '0x1', value: null, headers: { removal: 'EXPIRED' } },
      { topic: topics.makers, partition, key: '0x2', value: Buffer.from('{}'), headers: {} },
    ];
    expect(unpackFeeds(packFeeds(records, topics), partition, topics)).toEqual(records);
  });
});
