import { type Hex, unlessAway } from '@makerbook/contracts-primitives';
import { type Refusal, refuseFields, unavailable } from '@makerbook/http';
import { type Log, type LogName, nameLog, partitionOf } from '@makerbook/kafka';
import type { PartitionClockRow } from '@makerbook/postgres';
import { logIsAway, rowsAreAway } from './answer-signed.js';
import type { HistoryPlace } from './store/read-histories.js';

/** A place in the history of a maker's orders, and the log that it belongs to. */
export interface Cursor {
  readonly partition: number;
  /** The name of the log's partition. `-` stands for the place before its first record, the same in every log. */
  readonly log: string;
  readonly place: HistoryPlace;
}

const NO_RECORD = '-';

/** Parses a cursor. @param text in the form that the interface demands */
export function parseCursor(text: string): Cursor {
  const [partition, log = NO_RECORD, offset = '0', orderHash, rank, blockNumber, logIndex] = text.split(':');
  const entry = orderHash !== undefined && {
    orderHash: orderHash as Hex,
    rank: Number(rank),
    blockNumber: Number(blockNumber),
    logIndex: Number(logIndex),
  };
  return { partition: Number(partition), log, place: { offset: BigInt(offset), ...(entry && { entry }) } };
}

export interface CursorSources {
  readonly log: Pick<Log, 'readRange'>;
  readonly topic: string;
  readonly rows: { readonly readPartitionClocks: () => Promise<readonly PartitionClockRow[]> };
}

export type Cursors = ReturnType<typeof openCursors>;

/** Creates and checks the cursors of lists, histories and streams. */
export function openCursors({ log, topic, rows }: CursorSources, partitions: number) {
  const names = new Map<number, LogName>();

  /** Names the log's partition if it has a record before the offset. Undefined while the log does not answer. */
  async function nameBefore(
    partition: number,
    offset: bigint,
  ): Promise<{ readonly name: LogName | undefined } | undefined> {
    const known = names.get(partition);
    const read = async () => ({ name: known ?? (await nameLog(log, { topic, partition }, offset)) });
    const named = await unlessAway(read());
    if (named?.name === undefined) return named;
    names.set(partition, named.name);
    return named.name.firstOffset < offset ? named : { name: undefined };
  }

  return {
    /** The cursor of a place that the rows have reached. Undefined while the log does not answer. */
    async cursorOf(partition: number, place: HistoryPlace): Promise<string | undefined> {
      const named = await nameBefore(partition, endOf(place));
      if (named === undefined) return undefined;
      const { offset, entry } = place;
      const rest = entry === undefined ? [] : [entry.orderHash, entry.rank, entry.blockNumber, entry.logIndex];
      return [partition, named.name?.name ?? NO_RECORD, offset, ...rest].join(':');
    },

    /**
     * Refuses a maker's cursor if it belongs to another log or partition, or is ahead of what is known here.
     * @param knownTo how far the log is known while Postgres is down; without it every cursor is refused then
     */
    async refuse({ partition, log, place }: Cursor, maker: Hex, knownTo?: bigint): Promise<Refusal | undefined> {
      const own = partitionOf(maker, partitions);
      if (partition !== own) {
        const message = `is of partition ${partition}, but the maker's is ${own}: start without a cursor`;
        return refuseFields([{ path: ['cursor'], message }]);
      }
      const clocks = await unlessAway(rows.readPartitionClocks());
      const to = clocks === undefined ? knownTo : (clocks.find((clock) => clock.partition === own)?.nextOffset ?? 0n);
      if (to === undefined) return rowsAreAway;
      const named = await nameBefore(own, to);
      if (named === undefined) return logIsAway;
      const { name } = named;
      if (name === undefined) return log === NO_RECORD && endOf(place) <= to ? undefined : isAhead;
      if (log !== (name.firstOffset < endOf(place) ? name.name : NO_RECORD)) return ofAnotherLog;
      return endOf(place) <= to ? undefined : isAhead;
    },
  };
}

/** The offset behind the last fact that lies, at least in part, before the place. */
function endOf({ offset, entry }: HistoryPlace): bigint {
  return entry === undefined ? offset : offset + 1n;
}

const ofAnotherLog: Refusal = { code: 'gone', detail: 'the cursor belongs to another log: start without a cursor' };
const isAhead = unavailable('the cursor is ahead of what is known here; try again');
