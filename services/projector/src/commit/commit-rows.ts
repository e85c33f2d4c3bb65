import type { Address } from '@makerbook/contracts-primitives';
import type { LogClock } from '@makerbook/domain';
import { RetryableError } from '@makerbook/kafka';
import {
  type ChangedRows,
  InvariantBroken,
  PostgresUnavailable,
  type Projection,
  type ProjectionStore,
  type Versioned,
} from '@makerbook/postgres';
import type { PartitionState } from '../fold/partition-state.js';
import { describeCacheChanges, describeRows } from './describe-rows.js';
import { findRefused } from './find-refused.js';
import { Changes } from './gather-changes.js';
import type { CacheRefresh } from './refresh-cache.js';
import type { Semaphore } from './semaphore.js';

/** Where a test may stop the process; whatever it throws is thrown there. */
export type Step = 'before publish' | 'after publish' | 'before commit' | 'after commit';

export interface CommitParts {
  readonly store: ProjectionStore;
  /** Absent: a fold beside the one that serves. */
  readonly refreshCache?: CacheRefresh;
  /** Commits of all partitions of the process. */
  readonly commits: Semaphore;
  readonly committed: (partition: number, changes: Changes, tookMs: number) => void;
  /** A monotonic clock, for measuring alone. */
  readonly nowMs: () => number;
  /** Resolves after the time, or once the signal is aborted. */
  readonly wait: (ms: number, signal: AbortSignal) => Promise<void>;
  readonly onStep?: (step: Step, partition: number) => Promise<void> | void;
}

interface Target {
  readonly nextOffset: bigint;
  readonly isBlockBegun: boolean;
  readonly clock: LogClock;
}

/**
 * Commits the rows of one partition behind the feeds: one commit at a time, and the next one takes all that has been folded
 * and published since. While Postgres is away it tries again; any other failure is thrown to the fold, which drops all.
 */
export class RowCommitter {
  /** Why rows are not committed: the commit is tried again, or has failed. */
  waitsFor: string | undefined;
  readonly #state: PartitionState;
  readonly #parts: CommitParts;
  readonly #refused: Map<Address, string>;
  readonly #stopping = new AbortController();
  #version: bigint;
  #committed: bigint;
  #underWay: { readonly done: Promise<void>; readonly changes: Changes } | undefined;
  #failure: Error | undefined;
  /** All before it is in Redis, as far as this owner knows. Undefined: some of it is not. */
  #cached: bigint | undefined;

  /** @param refused takes the makers whose rows the read model refuses, and why */
  constructor(state: PartitionState, projection: Projection, refused: Map<Address, string>, parts: CommitParts) {
    this.#state = state;
    this.#parts = parts;
    this.#refused = refused;
    this.#version = projection.version;
    this.#committed = projection.nextOffset;
    this.#cached = projection.isBlockBegun ? undefined : projection.nextOffset;
  }

  /** What is folded and perhaps not in Postgres. */
  uncommitted(): readonly Changes[] {
    return this.#underWay === undefined ? [this.#state.gathered] : [this.#state.gathered, this.#underWay.changes];
  }

  /** The next fact whose rows are not committed. */
  get position(): bigint {
    return this.#committed;
  }

  /** Whether changes of the maker are not committed. */
  isPinned(maker: Address): boolean {
    return this.uncommitted().some(({ makers }) => makers.has(maker));
  }

  /** To be called when what was folded is published: a commit takes it, at once or after the one under way. */
  begin(): void {
    const state = this.#state;
    const isPublished = state.unpublished.length === 0 && state.toPark.length === 0;
    if (this.#underWay !== undefined || this.#failure !== undefined || !isPublished || this.#isCommitted()) return;
    // An order that is to leave the book and is in no row would be forgotten in a crash.
    if ([...state.owed.values()].some((orders) => [...orders.values()].includes(undefined))) return;
    const changes = state.gathered;
    state.gathered = new Changes();
    const target = { nextOffset: state.nextOffset, isBlockBegun: state.isBlockBegun, clock: state.clock };
    const done = this.#commit(changes, target).then(
      () => {
        this.#underWay = undefined;
        this.begin();
      },
      (error: Error) => {
        this.#underWay = undefined;
        this.#failure ??= error;
        this.waitsFor = error.message;
      },
    );
    this.#underWay = { done, changes };
  }

