import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { readOptions } from '@makerbook/settings';
import { readWhole } from '../kit/read-values.js';
import type { ChaosResult, Round } from './run-chaos.js';

const USAGE = `npm run chaos -- [--minutes M] [--seed N] [--brokers 1|3] [--makers N] [--source topic|node] [--only WORD]
npm run chaos -- --alerts [--faster N] [--only WORD]
  harms one part of a whole stack after another, under load, and compares all that makers were answered with the log, the read
  model, the feed and a replay, and each order with the chain. --brokers 3: a Kafka of three brokers, of which one after another
  is killed. --source: whether the watchers have a topic of a node of Kaia beside JSON-RPC; unless given, those of an odd seed
  have. --only: faults whose kind or part contains the word. The figures and logs of a run are kept in .chaos/
  --alerts: takes each service, each part and a router away in turn, and waits until a real Prometheus raises the alert of its
  runbook, and until that ends. --faster: how many times shorter than in production the times of the rules are, 10 unless given
  (no window below a minute). --only: parts whose name contains the word. Needs prometheus on the PATH`;
/** The alerts need a router that acknowledges. */
const ROUTER = 'rehearsed';
/** Nothing is unavailable for longer when one of three brokers is killed. */
const AWAY_MS_MAX = 10_000;
const { values } = readOptions(USAGE, {
  minutes: { type: 'string', default: '5' },
  seed: { type: 'string', default: String(Date.now() % 1_000_000) },
  brokers: { type: 'string', default: '1' },
  makers: { type: 'string', default: '12' },
  source: { type: 'string' },
  only: { type: 'string' },
  alerts: { type: 'boolean', default: false },
  faster: { type: 'string', default: '10' },
});
const seed = readWhole('--seed', values.seed);
const minutes = readWhole('--minutes', values.minutes, 1);
const makers = readWhole('--makers', values.makers, 1);
const faster = readWhole('--faster', values.faster, 1);
const brokers = readWhole('--brokers', values.brokers, 1) === 3 ? 3 : 1;
const only = values.only ?? (brokers === 3 ? 'SIGKILL Kafka' : '');
const source = values.source ?? (seed % 2 === 1 ? 'topic' : 'node');
const folder = join('.chaos', `${seed}.logs`);
const report = (line: string) => console.log(line);

console.log(`seed ${seed}, source ${source}`);
const bed = await (await import('./open-bed.js')).openBed({
  brokers,
  ...(source === 'topic' && { topicSeed: seed }),
  ...(values.alerts && { router: ROUTER }),
});
const stop = () => bed.stop().finally(() => process.exit(1));
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP', 'disconnect'] as const) process.once(signal, () => void stop());
let isRight = false;
try {
  isRight = values.alerts ? await rehearse() : await harm();
} catch (error) {
  console.error(error);
  console.error(bed.restarts.slice(-20).join('\n'));
}
bed.keepLogs(folder);
await bed.stop();
process.exit(isRight ? 0 : 1);

async function harm(): Promise<boolean> {
  const { runChaos } = await import('./run-chaos.js');
  const result = await runChaos(bed, {
    seed,
    minutes,
    makers,
    oneAtATime: brokers === 3,
    isWanted: ({ kind, part }) => `${kind} ${part}`.includes(only),
    report,
  });
  return judge(result);
}

async function rehearse(): Promise<boolean> {
  const { rehearseAlerts } = await import('./rehearse-alerts.js');
  const wrong = await rehearseAlerts(bed, { router: ROUTER, seed, makers, faster, only, folder, report });
  for (const each of wrong) console.log(each);
  return wrong.length === 0;
}

/** Prints and keeps the figures. @returns whether nothing was wrong */
function judge(result: ChaosResult): boolean {
  const { findings, differences, skipped, rounds, failure, held, capped, told } = result;
  console.log(
    `ACTIVE was right ${held} times, and ${capped} times that a cap withheld an order; streams told ${told} changes`,
  );
  for (const each of skipped) console.log(`left out: ${each}`);
  for (const { wrong, text } of findings) console.log(`${wrong}: ${text}`);
  for (const difference of differences) console.log(difference);
  if (failure !== undefined) console.log(failure);
  const late = brokers === 3 ? rounds.filter(isLate) : [];
  for (const round of late) console.log(`away for longer than ${AWAY_MS_MAX} ms: ${JSON.stringify(round)}`);
  mkdirSync('.chaos', { recursive: true });
  writeFileSync(join('.chaos', `${seed}.json`), JSON.stringify({ seed, brokers, ...result }, undefined, 1));
  return failure === undefined && findings.length === 0 && differences.length === 0 && late.length === 0;
}

function isLate({ faults, recoveredMs }: Round): boolean {
  const isOfBroker = faults.every(({ kind, part }) => kind === 'SIGKILL' && part.startsWith('Kafka'));
  return isOfBroker && Math.max(...Object.values(recoveredMs)) > AWAY_MS_MAX;
}
