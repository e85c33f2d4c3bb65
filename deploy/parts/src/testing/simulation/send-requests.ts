import { Draws } from './draws.js';
import type { Life, VirtualTime } from './keep-virtual-time.js';

/** The moment from which nothing fails, and all is quick. */
export interface Calm {
  isCalm: boolean;
}

/** Why a request has no answer. `refused`: its sender knows that it was not served; of the others nothing is known. */
export type Fate = 'refused' | 'not served' | 'not answered';

export interface SendOptions {
  /** It is not served, for certain. */
  readonly isAway?: boolean;
  /**
   * Its sender has an answer or a failure by then. It is served by then, or within a second more (an append: half a
   * minute), or never.
   */
  readonly timeoutMs?: number;
}

/** Serves a request at once, or some time later, or not. */
export type Send = <T>(
  what: string,
  serve: () => T,
  failure: (fate: Fate) => Error,
  options?: SendOptions,
) => Promise<T>;

/** Serves tests in which nothing fails. */
export const sendAtOnce: Send = async (_what, serve) => serve();

/** The requests of one process to the outside: each takes a while to be served, and another one to be answered. */
export class Requests {
  readonly life: Life;
  readonly draws: Draws;
  readonly #time: VirtualTime;
  readonly #calm: Calm;
  readonly #hasFaults: boolean;
  readonly #paceMs: number;

  constructor(draw: number, life: Life, time: VirtualTime, calm: Calm, hasFaults: boolean) {
    this.life = life;
    this.draws = new Draws(draw);
    this.#time = time;
    this.#calm = calm;
    this.#hasFaults = hasFaults;
    this.#paceMs = this.draws.at(-2, 'pace').pick([2, 20, 200]);
  }

  /** As a function of its own. */
  readonly sender: Send = (...request) => this.send(...request);

  /** What was on the way when the process died may be served all the same, and so may what is not answered. */
  send<T>(
    what: string,
    serve: () => T,
    failure: (fate: Fate) => Error,
    { isAway = false, timeoutMs = Number.POSITIVE_INFINITY }: SendOptions = {},
  ): Promise<T> {
    const { life } = this;
    const chance = this.draws.at(this.#time.nowMs, what);
    const delayMs = () => (this.#calm.isCalm ? 1 : chance.below(chance.oneIn(10) ? 10 * this.#paceMs : this.#paceMs));
    const isUnsent = chance.oneIn(2);
    const isLost = isAway || (this.#hasFaults && !this.#calm.isCalm && chance.oneIn(40));
    const isServed = !isAway && !(isLost && chance.oneIn(2));
    const soonMs = Math.min(delayMs(), timeoutMs + chance.below(SPARE_MS));
    const isLate = what === 'append' && isLost && isServed && Number.isFinite(timeoutMs) && chance.oneIn(2);
    const thereMs = isLate ? timeoutMs + chance.between(1, LATE_MS) : soonMs;
    return new Promise((resolve, reject) => {
      if (thereMs > timeoutMs) life.after(timeoutMs, () => reject(failure('not answered')));
      this.#time.after(thereMs, () => {
        if (life.isOver && isUnsent) return;
        let settle: () => void;
        try {
          const answer = isServed ? serve() : undefined;
          const fate = isServed ? 'not answered' : chance.oneIn(2) ? 'refused' : 'not served';
          settle = isLost ? () => reject(failure(fate)) : () => resolve(answer as T);
        } catch (error) {
          settle = () => reject(error);
        }
        const backMs = delayMs();
        const leftMs = timeoutMs - thereMs;
        if (backMs <= leftMs) life.after(backMs, settle);
        else if (leftMs >= 0) life.after(leftMs, () => reject(failure('not answered')));
      });
    });
  }
}

/** What was sent last before the time-out may be on its way for so long. */
const SPARE_MS = 1_000;
/** An append may be for longer: a closed socket still sends what it holds. */
const LATE_MS = 30_000;
