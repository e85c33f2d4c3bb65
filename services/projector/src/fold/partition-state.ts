import { BookHash } from '@makerbook/book';
import type { Address } from '@makerbook/contracts-primitives';
import { type HashMemory, type LogClock, rememberHashes } from '@makerbook/domain';
import type { LogRecord, StoredRecord } from '@makerbook/kafka';
import { Changes } from '../commit/gather-changes.js';
import type { Quarantine, TakenProjection } from '../store/open-store.js';
import { CachedMakers } from './cache-makers.js';
import type { FeedRules } from './describe-feeds.js';
import { DueMakers } from './due-makers.js';

/** A record to park, because one maker cannot be folded. */
export interface ParkedFact {
  readonly record: StoredRecord;
  readonly reason: string;
}

/** The state of a partition's fold. All of it can be read again from Postgres and the log, so any failure drops it. */
export class PartitionState {
  readonly rules: FeedRules;
  readonly makers: CachedMakers;
  readonly due: DueMakers;
  readonly quarantined: Map<Address, Quarantine>;
  /** The remembered hashes that the facts of the batch are about. */
  readonly hashes: HashMemory = rememberHashes();
  /** Throws a FatalError if more makers are in quarantine than break by themselves. */
  readonly noteQuarantined: (maker: Address, reason: string) => void;
  /** The name of the log's partition; undefined until it is read for the first clock. */
  logName: string | undefined;
  /** All facts before it are folded. */
  nextOffset: bigint;
  /** True if some makers of the block at `nextOffset` are folded. */
  isBlockBegun: boolean;
  /** The clock after the last fact that is wholly folded. */
  clock: LogClock;
  /** When the last fact that is wholly folded was appended, in milliseconds since 1970. */
  clockMs: number;
  /** The hash over the orders that are in the book after the last change. */
  readonly book: BookHash;
  /** The changes since the last commit began. */
  gathered = new Changes();
  /** Messages to publish. Nothing is committed while there are any. */
  readonly unpublished: LogRecord[] = [];
  readonly toPark: ParkedFact[] = [];

  constructor(
    { projection, due, quarantined }: TakenProjection,
    rules: FeedRules,
    heldMax: number,
    noteQuarantined: PartitionState['noteQuarantined'],
  ) {
    const { routingGraceSeconds } = rules;
    this.rules = rules;
    this.makers = new CachedMakers(heldMax, { routingGraceSeconds, recallHash: this.hashes.recallHash });
    this.due = new DueMakers(due);
    this.quarantined = new Map(quarantined);
    this.noteQuarantined = noteQuarantined;
    this.nextOffset = projection.nextOffset;
    this.isBlockBegun = projection.blockParts > 0;
    this.clock = projection.clock;
    this.clockMs = projection.clockMs;
    this.book = new BookHash(projection.book);
  }
}
