import type { Logger } from '@makerbook/telemetry';

export type { Logger };

export interface TopicPartition {
  readonly topic: string;
  readonly partition: number;
}

/** A record to write. `value: null` is a tombstone. Headers are UTF-8. */
export interface LogRecord extends TopicPartition {
  readonly key: string;
  readonly value: Buffer | null;
  readonly headers: Readonly<Record<string, string>>;
}

/** A record as read. A key that is missing in the log reads as the empty string. */
export interface StoredRecord extends LogRecord {
  readonly offset: bigint;
  /** Milliseconds since the epoch, as the writer (or the broker) stamped it. */
  readonly timestampMs: number;
}

export interface AppendedAt {
  readonly partition: number;
  readonly offset: bigint;
}

export interface TopicSpec {
  readonly name: string;
  readonly partitions: number;
  /** Left out, the cluster's default. */
  readonly replicationFactor?: number;
  readonly config: Readonly<Record<string, string>>;
}

/** What became of one topic: `differences` is empty unless it existed and differs from its spec (it is left as it is). */
export interface TopicOutcome {
  readonly name: string;
  readonly outcome: 'created' | 'existed';
  readonly differences: readonly string[];
}

/** Secrets are asked for at each connection, so that they can be renewed. */
export type SaslOptions =
  | {
      readonly mechanism: 'PLAIN' | 'SCRAM-SHA-256' | 'SCRAM-SHA-512';
      readonly username: string;
      readonly password: () => string;
    }
  | { readonly mechanism: 'OAUTHBEARER'; readonly token: () => string };

export interface ConnectOptions {
  /** `host:port`, at least one. */
  readonly brokers: readonly string[];
  readonly clientId: string;
  readonly logger: Logger;
  /** Connections are encrypted; PEM texts. Without `ca` the authorities of the machine are trusted. */
  readonly tls?: { readonly ca?: string; readonly cert?: string; readonly key?: string };
  readonly sasl?: SaslOptions;
}

export interface AppenderOptions {
  /** Calls that come sooner than this after others wait for the rest of it, and share a request. Default 2. */
  readonly lingerMs?: number;
  /** A call is answered (or refused) within this time, whatever Kafka does. Default 5000. */
  readonly timeoutMs?: number;
}

export interface Appender {
  /**
   * Appends the records of one partition in one record batch: all or none, 900 kB at most; keep the topic's
   * max.message.bytes above that. Concurrent calls share requests. Where more than 64 MiB are waiting, a call is refused
   * at once with LogUnavailable.
   * Answers with the offsets, in order, after all in-sync replicas have acknowledged.
   * Throws LogUnavailable or RecordTooLarge. After a LogUnavailable nothing is tried again behind the caller's back;
   * only a request that was already on the wire may still be stored (`mayHaveBeenAppended`).
   */
  append(records: readonly LogRecord[]): Promise<readonly AppendedAt[]>;
  /** Appends records of any partitions in one Kafka transaction: readers see all or none. Same answer, same errors. */
  appendAtomically(records: readonly LogRecord[]): Promise<readonly AppendedAt[]>;
  /** Refuses new calls and waits for those under way. */
  close(): Promise<void>;
}

export interface FencedPublisherOptions {
  /** The latest publisher opened with this id is the only one that can publish. */
  readonly transactionalId: string;
  /**
   * Partitions in which the id is fenced. Taking it over fences them: whatever an earlier holder has on
   * its way to one is refused from then on. What is one record batch of one of them needs no transaction. Others who write
   * to them under ids of their own are not fenced.
   */
  readonly ownPartitions?: readonly TopicPartition[];
  /** Default 5000. */
  readonly timeoutMs?: number;
  /** After this time the broker itself aborts a transaction whose publisher is gone. Default 10000, or `timeoutMs` if longer. */
  readonly transactionTimeoutMs?: number;
}

