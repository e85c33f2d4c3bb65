import { type DeliverableBatch, openDelivery } from './deliver-batches.js';
import { RecordTooLarge } from './failures.js';
import type { AppendedAt, Appender, AppenderOptions, Logger, LogRecord } from './log.js';
import { type Connections, unavailable } from './reach-brokers.js';
import { openTransactor } from './run-transaction.js';
import { bytesOf, placeOf } from './send-batches.js';
import { type Deadline, deadlineIn, settledWithin } from './wait.js';

const BATCH_OVERHEAD_BYTES = 128;
const LAYOUT_PAUSE_MS = 50;

interface Call {
  readonly topic: string;
  readonly partition: number;
  readonly place: string;
  readonly records: readonly LogRecord[];
  readonly bytes: number;
  readonly deadline: Deadline;
  readonly answer: (at: readonly AppendedAt[]) => void;
  readonly refuse: (error: Error) => void;
  /** Set when a batch shared with others was refused as too large. */
  alone: boolean;
}

/**
 * Group commit. Calls that arrive within `lingerMs`, or while the last request of their partition or broker is under
 * way, are gathered: one batch per partition, one request per broker, one request per broker at a time. Records of a
 * partition keep the order of the calls, and the records of one call always lie in one batch.
 *
 * After a call was refused as unavailable nothing of it is sent any more (see deliver-batches). What remains is a
 * request that the broker has already received: it may still be stored after the answer.
 */
