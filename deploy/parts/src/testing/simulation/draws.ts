import { type Chance, createChance } from '../chance.js';

/**
 * Draws that depend on the seed, the moment and their purpose, not on the number of draws before. So a run stays the
 * same when the code draws more or less elsewhere.
 */
export class Draws {
  readonly #seed: number;
  #atMs = -1;
  readonly #drawn = new Map<string, number>();

  constructor(seed: number) {
    this.#seed = seed;
  }

  at(nowMs: number, what: string): Chance {
    if (nowMs !== this.#atMs) this.#drawn.clear();
    this.#atMs = nowMs;
    const nth = this.#drawn.get(what) ?? 0;
    this.#drawn.set(what, nth + 1);
    let hash = this.#seed ^ Math.imul(nth + 1, 0x9e3779b1) ^ Math.imul(nowMs % 2 ** 31, 0x85ebca6b);
    for (const char of what) hash = Math.imul(hash ^ (char.codePointAt(0) ?? 0), 0x01000193);
    return createChance(hash);
  }
}
