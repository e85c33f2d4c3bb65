import assert from 'node:assert/strict';
import { topicNames } from '@makerbook/contracts-events';
import { type Address, type evolve, type Maker, unknownMaker } from '@makerbook/domain';
import type { LogRecord, StoredRecord } from '@makerbook/kafka';
import type {
  CancelledHashRow,
  DueMaker,
  FundingRow,
  HistoryRow,
  KnownHashes,
  MakerRow,
  OrderRow,
} from '@makerbook/postgres';
import { boundStretch, hashesToFind } from '../bound-stretch.js';
import { describeFeeds } from '../describe-feeds.js';
import { describeBlock, foldBlock } from '../fold-block.js';
import { type FoldInput, foldFacts, UnfoldableFact } from '../fold-facts.js';
import { describeHalts } from '../halt-makers.js';
import { makersFromRows } from '../load-makers.js';
import { type Concerned, ordersOf, planStretch } from '../plan-stretch.js';
import { packFeeds } from '../publish-feeds.js';
import { readFact } from '../read-facts.js';
import { type ChangedRows, describeRows } from '../save-transitions.js';

/** For tests: the projection of one partition without I/O, the same steps on tables in memory. */

export const testPartition = 1;
export const testPartitions = 4;
export const topics = topicNames();
const routingGraceSeconds = 60;

export interface Cut {
  /** How many facts a batch has. */
  readonly lengthOf?: (batch: number) => number;
  /** Makers are kept from commit to commit; else each is made by a process of its own, that has only the tables. */
  readonly keep?: boolean;
  /** Bound on one commit. */
  readonly ordersMax?: number;
  /** A broken fold of one maker. */
  readonly evolve?: typeof evolve;
}

export async function projectInMemory(
  stream: readonly StoredRecord[],
  { lengthOf = () => stream.length, keep = true, ordersMax = 1_000, ...broken }: Cut,
) {
  const partition = testPartition;
  const rules = { partition, topics, routingGraceSeconds };
  const tables = new Tables();
  const kept = new Map<Address, Maker>();
  const feeds: LogRecord[] = [];
  const parked: { readonly offset: bigint; readonly maker: Address }[] = [];
  let newestKept = -1n;
  let clockSeconds = 0;
  let blockNumber: number | undefined;
  let halted: ReadonlyMap<Address, bigint> = new Map();
  let slices = 0;
  let slicedBlocks = 0;
  const facts = stream.map((record) => readFact(record, testPartitions));
  for (let at = 0, batch = 0, length = lengthOf(0); at < facts.length; ) {
    const left = facts.slice(at, at + length);
    const newestOffset = keep ? newestKept : (left[0]?.offset ?? 0n) - 1n;
    const start = { clockSeconds, blockNumber, newestOffset, nextDueSeconds: 0, slices };
    const plan = await planStretch(left, start, ordersMax, (...asked) => tables.findDue(...asked));
    const planned = left.slice(0, plan.count);
    const touched = new Set(planned.flatMap(({ fact }) => (fact.type === 'BlockProcessed' ? [] : fact.maker)));
    for (const { maker } of plan.due) touched.add(maker);
    const stored = tables.load();
    const makers = new Map(
      [...touched].map((maker) => [maker, (keep ? kept : stored).get(maker) ?? unknownMaker(maker)]),
    );
    const stretch = planned.slice(0, boundStretch(planned, makers, ordersMax, ordersOf(plan.due)));
    const known = tables.known(hashesToFind(stretch, makers).map(({ orderHash }) => orderHash));
    const clock = { clockSeconds, blockNumber, halted };
    const input = { ...clock, ...broken, facts: stretch, makers, unreadable: new Map(), known, routingGraceSeconds };
    const folding = foldAll(input);
    if (typeof folding === 'number') {
      length = folding;
      continue;
    }
    const { folded, rows, halts, messages } = folding;
    tables.save(rows);
    for (const { acceptedOffset } of rows.opened) if (acceptedOffset > newestKept) newestKept = acceptedOffset;
    for (const [address, maker] of folded.makers) kept.set(address, maker);
    for (const { maker } of halts) {
      if (!halted.has(maker)) parked.push({ offset: stretch[0]?.offset ?? -1n, maker });
      const now = tables.load().get(maker);
      if (now !== undefined) kept.set(maker, now);
    }
    feeds.push(...messages);
    halted = folded.halted;
    if (!plan.isWhole) {
      assert.equal(stretch.length, 1);
      slicedBlocks += slices === 0 ? 1 : 0;
      slices += 1;
      continue;
    }
    slices = 0;
    at += stretch.length;
    batch += 1;
    length = lengthOf(batch);
    ({ clockSeconds, blockNumber } = folded);
  }
  const bytes = Buffer.concat(feeds.map((record) => packFeeds([record], topics))).toString();
  const output = { ...tables.sorted(), feeds: bytes, clockSeconds, blockNumber, halted, parked };
  return { output, slicedBlocks };

  /** What the stretch does; or with how many facts to try again, where a block among them cannot be folded for all. */
  function foldAll(input: FoldInput) {
    const [first] = input.facts;
    if (input.facts.length === 1 && first?.fact.type === 'BlockProcessed') {
      const block = foldBlock(input, rules, new Map());
      const halts = describeHalts(block.broken, tables.orderRows());
      const { folded, rows, feeds: messages } = describeBlock(block, input.makers, halts, first, rules);
      return { folded, rows, halts, messages };
    }
    try {
      const folded = foldFacts(input);
      const messages = describeFeeds(folded.happened, rules);
      return { folded, rows: describeRows(input.makers, folded), halts: [], messages };
    } catch (error) {
      assert(error instanceof UnfoldableFact);
      const index = input.facts.findIndex(({ offset }) => offset === error.offset);
      assert.equal(input.facts[index]?.fact.type, 'BlockProcessed');
      return Math.max(1, index);
    }
  }
}

