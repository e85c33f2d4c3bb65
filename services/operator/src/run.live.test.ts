import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { decodeMakerEvent, encodeMakerView, type MakerView, topicNames } from '@makerbook/contracts-events';
import type { Hex } from '@makerbook/contracts-primitives';
import { connectLog, type Log, partitionOf } from '@makerbook/kafka';
import { testParts } from '@makerbook/parts';
import { settingsTable } from '@makerbook/settings';
import { silentLogger } from '@makerbook/telemetry';
import { migrateSettings, readEnvironment, settings as spec } from './env.js';
import { runCommand } from './run.js';

const prefix = `operator-${randomBytes(4).toString('hex')}.`;
const names = topicNames(prefix);
const brokers = testParts().kafkaBrokers;
const settings = readEnvironment({
  KAFKA_BROKERS: brokers,
  PARTITIONS: '4',
  TOPIC_PREFIX: prefix,
  TOPIC_REPLICATION_FACTOR: '1',
  VISIBLE_WITHIN_MS: '60000',
});
const maker = `0x${randomBytes(20).toString('hex')}` as Hex;
let log: Log;

beforeAll(() => {
  log = connectLog({ brokers: brokers.split(','), clientId: 'operator-test', logger: silentLogger });
});
afterAll(() => log.close());

const run = (...words: string[]) =>
  runCommand(log, words, settings, { commandId: 'command-1', nowMs: 1_700_000_000_000 });

async function showMaker(view: Partial<MakerView>): Promise<void> {
  const position = { partition: partitionOf(maker, 4), offset: '0' };
  const full: MakerView = { type: 'MakerView', maker, admission: 'ADMITTED', nonce: null, position, ...view };
  const message = encodeMakerView(full, { id: '1', source: '/test', timeMs: 0 });
  const appender = log.createAppender({ timeoutMs: 60_000 });
  await appender.append([{ topic: names.makers, partition: position.partition, ...message, key: maker }]);
  await appender.close();
}

describe('the operator', () => {
  test('creates every topic once, and reports where an existing one differs', async () => {
    const first = await run('topics');
    expect(first).toEqual({ lines: Object.values(names).map((name) => `${name}: created`), exitCode: 0 });
    expect((await run('topics')).lines).toEqual(Object.values(names).map((name) => `${name}: existed`));
    const other = { ...settings, PARTITIONS: 8 };
    const differs = await runCommand(log, ['topics'], other, { commandId: 'c', nowMs: 0 });
    expect(differs.exitCode).toBe(1);
    expect(differs.lines[0]).toMatch(/existed, but .*4.*8|existed, but .*8.*4/);
  });

  test('writes a decision to the maker’s own partition, and reports where the services do not see it yet', async () => {
    const words = ['makers', 'add', maker.toUpperCase().replace('0X', '0x')];
    const hasty = { ...settings, VISIBLE_WITHIN_MS: 2000 };
    const outcome = await runCommand(log, words, hasty, { commandId: 'command-1', nowMs: 1_700_000_000_000 });
    expect(outcome).toEqual({ lines: [expect.stringMatching(/not yet visible.*projector/)], exitCode: 1 });
    const facts: unknown[] = [];
    const following = log.followTopic({
      topic: names.makerEvents,
      from: 'beginning',
      onRecords: (partition, records) => {
        for (const record of records) facts.push([partition, record.key, decodeMakerEvent(record)]);
      },
    });
    await following.caughtUp;
    await following.stop();
    const cause = { kind: 'operator', commandId: 'command-1' };
    expect(facts).toEqual([[partitionOf(maker, 4), maker, { type: 'MakerAdmitted', maker, cause }]]);
  });

  test('reports a decision once the services can see it', async () => {
    await showMaker({ admission: 'SUSPENDED', nonce: '0x2' });
    expect(await run('makers', 'suspend', maker)).toEqual({ lines: [`${maker}: suspended`], exitCode: 0 });
    expect((await run('makers', 'list')).lines).toEqual([`${maker}  SUSPENDED  nonce 0x2`]);
  });

  test('writes the release of a maker from quarantine to the maker’s own partition', async () => {
    const quarantined = `0x${randomBytes(20).toString('hex')}` as Hex;
    const lines = [`${quarantined}: release written to the log`];
    expect(await run('makers', 'release', quarantined)).toEqual({ lines, exitCode: 0 });
    const facts: unknown[] = [];
    const following = log.followTopic({
      topic: names.makerEvents,
      from: 'beginning',
      onRecords: (partition, records) => {
        for (const record of records) if (record.key === quarantined) facts.push([partition, decodeMakerEvent(record)]);
      },
    });
    await following.caughtUp;
    await following.stop();
    const cause = { kind: 'operator', commandId: 'command-1' };
    expect(facts).toEqual([[partitionOf(quarantined, 4), { type: 'QuarantineLifted', maker: quarantined, cause }]]);
  });

  test.each([
    [['makers', 'add']],
    [['makers', 'release']],
    [['makers', 'eat', '0x1']],
    [['topics', 'now']],
    [[]],
    [['makers', 'list', 'all']],
  ])('the words %j are answered with what there is', async (words) => {
    const { lines, exitCode } = await run(...words);
    expect(lines).toContainEqual(expect.stringMatching(/^makers list/));
    expect(exitCode).toBe(1);
  });

  test('what is no address is named', async () => {
    expect((await run('makers', 'add', '0x12', maker)).lines).toEqual(['0x12 is no address: 0x and 40 hex digits']);
  });
});

test('the README has every setting as env.ts has it', () => {
  const readme = readFileSync(new URL('../README.md', import.meta.url), 'utf8');
  expect(readme).toContain(settingsTable(spec));
  expect(readme).toContain(settingsTable(migrateSettings));
});
