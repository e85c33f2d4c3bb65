import { type ChildProcess, fork } from 'node:child_process';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { createClient } from '@makerbook/client';
import { bytesToHex } from '@makerbook/contracts-evm';
import { readOptions } from '@makerbook/settings';
import { type Bench, withBench } from '../bench/open-bench.js';
import { type OrderLoad, type PlacingMaker, placeAndCancel, placingMaker } from '../kit/place-and-cancel.js';
import { readWhole } from '../kit/read-values.js';
import { bodyOf, type MakerKey } from '../kit/sign-orders.js';
import { percentile, round } from '../kit/summarise.js';
import { type Answers, attacks, type Target } from './attacks.js';

/** What another client may wait beside an attack: so many times its idle p99, or this where that is more. */
const IDLE_FACTOR_MAX = 2;
const P99_MS_MAX = 250;
const SETTLE_MS = 2_000;
/** A stack that has just started is slower than it will be. */
const WARM_MS = 15_000;
/** An order is cancelled in the round that places it. */
const PROBE = { roundsPerSecond: 5, openOrders: 0 };

const USAGE = `npm run abuse -- [--seconds N]
  attacks the local stack by other addresses, each in turn, beside a client that places, lists and cancels; exits with 1
  where that one waited too long or was refused. Linux, for the addresses 127.0.0.2 and on. --seconds: of each attack, 20`;
const { values } = readOptions(USAGE, { seconds: { type: 'string', default: '20' } });
const ms = 1000 * readWhole('--seconds', values.seconds, 1);

let isWrong = false;
await withBench(
  async (bench) => {
    const [other, attacker] = await bench.openMakers(2, 1_000_000);
    if (other === undefined || attacker === undefined) throw new Error('there are no makers');
    const target = aim(bench, attacker);
    // Through the gateway.
    const { addresses } = bench.stack;
    const prober = placingMaker(createClient({ ...addresses, signer: bytesToHex(other.key) }), addresses.tokens);
    await probe(prober, Math.max(WARM_MS, ms));
    const idle = await probe(prober, ms);
    const idleP99 = percentile(allOf(idle), 0.99);
    report('idle', 'nothing beside the client', idle, idleP99, {});
    const pidsOf = () => bench.stack.processes().map(({ name, pid }) => `${name} ${pid}`);
    for (const [name, { does }] of Object.entries(attacks)) {
      await pause(SETTLE_MS);
      const before = pidsOf();
      const { probed, answers } = await beside(name, target, () => probe(prober, ms));
      const died = before.filter((process) => !pidsOf().includes(process));
      report(name, does, probed, idleP99, answers, died);
    }
  },
  {},
  { isBounded: true },
);
console.log(isWrong ? '\nToo slow, or refused.' : '\nAll within bounds.');
process.exit(isWrong ? 1 : 0);

function aim(bench: Bench, attacker: MakerKey): Target {
  const orders = Array.from({ length: 100 }, () => bench.signOrder(attacker));
  const [first] = orders;
  const spoilt = orders.map((order, n) =>
    n === 99 && first !== undefined ? { ...order, signature: first.signature } : order,
  );
  const { hostname, port } = new URL(bench.stack.addresses.baseUrl);
  return { host: hostname, port: Number(port), batch: bodyOf(spoilt).toString() };
}

async function probe(prober: PlacingMaker, forMs: number): Promise<OrderLoad> {
  const load = placeAndCancel([prober], PROBE);
  await pause(forMs);
  await load.stop();
  return load;
}

async function beside(
  name: string,
  target: Target,
  work: () => Promise<OrderLoad>,
): Promise<{ probed: OrderLoad; answers: Answers }> {
  const child = fork(join(import.meta.dirname, 'attacker.js'), { stdio: 'inherit' });
  try {
    child.send({ name, target });
    await pause(SETTLE_MS);
    const probed = await work();
    return { probed, answers: await ended(child) };
  } finally {
    child.kill('SIGKILL');
  }
}

function ended(child: ChildProcess): Promise<Answers> {
  return new Promise((resolve, reject) => {
    child.once('message', (answers) => resolve(answers as Answers));
    child.once('exit', (code) => reject(new Error(`the attacker ended with ${code}`)));
    child.send('end');
  });
}

function report(
  name: string,
  does: string,
  probed: OrderLoad,
  idleP99: number,
  answers: Answers,
  died: readonly string[] = [],
): void {
  const p99 = percentile(allOf(probed), 0.99);
  const isWell = died.length === 0 && answers['500'] === undefined;
  const isRight = isWell && probed.failures.length === 0 && p99 < Math.max(P99_MS_MAX, IDLE_FACTOR_MAX * idleP99);
  isWrong ||= !isRight;
  const figures = Object.entries(probed.tookMs).map(([call, tookMs]) => {
    return `${call} ${round(percentile(tookMs, 0.5))} / ${round(percentile(tookMs, 0.99))}`;
  });
  console.log(`\n${name}: ${does}`);
  console.log(`  p50 / p99 ms: ${figures.join(', ')}; all p99 ${round(p99)}, ${round(p99 / idleP99, 1)} × idle`);
  console.log(
    `  the attacker was answered: ${
      Object.entries(answers)
        .map(([answer, n]) => `${answer} ${n}`)
        .join(', ') || '-'
    }`,
  );
  if (probed.failures.length > 0)
    console.log(`  not answered with 200: ${probed.failures.length}, the first: ${probed.failures[0]}`);
  if (died.length > 0) console.log(`  ended: ${died.join(', ')}`);
  if (!isRight) console.log('  OUT OF BOUNDS');
}

function allOf({ tookMs }: OrderLoad): number[] {
  return Object.values(tookMs).flat();
}
