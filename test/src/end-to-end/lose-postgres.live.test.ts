import { randomBytes } from 'node:crypto';
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, expect, test } from '@jest/globals';
import {
  decodeMakerEvent,
  encodeMakerEvent,
  type OrderSubmitted,
  topicNames,
  topicSpecs,
} from '@makerbook/contracts-events';
import { type Ingress, ingressSettings, runIngress } from '@makerbook/ingress';
import { connectLog, partitionOf } from '@makerbook/kafka';
import { readRecords } from '@makerbook/kafka/testing';
import type { StackFile } from '@makerbook/local-stack';
import { createChance, findFreePort, startPostgres, testParts, until } from '@makerbook/parts';
import { connectPostgres, migrate } from '@makerbook/postgres';
import { projectorSettings, runProjector } from '@makerbook/projector';
import { readSettings } from '@makerbook/settings';
import { silentLogger, startTelemetry } from '@makerbook/telemetry';
import { Wallet } from 'ethers';
import { type Asked, requestMaker, type SignedItem } from '../kit/make-requests.js';

const KILLS = 2;
/** Fewer than the budget holds, so that both limits are reached if nothing makes room. */
const OPEN_MAX = 8;
/** Even on a busy machine the clients ask for more than one order in a second. */
const budget = { ratePerSecond: 1, burst: 12 };
const REFUSALS = ['rate_limited', 'too_many_orders', 'unavailable', 'duplicate'];
const CLIENTS = 12;
const partitions = 1;
const address = (digits: string) => `0x${digits.padStart(40, '0')}` as const;
const stack = {
  serviceName: 'Test',
  chainId: 8217,
  limitOrderProtocol: address('aa'),
  tokens: [{ address: address('a1') }, { address: address('b2') }],
  pools: [],
} as unknown as StackFile;
const wallet = new Wallet(`0x${'7'.repeat(64)}`);
const maker = wallet.address.toLowerCase() as `0x${string}`;
const make = requestMaker(stack);
const telemetry = { ...startTelemetry('test', { LOG_LEVEL: 'error' }), logger: silentLogger };

const folder = mkdtempSync(join(tmpdir(), 'makerbook-lose-postgres-'));
// Root runs Postgres as another user, who needs to enter this folder.
chmodSync(folder, 0o711);
const port = await findFreePort();
const start = () => startPostgres({ dataDir: join(folder, 'postgres'), port, settings: { fsync: 'off' } });
let postgres = await start();
const prefix = `lose-${randomBytes(4).toString('hex')}.`;
const topics = topicNames(prefix);
const environment = {
  KAFKA_BROKERS: testParts().kafkaBrokers,
  DATABASE_URL: postgres.url,
  TOPIC_PREFIX: prefix,
  PARTITIONS: String(partitions),
  SERVICE_NAME: stack.serviceName,
  LIMIT_ORDER_PROTOCOL_ADDRESS: stack.limitOrderProtocol,
  PORT: '0',
  OPS_PORT: '0',
  // Postgres is trusted about three seconds after a crash.
  POSTGRES_TIMEOUT_MS: '1000',
  APPEND_TIMEOUT_MS: '1000',
  PLACE_WAIT_MS: '100',
  MAX_OPEN_ORDERS_PER_MAKER: String(OPEN_MAX),
  ORDER_BUDGET_PER_SECOND: String(budget.ratePerSecond),
  ORDER_BUDGET_BURST: String(budget.burst),
  CLIENT_REQUESTS_MAX: '1000000',
  CANCEL_REQUESTS_MAX: '1000000',
};
const log = connectLog({
  brokers: environment.KAFKA_BROKERS.split(','),
  clientId: 'lose-postgres',
  logger: silentLogger,
});
const closing: (() => Promise<void>)[] = [log.close];
afterAll(async () => {
  for (const close of closing.reverse()) await close();
  await postgres.stop();
  await telemetry.stop();
  rmSync(folder, { recursive: true, force: true });
});

