import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { createChance } from '@makerbook/parts';
import { operatorProgram, runOperator } from '../kit/admit-maker.js';
import { eventually } from '../kit/eventually.js';
import { followOrders } from '../kit/follow-orders.js';
import type { TestMaker } from '../kit/open-maker.js';
import type { OpenStack } from '../kit/open-stack.js';
import { runReplay } from '../kit/verify-rows.js';
import { type Acknowledged, awaitAll, loadMakers, readStatuses } from './load-makers.js';
import type { DrillOptions, DrillParts } from './open-parts.js';
import { fund, judge, placeAgain, tell } from './restore-postgres.js';

/** How far the archive may be behind. */
const ARCHIVE_BEHIND_MS = 5_000;
const SHOWN_MS = 120_000;

/** Loses Kafka with its disks, under load, while a process archives the log. Loses Postgres too, unless it is kept. */
export async function loseKafka(parts: DrillParts, { loadMs, seed, keeps }: DrillOptions): Promise<string[]> {
  const { folder, start, lose, openStack: open } = parts;
  const chance = createChance(seed);
  const archive = join(folder, 'archive');
  const [kafka, postgres] = [await start.kafka('kafka'), await start.postgres('postgres')];
  const stack = await open(kafka.brokers, postgres.url);
  const { chain, makers } = await fund(stack);
  const archiver = followLog(archive, stack.operatorEnvironment);
  // The archive's first part has the makers' admission.
  await eventually(async () => existsSync(archive) && readdirSync(archive).length > 0, true, SHOWN_MS);
  const load = await loadMakers(makers, chain, chance);
  await pause(loadMs + chance.below(2_000));
  const cursors = new Map<TestMaker, string | undefined>();
  for (const maker of makers) cursors.set(maker, (await maker.client.readHistory()).nextCursor);
  kafka.kill('SIGKILL');
  const lostAtMs = Date.now();
  archiver.kill('SIGKILL');
  // Requests in flight get no answer.
  const acknowledged = await load.stop().catch(() => load.acknowledged);
  await stack.stop();
  await kafka.exited;
  lose('kafka');
  if (!keeps) {
    await postgres.stop();
    lose('postgres');
  }
  console.log(`lost: Kafka${keeps ? '' : ' and Postgres'}, with its data`);

  const newKafka = await start.kafka('kafka-2');
  let rows = keeps ? postgres : await start.postgres('postgres-2');
  const environment = { ...stack.operatorEnvironment, KAFKA_BROKERS: newKafka.brokers, TOPIC_REPLICATION_FACTOR: '1' };
  console.log(`restored: ${await runOperator(['log', 'restore', archive], environment)}`);
  console.log(`verified: ${await runOperator(['log', 'verify', archive], environment)}`);
  await runOperator(['topics'], environment);
  console.log(`salvaged: ${await runSalvage({ ...environment, DATABASE_URL: rows.url })}`);
  if (keeps) {
    await postgres.stop();
    rows = await start.postgres('postgres-2');
  }
  const next = await open(newKafka.brokers, rows.url);
  const wrong = await takeCancellations(next, acknowledged, environment, cursors);
  const takenAtMs = await placeAgain(acknowledged);

  const orders = acknowledged.filter(({ cancellation }) => cancellation === undefined);
  const gone = await lostOf(orders);
  const point = gone.length === 0 ? 0 : lostAtMs - Math.min(...gone.map(({ atMs }) => atMs));
  tell(acknowledged, takenAtMs - lostAtMs, `${gone.length} orders, of the last ${(point / 1000).toFixed(1)} s`);
  for (const { order, atMs } of gone)
    if (atMs < lostAtMs - ARCHIVE_BEHIND_MS) wrong.push(`${order.orderHash} is lost, ${lostAtMs - atMs} ms old`);
  // Lost orders can be placed again, because their signatures are still good.
  for (const { maker, order } of gone) await maker.client.placeOrders([order]);
  await awaitAll(orders);
  return [...wrong, ...(await judge(next, async () => chain.stop()))];
}

/** Makers repeat their cancellations while the book is empty. Then an operator has the service take orders again. */
async function takeCancellations(
  stack: OpenStack,
  acknowledged: readonly Acknowledged[],
  environment: Readonly<Record<string, string>>,
  cursors: ReadonlyMap<TestMaker, string | undefined>,
): Promise<string[]> {
  const wrong: string[] = [];
  const feed = followOrders(stack);
  const makers = [...cursors.keys()];
  const codeOf = (work: Promise<unknown>) =>
    work.then(
      () => 'ok',
      ({ code }: { code?: string }) => code ?? 'no answer',
    );
  const inBook = () => [...feed.book().entries.keys()];
  try {
    // Once each list is there, the log is folded.
    await eventually(
      async () =>
        (await Promise.all(makers.map(({ client }) => codeOf(client.listOrders())))).every((code) => code === 'ok'),
      true,
      SHOWN_MS,
    );
    await eventually(async () => inBook().length, 0, SHOWN_MS);
    for (const [{ client }, cursor] of cursors) {
      const code = cursor === undefined ? 'gone' : await codeOf(client.readHistory({ cursor }));
      if (code !== 'gone') wrong.push(`a cursor from before the loss is answered by ${code}: ${cursor}`);
    }
    const refused = await codeOf(makers[0]?.place({ amount: 1n }) ?? Promise.resolve());
    if (refused === 'ok') wrong.push('an order was taken before makers could cancel');
    const cancelled = acknowledged.filter(({ cancellation }) => cancellation === 'answered');
    const undone = cancelled.length - (await lostOf(cancelled)).length;
    for (const [maker, own] of Map.groupBy(cancelled, (one) => one.maker))
      await maker.client.cancelOrders(own.map(({ order }) => order));
    console.log(
      `${cancelled.length} orders were cancelled; ${undone} of these cancellations were lost, and are repeated`,
    );
    const early = await runOperator(['makers', 'cancel-only', 'off'], environment).catch(
      (error: Error) => error.message,
    );
    if (!early.includes('makers repeat cancellations until')) wrong.push(`cancel-only off: ${early}`);
    await runOperator(['makers', 'cancel-only', 'off'], { ...environment, HOLD_SECONDS: '0' });
    await eventually(async () => inBook().length > 0, true, SHOWN_MS);
    const routed = new Set(inBook());
    for (const { order } of cancelled)
      if (routed.has(order.orderHash)) wrong.push(`${order.orderHash} is cancelled, and routed`);
    return wrong;
  } finally {
    await feed.close();
  }
}

/** Finds the orders that their makers' lists do not have. */
const lostOf = async (orders: readonly Acknowledged[]): Promise<Acknowledged[]> =>
  [...(await readStatuses(orders))].flatMap(([one, status]) => (status === 'gone' ? [one] : []));

/** Keeps an archive of the log, in its own process. */
function followLog(folder: string, environment: Readonly<Record<string, string>>): ChildProcess {
  const env = { ...process.env, ...environment, OPS_PORT: '0' };
  return spawn(process.execPath, [operatorProgram, 'log', 'archive', folder, '--follow'], { env, stdio: 'ignore' });
}

async function runSalvage(environment: Readonly<Record<string, string>>): Promise<string> {
  const { stdout } = await runReplay('salvage', environment);
  return stdout.trim().split('\n').slice(-3).join('; ');
}
