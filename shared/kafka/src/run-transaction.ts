import { LogUnavailable, PublisherFenced, RecordTooLarge } from './failures.js';
import type { AppendedAt, LogRecord } from './log.js';
import { type Connections, type KafkaNode, unavailable } from './reach-brokers.js';
import { type Batch, bytesOf, initProducerId, type ProducerId, placeOf, sendBatches } from './send-batches.js';
import { codes, KafkaRefused } from './speak-kafka.js';
import { type Deadline, pause } from './wait.js';

const SOON_MS = 2;
const LATER_MS = 50;
const ATTEMPT_MS_MIN = 500;
/** What is sent at once: a record batch has a maximum size, a transaction has none. */
const PART_BYTES_MAX = 600_000;

const coordinatorMoved: ReadonlySet<number> = new Set([
  codes.coordinatorLoading,
  codes.coordinatorNotAvailable,
  codes.notCoordinator,
]);
const leaderMoved: ReadonlySet<number> = new Set([
  codes.unknownTopicOrPartition,
  codes.leaderNotAvailable,
  codes.notLeader,
  codes.requestTimedOut,
  codes.notEnoughReplicas,
  codes.notEnoughReplicasAfterAppend,
]);
const fenced: ReadonlySet<number> = new Set([codes.invalidProducerEpoch, codes.producerFenced]);

export interface Transactor {
  /** Takes the id over now, if it is not held yet. */
  open(deadline: Deadline): Promise<void>;
  /** All records in one transaction, however many; one transaction at a time, in the order of the calls. */
  transact(records: readonly LogRecord[], deadline: Deadline): Promise<readonly AppendedAt[]>;
  close(): Promise<void>;
}

/**
 * Transactions under one transactional id. After a failure the outcome of which is open, the next call first opens a
 * new epoch *as the same holder*: the broker aborts what was left unfinished, and refuses if another has taken over.
 * So a fenced holder never fences its successor, whatever it retries.
 */
