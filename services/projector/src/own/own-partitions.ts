import { type MonotonicMs, monotonicMs, pause } from '@makerbook/contracts-primitives';
import type { PartitionConsumer } from '@makerbook/kafka';
import { PostgresUnavailable, type RowsPosition } from '@makerbook/postgres';
import type { Logger } from '@makerbook/telemetry';
import { isBehind } from '../commit/commit-rows.js';
import type { ClaimRequest, Claims } from '../store/claim-work.js';
import type { Projector } from './project-log.js';

export interface OwnershipParts {
  /** One look at the claims; see `claimWork`. */
  readonly claim: (request: Pick<ClaimRequest, 'busy' | 'isLeaving'>) => Promise<Claims>;
  readonly consumer: Pick<PartitionConsumer, 'assign' | 'revoke' | 'health'>;
  /** Asks whether any broker answers now. A look at the claims waits for it. */
  readonly isKafkaThere: () => Promise<boolean>;
  readonly onRevoked: Projector['onRevoked'];
  /** Up to where the process has committed a partition's rows; undefined if it has not taken the partition. */
  readonly committedOf: (partition: number) => RowsPosition | undefined;
  readonly logger: Logger;
  /** Called when the claims cannot be read any more, or a partition cannot be given up: the process must exit. */
  readonly onFatal: (error: Error) => void;
}

const LOOK_INTERVAL_MS = 300;
/** After this silence of all brokers, a process asks once more, and then leaves its partitions to others. */
const KAFKA_SILENCE_MS_MAX = 10_000;
/** In its first look a process takes only what others have left. */
const FIRST_LOOKS = 2;

/**
 * Owns partitions by claims in Postgres. It begins what it gets. Before it gives back what others should have, it ends
 * that in order. It drops without a commit what another process has taken.
 *
 * While Postgres does not answer, it keeps what it has. If others do reach Postgres and take a partition, the epoch of
 * its publisher is the fence. If Postgres answers and no broker does, it takes nothing until a broker answers, and at
 * once leaves all that it has to another process that a broker answers. If there is none, for example while Kafka is
 * down, it keeps what it has.
 */
export class Ownership {
  readonly #parts: OwnershipParts;
  readonly #owned = new Set<number>();
  readonly #ending = new Map<number, Promise<void>>();
  readonly #looking: Promise<void>;
  #waiting = new AbortController();
  #toConfirm: (() => void)[] = [];
  #isLeaving = false;
  #isCutOff = false;
  /** No broker answers this process, and another process is there to take its partitions. */
  #hasHeir = false;
  #heardAtMs = monotonicMs();
  #answered = 0;
  #failure: string | undefined;
  #lastLookAtMs = monotonicMs();

  constructor(parts: OwnershipParts) {
    this.#parts = parts;
    this.#looking = this.#keepLooking().catch(parts.onFatal);
  }

