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
  /** Milliseconds since the epoch. Default: now. Topics that keep the writers' times (`CreateTime`) store it. */
  readonly timestampMs?: number;
}

/** A record as read. A key that is missing in the log reads as the empty string. */
export interface StoredRecord extends LogRecord {
  readonly offset: bigint;
  /** The writer's or the broker's time, in milliseconds since the epoch. */
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
  /** Default: the cluster's. */
  readonly replicationFactor?: number;
  readonly config: Readonly<Record<string, string>>;
}

export interface TopicOutcome {
  readonly name: string;
  readonly outcome: 'created' | 'existed';
  /** How the topic differs from its spec. */
  readonly differences: readonly string[];
}

/** Each new connection asks for the secret again, so that secrets can be renewed. */
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
  /** Encrypts connections. The fields are PEM texts. Without `ca`, the machine's authorities are trusted. */
  readonly tls?: { readonly ca?: string; readonly cert?: string; readonly key?: string };
  readonly sasl?: SaslOptions;
}

/** How record batches are stored. */
export interface BatchOptions {
  /** Compress large batches with zstd. Not every reader knows it. Default false. */
  readonly isCompressed?: boolean;
}

export interface AppenderOptions extends BatchOptions {
  /** Requests begin at least this far apart. Calls that come meanwhile share the next request. Default 2. */
  readonly lingerMs?: number;
  /** A call succeeds or fails within this time, whatever Kafka does. Default 5000. */
  readonly timeoutMs?: number;
  /**
   * Give batches a producer id, so that none is stored twice when Kafka does not answer in time. Make one call for a
   * partition at a time. After a failed call, open another appender. Default false.
   */
  readonly isOnce?: boolean;
}

export interface Appender {
  /**
   * Appends the records all or none. Records of one partition go into one record batch of at most 900 kB (keep the
   * topic's max.message.bytes above that). Larger calls, and calls for several partitions, use one transaction. Answers
   * with the places, in order, after all in-sync replicas have acknowledged. Throws RecordTooLarge if one record does
   * not fit into a batch, or LogUnavailable: at once if more than 64 MiB are waiting. After an error nothing more is
   * sent, but a request in flight may still be stored (`mayHaveBeenAppended`). Records may be stored twice when Kafka
   * does not answer in time, unless the appender `isOnce`: readers drop repeats.
   */
  append(records: readonly LogRecord[]): Promise<readonly AppendedAt[]>;
  /** Refuses new calls and waits for those in flight. */
  close(): Promise<void>;
}

export interface FencedPublisherOptions extends BatchOptions {
  /** Only the latest publisher opened with this id can publish. */
  readonly transactionalId: string;
  /**
   * Taking over the id fences these partitions: they refuse what an earlier holder still has in flight. A single record
   * batch for one of them needs no transaction. Writers under other ids are not fenced.
   */
  readonly ownPartitions?: readonly TopicPartition[];
  /** Default 5000. */
  readonly timeoutMs?: number;
}

export interface FencedPublisher {
  /** Takes over the id now: fences the earlier holder and aborts its open transaction. Publishing does so if needed. */
  takeOver(): Promise<void>;
  /**
   * Publishes the records all or none, as one record batch or one transaction, and answers with the offsets, in order.
   * Throws PublisherFenced, LogUnavailable or RecordTooLarge.
   */
  publish(records: readonly LogRecord[]): Promise<readonly AppendedAt[]>;
  /**
   * Appends records to own partitions, in parallel and without a transaction. Records of one partition go into one
   * record batch, or into several if they do not fit. Answers and throws like `publish`. After an error some partitions
   * may have stored their records.
   */
  append(records: readonly LogRecord[]): Promise<readonly AppendedAt[]>;
  close(): Promise<void>;
}

