import { retry } from '@makerbook/contracts-primitives';
import { RetryableError } from '@makerbook/kafka';
import { PostgresUnavailable, type Projection, type RowsPosition } from '@makerbook/postgres';
import type { PartitionState } from '../fold/partition-state.js';
import type { ProjectorParts } from '../parts.js';
import type { Positioned, ProjectionStore } from '../store/open-store.js';
import { describeRows } from './describe-rows.js';
import { Changes } from './gather-changes.js';

export type ReadRows<Rows extends Positioned> = (store: ProjectionStore, partition: number) => Promise<Rows>;

/**
 * Commits the rows of one partition behind the feeds. One commit runs at a time. The next one takes all that was folded
 * and published meanwhile. While Postgres is down, the commit is retried. Any other failure is thrown to the fold,
 * which drops its memory.
 */
export class RowCommitter {
  /** Why rows are not committed: the commit is tried again, or has failed. */
  waitsFor: string | undefined;
  readonly #state: PartitionState;
  readonly #parts: ProjectorParts;
  readonly #stopping = new AbortController();
  #committed: RowsPosition;
  #underWay: { readonly done: Promise<void>; readonly changes: Changes; readonly target: Projection } | undefined;
  #failure: Error | undefined;

  constructor(state: PartitionState, projection: Projection, parts: ProjectorParts) {
    this.#state = state;
    this.#parts = parts;
    this.#committed = projection;
  }

  /** The changes that are folded and perhaps not in Postgres, oldest first. */
  uncommitted(): readonly Changes[] {
    return this.#underWay === undefined ? [this.#state.gathered] : [this.#underWay.changes, this.#state.gathered];
  }

  get committed(): RowsPosition {
    return this.#committed;
  }

  /** Begins a commit of what was folded, at once or after the commit in flight. Call it once that is published. */
  begin(): void {
    const state = this.#state;
    const isPublished = state.unpublished.length === 0 && state.toPark.length === 0;
    if (this.#underWay !== undefined || this.#failure !== undefined || !isPublished || this.#isCommitted()) return;
    const changes = state.gathered;
    state.gathered = new Changes();
    const { nextOffset, clock, clockMs, book } = state;
    const { nextOffset: from, blockParts } = this.#committed;
    const part = nextOffset === from ? blockParts + 1 : 1;
    const target = { nextOffset, blockParts: state.isBlockBegun ? part : 0, clock, clockMs, book: book.digest };
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
    this.#underWay = { done, changes, target };
  }

  /** Resolves when the commit in flight is done; undefined when none is in flight. */
  get underWay(): Promise<void> | undefined {
    return this.#underWay?.done;
  }

  /** Throws the error that a commit failed with. */
  assertGood(): void {
    if (this.#failure !== undefined) throw this.#failure;
  }

  /**
   * Reads rows. Throws if they are at a position that this owner has not written: an earlier owner still committed, a
   * later one commits, or the server has lost the last commits. Memory would then be mixed with older or newer rows.
   * Rows at one position are the same whoever wrote them, because they follow from the log. So it is enough to compare
   * the position that each statement read, and to take the partition again if it differs.
   */
  async readRows<Rows extends Positioned>(read: ReadRows<Rows>): Promise<Rows> {
    const { partition } = this.#state.rules;
    const oldest = this.#committed;
    const rows = await read(this.#parts.store, partition);
    // A commit may have ended during the read, or its answer may still be in flight.
    const newest = this.#underWay?.target ?? this.#committed;
    const other = rows.positions.find((position) => isBehind(position, oldest) || isBehind(newest, position));
    if (other === undefined) return rows;
    throw new RetryableError(
      `the rows of partition ${partition} are at ${other.nextOffset}, but this process left them at ${newest.nextOffset}`,
    );
  }

  /** Ends the commit in flight. If `isInOrder`, it also tries once to commit what was published since. Never throws. */
  async close(isInOrder: boolean): Promise<void> {
    if (!isInOrder) this.#failure ??= new RetryableError('the partition was given up');
    this.#stopping.abort();
    this.begin();
    while (this.#underWay !== undefined) await this.#underWay.done;
  }

  #isCommitted(): boolean {
    const { nextOffset, gathered } = this.#state;
    return nextOffset === this.#committed.nextOffset && gathered.makers.size === 0;
  }

  /** If a try without an answer did commit, the next try finds that the rows have moved, and fails. */
  async #commit(changes: Changes, to: Projection): Promise<void> {
    const { quarantined, rules } = this.#state;
    const { store, wait, meters } = this.#parts;
    const { partition } = rules;
    const startedAtMs = performance.now();
    // Describe everything before the first await: the fold continues meanwhile.
    const rows = describeRows(changes, quarantined);
    for (const cached of changes.makers.values()) cached.storedFunding = new Map(cached.draft.funding);
    const forgetsEnded = changes.types.has('BlockProcessed');
    const commit = { ...rows, partition, from: this.#committed, to, forgetsEnded };
    const mayRepeat = (error: unknown) => {
      if (!(error instanceof PostgresUnavailable)) return false;
      this.waitsFor = error.message;
      return true;
    };
    await retry(() => store.saveProjection(commit), { mayRepeat, signal: this.#stopping.signal, wait });
    this.waitsFor = undefined;
    this.#committed = to;
    meters.committed?.(partition, changes, performance.now() - startedAtMs);
  }
}

/** True if `one` is before `other`. */
export function isBehind(one: RowsPosition, other: RowsPosition): boolean {
  return one.nextOffset === other.nextOffset ? one.blockParts < other.blockParts : one.nextOffset < other.nextOffset;
}
