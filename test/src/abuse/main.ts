import { type ChildProcess, fork } from 'node:child_process';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { createClient } from '@makerbook/client';
import { bytesToHex } from '@makerbook/contracts-evm';
import { type Info, paths } from '@makerbook/contracts-http';
import { readOptions } from '@makerbook/settings';
import { type Bench, withBench } from '../bench/open-bench.js';
import { type PlacingMaker, placeAndCancel, placingMaker } from '../kit/place-and-cancel.js';
import { readWhole } from '../kit/read-values.js';
import { bodyOf, type MakerKey } from '../kit/sign-orders.js';
import { percentile, round } from '../kit/summarise.js';
import { type Answers, attacks, type Target } from './attacks.js';
import { openBurners } from './open-burners.js';

/**
 * How long another client may wait during an attack: this many times its wait without one, or at least `P95_MS_MAX`.
 */
const QUIET_FACTOR_MAX = 2;
const P95_MS_MAX = 250;
/** Likewise, how old the newest block that judged orders may be. */
const P95_BLOCK_SECONDS_MAX = 5;
const SETTLE_MS = 2_000;
/** Quiet and attacked windows alternate, so that other work of the machine shows in both. */
const WINDOW_MS = 10_000;
/** A stack is slower just after its start. */
const WARM_MS = 15_000;
/** An order is cancelled in the round that places it. */
const PROBE = { roundsPerSecond: 5, openOrders: 0 };
const BLOCK_EVERY_MS = 500;

const USAGE = `npm run abuse -- [--seconds N] [--attacks NAME,NAME]
  attacks the local stack by other addresses, each in turn, beside a client that places, lists and cancels; exits with 1
  where that one waited too long or was refused. Linux, for the addresses 127.0.0.2 and on. --seconds: of each attack, 20`;
const { values } = readOptions(USAGE, { seconds: { type: 'string', default: '20' }, attacks: { type: 'string' } });
const windows = Math.ceil((1000 * readWhole('--seconds', values.seconds, 1)) / WINDOW_MS);
const named = values.attacks?.split(',');
const chosen = Object.entries(attacks).filter(([name]) => named?.includes(name) ?? true);
if (chosen.length === 0) throw new Error(`--attacks must name some of ${Object.keys(attacks).join(', ')}`);

let isWrong = false;
await withBench(
  async (bench) => {
    const [other, attacker] = await bench.openMakers(2, 1_000_000);
    if (other === undefined || attacker === undefined) throw new Error('there are no makers');
    const target = await aim(bench, attacker);
    // Probe through the gateway.
    const { addresses } = bench.stack;
    const prober = placingMaker(createClient({ ...addresses, signer: bytesToHex(other.key) }), addresses.tokens);
    const probe = (into: Probed, ms: number) => probeFor(prober, addresses.baseUrl, into, ms);
    await probe(nothing(), WARM_MS);
    const pidsOf = () => bench.stack.processes().map(({ name, pid }) => `${name} ${pid}`);
    for (const [name, { does }] of chosen) {
      const [quiet, attacked, answers] = [nothing(), nothing(), {}];
      const before = pidsOf();
      for (let window = 0; window < windows; window += 1) {
        await pause(SETTLE_MS);
        await probe(quiet, WINDOW_MS);
        await beside(name, target, answers, () => probe(attacked, WINDOW_MS));
      }
      const died = before.filter((process) => !pidsOf().includes(process));
      report(name, does, quiet, attacked, answers, died);
    }
  },
  { WALLET_RPC_URL: 'own' },
  { isBounded: true },
);
console.log(isWrong ? '\nToo slow, or refused.' : '\nAll within bounds.');
process.exit(isWrong ? 1 : 0);

async function aim(bench: Bench, attacker: MakerKey): Promise<Target> {
  const orders = Array.from({ length: 100 }, () => bench.signOrder(attacker));
  const [first] = orders;
  const spoilt = orders.map((order, n) =>
    n === 99 && first !== undefined ? { ...order, signature: first.signature } : order,
  );
  const { hostname, port } = new URL(bench.stack.addresses.baseUrl);
  const maker = { key: bytesToHex(attacker.key), address: attacker.address };
  const batch = bodyOf(spoilt).toString();
  return { host: hostname, port: Number(port), batch, maker, domain: bench.domain, burners: await openBurners(bench) };
}

