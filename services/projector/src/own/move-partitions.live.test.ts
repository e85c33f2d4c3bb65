import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as pause } from 'node:timers/promises';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import type { Appender, Following } from '@makerbook/kafka';
import { findFreePort, openTcpGate, until, untilFrozen } from '@makerbook/parts';
import { blockAt, startSeconds, storedRecord } from '../testing/generate-facts.js';
import { deploy, type TestDeployment, testPartitions } from '../testing/test-projection.js';

const BLOCK_MS = 50;
/** A process that is gone is noticed after two seconds; a busy machine takes longer to take over. */
const GONE_MS_MAX = 60_000;
const STOPPED_MS_MAX = 20_000;

let here: TestDeployment;
let appender: Appender;
let following: Following;
let isRunning: boolean;
let blocks: Promise<void>;
const children: ChildProcess[] = [];
/** When the clock of each partition's feed last moved. */
const movedAtMs = new Map<number, number>();

beforeEach(async () => {
  here = await deploy();
  appender = here.log.createAppender({ timeoutMs: 60_000 });
  following = here.log.followTopic({
    topic: here.topics.book,
    from: 'beginning',
    onRecords: (partition) => void movedAtMs.set(partition, performance.now()),
  });
  isRunning = true;
  blocks = appendBlocks();
});
afterEach(async () => {
  for (const child of children.splice(0)) child.kill('SIGKILL');
  isRunning = false;
  await blocks;
  await following.stop();
  await here.stop();
});

/** Appends a block to each partition, again and again. */
async function appendBlocks(): Promise<void> {
  for (let number = 1; isRunning; number += 1) {
    const block = blockAt(number, startSeconds + number);
    await Promise.all(
      Array.from({ length: testPartitions }, (_, partition) => {
        const { key, value, headers } = storedRecord(block, { partition, offset: 0n });
        return appender.append([{ topic: here.topics.makerEvents, partition, key, value, headers }]);
      }),
    );
    await pause(BLOCK_MS);
  }
}

const rerouting = new URL('../../../../test/dist/kit/reroute-connections.js', import.meta.url).pathname;

/** @param route `from:to` sends its connections to one port to another one instead */
async function start(route = '') {
  const opsPort = await findFreePort();
  const script = new URL('../main.js', import.meta.url).pathname;
  const child = spawn(process.execPath, ['--import', rerouting, script], {
    env: { ...process.env, ...here.environment, OPS_PORT: String(opsPort), REROUTE: route },
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  children.push(child);
  const owns = async () => {
    const answer = await fetch(`http://127.0.0.1:${opsPort}/readyz`).catch(() => undefined);
    const [, assigned] = /"assigned":"(\d+) partitions"/.exec((await answer?.text()) ?? '') ?? [];
    return Number(assigned ?? 0);
  };
  const ask = async (path: string) => {
    const answer = await fetch(`http://127.0.0.1:${opsPort}${path}`);
    return `${answer.status} ${await answer.text()}`;
  };
  return { child, owns, ask };
}

type Started = Awaited<ReturnType<typeof start>>;

/** Waits until each of the two serves its share. */
async function balanced(one: Started, other: Started): Promise<void> {
  await until(async () => (await one.owns()) === 2 && (await other.owns()) === 2);
  const ownedAtMs = performance.now();
  await until(async () => [...movedAtMs.values()].every((at) => at > ownedAtMs));
  // By then the new owner serves the partition that moved last.
  await pause(1_000);
}

/**
 * Waits until what is sent from now on has moved the clock of each partition. Returns how many milliseconds that took.
 */
async function silence(): Promise<number> {
  const begunAtMs = performance.now();
  // By then what was sent before has arrived.
  await pause(500);
  const sinceMs = performance.now();
  await until(async () => [...movedAtMs.values()].every((at) => at > sinceMs));
  return Math.round(performance.now() - begunAtMs);
}

test('another process soon serves the partitions of one that is killed, frozen or stopped', async () => {
  const first = await start();
  const killed = await start();
  await balanced(first, killed);
  killed.child.kill('SIGKILL');
  const afterKill = await silence();

  const frozen = await start();
  await balanced(first, frozen);
  frozen.child.kill('SIGSTOP');
  await untilFrozen(frozen.child.pid ?? 0);
  const afterFreeze = await silence();
  frozen.child.kill('SIGCONT');
  await balanced(first, frozen);

  const exited = once(frozen.child, 'exit');
  frozen.child.kill('SIGTERM');
  const afterStop = await silence();
  expect(Math.max(afterKill, afterFreeze)).toBeLessThan(GONE_MS_MAX);
  expect(afterStop).toBeLessThan(STOPPED_MS_MAX);
  expect((await exited)[0]).toBe(0);
});

test.each(['shut', 'cut'] as const)(
  'another process serves the partitions of one that reaches Postgres but no broker (connections %s)',
  async (how) => {
    const kafka = new URL(`tcp://${here.environment.KAFKA_BROKERS}`);
    const gate = await openTcpGate(kafka.href);
    const [cutOff, other] = await Promise.all([start(`${kafka.port}:${new URL(gate.url).port}`), start()]);
    await balanced(cutOff, other);
    await gate[how]();
    expect(await silence()).toBeLessThan(GONE_MS_MAX);
    await until(async () => (await other.owns()) === 4 && (await cutOff.owns()) === 0);
    expect(await cutOff.ask('/readyz')).toMatch(/^503 .*no broker answers/);
    expect(await cutOff.ask('/livez')).toMatch(/^200 /);
    await gate.open();
    await balanced(cutOff, other);
    expect(await cutOff.ask('/readyz')).toMatch(/^200 /);
    await gate.close();
  },
);
