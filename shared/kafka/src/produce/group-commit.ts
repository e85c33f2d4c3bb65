import type { Cluster } from '../cluster/cluster.js';
import { type Deadline, deadlineIn, settledWithin } from '../cluster/deadline.js';
import { leaderMoved, tooLarge } from '../cluster/error-codes.js';
import { LogUnavailable, RecordTooLarge, unavailable } from '../failures.js';
import type { AppendedAt, Appender, AppenderOptions, Logger, LogRecord } from '../log.js';
import { IdempotentProducer, type Producer } from './idempotent-producer.js';
import {
  type BatchOutcome,
  bytesOf,
  placeOf,
  type RecordBatch,
  sendBatches,
  sequenceAfter,
} from './produce-request.js';
import { Transactor } from './transactions.js';

const BATCH_OVERHEAD_BYTES = 128;
const RETRY_PAUSE_MS = 50;
const ATTEMPT_MS_MIN = 500;
const REQUEST_BYTES_MAX = 8 * 1024 * 1024;
const WAITING_BYTES_MAX = 64 * 1024 * 1024;
const DEFAULTS: Required<AppenderOptions> = { lingerMs: 2, batchBytesMax: 900_000, timeoutMs: 5_000 };

/** Errors that leave open whether the batch was stored. */
const outcomeUnknown: ReadonlySet<string> = new Set([
  'REQUEST_TIMED_OUT',
  'NOT_ENOUGH_REPLICAS_AFTER_APPEND',
  'KAFKA_STORAGE_ERROR',
  'UNKNOWN_SERVER_ERROR',
]);

/** The broker's state of this producer differs from ours: a new producer id is needed. */
const producerLost: ReadonlySet<string> = new Set([
  'OUT_OF_ORDER_SEQUENCE_NUMBER',
  'UNKNOWN_PRODUCER_ID',
  'INVALID_PRODUCER_EPOCH',
]);

interface Call {
  readonly records: readonly LogRecord[];
  readonly bytes: number;
  readonly deadline: Deadline;
  readonly answer: (at: readonly AppendedAt[]) => void;
  readonly refuse: (error: Error) => void;
  /** Set when a batch shared with others was refused as too large. */
  isAlone: boolean;
}

/** Calls that are sent as one record batch, until it is stored or refused. */
interface OpenBatch {
  readonly calls: readonly Call[];
  readonly records: readonly LogRecord[];
  readonly deadline: Deadline;
  producer: Producer | undefined;
  firstSequence: number;
  mayBeStored: boolean;
}

/** What waits for one partition. It has at most one open batch, so its sequence is always known. */
interface Lane {
  readonly topic: string;
  readonly partition: number;
  readonly place: string;
  waiting: Call[];
  batch: OpenBatch | undefined;
  isUnderWay: boolean;
  retryAtMs: number;
}

/**
 * Group commit. Calls that arrive within `lingerMs`, or while the last request of their partition or broker is under
 * way, are gathered: one batch per partition, one request per broker, one request per broker at a time. Records of a
 * partition keep the order of the calls, and the records of one call always lie in one batch.
 *
 * A batch is sent again only under its own sequence and only until its deadline; after an unknown outcome the producer
 * id is given up. After a call was refused nothing of it is sent any more. What remains is a request that the broker
 * has already received: it may still be stored after the answer.
 */
export class GroupCommit implements Appender {
  readonly #cluster: Cluster;
  readonly #logger: Logger;
  readonly #options: Required<AppenderOptions>;
  readonly #producer: IdempotentProducer;
  readonly #transactor: Transactor;
  readonly #lanes = new Map<string, Lane>();
  readonly #busyLeaders = new Set<number>();
  readonly #topicsAsked = new Set<string>();
  readonly #counts = { requests: 0, batches: 0, calls: 0, records: 0 };
  #waitingBytes = 0;
  #timer: NodeJS.Timeout | undefined;
  #timerAtMs = 0;
  #isClosed = false;
  #onIdle: () => void = () => undefined;

