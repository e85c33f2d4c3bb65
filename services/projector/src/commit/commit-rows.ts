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
 * Commits the rows of one partition behind the feeds: one commit at a time, and the next one takes all that has been
 * folded and published since. While Postgres is away it tries again; any other failure is thrown to the fold, which
 * drops all.
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

  /** Call it when what was folded is published: a commit takes it, at once or after the one under way. */
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

  /** Resolves when the commit under way is done; undefined when none is. */
  get underWay(): Promise<void> | undefined {
    return this.#underWay?.done;
  }

  /** Throws what a commit has failed with. */
  assertGood(): void {
    if (this.#failure !== undefined) throw this.#failure;
  }

  /**
   * Reads rows, and throws where they are of a position that this owner has not written: an earlier owner has still
   * committed, a later one commits, or the server has lost the last commits. What is in memory would be mixed with
   * older or newer rows. At one position the rows are the same whoever wrote them, for they follow from the log. So it
   * is enough to look at where they were, in each statement that read them, and to take the partition again where that
   * is somewhere else.
   */
  async readRows<Rows extends Positioned>(read: ReadRows<Rows>): Promise<Rows> {
    const { partition } = this.#state.rules;
    const oldest = this.#committed;
    const rows = await read(this.#parts.store, partition);
    // Commits may have been made while it was read, and the answer of one may still be on its way.
    const newest = this.#underWay?.target ?? this.#committed;
    const other = rows.positions.find((position) => isBehind(position, oldest) || isBehind(newest, position));
    if (other === undefined) return rows;
    throw new RetryableError(
      `the rows of partition ${partition} are at ${other.nextOffset}, and this process has left them at ${newest.nextOffset}`,
    );
  }

  /** Ends the commit under way. In good order, it tries once to commit what has been published since. Never throws. */
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

  /** If a try without an answer has committed after all, the next one finds that the rows have moved, and fails. */
  async #commit(changes: Changes, to: Projection): Promise<void> {
    const { quarantined, rules } = this.#state;
    const { store, wait, meters } = this.#parts;
    const { partition } = rules;
    const startedAtMs = performance.now();
    // All of it is described before anything is awaited: the fold goes on meanwhile.
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

/** True if the one position is before the other. */
export function isBehind(one: RowsPosition, other: RowsPosition): boolean {
  return one.nextOffset === other.nextOffset ? one.blockParts < other.blockParts : one.nextOffset < other.nextOffset;
}