/** The requests for an order, and when. Times are by this machine's clock, which Postgres uses too. */
interface Sent {
  readonly item: SignedItem;
  accepted: number;
  cancelSentAtMs: number | undefined;
  isCancelled: boolean;
}

async function open(): Promise<[Ingress, Ingress]> {
  await migrate({ url: postgres.url });
  await log.createTopics(topicSpecs(topics, partitions).map((spec) => ({ ...spec, replicationFactor: 1 })));
  const admitted = encodeMakerEvent(
    { type: 'MakerAdmitted', maker, cause: { kind: 'operator', commandId: 'test' } },
    { id: 'admitted', source: '/test', timeMs: Date.now() },
  );
  const partition = partitionOf(maker, partitions);
  await log.createAppender().append([{ topic: topics.makerEvents, partition, ...admitted, key: maker }]);
  const projector = await runProjector(readSettings(projectorSettings, environment), telemetry);
  closing.push(projector.stop);
  const settings = readSettings(ingressSettings, environment);
  const both = [await runIngress(settings, telemetry), await runIngress(settings, telemetry)] as const;
  for (const ingress of both) closing.push(ingress.stop);
  return [...both];
}

/** The facts of the log. */
async function readLog() {
  const facts = (await readRecords(log, topics.makerEvents)).map(decodeMakerEvent);
  return facts.flatMap((fact) => ('unreadable' in fact ? [] : [fact]));
}

test('two processes hold a maker to its limits while Postgres is killed, and a DELETE waits for no POST', async () => {
  const processes = await open();
  const chance = createChance(1);
  const all: Sent[] = [];
  const codes = new Map<string, number>();
  const send = async ({ target, ...asked }: Asked, to: Ingress) => {
    const response = await fetch(`http://127.0.0.1:${to.port}${target}`, {
      method: asked.method,
      ...(asked.headers && { headers: asked.headers }),
      ...(asked.body !== undefined && { body: asked.body as string }),
    });
    const body: unknown = await response.json();
    const code = response.ok
      ? `${asked.method} ${target.length > 30 ? 'cancel' : 'place'}`
      : (body as { code: string }).code;
    codes.set(code, (codes.get(code) ?? 0) + 1);
    return response.ok ? body : undefined;
  };
  const place = async (sent: Sent, to: Ingress) => {
    if ((await send(make.post([sent.item]), to)) !== undefined) sent.accepted += 1;
  };
  const cancel = async (sent: Sent, to: Ingress) => {
    sent.cancelSentAtMs ??= Date.now();
    const told = await send(make.cancel([sent.item], wallet), to);
    sent.isCancelled ||= JSON.stringify(told)?.includes('CANCELLED') === true;
  };
  const sign = (): Sent => {
    const sent = { item: make.order(wallet), accepted: 0, cancelSentAtMs: undefined, isCancelled: false };
    all.push(sent);
    return sent;
  };
  const placeOne = async () => {
    const sent = sign();
    await place(sent, processes[0]);
    return sent.accepted > 0;
  };
  await until('orders are placed', placeOne);
  const kept = all.at(-1);
  let phase: 'all kinds' | 'placing' | 'over' = 'all kinds';
  const client = async () => {
    while (phase !== 'over') {
      const [one, other] = chance.oneIn(2) ? processes : processes.toReversed();
      if (one === undefined || other === undefined) return;
      const kind = chance.pickWeighted({ place: 4, twice: 2, again: 1, cancel: phase === 'placing' ? 0 : 3 });
      const some = chance.pickAny(all.slice(-60).filter((sent) => sent !== kept));
      if (kind === 'place') await place(sign(), one);
      if (kind === 'twice') {
        const sent = sign();
        const isCancelled = phase !== 'placing' && chance.oneIn(3);
        await Promise.all([place(sent, one), place(sent, other), ...(isCancelled ? [cancel(sent, one)] : [])]);
      }
      if (kind === 'again' && some !== undefined) await place(some, one);
      // Cancel open orders, so that others get their places.
      const open = all.find((sent) => sent !== kept && sent.accepted > 0 && !sent.isCancelled);
      const gone = chance.oneIn(2) ? open : some;
      if (kind === 'cancel' && gone !== undefined) await cancel(gone, one);
      await pause(chance.below(40));
    }
  };
  const clients = Array.from({ length: CLIENTS }, client);
  const crashedAtMs: number[] = [];
  for (let kills = 0; kills < KILLS; kills += 1) {
    await pause(1_000);
    crashedAtMs.push(Date.now());
    postgres.kill('SIGKILL');
    await postgres.exited;
    postgres = await start();
    const before = all.filter(({ accepted }) => accepted > 0).length;
    await until('orders are placed again', () => all.filter(({ accepted }) => accepted > 0).length > before);
  }
  // The limit is reached once nothing makes room.
  phase = 'placing';
  try {
    await until('each refusal was met', () => REFUSALS.every((code) => codes.has(code)));
  } finally {
    phase = 'over';
    await Promise.all(clients);
  }
  const facts = await readLog();
  const submitted = facts.flatMap((fact) => (fact.type === 'OrderSubmitted' ? [fact] : []));
  expect(beyondBudget(submitted, crashedAtMs)).toEqual([]);
  const hashes = submitted.map(({ orderHash }) => orderHash);
  expect(hashes).toHaveLength(new Set(hashes).size);
  expect(all.filter(({ accepted }) => accepted > 1)).toEqual([]);
  expect(all.filter(({ accepted, item }) => accepted > 0 && !hashes.includes(item.orderHash as never))).toEqual([]);
  expect(beyondLimit(submitted, all)).toEqual([]);
  const owner = connectPostgres({ url: postgres.url, connectTimeoutMs: 60_000 });
  closing.push(owner.close);
  await owner.transaction(async (query) => {
    await query('select from budgets where not of_cancels for update');
    const posted = place(sign(), processes[0]);
    if (kept !== undefined) await cancel(kept, processes[0]);
    closing.push(() => posted);
  });
  expect(kept?.isCancelled).toBe(true);
});

