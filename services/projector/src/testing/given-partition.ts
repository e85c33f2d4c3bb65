import { type MakerEvent, topicNames } from '@makerbook/contracts-events';
import type { Hex } from '@makerbook/contracts-primitives';
import { type RecordPiece, RetryableError, type StoredRecord } from '@makerbook/kafka';
import { LogInMemory } from '@makerbook/kafka/testing';
import { sendAtOnce } from '@makerbook/parts';
import type { Projector } from '../own/project-log.js';
import {
  createTestProjector,
  testPartition as partition,
  testPartitions as partitions,
  type TestProjectorParts,
} from './create-test-projector.js';
import { makersOf, observedAt, orderOf, startSeconds, storedRecord, submittedOf } from './generate-facts.js';
import { RowsInMemory, type Tables } from './hold-rows.js';

const topics = topicNames();
const cause = { kind: 'request' as const, requestId: 'request' };

export const [maker, other] = makersOf(partition, partitions, 2) as [Hex, Hex];
export const expiresAt = startSeconds + 1_000;

/** Order `number` of the maker, with nonce 0, that expires at `expiresAt`. */
export function submitted(of: Hex, number: number): MakerEvent {
  return submittedOf(of, number, expiresAt);
}

export function cancelled(of: Hex, number: number): MakerEvent {
  const { orderHash } = orderOf(of, number);
  return { type: 'OrderCancelled', maker: of, orderHash, expiresAtSeconds: expiresAt, cause };
}

/** A reading of all that the orders need to be ACTIVE. */
export function observed(of: Hex, numbers: readonly number[]): MakerEvent {
  return observedAt(of, numbers, { number: 5, timestamp: startSeconds });
}

export function decided(of: Hex, type: 'MakerAdmitted' | 'MakerSuspended' | 'QuarantineLifted'): MakerEvent {
  return { type, maker: of, cause: { kind: 'operator', commandId: 'command' } };
}

/** One partition with its log, feeds and rows in memory, and nothing that fails. */
export class GivenPartition {
  readonly rows = new RowsInMemory();
  /** The parked facts, each as `offset maker reason`. */
  readonly parked: string[] = [];
  /** The key of each record of the log that was read a second time, and decoded. */
  readonly decodedAgain: string[] = [];
  /** How many checks still find that this process owns it. After them it was given to another process. */
  ownedFor = Number.POSITIVE_INFINITY;
  readonly #log = new LogInMemory({ partitions });
  readonly #cut: Partial<TestProjectorParts>;
  #projector: Projector | undefined;

  constructor(cut: Partial<TestProjectorParts> = {}) {
    this.#cut = cut;
  }

  get tables(): Tables {
    return this.rows.tables;
  }

  /** How many messages the feeds hold. */
  get published(): number {
    return this.#log.published.length;
  }

  /** Appends the facts and folds them as one batch. Returns what was published, as `number what of which order`. */
  async when(...facts: readonly MakerEvent[]): Promise<string[]> {
    const from = this.#end;
    for (const fact of facts) {
      this.#log.put(storedRecord(fact, { partition, offset: this.#end }, startSeconds * 1000));
    }
    return this.#fold(this.#records.filter(({ offset }) => offset >= from));
  }

  /** Does the same for a fact that came a millisecond too late. */
  async whenTooLate(fact: MakerEvent): Promise<string[]> {
    const timeMs = startSeconds * 1000;
    this.#log.put(storedRecord(fact, { partition, offset: this.#end }, timeMs, timeMs - 1));
    return this.#fold(this.#records.slice(-1));
  }

  /** Has another process fold what the rows lack. Returns what was published. */
  async taken(): Promise<string[]> {
    this.#projector = undefined;
    return this.#fold(this.#records);
  }

  /** Has the same process try again. */
  async retried(): Promise<string[]> {
    return this.#fold(this.#records);
  }

  /** Puts a message on the router's feed that this partition has not published. */
  publishForeign(headers: Record<string, string>): void {
    this.#log.store([{ topic: topics.book, partition, key: 'strange', value: Buffer.from('?'), headers }]);
  }

  get #records(): readonly StoredRecord[] {
    return this.#log.records(topics.makerEvents, partition);
  }

  get #end(): bigint {
    return this.#log.end(topics.makerEvents, partition);
  }

  async *#noteDecoded(pieces: AsyncIterable<RecordPiece>): AsyncGenerator<RecordPiece> {
    const { decodedAgain } = this;
    for await (const piece of pieces) {
      const records = piece.records.map((record) => ({
        ...record,
        get value() {
          decodedAgain.push(record.key);
          return record.value;
        },
      }));
      yield { ...piece, records };
    }
  }

  async #fold(given: readonly StoredRecord[]): Promise<string[]> {
    const view = this.#log.connect();
    this.#projector ??= createTestProjector({
      store: this.rows.connect(sendAtOnce),
      log: { ...view, readRange: (...range) => this.#noteDecoded(view.readRange(...range)) },
      createFencedPublisher: view.createFencedPublisher,
      topics,
      ...this.#cut,
    });
    const projector = this.#projector;
    const before = this.#log.published.length;
    const position = projector.owned.get(partition)?.position ?? (await projector.positionOf(partition));
    const records = given.filter(({ offset }) => offset >= position).map((record) => projector.decode(record));
    await projector.handleBatch(
      { partition, records, fromOffset: position, nextOffset: this.#end },
      {
        assertOwned: () => {
          this.ownedFor -= 1;
          if (this.ownedFor < 0) throw new RetryableError('given to another process');
        },
        park: async ({ offset, headers }, reason) =>
          void this.parked.push(`${offset} ${headers['parked-maker']} ${reason}`),
      },
    );
    const committer = projector.owned.get(partition)?.taken.committer;
    while (committer?.underWay !== undefined) await committer.underWay;
    committer?.assertGood();
    return this.#log.published.slice(before).map(({ topic, key, value, headers }) => {
      const {
        status,
        causes = [],
        admission,
        block,
        mode,
        makingAmount,
      } = value === null ? {} : JSON.parse(value.toString());
      const named = topic === topics.fills ? `filled ${makingAmount} at ${key}` : [status, ...causes].join(' ');
      const what = headers['removal'] ?? admission ?? mode ?? (block ? `block ${block.number}` : named);
      const number = headers['ce_id']?.slice(2);
      return key.length === 66 ? `${number} ${what} of ${Number(`0x${key.slice(-24)}`)}` : `${number} ${what}`;
    });
  }
}
