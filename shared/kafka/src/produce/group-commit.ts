import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Cluster } from '../cluster/cluster.js';
import { type Deadline, deadlineIn, pause, retryUntil } from '../cluster/deadline.js';
import { PublisherFenced, RecordTooLarge, unavailable } from '../failures.js';
import type { AppendedAt, Appender, AppenderOptions, Logger, LogRecord } from '../log.js';
import { bytesOf } from './encode-batch.js';
import { type ProducerId, placeOf, sequenceAfter, takeProducerId } from './produce-request.js';
import { BatchStore } from './store-batches.js';
import { Transactor } from './transactions.js';

const BATCH_OVERHEAD_BYTES = 128;
const BATCH_BYTES_MAX = 900_000;
const WAITING_BYTES_MAX = 64 * 1024 * 1024;
const RETRY_PAUSE_MS = 50;
const ATTEMPT_MS_MIN = 500;
const DEFAULTS: Required<AppenderOptions> = { lingerMs: 2, timeoutMs: 5_000 };
/** Of an id without transactions the broker asks for one as well. */
const IDEMPOTENT = { transactionalId: null, timeoutMs: 60_000 };

export interface AppenderParts {
  readonly cluster: Cluster;
  readonly transactions: Cluster;
  readonly transactionalId: string;
  readonly logger: Logger;
}

interface Call {
  readonly records: readonly LogRecord[];
  readonly bytes: number;
  readonly deadline: Deadline;
  readonly answer: (at: readonly AppendedAt[]) => void;
  readonly refuse: (error: unknown) => void;
}

/** The appends to one partition: one batch at a time, so that its sequence is always known. */
interface Lane {
  readonly topic: string;
  readonly partition: number;
  readonly waiting: Call[];
  working: Promise<void> | undefined;
  /** Given up after whatever is not acknowledged, since the next sequence under it is not known then. */
  producer: ProducerId | undefined;
  nextSequence: number;
}

/**
 * Group commit. Calls that arrive within `lingerMs` after others, or while the last batch of their partition or the last
 * request of its broker is under way, are gathered into one batch. One that comes after an idle time waits for nothing. Records of a partition keep the order of the calls, and the
 * records of one call always lie in one batch.
 *
 * After a call was refused nothing of it is sent any more. What remains is a request that the broker has already
 * received: it may still be stored after the answer.
 */
export class GroupCommit implements Appender {
  readonly #parts: AppenderParts;
  readonly #options: Required<AppenderOptions>;
  readonly #store: BatchStore;
  readonly #lanes = new Map<string, Lane>();
  #transactor: Transactor;
  #gathering: Promise<void> | undefined;
  #begunAtMs = Number.NEGATIVE_INFINITY;
  #waitingBytes = 0;
  #isClosed = false;

  constructor(parts: AppenderParts, options: AppenderOptions) {
    this.#parts = parts;
    this.#options = { ...DEFAULTS, ...options };
    this.#store = new BatchStore(parts.cluster);
    this.#transactor = this.#openTransactor();
  }