export interface FencedPublisher {
  /** Takes the id over now: fences its earlier holder and aborts what that left unfinished. Publishing does it too. */
  takeOver(): Promise<void>;
  /** All records or none, as one record batch or one transaction. Throws PublisherFenced, LogUnavailable or RecordTooLarge. */
  publish(records: readonly LogRecord[]): Promise<void>;
  /**
   * Appends records of own partitions, partitions side by side and without a transaction. Those of one partition are one
   * record batch, all or none; what is too large for that goes in several, in order. Answers with the offsets, in the order
   * of the records. Throws like `publish`: some partitions may have their records then.
   */
  append(records: readonly LogRecord[]): Promise<readonly AppendedAt[]>;
  close(): Promise<void>;
}

export interface FollowOptions {
  readonly topic: string;
  /**
   * Where each partition is read from. Offsets by partition are those of the first record that is wanted; where it is not
   * stored any more, the first that is. A partition without one is not read. Throws nothing for an offset beyond the end:
   * the caller asks for `endOffsets`.
   */
  readonly from: 'beginning' | 'end' | readonly (bigint | undefined)[];
  /** Nothing may be missing from the given offsets on: where one is not stored any more, that is fatal (RecordsDeleted). */
  readonly isGapless?: boolean;
  /** Called for one partition at a time, in order; the next call for the partition waits for the promise. Throwing is fatal. */
  readonly onRecords: (partition: number, records: readonly StoredRecord[]) => void | Promise<void>;
  /** The next offset to be read, also where only control records or gaps were passed. */
  readonly onPosition?: (partition: number, nextOffset: bigint) => void;
  /** The handler threw, or records are gone that were wanted: nothing is read any more. Default: logged as an error. */
  readonly onFatal?: (error: Error) => void;
  /** Default `utf8`; `latin1` keeps binary header values byte for byte. */
  readonly headerEncoding?: 'utf8' | 'latin1';
  /** Bound on the records handed over at once. Default 5000. */
  readonly recordsMax?: number;
}

export interface Following {
  /** Resolves when everything that was in the topic at the start has been handed over and handled. */
  readonly caughtUp: Promise<void>;
  /** The next offset to be read, by partition. */
  positions(): readonly bigint[];
  /** When the brokers last answered a fetch, by `performance.now()`: it never goes back; -Infinity before the first. */
  lastPollAtMs(): number;
  stop(): Promise<void>;
}

/** Consecutive records of one partition. `fromOffset` is always the `nextOffset` of the batch before it. */
export interface PartitionBatch<T> {
  readonly partition: number;
  /** May be empty: then there are only control records, aborted or parked ones. The position still moves. */
  readonly records: readonly T[];
  /** The position before: the store's position must be exactly this. */
  readonly fromOffset: bigint;
  /** The position after: the offset of the next record to be read. */
  readonly nextOffset: bigint;
}

export interface BatchContext {
  /** Throws RetryableError when the partition is lost: nothing of the batch may be committed any more. */
  assertOwned(): void;
  /** Writes the record to the parked topic. Await it before committing a position beyond the record. */
  park(record: StoredRecord, reason: string): Promise<void>;
}

export interface ConsumeOptions<T> {
  /** Positions are committed under this name, for tools that show a group's lag. Nobody is a member of the group. */
  readonly groupId?: string;
  readonly topic: string;
  readonly parkedTopic: string;
  /** The position in the handler's store: the offset of the next record to handle. 0n for an empty store. */
  readonly positionOf: (partition: number) => Promise<bigint>;
  /** Turns a record into what the handler wants; throws PoisonRecord for one that can never be understood. */
  readonly decode: (record: StoredRecord) => T;
  /** Handles a batch and commits `nextOffset` in its store; see the failure classes for what its errors mean. */
  readonly handleBatch: (batch: PartitionBatch<T>, context: BatchContext) => Promise<void>;
  /** The loop has stopped for good; the process is to exit non-zero. */
  readonly onFatal: (error: Error) => void;
  /**
   * Resolves once a partition that was assigned when it was called, and is not revoked by then, is certainly still this
   * process's. What has failed is not tried again before.
   */
  readonly confirmed?: () => Promise<void>;
  /** After each record that was parked: for metrics. */
  readonly onParked?: (record: StoredRecord, reason: string) => void;
  /** Bound on the records of one batch. Default 1000. */
  readonly batchRecordsMax?: number;
}

