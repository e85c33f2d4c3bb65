import { createChance } from '@makerbook/parts';
import { type Action, type Plan, planRun } from '../simulation/plan-run.js';
import { TOPICS } from '../simulation/run-processes.js';
import { runUnjudged } from '../simulation/simulate-service.js';
import { openFeedFile } from './keep-files.js';

/**
 * Writes the feed of the simulation's makers, who trade for this long on an undisturbed service. The same seed gives
 * the same feed.
 * @returns how many records
 */
export async function makeFeed(file: string, seed: number, minutes: number): Promise<number> {
  const out = openFeedFile(file);
  const { published } = await runUnjudged(planQuietRun(seed, minutes * 60));
  const endMs = (published[0]?.timestampMs ?? 0) + minutes * 60_000;
  const records = published.filter(({ topic, timestampMs }) => topic === TOPICS.book && timestampMs < endMs);
  for (const { timestampMs: timeMs, ...record } of records) await out.write({ ...record, timeMs });
  await out.close();
  return records.length;
}

/** Plans a block and about one request each second. */
function planQuietRun(seed: number, seconds: number): Plan {
  const chance = createChance(seed);
  const draw = () => chance.below(2 ** 31);
  const actions: Action[] = (['ingress', 'query', 'projector', 'watcher'] as const).map((kind) => {
    return { atMs: 0, do: 'start', kind, draw: draw() };
  });
  actions.unshift({ atMs: 0, do: 'mine', acts: [] });
  for (let atMs = 0; atMs < seconds * 1000; atMs += 1000) {
    for (let left = chance.below(3); left > 0; left -= 1)
      actions.push({ atMs: atMs + chance.below(1000), do: 'visit', draw: draw() });
    actions.push({ atMs: atMs + 1000, do: 'mine', acts: Array.from({ length: chance.below(3) }, draw) });
  }
  const bounds = { commitTransitionsMax: 1_000, commitFactsMax: 1_000, heldMax: 1_000, batchFactsMax: 20 };
  return {
    ...planRun(seed, { hasFaults: false, hasCrashes: false, hasKills: false }),
    partitions: 2,
    hasCache: true,
    openOrdersMax: 100,
    projector: bounds,
    actions: actions.toSorted((a, b) => a.atMs - b.atMs),
    quietAtMs: seconds * 1000,
  };
}