  readonly append = (records: readonly LogRecord[]): Promise<readonly AppendedAt[]> => {
    const [first] = records;
    if (first === undefined) {
      return Promise.resolve([]);
    }
    const bytes = sizeOf(records, first);
    if (bytes > BATCH_BYTES_MAX) {
      const message = `${records.length} records of ${bytes} bytes do not fit into a batch of ${BATCH_BYTES_MAX}`;
      return Promise.reject(new RecordTooLarge(message));
    }
    if (this.#isClosed || this.#waitingBytes + bytes > WAITING_BYTES_MAX) {
      const waiting = `${this.#waitingBytes} bytes are already waiting for Kafka`;
      return Promise.reject(unavailable(this.#isClosed ? 'the appender is closed' : waiting));
    }
    this.#waitingBytes += bytes;
    const { promise, resolve: answer, reject: refuse } = Promise.withResolvers<readonly AppendedAt[]>();
    const lane = this.#laneOf(first);
    lane.waiting.push({ records, bytes, deadline: deadlineIn(this.#options.timeoutMs), answer, refuse });
    lane.working ??= this.#work(lane);
    return promise;
  };

  readonly appendAtomically = async (records: readonly LogRecord[]): Promise<readonly AppendedAt[]> => {
    if (this.#isClosed) {
      throw unavailable('the appender is closed');
    }
    const transactor = this.#transactor;
    try {
      return await transactor.appendAtomically(records);
    } catch (error) {
      if (!(error instanceof PublisherFenced)) {
        throw error;
      }
      // Nobody else has this id: the broker itself ended a transaction that took too long, and the id is taken anew.
      if (this.#transactor === transactor) {
        this.#transactor = this.#openTransactor();
      }
      throw unavailable(error.message, error);
    }
  };

  /** Of `append`, for tests: produce requests and record batches that were sent. */
  get counts(): { readonly requests: number; readonly batches: number } {
    return this.#store.counts;
  }

  readonly close = async (): Promise<void> => {
    this.#isClosed = true;
    await Promise.all([this.#transactor.close(), ...Array.from(this.#lanes.values(), ({ working }) => working)]);
  };

  #openTransactor(): Transactor {
    const { transactions, transactionalId } = this.#parts;
    return new Transactor(transactions, { transactionalId, timeoutMs: this.#options.timeoutMs });
  }

  #laneOf({ topic, partition }: LogRecord): Lane {
    const place = placeOf(topic, partition);
    let lane = this.#lanes.get(place);
    if (lane === undefined) {
      lane = { topic, partition, waiting: [], working: undefined, producer: undefined, nextSequence: 0 };
      this.#lanes.set(place, lane);
    }
    return lane;
  }

  async #work(lane: Lane): Promise<void> {
    this.#gathering ??= this.#gather();
    await this.#gathering;
    for (let [first] = lane.waiting; first !== undefined; [first] = lane.waiting) {
      await this.#storeNext(lane, lane.waiting, first.deadline);
    }
    lane.working = undefined;
  }

  /** Whoever begins in this turn, or while it is too soon after the last time, goes along. */
  async #gather(): Promise<void> {
    const leftMs = this.#begunAtMs + this.#options.lingerMs - performance.now();
    await (leftMs > 0 ? pause(leftMs) : nextTurn());
    this.#begunAtMs = performance.now();
    this.#gathering = undefined;
  }

  /** Stores the first calls of a queue, which may grow until the request is sent, as one batch. */
  async #storeNext(lane: Lane, queue: Call[], deadline: Deadline): Promise<void> {
    const calls: Call[] = [];
    try {
      lane.producer ??= await this.#takeProducerId(deadline);
      const { topic, partition, producer, nextSequence: firstSequence } = lane;
      const pack = () => {
        if (calls.length === 0) {
          calls.push(...takeBatch(queue));
        }
        return { producer, firstSequence, records: calls.flatMap(({ records }) => records) };
      };
      const baseOffset = await this.#store.store(topic, partition, deadline, pack);
      lane.nextSequence = sequenceAfter(firstSequence, this.#answer(partition, calls, baseOffset));
    } catch (error) {
      lane.producer = undefined;
      lane.nextSequence = 0;
      if (!(error instanceof RecordTooLarge && calls.length > 1)) {
        this.#refuse(lane, calls.length === 0 ? takeLate(queue) : calls, error as Error);
        return;
      }
      for (const call of calls) {
        await this.#storeNext(lane, [call], call.deadline);
      }
    }
  }

  #takeProducerId(deadline: Deadline): Promise<ProducerId> {
    const { cluster } = this.#parts;
    const take = async () =>
      takeProducerId(await cluster.anyBroker(deadline), deadline.half(ATTEMPT_MS_MIN), IDEMPOTENT);
    return retryUntil(deadline, RETRY_PAUSE_MS, take).catch((error: unknown) => {
      throw unavailable('Kafka gave no producer id', error);
    });
  }

  /** How many records they have. */
  #answer(partition: number, calls: readonly Call[], baseOffset: bigint): number {
    let count = 0;
    for (const { records, bytes, answer } of calls) {
      const first = baseOffset + BigInt(count);
      this.#waitingBytes -= bytes;
      answer(records.map((_, index) => ({ partition, offset: first + BigInt(index) })));
      count += records.length;
    }
    return count;
  }

  #refuse({ topic, partition }: Lane, calls: readonly Call[], error: Error): void {
    this.#parts.logger.warn({ topic, partition, calls: calls.length, error: error.message }, 'appends were refused');
    for (const { bytes, refuse } of calls) {
      this.#waitingBytes -= bytes;
      refuse(error);
    }
  }
}

/** As many calls, in their order, as fit into one batch. */
function takeBatch(queue: Call[]): readonly Call[] {
  let bytes = 0;
  const behind = queue.findIndex((call, index) => {
    bytes += call.bytes;
    return index > 0 && bytes > BATCH_BYTES_MAX;
  });
  return queue.splice(0, behind < 0 ? queue.length : behind);
}

/** The first call, whose time is over, and those behind it that have no time for another try. */
function takeLate(queue: Call[]): readonly Call[] {
  const behind = queue.findIndex(({ deadline }, index) => index > 0 && deadline.leftMs() >= RETRY_PAUSE_MS);
  return queue.splice(0, behind < 0 ? queue.length : behind);
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