  /** Resolves when the commit under way is done; undefined when none is. */
  get underWay(): Promise<void> | undefined {
    return this.#underWay?.done;
  }

  /** Throws what a commit has failed with. */
  assertGood(): void {
    if (this.#failure !== undefined) throw this.#failure;
  }

  /**
   * Reads rows, and throws where they are not those that this owner has written: another one has taken the partition, or the
   * database has been replaced by an older one.
   */
  async readRows<Rows extends Versioned>(read: () => Promise<Rows>): Promise<Rows> {
    const oldest = this.#version;
    const rows = await read();
    // Commits may have been made while it was read, and the answer of one may still be on its way.
    const newest = this.#underWay === undefined ? this.#version : this.#version + 1n;
    const other = rows.versions.find((version) => version < oldest || version > newest);
    if (other === undefined) return rows;
    const { partition } = this.#state.rules;
    throw new RetryableError(
      `the rows of partition ${partition} had version ${other}, and this process has left version ${newest}`,
    );
  }

  /** Ends the commit under way, and tries once to commit what has been published since. Never throws. */
  async leave(): Promise<void> {
    this.#stopping.abort();
    this.begin();
    while (this.#underWay !== undefined) await this.#underWay.done;
  }

  /** Begins no other commit, and waits for the one under way. */
  async close(): Promise<void> {
    this.#failure ??= new RetryableError('the partition was given up');
    this.#stopping.abort();
    await this.underWay;
  }

  #isCommitted(): boolean {
    const { nextOffset, gathered } = this.#state;
    return nextOffset === this.#committed && gathered.transitions === 0;
  }

  async #commit(changes: Changes, target: Target): Promise<void> {
    const { makers, quarantined, rules } = this.#state;
    const { nowMs, onStep } = this.#parts;
    const startedAtMs = nowMs();
    // All of it is described before anything is awaited: the fold goes on meanwhile.
    const rows = describeRows(changes, makers, quarantined);
    for (const maker of changes.makers) {
      const held = makers.get(maker);
      if (held !== undefined) held.storedFunding = new Map(held.draft.funding);
    }
    await this.#parts.commits.run(async () => {
      await onStep?.('before commit', rules.partition);
      await this.#save(rows, target, changes);
    });
    this.#committed = target.nextOffset;
    this.#version += 1n;
    this.#parts.committed(rules.partition, changes, nowMs() - startedAtMs);
    await onStep?.('after commit', rules.partition);
    await this.#refresh(target, changes, rows);
  }

  async #save(rows: ChangedRows, target: Target, changes: Changes): Promise<void> {
    const { store, wait } = this.#parts;
    const { partition } = this.#state.rules;
    const { nextOffset: to, ...rest } = target;
    const commit = { ...rows, ...rest, partition, version: this.#version, from: this.#committed, to };
    for (let delayMs = 100, isRepeat = false; ; delayMs = Math.min(2 * delayMs, 5_000), isRepeat = true) {
      try {
        if (isRepeat && (await this.#isSaved(to))) break;
        await store.saveProjection(commit);
        break;
      } catch (error) {
        if (error instanceof InvariantBroken) throw await findRefused(commit, changes, error, this.#refused, store);
        if (!(error instanceof PostgresUnavailable) || this.#stopping.signal.aborted) throw error;
        this.waitsFor = error.message;
        await wait(delayMs, this.#stopping.signal);
      }
    }
    this.waitsFor = undefined;
  }

  /** Whether a try of which no answer came has committed. */
  async #isSaved(to: bigint): Promise<boolean> {
    const { nextOffset, version } = await this.#parts.store.readProjection(this.#state.rules.partition);
    return version === this.#version + 1n && nextOffset === to;
  }

  /** Redis gets whole facts alone: its position cannot be in the middle of a block. */
  async #refresh({ nextOffset, isBlockBegun }: Target, changes: Changes, { opened }: ChangedRows): Promise<void> {
    const { refreshCache } = this.#parts;
    if (refreshCache === undefined) return;
    const prevPos = this.#cached ?? nowhere;
    this.#cached = isBlockBegun ? undefined : nextOffset;
    if (isBlockBegun) return;
    const { partition } = this.#state.rules;
    await refreshCache({ partition, prevPos, newPos: nextOffset, changes: describeCacheChanges(changes, opened) });
  }
}

/** A position where Redis never is: it forgets the partition, and fills anew. */
const nowhere = -1n;
