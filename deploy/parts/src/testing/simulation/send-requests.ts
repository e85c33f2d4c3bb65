import { Draws } from './draws.js';
import type { Life, VirtualTime } from './keep-virtual-time.js';

/** Tells whether the run is calm: from then on nothing fails, and everything is quick. */
export interface Calm {
  isCalm: boolean;
}

/** Why a request has no answer. Only with `refused` does the sender know that it was not served. */
export type Fate = 'refused' | 'not served' | 'not answered';

export interface SendOptions {
  /** The server is down: it surely does not serve the request. */
  readonly isAway?: boolean;
  /**
   * The sender has an answer or a failure within this time. The request is served within this time or a second more
   * (half a minute more for an append), or never.
   */
  readonly timeoutMs?: number;
}

/** Sends a request, which is served at once, later, or never. */
export type Send = <T>(
  what: string,
  serve: () => T,
  failure: (fate: Fate) => Error,
  options?: SendOptions,
) => Promise<T>;

/** Sends without faults or delay, for tests in which nothing fails. */
export const sendAtOnce: Send = async (_what, serve) => serve();

/** Sends the requests of one process to the outside. Each takes a while to be served, and another to be answered. */
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

  /** `send` as a function that can be passed on. */
  readonly sender: Send = (...request) => this.send(...request);

  /** A request in flight when the process dies may still be served. So may one that gets no answer. */
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

/** A request may arrive this long after its time-out. */
const SPARE_MS = 1_000;
/** An append may arrive even later: a closed socket still sends what it holds. */
const LATE_MS = 30_000;
