import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { findFreePort, type KafkaPart, startKafka, until } from '@makerbook/parts';
import { crc32c } from '@platformatic/kafka';
import { LogUnavailable } from '../failures.js';
import type { Appender, Log, LogRecord } from '../log.js';
import {
  asRead,
  makeTopic,
  openTestLog,
  quiet,
  readAll,
  readRecords,
  recordOf,
  succeeds,
} from '../testing/open-test-log.js';

const UNKNOWN_CODEC = 5;
const folder = mkdtempSync(join(tmpdir(), 'makerbook-kafka-'));
let port: number;
let kafka: KafkaPart;
let log: Log;
let appender: Appender;
let topic: string;
/** A topic with two batches that are spoilt while the broker is down. */
let unreadable: string;
let spoilt: readonly Buffer[];
const passed: object[] = [];

/** The record batches of a segment file. They share its memory. */
function batchesOf(segment: Buffer): Buffer[] {
  const batches: Buffer[] = [];
  for (let at = 0; at < segment.length; at += batches.at(-1)?.length ?? 0) {
    batches.push(segment.subarray(at, at + 12 + segment.readInt32BE(at + 8)));
  }
  return batches;
}

/** Makes two batches of a segment file unreadable. */
function spoil(file: string): readonly Buffer[] {
  const segment = readFileSync(file);
  const [, corrupt, , packed] = batchesOf(segment) as [Buffer, Buffer, Buffer, Buffer];
  corrupt.writeUInt8(corrupt.readUInt8(corrupt.length - 1) ^ 0xff, corrupt.length - 1);
  packed.writeInt16BE(packed.readInt16BE(21) | UNKNOWN_CODEC, 21);
  packed.writeUInt32BE(crc32c(packed.subarray(21)), 17);
  writeFileSync(file, segment);
  return [corrupt, packed];
}

beforeAll(async () => {
  port = await findFreePort();
  kafka = await startKafka({ dataDir: join(folder, 'data'), port });
  log = openTestLog(kafka.brokers, { ...quiet, error: (described: object) => void passed.push(described) });
  topic = await makeTopic(log, 2);
  unreadable = await makeTopic(log, 1);
  const writer = log.createAppender();
  for (const keys of [['a', 'b'], ['c', 'd'], ['e'], ['f'], ['g']]) {
    await writer.append(keys.map((key) => recordOf(unreadable, 0, key)));
  }
  appender = log.createAppender({ timeoutMs: 2_000 });
  await appender.append([recordOf(topic, 0, 'before')]);
});
afterAll(async () => {
  await log?.close();
  kafka?.kill('SIGCONT');
  await kafka?.stop();
  rmSync(folder, { recursive: true, force: true });
});

/** Appends in parallel, and expects all calls to fail in time. */
async function expectFailures(mayHaveBeenAppended: boolean, ...calls: readonly LogRecord[][]): Promise<void> {
  const from = performance.now();
  const failures = await Promise.all(calls.map((records) => appender.append(records).catch((error: unknown) => error)));
  expect(performance.now() - from).toBeLessThan(60_000);
  for (const failure of failures) {
    expect(failure).toBeInstanceOf(LogUnavailable);
    expect(failure).toMatchObject({ mayHaveBeenAppended });
  }
}

/** @returns the value of the first append that is answered */
async function untilAppended(name: string): Promise<string> {
  let tries = 0;
  await until('an append is answered', () => {
    tries += 1;
    return succeeds(appender.append([recordOf(topic, 0, `${name} ${tries}`)]));
  });
  return `${name} ${tries}`;
}

test('calls to a broker that hangs fail in time with an open outcome, and later calls go on', async () => {
  await kafka.freeze();
  await expectFailures(true, [recordOf(topic, 0, 'h1')], [recordOf(topic, 0, 'h2')]);
  await expect(log.endOffsets(topic, { timeoutMs: 300 })).rejects.toBeInstanceOf(LogUnavailable);
  // No broker tells where the leader is, so this record is never sent.
  await expect(appender.append([recordOf(topic, 0, 'never sent')])).rejects.toMatchObject({
    name: 'LogUnavailable',
    mayHaveBeenAppended: false,
  });
  kafka.kill('SIGCONT');
  // The broker itself may need some time to recover.
  const value = await untilAppended('after the hang');
  const [seen = []] = await readAll(log, topic);
  expect(seen.filter((one) => one === value)).toHaveLength(1);
  expect(seen).not.toContain('never sent');
});

test('calls to a stopped broker fail in time, are not stored later, and go on when it is back', async () => {
  await kafka.stop();
  const refused = [0, 1].map((partition) => recordOf(topic, partition, 'refused'));
  await expectFailures(false, refused.slice(0, 1), refused);
  spoilt = spoil(join(folder, 'data', 'log', `${unreadable}-0`, '00000000000000000000.log'));
  kafka = await startKafka({ dataDir: join(folder, 'data'), port });
  const value = await untilAppended('back');
  const [seen = []] = await readAll(log, topic);
  expect(seen).not.toContain('refused');
  expect(seen.at(-1)).toBe(value);
});

test('a batch that cannot be decoded is parked as a whole, and every reader goes on after it', async () => {
  const parkedTopic = await makeTopic(log, 1);
  passed.length = 0;
  expect((await readRecords(log, unreadable)).map(({ key }) => key)).toEqual(['a', 'b', 'e', 'g']);
  expect(passed).toMatchObject([
    { topic: unreadable, partition: 0, offset: 2n, nextOffset: 4n },
    { topic: unreadable, partition: 0, offset: 5n, nextOffset: 6n },
  ]);

  let position = 0n;
  const handled: string[] = [];
  const fatals: Error[] = [];
  const consumer = log.consumePartitions({
    topic: unreadable,
    parkedTopic,
    positionOf: async () => position,
    decode: asRead,
    handleBatch: async ({ fromOffset, nextOffset, records }) => {
      expect(fromOffset).toBe(position);
      position = nextOffset;
      handled.push(...records.map(({ key }) => key));
    },
    onFatal: (error) => void fatals.push(error),
  });
  consumer.assign(0);
  await until('all is handled', () => fatals.length > 0 || position === 7n);
  await consumer.stop();
  expect(fatals).toEqual([]);
  expect(handled).toEqual(['a', 'b', 'e', 'g']);

  const origin = { 'parked-topic': unreadable, 'parked-partition': '0' };
  const codec = 'Unsupported compression algorithm with bitmask 5';
  const first = { 'parked-offset': '2', 'parked-next-offset': '4', 'parked-reason': 'the CRC is wrong' };
  const second = { 'parked-offset': '5', 'parked-reason': codec };
  expect(await readRecords(log, parkedTopic)).toMatchObject([
    { key: '', value: spoilt[0], headers: { ...origin, ...first } },
    { key: '', value: spoilt[1], headers: { ...origin, ...second } },
  ]);
});
