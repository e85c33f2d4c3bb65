import { decodeFetched, type FetchedPartition } from './decode-fetched.js';
import { fetchOnce } from './fetch-once.js';
import type { Logger, StoredRecord } from './log.js';
import type { Connections } from './reach-brokers.js';
import { codes, KafkaRefused, nameOfCode } from './speak-kafka.js';
import { deadlineIn, pause } from './wait.js';

const POLL_MS_MAX = 500;
/** While a partition is left out of a poll because its last records are still being handled, polls are short. */
const SHORT_POLL_MS = 20;
const ANSWER_MS_MAX = 10_000;
const RETRY_PAUSE_MS = 100;

/** A stretch of a partition, in order and without gaps: each starts where the one before ended. */
export interface Stretch {
  readonly records: readonly StoredRecord[];
  readonly fromOffset: bigint;
  readonly nextOffset: bigint;
}

export interface FetchingOptions {
  readonly connections: Connections;
  readonly topic: string;
  readonly headerEncoding: 'utf8' | 'latin1';
  readonly recordsMax: number;
  readonly bytesMax: number;
  readonly logger: Logger;
  /** Handles one stretch; the partition's next one waits for it. A rejection stops everything through `onFatal`. */
  readonly handle: (partition: number, stretch: Stretch) => Promise<void>;
  /** The offset is not in the log (any more): answers with the one to go on from, or throws. */
  readonly onOutOfRange: (partition: number, offset: bigint) => Promise<bigint>;
  readonly onFatal: (error: Error) => void;
  readonly now: () => number;
}

export interface Fetching {
  start(partition: number, fromOffset: bigint): void;
  /** Hands over nothing more of the partition; resolves when what was handed over has been handled. */
  stop(partition: number): Promise<void>;
  highWatermark(partition: number): bigint | undefined;
  lastPollAtMs(): number;
  close(): Promise<void>;
}

interface Reading {
  readonly partition: number;
  fetchFrom: bigint;
  readonly queue: Stretch[];
  running: Promise<void> | undefined;
  stopped: boolean;
  highWatermark: bigint | undefined;
}

/**
 * Reads partitions from their leaders: one poll per broker is under way, and each partition is handled on its own, so
 * that one whose handler waits holds up no other. Of each partition, one stretch is handled while the next is fetched.
 */
