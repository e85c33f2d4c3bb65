import { LogUnavailable, RecordTooLarge } from './failures.js';
import type { Logger, LogRecord } from './log.js';
import { type Connections, unavailable } from './reach-brokers.js';
import { initProducerId, type ProducerId, placeOf, sendBatches } from './send-batches.js';
import { codes, nameOfCode } from './speak-kafka.js';
import { type Deadline, pause } from './wait.js';

const RETRY_PAUSE_MS = 50;
const ATTEMPT_MS_MIN = 500;
const SEQUENCE_MODULUS = 2 ** 31;

/** Errors after which the same batch may be sent again with the same sequence: the broker stores it once. */
const worthRetrying: ReadonlySet<number> = new Set([
  codes.unknownTopicOrPartition,
  codes.leaderNotAvailable,
  codes.notLeader,
  codes.requestTimedOut,
  codes.notEnoughReplicas,
  codes.notEnoughReplicasAfterAppend,
  codes.storageError,
  codes.unknownServerError,
]);

/** Errors that leave open whether the batch was stored. */
const leavesOpen: ReadonlySet<number> = new Set([
  codes.requestTimedOut,
  codes.notEnoughReplicasAfterAppend,
  codes.storageError,
  codes.unknownServerError,
]);

/** The broker does not know this producer as we do: a new producer id is needed. */
const producerLost: ReadonlySet<number> = new Set([
  codes.outOfOrderSequence,
  codes.unknownProducerId,
  codes.invalidProducerEpoch,
]);

export interface DeliverableBatch {
  readonly topic: string;
  readonly partition: number;
  readonly records: readonly LogRecord[];
  readonly deadline: Deadline;
  /** Called once: with the first record's offset, or with LogUnavailable or RecordTooLarge. */
  readonly settle: (outcome: bigint | Error) => void;
}

interface Attempted extends DeliverableBatch {
  producer: Producer;
  firstSequence: number;
  mayBeStored: boolean;
}

interface Producer {
  readonly id: ProducerId;
  readonly nextSequence: Map<string, number>;
}

/**
 * Stores batches idempotently. A partition has at most one batch here at a time (the caller sees to it), so its
 * sequence is always known. A batch is sent again only under its own sequence and only until its deadline; after an
 * unknown outcome the producer id is given up, because its next sequence is not known any more.
 */