export function openTransactor(options: {
  readonly connections: Connections;
  readonly transactionalId: string;
  readonly transactionTimeoutMs: number;
  /**
   * Nobody else ever uses this id. Then it is the broker that fences its holder, when it has ended a transaction that
   * took too long: the id is taken anew, for else the process would live on and never write a transaction again.
   */
  readonly isSole?: boolean;
}): Transactor {
  const { connections, transactionalId } = options;
  let held: ProducerId | undefined;
  let clean = false;
  let sequences = new Map<string, number>();
  let fencedBy: PublisherFenced | undefined;
  let line: Promise<unknown> = Promise.resolve();
  let closed = false;

  function inTurn<T>(work: () => Promise<T>): Promise<T> {
    const turn = line.then(work);
    line = turn.catch(() => undefined);
    return turn;
  }

  async function open(deadline: Deadline): Promise<ProducerId> {
    if (fencedBy !== undefined) {
      throw fencedBy;
    }
    if (held === undefined || !clean) {
      held = await takeId(deadline);
      sequences = new Map();
      clean = true;
    }
    return held;
  }

  async function takeId(deadline: Deadline): Promise<ProducerId> {
    const take = (as: ProducerId | undefined) =>
      atCoordinator(deadline, (node, attempt) =>
        initProducerId(node, transactionalId, options.transactionTimeoutMs, as, attempt),
      );
    try {
      return await take(held);
    } catch (error) {
      if (options.isSole !== true || held === undefined || !isFencing(error)) {
        throw error;
      }
      return take(undefined);
    }
  }

  async function run(records: readonly LogRecord[], deadline: Deadline): Promise<readonly AppendedAt[]> {
    let ending = false;
    try {
      if (deadline.passed()) {
        throw unavailable(`the transactions of ${transactionalId} before this one took all its time`);
      }
      const producer = await open(deadline);
      clean = false;
      await addPartitions(producer, intoBatches(records), deadline);
      const offsets: AppendedAt[] = [];
      for (const part of cut(records)) {
        offsets.push(...(await sendAll(producer, intoBatches(part), deadline)));
      }
      ending = true;
      await atCoordinator(deadline, async (node, attempt) => {
        const answer = await node.call<{ errorCode: number }>(
          'EndTxn',
          {
            transactionalId,
            producerId: producer.id.toString(),
            producerEpoch: producer.epoch,
            transactionResult: true,
          },
          attempt,
        );
        refuse('committing a transaction', answer.errorCode);
      });
      clean = true;
      return offsets;
    } catch (error) {
      throw translate(error, ending);
    }
  }

  function translate(error: unknown, ending: boolean): Error {
    if (error instanceof RecordTooLarge || error instanceof PublisherFenced) {
      return error;
    }
    if (isFencing(error) && options.isSole !== true) {
      fencedBy = new PublisherFenced(`${transactionalId} is held by another publisher now: ${error.message}`, {
        cause: error,
      });
      return fencedBy;
    }
    return new LogUnavailable(`a transaction of ${transactionalId} failed: ${(error as Error).message}`, {
      mayHaveBeenAppended: ending,
      cause: error,
    });
  }

  async function addPartitions(producer: ProducerId, batches: readonly Batch[], deadline: Deadline): Promise<void> {
    const byTopic = new Map<string, number[]>();
    for (const { topic, partition } of batches) {
      byTopic.set(topic, [...(byTopic.get(topic) ?? []), partition]);
    }
    const topics = Array.from(byTopic, ([topic, partitions]) => ({ topic, partitions }));
    await atCoordinator(deadline, async (node, attempt) => {
      const answer = await node.call<{
        errors: readonly { topic: string; partitionErrors: readonly { partition: number; errorCode: number }[] }[];
      }>(
        'AddPartitionsToTxn',
        { transactionalId, producerId: producer.id.toString(), producerEpoch: producer.epoch, topics },
        attempt,
      );
      const failed = answer.errors
        .flatMap(({ partitionErrors }) => partitionErrors)
        .map(({ errorCode }) => errorCode)
        .filter((code) => code !== codes.none)
        // One bad partition marks the others as not attempted: tell the cause.
        .sort((one, other) => Number(one === NOT_ATTEMPTED) - Number(other === NOT_ATTEMPTED));
      refuse('adding partitions to a transaction', failed[0] ?? codes.none);
    });
  }

  async function sendAll(
    producer: ProducerId,
    batches: readonly Batch[],
    deadline: Deadline,
  ): Promise<readonly AppendedAt[]> {
    const bases = new Map<string, bigint>();
    let left = batches;
    while (left.length > 0) {
      const byLeader = new Map<KafkaNode, Batch[]>();
      for (const batch of left) {
        const leader = await connections.leaderOf(batch.topic, batch.partition, deadline);
        byLeader.set(leader, [...(byLeader.get(leader) ?? []), batch]);
      }
      const outcomes = await Promise.all(
        Array.from(byLeader, async ([leader, ofLeader]) => {
          try {
            return await sendBatches(leader, producer, transactionalId, ofLeader, attemptOf(deadline));
          } catch (error) {
            if (deadline.passed()) {
              throw error;
            }
            return new Map<string, { errorCode: number; baseOffset: bigint }>();
          }
        }),
      );
      left = left.filter((batch) => {
        const place = placeOf(batch.topic, batch.partition);
        const outcome = outcomes.find((answers) => answers.has(place))?.get(place);
        const code = outcome?.errorCode ?? codes.requestTimedOut;
        if (code === codes.messageTooLarge || code === codes.recordListTooLarge) {
          throw new RecordTooLarge(`${place} refused ${batch.records.length} records as too large`);
        }
        if (outcome === undefined || leaderMoved.has(code)) {
          connections.forgetLayout(batch.topic);
          return true;
        }
        refuse(`writing to ${place}`, code);
        sequences.set(place, batch.firstSequence + batch.records.length);
        bases.set(place, outcome.baseOffset);
        return false;
      });
      if (left.length > 0) {
        if (deadline.leftMs() < LATER_MS) {
          throw unavailable('the leaders did not answer in time');
        }
        await pause(LATER_MS);
      }
    }
    return inOrder(batches, bases);
  }

  function intoBatches(records: readonly LogRecord[]): (Batch & { readonly indexes: readonly number[] })[] {
    const byPlace = new Map<string, { records: LogRecord[]; indexes: number[] }>();
    records.forEach((record, index) => {
      const place = placeOf(record.topic, record.partition);
      const batch = byPlace.get(place) ?? { records: [], indexes: [] };
      batch.records.push(record);
      batch.indexes.push(index);
      byPlace.set(place, batch);
    });
    return Array.from(byPlace, ([place, batch]) => {
      const { topic, partition } = batch.records[0] as LogRecord;
      return { topic, partition, firstSequence: sequences.get(place) ?? 0, ...batch };
    });
  }

  /** Asks the transaction coordinator, again and again until the deadline while it moves or finishes the last transaction. */
  async function atCoordinator<R>(
    deadline: Deadline,
    ask: (node: KafkaNode, attempt: Deadline) => Promise<R>,
  ): Promise<R> {
    for (;;) {
      let waitMs = LATER_MS;
      try {
        const node = await connections.coordinatorOf('transaction', transactionalId, deadline);
        return await ask(node, attemptOf(deadline));
      } catch (error) {
        if (error instanceof KafkaRefused) {
          if (error.code === codes.concurrentTransactions) {
            waitMs = SOON_MS;
          } else if (coordinatorMoved.has(error.code)) {
            connections.forgetCoordinator(transactionalId);
          } else {
            throw error;
          }
        } else {
          connections.forgetCoordinator(transactionalId);
        }
        if (deadline.leftMs() <= waitMs) {
          throw error;
        }
      }
      await pause(waitMs);
    }
  }

  return {
    open: (deadline) =>
      inTurn(() => open(deadline)).then(
        () => undefined,
        (error: unknown) => {
          throw translate(error, false);
        },
      ),
    transact: (records, deadline) => {
      if (closed) {
        return Promise.reject(unavailable(`the publisher ${transactionalId} is closed`));
      }
      return records.length === 0 ? Promise.resolve([]) : inTurn(() => run(records, deadline));
    },
    close: async () => {
      closed = true;
      await line;
    },
  };
}

