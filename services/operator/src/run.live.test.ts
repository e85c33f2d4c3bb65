import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import {
  decodeMakerEvent,
  encodeMakerEvent,
  encodeMakersRecord,
  holdCause,
  type MakerEvent,
  type MakersRecord,
  type MakerView,
  topicNames,
} from '@makerbook/contracts-events';
import type { Hex } from '@makerbook/contracts-primitives';
import { type AppendedAt, connectLog, type Log, partitionOf } from '@makerbook/kafka';
import { readRecords } from '@makerbook/kafka/testing';
import { testParts, until } from '@makerbook/parts';
import { readSettings } from '@makerbook/settings';
import { silentLogger } from '@makerbook/telemetry';
import { type OperatorSettings, settings as spec } from './env.js';
import { readCommand, runCommand } from './run.js';

const prefix = `operator-${randomBytes(4).toString('hex')}.`;
const names = topicNames(prefix);
const brokers = testParts().kafkaBrokers;
const settings = readSettings(spec, {
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

const cause = { kind: 'operator', commandId: 'command-1', by: 'alice' };
const context = { commandId: 'command-1', nowMs: 1_700_000_000_000, user: 'alice' };
let { nowMs } = context;
const run = (...words: string[]) => runWith(settings, ...words);
async function runWith(settings: OperatorSettings, ...words: string[]) {
  const command = readCommand(words);
  if ('lines' in command) return command;
  if (command.do === 'migrate' || command.do === 'contracts' || command.do === 'doctor')
    throw new Error('it needs no log');
  return runCommand(log, command, settings, { ...context, nowMs });
}

/** All facts of the log, with partition and key; those of one key in order. */
async function readLog(wanted?: string): Promise<unknown[]> {
  return (await readRecords(log, names.makerEvents))
    .filter(({ key }) => wanted === undefined || key === wanted)
    .map((record) => [record.partition, record.key, decodeMakerEvent(record)]);
}

async function show(record: MakersRecord): Promise<void> {
  const { key, ...message } = encodeMakersRecord(record, { id: '1', source: '/test', timeMs: 0 });
  const appender = log.createAppender({ timeoutMs: 60_000 });
  const { partition } = record.position;
  await appender.append([{ topic: names.makers, partition, ...message, key: key ?? '' }]);
  await appender.close();
}

const shownAs = (one: Hex): MakerView => {
  const position = { partition: partitionOf(one, 4), offset: '0' };
  return { type: 'MakerView', maker: one, admission: 'ADMITTED', nonce: null, position };
};
const showMaker = (view: Partial<MakerView>): Promise<void> => show({ ...shownAs(maker), ...view });

describe('the operator', () => {
  test('creates every topic once, and reports if an existing one differs', async () => {
    const first = await run('topics');
    expect(first).toEqual({ lines: Object.values(names).map((name) => `${name}: created`), exitCode: 0 });
    expect((await run('topics')).lines).toEqual(Object.values(names).map((name) => `${name}: existed`));
    const differs = await runWith({ ...settings, PARTITIONS: 8 }, 'topics');
    expect(differs.exitCode).toBe(1);
    expect(differs.lines[0]).toMatch(/existed, but .*4.*8|existed, but .*8.*4/);
  });

  test('writes a decision to the maker’s own partition, and reports if the services do not see it yet', async () => {
    const hasty = { ...settings, VISIBLE_WITHIN_MS: 2000 };
    const outcome = await runWith(hasty, 'makers', 'add', maker.toUpperCase().replace('0X', '0x'));
    expect(outcome).toEqual({ lines: [expect.stringMatching(/not yet visible.*projector/)], exitCode: 1 });
    expect(await readLog()).toEqual([[partitionOf(maker, 4), maker, { type: 'MakerAdmitted', maker, cause }]]);
  });

  test('reports a decision once the services can see it', async () => {
    await showMaker({ admission: 'SUSPENDED', nonce: '0x2' });
    const words = ['makers', 'suspend', maker, '--by', 'bob', '--reason', 'its key is out'];
    expect(await run(...words)).toEqual({ lines: [`${maker}: suspended`], exitCode: 0 });
    const justified = { ...cause, by: 'bob', reason: 'its key is out' };
    expect((await readLog(maker)).at(-1)).toEqual([
      partitionOf(maker, 4),
      maker,
      { type: 'MakerSuspended', maker, cause: justified },
    ]);
    expect((await run('makers', 'list')).lines).toEqual([`${maker}  SUSPENDED  nonce 0x2`]);
  });

  test('adds limits to those that a maker has, and takes them away again', async () => {
    const limits = { openOrdersMax: 5, ordersBurst: 7 };
    await showMaker({ limits });
    expect(await run('makers', 'set', maker, '--burst', '7')).toEqual({
      lines: [`${maker}: open orders 5, burst 7`],
      exitCode: 0,
    });
    expect((await readLog(maker)).at(-1)).toMatchObject([{}, {}, { type: 'MakerLimitsSet', maker, limits, cause }]);
    expect((await run('makers', 'list')).lines).toEqual([
      `${maker}  ADMITTED  nonce not read yet  open orders 5, burst 7`,
    ]);
    const setting = run('makers', 'set', maker, '--default', '--orders-per-second', '9');
    await showMaker({ limits: { ordersPerSecond: 9 } });
    expect(await setting).toEqual({ lines: [`${maker}: 9 orders/s`], exitCode: 0 });
    const resetting = run('makers', 'set', maker, '--default');
    await showMaker({});
    expect(await resetting).toEqual({ lines: [`${maker}: default limits`], exitCode: 0 });
    expect((await readLog(maker)).at(-1)).toMatchObject([{}, {}, { limits: {} }]);
  });

  test.each([['set', '--burst', '7'], ['suspend'], ['remove']])(
    'refuses to %s a maker that was never admitted, and writes nothing',
    async (verb, ...options) => {
      const before = (await readLog()).length;
      const stranger = `0x${randomBytes(20).toString('hex')}`;
      expect(await run('makers', verb, maker, stranger, ...options)).toEqual({
        lines: [`${stranger} was never on the whitelist: add it first; nothing was written`],
        exitCode: 1,
      });
      expect(await readLog()).toHaveLength(before);
    },
  );

  test('turns new orders off and on again for the whole service, in partition 0', async () => {
    const position = { partition: 0, offset: '0' };
    await show({ type: 'ServiceView', mode: 'CANCEL_ONLY', position });
    expect(await run('makers', 'cancel-only', 'on', '--reason', 'the node is suspect')).toEqual({
      lines: ['the service takes no new orders'],
      exitCode: 0,
    });
    expect((await readLog()).filter((line) => JSON.stringify(line).includes('ServiceModeSet'))).toEqual([
      [0, '', { type: 'ServiceModeSet', mode: 'CANCEL_ONLY', cause: { ...cause, reason: 'the node is suspect' } }],
    ]);
    expect((await run('makers', 'list')).lines[0]).toMatch(/takes no new orders/);
    expect(JSON.parse((await run('makers', 'list', '--json')).lines.join(''))).toEqual({
      cancelOnly: true,
      makers: [{ maker, admission: 'ADMITTED', nonce: null, limits: {} }],
    });
    await show({ type: 'ServiceView', mode: 'NORMAL', position });
    expect(await run('makers', 'cancel-only', 'off')).toEqual({ lines: ['the service takes orders'], exitCode: 0 });
  });

  test('admits makers again that a restore has suspended, once they had time to cancel', async () => {
    const [held, bad] = [1, 2].map(() => `0x${randomBytes(20).toString('hex')}` as Hex) as [Hex, Hex];
    const hold = holdCause('restore');
    const facts: [number, MakerEvent][] = [
      ...[held, bad].map((one): [number, MakerEvent] => {
        return [partitionOf(one, 4), { type: 'MakerSuspended', maker: one, cause: hold }];
      }),
      [partitionOf(bad, 4), { type: 'MakerSuspended', maker: bad, cause: { kind: 'operator', commandId: 'bob' } }],
      [0, { type: 'ServiceModeSet', mode: 'CANCEL_ONLY', cause: hold }],
      // This does not end the hold.
      [0, { type: 'ServiceModeSet', mode: 'CANCEL_ONLY', cause: { kind: 'operator', commandId: 'bob' } }],
    ];
    const appender = log.createAppender({ timeoutMs: 60_000 });
    let at: readonly AppendedAt[] = [];
    for (const [index, [partition, fact]] of facts.entries()) {
      const context = { id: `restore:${index}`, source: '/test', timeMs: 1_700_000_000_000 };
      const { key, ...message } = encodeMakerEvent(fact, context);
      at = await appender.append([{ topic: names.makerEvents, partition, ...message, key: key ?? '' }]);
    }
    await appender.close();
    const unread = expect.stringContaining('until the projector has folded that');
    expect(await run('makers', 'cancel-only', 'off')).toEqual({ lines: [unread], exitCode: 1 });
    const position = { partition: 0, offset: String(at[0]?.offset) };
    await show({ type: 'ServiceView', mode: 'CANCEL_ONLY', position });
    // The facts were written long ago: the time counts from when they were folded.
    nowMs = Date.now() + 600_000;
    const refusal = /^the log was restored: makers repeat cancellations until \S+Z; nothing was written$/;
    expect(await run('makers', 'cancel-only', 'off')).toEqual({ lines: [expect.stringMatching(refusal)], exitCode: 1 });
    // The operator may wait for any time.
    nowMs += 8 * 86_400_000;
    const taking = runWith({ ...settings, HOLD_SECONDS: 600 }, 'makers', 'cancel-only', 'off');
    await until('the maker is admitted', async () => (await readLog(held)).length === 2);
    await show(shownAs(held));
    await show({ type: 'ServiceView', mode: 'NORMAL', position });
    expect(await taking).toEqual({
      lines: [`${held}: admitted`, 'the service takes orders'],
      exitCode: 0,
    });
    expect((await readLog(held)).at(-1)).toMatchObject([{}, {}, { type: 'MakerAdmitted', maker: held, cause }]);
    expect(await readLog(bad)).toHaveLength(2);
    nowMs = context.nowMs;
  });

  test('shows who decided what about a maker, or about the service, when and why', async () => {
    const { lines } = await run('makers', 'history', maker);
    expect(lines.map((line) => line.replace(/^(\S+) {2}offset \d+/, '$1'))).toEqual([
      '2023-11-14T22:13:20.000Z  MakerAdmitted  by alice',
      '2023-11-14T22:13:20.000Z  MakerSuspended  by bob: its key is out',
      '2023-11-14T22:13:20.000Z  MakerLimitsSet (open orders 5, burst 7)  by alice',
      '2023-11-14T22:13:20.000Z  MakerLimitsSet (9 orders/s)  by alice',
      '2023-11-14T22:13:20.000Z  MakerLimitsSet (default limits)  by alice',
    ]);
    const json = JSON.parse((await run('makers', 'history', '--json')).lines.join(''));
    expect(json).toMatchObject([
      { partition: 0, type: 'ServiceModeSet', mode: 'CANCEL_ONLY', by: 'alice', reason: 'the node is suspect' },
      { type: 'ServiceModeSet', mode: 'NORMAL', commandId: 'command-1' },
      { type: 'ServiceModeSet', mode: 'CANCEL_ONLY', commandId: 'hold:restore', by: 'salvage' },
      { type: 'ServiceModeSet', mode: 'CANCEL_ONLY', commandId: 'bob' },
      { type: 'ServiceModeSet', mode: 'NORMAL', commandId: 'command-1' },
    ]);
    expect((await run('makers', 'history', `0x${'0'.repeat(40)}`)).lines).toEqual(['no decision yet']);
  });

  test('writes the release of a maker from quarantine to the maker’s own partition', async () => {
    const quarantined = `0x${randomBytes(20).toString('hex')}` as Hex;
    const lines = [`${quarantined}: release written to the log; it has worked when projector_quarantined_makers falls`];
    expect(await run('makers', 'release', quarantined)).toEqual({ lines, exitCode: 0 });
    expect((await readLog(quarantined)).at(-1)).toEqual([
      partitionOf(quarantined, 4),
      quarantined,
      { type: 'QuarantineLifted', maker: quarantined, cause },
    ]);
  });

  test.each([
    [['makers', 'add']],
    [['makers', 'release']],
    [['makers', 'eat', '0x1']],
    [['topics', 'now']],
    [[]],
    [['makers', 'list', 'all']],
    [['makers', 'list', '--burst', '1']],
    [['makers', 'set', maker]],
    [['makers', 'cancel-only']],
    [['makers', 'cancel-only', 'perhaps']],
    [['makers', 'history', maker, `0x${'0'.repeat(40)}`]],
    [['topics', '--json']],
    [['parked']],
    [['parked', 'eat', '1:1']],
    [['parked', 'replay']],
    [['parked', 'list', 'all']],
  ])('answers the words %j with the usage, and does not need the log', async (words) => {
    const { lines, exitCode } = await run(...words);
    expect(lines).toContainEqual(expect.stringMatching(/^(makers|parked) list/));
    expect(exitCode).toBe(1);
    expect(readCommand(words)).toEqual({ lines, exitCode });
  });

  test('shows the usage without the log, but needs the log for a command', () => {
    expect(readCommand(['makers', '--help'])).toMatchObject({ exitCode: 0 });
    expect(readCommand(['makers', 'list'])).toMatchObject({ do: 'list' });
    expect(readCommand(['parked', 'list'])).toMatchObject({ do: 'parked' });
  });

  test.each([
    [['makers', 'set', maker, '--burst', '0']],
    [['makers', 'set', maker, '--open-orders', 'many']],
    [['makers', 'set', maker, '--orders-per-second', '1.5']],
    [['makers', 'suspend', maker, '--reason', 'x'.repeat(501)]],
    [['makers', 'add', maker, '--because', 'x']],
  ])('names what is wrong with the options of %j, and writes nothing', async (words) => {
    const before = (await readLog()).length;
    const { lines, exitCode } = await run(...words);
    expect(lines.join()).toMatch(/--burst: |--open-orders: |--orders-per-second: |reason|--because/);
    expect(exitCode).toBe(1);
    expect(await readLog()).toHaveLength(before);
  });

  test.each(['cancel-only toString', 'cancel-only', 'constructor'])('does not know `makers %s`', async (words) => {
    const before = (await readLog()).length;
    expect(await run('makers', ...words.split(' '))).toMatchObject({ exitCode: 1 });
    expect(await run('toString', 'suspend', maker)).toMatchObject({ exitCode: 1 });
    expect(await readLog()).toHaveLength(before);
  });

  test('names what is no address, and an address with a wrong checksum', async () => {
    expect((await run('makers', 'add', '0x12', maker)).lines).toEqual(['0x12 is not an address: 0x and 40 hex digits']);
    const checksummed = '0x70997970C51812dc3A010C7d01b50e0d17dc79C8';
    for (const good of [checksummed, checksummed.toLowerCase(), `0x${checksummed.slice(2).toUpperCase()}`]) {
      expect(readCommand(['makers', 'history', good])).toMatchObject({ maker: checksummed.toLowerCase() });
    }
    const { lines } = await run('makers', 'add', checksummed.replace('7970C', '7970c'));
    expect(lines).toEqual([expect.stringMatching(/^0x70997970c\S+ has a wrong checksum \(EIP-55\)/)]);
  });
});

/** @returns the exit code, and what the command wrote to standard error */
function runProcess(words: readonly string[], settings: Record<string, string>): Promise<readonly unknown[]> {
  const main = fileURLToPath(new URL('./main.js', import.meta.url));
  const { promise, resolve } = Promise.withResolvers<readonly unknown[]>();
  const options = { env: { ...process.env, ...settings }, timeout: 300_000 };
  execFile(process.execPath, [main, ...words], options, (error, _, said) => resolve([error?.code, said]));
  return promise;
}

test('an archive that cannot start exits, and says why once', async () => {
  const [code, said] = await runProcess(['log', 'archive', 'folder', '--follow'], { KAFKA_BROKERS: '' });
  expect({ code, named: String(said).match(/KAFKA_BROKERS/g) }).toEqual({ code: 1, named: ['KAFKA_BROKERS'] });
});

test('a command that fails exits, even while it is connected to brokers', async () => {
  const settings = { KAFKA_BROKERS: brokers, TOPIC_PREFIX: `${prefix}missing.` };
  expect(await runProcess(['makers', 'add', maker], settings)).toEqual([
    1,
    expect.stringMatching(/missing\.\S+ is not known to the cluster|no broker gave the leaders of \S+missing/),
  ]);
});
