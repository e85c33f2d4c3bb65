import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { type ChaosBed, openBed } from './open-bed.js';
import { runChaos } from './run-chaos.js';

/** One of each sort, and everything at once. `npm run chaos` draws from all of them. */
const handful = [
  'SIGKILL everything',
  'SIGSTOP, SIGCONT chain-watcher',
  'SIGKILL chain-watcher-2',
  'connections cut Kafka',
  'packets lost Redis',
  'clock jump ingress',
  'disk full Postgres',
];

let bed: ChaosBed;

beforeAll(async () => {
  bed = await openBed(1);
});

afterAll(async () => {
  await bed?.stop();
});

test('one fault after another, in a random order and under load: nothing answered is lost, invented or doubled, and each order is what the chain says', async () => {
  const lines: string[] = [];
  const { failure, findings, differences, held, tally } = await runChaos(bed, {
    seed: 1,
    minutes: 10,
    makers: 3,
    // What comes whatever is answered must not overload a machine that runs other tests too.
    actionsPerSecond: 6,
    roundsMax: handful.length,
    holdMsMax: 1_500,
    isWanted: ({ kind, part }) => handful.includes(`${kind} ${part}`),
    report: (line) => lines.push(line),
  });
  expect({ failure, findings, differences, lines }).toEqual({
    failure: undefined,
    findings: [],
    differences: [],
    lines,
  });
  expect(held).toBeGreaterThan(100);
  expect(tally['chain mined']).toBeGreaterThan(10);
}, 600_000);
