import type { Hex } from '@makerbook/contracts-primitives';
import { type After, startTimer } from '@makerbook/http';
import { type PartitionClockRow, PostgresUnavailable } from '@makerbook/postgres';
import type { CursorSources } from './cursor.js';
import type { News, NewsReader, ReadEntry } from './read-history.js';

const POLL_MS = 50;
/** Entries that one look at a partition reads. If more has happened, each stream reads its own. */
const ENTRIES_MAX = 5_000;
/** Entries that may wait for one stream. */
const WAITING_MAX = 500;

/** An entry as streams send it. The id is its cursor. */
export interface ToldEntry {
  readonly offset: bigint;
  readonly id: string;
  readonly json: string;
}

/** Hears what happens to the orders of a maker from `since` on, as it is committed. */
export interface Listener {
  /** The first offset whose effects are heard. Undefined before the first look at the rows. */
  readonly since: bigint | undefined;
  /** True if nothing waits and nothing is missing. */
  isQuiet(): boolean;
  /** Takes what has come, oldest first. Undefined if something may be missing: read the rows, and listen again. */
  take(): readonly ToldEntry[] | undefined;
  /** Resolves once there is something to take. */
  arrived(): Promise<void>;
  close(): void;
}

export type RowTail = ReturnType<typeof tailRows>;

interface TailParts {
  readonly rows: CursorSources['rows'];
  readonly readNews: NewsReader;
  readonly after?: After | undefined;
  readonly onError: (error: unknown) => void;
}

/**
 * Reads what is committed to the rows, once for all streams of the process. Each round looks at the positions, and at
 * the history of each partition that has moved on. Reads nothing while nobody listens.
 */
export function tailRows({ rows, readNews, after = startTimer, onError }: TailParts) {
  const listeners = new Map<number, Set<QueuedListener>>();
  const clocks = new Map<number, PartitionClockRow>();
  let count = 0;
  let isPolling = false;

  async function poll(): Promise<void> {
    isPolling = true;
    while (count > 0) {
      await rows.readPartitionClocks().then((read) => Promise.all(read.map(moveTo)), unlessAway);
      await new Promise<void>((resolve) => void after(POLL_MS, resolve));
    }
    isPolling = false;
    clocks.clear();
  }

  /** Hands out what has been committed since the last look. While that cannot be read, the clock does not move. */
  async function moveTo(clock: PartitionClockRow): Promise<void> {
    const { partition, nextOffset: to } = clock;
    const from = clocks.get(partition)?.nextOffset;
    const own = listeners.get(partition) ?? new Set();
    // A crash of Postgres undoes rows.
    const isLost = from === undefined || to < from;
    if (isLost || own.size === 0 || to === from) {
      clocks.set(partition, clock);
      if (isLost) for (const each of own) each.lose();
      return;
    }
    const makers = [...new Set([...own].map(({ maker }) => maker))];
    const news = await readNews({ partition, makers, from, to, entriesMax: ENTRIES_MAX }).catch(unlessAway);
    if (news === undefined) return;
    clocks.set(partition, clock);
    handOut(own, news);
  }

  /** If something cannot be described, each stream reads its own. */
  function unlessAway(error: unknown): News | undefined {
    if (error instanceof PostgresUnavailable) return undefined;
    onError(error);
    return new Map();
  }

  return {
    /** The clock of a partition as last seen. Undefined before the first look. */
    clockOf: (partition: number): PartitionClockRow | undefined => clocks.get(partition),

    /** Call it before you read the rows. */
    listen(maker: Hex, partition: number): Listener {
      const own = listeners.get(partition) ?? new Set();
      listeners.set(partition, own);
      const listener = new QueuedListener(maker, clocks.get(partition)?.nextOffset, () => {
        if (own.delete(listener)) count -= 1;
      });
      own.add(listener);
      count += 1;
      if (!isPolling) void poll();
      return listener;
    },
  };
}

/** A maker who is not in the news is in quarantine, or nobody listened to it when the news was read. */
function handOut(listeners: Iterable<QueuedListener>, news: News): void {
  const told = new Map<Hex, readonly ToldEntry[]>();
  for (const listener of listeners) {
    const { maker } = listener;
    const entries = told.get(maker) ?? news.get(maker)?.map(tell);
    if (entries === undefined) listener.lose();
    else {
      told.set(maker, entries);
      if (entries.length > 0) listener.add(entries);
    }
  }
}

export function tell({ entry, id, described }: ReadEntry): ToldEntry {
  return { offset: entry.logOffset, id, json: JSON.stringify(described) };
}

class QueuedListener implements Listener {
  readonly maker: Hex;
  readonly since: bigint | undefined;
  readonly close: () => void;
  #entries: ToldEntry[] = [];
  #isLost = false;
  #wake: () => void = () => undefined;

  constructor(maker: Hex, since: bigint | undefined, close: () => void) {
    this.maker = maker;
    this.since = since;
    this.close = close;
  }

  add(entries: readonly ToldEntry[]): void {
    if (this.#isLost) return;
    if (this.#entries.length + entries.length > WAITING_MAX) this.lose();
    else {
      this.#entries.push(...entries);
      this.#wake();
    }
  }

  lose(): void {
    this.#entries = [];
    this.#isLost = true;
    this.#wake();
  }

  isQuiet(): boolean {
    return this.#entries.length === 0 && !this.#isLost;
  }

  take(): readonly ToldEntry[] | undefined {
    return this.#isLost ? undefined : this.#entries.splice(0);
  }

  arrived(): Promise<void> {
    return new Promise((resolve) => {
      this.#wake = resolve;
      if (!this.isQuiet()) resolve();
    });
  }
}
