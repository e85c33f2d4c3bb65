import { ceType } from '@makerbook/contracts-events';
import {
  type AppendedAt,
  type Appender,
  type FollowOptions,
  type Log,
  type LogRecord,
  LogUnavailable,
  type StoredRecord,
} from '@makerbook/kafka';
import type { Life, VirtualTime } from '@makerbook/parts';
import { APPEND_TIMEOUT_MS, type Faults } from './draw-faults.js';

/** A record with the number of the record batch in which it was appended. */
export interface HeldRecord extends StoredRecord {
  readonly batch: number;
}

/** Topics in memory. Each process sees and writes them at its own pace. */
export class HeldLog {
  /** A planted defect: terms are read before what was stored earlier. */
  static showsTermsAtOnce = false;
  private readonly time: VirtualTime;
  private readonly partitionsMax: number;
  private readonly topics = new Map<string, HeldRecord[][]>();
  private readonly listeners = new Set<(topic: string, partition: number) => void>();
  private readonly onStored: (writer: string, records: readonly HeldRecord[]) => void;
  private batches = 0;

  constructor(
    time: VirtualTime,
    partitions: number,
    onStored: (writer: string, records: readonly HeldRecord[]) => void = () => undefined,
  ) {
    this.time = time;
    this.partitionsMax = partitions;
    this.onStored = onStored;
  }

  partitions(topic: string): readonly HeldRecord[][] {
    const held = this.topics.get(topic);
    if (held !== undefined) return held;
    const empty = Array.from({ length: this.partitionsMax }, () => []);
    this.topics.set(topic, empty);
    return empty;
  }

  /** All records are of one topic and partition. */
  store(writer: string, records: readonly LogRecord[]): AppendedAt[] {
    const [first] = records;
    const held = first && this.partitions(first.topic)[first.partition];
    if (first === undefined || held === undefined) throw new Error('no such partition');
    const { batches: batch, time } = this;
    this.batches += 1;
    const stored = records.map((record, index) => ({
      ...record,
      offset: BigInt(held.length + index),
      timestampMs: time.nowMs,
      batch,
    }));
    held.push(...stored);
    this.onStored(writer, stored);
    for (const listener of this.listeners) listener(first.topic, first.partition);
    return stored.map(({ partition, offset }) => ({ partition, offset }));
  }

  /** What was under way when its writer died may be stored all the same, or later, after its writer got a failure. */
  openAppender(life: Life, faults: Faults): Appender {
    const append = (records: readonly LogRecord[]) =>
      new Promise<readonly AppendedAt[]>((resolve, reject) => {
        const fate = faults.appendFate();
        const isUnsent = faults.isUnsent();
        const onTheWayMs = faults.appendMs() + (fate === 'late' ? APPEND_TIMEOUT_MS : 0);
        if (fate !== 'lost') {
          this.time.after(onTheWayMs, () => {
            if (life.isOver && isUnsent) return;
            const at = this.store(life.name, records);
            if (fate === 'stored') life.after(faults.appendMs(), () => resolve(at));
          });
        }
        if (fate === 'stored') return;
        const refused = new LogUnavailable(fate, { mayHaveBeenAppended: true });
        life.after(fate === 'late' ? faults.refusedAfterMs() : APPEND_TIMEOUT_MS, () => reject(refused));
      });
    return {
      append,
      appendAtomically: () => Promise.reject(new Error('no transactions here')),
      close: () => Promise.resolve(),
    };
  }

  connect(life: Life, faults: Faults): Pick<Log, 'followTopic' | 'endOffsets'> {
    return {
      endOffsets: async (topic) => {
        await life.delay(faults.followMs());
        return this.ends(topic);
      },
      followTopic: (options) => this.follow(options, life, faults),
    };
  }

  private ends(topic: string): bigint[] {
    return this.partitions(topic).map((records) => BigInt(records.length));
  }

  private follow({ topic, from, onRecords, onFatal }: FollowOptions, life: Life, faults: Faults) {
    const held = this.partitions(topic);
    const positions = held.map((_, partition) => (Array.isArray(from) ? Number(from[partition] ?? 0n) : 0));
    const isBusy = held.map(() => false);
    let isStopped = false;
    let ends: readonly bigint[] | undefined;
    let caughtUpNow: () => void = () => undefined;
    const caughtUp = new Promise<void>((resolve) => {
      caughtUpNow = resolve;
    });
    const lookWhetherCaughtUp = () => {
      if (ends?.every((end, partition) => BigInt(positions[partition] ?? 0) >= end)) caughtUpNow();
    };
    const isOpen = () => !(isStopped || life.isOver);
    const pump = async (partition: number) => {
      const records = held[partition] ?? [];
      if (isBusy[partition] || ends === undefined) return;
      isBusy[partition] = true;
      while (isOpen() && (positions[partition] ?? 0) < records.length) {
        await life.delay(faults.followMs());
        const fetched = records.slice(positions[partition]);
        await life.delay(faults.followMs());
        if (!isOpen()) return;
        await onRecords(partition, fetched);
        positions[partition] = (positions[partition] ?? 0) + fetched.length;
        lookWhetherCaughtUp();
      }
      isBusy[partition] = false;
    };
    const start = (partition: number) => void pump(partition).catch(onFatal);
    const showTerms = (partition: number) => {
      const last = held[partition]?.at(-1);
      if (last?.headers['ce_type'] === TERM_STARTED) void onRecords(partition, [last]);
    };
    const listener = (appended: string, partition: number) => {
      if (!isOpen()) this.listeners.delete(listener);
      else if (appended === topic) {
        if (HeldLog.showsTermsAtOnce) showTerms(partition);
        start(partition);
      }
    };
    this.listeners.add(listener);
    life.after(faults.followMs(), () => {
      ends = this.ends(topic);
      for (const partition of held.keys()) start(partition);
      lookWhetherCaughtUp();
    });
    return {
      caughtUp,
      positions: () => positions.map(BigInt),
      lastPollAtMs: () => life.nowMs(),
      stop: async () => {
        isStopped = true;
      },
    };
  }
}

const TERM_STARTED = ceType('TermStarted');