const NOT_ATTEMPTED = 55;

function isFencing(error: unknown): error is KafkaRefused {
  return error instanceof KafkaRefused && fenced.has(error.code);
}

/** The records in their order, in parts that fit into a request; at least one record each. */
function cut(records: readonly LogRecord[]): LogRecord[][] {
  const parts: LogRecord[][] = [];
  let bytes = Number.POSITIVE_INFINITY;
  for (const record of records) {
    const size = bytesOf(record);
    if (bytes + size > PART_BYTES_MAX) {
      parts.push([]);
      bytes = 0;
    }
    parts.at(-1)?.push(record);
    bytes += size;
  }
  return parts;
}

function refuse(what: string, code: number): void {
  if (code !== codes.none) {
    throw new KafkaRefused(what, code);
  }
}

/** An attempt gets half of what is left, so that a broker that hangs leaves time for another try. */
function attemptOf(deadline: Deadline): Deadline {
  return deadline.half(ATTEMPT_MS_MIN);
}

function inOrder(batches: readonly Batch[], bases: ReadonlyMap<string, bigint>): readonly AppendedAt[] {
  const at: AppendedAt[] = [];
  for (const batch of batches as readonly (Batch & { readonly indexes: readonly number[] })[]) {
    const base = bases.get(placeOf(batch.topic, batch.partition)) ?? -1n;
    batch.indexes.forEach((index, within) => {
      at[index] = { partition: batch.partition, offset: base + BigInt(within) };
    });
  }
  return at;
}
