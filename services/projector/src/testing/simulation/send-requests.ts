import { Draws, type Life, type VirtualTime } from '@makerbook/parts';

/** From then on nothing fails, and all is quick. */
export interface Calm {
  isCalm: boolean;
}

/** The requests of one process to what is outside of it: each takes a while to be served, and another one to be answered. */
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

  /**
   * What was on the way when the process died may be served all the same, and so may what is not answered.
   * @param isAway it is not served, for certain
   */
  send<T>(
    what: string,
    serve: () => T,
    failure: (fate: 'not served' | 'not answered') => Error,
    isAway = false,
  ): Promise<T> {
    const { life } = this;
    const chance = this.draws.at(this.#time.nowMs, what);
    const delayMs = () => (this.#calm.isCalm ? 1 : chance.below(chance.oneIn(10) ? 10 * this.#paceMs : this.#paceMs));
    const isUnsent = chance.oneIn(2);
    const isLost = isAway || (this.#hasFaults && !this.#calm.isCalm && chance.oneIn(40));
    const fate = isAway || chance.oneIn(2) ? 'not served' : 'not answered';
    return new Promise((resolve, reject) => {
      this.#time.after(delayMs(), () => {
        if (life.isOver && isUnsent) return;
        let settle: () => void;
        try {
          const answer = isLost && fate === 'not served' ? undefined : serve();
          settle = isLost ? () => reject(failure(fate)) : () => resolve(answer as T);
        } catch (error) {
          settle = () => reject(error);
        }
        life.after(delayMs(), settle);
      });
    });
  }
}
