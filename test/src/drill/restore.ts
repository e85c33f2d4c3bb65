import { type ChildProcess, spawn } from 'node:child_process';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { operatorProgram, runOperator } from '../kit/admit-maker.js';
import { eventually } from '../kit/eventually.js';
import { openChain } from '../kit/open-maker.js';
import type { OpenStack } from '../kit/open-stack.js';
import { openFundedMakers } from '../kit/put-orders-on.js';
import { verifyRows } from '../kit/verify-rows.js';
import { type Acknowledged, awaitAll, findMissing, loadMakers } from './load-makers.js';
import type { DrillOptions, DrillParts } from './open-parts.js';

const MAKERS = 6;
/** What the archive may lack at most. */
const ARCHIVE_BEHIND_MS = 5_000;

/** The log is lost with its rows, under load, while a process archives it. */
export async function restoreLog(
  { folder, start, lose, openStack: open }: DrillParts,
  { loadMs }: DrillOptions,
): Promise<string[]> {
  const archive = join(folder, 'archive');
  const [kafka, postgres] = [await start.kafka('kafka'), await start.postgres('postgres')];
  const stack = await open(kafka.brokers, postgres.url);
  const { chain, makers } = await fund(stack);
  const archiver = followLog(archive, stack.operatorEnvironment);
  const load = await loadMakers(makers, chain);
  await pause(loadMs);
  for (const part of [kafka, postgres]) part.kill('SIGKILL');
  const lostAtMs = Date.now();
  archiver.kill('SIGKILL');
  // What is under way is not answered.
  const acknowledged = await load.stop().catch(() => load.acknowledged);
  await stack.stop();
  await Promise.all([kafka.exited, postgres.exited]);
  for (const part of ['kafka', 'postgres']) lose(part);
  console.log('lost: Kafka and Postgres, with their data');

  const [newKafka, newPostgres] = [await start.kafka('kafka-2'), await start.postgres('postgres-2')];
  const environment = { ...stack.operatorEnvironment, KAFKA_BROKERS: newKafka.brokers, TOPIC_REPLICATION_FACTOR: '1' };
  console.log(`restored: ${await runOperator(['log', 'restore', archive], environment)}`);
  console.log(`verified: ${await runOperator(['log', 'verify', archive], environment)}`);
  const next = await open(newKafka.brokers, newPostgres.url);
  await awaitAll(acknowledged.filter(({ atMs }) => atMs < lostAtMs - ARCHIVE_BEHIND_MS));
  const takenAtMs = await placeAgain(acknowledged);
  const missing = await findMissing(acknowledged);
  const gone = acknowledged.filter(({ order }) => missing.has(order.orderHash));
  const point = gone.length === 0 ? 0 : lostAtMs - Math.min(...gone.map(({ atMs }) => atMs));
  tell(acknowledged, takenAtMs - lostAtMs, `${gone.length} orders, of the last ${(point / 1000).toFixed(1)} s`);
  // What is lost can be placed again: its signature is still good.
  for (const { maker, order } of gone) await maker.client.placeOrders([order]);
  await awaitAll(acknowledged);
  return judge(next, async () => chain.stop());
}

/** Postgres is lost, and a copy that is older than the orders comes in its place. */
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
  tell(acknowledged, takenAtMs - lostAtMs, `${missing.size} orders`);
  await awaitAll(acknowledged);
  return judge(stack, async () => chain.stop());
}

/** Keeps an archive of the log, as a process of its own. */
function followLog(folder: string, environment: Readonly<Record<string, string>>): ChildProcess {
  const env = { ...process.env, ...environment, OPS_PORT: '0' };
  return spawn(process.execPath, [operatorProgram, 'log', 'archive', folder, '--follow'], { env, stdio: 'ignore' });
}

async function fund(stack: OpenStack) {
  const chain = openChain(stack, false);
  return { chain, makers: await openFundedMakers(stack, chain, MAKERS) };
}

/** Waits until an order is taken again. @returns when its answer came */
async function placeAgain([first]: readonly Acknowledged[]): Promise<number> {
  if (first === undefined) throw new Error('nothing was acknowledged');
  const place = () =>
    first.maker.place({ amount: 1n }).then(
      () => 'taken',
      ({ code }: { code?: string }) => code ?? 'no answer',
    );
  await eventually(place, 'taken', 300_000);
  return Date.now();
}

function tell(acknowledged: readonly Acknowledged[], tookMs: number, lost: string): void {
  console.log(`${acknowledged.length} orders were acknowledged`);
  console.log(`recovery time: ${(tookMs / 1000).toFixed(1)} s until POST was answered again, data of this size`);
  console.log(`recovery point: ${lost}`);
}

/** Rows and book are what a replay of the log leads to. */
async function judge(stack: OpenStack, stopChain: () => Promise<void>): Promise<string[]> {
  const differences = await verifyRows(stack);
  console.log(differences.length === 0 ? 'verify: rows and book are what the log leads to' : 'verify: not the same');
  await stopChain();
  await stack.stop();
  return differences;
}
