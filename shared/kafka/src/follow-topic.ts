import { RecordsDeleted } from './failures.js';
import { openFetching, type Stretch } from './fetch-partitions.js';
import type { Following, FollowOptions, Logger } from './log.js';
import type { Connections } from './reach-brokers.js';
import { readStartOffsets } from './read-end-offsets.js';
import { deadlineIn, pause } from './wait.js';

const RECORDS_MAX = 5_000;
const BYTES_MAX = 8 * 1024 * 1024;
const ASK_TIMEOUT_MS = 5_000;
const RETRY_PAUSE_MS = 200;

/**
 * Reads every partition of a topic, from its beginning, its end or given offsets, for this process alone. There is no
 * consumer group, so none has to be waited for and none is left behind.
 */
export function openFollowing(
  parts: {
    readonly connections: Connections;
    readonly logger: Logger;
    readonly now: () => number;
    readonly endOffsets: (topic: string, timeoutMs: number) => Promise<readonly bigint[]>;
  },
  options: FollowOptions,
): Following {
  const { topic } = options;
  const { connections, logger } = parts;
  const stopping = new AbortController();
  let positions: bigint[] = [];
  let ends: readonly bigint[] | undefined;
  let caughtUpNow: () => void = () => undefined;
  const caughtUp = new Promise<void>((resolve) => {
    caughtUpNow = resolve;
  });

  const fetching = openFetching({
    connections,
    topic,
    logger,
    now: parts.now,
    headerEncoding: options.headerEncoding ?? 'utf8',
    recordsMax: options.recordsMax ?? RECORDS_MAX,
    bytesMax: BYTES_MAX,
    handle,
    onOutOfRange: async (partition, offset) => {
      const start = (await readStartOffsets(connections, topic, deadlineIn(ASK_TIMEOUT_MS)))[partition] ?? 0n;
      if (options.isGapless) {
        assertStored(topic, partition, offset, start);
      }
      logger.warn(
        { topic, partition, offset, start },
        'the offset is no longer stored, going on from the first that is',
      );
      advance(partition, start);
      return start;
    },
    onFatal: fail,
  });

  function fail(error: Error): void {
    logger.error({ topic, error: error.message, stack: error.stack }, 'following a topic has stopped');
    options.onFatal?.(error);
  }

  async function handle(partition: number, stretch: Stretch): Promise<void> {
    if (stretch.records.length > 0) {
      await options.onRecords(partition, stretch.records);
    }
    advance(partition, stretch.nextOffset);
  }

  function advance(partition: number, nextOffset: bigint): void {
    positions[partition] = nextOffset;
    options.onPosition?.(partition, nextOffset);
    checkCaughtUp();
  }

  function checkCaughtUp(): void {
    if (ends?.every((end, partition) => (positions[partition] ?? 0n) >= end)) {
      ends = undefined;
      caughtUpNow();
    }
  }

  async function begin(): Promise<void> {
    /** What is tried again all the time is said once. */
    const told = new Set<string>();
    while (!stopping.signal.aborted) {
      try {
        const first = await readStartOffsets(connections, topic, deadlineIn(ASK_TIMEOUT_MS));
        ends = await parts.endOffsets(topic, ASK_TIMEOUT_MS);
        positions = startOffsets(options, first, ends);
        if (stopping.signal.aborted) {
          return;
        }
        positions.forEach((offset, partition) => {
          fetching.start(partition, offset);
        });
        if (told.size > 0) {
          logger.info({ topic }, 'the topic can be read now');
        }
        checkCaughtUp();
        return;
      } catch (error) {
        if (error instanceof RecordsDeleted) {
          fail(error);
          return;
        }
        const reason = (error as Error).message;
        if (!told.has(reason) && !stopping.signal.aborted) {
          told.add(reason);
          logger.warn({ topic, error: reason }, 'a topic cannot be read yet: it is tried until it can');
        }
        await pause(RETRY_PAUSE_MS, stopping.signal);
      }
    }
  }

  const beginning = begin();
  return {
    caughtUp,
    positions: () => [...positions],
    lastPollAtMs: () => fetching.lastPollAtMs(),
    stop: async () => {
      stopping.abort();
      await fetching.close();
      await beginning;
    },
  };
}

function startOffsets(
  { topic, from, isGapless }: FollowOptions,
  first: readonly bigint[],
  ends: readonly bigint[],
): bigint[] {
  if (from === 'beginning') {
    return [...first];
  }
  if (from === 'end') {
    return [...ends];
  }
  return first.map((stored, partition) => {
    const wanted = from[partition] ?? 0n;
    if (isGapless) {
      assertStored(topic, partition, wanted, stored);
    }
    return wanted > stored ? wanted : stored;
  });
}

function assertStored(topic: string, partition: number, wanted: bigint, first: bigint): void {
  if (first > wanted) {
    throw new RecordsDeleted(`${topic}/${partition} is stored from offset ${first} on, and ${wanted} is wanted`);
  }
}