export function openFetching(options: FetchingOptions): Fetching {
  const { connections, topic, logger } = options;
  const readings = new Map<number, Reading>();
  const pollers = new Map<number, Promise<void>>();
  const wakers = new Set<() => void>();
  const closing = new AbortController();
  let lastPollAtMs = 0;
  let assigning = false;

  /** Starts a poller for each leader that has none. */
  function assignPollers(): void {
    if (assigning) {
      return;
    }
    assigning = true;
    void (async () => {
      while (!closing.signal.aborted && readings.size > 0) {
        try {
          const layout = await connections.layoutOf(topic, deadlineIn(ANSWER_MS_MAX));
          let homeless = false;
          for (const { partition } of readings.values()) {
            const leader = layout[partition] ?? -1;
            if (leader < 0) {
              homeless = true;
            } else if (!pollers.has(leader)) {
              pollers.set(
                leader,
                poll(leader).finally(() => pollers.delete(leader)),
              );
            }
          }
          if (!homeless) {
            return;
          }
          connections.forgetLayout(topic);
        } catch (error) {
          logger.warn({ topic, error: (error as Error).message }, 'the leaders of a topic are not known');
        }
        await pause(RETRY_PAUSE_MS, closing.signal);
      }
    })().finally(() => {
      assigning = false;
    });
  }

  async function poll(leader: number): Promise<void> {
    try {
      while (!closing.signal.aborted) {
        const layout = await connections.layoutOf(topic, deadlineIn(ANSWER_MS_MAX));
        const mine = [...readings.values()].filter((reading) => layout[reading.partition] === leader);
        if (mine.length === 0) {
          return;
        }
        const ready = mine.filter((reading) => reading.queue.length === 0);
        if (ready.length === 0) {
          await woken();
          continue;
        }
        const more = await pollOnce(leader, ready, ready.length < mine.length ? SHORT_POLL_MS : POLL_MS_MAX);
        if (!more) {
          connections.forgetLayout(topic);
          await pause(RETRY_PAUSE_MS, closing.signal);
          assignPollers();
        }
      }
    } catch (error) {
      if (closing.signal.aborted) {
        return;
      }
      logger.warn({ topic, leader, error: (error as Error).message }, 'polling a broker failed');
      // A broker that is gone cannot say that its partitions are led by others now: the cluster is asked.
      connections.forgetLayout(topic);
      await pause(RETRY_PAUSE_MS, closing.signal);
      setImmediate(assignPollers);
    }
  }

  /** False when the leaders have to be asked for again. */
  async function pollOnce(leader: number, ready: readonly Reading[], waitMs: number): Promise<boolean> {
    const asked = new Map(ready.map((reading) => [reading.partition, { reading, from: reading.fetchFrom }]));
    const partitions = [...asked.values()].map(({ reading, from }) => ({ partition: reading.partition, from }));
    const deadline = deadlineIn(waitMs + ANSWER_MS_MAX);
    const answer = await fetchOnce(connections.node(leader), topic, rotate(partitions), waitMs, deadline);
    lastPollAtMs = options.now();
    if (answer.errorCode !== codes.none) {
      throw new KafkaRefused(`fetching ${topic}`, answer.errorCode);
    }
    let settled = true;
    for (const fetched of answer.partitions) {
      const { reading, from } = asked.get(fetched.partition) ?? {};
      if (reading === undefined || from === undefined || reading.stopped || reading.fetchFrom !== from) {
        continue;
      }
      if (fetched.errorCode === codes.offsetOutOfRange) {
        await goToRange(reading);
      } else if (fetched.errorCode !== codes.none) {
        logger.warn(
          { topic, partition: fetched.partition, reason: nameOfCode(fetched.errorCode) },
          'a fetch was refused',
        );
        settled = false;
      } else {
        take(reading, fetched);
      }
    }
    return settled;
  }

  function take(reading: Reading, fetched: FetchedPartition): void {
    reading.highWatermark = fetched.highWatermark;
    if (fetched.bytes.length === 0) {
      return;
    }
    try {
      const { records, nextOffset } = decodeFetched(topic, fetched, reading.fetchFrom, options.headerEncoding);
      if (nextOffset > reading.fetchFrom) {
        reading.queue.push(...split(records, reading.fetchFrom, nextOffset, options));
        reading.fetchFrom = nextOffset;
        work(reading);
      }
    } catch (error) {
      fail(error as Error);
    }
  }

  async function goToRange(reading: Reading): Promise<void> {
    try {
      reading.fetchFrom = await options.onOutOfRange(reading.partition, reading.fetchFrom);
    } catch (error) {
      fail(error as Error);
    }
  }

  function work(reading: Reading): void {
    reading.running ??= (async () => {
      for (let next = reading.queue.shift(); next !== undefined && !reading.stopped; next = reading.queue.shift()) {
        if (reading.queue.length === 0) {
          wake();
        }
        await options.handle(reading.partition, next);
      }
    })()
      .catch((error: unknown) => fail(error as Error))
      .finally(() => {
        reading.running = undefined;
        if (reading.queue.length > 0 && !reading.stopped) {
          work(reading);
        }
        wake();
      });
  }

  function fail(error: Error): void {
    if (!closing.signal.aborted) {
      closing.abort();
      wake();
      options.onFatal(error);
    }
  }

  function wake(): void {
    for (const waker of wakers) {
      waker();
    }
    wakers.clear();
  }

  function woken(): Promise<void> {
    return new Promise((resolve) => {
      wakers.add(resolve);
    });
  }

  function halt(reading: Reading): Promise<void> {
    reading.stopped = true;
    reading.queue.length = 0;
    readings.delete(reading.partition);
    wake();
    return reading.running ?? Promise.resolve();
  }

  return {
    start: (partition, fromOffset) => {
      if (readings.has(partition)) {
        throw new Error(`partition ${partition} of ${topic} is already being read`);
      }
      readings.set(partition, {
        partition,
        fetchFrom: fromOffset,
        queue: [],
        running: undefined,
        stopped: false,
        highWatermark: undefined,
      });
      assignPollers();
      wake();
    },
    stop: async (partition) => {
      const reading = readings.get(partition);
      if (reading !== undefined) {
        await halt(reading);
      }
    },
    highWatermark: (partition) => readings.get(partition)?.highWatermark,
    lastPollAtMs: () => lastPollAtMs,
    close: async () => {
      closing.abort();
      const running = [...readings.values()].map((reading) => halt(reading));
      connections.close();
      await Promise.all([...running, ...pollers.values()]);
    },
  };
}

/** A response is filled in the order of the request: each poll begins with another partition. */
function rotate<T>(items: readonly T[]): readonly T[] {
  const first = Math.floor(Math.random() * items.length);
  return [...items.slice(first), ...items.slice(0, first)];
}

function split(
  records: readonly StoredRecord[],
  fromOffset: bigint,
  nextOffset: bigint,
  bounds: { readonly recordsMax: number; readonly bytesMax: number },
): Stretch[] {
  const stretches: Stretch[] = [];
  let taken: StoredRecord[] = [];
  let bytes = 0;
  let from = fromOffset;
  for (const record of records) {
    const size = record.key.length + (record.value?.length ?? 0);
    if (taken.length > 0 && (taken.length >= bounds.recordsMax || bytes + size > bounds.bytesMax)) {
      stretches.push({ records: taken, fromOffset: from, nextOffset: record.offset });
      from = record.offset;
      taken = [];
      bytes = 0;
    }
    taken.push(record);
    bytes += size;
  }
  stretches.push({ records: taken, fromOffset: from, nextOffset });
  return stretches;
}
