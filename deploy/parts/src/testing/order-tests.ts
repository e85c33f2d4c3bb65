import { statSync } from 'node:fs';

/** What is read of a test of Jest's. */
type TestFile = { readonly path: string };

/** Files that start a whole stack or several brokers: they take the longest, and the most CPU. */
const LARGE = /\/test\/dist\/|\/kafka\/dist\/cluster\//;
const SMALL_BESIDE_LARGE = 3;

/**
 * Jest's test sequencer: a large file, then some others, and so on; the longer ones first. The large ones begin early,
 * or the last of them would run alone at the end, and not all at once, or there would be no core left for their
 * processes.
 */
export default class OrderTests {
  sort<T extends TestFile>(tests: readonly T[]): T[] {
    const sorted = [...tests].sort((one, other) => statSync(other.path).size - statSync(one.path).size);
    const small = sorted.filter(({ path }) => !LARGE.test(path));
    const mixed = sorted
      .filter(({ path }) => LARGE.test(path))
      .flatMap((large) => [large, ...small.splice(0, SMALL_BESIDE_LARGE)]);
    return [...mixed, ...small];
  }

  /** Every run is a first one. */
  cacheResults(): void {}
}
