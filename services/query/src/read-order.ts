import type { OrderSubmitted } from '@makerbook/contracts-events';
import { TIMELINE_ENTRIES_MAX } from '@makerbook/contracts-http';
import { type Hex, unlessAway } from '@makerbook/contracts-primitives';
import { type Refusal, unavailable } from '@makerbook/http';
import { type Log, partitionOf } from '@makerbook/kafka';
import { type Asker, logIsAway, rowsAreAway } from './answer-signed.js';
import type { WriteWatch } from './await-writes.js';
import type { CursorSources } from './cursor.js';
import { type FactsByOffset, readFacts } from './describe-entries.js';
import { findMoment, type Moment } from './find-moment.js';
import { lagOf } from './read-list.js';
import type { HistoryEntry } from './store/read-histories.js';
import type { OrderHistory } from './store/read-order-history.js';

/** An order, what happened to it, and the facts that led to that. */
export interface FoundOrder {
  readonly submitted: OrderSubmitted;
  /** Oldest first; never empty. */
  readonly entries: readonly HistoryEntry[];
  readonly facts: FactsByOffset;
  /** The number of the maker's own writes that the order may not show yet; undefined if unknown. */
  readonly lag: number | undefined;
}

export interface OrderSources {
  readonly watch: WriteWatch;
  readonly rows: CursorSources['rows'] & {
    readonly readOrderHistory: (maker: Hex, hash: Hex, entriesMax: number, before?: bigint) => Promise<OrderHistory>;
  };
  readonly log: Pick<Log, 'readRecords' | 'readRange'>;
  readonly topic: string;
}

/** Reads an order with every write that was answered before. The rows say what happened, the log says why. */
export function readOrderFrom({ watch, rows, log, topic }: OrderSources, partitions: number) {
  async function readMoment(at: Moment, partition: number): Promise<bigint | Refusal> {
    const clocks = await unlessAway(rows.readPartitionClocks());
    if (clocks === undefined) return rowsAreAway;
    const end = clocks.find((clock) => clock.partition === partition)?.nextOffset ?? 0n;
    return findMoment(log, { topic, partition }, at, end);
  }

  return async ({ maker, state: begun }: Asker, orderHash: Hex, at?: Moment): Promise<FoundOrder | Refusal> => {
    const before = at && (await readMoment(at, partitionOf(maker, partitions)));
    if (typeof before === 'object') return before;
    const state = begun && (await watch.awaitSettled(maker, begun));
    const history = state && (await unlessAway(rows.readOrderHistory(maker, orderHash, TIMELINE_ENTRIES_MAX, before)));
    if (state === undefined || history === undefined) return rowsAreAway;
    const { entries: known, hash, isUnsure, foldedTo } = history;
    const opened = known.find(({ happened }) => happened === 'OPENED');
    if (opened === undefined) {
      // Fills prove nothing: an order that was never placed here can be filled too.
      if (hash === 'ACCEPTED' || known.some(({ happened }) => happened !== 'FILLED')) return gone;
      if (hash === 'PLACED') return unavailable('the order is still on its way; try again');
      if (isUnsure) return unavailable('the store of orders is still reading the log; try again');
      return { code: 'not_found', detail: `no order of the signer has the hash ${orderHash}` };
    }
    if (before !== undefined && opened.logOffset >= before)
      return { code: 'not_found', detail: `the order was placed later, at ${opened.partition}:${opened.logOffset}` };
    if (before !== undefined && foldedTo < before)
      return unavailable('the store of orders has not read the log that far; try again');
    // An order whose nonce has passed may have been opened again later.
    const entries = before === undefined ? known : known.filter(({ logOffset }) => logOffset < before);
    const facts = await readFacts(log, { topic, partition: opened.partition }, entries);
    if (facts === undefined) return logIsAway;
    const submitted = facts.get(opened.logOffset)?.fact;
    if (submitted?.type !== 'OrderSubmitted') return gone;
    return { submitted, entries, facts, lag: lagOf(state, history) };
  };
}

const gone: Refusal = {
  code: 'gone',
  detail: 'the order was accepted, and its history is not kept any more: ask the operator, who has the log',
};