export function openDelivery(connections: Connections, logger: Logger) {
  let current: Promise<Producer> | undefined;
  const counts = { requests: 0, batches: 0 };

  async function producer(deadline: Deadline): Promise<Producer> {
    current ??= openProducer(deadline);
    const opening = current;
    try {
      return await opening;
    } catch (error) {
      if (current === opening) {
        current = undefined;
      }
      throw error;
    }
  }

  async function openProducer(deadline: Deadline): Promise<Producer> {
    for (;;) {
      try {
        const node = await connections.anyNode(deadline);
        const id = await initProducerId(node, undefined, 60_000, undefined, deadline.half(ATTEMPT_MS_MIN));
        return { id, nextSequence: new Map() };
      } catch (error) {
        if (deadline.leftMs() < RETRY_PAUSE_MS) {
          throw error;
        }
        await pause(RETRY_PAUSE_MS);
      }
    }
  }

  function giveUp(lost: Producer): void {
    void current?.then(
      (held) => {
        if (held === lost) {
          current = undefined;
        }
      },
      () => undefined,
    );
  }

  /** Resolves after the first attempt; what that left open goes on by itself until it is settled. */
  async function deliver(leader: number, batches: readonly DeliverableBatch[]): Promise<void> {
    const soonest = batches.reduce(
      (least, { deadline }) => least.sooner(deadline),
      (batches[0] as DeliverableBatch).deadline,
    );
    let opened: Producer;
    try {
      opened = await producer(soonest);
    } catch (error) {
      for (const batch of batches) {
        batch.settle(unavailable('Kafka gave no producer id', error));
      }
      return;
    }
    const attempted = batches.map((batch) => prepare(batch, opened));
    const left = await attempt(leader, attempted, soonest);
    for (const batch of left) {
      void retry(batch);
    }
  }

  function prepare(batch: DeliverableBatch, opened: Producer): Attempted {
    const firstSequence = opened.nextSequence.get(placeOf(batch.topic, batch.partition)) ?? 0;
    return { ...batch, producer: opened, firstSequence, mayBeStored: false };
  }

  /** Sends once, settles what can be settled, and answers with what is to be tried again. */
  async function attempt(leader: number, batches: readonly Attempted[], deadline: Deadline): Promise<Attempted[]> {
    const [first] = batches;
    if (first === undefined) {
      return [];
    }
    counts.requests += 1;
    counts.batches += batches.length;
    let outcomes: Awaited<ReturnType<typeof sendBatches>>;
    try {
      outcomes = await sendBatches(
        connections.node(leader),
        first.producer.id,
        undefined,
        batches,
        deadline.half(ATTEMPT_MS_MIN),
      );
    } catch (error) {
      for (const batch of batches) {
        batch.mayBeStored ||= !(error instanceof LogUnavailable) || error.mayHaveBeenAppended;
      }
      logger.warn({ error: (error as Error).message, batches: batches.length }, 'an append was not answered');
      return [...batches];
    }
    return batches.filter((batch) => {
      const outcome = outcomes.get(placeOf(batch.topic, batch.partition));
      return !conclude(batch, outcome?.errorCode ?? codes.requestTimedOut, outcome?.baseOffset ?? -1n);
    });
  }

  /** True when the batch is settled. */
  function conclude(batch: Attempted, errorCode: number, baseOffset: bigint): boolean {
    const place = placeOf(batch.topic, batch.partition);
    if (errorCode === codes.none) {
      batch.producer.nextSequence.set(place, (batch.firstSequence + batch.records.length) % SEQUENCE_MODULUS);
      batch.settle(baseOffset);
      return true;
    }
    if (worthRetrying.has(errorCode)) {
      batch.mayBeStored ||= leavesOpen.has(errorCode);
      return false;
    }
    if (producerLost.has(errorCode)) {
      giveUp(batch.producer);
      if (!batch.mayBeStored) {
        logger.warn({ place, reason: nameOfCode(errorCode) }, 'the producer id is renewed');
        return false;
      }
    }
    if (errorCode === codes.messageTooLarge || errorCode === codes.recordListTooLarge) {
      batch.settle(new RecordTooLarge(`${place} refused ${batch.records.length} records: ${nameOfCode(errorCode)}`));
      return true;
    }
    giveUp(batch.producer);
    batch.settle(
      new LogUnavailable(`${place} refused the records: ${nameOfCode(errorCode)}`, {
        mayHaveBeenAppended: batch.mayBeStored,
      }),
    );
    return true;
  }

  async function retry(batch: Attempted): Promise<void> {
    for (;;) {
      await pause(Math.min(RETRY_PAUSE_MS, batch.deadline.leftMs()));
      if (batch.deadline.passed()) {
        giveUp(batch.producer);
        batch.settle(
          new LogUnavailable(`Kafka did not acknowledge ${placeOf(batch.topic, batch.partition)} in time`, {
            mayHaveBeenAppended: batch.mayBeStored,
          }),
        );
        return;
      }
      try {
        connections.forgetLayout(batch.topic);
        const leader = await connections.leaderOf(batch.topic, batch.partition, batch.deadline);
        if (!batch.mayBeStored) {
          // Certainly not stored: it may go under whatever producer id is held now.
          const held = await producer(batch.deadline);
          Object.assign(batch, { producer: held, firstSequence: prepare(batch, held).firstSequence });
        }
        if ((await attempt(leader.id, [batch], batch.deadline)).length === 0) {
          return;
        }
      } catch (error) {
        logger.debug({ error: (error as Error).message }, 'an append is still waiting for its broker');
      }
    }
  }

  return { deliver, counts };
}
