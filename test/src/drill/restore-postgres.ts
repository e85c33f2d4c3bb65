import { setTimeout as pause } from 'node:timers/promises';
import { eventually } from '../kit/eventually.js';
import { openChain } from '../kit/open-maker.js';
import type { OpenStack } from '../kit/open-stack.js';
import { openFundedMakers } from '../kit/put-orders-on.js';
import { verifyRows } from '../kit/verify-rows.js';
import { type Acknowledged, awaitAll, findMissing, loadMakers } from './load-makers.js';
import type { DrillOptions, DrillParts } from './open-parts.js';

const MAKERS = 6;
/** Loses Postgres, and replaces it by a copy that is older than the orders. */
export async function restorePostgres(
  { start, copy, lose, openStack: open }: DrillParts,
  { loadMs }: DrillOptions,
): Promise<string[]> {
  const kafka = await start.kafka('kafka');
  let postgres = await start.postgres('postgres');
  let stack = await open(kafka.brokers, postgres.url);
  const { chain, makers } = await fund(stack);
  const before = await loadMakers(makers, chain);
  await pause(1000);
  const early = await before.stop();
  await stack.stop();
  await postgres.stop();
  copy('postgres', 'snapshot');
  postgres = await start.postgres('postgres');
  stack = await open(kafka.brokers, postgres.url);
  await awaitAll(early);
  const load = await loadMakers(makers, chain);
  await pause(loadMs);
  const acknowledged = [...early, ...(await load.stop())];
  const lostAtMs = Date.now();
  postgres.kill('SIGKILL');
  await postgres.exited;
  lose('postgres');
  console.log('lost: Postgres, with its data');

  await stack.stop();
  const restored = await start.postgres('snapshot');
  stack = await open(kafka.brokers, restored.url);
  const takenAtMs = await placeAgain(acknowledged);
  const missing = await findMissing(acknowledged);
  tell(acknowledged, takenAtMs - lostAtMs, `${missing.length} orders`);
  await awaitAll(acknowledged);
  return judge(stack, async () => chain.stop());
}

/** Opens the chain, and makers with funds. */
export async function fund(stack: OpenStack) {
  const chain = openChain(stack, false);
  return { chain, makers: await openFundedMakers(stack, chain, MAKERS) };
}

/** Waits until an order is taken again. @returns when its answer came */
export async function placeAgain([first]: readonly Acknowledged[]): Promise<number> {
  if (first === undefined) throw new Error('nothing was acknowledged');
  const place = () =>
    first.maker.place({ amount: 1n }).then(
      () => 'taken',
      ({ code }: { code?: string }) => code ?? 'no answer',
    );
  await eventually(place, 'taken', 300_000);
  return Date.now();
}

export function tell(acknowledged: readonly Acknowledged[], tookMs: number, lost: string): void {
  console.log(`${acknowledged.length} orders were acknowledged`);
  console.log(`recovery time: ${(tookMs / 1000).toFixed(1)} s until POST was answered again, data of this size`);
  console.log(`recovery point: ${lost}`);
}

/** Checks that rows and book are what a replay of the log leads to. Then stops the chain and the stack. */
export async function judge(stack: OpenStack, stopChain: () => Promise<void>): Promise<string[]> {
  const differences = await verifyRows(stack);
  console.log(differences.length === 0 ? 'verify: rows and book are what the log leads to' : 'verify: not the same');
  await stopChain();
  await stack.stop();
  return differences;
}