  constructor(
    parts: { cluster: Cluster; transactions: Cluster; name: string; logger: Logger },
    options: AppenderOptions,
  ) {
    this.#cluster = parts.cluster;
    this.#logger = parts.logger;
    this.#options = { ...DEFAULTS, ...options };
    this.#producer = new IdempotentProducer(parts.cluster);
    this.#transactor = new Transactor({
      cluster: parts.transactions,
      transactionalId: `${parts.name}-atomic`,
      transactionTimeoutMs: Math.max(10_000, this.#options.timeoutMs),
      isSole: true,
    });
  }

  readonly append = (records: readonly LogRecord[]): Promise<readonly AppendedAt[]> => {
    const [first] = records;
    if (first === undefined) {
      return Promise.resolve([]);
    }
    const { batchBytesMax, timeoutMs, lingerMs } = this.#options;
    const bytes = sizeOf(records, first);
    if (bytes > batchBytesMax) {
      const message = `${records.length} records of ${bytes} bytes do not fit into a batch of ${batchBytesMax}`;
      return Promise.reject(new RecordTooLarge(message));
    }
    if (this.#isClosed || this.#waitingBytes + bytes > WAITING_BYTES_MAX) {
      const waiting = `${this.#waitingBytes} bytes are already waiting for Kafka`;
      return Promise.reject(unavailable(this.#isClosed ? 'the appender is closed' : waiting));
    }
    this.#waitingBytes += bytes;
    return new Promise((answer, refuse) => {
      const call = { records, bytes, deadline: deadlineIn(timeoutMs), answer, refuse, isAlone: false };
      this.#laneOf(first).waiting.push(call);
      this.#schedule(lingerMs);
    });
  };

  readonly appendAtomically = async (records: readonly LogRecord[]): Promise<readonly AppendedAt[]> => {
    if (this.#isClosed) {
      throw unavailable('the appender is closed');
    }
    const at = await this.#transactor.transact(records, deadlineIn(this.#options.timeoutMs));
    this.#counts.calls += 1;
    this.#counts.records += records.length;
    return at;
  };

  readonly counts = () => {
    return { ...this.#counts };
  };

  readonly close = async (): Promise<void> => {
    this.#isClosed = true;
    await this.#transactor.close();
    if (this.#lanes.size > 0 || this.#busyLeaders.size > 0) {
      const emptied = new Promise<void>((resolve) => {
        this.#onIdle = resolve;
      });
      await settledWithin(this.#options.timeoutMs + 500, emptied);
    }
    clearTimeout(this.#timer);
  };

  #laneOf({ topic, partition }: LogRecord): Lane {
    const place = placeOf(topic, partition);
    let lane = this.#lanes.get(place);
    if (lane === undefined) {
      lane = { topic, partition, place, waiting: [], batch: undefined, isUnderWay: false, retryAtMs: 0 };
      this.#lanes.set(place, lane);
    }
    return lane;
  }

  #schedule(delayMs: number): void {
    const atMs = performance.now() + delayMs;
    if (this.#timer !== undefined && this.#timerAtMs <= atMs) {
      return;
    }
    clearTimeout(this.#timer);
    this.#timerAtMs = atMs;
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      this.#flush();
    }, delayMs);
  }

  /** Sends what can be sent now, refuses what is too late, and comes back for the rest. */
  #flush(): void {
    const byLeader = new Map<number, { lanes: Lane[]; bytes: number }>();
    for (const lane of this.#lanes.values()) {
      this.#expire(lane);
      if (lane.waiting.length === 0 && lane.batch === undefined) {
        this.#lanes.delete(lane.place);
        continue;
      }
      const leader = this.#leaderOf(lane);
      if (leader === undefined || lane.isUnderWay || lane.retryAtMs > performance.now()) {
        continue;
      }
      const taken = byLeader.get(leader) ?? { lanes: [], bytes: 0 };
      const bytes = nextBatchBytes(lane, this.#options.batchBytesMax);
      if (this.#busyLeaders.has(leader) || (taken.bytes > 0 && taken.bytes + bytes > REQUEST_BYTES_MAX)) {
        continue;
      }
      lane.batch ??= openBatch(lane, this.#options.batchBytesMax);
      taken.lanes.push(lane);
      taken.bytes += bytes;
      byLeader.set(leader, taken);
    }
    for (const [leader, { lanes }] of byLeader) {
      void this.#send(leader, lanes);
    }
    if (this.#lanes.size > 0) {
      this.#schedule(RETRY_PAUSE_MS);
    } else if (this.#busyLeaders.size === 0) {
      this.#onIdle();
    }
  }

  /** The leader as far as it is known; where it is not, the cluster is asked and the lane waits. */
  #leaderOf({ topic, partition }: Lane): number | undefined {
    const leader = this.#cluster.knownLayout(topic)?.[partition] ?? -1;
    if (leader >= 0) {
      return leader;
    }
    if (!this.#topicsAsked.has(topic)) {
      this.#topicsAsked.add(topic);
      this.#cluster.forgetLayout(topic);
      this.#cluster
        .layoutOf(topic, deadlineIn(this.#options.timeoutMs))
        .catch((error: Error) => this.#logger.warn({ topic, error: error.message }, 'the leaders are not known'))
        .finally(() => {
          this.#topicsAsked.delete(topic);
          this.#schedule(0);
        });
    }
    return undefined;
  }

  #expire(lane: Lane): void {
    if (lane.isUnderWay) {
      return;
    }
    const { batch } = lane;
    if (batch?.deadline.passed() === true) {
      if (batch.producer !== undefined) {
        this.#producer.giveUp(batch.producer);
      }
      const message = `Kafka did not acknowledge ${lane.place} in time`;
      this.#settle(lane, batch, new LogUnavailable(message, { mayHaveBeenAppended: batch.mayBeStored }));
    }
    const late = lane.waiting.filter(({ deadline }) => deadline.passed());
    lane.waiting = late.length === 0 ? lane.waiting : lane.waiting.filter((call) => !late.includes(call));
    for (const call of late) {
      this.#waitingBytes -= call.bytes;
      call.refuse(unavailable(`Kafka did not take the records within ${this.#options.timeoutMs} ms`));
    }
  }

  async #send(leader: number, lanes: readonly Lane[]): Promise<void> {
    this.#busyLeaders.add(leader);
    const open = lanes.flatMap((lane) => (lane.batch === undefined ? [] : [{ lane, batch: lane.batch }]));
    for (const { lane } of open) {
      lane.isUnderWay = true;
      // Behind the others, so that all get their share of what a request may hold.
      this.#lanes.delete(lane.place);
      this.#lanes.set(lane.place, lane);
    }
    const soonest = open.map(({ batch }) => batch.deadline).reduce((one, other) => one.sooner(other));
    try {
      const producer = await this.#producer.current(soonest);
      const batches = open.map(({ lane, batch }) => assign(lane, batch, producer));
      this.#counts.requests += 1;
      this.#counts.batches += batches.length;
      const outcomes = await sendBatches(this.#cluster.broker(leader), batches, soonest.half(ATTEMPT_MS_MIN));
      for (const { lane, batch } of open) {
        this.#conclude(lane, batch, outcomes.get(lane.place) ?? { refused: 'REQUEST_TIMED_OUT' });
      }
    } catch (error) {
      this.#logger.warn({ error: (error as Error).message, batches: open.length }, 'an append was not answered');
      for (const { lane, batch } of open) {
        batch.mayBeStored ||= error instanceof LogUnavailable && error.mayHaveBeenAppended;
        this.#retry(lane);
      }
    } finally {
      this.#busyLeaders.delete(leader);
      this.#flush();
    }
  }

  #conclude(lane: Lane, batch: OpenBatch, outcome: BatchOutcome): void {
    const { producer, firstSequence, records } = batch;
    if ('baseOffset' in outcome) {
      producer?.nextSequence.set(lane.place, sequenceAfter(firstSequence, records.length));
      this.#settle(lane, batch, outcome.baseOffset);
      return;
    }
    const reason = outcome.refused;
    batch.mayBeStored ||= outcomeUnknown.has(reason);
    if (producerLost.has(reason) && !batch.mayBeStored && producer !== undefined) {
      this.#logger.warn({ place: lane.place, reason }, 'the producer id is renewed');
      this.#producer.giveUp(producer);
      this.#retry(lane);
    } else if (leaderMoved.has(reason) || outcomeUnknown.has(reason)) {
      this.#retry(lane);
    } else if (tooLarge.has(reason)) {
      this.#settle(lane, batch, new RecordTooLarge(`${lane.place} refused ${records.length} records: ${reason}`));
    } else {
      if (producer !== undefined) {
        this.#producer.giveUp(producer);
      }
      const message = `${lane.place} refused the records: ${reason}`;
      this.#settle(lane, batch, new LogUnavailable(message, { mayHaveBeenAppended: batch.mayBeStored }));
    }
  }

  #retry(lane: Lane): void {
    lane.isUnderWay = false;
    lane.retryAtMs = performance.now() + RETRY_PAUSE_MS;
    this.#cluster.forgetLayout(lane.topic);
  }

  #settle(lane: Lane, { calls }: OpenBatch, outcome: bigint | Error): void {
    lane.batch = undefined;
    lane.isUnderWay = false;
    if (outcome instanceof RecordTooLarge && calls.length > 1) {
      for (const call of calls) {
        call.isAlone = true;
      }
      lane.waiting.unshift(...calls);
      return;
    }
    let offset = outcome;
    for (const { records, bytes, answer, refuse } of calls) {
      this.#waitingBytes -= bytes;
      if (typeof offset !== 'bigint') {
        refuse(offset);
        continue;
      }
      const base: bigint = offset;
      this.#counts.calls += 1;
      this.#counts.records += records.length;
      answer(records.map((_, index) => ({ partition: lane.partition, offset: base + BigInt(index) })));
      offset = base + BigInt(records.length);
    }
  }
}

