import { type FencedPublisher, type Log, type LogRecord, PublisherFenced, type StoredRecord } from '@makerbook/kafka';

/** Serves a request at once, or some time later, or not. */
export type Send = <T>(what: string, serve: () => T) => Promise<T>;

/** What a process sees of the log. */
export interface LogView extends Pick<Log, 'endOffsets' | 'followTopic' | 'readLastRecords'> {
  readonly createFencedPublisher: () => FencedPublisher;
}

const atOnce: Send = async (_what, serve) => serve();

/** For tests that need hundreds of runs: one partition of a log and of its feeds, in memory, with Kafka's promises. */
export class LogInMemory {
  /** Planted defects: promises that it does not keep. */
  static hidesFeedEnd = false;
  static ignoresFence = false;
  static answersTooEarly = false;
  static splitsTransactions = false;
  static publishesClocksFirst = false;
  readonly records: StoredRecord[] = [];
  /** Everything that was published on the feeds, in order. */
  readonly published: LogRecord[] = [];
  readonly #place: { readonly topic: string; readonly partition: number; readonly partitions: number };
  #publishers = 0;

  /** @param place of the records; the other partitions are empty */
  constructor(place: { readonly topic: string; readonly partition: number; readonly partitions: number }) {
    this.#place = place;
  }

  get end(): bigint {
    return (this.records.at(-1)?.offset ?? -1n) + 1n;
  }

  connect(send: Send = atOnce): LogView {
    const { partition, partitions } = this.#place;
    return {
      endOffsets: () =>
        send('ends', () => Array.from({ length: partitions }, (_, index) => (index === partition ? this.end : 0n))),
      readLastRecords: (topic) =>
        send('feed end', () => {
          const records = LogInMemory.hidesFeedEnd ? [] : this.published.filter((record) => record.topic === topic);
          return records.slice(-16).map((record, index) => ({ ...record, offset: BigInt(index), timestampMs: 0 }));
        }),
      followTopic: (options) => this.#follow(options, send),
      createFencedPublisher: () => this.#openPublisher(send),
    };
  }

  #follow(
    { topic, from, onRecords, onPosition, onFatal, recordsMax = 5_000 }: Parameters<Log['followTopic']>[0],
    send: Send,
  ) {
    const { partition } = this.#place;
    const start = Array.isArray(from) ? (from[partition] ?? 0n) : 0n;
    let isStopped = false;
    const follow = async (): Promise<void> => {
      const records = await send('follow', () =>
        topic === this.#place.topic ? this.records.filter(({ offset }) => offset >= start) : [],
      ).catch(() => undefined);
      // As the follower does, which tries again until it is stopped.
      if (records === undefined) return isStopped ? undefined : follow();
      for (let at = 0; at < records.length && !isStopped; at += recordsMax) {
        const some = records.slice(at, at + recordsMax);
        await onRecords(partition, some);
        onPosition?.(partition, (some.at(-1)?.offset ?? -1n) + 1n);
      }
    };
    const caughtUp = follow().catch((error: Error) => onFatal?.(error));
    return {
      caughtUp,
      positions: () => [],
      lastPollAtMs: () => 0,
      stop: async () => {
        isStopped = true;
      },
    };
  }

  #openPublisher(send: Send): FencedPublisher {
    let own = 0;
    return {
      takeOver: () =>
        send('take over', () => {
          this.#publishers += 1;
          own = this.#publishers;
        }),
      publish: async (records) => {
        for (const whole of transactionsOf(records)) {
          const publishing = send('publish', () => {
            if (own !== this.#publishers && !LogInMemory.ignoresFence) {
              throw new PublisherFenced('another publisher has taken over');
            }
            this.published.push(...whole);
          });
          if (LogInMemory.answersTooEarly) publishing.catch(() => undefined);
          else await publishing;
        }
      },
      close: async () => undefined,
    };
  }
}

function transactionsOf(records: readonly LogRecord[]): LogRecord[][] {
  if (LogInMemory.splitsTransactions) {
    return [...Map.groupBy(records, ({ topic }) => topic).values()];
  }
  if (!LogInMemory.publishesClocksFirst) return [[...records]];
  return [records.toSorted((a, b) => Number(b.key.startsWith('clock:')) - Number(a.key.startsWith('clock:')))];
}
