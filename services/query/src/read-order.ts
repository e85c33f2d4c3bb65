import { decodeMakerEvent, type MakerEvent, type OrderSubmitted } from '@makerbook/contracts-events';
import { TIMELINE_ENTRIES_MAX } from '@makerbook/contracts-http';
import type { Hex } from '@makerbook/contracts-primitives';
import type { Refusal } from '@makerbook/http';
import { type Log, LogUnavailable, type StoredRecord } from '@makerbook/kafka';
import { type HistoryEntry, type ReadModel, unlessAway, type WriteWatch } from '@makerbook/postgres';
import { type Asker, unavailable } from './answer-signed.js';
import { lagOf } from './read-list.js';

/** A fact, and when it was written to the log. */
export interface LoggedFact {
  readonly fact: MakerEvent;
  readonly loggedAtMs: number;
}

/** An order, what happened to it, and the facts that led to that. */
export interface FoundOrder {
  readonly submitted: OrderSubmitted;
  /** Oldest first; never empty. */
  readonly entries: readonly HistoryEntry[];
  /** By offset; one that the log does not hold any more is not there. */
  readonly facts: ReadonlyMap<bigint, LoggedFact>;
  /** The number of the maker's own writes that it may not show yet. */
  readonly lag: number;
}

interface Sources {
  readonly watch: WriteWatch;
  readonly rows: Pick<ReadModel, 'readOrderHistory'>;
  readonly log: Pick<Log, 'readRecords'>;
  readonly topic: string;
}

/** Reads an order with everything in it that was answered to its maker before: what happened from the rows, and why from the log. */
export function readOrderFrom({ watch, rows, log, topic }: Sources) {
  return async ({ maker, state: begun }: Asker, orderHash: Hex): Promise<FoundOrder | Refusal> => {
    const state = begun && (await watch.awaitSettled(maker, begun));
    const history = state && (await unlessAway(rows.readOrderHistory(maker, orderHash, TIMELINE_ENTRIES_MAX)));
    if (state === undefined || history === undefined)
      return unavailable('the store of orders does not answer; try again');
    const { entries, hash } = history;
    const [opened] = entries;
    if (opened?.happened !== 'OPENED') {
      if (opened !== undefined || hash === 'ACCEPTED') return gone;
      if (hash === 'PLACED') return unavailable('the order is still on its way; try again');
      return { code: 'not_found', detail: `no order of the signer has the hash ${orderHash}` };
    }
    const offsets = entries.map(({ logOffset }) => logOffset);
    const records = await unlessLogIsAway(log.readRecords({ topic, partition: opened.partition }, offsets));
    if (records === undefined) return unavailable('the log does not answer; try again');
    const facts = decodeFacts(records);
    const submitted = facts.get(opened.logOffset)?.fact;
    if (submitted?.type !== 'OrderSubmitted') return gone;
    return { submitted, entries, facts, lag: lagOf(state) };
  };
}

const gone: Refusal = {
  code: 'gone',
  detail: 'the order was accepted, and its history is not kept any more: the operator has the log',
};

function decodeFacts(records: ReadonlyMap<bigint, StoredRecord>): ReadonlyMap<bigint, LoggedFact> {
  const facts = new Map<bigint, LoggedFact>();
  for (const [offset, record] of records) {
    const fact = decodeMakerEvent(record);
    if (!('unreadable' in fact)) facts.set(offset, { fact, loggedAtMs: record.timestampMs });
  }
  return facts;
}

async function unlessLogIsAway<T>(read: Promise<T>): Promise<T | undefined> {
  return read.catch((error: unknown) => {
    if (error instanceof LogUnavailable) return undefined;
    throw error;
  });
}