  /** Resolves once a look that began after the call is answered, and the partitions it showed as lost are revoked. */
  readonly confirmed = (): Promise<void> => new Promise((resolve) => this.#toConfirm.push(resolve));

  /** When the last look ended, answered or not. */
  lastLookAtMs(): MonotonicMs {
    return this.#lastLookAtMs;
  }

  /**
   * Why the process may own less than its share: its first looks or its last look had no answer, or no broker answers.
   */
  waitsFor(): string | undefined {
    if (this.#isCutOff) return 'no broker answers: other processes may take its partitions';
    return this.#failure ?? (this.#answered < FIRST_LOOKS ? 'the first looks at claims are unanswered' : undefined);
  }

  /** Ends all partitions in order and gives them back. */
  readonly stop = async (): Promise<void> => {
    this.#isLeaving = true;
    for (const partition of this.#owned) this.#end(partition, false);
    this.#waiting.abort();
    await Promise.all([this.#looking, ...this.#ending.values()]);
  };

  async #keepLooking(): Promise<void> {
    for (let isLast = false; !isLast; ) {
      this.#waiting = new AbortController();
      // The last look gives all back. Without an answer, others take it when this process has been silent for a while.
      isLast = this.#isLeaving && this.#owned.size + this.#ending.size === 0;
      await this.#tryToLook();
      if (!isLast) await pause(LOOK_INTERVAL_MS, this.#waiting.signal);
    }
  }

  async #tryToLook(): Promise<void> {
    const { logger } = this.#parts;
    const asked = this.#toConfirm;
    this.#toConfirm = [];
    try {
      await this.#look();
      if (this.#failure !== undefined) logger.info({}, 'the claims can be read again');
      this.#failure = undefined;
      this.#answered += 1;
      for (const confirm of asked) confirm();
    } catch (error) {
      if (!(error instanceof PostgresUnavailable)) throw error;
      this.#toConfirm.push(...asked);
      if (this.#failure === undefined) logger.warn({ reason: error.message }, 'the claims cannot be read');
      this.#failure = error.message;
    } finally {
      this.#lastLookAtMs = monotonicMs();
    }
  }

  async #look(): Promise<void> {
    const { committedOf } = this.#parts;
    await this.#findCutOff();
    const isAway = this.#isCutOff;
    const busy = [...this.#owned, ...this.#ending.keys()];
    const committed = new Map([...this.#owned].map((partition) => [partition, committedOf(partition)]));
    const isLeaving = this.#isLeaving || isAway;
    const claims = await this.#parts.claim({ busy: isAway && this.#hasHeir ? [] : busy, isLeaving });
    this.#hasHeir = isAway && claims.surplus.size > 0;
    for (const partition of this.#owned) {
      const isSurplus = claims.surplus.has(partition) && !isAway;
      if (!claims.owned.has(partition)) this.#end(partition, true);
      else if (isSurplus || hasLost(claims, partition, committed.get(partition))) this.#end(partition, false);
    }
    // The next look gives back what has ended meanwhile.
    for (const partition of claims.owned) if (!busy.includes(partition) && !this.#isLeaving) this.#begin(partition);
  }

  /** Asks a broker, to tell a process that is cut off from one whose partitions have no leader. */
  async #findCutOff(): Promise<void> {
    const { consumer, isKafkaThere, logger } = this.#parts;
    const { lastPollAtMs, retrying } = consumer.health();
    // While positions are asked for, or batches wait to be handled, there may be nothing to fetch.
    if (retrying.size === 0 && lastPollAtMs > this.#heardAtMs) this.#heardAtMs = lastPollAtMs;
    const wasCutOff = this.#isCutOff;
    if (!wasCutOff && monotonicMs() - this.#heardAtMs <= KAFKA_SILENCE_MS_MAX) return;
    this.#isCutOff = !(await isKafkaThere());
    if (!this.#isCutOff) this.#heardAtMs = monotonicMs();
    if (this.#isCutOff && !wasCutOff) logger.warn({}, 'no broker answers: other processes may take the partitions');
    if (wasCutOff && !this.#isCutOff) logger.info({}, 'a broker answers again');
  }

  #begin(partition: number): void {
    this.#owned.add(partition);
    this.#parts.logger.info({ partition }, 'a partition is owned');
    this.#parts.consumer.assign(partition);
  }

  #end(partition: number, isLost: boolean): void {
    const { logger, consumer, onRevoked, onFatal } = this.#parts;
    this.#owned.delete(partition);
    logger.info({ partition }, isLost ? 'a partition was taken by another process' : 'a partition is released');
    const work = consumer
      .revoke(partition, isLost)
      .then(() => onRevoked(partition, isLost))
      .catch(onFatal)
      .finally(() => {
        this.#ending.delete(partition);
        this.#waiting.abort();
      });
    this.#ending.set(partition, work);
  }
}

/** True if a crash of Postgres has lost commits. The partition is then taken again, and its facts are folded again. */
function hasLost({ positions }: Claims, partition: number, committed: RowsPosition | undefined): boolean {
  const position = positions.get(partition);
  return committed !== undefined && position !== undefined && isBehind(position, committed);
}
