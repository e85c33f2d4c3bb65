/** A source of chance that gives the same numbers for the same seed (mulberry32). */
export interface Random {
  /** A whole number from 0 to below `limit`. */
  below(limit: number): number;
  pick<T>(options: readonly [T, ...T[]]): T;
  bytes(length: number): Uint8Array;
  /** True once in `times`. */
  oneIn(times: number): boolean;
}

export function createRandom(seed: number): Random {
  let state = seed >>> 0;
  const next = () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
  const below = (limit: number) => Math.floor(next() * limit);
  return {
    below,
    pick: (options) => options[below(options.length)] ?? options[0],
    bytes: (length) => Uint8Array.from({ length }, () => below(256)),
    oneIn: (times) => below(times) === 0,
  };
}