/** The tables, as Postgres would hold them. */
class Tables {
  readonly makers = new Map<string, MakerRow>();
  readonly funding = new Map<string, FundingRow>();
  readonly orders = new Map<string, OrderRow>();
  readonly history: HistoryRow[] = [];
  readonly cancelledHashes = new Map<string, CancelledHashRow>();

  save(rows: ChangedRows): void {
    for (const orderHash of rows.removed) assert(this.orders.delete(orderHash));
    for (const row of rows.opened) {
      assert(!this.orders.has(row.orderHash));
      this.orders.set(row.orderHash, row);
    }
    for (const row of [...rows.changed, ...(rows.withheld ?? []).map((orderHash) => ({ orderHash, inBook: false }))]) {
      const before = this.orders.get(row.orderHash);
      if (before === undefined) throw new Error(`${row.orderHash} changed and is not stored`);
      this.orders.set(row.orderHash, { ...before, ...row });
    }
    for (const { maker, token } of rows.fundingDropped) assert(this.funding.delete(maker + token));
    for (const row of rows.funding) this.funding.set(row.maker + row.token, row);
    for (const row of rows.makers) this.makers.set(row.maker, row);
    for (const { maker, offset } of rows.halted ?? []) {
      const before = this.makers.get(maker);
      if (before === undefined) throw new Error(`${maker} is halted and is not stored`);
      this.makers.set(maker, { ...before, dueAtSeconds: null, haltedOffset: before.haltedOffset ?? offset });
    }
    this.history.push(...rows.history);
    for (const row of rows.cancelledHashes ?? []) {
      assert(!this.cancelledHashes.has(row.orderHash));
      this.cancelledHashes.set(row.orderHash, row);
    }
  }

  load(): ReadonlyMap<Address, Maker> {
    const [makers, funding] = [[...this.makers.values()], [...this.funding.values()]];
    return makersFromRows({ makers, funding, orders: this.orderRows() }).makers;
  }

  orderRows(): OrderRow[] {
    return [...this.orders.values()].sort((a, b) => Number(a.acceptedOffset - b.acceptedOffset));
  }

  /** As `findKnownHashes` does. */
  known(hashes: readonly OrderRow['orderHash'][]): KnownHashes {
    const ever = new Set(this.history.map(({ orderHash }) => orderHash));
    return {
      accepted: new Set(hashes.filter((orderHash) => ever.has(orderHash))),
      cancelled: new Set(hashes.filter((orderHash) => this.cancelledHashes.has(orderHash))),
    };
  }

  /** As `findDueMakers` and `findMissedMakers` do. */
  async findDue({ clockSeconds = -1, missed }: Concerned, makersMax: number): Promise<DueMaker[]> {
    const due = [...this.makers.values()].filter(
      (row) => (row.dueAtSeconds !== null && row.dueAtSeconds <= clockSeconds) || this.isMissed(row, missed),
    );
    const openOrders = (of: Address) =>
      [...this.funding.values()].reduce((sum, row) => sum + (row.maker === of ? row.openOrders : 0), 0);
    return due
      .map(({ maker }) => ({ maker, openOrders: openOrders(maker) }))
      .sort((a, b) => (a.maker < b.maker ? -1 : 1))
      .slice(0, makersMax);
  }

  private isMissed({ maker, haltedOffset }: MakerRow, missed: Concerned['missed']): boolean {
    if (missed === undefined || haltedOffset != null) return false;
    return [...this.orders.values()].some(
      (row) =>
        row.maker === maker &&
        row.acceptedOffset >= missed.knownOffset &&
        row.observedBlock !== null &&
        row.observedBlock < missed.blockNumber,
    );
  }

  sorted() {
    const sort = <T>(rows: Map<string, T>) => [...rows].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, row]) => row);
    const { history } = this;
    return {
      makers: sort(this.makers),
      funding: sort(this.funding),
      orders: sort(this.orders),
      cancelledHashes: sort(this.cancelledHashes),
      history,
    };
  }
}
