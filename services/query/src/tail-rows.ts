import type { Hex } from '@makerbook/contracts-primitives';
import {
  type After,
  type PartitionClockRow,
  PostgresUnavailable,
  type ReadModel,
  startTimer,
} from '@makerbook/postgres';

const POLL_MS = 50;

/** Waits for rows of one maker. */
interface Waiting {
  readonly maker: Hex;
  readonly partition: number;
  readonly wake: () => void;
}

export type RowTail = ReturnType<typeof tailRows>;

/**
 * Notices what is committed to the rows, for all streams of the process together: one look at the positions, and one at the new
 * history of each partition that has moved on. Nothing is asked while nobody follows.
 */
export function tailRows(
  rows: Pick<ReadModel, 'readPartitionClocks' | 'readTouchedMakers'>,
  { after = startTimer, onError }: { readonly after?: After | undefined; readonly onError: (error: unknown) => void },
) {
  const waiting = new Set<Waiting>();
  const clocks = new Map<number, PartitionClockRow>();
  let followers = 0;
  let isPolling = false;

  async function poll(): Promise<void> {
    isPolling = true;
    // What was committed while nobody looked is not known.
    let isBlind = true;
    while (followers > 0) {
      try {
        const read = await rows.readPartitionClocks();
        if (isBlind) {
          for (const clock of read) clocks.set(clock.partition, clock);
          wake(() => true);
          isBlind = false;
        } else await Promise.all(read.map(moveTo));
      } catch (error) {
        isBlind = true;
        if (!(error instanceof PostgresUnavailable)) onError(error);
      }
      await new Promise<void>((resolve) => void after(POLL_MS, resolve));
    }
    isPolling = false;
    clocks.clear();
  }

  async function moveTo(clock: PartitionClockRow): Promise<void> {
    const { partition, nextOffset } = clock;
    const from = clocks.get(partition)?.nextOffset ?? 0n;
    const isNews = nextOffset > from && [...waiting].some((each) => each.partition === partition);
    const touched = isNews ? await rows.readTouchedMakers(partition, from, nextOffset) : undefined;
    // A crash of Postgres has taken rows back meanwhile.
    const isSure = touched === undefined || touched.nextOffset >= nextOffset;
    if (isSure) clocks.set(partition, clock);
    const makers = new Set(touched?.makers);
    wake((each) => each.partition === partition && (!isSure || makers.has(each.maker)));
  }

  function wake(isMeant: (each: Waiting) => boolean): void {
    for (const each of waiting) if (isMeant(each)) each.wake();
  }

  return {
    /** Looks at the rows from now on. @returns what ends it */
    follow(): () => void {
      followers += 1;
      if (!isPolling) void poll();
      return () => {
        followers -= 1;
      };
    },

    /** The clock of a partition as it was seen last; undefined where it was not yet. */
    clockOf: (partition: number): PartitionClockRow | undefined => clocks.get(partition),

    /**
     * Resolves when something is done to orders of the maker from now on, or might have been; or when the signal says so. Call it
     * before the rows are read.
     */
    changed(maker: Hex, partition: number, signal: AbortSignal): Promise<void> {
      return new Promise((resolve) => {
        const each = { maker, partition, wake: end };
        function end(): void {
          waiting.delete(each);
          signal.removeEventListener('abort', end);
          resolve();
        }
        signal.addEventListener('abort', end);
        waiting.add(each);
      });
    },
  };
}
