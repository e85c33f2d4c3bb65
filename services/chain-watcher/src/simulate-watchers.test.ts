import { describe, expect, test } from '@jest/globals';
import { type SimulationOptions, simulateWatchers } from './testing/simulation/simulate-watchers.js';

/** Runs the seeds; of the first one in which something was wrong it says all that happened. */
async function simulate(
  seeds: number,
  given: Omit<SimulationOptions, 'seed'>,
): Promise<{ held: number; kills: number }> {
  const sums = { held: 0, kills: 0 };
  for (let seed = 1; seed <= seeds; seed += 1) {
    const { wrong, held, kills } = await simulateWatchers({ ...given, seed });
    if (wrong.length > 0)
      throw new Error([...(await traceOf({ ...given, seed })), ...wrong, `seed ${seed}`].join('\n'));
    sums.held += held;
    sums.kills += kills;
  }
  return sums;
}

async function traceOf(options: SimulationOptions): Promise<string[]> {
  const lines: string[] = [];
  await simulateWatchers({ ...options, onLine: (line) => lines.push(line) });
  return lines;
}

describe('what watchers say is so, whatever comes between their steps', () => {
  test('of one watcher, on nodes and a log that fail', async () => {
    expect((await simulate(80, { watchers: 1, hasKills: false, hasFaults: true })).held).toBeGreaterThan(1000);
  });

  test('of one after the other, killed anywhere', async () => {
    const { held, kills } = await simulate(80, { watchers: 1, hasKills: true });
    expect(held).toBeGreaterThan(1000);
    expect(kills).toBeGreaterThan(50);
  });

  test('of several side by side', async () => {
    expect((await simulate(80, { watchers: 3 })).held).toBeGreaterThan(1000);
  });
});

test('the same seed does the same again', async () => {
  const options = { seed: 7, watchers: 3, hasKills: true, hasFaults: true };
  const trace = await traceOf(options);
  expect(trace.length).toBeGreaterThan(100);
  expect(await traceOf(options)).toEqual(trace);
});
