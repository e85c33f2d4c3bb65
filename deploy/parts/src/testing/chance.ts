/** Random numbers from a seed: the same seed gives the same numbers (mulberry32). */
export interface Chance {
  /** A whole number from 0 to below `end`. */
  below(end: number): number;
  /** A whole number from `first` to `last`, both included. */
  between(first: number, last: number): number;
  oneIn(times: number): boolean;
  pick<T>(options: readonly [T, ...T[]]): T;
  /** Undefined if there is nothing to pick from. */
  pickAny<T>(options: readonly T[]): T | undefined;
  /** Picks a name with a probability in proportion to its weight. */
  pickWeighted<Name extends string>(weights: Readonly<Record<Name, number>>): Name;
  /** A number of 128 bits. */
  wide(): bigint;
}

export function createChance(seed: number): Chance {
  let state = seed >>> 0;
  const next = (): number => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return (mixed ^ (mixed >>> 14)) >>> 0;
  };
  const below = (end: number): number => Math.floor((next() / 2 ** 32) * end);
  return {
    below,
    between: (first, last) => first + below(last - first + 1),
    oneIn: (times) => below(times) === 0,
    pick: (options) => options[below(options.length)] ?? options[0],
    pickAny: (options) => options[below(options.length)],
    pickWeighted(weights) {
      const entries = Object.entries(weights) as [keyof typeof weights, number][];
      let left = below(entries.reduce((sum, [, weight]) => sum + weight, 0));
      for (const [name, weight] of entries) {
        if (left < weight) return name;
        left -= weight;
      }
      throw new Error('nothing to pick from');
    },
    wide: () => [0, 0, 0, 0].reduce<bigint>((wide) => (wide << 32n) | BigInt(next()), 0n),
  };
}
