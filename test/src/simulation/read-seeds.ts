import { readFileSync } from 'node:fs';

/** The seeds of seeds.txt: one at the start of each line; what follows says why it is kept. */
export function readSeeds(): number[] {
  const text = readFileSync(new URL('../../src/simulation/seeds.txt', import.meta.url), 'utf8');
  return text.split('\n').flatMap((line) => {
    const seed = /^\d+/.exec(line)?.[0];
    return seed === undefined ? [] : [Number(seed)];
  });
}