/**
 * Orders whose acceptance left more open than a maker may have. Does not count orders whose cancellation had been sent.
 */
function beyondLimit(submitted: readonly OrderSubmitted[], all: readonly Sent[]): string[] {
  const cancelSentAt = new Map(all.map(({ item, cancelSentAtMs }) => [item.orderHash, cancelSentAtMs ?? Infinity]));
  return submitted.flatMap(({ orderHash, acceptedAtMs: atMs }) => {
    const open = submitted.filter(
      (other) => other.acceptedAtMs <= atMs && (cancelSentAt.get(other.orderHash) ?? Infinity) > atMs,
    );
    return open.length <= OPEN_MAX ? [] : [`${orderHash} is one of ${open.length}`];
  });
}

/**
 * Finds times in which more orders were accepted than allowed: a full budget, another for each crash, and the refill
 * during the time.
 */
function beyondBudget(submitted: readonly OrderSubmitted[], crashedAtMs: readonly number[]): string[] {
  const times = submitted.map(({ acceptedAtMs }) => acceptedAtMs).sort((a, b) => a - b);
  return times.flatMap((untilMs, last) =>
    times.slice(0, last + 1).flatMap((fromMs, first) => {
      const crashes = crashedAtMs.filter((atMs) => atMs >= fromMs && atMs <= untilMs).length;
      const held = budget.burst * (1 + crashes) + ((untilMs - fromMs) * budget.ratePerSecond) / 1000;
      return last - first + 1 <= held + 0.001 ? [] : [`${last - first + 1} orders in ${untilMs - fromMs} ms`];
    }),
  );
}
