import type { WatchedMaker } from '../watch/watched-maker.js';

/**
 * Takes makers from one on, until they have so many values to read.
 * @param take returns how many values the maker has: at least one, or none if it is not watched any more
 * @returns the place to go on from
 */
export function takeMakers(
  makers: readonly WatchedMaker[],
  from: number,
  valuesMax: number,
  take: (maker: WatchedMaker) => number,
): number {
  let next = from;
  let values = 0;
  for (const maker of makers.slice(from, from + valuesMax)) {
    if (values >= valuesMax) break;
    values += take(maker);
    next += 1;
  }
  return next;
}
