import { createChance } from '../write-history.js';

/** The one source of chance of a run: the same numbers for the same seed. */
export interface Chance {
  /** A whole number from 0 to below `end`. */
  below(end: number): number;
  /** A whole number from `first` to `last`, both included. */
  between(first: number, last: number): number;
  oneIn(times: number): boolean;
  pick<T>(options: readonly [T, ...T[]]): T;
  /** Undefined where there is nothing to pick from. */
  pickAny<T>(options: readonly T[]): T | undefined;
}

export function openChance(seed: number): Chance {
  const below = createChance(seed);
  return {
    below,
    between: (first, last) => first + below(last - first + 1),
    oneIn: (times) => below(times) === 0,
    pick: (options) => options[below(options.length)] ?? options[0],
    pickAny: (options) => options[below(options.length)],
  };
}
