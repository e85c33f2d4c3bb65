import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { topicNames, topicSpecs } from '@makerbook/contracts-events';
import { connectLog, type Log, type LogRecord, PoisonRecord, partitionOf, type StoredRecord } from '@makerbook/kafka';
import { readRecords } from '@makerbook/kafka/testing';
import { testParts } from '@makerbook/parts';
import { readSettings } from '@makerbook/settings';
import { silentLogger } from '@makerbook/telemetry';
import { settings as spec } from './env.js';
import { readCommand, runCommand } from './run.js';

const prefix = `parked-${randomBytes(4).toString('hex')}.`;
const names = topicNames(prefix);
const brokers = testParts().kafkaBrokers;
const settings = readSettings(spec, { KAFKA_BROKERS: brokers, PARTITIONS: '4', TOPIC_PREFIX: prefix });
const maker = `0x${randomBytes(20).toString('hex')}`;
const home = partitionOf(maker, 4);
let log: Log;

beforeAll(async () => {
  log = connectLog({ brokers: brokers.split(','), clientId: 'parked-test', logger: silentLogger });
  await log.createTopics(topicSpecs(names, 4).map((spec) => ({ ...spec, replicationFactor: 1 })));
});
afterAll(() => log.close());

async function run(...words: string[]) {
  const command = readCommand(['parked', ...words]);
  if ('lines' in command) return command;
  if (command.do === 'migrate' || command.do === 'contracts' || command.do === 'doctor')
    throw new Error('it needs no log');
  return runCommand(log, command, settings, { commandId: 'c-1', nowMs: 0, user: 'alice' });
}

async function append(...records: Pick<LogRecord, 'partition' | 'value' | 'headers'>[]): Promise<void> {
  const appender = log.createAppender({ timeoutMs: 60_000 });
  for (const record of records) await appender.append([{ topic: names.makerEvents, key: maker, ...record }]);
  await appender.close();
}

/** Consumes the log from the offset on, as the projector does, until `count` messages were parked or handled. */
async function consume(count: number, from: bigint, isPoison: (record: StoredRecord) => boolean): Promise<string[]> {
  const handled: string[] = [];
  let seen = 0;
  const { promise: done, resolve } = Promise.withResolvers<void>();
  const consumer = log.consumePartitions<StoredRecord>({
    topic: names.makerEvents,
    parkedTopic: names.parked,
    positionOf: async () => from,
    decode: (record) => {
      if (isPoison(record)) throw new PoisonRecord('nobody understands it');
      return record;
    },
    handleBatch: async ({ records }) => {
      handled.push(...records.map(({ value }) => String(value)));
      seen += records.length;
      if (seen >= count) resolve();
    },
    onParked: () => {
      seen += 1;
      if (seen >= count) resolve();
    },
    onFatal: (error) => {
      throw error;
    },
  });
  for (let partition = 0; partition < settings.PARTITIONS; partition += 1) consumer.assign(partition);
  await done;
  await consumer.stop();
  return handled;
}

describe('parked messages', () => {
  test('are neither listed nor replayed if there are none', async () => {
    expect(await run('list')).toEqual({ lines: ['nothing is parked'], exitCode: 0 });
    expect((await run('replay', '0:0')).lines).toEqual(['0:0: no such message is parked']);
  });

  test('are listed, shown, and appended again where they belong, but only once', async () => {
    const other = (home + 1) % 4;
    const headers = { ce_type: 'makerbook.Unheard.v1', ce_id: 'id-1' };
    // A replay must drop `stored_by`, or the message would always be too late.
    await append({ partition: other, value: Buffer.from('{"a":1}'), headers: { ...headers, stored_by: '1' } });
    await consume(1, 0n, () => true);
    const id = `${other}:0`;
    expect((await run('list')).lines).toEqual([
      expect.stringMatching(new RegExp(`^${id} .* makerbook.Unheard.v1 {2}nobody understands it$`)),
    ]);
    expect((await run('show', id)).lines).toEqual(
      expect.arrayContaining([`${id}: parked`, `  key      ${maker}`, '  header   ce_id: id-1', '  value    {"a":1}']),
    );
    expect(await run('replay', id, id)).toEqual({ lines: [`${id}: replayed`], exitCode: 0 });
    expect(await run('replay', id)).toEqual({ lines: [`${id}: it was replayed already`], exitCode: 1 });
    const replayed = (await readRecords(log, names.makerEvents)).filter(({ partition }) => partition === home);
    expect(replayed).toMatchObject([{ key: maker, headers: { ...headers, 'replayed-from': id } }]);
    expect(replayed.map(({ value, headers: own }) => [String(value), own['stored_by']])).toEqual([
      ['{"a":1}', undefined],
    ]);
    expect((await run('show', id)).lines[0]).toBe(`${id}: replayed`);
    expect((await run('list')).lines).toEqual(['nothing is parked']);
  });

  test('are discarded without a trace in the log, and stay discarded if they are parked again', async () => {
    const before = await log.endOffsets(names.makerEvents);
    await append({ partition: home, value: Buffer.from('broken'), headers: {} });
    const id = `${home}:${before[home]}`;
    const isPoison = ({ value }: StoredRecord) => String(value) === 'broken';
    await consume(3, 0n, isPoison);
    const [open] = JSON.parse((await run('list', '--json')).lines[0] ?? '');
    expect(open).toMatchObject({ id, topic: names.makerEvents, key: maker, value: 'broken', headers: {} });
    expect(await run('discard', id)).toEqual({ lines: [`${id}: discarded`], exitCode: 0 });
    const ends = await log.endOffsets(names.makerEvents);
    expect(ends[home]).toBe((before[home] ?? 0n) + 1n);
    await consume(3, 0n, isPoison);
    expect((await run('list')).lines).toEqual(['nothing is parked']);
  });
});