export function openAppender(
  parts: { connections: Connections; transactions: Connections; name: string; logger: Logger },
  options: AppenderOptions,
): Appender {
  const lingerMs = options.lingerMs ?? 2;
  const batchBytesMax = options.batchBytesMax ?? 900_000;
  const requestBytesMax = options.requestBytesMax ?? 8 * 1024 * 1024;
  const timeoutMs = options.timeoutMs ?? 5_000;
  const waitingBytesMax = options.waitingBytesMax ?? 64 * 1024 * 1024;
  const { connections } = parts;

  const delivery = openDelivery(connections, parts.logger);
  const transactor = openTransactor({
    connections: parts.transactions,
    transactionalId: `${parts.name}-atomic`,
    transactionTimeoutMs: Math.max(10_000, timeoutMs),
    isSole: true,
  });
  const counts = { calls: 0, records: 0 };
  const busyPlaces = new Set<string>();
  const busyLeaders = new Set<number>();
  let waiting: Call[] = [];
  let waitingBytes = 0;
  let lingering: NodeJS.Timeout | undefined;
  let gathering = false;
  let closed = false;
  let idle: (() => void) | undefined;

  function append(records: readonly LogRecord[]): Promise<readonly AppendedAt[]> {
    const [first] = records;
    if (first === undefined) {
      return Promise.resolve([]);
    }
    const bytes = sizeOf(records, first);
    if (bytes > batchBytesMax) {
      return Promise.reject(
        new RecordTooLarge(`${records.length} records of ${bytes} bytes do not fit into a batch of ${batchBytesMax}`),
      );
    }
    if (closed || waitingBytes + bytes > waitingBytesMax) {
      return Promise.reject(
        unavailable(closed ? 'the appender is closed' : `${waitingBytes} bytes are already waiting for Kafka`),
      );
    }
    waitingBytes += bytes;
    const { topic, partition } = first;
    return new Promise((answer, refuse) => {
      const place = placeOf(topic, partition);
      const deadline = deadlineIn(timeoutMs);
      waiting.push({ topic, partition, place, records, bytes, deadline, answer, refuse, alone: false });
      scheduleFlush(lingerMs);
    });
  }

  function scheduleFlush(delayMs: number): void {
    if (lingering === undefined) {
      lingering = setTimeout(() => {
        lingering = undefined;
        void flush();
      }, delayMs);
    }
  }

  async function flush(): Promise<void> {
    if (gathering || waiting.length === 0) {
      return;
    }
    gathering = true;
    try {
      const leaders = await leadersOf(new Set(waiting.map(({ topic }) => topic)));
      for (const [leader, batches] of gather(leaders)) {
        busyLeaders.add(leader);
        void delivery.deliver(leader, batches).finally(() => {
          busyLeaders.delete(leader);
          goOn();
        });
      }
    } finally {
      gathering = false;
    }
  }

  function goOn(): void {
    if (waiting.length > 0) {
      scheduleFlush(0);
    } else if (busyPlaces.size === 0 && busyLeaders.size === 0) {
      idle?.();
    }
  }

  /** The leaders of these topics' partitions, as far as the cluster tells them before the oldest call has to be refused. */
  async function leadersOf(topics: ReadonlySet<string>): Promise<ReadonlyMap<string, readonly number[]>> {
    const found = new Map<string, readonly number[]>();
    for (const topic of topics) {
      const oldest = waiting.find((call) => call.topic === topic);
      try {
        found.set(topic, await connections.layoutOf(topic, oldest?.deadline ?? deadlineIn(0)));
      } catch (error) {
        parts.logger.warn({ topic, error: (error as Error).message }, 'the leaders of a topic are not known');
      }
    }
    return found;
  }

  /** Takes from the queue, in order, what can be sent now: one batch per partition, one request per broker. */
  function gather(leaders: ReadonlyMap<string, readonly number[]>): Map<number, DeliverableBatch[]> {
    const taken = new Map<string, Call[]>();
    const placeBytes = new Map<string, number>();
    const leaderBytes = new Map<number, number>();
    const held = new Set<string>();
    const left: Call[] = [];
    for (const call of waiting) {
      if (call.deadline.passed()) {
        waitingBytes -= call.bytes;
        call.refuse(unavailable(`Kafka did not take the records within ${timeoutMs} ms`));
        continue;
      }
      const leader = leaders.get(call.topic)?.[call.partition] ?? -1;
      const before = taken.get(call.place);
      const ofPlace = (placeBytes.get(call.place) ?? 0) + call.bytes;
      const ofLeader = (leaderBytes.get(leader) ?? 0) + call.bytes;
      const fits = ofPlace <= batchBytesMax && (ofLeader <= requestBytesMax || !leaderBytes.has(leader));
      const company = before === undefined || !(call.alone || before.some(({ alone }) => alone));
      if (
        leader < 0 ||
        busyLeaders.has(leader) ||
        busyPlaces.has(call.place) ||
        held.has(call.place) ||
        !fits ||
        !company
      ) {
        if (leader < 0) {
          connections.forgetLayout(call.topic);
          scheduleFlush(LAYOUT_PAUSE_MS);
        }
        held.add(call.place);
        left.push(call);
        continue;
      }
      placeBytes.set(call.place, ofPlace);
      leaderBytes.set(leader, ofLeader);
      taken.set(call.place, [...(before ?? []), call]);
    }
    waiting = left;
    const byLeader = new Map<number, DeliverableBatch[]>();
    for (const [place, calls] of taken) {
      busyPlaces.add(place);
      const [{ topic, partition, deadline }] = calls as [Call];
      const leader = leaders.get(topic)?.[partition] as number;
      const batches = byLeader.get(leader) ?? [];
      const records = calls.flatMap((call) => call.records);
      batches.push({ topic, partition, records, deadline, settle: (outcome) => settle(place, calls, outcome) });
      byLeader.set(leader, batches);
    }
    return byLeader;
  }

  function settle(place: string, calls: readonly Call[], outcome: bigint | Error): void {
    busyPlaces.delete(place);
    const shared = outcome instanceof RecordTooLarge && calls.length > 1;
    if (shared) {
      for (const call of calls) {
        call.alone = true;
      }
      waiting = [...calls, ...waiting];
    } else {
      let offset = outcome;
      for (const call of calls) {
        waitingBytes -= call.bytes;
        if (typeof offset !== 'bigint') {
          call.refuse(offset);
          continue;
        }
        const base: bigint = offset;
        counts.calls += 1;
        counts.records += call.records.length;
        call.answer(call.records.map((_, index) => ({ partition: call.partition, offset: base + BigInt(index) })));
        offset = base + BigInt(call.records.length);
      }
    }
    goOn();
  }

  async function appendAtomically(records: readonly LogRecord[]): Promise<readonly AppendedAt[]> {
    if (closed) {
      throw unavailable('the appender is closed');
    }
    const at = await transactor.transact(records, deadlineIn(timeoutMs));
    counts.calls += 1;
    counts.records += records.length;
    return at;
  }

  return {
    append,
    appendAtomically,
    counts: () => ({ ...delivery.counts, ...counts }),
    close: async () => {
      closed = true;
      await transactor.close();
      if (waiting.length > 0 || busyPlaces.size > 0 || busyLeaders.size > 0) {
        const emptied = new Promise<void>((resolve) => {
          idle = resolve;
        });
        await settledWithin(timeoutMs + 500, emptied);
      }
    },
  };
}

function sizeOf(records: readonly LogRecord[], first: LogRecord): number {
  let bytes = BATCH_OVERHEAD_BYTES;
  for (const record of records) {
    if (record.topic !== first.topic || record.partition !== first.partition) {
      throw new TypeError('append takes records of one partition; use appendAtomically for several');
    }
    bytes += bytesOf(record);
  }
  return bytes;
}