/** As many calls, in their order, as fit into one batch. */
function openBatch(lane: Lane, bytesMax: number): OpenBatch {
  const calls: Call[] = [];
  let bytes = 0;
  for (const call of lane.waiting) {
    if (calls.length > 0 && (bytes + call.bytes > bytesMax || call.isAlone || calls[0]?.isAlone === true)) {
      break;
    }
    calls.push(call);
    bytes += call.bytes;
  }
  lane.waiting = lane.waiting.slice(calls.length);
  const [{ deadline }] = calls as [Call];
  const records = calls.flatMap((call) => call.records);
  return { calls, records, deadline, producer: undefined, firstSequence: 0, mayBeStored: false };
}

/** At most what the lane's next batch takes. */
function nextBatchBytes({ batch, waiting }: Lane, bytesMax: number): number {
  const sum = (calls: readonly Call[]) => calls.reduce((bytes, call) => bytes + call.bytes, 0);
  return batch === undefined ? Math.min(bytesMax, sum(waiting)) : sum(batch.calls);
}

/** A batch that is certainly not stored goes under the producer id held now; another keeps its own sequence. */
function assign(lane: Lane, batch: OpenBatch, held: Producer): RecordBatch {
  if (batch.producer === undefined || !batch.mayBeStored) {
    batch.producer = held;
    batch.firstSequence = held.nextSequence.get(lane.place) ?? 0;
  }
  const { topic, partition } = lane;
  const { firstSequence, records } = batch;
  return { topic, partition, producer: batch.producer, firstSequence, records };
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