export interface FollowOptions {
  readonly topic: string;
  /**
   * Where to begin. A list gives each partition's first wanted offset. If that record is gone, reading begins at the
   * first stored one. An offset beyond the end does not throw: check it against `endOffsets`.
   */
  readonly from: 'beginning' | 'end' | readonly bigint[];
  /** Fail with FatalError if wanted records are no longer stored. */
  readonly isGapless?: boolean;
  /** Called for one partition at a time, in order. The next call waits for the promise. Throwing is fatal. */
  readonly onRecords: (partition: number, records: readonly StoredRecord[]) => void | Promise<void>;
  /** Called with the next offset to read, also after control records and gaps. */
  readonly onPosition?: (partition: number, nextOffset: bigint) => void;
  /** Called when the handler threw or wanted records are gone. Reading has stopped, and the error is logged. */
  readonly onFatal?: (error: Error) => void;
  /** Default `utf8`; `latin1` keeps binary header values byte for byte. */
  readonly headerEncoding?: 'utf8' | 'latin1';
  /** Pause between two fetches after catching up, for a reader that need not know at once. Default 0. */
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
  /** Empty if all records are control records, aborted or parked. The position still moves. */
  readonly records: readonly T[];
  /** The store's position has to be exactly this. */
  readonly fromOffset: bigint;
  /** The store's next position: the offset of the next record to read. */
  readonly nextOffset: bigint;
}

export interface BatchContext {
  /** Throws RetryableError if the partition is lost. Then nothing of the batch may be committed. */
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
  /** Called when the loop has stopped for good. The process has to exit non-zero. */
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
  /** When a broker last answered a fetch or a partition was started, by `performance.now()`; now, if none is read. */
  readonly lastPollAtMs: number;
  /** When the last fetch began, so the one before had ended, answered or not. Now, while there is nothing to fetch. */
  readonly lastTurnAtMs: number;
  /** Partitions that wait, with the reason: the position is not known yet, or the batch is being retried. */
  readonly retrying: ReadonlyMap<number, string>;
}

export interface PartitionConsumer {
  /** Starts a partition, once the handler of an earlier assignment has ended. An assigned partition continues. */
  assign(partition: number): void;
  /**
   * Hands over nothing more of the partition. Resolves when its handler has ended.
   * @param isLost another process may own the partition already: nothing in flight may be committed
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
  /** The next offset to read, also after control records and gaps. */
  readonly nextOffset: bigint;
}

/** The log, as one process sees it. Everything opened from it is closed with it. No method needs its `this`. */
export interface Log {
  /** Creates missing topics, changes no existing one, and reports what differs, also in settings that it adds. */
  createTopics(specs: readonly TopicSpec[]): Promise<readonly TopicOutcome[]>;
  /** Throws TopicMismatch when a topic is missing, has other partitions, or differs in a setting that is relied on. */
  verifyTopics(specs: readonly TopicSpec[]): Promise<void>;
  /** Changes settings of a topic. Throws LogUnavailable, also if the user may not do that. */
  alterTopic(topic: string, config: TopicSpec['config']): Promise<void>;
  /** Throws TopicMismatch when the topic is missing, LogUnavailable after `timeoutMs` (default 15000). */
  partitionsOf(topic: string, options?: { readonly timeoutMs?: number }): Promise<number>;
  /** The high watermarks by partition, read during the call. Throws LogUnavailable after `timeoutMs` (default 1000). */
  endOffsets(topic: string, options?: { readonly timeoutMs?: number }): Promise<readonly bigint[]>;
  /** For each partition, the first offset not older than a time, if any. Throws LogUnavailable after ten seconds. */
  offsetsAt(topic: string, timestampMs: number): Promise<readonly (bigint | undefined)[]>;
  /**
   * The newest committed records of a partition, oldest first, at most 16. None if very much was aborted after them.
   * Throws LogUnavailable after ten seconds.
   */
  readLastRecords(topic: string, partition: number): Promise<readonly StoredRecord[]>;
  /**
   * The records at these offsets of a partition, keyed by offset. Leaves out those that are not stored or cannot be
   * decoded. Costs a fetch for each that no earlier fetch has brought. Throws LogUnavailable after two seconds.
   */
  readRecords(place: TopicPartition, offsets: readonly bigint[]): Promise<ReadonlyMap<bigint, StoredRecord>>;
  /**
   * The committed records of a partition, from `from` (default: the first stored record) until before `to` (default:
   * the end at the start). Each piece is at most 256 kB, or one record batch. Leaves out batches that cannot be
   * decoded. Throws FatalError if the log does not hold an offset, LogUnavailable after ten seconds without a piece.
   */
  readRange(place: TopicPartition, from?: bigint, to?: bigint): AsyncIterable<RecordPiece>;
  /**
   * Moves the end of a partition by `offsets` (above zero), with nothing to read at them. Throws LogUnavailable after a
   * minute: ask for `endOffsets` then.
   * @param transactionalId an id that nobody else uses
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
