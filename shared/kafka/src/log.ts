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
  /** Milliseconds since the epoch, now if left out. Kept where the topic's time is its writers' (`CreateTime`). */
  readonly timestampMs?: number;
}

/** A record as read. A key that is missing in the log reads as the empty string. */
export interface StoredRecord extends LogRecord {
  readonly offset: bigint;
  /** As the writer (or the broker) stamped it. */
  readonly timestampMs: number;
}

export interface LogPlace {
  readonly partition: number;
  readonly offset: bigint;
}

/** Where a record was stored, and when. */
export interface AppendedAt extends LogPlace {
  /** The time of the record, by the broker's clock; -1 in a topic that keeps the writers' times. */
  readonly timeMs: number;
}

export interface TopicSpec {
  readonly name: string;
  readonly partitions: number;
  /** The cluster's default where it is left out. */
  readonly replicationFactor?: number;
  readonly config: Readonly<Record<string, string>>;
}

export interface TopicOutcome {
  readonly name: string;
  readonly outcome: 'created' | 'existed';
  /** How it differs from its spec. */
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

/** How record batches are stored. */
export interface BatchOptions {
  /** Large batches are compressed by zstd, which not every reader knows. Default false. */
  readonly isCompressed?: boolean;
}

export interface AppenderOptions extends BatchOptions {
  /** Calls that come sooner than this after others wait for the rest of it, and share a request. Default 2. */
  readonly lingerMs?: number;
  /** A call succeeds or fails within this time, whatever Kafka does. Default 5000. */
  readonly timeoutMs?: number;
  /**
   * Batches have a producer id, so that none is stored twice where Kafka does not answer in time. For one call for a
   * partition at a time; after one that has failed, open another appender. Default false.
   */
  readonly isOnce?: boolean;
}

export interface Appender {
  /**
   * Appends the records all or none: those of one partition in one record batch of at most 900 kB (keep the topic's
   * max.message.bytes above that), more of them and those of several partitions in one transaction. Answers with their
   * places, in order, after all in-sync replicas have acknowledged. Throws RecordTooLarge where one record is beyond a
   * batch, or LogUnavailable, at once where more than 64 MiB are waiting. After an error nothing is sent any more, but
   * a request in flight may still be stored (`mayHaveBeenAppended`). Records may be stored twice where Kafka does not
   * answer in time, unless the appender `isOnce`: readers drop repeats.
   */
  append(records: readonly LogRecord[]): Promise<readonly AppendedAt[]>;
  /** Refuses new calls and waits for the others. */
  close(): Promise<void>;
}

export interface FencedPublisherOptions extends BatchOptions {
  /** Only the latest publisher opened with this id can publish. */
  readonly transactionalId: string;
  /**
   * Taking over the id fences these partitions: they refuse whatever an earlier holder still has on its way to them. A
   * single record batch for one of them needs no transaction. Writers under other ids are not fenced.
   */
  readonly ownPartitions?: readonly TopicPartition[];
  /** Default 5000. */
  readonly timeoutMs?: number;
}

export interface FencedPublisher {
  /** Takes over the id now: fences its earlier holder and aborts its open transaction. Publishing does it too. */
  takeOver(): Promise<void>;
  /**
   * Publishes the records all or none, as one record batch or one transaction, and answers with the offsets, in order.
   * Throws PublisherFenced, LogUnavailable or RecordTooLarge.
   */
  publish(records: readonly LogRecord[]): Promise<readonly AppendedAt[]>;
  /**
   * Appends records to own partitions, side by side and without a transaction: those of one partition in one record
   * batch, or in several where they are too large. Answers and throws like `publish`; after an error some partitions
   * may have theirs.
   */
  append(records: readonly LogRecord[]): Promise<readonly AppendedAt[]>;
  close(): Promise<void>;
}

export interface FollowOptions {
  readonly topic: string;
  /**
   * Where to begin, or for each partition the offset of the first wanted record; the first stored one where that is
   * gone. An offset beyond the end throws nothing: ask for `endOffsets`.
   */
  readonly from: 'beginning' | 'end' | readonly bigint[];
  /** Fail with FatalError where wanted records are not stored any more. */
  readonly isGapless?: boolean;
  /** Called for one partition at a time, in order. The next call waits for the promise. Throwing is fatal. */
  readonly onRecords: (partition: number, records: readonly StoredRecord[]) => void | Promise<void>;
  /** Called with the next offset to read, also behind control records and gaps. */
  readonly onPosition?: (partition: number, nextOffset: bigint) => void;
  /** The handler threw, or wanted records are gone: nothing is read any more. It is logged as an error. */
  readonly onFatal?: (error: Error) => void;
  /** Default `utf8`; `latin1` keeps binary header values byte for byte. */
  readonly headerEncoding?: 'utf8' | 'latin1';
  /** Pause between two fetches once the topic has caught up, for a reader that need not know at once. Default 0. */
  readonly pauseMs?: number;
}

export interface Following {
  /** Resolves when everything that was in the topic at the start has been handled. */
  readonly caughtUp: Promise<void>;
  /** The next offset to read, by partition. */
  positions(): readonly bigint[];
  /** When the brokers last answered, by `performance.now()`; -Infinity before the first time. */
  lastPollAtMs(): number;
  stop(): Promise<void>;
}

/** Consecutive records of one partition. `fromOffset` is always the `nextOffset` of the batch before it. */
export interface PartitionBatch<T> {
  readonly partition: number;
  /** May be empty, where all records are control records, aborted or parked. The position still moves. */
  readonly records: readonly T[];
  /** The store's position has to be exactly this. */
  readonly fromOffset: bigint;
  /** The store's next position: the offset of the next record to read. */
  readonly nextOffset: bigint;
}

export interface BatchContext {
  /** Throws RetryableError when the partition is lost: nothing of the batch may be committed any more. */
  assertOwned(): void;
  /** Writes the record to the parked topic. Await it before committing a position beyond the record. */
  park(record: StoredRecord, reason: string): Promise<void>;
}

export interface ConsumeOptions<T> {
  /** Positions are committed under this name, for tools that show a group's lag. The group has no members. */
  readonly groupId?: string;
  readonly topic: string;
  /** Has as many partitions as the topic. */
  readonly parkedTopic: string;
  /** The position in the handler's store: the offset of the next record to handle. 0n for an empty store. */
  readonly positionOf: (partition: number) => Promise<bigint>;
  /** Decodes a record for the handler; throws PoisonRecord for one that can never be understood. */
  readonly decode: (record: StoredRecord) => T;
  /** Handles a batch and commits `nextOffset` in its store; see the failure classes for what its errors mean. */
  readonly handleBatch: (batch: PartitionBatch<T>, context: BatchContext) => Promise<void>;
  /** The loop has stopped for good; the process has to exit non-zero. */
  readonly onFatal: (error: Error) => void;
  /** Resolves once this process is known to own all partitions that are not revoked by then. Retries wait for it. */
  readonly confirmed?: () => Promise<void>;
  /** Called after each parked record, for metrics. */
  readonly onParked?: (record: StoredRecord, reason: string) => void;
  /** Bound on the records of one batch. Default 1000. */
  readonly batchRecordsMax?: number;
}

export interface ConsumerHealth {
  readonly state: 'running' | 'stopped' | 'failed';
  readonly assigned: readonly number[];
  /** When the brokers last answered a fetch or a partition was started, by `performance.now()`; else now. */
  readonly lastPollAtMs: number;
  /** When a fetch last began: the one before it had ended, answered or not. Now, while nothing is to be fetched. */
  readonly lastTurnAtMs: number;
  /** Partitions whose position is not known yet, or whose batch is being retried; with the reason. */
  readonly retrying: ReadonlyMap<number, string>;
}

export interface PartitionConsumer {
  /** Starts a partition, once the handler of an earlier assignment has ended. One that is assigned already goes on. */
  assign(partition: number): void;
  /**
   * Hands over nothing more of the partition; resolves when its handler has ended.
   * @param isLost another process may own it already: nothing in flight may be committed
   */
  revoke(partition: number, isLost: boolean): Promise<void>;
  /** The next offset to handle, by assigned partition. */
  positions(): ReadonlyMap<number, bigint>;
  /** Records between position and high watermark (as of the last fetch), by assigned partition. */
  lag(): ReadonlyMap<number, bigint>;
  health(): ConsumerHealth;
  /** Revokes all partitions, and resolves when their handlers have ended. */
  stop(): Promise<void>;
}

/** Consecutive records of one partition. */
export interface RecordPiece {
  readonly records: readonly StoredRecord[];
  /** The next offset to read, also behind control records and gaps. */
  readonly nextOffset: bigint;
}

/** The log, as one process sees it. Everything opened from it is closed with it. No method needs its `this`. */
export interface Log {
  /** Creates what is missing, changes nothing that exists, and reports what differs, also in settings that it adds. */
  createTopics(specs: readonly TopicSpec[]): Promise<readonly TopicOutcome[]>;
  /** Throws TopicMismatch when a topic is missing, has other partitions, or differs in a setting that is relied on. */
  verifyTopics(specs: readonly TopicSpec[]): Promise<void>;
  /** Changes settings of a topic. Throws LogUnavailable, also where the user may not do that. */
  alterTopic(topic: string, config: TopicSpec['config']): Promise<void>;
  /** Throws TopicMismatch when the topic is missing, LogUnavailable after `timeoutMs` (default 15000). */
  partitionsOf(topic: string, options?: { readonly timeoutMs?: number }): Promise<number>;
  /** The high watermarks by partition after the call. Throws LogUnavailable after `timeoutMs` (default 1000). */
  endOffsets(topic: string, options?: { readonly timeoutMs?: number }): Promise<readonly bigint[]>;
  /** By partition the first offset not older than a time, if any. Throws LogUnavailable after ten seconds. */
  offsetsAt(topic: string, timestampMs: number): Promise<readonly (bigint | undefined)[]>;
  /**
   * The newest committed records of a partition, oldest first, at most 16; none where very much was aborted behind
   * them. Throws LogUnavailable after ten seconds.
   */
  readLastRecords(topic: string, partition: number): Promise<readonly StoredRecord[]>;
  /**
   * The records at these offsets of a partition, by offset; one that is not stored, or cannot be decoded, is left out.
   * A fetch for each that the ones before have not brought. Throws LogUnavailable after two seconds.
   */
  readRecords(place: TopicPartition, offsets: readonly bigint[]): Promise<ReadonlyMap<bigint, StoredRecord>>;
  /**
   * The committed records of a partition from an offset on, or from the first stored one, before another, or before its
   * end at the start. Each piece is at most 256 kB, or one record batch; batches that cannot be decoded are left out.
   * Throws FatalError where the log does not hold an offset, LogUnavailable after ten seconds without a piece.
   */
  readRange(place: TopicPartition, from?: bigint, to?: bigint): AsyncIterable<RecordPiece>;
  /**
   * Moves the end of a partition by so many offsets, above zero, at which there is nothing to read. Throws
   * LogUnavailable after a minute: ask for `endOffsets` then.
   * @param transactionalId nobody else uses it
   */
  skipOffsets(place: TopicPartition, offsets: number, transactionalId: string): Promise<void>;
  createAppender(options?: AppenderOptions): Appender;
  createFencedPublisher(options: FencedPublisherOptions): FencedPublisher;
  /** Reads a topic for this process alone. */
  followTopic(options: FollowOptions): Following;
  /** Reads the partitions of a topic that the caller assigns; the handler's store holds the position. */
  consumePartitions<T>(options: ConsumeOptions<T>): PartitionConsumer;
  close(): Promise<void>;
}