/** The measurements of the other client. */
interface Probed {
  /** Milliseconds of each call that was answered with 200. */
  readonly tookMs: Record<string, number[]>;
  readonly blockSeconds: number[];
  readonly failures: string[];
}

function nothing(): Probed {
  return { tookMs: {}, blockSeconds: [], failures: [] };
}

async function probeFor(prober: PlacingMaker, baseUrl: string, into: Probed, forMs: number): Promise<void> {
  const load = placeAndCancel([prober], PROBE);
  for (const untilMs = performance.now() + forMs; performance.now() < untilMs; await pause(BLOCK_EVERY_MS)) {
    const answer = await fetch(`${baseUrl}${paths.info}`).catch(() => undefined);
    const { block } = answer?.ok ? ((await answer.json()) as Info) : {};
    if (block) into.blockSeconds.push(Number(answer?.headers.get('x-server-time')) / 1000 - block.timestamp);
    else into.failures.push(`info: ${answer?.status ?? 'no answer'}`);
  }
  await load.stop();
  for (const [call, tookMs] of Object.entries(load.tookMs)) {
    into.tookMs[call] ??= [];
    into.tookMs[call].push(...tookMs);
  }
  into.failures.push(...load.failures);
}

async function beside(name: string, target: Target, sum: Answers, work: () => Promise<void>): Promise<void> {
  const child = fork(join(import.meta.dirname, 'attacker.js'), { stdio: 'inherit' });
  try {
    child.send({ name, target });
    await pause(SETTLE_MS);
    await work();
    for (const [answer, n] of Object.entries(await ended(child))) sum[answer] = (sum[answer] ?? 0) + n;
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
  quiet: Probed,
  attacked: Probed,
  answers: Answers,
  died: readonly string[],
): void {
  const p95 = (probed: Probed) => percentile(Object.values(probed.tookMs).flat(), 0.95);
  const age = (probed: Probed) => percentile(probed.blockSeconds, 0.95);
  const isQuick = p95(attacked) < Math.max(P95_MS_MAX, QUIET_FACTOR_MAX * p95(quiet));
  const isFresh = age(attacked) < Math.max(P95_BLOCK_SECONDS_MAX, QUIET_FACTOR_MAX * age(quiet));
  // Failures that also occur without the attack do not count.
  const isServed = attacked.failures.length === 0 || attacked.failures.length <= quiet.failures.length;
  const isRight = died.length === 0 && answers['500'] === undefined && isServed && isQuick && isFresh;
  isWrong ||= !isRight;
  const figures = Object.entries(attacked.tookMs).map(([call, tookMs]) => {
    const of = (ms: readonly number[]) => [0.5, 0.95, 0.99].map((share) => round(percentile(ms, share))).join(' / ');
    return `${call} ${of(tookMs)} (quiet ${of(quiet.tookMs[call] ?? [])})`;
  });
  console.log(`\n${name}: ${does}`);
  console.log(`  p50 / p95 / p99 ms: ${figures.join(', ')}; all p95 ${round(p95(attacked) / p95(quiet), 1)} × quiet`);
  console.log(`  newest block, p95: ${round(age(attacked), 1)} s old (quiet ${round(age(quiet), 1)})`);
  const told = Object.entries(answers).map(([answer, n]) => `${answer} ${n}`);
  console.log(`  the attacker was answered: ${told.join(', ') || '-'}`);
  for (const [when, { failures }] of Object.entries({ attacked, quiet }))
    if (failures.length > 0)
      console.log(`  ${when}, not answered with 200: ${failures.length}, the first: ${failures[0]}`);
  if (died.length > 0) console.log(`  ended: ${died.join(', ')}`);
  if (!isRight) console.log('  OUT OF BOUNDS');
}