export interface ConsumerHealth {
  readonly state: 'running' | 'stopped' | 'failed';
  /** Partitions that are assigned now. */
  readonly assigned: readonly number[];
  /** When the brokers last answered a fetch or a partition was begun, by `performance.now()`; now, where nothing is read. */
  readonly lastPollAtMs: number;
  /** Partitions that wait: their position is not known yet, or their batch is being retried; with the reason. */
  readonly retrying: ReadonlyMap<number, string>;
}

export interface PartitionConsumer {
  /** Begins with a partition, once its handler is done with an earlier assignment. One that is assigned already goes on. */
  assign(partition: number): void;
  /**
   * Hands nothing more of the partition over; resolves when its handler has ended.
   * @param isLost it may be another process's already: nothing of what is under way may be committed
   */
  revoke(partition: number, isLost: boolean): Promise<void>;
  /** The next offset to be handled, by partition assigned. */
  positions(): ReadonlyMap<number, bigint>;
  /** Records between position and high watermark (as of the last fetch), by partition assigned. */
  lag(): ReadonlyMap<number, bigint>;
  health(): ConsumerHealth;
  /** Revokes what is assigned, and resolves when it has ended. */
  stop(): Promise<void>;
}

/** The log, as one process sees it. Everything opened from it is closed with it. No method needs its `this`. */
export interface Log {
  /**
   * Creates what is missing and changes nothing that exists; reports what differs. `compression.type=producer` is
   * pinned unless the spec has another, and `min.insync.replicas=2` where a topic gets three replicas or more.
   */
  createTopics(specs: readonly TopicSpec[]): Promise<readonly TopicOutcome[]>;
  /**
   * Throws TopicMismatch when a topic is missing, has other partitions, or differs in a setting that the design relies
   * on: `cleanup.policy`, `retention.ms`, `retention.bytes`, `message.timestamp.type`, `compression.type`,
   * `min.insync.replicas`.
   */
  verifyTopics(specs: readonly TopicSpec[]): Promise<void>;
  /**
   * How many partitions the topic has. Throws TopicMismatch when it is missing, LogUnavailable after `timeoutMs`
   * (default 15000).
   */
  partitionsOf(topic: string, options?: { readonly timeoutMs?: number }): Promise<number>;
  /**
   * The high watermarks by partition, as of some moment after the call began. Throws LogUnavailable after `timeoutMs`
   * (default 1000).
   */
  endOffsets(topic: string, options?: { readonly timeoutMs?: number }): Promise<readonly bigint[]>;
  /**
   * Of each partition the first offset whose record is not older than a time, in milliseconds since the epoch; undefined
   * where all are older, or none is there. Throws LogUnavailable after ten seconds.
   */
  offsetsAt(topic: string, timestampMs: number): Promise<readonly (bigint | undefined)[]>;
  /**
   * The newest committed records of a partition, oldest first, at most 16: one at least, unless the partition holds none
   * or very much was aborted behind it. Throws LogUnavailable after ten seconds, and any other error where the records
   * cannot be read.
   */
  readLastRecords(topic: string, partition: number): Promise<readonly StoredRecord[]>;
  createAppender(options?: AppenderOptions): Appender;
  createFencedPublisher(options: FencedPublisherOptions): FencedPublisher;
  /** Reads all partitions of a topic for this process alone. */
  followTopic(options: FollowOptions): Following;
  /** Reads the partitions of a topic that the caller assigns; the handler's store holds the position. */
  consumePartitions<T>(options: ConsumeOptions<T>): PartitionConsumer;
  close(): Promise<void>;
}
